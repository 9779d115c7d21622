/* perf_records.c - bodies of the records that perf itself writes (64 and above).
 * Layouts: perf's tools/perf/Documentation/perf.data-file-format.txt.
 */
#include "record/record_body.h"

#include "record/bytes.h"

enum { /* bytes */
       ID_INDEX_ENTRY = 32,
       ID_INDEX_GUEST = 16,
       THREAD_MAP_ENTRY = 24,
       STAT_CONFIG_ENTRY = 16,
       ATTR_LEAST = 64, /* the first published perf_event_attr */
       CPU_MAP_LEAST = 6,
       ERROR_GUEST = 104, /* where AUXTRACE_ERROR has machine_pid and vcpu */
       BUILD_ID_MOST = 20
};

enum { MISC_BUILD_ID_SIZE = 1 << 15 };

static const char *parse_auxtrace(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.auxtrace.size = load_u64(body);
	record->u.auxtrace.offset = load_u64(body + 8);
	record->u.auxtrace.reference = load_u64(body + 16);
	record->u.auxtrace.idx = load_u32(body + 24);
	record->u.auxtrace.tid = load_i32(body + 28);
	record->u.auxtrace.cpu = load_i32(body + 32);
	if (record->u.auxtrace.cpu < -1 || record->u.auxtrace.cpu > SB_CPU_MAX)
		return "no machine has a CPU of its number";
	return NULL;
}

static const char *check_clock(uint64_t time_shift, uint64_t time_mult)
{
	if (time_shift > 63 || time_mult > UINT32_MAX)
		return "its time_shift is above 63 or its time_mult has more than 32 bits";
	return NULL;
}

static const char *parse_auxtrace_info(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.auxtrace_info.type = load_u32(body);
	record->u.auxtrace_info.priv = body + 8;
	record->u.auxtrace_info.npriv = (uint32_t)((size - 8) / 8);
	if (record->u.auxtrace_info.type == SB_AUXTRACE_INTEL_PT && record->u.auxtrace_info.npriv >= 3)
		return check_clock(load_u64(body + 16), load_u64(body + 24));
	return NULL;
}

static const char *parse_auxtrace_error(struct sb_record *record, const uint8_t *body, size_t size)
{
	const uint32_t format = load_u32(body + 20);

	memset(&record->u.auxtrace_error, 0, sizeof(record->u.auxtrace_error));
	record->u.auxtrace_error.type = load_u32(body);
	record->u.auxtrace_error.code = load_u32(body + 4);
	record->u.auxtrace_error.cpu = load_u32(body + 8);
	record->u.auxtrace_error.pid = load_i32(body + 12);
	record->u.auxtrace_error.tid = load_i32(body + 16);
	record->u.auxtrace_error.format = format;
	record->u.auxtrace_error.ip = load_u64(body + 24);
	if (!format)
		return read_string(&record->u.auxtrace_error.text, body, size, 32);
	record->u.auxtrace_error.time = load_u64(body + 32);
	if (format >= 2 && size >= ERROR_GUEST + 8) {
		record->u.auxtrace_error.machine_pid = load_i32(body + ERROR_GUEST);
		record->u.auxtrace_error.vcpu = load_i32(body + ERROR_GUEST + 4);
	}
	return read_string(&record->u.auxtrace_error.text, body, size, 40);
}

static const char *parse_time_conv(struct sb_record *record, const uint8_t *body, size_t size)
{
	memset(&record->u.time_conv, 0, sizeof(record->u.time_conv));
	record->u.time_conv.time_shift = load_u64(body);
	record->u.time_conv.time_mult = load_u64(body + 8);
	record->u.time_conv.time_zero = load_u64(body + 16);
	/* The older form ends here, and is written only when time_zero is valid. */
	record->u.time_conv.cap_user_time_zero = 1;
	if (size >= 42) {
		record->u.time_conv.time_cycles = load_u64(body + 24);
		record->u.time_conv.time_mask = load_u64(body + 32);
		record->u.time_conv.cap_user_time_zero = body[40] != 0;
		record->u.time_conv.cap_user_time_short = body[41] != 0;
	}
	return check_clock(record->u.time_conv.time_shift, record->u.time_conv.time_mult);
}

/* nr, and so many entries: the same for several types. */
static const char *check_entries(uint64_t nr, size_t size, size_t at, size_t entry_size)
{
	return nr > (size - at) / entry_size ? "it counts more entries than it holds" : NULL;
}

static const char *parse_id_index(struct sb_record *record, const uint8_t *body, size_t size)
{
	const uint64_t nr = load_u64(body);

	record->u.id_index.nr = nr;
	record->u.id_index.entries = body + 8;
	record->u.id_index.guests = NULL;
	/* Newer ones have as many { u64 machine_pid, vcpu } behind. */
	if (nr <= (size - 8) / (ID_INDEX_ENTRY + ID_INDEX_GUEST))
		record->u.id_index.guests = body + 8 + nr * ID_INDEX_ENTRY;
	return check_entries(nr, size, 8, ID_INDEX_ENTRY);
}

