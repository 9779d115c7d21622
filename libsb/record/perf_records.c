/* perf_records.c - bodies of the records that perf itself writes (64 and above).
 * Layouts: perf's tools/perf/Documentation/perf.data-file-format.txt.
 */
#include "record/record_body.h"

#include "record/bytes.h"

enum { ID_INDEX_ENTRY = 32 };

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

const struct record_body perf_bodies[] = {
        [SB_RECORD_HEADER_ATTR - SB_RECORD_HEADER_ATTR] = {"HEADER_ATTR", 0, 1, NULL},
        [SB_RECORD_EVENT_TYPE - SB_RECORD_HEADER_ATTR] = {"EVENT_TYPE", 0, 1, NULL},
        [SB_RECORD_TRACING_DATA - SB_RECORD_HEADER_ATTR] = {"TRACING_DATA", 4, 1, NULL},
        [SB_RECORD_BUILD_ID - SB_RECORD_HEADER_ATTR] = {"BUILD_ID", 0, 1, NULL},
        [SB_RECORD_FINISHED_ROUND - SB_RECORD_HEADER_ATTR] = {"FINISHED_ROUND", 0, 1, NULL},
        [SB_RECORD_ID_INDEX - SB_RECORD_HEADER_ATTR] = {"ID_INDEX", 8, 1, parse_id_index},
        [SB_RECORD_AUXTRACE_INFO - SB_RECORD_HEADER_ATTR] = {"AUXTRACE_INFO", 8, 1, parse_auxtrace_info},
        [SB_RECORD_AUXTRACE - SB_RECORD_HEADER_ATTR] = {"AUXTRACE", 40, 1, parse_auxtrace},
        [SB_RECORD_AUXTRACE_ERROR - SB_RECORD_HEADER_ATTR] = {"AUXTRACE_ERROR", 40, 1, parse_auxtrace_error},
        [SB_RECORD_THREAD_MAP - SB_RECORD_HEADER_ATTR] = {"THREAD_MAP", 0, 1, NULL},
        [SB_RECORD_CPU_MAP - SB_RECORD_HEADER_ATTR] = {"CPU_MAP", 0, 1, NULL},
        [SB_RECORD_STAT_CONFIG - SB_RECORD_HEADER_ATTR] = {"STAT_CONFIG", 0, 1, NULL},
        [SB_RECORD_STAT - SB_RECORD_HEADER_ATTR] = {"STAT", 0, 1, NULL},
        [SB_RECORD_STAT_ROUND - SB_RECORD_HEADER_ATTR] = {"STAT_ROUND", 0, 1, NULL},
        [SB_RECORD_EVENT_UPDATE - SB_RECORD_HEADER_ATTR] = {"EVENT_UPDATE", 0, 1, NULL},
        [SB_RECORD_TIME_CONV - SB_RECORD_HEADER_ATTR] = {"TIME_CONV", 24, 1, parse_time_conv},
        [SB_RECORD_HEADER_FEATURE - SB_RECORD_HEADER_ATTR] = {"HEADER_FEATURE", 0, 1, NULL},
        [SB_RECORD_COMPRESSED - SB_RECORD_HEADER_ATTR] = {"COMPRESSED", 0, 1, NULL},
        [SB_RECORD_FINISHED_INIT - SB_RECORD_HEADER_ATTR] = {"FINISHED_INIT", 0, 1, NULL},
        [SB_RECORD_COMPRESSED2 - SB_RECORD_HEADER_ATTR] = {"COMPRESSED2", 0, 1, NULL},
        [SB_RECORD_BPF_METADATA - SB_RECORD_HEADER_ATTR] = {"BPF_METADATA", 0, 1, NULL},
        [SB_RECORD_SCHEDSTAT_CPU - SB_RECORD_HEADER_ATTR] = {"SCHEDSTAT_CPU", 0, 1, NULL},
        [SB_RECORD_SCHEDSTAT_DOMAIN - SB_RECORD_HEADER_ATTR] = {"SCHEDSTAT_DOMAIN", 0, 1, NULL},
};

const uint32_t perf_bodies_count = sizeof(perf_bodies) / sizeof(perf_bodies[0]);
