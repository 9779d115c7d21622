/* record.c - from a record's bytes to struct sb_record.
 *
 * One row per type: its name, the smallest body that it can have, and a function that reads the
 * body. The body is what lies between the 8-byte header and the sample trailer; a row's function is
 * called only when the smallest body is there, and answers with NULL or with what is wrong.
 * Layouts: perf_event_open(2), <linux/perf_event.h>, perf.data-file-format.txt.
 */
#include "record/record_parse.h"

#include <linux/perf_event.h>

#include "record/bytes.h"

enum { HEADER_SIZE = 8, BUILD_ID_MAX = 20, ID_INDEX_ENTRY = 32 };

/* Bits of misc that this tree's oldest supported kernel headers may lack. */
enum { MISC_MMAP_BUILD_ID = 1 << 14, MISC_GUEST_KERNEL = 4, MISC_GUEST_USER = 5 };

/* The string at @body[@at] must end before the body does. */
static const char *read_string(const char **string, const uint8_t *body, size_t size, size_t at)
{
	if (!memchr(body + at, '\0', size - at))
		return "the string in it has no end";
	*string = (const char *)(body + at);
	return NULL;
}

static const char *parse_comm(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.comm.pid = load_i32(body);
	record->u.comm.tid = load_i32(body + 4);
	record->u.comm.exec = (record->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
	return read_string(&record->u.comm.name, body, size, 8);
}

static void parse_mapping(struct sb_record *record, const uint8_t *body)
{
	unsigned int cpumode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	memset(&record->u.mmap, 0, sizeof(record->u.mmap));
	record->u.mmap.pid = load_i32(body);
	record->u.mmap.tid = load_i32(body + 4);
	record->u.mmap.addr = load_u64(body + 8);
	record->u.mmap.len = load_u64(body + 16);
	record->u.mmap.pgoff = load_u64(body + 24);
	record->u.mmap.is_data = (record->misc & PERF_RECORD_MISC_MMAP_DATA) != 0;
	record->u.mmap.is_kernel = cpumode == PERF_RECORD_MISC_KERNEL;
	record->u.mmap.is_guest = cpumode == MISC_GUEST_KERNEL || cpumode == MISC_GUEST_USER;
}

static const char *parse_mmap(struct sb_record *record, const uint8_t *body, size_t size)
{
	parse_mapping(record, body);
	return read_string(&record->u.mmap.filename, body, size, 32);
}

static const char *parse_build_id(struct sb_record *record, const uint8_t *id)
{
	if (id[0] > BUILD_ID_MAX)
		return "its build-id is longer than 20 bytes";
	record->u.mmap.build_id_size = id[0];
	memcpy(record->u.mmap.build_id, id + 4, id[0]);
	return NULL;
}

static const char *parse_mmap2(struct sb_record *record, const uint8_t *body, size_t size)
{
	const char *wrong = NULL;

	parse_mapping(record, body);
	record->u.mmap.is_mmap2 = 1;
	if (record->misc & MISC_MMAP_BUILD_ID) {
		wrong = parse_build_id(record, body + 32);
	} else {
		record->u.mmap.maj = load_u32(body + 32);
		record->u.mmap.min = load_u32(body + 36);
		record->u.mmap.ino = load_u64(body + 40);
		record->u.mmap.ino_generation = load_u64(body + 48);
	}
	record->u.mmap.prot = load_u32(body + 56);
	record->u.mmap.flags = load_u32(body + 60);
	return wrong ? wrong : read_string(&record->u.mmap.filename, body, size, 64);
}

static const char *parse_task(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.task.pid = load_i32(body);
	record->u.task.ppid = load_i32(body + 4);
	record->u.task.tid = load_i32(body + 8);
	record->u.task.ptid = load_i32(body + 12);
	record->u.task.time = load_u64(body + 16);
	return NULL;
}

static void parse_direction(struct sb_record *record)
{
	record->u.context_switch.out = (record->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
	record->u.context_switch.preempt = (record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
}

static const char *parse_switch(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)body;
	(void)size;
	parse_direction(record);
	record->u.context_switch.next_prev_pid = -1;
	record->u.context_switch.next_prev_tid = -1;
	return NULL;
}

static const char *parse_switch_cpu_wide(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	parse_direction(record);
	record->u.context_switch.next_prev_pid = load_i32(body);
	record->u.context_switch.next_prev_tid = load_i32(body + 4);
	return NULL;
}

static const char *parse_itrace_start(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.itrace_start.pid = load_i32(body);
	record->u.itrace_start.tid = load_i32(body + 4);
	return NULL;
}

static const char *parse_aux(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.aux.offset = load_u64(body);
	record->u.aux.size = load_u64(body + 8);
	record->u.aux.flags = load_u64(body + 16);
	return NULL;
}

static const char *parse_lost(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.lost.id = load_u64(body);
	record->u.lost.lost = load_u64(body + 8);
	return NULL;
}

static const char *parse_lost_samples(struct sb_record *record, const uint8_t *body, size_t size)
{
	(void)size;
	record->u.lost.id = 0;
	record->u.lost.lost = load_u64(body);
	return NULL;
}

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
	uint32_t format = load_u32(body + 20);

	record->u.auxtrace_error.type = load_u32(body);
	record->u.auxtrace_error.code = load_u32(body + 4);
	record->u.auxtrace_error.cpu = load_u32(body + 8);
	record->u.auxtrace_error.pid = load_i32(body + 12);
	record->u.auxtrace_error.tid = load_i32(body + 16);
	record->u.auxtrace_error.ip = load_u64(body + 24);
	/* Format 0 has no time in front of the text. */
	return read_string(&record->u.auxtrace_error.text, body, size, format ? 40 : 32);
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

static const char *parse_id_index(struct sb_record *record, const uint8_t *body, size_t size)
{
	record->u.id_index.nr = load_u64(body);
	record->u.id_index.entries = body + 8;
	if (record->u.id_index.nr > (size - 8) / ID_INDEX_ENTRY)
		return "it counts more entries than it holds";
	return NULL;
}

struct shape {
	const char *name;
	uint16_t min_body;
	const char *(*parse)(struct sb_record *record, const uint8_t *body, size_t size);
};

/* Kernel types that older headers lack are given by number. */
static const struct shape shapes[] = {
        [PERF_RECORD_MMAP] = {"MMAP", 32, parse_mmap},
        [PERF_RECORD_LOST] = {"LOST", 16, parse_lost},
        [PERF_RECORD_COMM] = {"COMM", 8, parse_comm},
        [PERF_RECORD_EXIT] = {"EXIT", 24, parse_task},
        [PERF_RECORD_THROTTLE] = {"THROTTLE", 0, NULL},
        [PERF_RECORD_UNTHROTTLE] = {"UNTHROTTLE", 0, NULL},
        [PERF_RECORD_FORK] = {"FORK", 24, parse_task},
        [PERF_RECORD_READ] = {"READ", 0, NULL},
        [PERF_RECORD_SAMPLE] = {"SAMPLE", 0, NULL},
        [PERF_RECORD_MMAP2] = {"MMAP2", 64, parse_mmap2},
        [PERF_RECORD_AUX] = {"AUX", 24, parse_aux},
        [PERF_RECORD_ITRACE_START] = {"ITRACE_START", 8, parse_itrace_start},
        [PERF_RECORD_LOST_SAMPLES] = {"LOST_SAMPLES", 8, parse_lost_samples},
        [PERF_RECORD_SWITCH] = {"SWITCH", 0, parse_switch},
        [PERF_RECORD_SWITCH_CPU_WIDE] = {"SWITCH_CPU_WIDE", 8, parse_switch_cpu_wide},
        [PERF_RECORD_NAMESPACES] = {"NAMESPACES", 0, NULL},
        [17] = {"KSYMBOL", 0, NULL},
        [18] = {"BPF_EVENT", 0, NULL},
        [19] = {"CGROUP", 0, NULL},
        [20] = {"TEXT_POKE", 0, NULL},
        [21] = {"AUX_OUTPUT_HW_ID", 0, NULL},
        [22] = {"CALLCHAIN_DEFERRED", 0, NULL},
        [SB_RECORD_HEADER_ATTR] = {"HEADER_ATTR", 0, NULL},
        [SB_RECORD_EVENT_TYPE] = {"EVENT_TYPE", 0, NULL},
        [SB_RECORD_TRACING_DATA] = {"TRACING_DATA", 4, NULL},
        [SB_RECORD_BUILD_ID] = {"BUILD_ID", 0, NULL},
        [SB_RECORD_FINISHED_ROUND] = {"FINISHED_ROUND", 0, NULL},
        [SB_RECORD_ID_INDEX] = {"ID_INDEX", 8, parse_id_index},
        [SB_RECORD_AUXTRACE_INFO] = {"AUXTRACE_INFO", 8, parse_auxtrace_info},
        [SB_RECORD_AUXTRACE] = {"AUXTRACE", 40, parse_auxtrace},
        [SB_RECORD_AUXTRACE_ERROR] = {"AUXTRACE_ERROR", 40, parse_auxtrace_error},
        [SB_RECORD_THREAD_MAP] = {"THREAD_MAP", 0, NULL},
        [SB_RECORD_CPU_MAP] = {"CPU_MAP", 0, NULL},
        [SB_RECORD_STAT_CONFIG] = {"STAT_CONFIG", 0, NULL},
        [SB_RECORD_STAT] = {"STAT", 0, NULL},
        [SB_RECORD_STAT_ROUND] = {"STAT_ROUND", 0, NULL},
        [SB_RECORD_EVENT_UPDATE] = {"EVENT_UPDATE", 0, NULL},
        [SB_RECORD_TIME_CONV] = {"TIME_CONV", 24, parse_time_conv},
        [SB_RECORD_HEADER_FEATURE] = {"HEADER_FEATURE", 0, NULL},
        [SB_RECORD_COMPRESSED] = {"COMPRESSED", 0, NULL},
        [SB_RECORD_FINISHED_INIT] = {"FINISHED_INIT", 0, NULL},
        [SB_RECORD_COMPRESSED2] = {"COMPRESSED2", 0, NULL},
        [SB_RECORD_BPF_METADATA] = {"BPF_METADATA", 0, NULL},
        [SB_RECORD_SCHEDSTAT_CPU] = {"SCHEDSTAT_CPU", 0, NULL},
        [SB_RECORD_SCHEDSTAT_DOMAIN] = {"SCHEDSTAT_DOMAIN", 0, NULL},
};

static const struct shape *shape_of(uint32_t type)
{
	static const struct shape unknown = {"unknown", 0, NULL};

	return type < sizeof(shapes) / sizeof(shapes[0]) && shapes[type].name ? &shapes[type] : &unknown;
}

const char *sb_record_name(uint32_t type)
{
	return shape_of(type)->name;
}

uint64_t sb_sample_format_trailer(const struct sb_sample_format *format)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
	                        PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return format->sample_id_all ? format->sample_type & fields : 0;
}

struct record_trailer record_trailer(const struct sb_sample_format *format)
{
	struct record_trailer trailer = {0};

	if (format)
		trailer.fields = sb_sample_format_trailer(format);
	trailer.size = 8 * (uint32_t)__builtin_popcountll(trailer.fields);
	return trailer;
}

static size_t trailer_size(uint32_t type, const struct record_trailer *trailer)
{
	return type >= SB_RECORD_HEADER_ATTR || type == PERF_RECORD_SAMPLE ? 0 : trailer->size;
}

/* Whether a record of this type that is large enough may still be wrong. */
static int may_contradict_itself(uint32_t type)
{
	return type == PERF_RECORD_COMM || type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2;
}

void record_sizes(struct record_sizes *sizes, const struct record_trailer *trailer)
{
	for (uint32_t type = 0; type < RECORD_KERNEL_TYPES; type++) {
		size_t size = HEADER_SIZE + trailer_size(type, trailer) + shape_of(type)->min_body;

		sizes->right_from[type] = may_contradict_itself(type) ? 0 : (uint32_t)size;
	}
}

static void parse_trailer(struct sb_sample_id *sample, const uint8_t *p, uint64_t sample_type)
{
	*sample = (struct sb_sample_id){0};
	sample->has = sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
	                             PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
	if (sample_type & PERF_SAMPLE_TID) {
		sample->pid = load_i32(p);
		sample->tid = load_i32(p + 4);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_TIME) {
		sample->time = load_u64(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_ID) {
		sample->id = load_u64(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_STREAM_ID) {
		sample->stream_id = load_u64(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_CPU) {
		sample->cpu = load_u32(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_IDENTIFIER) {
		sample->id = load_u64(p);
		sample->has |= PERF_SAMPLE_ID;
	}
}

static int parse_header(struct sb_record *record, const uint8_t *bytes, size_t avail, const char *file,
                        uint64_t offset, struct sb_error *err)
{
	if (avail < HEADER_SIZE)
		return sb_error_set(err, -sbe_truncated, file, offset,
		                    "the data end after %zu of the 8 bytes of a record's header", avail);
	record->type = load_u32(bytes);
	record->misc = load_u16(bytes + 4);
	record->size = load_u16(bytes + 6);
	record->offset = offset;
	record->bytes = bytes;
	if (record->size < HEADER_SIZE)
		return sb_error_set(err, -sbe_format, file, offset,
		                    "a record of type %u says that it has %u bytes; its header alone has 8",
		                    record->type, record->size);
	if (record->size > avail)
		return sb_error_set(err, -sbe_truncated, file, offset,
		                    "the data end after %zu of the %u bytes of a record of type %u (%s)",
		                    avail, record->size, record->type, sb_record_name(record->type));
	return 0;
}

/* Every field of @record is written, but for those of the union that its type does not have. */
int record_parse(struct sb_record *record, const uint8_t *bytes, size_t avail,
                 const struct record_trailer *trailer, const char *file, uint64_t offset,
                 struct sb_error *err)
{
	const struct shape *shape;
	const uint8_t *body = bytes + HEADER_SIZE;
	const char *wrong = NULL;
	size_t behind, size;
	int status;

	status = parse_header(record, bytes, avail, file, offset, err);
	if (status < 0)
		return status;
	shape = shape_of(record->type);
	behind = trailer_size(record->type, trailer);
	if (record->size < HEADER_SIZE + behind + shape->min_body)
		return sb_error_set(
		        err, -sbe_format, file, offset,
		        "a record of type %u (%s) has %u bytes; with its sample trailer it needs %zu",
		        record->type, shape->name, record->size, HEADER_SIZE + behind + shape->min_body);
	size = record->size - HEADER_SIZE - behind;
	parse_trailer(&record->sample, body + size, behind ? trailer->fields : 0);
	if (shape->parse)
		wrong = shape->parse(record, body, size);
	if (wrong)
		return sb_error_set(err, -sbe_format, file, offset,
		                    "a record of type %u (%s) of %u bytes: %s", record->type, shape->name,
		                    record->size, wrong);
	return 0;
}

int sb_record_parse(struct sb_record *record, const uint8_t *bytes, size_t avail,
                    const struct sb_sample_format *format, const char *file, uint64_t offset,
                    struct sb_error *err)
{
	const struct record_trailer trailer = record_trailer(format);

	memset(record, 0, sizeof(*record));
	return record_parse(record, bytes, avail, &trailer, file, offset, err);
}
