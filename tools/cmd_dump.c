/* cmd_dump.c - `sbtrace dump`: from a trace to its packets, as columns or JSON lines. The records beside it
 * (--sideband) are dump/sideband.c's.
 *
 * A raw file is one span of bytes; a recording gives its spans CPU after CPU, joined where the recorder
 * cut them. What a span holds, dump/walk.c finds out; how it is written, dump/form_*.c know. At the end,
 * the account on stderr says that no byte was forgotten. */
#include "commands.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sb/trace.h>

#include "dump/dump_options.h"
#include "dump/form.h"
#include "dump/sideband.h"
#include "dump/trace_file.h"
#include "progress.h"
#include "tell.h"

static const char command[] = "sbtrace dump";

struct dump {
	struct dump_options options;
	struct trace_file file;
	const struct dump_form_type *type;
	struct dump_form form;
	struct dump_writer writer;
	struct pt_config config;
	struct dump_account account; /* of all streams */
	struct progress progress;
	uint64_t done, total; /* bytes, for the bar */
	bool warned;          /* something may be missing of which the account knows nothing */
	struct sb_error *err;
};

/* ---- One stream ------------------------------------------------------------------------------- */

/* The walk ended with @status: either the output is broken, or memory is short. */
static int check_walk(struct dump *dump, int status)
{
	if (status >= 0 || dump->writer.output->broken)
		return status;
	return sb_error_set(dump->err, -sbe_nomem, dump->options.path, UINT64_MAX, "out of memory");
}

static void on_progress(void *context, uint64_t done)
{
	struct dump *dump = context;

	progress_update(&dump->progress, dump->done + done, dump->total);
	trace_file_drop(&dump->file, done);
}

static int begin_stream(struct dump *dump, struct dump_walk *walk, const struct dump_stream *stream)
{
	*walk = (struct dump_walk){
	        .config = dump->config,
	        .form = &dump->form,
	        .writer = &dump->writer,
	        .from = dump->options.from,
	        .to = dump->options.to,
	        .no_sync = dump->options.no_sync,
	        .no_pad = dump->options.no_pad,
	        .progress = on_progress,
	        .progress_context = dump,
	};
	dump->writer.stream = *stream;
	return dump->type->begin ? dump->type->begin(&dump->writer) : 0;
}

static int walk_span(struct dump *dump, struct dump_walk *walk, const struct dump_span *span)
{
	const int status = dump_walk_span(walk, span);

	dump->done += span->size;
	return status;
}

static void end_stream(struct dump *dump, struct dump_walk *walk)
{
	const struct dump_account *account = &walk->account;

	dump->account.total += account->total;
	dump->account.read += account->read;
	dump->account.packets += account->packets;
	dump->account.skipped += account->skipped;
	dump->account.places += account->places;
	dump->account.damages += account->damages;
	dump->account.outside += account->outside;
	dump->account.duplicate += account->duplicate;
	dump->account.missing += account->missing;
	dump_walk_fini(walk);
}

static int dump_raw(struct dump *dump)
{
	const struct dump_stream stream = {.cpu = -1, .tid = -1, .end = dump->file.size};
	const struct dump_span span = {.begin = dump->file.bytes, .size = dump->file.size, .fresh = true};
	struct dump_walk walk;
	int status = begin_stream(dump, &walk, &stream);

	walk.account.total = dump->total = dump->file.size;
	if (status == 0)
		status = walk_span(dump, &walk, &span);
	end_stream(dump, &walk);
	return check_walk(dump, status);
}

/* ---- Recordings ------------------------------------------------------------------------------- */

static bool is_wanted(const struct job_list *cpus, int32_t cpu)
{
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->value[i] == cpu)
			return true;
	return !cpus->count;
}