static const char *parse_header_attr(struct sb_record *record, const uint8_t *body, size_t size)
{
	const uint32_t said = load_u32(body + 4);
	const uint32_t attr_size = said < ATTR_LEAST ? ATTR_LEAST : said; /* the first version says 0 */

	if (attr_size > size || (size - attr_size) % 8)
		return "its attribute does not fit into it";
	record->u.header_attr.attr = body;
	record->u.header_attr.attr_size = attr_size;
	record->u.header_attr.ids = body + attr_size;
	record->u.header_attr.nids = (size - attr_size) / 8;
	return NULL;
}

static const char *parse_event_type(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.event_type.id = load_u64(body);
	return read_string(&record->u.event_type.name, body, size, 8);
}

static const char *parse_tracing_data(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.tracing_data.size = load_u32(body);
	return NULL;
}

static const char *parse_build_id(struct sb_record *record, const uint8_t *body, size_t size)
{
	const uint8_t id_size = record->misc & MISC_BUILD_ID_SIZE ? body[24] : BUILD_ID_MOST;

	if (id_size > BUILD_ID_MOST)
		return "its build-id is longer than 20 bytes";
	record->u.build_id.pid = load_i32(body);
	record->u.build_id.build_id_size = id_size;
	memcpy(record->u.build_id.build_id, body + 4, BUILD_ID_MOST);
	return read_string(&record->u.build_id.filename, body, size, 28);
}

static const char *parse_thread_map(struct sb_record *record, const uint8_t *body, size_t size)
{
	const uint64_t nr = load_u64(body);

	record->u.thread_map.nr = nr;
	record->u.thread_map.entries = body + 8;
	return check_entries(nr, size, 8, THREAD_MAP_ENTRY);
}

static const char *parse_cpu_range(struct sb_cpu_map *map, const uint8_t *body, size_t size)
{
	if (size < 8)
		return "its range is cut";
	map->any_cpu = body[2];
	map->first = load_u16(body + 4);
	map->last = load_u16(body + 6);
	return NULL;
}

/* @body has CPU_MAP_LEAST bytes at least. Words of a mask begin where they are aligned, when the kind is not.
 */
static const char *parse_cpus(struct sb_cpu_map *map, const uint8_t *body, size_t size)
{
	size_t at = 4;

	*map = (struct sb_cpu_map){.kind = load_u16(body), .nr = load_u16(body + 2)};
	switch (map->kind) {
	case SB_CPU_MAP_LIST:
		map->entry_size = 2;
		break;
	case SB_CPU_MAP_MASK:
		map->entry_size = load_u16(body + 4);
		if (map->entry_size != 4 && map->entry_size != 8)
			return "the words of its mask have neither 4 nor 8 bytes";
		at = map->entry_size == 8 ? 10 : 6;
		break;
	case SB_CPU_MAP_RANGE:
		return parse_cpu_range(map, body, size);
	default:
		return "its map is neither a list, a mask nor a range";
	}
	map->entries = body + at;
	return at > size ? "its mask is cut" : check_entries(map->nr, size, at, map->entry_size);
}

static uint32_t cpu_map_end(const struct sb_cpu_map *map)
{
	switch (map->kind) {
	case SB_CPU_MAP_LIST:
		return map->nr;
	case SB_CPU_MAP_MASK:
		return map->nr * map->entry_size * 8u;
	default:
		return map->last < map->first ? 0 : map->last - map->first + 1u;
	}
}

int sb_cpu_map_next(const struct sb_cpu_map *map, uint32_t *position, int32_t *cpu)
{
	const uint32_t end = cpu_map_end(map);

	/* Little-endian words are bits in order. */
	while (map->kind == SB_CPU_MAP_MASK && *position < end &&
	       !(map->entries[*position / 8] >> *position % 8 & 1))
		*position += 1;
	if (*position >= end)
		return 0;
	if (map->kind == SB_CPU_MAP_LIST)
		*cpu = (int16_t)load_u16(map->entries + 2 * (size_t)*position);
	else
		*cpu = (int32_t)(map->first + *position);
	*position += 1;
	return 1;
}

static const char *parse_cpu_map(struct sb_record *record, const uint8_t *body, size_t size)
{
	return parse_cpus(&record->u.cpu_map, body, size);
}

static const char *parse_stat_config(struct sb_record *record, const uint8_t *body, size_t size)
{
	const uint64_t nr = load_u64(body);

	record->u.stat_config.nr = nr;
	record->u.stat_config.entries = body + 8;
	return check_entries(nr, size, 8, STAT_CONFIG_ENTRY);
}

