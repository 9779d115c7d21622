/* sideband_text.c - records as lines of columns, see sb_record_print(); what is about them begins with #. */
#include "dump/sideband.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sb/record_fields.h>

#include "sink/printable.h"

/* A stream whose bytes go to @cookie, an output. */
static ssize_t write_through(void *cookie, const char *bytes, size_t size)
{
	struct output *output = cookie;
	size_t done = 0;

	while (done < size) {
		const size_t piece = size - done < output_most ? size - done : output_most;
		char *at = output_room(output, piece);

		if (!at)
			return 0;
		memcpy(at, bytes + done, piece);
		output_advance(output, at + piece);
		done += piece;
	}
	return (ssize_t)size;
}

static int text_open(struct sideband_writer *writer)
{
	writer->state = fopencookie(writer->output, "w", (cookie_io_functions_t){.write = write_through});
	return writer->state ? 0 : -1;
}

static void text_close(struct sideband_writer *writer)
{
	if (writer->state)
		fclose(writer->state);
}

static int text_file(struct sideband_writer *writer, const char *file)
{
	fprintf(writer->state, "# file %s\n", file);
	return ferror((FILE *)writer->state) ? -1 : 0;
}

static int text_record(struct sideband_writer *writer, const struct sb_record *record)
{
	const struct sb_tracepoint *tracepoint = sb_perfdata_tracepoint(writer->perfdata, record);
	FILE *out = writer->state;

	sb_record_print(out, record);
	if (tracepoint)
		sb_tracepoint_print(out, tracepoint, record);
	if (writer->raw) {
		fputs(" bytes ", out);
		for (uint32_t i = 0; i < record->size; i++)
			fprintf(out, "%02x", record->bytes[i]);
	}
	fputc('\n', out);
	return ferror(out) ? -1 : 0;
}

static int text_bpf(struct sideband_writer *writer, const struct sb_bpf_image *image)
{
	char name[4 * sizeof(image->name) + 1];
	FILE *out = writer->state;

	fprintf(out,
	        "# BPF program %" PRIu32 " function %" PRIu32 " addr 0x%" PRIx64 " size 0x%" PRIx64 " tag ",
	        image->program, image->function, image->begin, image->size);
	for (size_t i = 0; i < sizeof(image->tag); i++)
		fprintf(out, "%02x", image->tag[i]);
	fprintf(out, " name \"%s\"", printable(name, image->name, sizeof(image->name)));
	if (writer->raw) {
		fputs(" bytes ", out);
		for (uint64_t i = 0; i < image->size; i++)
			fprintf(out, "%02x", image->bytes[i]);
	}
	fputc('\n', out);
	return ferror(out) ? -1 : 0;
}

static int text_end(struct sideband_writer *writer, const struct sideband_counts *counts)
{
	FILE *out = writer->state;

	fputs("# records by type\n", out);
	for (uint32_t type = 0; type < dump_types; type++)
		if (counts->type[type])
			fprintf(out, "# %10" PRIu64 " %s\n", counts->type[type], sb_record_name(type));
	fprintf(out, "# %10" PRIu64 " total\n", counts->total);
	return fflush(out) || ferror(out) ? -1 : 0;
}

const struct sideband_form sideband_text = {text_open, text_file, text_record,
                                            text_bpf,  text_end,  text_close};
