/* record_print.c - a record as one line of text.
 *
 * One printer per type that has typed fields; what a recording says in strings is data, so bytes
 * that a terminal could take for a command are written as \xNN.
 */
#include <sb/record.h>

#include <inttypes.h>
#include <linux/perf_event.h>

#include "record/bytes.h"

static void print_string(FILE *out, const char *string)
{
	const char *p;

	fputc('"', out);
	for (p = string; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void print_comm(FILE *out, const struct sb_record *record)
{
	fprintf(out, " pid %" PRId32 " tid %" PRId32 "%s ", record->u.comm.pid, record->u.comm.tid,
	        record->u.comm.exec ? " exec" : "");
	print_string(out, record->u.comm.name);
}

static void print_build_id(FILE *out, const struct sb_record *record)
{
	int i;

	fputs(" build-id ", out);
	for (i = 0; i < record->u.mmap.build_id_size; i++)
		fprintf(out, "%02x", record->u.mmap.build_id[i]);
}

static void print_mmap(FILE *out, const struct sb_record *record)
{
	fprintf(out, " pid %" PRId32 " tid %" PRId32 " addr 0x%" PRIx64 " len 0x%" PRIx64 " pgoff 0x%" PRIx64,
	        record->u.mmap.pid, record->u.mmap.tid, record->u.mmap.addr, record->u.mmap.len,
	        record->u.mmap.pgoff);
	if (record->u.mmap.is_mmap2 && record->u.mmap.build_id_size)
		print_build_id(out, record);
	else if (record->u.mmap.is_mmap2)
		fprintf(out, " dev %02" PRIx32 ":%02" PRIx32 " ino %" PRIu64 " gen %" PRIu64,
		        record->u.mmap.maj, record->u.mmap.min, record->u.mmap.ino,
		        record->u.mmap.ino_generation);
	if (record->u.mmap.is_mmap2)
		fprintf(out, " prot 0x%" PRIx32 " flags 0x%" PRIx32, record->u.mmap.prot,
		        record->u.mmap.flags);
	fprintf(out, "%s%s%s ", record->u.mmap.is_kernel ? " kernel" : "",
	        record->u.mmap.is_guest ? " guest" : "", record->u.mmap.is_data ? " data" : "");
	print_string(out, record->u.mmap.filename);
}

static void print_task(FILE *out, const struct sb_record *record)
{
	fprintf(out, " pid %" PRId32 " tid %" PRId32 " ppid %" PRId32 " ptid %" PRId32 " at %" PRIu64,
	        record->u.task.pid, record->u.task.tid, record->u.task.ppid, record->u.task.ptid,
	        record->u.task.time);
}

static void print_switch(FILE *out, const struct sb_record *record)
{
	fprintf(out, " %s%s", record->u.context_switch.out ? "out" : "in",
	        record->u.context_switch.preempt ? " preempted" : "");
	if (record->type == PERF_RECORD_SWITCH_CPU_WIDE)
		fprintf(out, " %s pid %" PRId32 " tid %" PRId32,
		        record->u.context_switch.out ? "next" : "previous",
		        record->u.context_switch.next_prev_pid, record->u.context_switch.next_prev_tid);
}

static void print_itrace_start(FILE *out, const struct sb_record *record)
{
	fprintf(out, " pid %" PRId32 " tid %" PRId32, record->u.itrace_start.pid, record->u.itrace_start.tid);
}

static void print_aux(FILE *out, const struct sb_record *record)
{
	uint64_t flags = record->u.aux.flags;

	fprintf(out, " offset 0x%" PRIx64 " size 0x%" PRIx64 " flags 0x%" PRIx64 "%s%s%s%s",
	        record->u.aux.offset, record->u.aux.size, flags, flags & 1 ? " truncated" : "",
	        flags & 2 ? " overwrite" : "", flags & 4 ? " partial" : "", flags & 8 ? " collision" : "");
}

static void print_lost(FILE *out, const struct sb_record *record)
{
	if (record->type == PERF_RECORD_LOST)
		fprintf(out, " id %" PRIu64, record->u.lost.id);
	fprintf(out, " lost %" PRIu64, record->u.lost.lost);
}

static void print_auxtrace(FILE *out, const struct sb_record *record)
{
	fprintf(out,
	        " size 0x%" PRIx64 " offset 0x%" PRIx64 " reference 0x%" PRIx64 " idx %" PRIu32
	        " tid %" PRId32 " cpu %" PRId32,
	        record->u.auxtrace.size, record->u.auxtrace.offset, record->u.auxtrace.reference,
	        record->u.auxtrace.idx, record->u.auxtrace.tid, record->u.auxtrace.cpu);
}

static void print_auxtrace_info(FILE *out, const struct sb_record *record)
{
	uint32_t i;

	fprintf(out, " type %" PRIu32 " priv", record->u.auxtrace_info.type);
	for (i = 0; i < record->u.auxtrace_info.npriv; i++)
		fprintf(out, " 0x%" PRIx64, load_u64(record->u.auxtrace_info.priv + 8 * (size_t)i));
}

static void print_auxtrace_error(FILE *out, const struct sb_record *record)
{
	fprintf(out,
	        " type %" PRIu32 " code %" PRIu32 " cpu %" PRId32 " pid %" PRId32 " tid %" PRId32
	        " ip 0x%" PRIx64 " ",
	        record->u.auxtrace_error.type, record->u.auxtrace_error.code,
	        (int32_t)record->u.auxtrace_error.cpu, record->u.auxtrace_error.pid,
	        record->u.auxtrace_error.tid, record->u.auxtrace_error.ip);
	print_string(out, record->u.auxtrace_error.text);
}

static void print_time_conv(FILE *out, const struct sb_record *record)
{
	fprintf(out,
	        " shift %" PRIu64 " mult %" PRIu64 " zero %" PRIu64 " cycles %" PRIu64 " mask 0x%" PRIx64
	        "%s%s",
	        record->u.time_conv.time_shift, record->u.time_conv.time_mult, record->u.time_conv.time_zero,
	        record->u.time_conv.time_cycles, record->u.time_conv.time_mask,
	        record->u.time_conv.cap_user_time_zero ? "" : " invalid",
	        record->u.time_conv.cap_user_time_short ? " short" : "");
}

static void print_id_index(FILE *out, const struct sb_record *record)
{
	uint64_t i;

	fprintf(out, " nr %" PRIu64, record->u.id_index.nr);
	for (i = 0; i < record->u.id_index.nr; i++) {
		const uint8_t *entry = record->u.id_index.entries + 32 * i;

		fprintf(out, " %" PRIu64 ":%" PRIu64 ",%" PRId64 ",%" PRId64, load_u64(entry),
		        load_u64(entry + 8), (int64_t)load_u64(entry + 16), (int64_t)load_u64(entry + 24));
	}
}

typedef void (*printer)(FILE *out, const struct sb_record *record);

static const printer printers[] = {
        [PERF_RECORD_MMAP] = print_mmap,
        [PERF_RECORD_LOST] = print_lost,
        [PERF_RECORD_COMM] = print_comm,
        [PERF_RECORD_EXIT] = print_task,
        [PERF_RECORD_FORK] = print_task,
        [PERF_RECORD_MMAP2] = print_mmap,
        [PERF_RECORD_AUX] = print_aux,
        [PERF_RECORD_ITRACE_START] = print_itrace_start,
        [PERF_RECORD_LOST_SAMPLES] = print_lost,
        [PERF_RECORD_SWITCH] = print_switch,
        [PERF_RECORD_SWITCH_CPU_WIDE] = print_switch,
        [SB_RECORD_ID_INDEX] = print_id_index,
        [SB_RECORD_AUXTRACE_INFO] = print_auxtrace_info,
        [SB_RECORD_AUXTRACE] = print_auxtrace,
        [SB_RECORD_AUXTRACE_ERROR] = print_auxtrace_error,
        [SB_RECORD_TIME_CONV] = print_time_conv,
};

static void print_sample(FILE *out, const struct sb_sample_id *sample)
{
	if (sample->has & PERF_SAMPLE_CPU)
		fprintf(out, "\t%" PRIu32, sample->cpu);
	else
		fputs("\t-", out);
	if (sample->has & PERF_SAMPLE_TID)
		fprintf(out, "\t%" PRId32 "/%" PRId32, sample->pid, sample->tid);
	else
		fputs("\t-", out);
	if (sample->has & PERF_SAMPLE_TIME)
		fprintf(out, "\t%" PRIu64, sample->time);
	else
		fputs("\t-", out);
}

void sb_record_print(FILE *out, const struct sb_record *record)
{
	const char *name = sb_record_name(record->type);

	fprintf(out, "0x%" PRIx64, record->offset);
	print_sample(out, &record->sample);
	fprintf(out, "\t%s", name);
	if (record->type < sizeof(printers) / sizeof(printers[0]) && printers[record->type])
		printers[record->type](out, record);
	else
		fprintf(out, " type %" PRIu32 " misc 0x%x size %" PRIu32, record->type, record->misc,
		        record->size);
}
