/* sideband.c - see sideband.h: walks a recording, and hands what was asked for to a form. */
#include "dump/sideband.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "tell.h"

static const char command[] = "sbtrace dump";

struct walk {
	const struct dump_options *options;
	const struct sideband_form *form;
	struct sideband_writer writer;
	struct sideband_counts counts;
	const char *file; /* whose records come; the recording itself needs no line about it */
};

static int32_t cpu_of(const struct sb_record *record)
{
	if (record->type == SB_RECORD_AUXTRACE)
		return record->u.auxtrace.cpu;
	return record->sample.has & PERF_SAMPLE_CPU ? (int32_t)record->sample.cpu : -1;
}

static bool is_wanted(const struct dump_options *options, const struct sb_record *record)
{
	const struct job_list *cpus = &options->cpu;

	if (record->offset < options->from || record->offset >= options->to)
		return false;
	if (options->has_types && !options->type[dump_type(record->type)])
		return false;
	for (size_t i = 0; i < cpus->count; i++)
		if (cpus->value[i] == cpu_of(record))
			return true;
	return !cpus->count;
}

static int take_record(struct walk *walk, const struct sb_record *record)
{
	if (!is_wanted(walk->options, record)) {
		walk->counts.outside += 1;
		return 0;
	}
	walk->counts.type[dump_type(record->type)] += 1;
	walk->counts.total += 1;
	walk->counts.bytes += record->size;
	return walk->options->quiet ? 0 : walk->form->record(&walk->writer, record);
}

/* What is in the header is in no place and of no type: it is there when all is asked for. */
static int write_bpf(struct walk *walk, const struct sb_perfdata *perfdata)
{
	const struct dump_options *options = walk->options;
	size_t count;
	const struct sb_bpf_image *image = sb_perfdata_bpf_images(perfdata, &count);
	int status = 0;

	if (options->quiet || walk->counts.outside || options->has_types)
		return 0;
	for (size_t i = 0; i < count && status == 0; i++)
		status = walk->form->bpf(&walk->writer, &image[i]);
	return status;
}

static int begin_file(struct walk *walk, const char *file)
{
	if (!strcmp(walk->file, file))
		return 0;
	walk->file = file;
	return walk->options->quiet ? 0 : walk->form->file(&walk->writer, file);
}

/* Zero, or negative with the reason in *err unless the output is broken. Positive: damaged, and that was
 * told. */
static int walk_records(struct walk *walk, const struct sb_perfdata *perfdata, struct sb_error *err)
{
	struct sb_perfdata_cursor cursor;
	struct sb_error damage;
	struct sb_record record;
	int status, written = 0;

	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &damage)) > 0) {
		written = begin_file(walk, sb_perfdata_cursor_file(&cursor));
		if (written == 0)
			written = take_record(walk, &record);
		if (written < 0)
			break;
	}
	if (written == 0)
		written = write_bpf(walk, perfdata);
	if (written == 0)
		written = walk->form->end(&walk->writer, &walk->counts);
	if (written < 0)
		return walk->writer.output->broken ? -sbe_io
		                                   : sb_error_set(err, -sbe_nomem, walk->options->path,
		                                                  UINT64_MAX, "out of memory");
	if (status == 0 && sb_perfdata_damage(perfdata)) {
		damage = *sb_perfdata_damage(perfdata);
		status = damage.code;
	}
	if (status < 0)
		tell(command, "", &damage);
	return status < 0;
}

static void tell_account(const struct sideband_counts *counts)
{
	fprintf(stderr, "%s: %" PRIu64 " record%s, %" PRIu64 " bytes", command, counts->total,
	        counts->total == 1 ? "" : "s", counts->bytes);
	if (counts->type[0])
		fprintf(stderr, "; %" PRIu64 " of unknown types", counts->type[0]);
	if (counts->outside)
		fprintf(stderr, "; %" PRIu64 " not asked for", counts->outside);
	fprintf(stderr, "\n");
}

static int dump_to(struct walk *walk, const struct sb_perfdata *perfdata, struct sb_error *err)
{
	int damaged, status;

	if (walk->form->open && walk->form->open(&walk->writer) < 0)
		return sb_error_set(err, -sbe_nomem, walk->options->path, UINT64_MAX, "out of memory");
	damaged = walk_records(walk, perfdata, err);
	if (damaged < 0 && !walk->writer.output->broken)
		return damaged;
	/* Tells of a write that failed, unless it was the reader who went away. */
	status = output_commit(walk->writer.output, err);
	if (status == 0 && !walk->writer.output->broken)
		tell_account(&walk->counts);
	return status < 0 ? status : damaged > 0;
}

int sideband_dump(const struct dump_options *options, struct sb_error *err)
{
	struct walk walk = {.options = options,
	                    .form = options->json ? &sideband_json : &sideband_text,
	                    .writer = {.raw = options->raw},
	                    .file = options->path};
	struct sb_perfdata *perfdata = NULL;
	int status = sb_perfdata_open(&perfdata, options->path, err);

	if (status == 0)
		status = output_open_beside(&walk.writer.output, options->output, options->path, err);
	if (status == 0) {
		walk.writer.perfdata = perfdata;
		status = dump_to(&walk, perfdata, err);
		if (walk.form->close)
			walk.form->close(&walk.writer);
	}
	output_close(walk.writer.output);
	sb_perfdata_close(perfdata);
	return status;
}
