/* switch_records.c - see switch_records.h. */
#include "perfdata/switch_records.h"

/* Of a record's trailer, the bytes before the CPU. */
static uint32_t before_cpu(uint64_t fields)
{
	const uint64_t before = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;

	return 8 * (uint32_t)__builtin_popcountll(fields & before);
}

struct switch_layout switch_layout(const struct sb_perfdata *perfdata)
{
	enum { HEADER = 8, BODY = 8, TID = 8 };
	const uint64_t needed = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	const struct record_trailer *trailer = &perfdata->attr->trailer;
	struct switch_layout layout = {0};

	if (!perfdata->uniform || (trailer->fields & needed) != needed)
		return layout;
	layout.pid = HEADER + BODY;
	layout.time = layout.pid + TID;
	layout.cpu = layout.pid + before_cpu(trailer->fields);
	layout.size = HEADER + BODY + trailer->size;
	layout.header = (uint64_t)layout.size << 48 | PERF_RECORD_SWITCH_CPU_WIDE;
	return layout;
}

struct switch_run switch_run_begin(const struct sb_perfdata_cursor *cursor)
{
	enum { MOST = 1 << 20 }; /* sb_perfdata_next() lets go of what lies behind */
	const struct record_file *file = &cursor->perfdata->file[cursor->file];
	struct switch_run run = {0};
	uint64_t left;

	if (cursor->done || cursor->offset >= file->end)
		return run;
	left = file->end - cursor->offset;
	run.at = file->records + cursor->offset;
	run.end = run.at + (left < MOST ? left : MOST);
	return run;
}

void switch_run_end(const struct switch_run *run, struct sb_perfdata_cursor *cursor)
{
	if (run->at)
		cursor->offset = (uint64_t)(run->at - cursor->perfdata->file[cursor->file].records);
}
