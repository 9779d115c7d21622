/* trace_build.c - see trace_build.h. */
#include "trace_build.h"

#include <stdlib.h>
#include <string.h>

static int add_raw(struct case_trace *trace, char *text)
{
	char *save = NULL, *word = strtok_r(text, " \t", &save);

	trace->raw = 1;
	while ((word = strtok_r(NULL, " \t", &save))) {
		char *end;
		const unsigned long byte = strtoul(word, &end, 16);

		if (*end || byte > 0xff || trace->size == sizeof(trace->bytes))
			return -1;
		trace->bytes[trace->size++] = (uint8_t)byte;
	}
	return 0;
}

static int add_packet(struct case_trace *trace, struct pt_encoder *encoder, const struct pt_packet *packet,
                      FILE *dump)
{
	int size;

	if (pt_enc_sync_set(encoder, trace->size) < 0)
		return -1;
	size = pt_enc_next(encoder, packet);
	if (size < 0)
		return -1;
	fprintf(dump, "%04zx ", trace->size);
	packet_print(dump, packet);
	fputc('\n', dump);
	trace->size += (size_t)size;
	return 0;
}

static int add_line(struct case_trace *trace, struct pt_encoder *encoder, const struct case_file *file,
                    const struct program *program, const struct case_line *line, FILE *dump)
{
	struct pt_packet packet;
	const char *error;

	if (!strncmp(line->text, "raw ", 4))
		return add_raw(trace, line->text) < 0
		               ? case_complain(file, line->number, "not bytes", line->text)
		               : 0;
	error = packet_parse(&packet, line->text, program);
	if (error)
		return case_complain(file, line->number, error, line->text);
	return add_packet(trace, encoder, &packet, dump) < 0
	               ? case_complain(file, line->number, "cannot be encoded", line->text)
	               : 0;
}

int case_trace_build(struct case_trace *trace, const struct case_file *file, const struct program *program)
{
	struct pt_config config;
	struct pt_encoder *encoder;
	size_t dump_size;
	FILE *dump;
	int status = 0;

	trace->size = 0;
	trace->raw = 0;
	trace->dump = NULL;
	pt_config_init(&config);
	config.begin = trace->bytes;
	config.end = trace->bytes + sizeof(trace->bytes);
	encoder = pt_alloc_encoder(&config);
	dump = open_memstream(&trace->dump, &dump_size);
	for (size_t i = 0; !status && i < file->packets.count; ++i)
		status = add_line(trace, encoder, file, program, &file->packets.line[i], dump);
	fclose(dump);
	pt_free_encoder(encoder);
	return status;
}

void case_trace_free(struct case_trace *trace)
{
	free(trace->dump);
}