static const char *parse_stat(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.stat.id = load_u64(body);
	record->u.stat.cpu = load_i32(body + 8);
	record->u.stat.thread = load_i32(body + 12);
	record->u.stat.value = load_u64(body + 16);
	record->u.stat.enabled = load_u64(body + 24);
	record->u.stat.running = load_u64(body + 32);
	return NULL;
}

static const char *parse_stat_round(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.stat_round.type = load_u64(body);
	record->u.stat_round.time = load_u64(body + 8);
	return NULL;
}

static const char *parse_event_update(struct sb_record *record, const uint8_t *body, size_t size)
{
	memset(&record->u.event_update, 0, sizeof(record->u.event_update));
	record->u.event_update.kind = load_u64(body);
	record->u.event_update.id = load_u64(body + 8);
	switch (record->u.event_update.kind) {
	case SB_EVENT_UPDATE_UNIT:
	case SB_EVENT_UPDATE_NAME:
		return read_string(&record->u.event_update.text, body, size, 16);
	case SB_EVENT_UPDATE_SCALE:
		if (size < 24)
			return "it ends before its scale does";
		memcpy(&record->u.event_update.scale, body + 16, 8);
		return NULL;
	case SB_EVENT_UPDATE_CPUS:
		return size < 16 + CPU_MAP_LEAST
		               ? "it ends before its CPUs do"
		               : parse_cpus(&record->u.event_update.cpus, body + 16, size - 16);
	default:
		return NULL;
	}
}

static const char *parse_header_feature(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.header_feature.feature = load_u64(body);
	record->u.header_feature.bytes = body + 8;
	record->u.header_feature.size = size - 8;
	return NULL;
}

static const char *parse_compressed(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.compressed.bytes = body;
	record->u.compressed.size = size;
	return NULL;
}

/* Padded to 8 bytes: it says how many count. */
static const char *parse_compressed2(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.compressed.bytes = body + 8;
	record->u.compressed.size = load_u64(body);
	return record->u.compressed.size > size - 8 ? "it counts more bytes than it holds" : NULL;
}

#define OWN(type) [SB_RECORD_##type - SB_RECORD_HEADER_ATTR]

/* Whether they are right is not known by their size. */
const struct record_body perf_bodies[] = {
        OWN(HEADER_ATTR) = {"HEADER_ATTR", ATTR_LEAST, 1, parse_header_attr},
        OWN(EVENT_TYPE) = {"EVENT_TYPE", 8, 1, parse_event_type},
        OWN(TRACING_DATA) = {"TRACING_DATA", 4, 1, parse_tracing_data},
        OWN(BUILD_ID) = {"BUILD_ID", 28, 1, parse_build_id},
        OWN(FINISHED_ROUND) = {"FINISHED_ROUND", 0, 1, NULL},
        OWN(ID_INDEX) = {"ID_INDEX", 8, 1, parse_id_index},
        OWN(AUXTRACE_INFO) = {"AUXTRACE_INFO", 8, 1, parse_auxtrace_info},
        OWN(AUXTRACE) = {"AUXTRACE", 40, 1, parse_auxtrace},
        OWN(AUXTRACE_ERROR) = {"AUXTRACE_ERROR", 40, 1, parse_auxtrace_error},
        OWN(THREAD_MAP) = {"THREAD_MAP", 8, 1, parse_thread_map},
        OWN(CPU_MAP) = {"CPU_MAP", CPU_MAP_LEAST, 1, parse_cpu_map},
        OWN(STAT_CONFIG) = {"STAT_CONFIG", 8, 1, parse_stat_config},
        OWN(STAT) = {"STAT", 40, 1, parse_stat},
        OWN(STAT_ROUND) = {"STAT_ROUND", 16, 1, parse_stat_round},
        OWN(EVENT_UPDATE) = {"EVENT_UPDATE", 16, 1, parse_event_update},
        OWN(TIME_CONV) = {"TIME_CONV", 24, 1, parse_time_conv},
        OWN(HEADER_FEATURE) = {"HEADER_FEATURE", 8, 1, parse_header_feature},
        OWN(COMPRESSED) = {"COMPRESSED", 0, 1, parse_compressed},
        OWN(FINISHED_INIT) = {"FINISHED_INIT", 0, 1, NULL},
        OWN(COMPRESSED2) = {"COMPRESSED2", 8, 1, parse_compressed2},
        OWN(BPF_METADATA) = {"BPF_METADATA", 0, 1, NULL},
        OWN(SCHEDSTAT_CPU) = {"SCHEDSTAT_CPU", 0, 1, NULL},
        OWN(SCHEDSTAT_DOMAIN) = {"SCHEDSTAT_DOMAIN", 0, 1, NULL},
};

const uint32_t perf_bodies_count = sizeof(perf_bodies) / sizeof(perf_bodies[0]);
