/* fuzz_plan.c - plans and shards' results of any bytes: an error with its place, or something that can be
 * used.
 *
 * The first byte says what the others are: (even) a plan, whose hash and version are made right when it is
 * JSON, so that what is behind them is reached; (odd) the result of shard 0 of a plan with two shards; where
 * it ends in a JSON object, that becomes its record, with a right end.
 */
#include <jansson.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "job/shard_merge.h"
#include "job/shard_plan.h"
#include "job/shard_result.h"
#include "support/check.h"
#include "support/memory_file.h"
#include "support/target.h"
#include "version.h"

enum { ROOM = 1 << 16 };

static struct memory_file file;
static char directory[] = "/tmp/fuzz_plan.XXXXXX";
static char here[4096]; /* where plans are read: going there leaves inputs' names right */

static void check_error(int code, const struct sb_error *err)
{
	FUZZ_CHECK(code < 0 && err->code == code && err->text[0], "code %d: %d %s", code, err->code,
	           err->text);
}

/* ---- Plans -------------------------------------------------------------------------------------- */

static void make_right(json_t *root)
{
	struct sha256_ctx sum;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hash[2 * SHA256_DIGEST_SIZE + 1], *text;

	json_object_del(root, "hash");
	json_object_set_new(root, "sbtrace", json_string(sbtrace_version));
	json_object_set_new(root, "directory", json_string(here));
	text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
	FUZZ_CHECK(text, "cannot be written");
	sha256_init(&sum);
	sha256_update(&sum, strlen(text), (const uint8_t *)text);
	sha256_digest(&sum, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hash + 2 * i, 3, "%02x", digest[i]);
	json_object_set_new(root, "hash", json_string(hash));
	free(text);
}

static void set_plan(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	char *text = NULL;

	if (json_is_object(root)) {
		make_right(root);
		text = json_dumps(root, 0);
	}
	json_decref(root);
	if (text)
		memory_file_set(&file, (const uint8_t *)text, strlen(text));
	else
		memory_file_set(&file, data, size);
	free(text);
}

/* What whoever runs and merges shards asks of a plan. */
static void use_plan(const struct shard_plan *plan)
{
	FUZZ_CHECK(plan->step && plan->nshards <= shards_most, "%zu shards", plan->nshards);
	for (size_t i = 0; i < plan->nrecordings; i++) {
		const struct plan_recording *recording = &plan->recording[i];
		const struct sb_line line = shard_plan_line(plan, i);

		FUZZ_CHECK(recording->path && (recording->error || recording->files),
		           "a recording without files");
		FUZZ_CHECK(!recording->checkpoint.path == !recording->checkpoint.bytes, "half a checkpoint");
		for (size_t k = 0; k < line.nspans; k++)
			FUZZ_CHECK(recording->part[k].shard < plan->nshards, "a part of no shard");
	}
}

static void try_plan(const uint8_t *data, size_t size)
{
	struct shard_plan plan;
	struct sb_error err = {0};
	int code;

	set_plan(data, size);
	code = shard_plan_read(&plan, file.name, NULL, &err);
	if (code)
		check_error(code, &err);
	else
		use_plan(&plan);
	shard_plan_free(&plan);
}

/* ---- Results ------------------------------------------------------------------------------------ */

/* Two shards, three parts. */
static void small_plan(struct shard_plan *plan, struct plan_recording *recording, struct plan_part part[3],
                       struct sb_span span[3])
{
	static char path[] = "plan", name[] = "recording";

	for (size_t i = 0; i < 3; i++) {
		span[i] = (struct sb_span){i, 0, UINT64_MAX};
		part[i] = (struct plan_part){i / 2, span[i]};
	}
	*recording = (struct plan_recording){.path = name, .part = part, .span = span, .nparts = 3};
	*plan = (struct shard_plan){.path = path,
	                            .results = directory,
	                            .hash = "0123456789",
	                            .step = 1,
	                            .nshards = 2,
	                            .recording = recording,
	                            .nrecordings = 1};
}

static void put_u64(uint8_t *to, uint64_t value)
{
	memcpy(to, &value, sizeof(value));
}

/* Behind the last byte of 0, if it is JSON: the record, and an end that fits. */
static size_t make_end(uint8_t bytes[ROOM], size_t size)
{
	const uint8_t *zero = size ? memrchr(bytes, 0, size) : NULL;
	const size_t begin = zero ? (size_t)(zero - bytes) + 1 : 0;
	json_t *root = json_loadb((const char *)bytes + begin, size - begin, 0, NULL);
	char *text;

	if (!json_is_object(root) || size > ROOM / 2) {
		json_decref(root);
		return size;
	}
	json_object_set_new(root, "sbtrace", json_string(sbtrace_version));
	text = json_dumps(root, 0);
	json_decref(root);
	FUZZ_CHECK(text, "cannot be written");
	size = strlen(text);
	if (size > ROOM / 2 - 64) {
		free(text);
		return begin;
	}
	memcpy(bytes + begin, text, size);
	free(text);
	put_u64(bytes + begin + size, begin);
	put_u64(bytes + begin + size + 8, size);
	put_u64(bytes + begin + size + 16, (uint64_t)crc32_z(0, bytes + begin, size));
	memcpy(bytes + begin + size + 24, "SBSHEND\n", 8);
	return begin + size + 32;
}

static void try_result(const uint8_t *data, size_t size)
{
	static uint8_t bytes[ROOM + 64];
	struct plan_recording recording;
	struct plan_part part[3];
	struct sb_span span[3];
	struct shard_plan plan;
	struct sb_error err = {0};
	char *path;
	json_t *record;
	FILE *to;

	small_plan(&plan, &recording, part, span);
	memcpy(bytes, data, size);
	size = make_end(bytes, size);
	path = shard_plan_result(&plan, 0);
	to = fopen(path, "wb");
	FUZZ_CHECK(to && fwrite(bytes, 1, size, to) == size && !fclose(to), "%s", path);
	record = shard_result_record(&plan, 0, &err);
	if (record)
		FUZZ_CHECK(json_array_size(json_object_get(record, "parts")) == 2, "other parts");
	else
		check_error(err.code, &err);
	json_decref(record);
	shard_result_verify(&plan, 0, &err);
	unlink(path);
	free(path);
}

static void remove_directory(void)
{
	rmdir(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!file.name[0]) {
		memory_file_open(&file);
		FUZZ_CHECK(getcwd(here, sizeof(here)) && mkdtemp(directory), "no directory");
		atexit(remove_directory);
	}
	if (!size || size > ROOM / 2)
		return 0;
	if (data[0] & 1)
		try_result(data + 1, size - 1);
	else
		try_plan(data + 1, size - 1);
	return 0;
}
