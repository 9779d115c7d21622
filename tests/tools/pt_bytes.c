/* pt_bytes.c - takes the trace of one CPU out of a recording, for programs that know nothing of perf.
 *
 *   pt_bytes RECORDING CPU FILE
 *
 * Writes the raw Intel PT to FILE, and to stdout one line that says how it was recorded:
 * FAMILY/MODEL/STEPPING, the MTC period, CPUID leaf 15h EAX and EBX, the nominal frequency.
 */
#include <stdio.h>
#include <stdlib.h>

#include <sb/perfdata.h>

static int write_stream(const struct sb_aux_stream *stream, FILE *out)
{
	for (size_t i = 0; i < stream->nchunks; i++)
		fwrite(stream->chunk[i].bytes, 1, stream->chunk[i].size, out);
	return ferror(out);
}

int main(int argc, char **argv)
{
	const struct sb_perfdata_info *info;
	const struct sb_aux_stream *stream;
	struct sb_perfdata *perfdata;
	struct sb_error err = {0};
	int failed = 1;
	size_t count;
	FILE *out;

	if (argc != 4) {
		fprintf(stderr, "usage: pt_bytes RECORDING CPU FILE\n");
		return 2;
	}
	if (sb_perfdata_open(&perfdata, argv[1], &err) < 0) {
		fprintf(stderr, "pt_bytes: %s: %s\n", argv[1], err.text);
		return 1;
	}
	out = fopen(argv[3], "wbe");
	if (!out) {
		perror(argv[3]);
		return 1;
	}
	stream = sb_perfdata_streams(perfdata, &count);
	for (size_t i = 0; i < count; i++)
		if (stream[i].cpu == atoi(argv[2]))
			failed = write_stream(&stream[i], out);
	failed |= fclose(out);
	info = sb_perfdata_info(perfdata);
	printf("%u/%u/%u %u %u %u %u\n", info->family, info->model, info->stepping, info->pt_mtc_freq,
	       info->tsc_ctc_den, info->tsc_ctc_num, info->max_nonturbo_ratio);
	sb_perfdata_close(perfdata);
	return failed;
}
