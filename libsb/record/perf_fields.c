/* perf_fields.c - the fields of perf's own records, by name. */
#include "record/field_put.h"

#include <linux/perf_event.h>

#include "record/bytes.h"

/* Of the attribute, what says how its records are to be read. */
static void header_attr_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const uint8_t *attr = record->u.header_attr.attr;

	put_unsigned(visitor, "attr_size", record->u.header_attr.attr_size);
	put_unsigned(visitor, "attr_type", load_u32(attr));
	put_hex(visitor, "config", load_u64(attr + offsetof(struct perf_event_attr, config)));
	put_hex(visitor, "sample_type", load_u64(attr + offsetof(struct perf_event_attr, sample_type)));
	put_hex(visitor, "read_format", load_u64(attr + offsetof(struct perf_event_attr, read_format)));
	put_numbers(visitor, "ids", record->u.header_attr.ids, record->u.header_attr.nids);
}

static void event_type_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "id", record->u.event_type.id);
	put_string(visitor, "name", record->u.event_type.name);
}

static void tracing_data_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "size", record->u.tracing_data.size);
}

static void build_id_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_signed(visitor, "pid", record->u.build_id.pid);
	put_bytes(visitor, "build_id", record->u.build_id.build_id, record->u.build_id.build_id_size);
	put_string(visitor, "filename", record->u.build_id.filename);
}

static void id_index_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const uint8_t *entry = record->u.id_index.entries, *guest = record->u.id_index.guests;

	visitor->begin_list(visitor->context, "ids");
	for (uint64_t i = 0; i < record->u.id_index.nr; i++, entry += 32) {
		visitor->begin_group(visitor->context);
		put_unsigned(visitor, "id", load_u64(entry));
		put_unsigned(visitor, "idx", load_u64(entry + 8));
		put_signed(visitor, "cpu", (int64_t)load_u64(entry + 16));
		put_signed(visitor, "tid", (int64_t)load_u64(entry + 24));
		if (guest) {
			put_signed(visitor, "machine_pid", (int64_t)load_u64(guest + 16 * i));
			put_signed(visitor, "vcpu", (int64_t)load_u64(guest + 16 * i + 8));
		}
		visitor->end_group(visitor->context);
	}
	visitor->end_list(visitor->context);
}

static void auxtrace_info_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "auxtrace_type", record->u.auxtrace_info.type);
	put_numbers(visitor, "priv", record->u.auxtrace_info.priv, record->u.auxtrace_info.npriv);
}

static void auxtrace_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "size", record->u.auxtrace.size);
	put_hex(visitor, "offset", record->u.auxtrace.offset);
	put_hex(visitor, "reference", record->u.auxtrace.reference);
	put_unsigned(visitor, "idx", record->u.auxtrace.idx);
	put_signed(visitor, "tid", record->u.auxtrace.tid);
	put_signed(visitor, "cpu", record->u.auxtrace.cpu);
}

static void auxtrace_error_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "auxtrace_type", record->u.auxtrace_error.type);
	put_unsigned(visitor, "code", record->u.auxtrace_error.code);
	put_signed(visitor, "cpu", (int32_t)record->u.auxtrace_error.cpu);
	put_pid_tid(visitor, record->u.auxtrace_error.pid, record->u.auxtrace_error.tid);
	put_hex(visitor, "ip", record->u.auxtrace_error.ip);
	if (record->u.auxtrace_error.format >= 1)
		put_unsigned(visitor, "at", record->u.auxtrace_error.time);
	if (record->u.auxtrace_error.format >= 2) {
		put_signed(visitor, "machine_pid", record->u.auxtrace_error.machine_pid);
		put_signed(visitor, "vcpu", record->u.auxtrace_error.vcpu);
	}
	put_string(visitor, "text", record->u.auxtrace_error.text);
}

/* A name in 16 bytes that need not end in a NUL. */
static void put_short_name(const struct sb_field_visitor *visitor, const char *name, const uint8_t *bytes)
{
	char text[17] = "";

	memcpy(text, bytes, 16);
	put_string(visitor, name, text);
}

static void thread_map_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const uint8_t *entry = record->u.thread_map.entries;

	visitor->begin_list(visitor->context, "threads");
	for (uint64_t i = 0; i < record->u.thread_map.nr; i++, entry += 24) {
		visitor->begin_group(visitor->context);
		put_signed(visitor, "tid", (int64_t)load_u64(entry));
		put_short_name(visitor, "name", entry + 8);
		visitor->end_group(visitor->context);
	}
	visitor->end_list(visitor->context);
}

static void put_range(const struct sb_field_visitor *visitor, int32_t first, int32_t last)
{
	visitor->begin_group(visitor->context);
	put_signed(visitor, "first", first);
	put_signed(visitor, "last", last);
	visitor->end_group(visitor->context);
}

