/* input_recording.c - an input from a perf.data: one process, one CPU. With more than that, no single image
 * is right, and a decoder needs the sideband. */
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include <sb/perfdata.h>

enum { PROT_EXECUTE = 4 };

static void take_config(struct input *input, const struct sb_perfdata_info *info)
{
	struct pt_config *config = &input->config;

	pt_config_init(config);
	if (info->vendor_intel)
		config->cpu = (struct pt_cpu){pcv_intel, info->family, info->model, info->stepping};
	config->mtc_freq = info->pt_mtc_freq;
	config->nom_freq = info->max_nonturbo_ratio;
	config->cpuid_0x15_eax = info->tsc_ctc_den;
	config->cpuid_0x15_ebx = info->tsc_ctc_num;
}

/* The stream's chunks in a row; the bytes that pad them are PAD packets. */
static int take_trace(struct input *input, const struct sb_perfdata *perfdata)
{
	const struct sb_aux_stream *stream;
	size_t nstreams;

	stream = sb_perfdata_streams(perfdata, &nstreams);
	if (nstreams != 1) {
		fprintf(stderr, "bench: %s: %zu CPUs, expected one\n", input->name, nstreams);
		return -1;
	}
	input->trace = malloc(stream->size + 1);
	if (!input->trace)
		return -1;
	for (size_t i = 0; i < stream->nchunks; ++i) {
		memcpy(input->trace + input->size, stream->chunk[i].bytes, stream->chunk[i].size);
		input->size += stream->chunk[i].size;
	}
	return 0;
}

static int take_mapping(struct input *input, const struct sb_record *record, const char *root)
{
	char path[512];

	if (!(record->u.mmap.prot & PROT_EXECUTE) && record->u.mmap.is_mmap2)
		return 0;
	snprintf(path, sizeof(path), "%.200s/%.250s", root, record->u.mmap.filename);
	if (access(path, R_OK))
		return 0;
	return input_add_section(input, path, record->u.mmap.pgoff, record->u.mmap.len, record->u.mmap.addr);
}

static int take_code(struct input *input, const struct sb_perfdata *perfdata, const char *root)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	int status;

	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, NULL)) > 0)
		if ((record.type == PERF_RECORD_MMAP || record.type == PERF_RECORD_MMAP2) &&
		    take_mapping(input, &record, root) < 0)
			return -1;
	return status;
}

int input_recording(struct input *input, const char *name, const char *perf_data, const char *root)
{
	struct sb_perfdata *perfdata;
	struct sb_error error;
	char text[1024];
	int status;

	memset(input, 0, sizeof(*input));
	snprintf(input->name, sizeof(input->name), "%s", name);
	if (sb_perfdata_open(&perfdata, perf_data, &error) < 0) {
		fprintf(stderr, "bench: %s\n", sb_error_string(&error, text, sizeof(text)));
		return -1;
	}
	take_config(input, sb_perfdata_info(perfdata));
	status = take_trace(input, perfdata);
	if (!status)
		status = take_code(input, perfdata, root);
	if (!status)
		status = input_find_psb(input);
	sb_perfdata_close(perfdata);
	return status;
}
