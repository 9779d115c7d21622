/* test_corpus_hw.c - traces of real hardware, decoded by all three faces of the flow: the instructions are
 * those that the corpus names by a digest over their addresses. Skipped when the corpus is not there. */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <intel-pt-run.h>

struct recording {
	const char *name;
	uint64_t ninsn;
	uint8_t *bytes;
	struct pt_config config;
	struct pt_image *image;
};

static void read_trace(struct recording *recording)
{
	char path[512];
	FILE *file;
	long size;

	snprintf(path, sizeof(path), "%s/%s/trace.pt", CORPUS_DIR, recording->name);
	file = fopen(path, "rb");
	if (!file)
		skip();
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	assert_true(size > 0);
	rewind(file);
	recording->bytes = malloc((size_t)size);
	assert_non_null(recording->bytes);
	assert_int_equal(fread(recording->bytes, 1, (size_t)size, file), size);
	fclose(file);
	pt_config_init(&recording->config);
	recording->config.begin = recording->bytes;
	recording->config.end = recording->bytes + size;
	recording->config.errata.bdm70 = 1; /* nobody wrote down which processor it was; one has it */
}

static void map_memory(struct recording *recording)
{
	char directory[512];
	struct dirent *entry;
	DIR *dir;

	snprintf(directory, sizeof(directory), "%s/%s/mem", CORPUS_DIR, recording->name);
	recording->image = pt_image_alloc(recording->name);
	dir = opendir(directory);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[1024];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		assert_int_equal(pt_image_add_file(recording->image, path, 0, UINT64_MAX >> 1, NULL,
		                                   strtoull(entry->d_name, NULL, 16)),
		                 0);
	}
	closedir(dir);
}

static void open_recording(struct recording *recording)
{
	read_trace(recording);
	map_memory(recording);
}

static void close_recording(struct recording *recording)
{
	pt_image_free(recording->image);
	free(recording->bytes);
}

/* A pipe to sha256sum, whose output goes to a file. */
struct digest {
	FILE *pipe;
	char path[64];
};

static void digest_begin(struct digest *digest)
{
	char command[128];
	int fd;

	strcpy(digest->path, "/tmp/sbtrace-test-digest-XXXXXX");
	fd = mkstemp(digest->path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "sha256sum > %s", digest->path);
	digest->pipe = popen(command, "w");
	assert_non_null(digest->pipe);
}

static void read_digest(const char *path, char text[65])
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fread(text, 1, 64, file), 64);
	text[64] = '\0';
	fclose(file);
}

static void digest_equals_corpus(struct digest *digest, const char *name)
{
	char path[512], got[65], want[65];

	assert_int_equal(pclose(digest->pipe), 0);
	read_digest(digest->path, got);
	unlink(digest->path);
	snprintf(path, sizeof(path), "%s/%s/ips.sha256", CORPUS_DIR, name);
	read_digest(path, want);
	assert_string_equal(got, want);
}

static uint64_t decode_insn(const struct recording *recording, FILE *out)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&recording->config);
	uint64_t ninsn = 0;
	int status;

	pt_insn_set_image(decoder, recording->image);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		struct pt_event event;
		struct pt_insn insn;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (!insn.size)
			continue;
		ninsn += 1;
		fprintf(out, "%" PRIx64 "\n", insn.ip);
	}
	assert_int_equal(status, -pte_eos);
	pt_insn_free_decoder(decoder);
	return ninsn;
}

static void print_path(const struct pt_run_path *path, FILE *out)
{
	for (uint32_t b = 0; b < path->nblocks; ++b) {
		const struct pt_run_block *block = &path->block[b];
		uint64_t ip = block->ip, last = ip;

		for (uint32_t i = 0; i < block->ninsn; ++i) {
			fprintf(out, "%" PRIx64 "\n", ip);
			last = ip;
			ip += block->length[i];
		}
		assert_int_equal(last, block->end_ip);
	}
}

/* Runs when @out is given, blocks otherwise. */
static uint64_t decode_blocks(const struct recording *recording, FILE *out)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&recording->config);
	uint64_t ninsn = 0;
	int status;

	pt_blk_set_image(decoder, recording->image);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0) {
		struct pt_event event;
		struct pt_block block;
		struct pt_run run;

		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
		} else if (out) {
			status = pt_blk_run(decoder, &run, sizeof(run));
			for (uint32_t p = 0; p < run.npaths; ++p)
				print_path(run.path[p], out);
			ninsn += run.ninsn;
		} else {
			status = pt_blk_next(decoder, &block, sizeof(block));
			ninsn += block.ninsn;
		}
	}
	assert_int_equal(status, -pte_eos);
	pt_blk_free_decoder(decoder);
	return ninsn;
}

static void check(struct recording recording)
{
	struct digest digest;

	open_recording(&recording);
	digest_begin(&digest);
	assert_int_equal(decode_insn(&recording, digest.pipe), recording.ninsn);
	digest_equals_corpus(&digest, recording.name);
	digest_begin(&digest);
	assert_int_equal(decode_blocks(&recording, digest.pipe), recording.ninsn);
	digest_equals_corpus(&digest, recording.name);
	assert_int_equal(decode_blocks(&recording, NULL), recording.ninsn);
	close_recording(&recording);
}

static void unzip(void **state)
{
	(void)state;
	check((struct recording){.name = "hw-unzip", .ninsn = 149576});
}

static void mruby(void **state)
{
	(void)state;
	check((struct recording){.name = "hw-mruby", .ninsn = 6334131});
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(unzip), cmocka_unit_test(mruby)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