static int walk_segments(struct dump *dump, struct dump_walk *walk, struct sb_trace *trace)
{
	struct sb_segment segment;
	int status = 0;

	while (status == 0 && (status = sb_trace_next(trace, &segment)) > 0) {
		const struct dump_span span = {.begin = segment.begin,
		                               .size = segment.stop,
		                               .offset = segment.aux_offset,
		                               .fresh = segment.fresh != 0};

		status = walk_span(dump, walk, &span);
	}
	return status;
}

static uint64_t missing_bytes(const struct sb_aux_stream *stream)
{
	uint64_t missing = 0;

	for (size_t i = 0; i < stream->nchunks; i++)
		missing += stream->chunk[i].missing;
	return missing;
}

static uint64_t end_of(const struct sb_aux_stream *stream)
{
	uint64_t end = 0;

	for (size_t i = 0; i < stream->nchunks; i++)
		if (stream->chunk[i].aux_offset + stream->chunk[i].size > end)
			end = stream->chunk[i].aux_offset + stream->chunk[i].size;
	return end;
}

static int dump_stream(struct dump *dump, const struct sb_aux_stream *recorded)
{
	const struct dump_stream stream = {
	        .cpu = recorded->cpu, .tid = recorded->tid, .end = end_of(recorded)};
	const struct sb_aux_flag *flag;
	struct sb_trace *trace = NULL;
	struct dump_walk walk;
	size_t nflags;
	int status;

	flag = sb_system_stream_flags(dump->file.system, recorded, &nflags);
	if (sb_trace_open(&trace, recorded, flag, nflags) < 0)
		return sb_error_set(dump->err, -sbe_nomem, dump->options.path, UINT64_MAX, "out of memory");
	status = begin_stream(dump, &walk, &stream);
	walk.account.missing = missing_bytes(recorded);
	walk.account.total = recorded->size + walk.account.missing;
	if (status == 0)
		status = walk_segments(dump, &walk, trace);
	walk.account.duplicate = sb_trace_duplicate(trace);
	end_stream(dump, &walk);
	sb_trace_close(trace);
	return check_walk(dump, status);
}

/* A recording without some trace is not worth less; one without that CPU is not what was meant. */
static int check_cpus(const struct dump *dump, const struct sb_aux_stream *stream, size_t count)
{
	const struct job_list *cpus = &dump->options.cpu;

	for (size_t i = 0; i < cpus->count; i++) {
		size_t at = 0;

		while (at < count && stream[at].cpu != cpus->value[i])
			at++;
		if (at == count)
			return sb_error_set(dump->err, -sbe_not_found, dump->options.path, UINT64_MAX,
			                    "holds no trace of CPU %" PRId32, cpus->value[i]);
	}
	return 0;
}

static void warn_of_damage(struct dump *dump)
{
	const struct sb_error *damage = sb_perfdata_damage(dump->file.perfdata);

	if (!damage)
		damage = sb_system_damage(dump->file.system);
	if (!damage)
		return;
	tell(command, "warning: ", damage);
	dump->warned = true;
}

static int dump_recording(struct dump *dump)
{
	size_t count;
	const struct sb_aux_stream *stream = sb_perfdata_streams(dump->file.perfdata, &count);
	int status = check_cpus(dump, stream, count);

	if (status == 0)
		warn_of_damage(dump);
	for (size_t i = 0; i < count; i++)
		dump->total += is_wanted(&dump->options.cpu, stream[i].cpu) ? stream[i].size : 0;
	for (size_t i = 0; i < count && status == 0; i++)
		if (is_wanted(&dump->options.cpu, stream[i].cpu))
			status = dump_stream(dump, &stream[i]);
	return status;
}

/* ---- From the command line to the account ----------------------------------------------------- */