static void put_cpus(const struct sb_field_visitor *visitor, const struct sb_cpu_map *map)
{
	static const char *const kinds[] = {"list", "mask", "range"};
	int32_t first = 0, last = 0, cpu;
	uint32_t position = 0;
	int any = 0;

	put_string(visitor, "map", kinds[map->kind]);
	put_flag(visitor, "any_cpu", map->any_cpu);
	visitor->begin_list(visitor->context, "cpus");
	while (sb_cpu_map_next(map, &position, &cpu)) {
		if (any && cpu != last + 1)
			put_range(visitor, first, last);
		if (!any || cpu != last + 1)
			first = cpu;
		last = cpu;
		any = 1;
	}
	if (any)
		put_range(visitor, first, last);
	visitor->end_list(visitor->context);
}

static void cpu_map_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_cpus(visitor, &record->u.cpu_map);
}

static void stat_config_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	const uint8_t *entry = record->u.stat_config.entries;

	visitor->begin_list(visitor->context, "config");
	for (uint64_t i = 0; i < record->u.stat_config.nr; i++, entry += 16) {
		visitor->begin_group(visitor->context);
		put_unsigned(visitor, "tag", load_u64(entry));
		put_unsigned(visitor, "value", load_u64(entry + 8));
		visitor->end_group(visitor->context);
	}
	visitor->end_list(visitor->context);
}

static void stat_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "id", record->u.stat.id);
	put_signed(visitor, "cpu", record->u.stat.cpu);
	put_signed(visitor, "thread", record->u.stat.thread);
	put_unsigned(visitor, "value", record->u.stat.value);
	put_unsigned(visitor, "enabled", record->u.stat.enabled);
	put_unsigned(visitor, "running", record->u.stat.running);
}

static void stat_round_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "round_type", record->u.stat_round.type);
	put_unsigned(visitor, "at", record->u.stat_round.time);
}

static void event_update_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "id", record->u.event_update.id);
	switch (record->u.event_update.kind) {
	case SB_EVENT_UPDATE_UNIT:
		put_string(visitor, "unit", record->u.event_update.text);
		break;
	case SB_EVENT_UPDATE_NAME:
		put_string(visitor, "name", record->u.event_update.text);
		break;
	case SB_EVENT_UPDATE_SCALE:
		put_real(visitor, "scale", record->u.event_update.scale);
		break;
	case SB_EVENT_UPDATE_CPUS:
		put_cpus(visitor, &record->u.event_update.cpus);
		break;
	default:
		put_unsigned(visitor, "kind", record->u.event_update.kind);
	}
}

static void time_conv_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "time_shift", record->u.time_conv.time_shift);
	put_unsigned(visitor, "time_mult", record->u.time_conv.time_mult);
	put_unsigned(visitor, "time_zero", record->u.time_conv.time_zero);
	put_unsigned(visitor, "time_cycles", record->u.time_conv.time_cycles);
	put_hex(visitor, "time_mask", record->u.time_conv.time_mask);
	put_flag(visitor, "cap_user_time_zero", record->u.time_conv.cap_user_time_zero);
	put_flag(visitor, "cap_user_time_short", record->u.time_conv.cap_user_time_short);
}

static void header_feature_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_unsigned(visitor, "feature", record->u.header_feature.feature);
	put_bytes(visitor, "bytes", record->u.header_feature.bytes, record->u.header_feature.size);
}

static void compressed_fields(const struct sb_field_visitor *visitor, const struct sb_record *record)
{
	put_hex(visitor, "size", record->u.compressed.size);
}

#define OWN(type) [SB_RECORD_##type - SB_RECORD_HEADER_ATTR]

fields_of *const perf_fields[] = {
        OWN(HEADER_ATTR) = header_attr_fields,   OWN(EVENT_TYPE) = event_type_fields,
        OWN(TRACING_DATA) = tracing_data_fields, OWN(BUILD_ID) = build_id_fields,
        OWN(ID_INDEX) = id_index_fields,         OWN(AUXTRACE_INFO) = auxtrace_info_fields,
        OWN(AUXTRACE) = auxtrace_fields,         OWN(AUXTRACE_ERROR) = auxtrace_error_fields,
        OWN(THREAD_MAP) = thread_map_fields,     OWN(CPU_MAP) = cpu_map_fields,
        OWN(STAT_CONFIG) = stat_config_fields,   OWN(STAT) = stat_fields,
        OWN(STAT_ROUND) = stat_round_fields,     OWN(EVENT_UPDATE) = event_update_fields,
        OWN(TIME_CONV) = time_conv_fields,       OWN(HEADER_FEATURE) = header_feature_fields,
        OWN(COMPRESSED) = compressed_fields,     OWN(COMPRESSED2) = compressed_fields,
};

const uint32_t perf_fields_count = sizeof(perf_fields) / sizeof(perf_fields[0]);