static int open_all(struct dump *dump)
{
	const struct dump_options *options = &dump->options;
	int status = trace_file_open(&dump->file, options->path, dump->err);

	if (status < 0)
		return status;
	if (!dump->file.perfdata && options->cpu.count)
		return sb_error_set(dump->err, -sbe_invalid, options->path, UINT64_MAX,
		                    "is raw trace, which does not know of CPUs (--cpu)");
	pt_config_init(&dump->config);
	if (dump->file.perfdata)
		sb_trace_config(&dump->config, sb_perfdata_info(dump->file.perfdata));
	dump_options_configure(options, &dump->config);
	dump->type = options->json ? &dump_form_json : &dump_form_text;
	dump->form = dump->type->form;
	if (options->quiet)
		dump->form.packet = NULL;
	dump->writer = (struct dump_writer){.raw = options->raw, .no_time = options->no_time};
	status = output_open_beside(&dump->writer.output, options->output, options->path, dump->err);
	if (status == 0 && dump->type->open && dump->type->open(&dump->writer) < 0)
		status = sb_error_set(dump->err, -sbe_nomem, options->path, UINT64_MAX, "out of memory");
	return status;
}

static void close_all(struct dump *dump)
{
	if (dump->type && dump->type->close)
		dump->type->close(&dump->writer);
	output_close(dump->writer.output);
	trace_file_close(&dump->file);
	dump_options_free(&dump->options);
}

static int run(struct dump *dump)
{
	const struct dump_options *options = &dump->options;
	int status = open_all(dump);

	if (status < 0)
		return status;
	progress_begin(&dump->progress, NULL, !options->output && !options->quiet && isatty(STDOUT_FILENO),
	               false);
	status = dump->file.perfdata ? dump_recording(dump) : dump_raw(dump);
	progress_end(&dump->progress);
	if (status < 0 && !dump->writer.output->broken)
		return status;
	/* Tells of a write that failed, unless it was the reader who went away. */
	return output_commit(dump->writer.output, dump->err);
}

static void tell_part(uint64_t bytes, const char *what)
{
	if (bytes)
		fprintf(stderr, " + %" PRIu64 " %s", bytes, what);
}

/* The account; whether all is well. */
static bool tell_account(const struct dump *dump)
{
	const struct dump_account *account = &dump->account;
	const uint64_t known =
	        account->read + account->skipped + account->outside + account->duplicate + account->missing;

	fprintf(stderr,
	        "%s: %" PRIu64 " bytes of trace = %" PRIu64 " in %" PRIu64 " packet%s + %" PRIu64
	        " left out in %" PRIu64 " place%s",
	        command, account->total, account->read, account->packets, account->packets == 1 ? "" : "s",
	        account->skipped, account->places, account->places == 1 ? "" : "s");
	tell_part(account->outside, "not asked for");
	tell_part(account->duplicate, "recorded twice");
	tell_part(account->missing, "missing in the file");
	fprintf(stderr, "\n");
	if (known != account->total)
		fprintf(stderr, "%s: the account is wrong: %" PRIu64 " bytes are accounted for\n", command,
		        known);
	return known == account->total && !account->damages && !account->missing && !dump->warned;
}

static int dump_records(struct dump *dump)
{
	const int status = sideband_dump(&dump->options, dump->err);

	if (status < 0)
		tell(command, "", dump->err);
	dump_options_free(&dump->options);
	return status ? exit_error : exit_fine;
}

int cmd_dump(int argc, char **argv)
{
	struct sb_error err = {0};
	struct dump dump = {.err = &err};
	enum options_result result = dump_options_parse(&dump.options, argc, argv);
	int status = exit_fine;

	if (result != options_done) {
		dump_options_free(&dump.options);
		return result == options_help ? exit_fine : exit_usage;
	}
	/* A reader who goes away is seen as EPIPE. */
	signal(SIGPIPE, SIG_IGN);
	if (dump.options.sideband)
		return dump_records(&dump);
	if (run(&dump) < 0) {
		tell(command, "", &err);
		status = exit_error;
	} else if (!dump.writer.output->broken && !tell_account(&dump)) {
		status = exit_error;
	}
	close_all(&dump);
	return status;
}
