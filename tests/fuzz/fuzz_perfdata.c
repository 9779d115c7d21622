/* fuzz_perfdata.c - sb_perfdata_open() and what walks over a recording.
 *
 * An input is a perf.data of any bytes; or (first byte odd) records, which are packed here as perf record -z
 * does, in pieces of the size that the second byte says: they come out as they went in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <sb/perfdata.h>
#include <sb/system.h>

#include "replay/fork_memory.h"
#include "replay/fork_paging.h"
#include "replay/pid_reuse.h"
#include "support/check.h"
#include "support/memory_file.h"
#include "support/target.h"
#include "system/process.h"
#include "system/system.h"

enum { ROOM = 1 << 16, HEADER_SIZE = 8, KERNEL_TYPES = 64 };

static struct memory_file file, other;
static FILE *nowhere;

struct buffer {
	uint8_t bytes[ROOM];
	size_t size;
};

static void open_files(void)
{
	if (nowhere)
		return;
	memory_file_open(&file);
	memory_file_open(&other);
	nowhere = fopen("/dev/null", "w");
	FUZZ_CHECK(nowhere, "no /dev/null");
}

/* ---- Any bytes -------------------------------------------------------------------------------- */

static void check_error(int status, const struct sb_error *err)
{
	FUZZ_CHECK(status == err->code && err->text[0], "status %d, code %d", status, err->code);
}

static void walk_records(const struct sb_perfdata *perfdata)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err = {0};
	int status;

	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &err)) > 0)
		sb_record_print(nowhere, &record);
	if (status < 0) {
		check_error(status, &err);
		FUZZ_CHECK(sb_perfdata_damage(perfdata), "opening it met no damage");
	}
	FUZZ_CHECK(sb_perfdata_next(&cursor, &record, &err) == status, "another end than %d", status);
}

static void read_streams(const struct sb_perfdata *perfdata)
{
	size_t count;
	const struct sb_aux_stream *stream = sb_perfdata_streams(perfdata, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t size = 0;

		for (size_t k = 0; k < stream[i].nchunks; k++) {
			const struct sb_aux_chunk *chunk = &stream[i].chunk[k];

			FUZZ_CHECK(fwrite(chunk->bytes, 1, chunk->size, nowhere) == chunk->size, "no bytes");
			sb_perfdata_release(perfdata, chunk->bytes, chunk->bytes + chunk->size);
			size += chunk->size;
		}
		FUZZ_CHECK(size == stream[i].size, "the sizes do not add up");
	}
}

static void read_bpf_images(const struct sb_perfdata *perfdata)
{
	size_t count;
	const struct sb_bpf_image *image = sb_perfdata_bpf_images(perfdata, &count);

	for (size_t i = 0; i < count; i++) {
		FUZZ_CHECK(image[i].begin >> 63 && image[i].begin + image[i].size > image[i].begin,
		           "no code");
		FUZZ_CHECK(fwrite(image[i].bytes, 1, image[i].size, nowhere) == image[i].size, "no bytes");
		FUZZ_CHECK(strlen(image[i].name) < sizeof(image[i].name), "a name without an end");
	}
}

/* What no record says is doubted in the first system, and found out as far as the recording allows; the
 * second one knows. */
static void build_with_facts(struct sb_system *first, const struct sb_perfdata *perfdata)
{
	const struct kinship *kinship = &system_processes(first)->kinship;
	struct sb_system *second;
	struct fork_fact *fork;
	struct pid_reuse *reuse;
	struct system_facts facts = {0};

	FUZZ_CHECK(kinship_doubts(kinship, 1, &fork, &facts.forks.count) == 0, "no doubts");
	FUZZ_CHECK(pid_reuse_find(first, &reuse, &facts.nreuses) == 0, "no numbers");
	FUZZ_CHECK(fork_memory_find(perfdata, first, NULL, 4096, fork, facts.forks.count) == 0, "no forks");
	FUZZ_CHECK(fork_paging_find(perfdata, first, 4096, fork, facts.forks.count) == 0, "no page tables");
	for (size_t i = 0; i < facts.forks.count; i++)
		fork[i].memory = (enum fork_memory)(i % 3);
	for (size_t i = 0; i < facts.nreuses; i++)
		FUZZ_CHECK(sb_system_space(first, reuse[i].pid, reuse[i].time), "nobody's number");
	facts.forks.of = fork;
	facts.reuse = reuse;
	if (facts.forks.count || facts.nreuses) {
		FUZZ_CHECK(system_build(&second, perfdata, NULL, &facts, NULL) == 0, "not once more");
		sb_system_free(second);
	}
	free(fork);
	free(reuse);
	sb_system_free(first);
}

static void open_any(const uint8_t *data, size_t size)
{
	static const struct system_facts nothing;
	struct sb_perfdata *perfdata;
	struct sb_system *system;
	struct sb_error err = {0};
	int status;

	memory_file_set(&file, data, size);
	status = sb_perfdata_open(&perfdata, file.name, &err);
	if (status < 0) {
		check_error(status, &err);
		return;
	}
	walk_records(perfdata);
	read_streams(perfdata);
	read_bpf_images(perfdata);
	status = system_build(&system, perfdata, NULL, &nothing, &err);
	if (status == 0)
		build_with_facts(system, perfdata);
	else
		check_error(status, &err);
	sb_perfdata_close(perfdata);
}

/* ---- Packed records --------------------------------------------------------------------------- */

static void put(struct buffer *to, const void *bytes, size_t size)
{
	FUZZ_CHECK(size <= ROOM - to->size, "too large");
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

static void put_header(struct buffer *to, uint32_t type, size_t size)
{
	const uint16_t rest[2] = {0, (uint16_t)size};

	put(to, &type, sizeof(type));
	put(to, rest, sizeof(rest));
}

/* What stands in front of records in a pipe: a header, and one event with TID, TIME, CPU, IDENTIFIER. */
static void begin_file(struct buffer *to)
{
	const uint64_t header[] = {0x32454c4946524550, 16};
	const uint64_t attr[] = {(uint64_t)64 << 32 | 1, 9, 0, 0x10086, 0, 1 << 18, 0, 0, 101};

	to->size = 0;
	put(to, header, sizeof(header));
	put_header(to, SB_RECORD_HEADER_ATTR, HEADER_SIZE + sizeof(attr));
	put(to, attr, sizeof(attr));
}

static void put_packed(struct buffer *to, const uint8_t *bytes, size_t size, size_t piece)
{
	ZSTD_CStream *stream = ZSTD_createCStream();

	FUZZ_CHECK(stream, "no memory");
	for (size_t at = 0; at < size; at += piece) {
		static uint8_t packed[ROOM];
		ZSTD_inBuffer in = {bytes + at, size - at < piece ? size - at : piece, 0};
		ZSTD_outBuffer out = {packed, sizeof(packed), 0};

		FUZZ_CHECK(ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush) == 0, "not flushed");
		put_header(to, SB_RECORD_COMPRESSED, HEADER_SIZE + out.pos);
		put(to, packed, out.pos);
	}
	ZSTD_freeCStream(stream);
}

/* The records of the kernel that @data begins with; perf's own are not packed. */
static size_t kernel_records(const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= HEADER_SIZE) {
		uint32_t type;
		uint16_t step;

		memcpy(&type, data + at, sizeof(type));
		memcpy(&step, data + at + 6, sizeof(step));
		if (type >= KERNEL_TYPES || step < HEADER_SIZE || step > size - at)
			break;
		at += step;
	}
	return at;
}

static struct sb_perfdata *open_made(struct memory_file *to, const struct buffer *made)
{
	struct sb_perfdata *perfdata;
	struct sb_error err;

	memory_file_set(to, made->bytes, made->size);
	FUZZ_CHECK(sb_perfdata_open(&perfdata, to->name, &err) == 0, "%s", err.text);
	return perfdata;
}

static void compare(const struct sb_perfdata *left, const struct sb_perfdata *right)
{
	struct sb_perfdata_cursor a, b;
	struct sb_record ra, rb;
	struct sb_error ea = {0}, eb = {0};
	int status;

	sb_perfdata_begin(left, &a);
	sb_perfdata_begin(right, &b);
	do {
		status = sb_perfdata_next(&a, &ra, &ea);
		FUZZ_CHECK(sb_perfdata_next(&b, &rb, &eb) == status, "%d: %s, or %s", status, ea.text,
		           eb.text);
		if (status > 0)
			FUZZ_CHECK(ra.size == rb.size && !memcmp(ra.bytes, rb.bytes, ra.size),
			           "another record");
	} while (status > 0);
}

static void pack_and_compare(const uint8_t *data, size_t size)
{
	static struct buffer plain, packed;
	struct sb_perfdata *left, *right;
	size_t piece;

	if (!size)
		return;
	piece = data[0] + (size_t)1;
	size = kernel_records(data + 1, size - 1);
	begin_file(&plain);
	put(&plain, data + 1, size);
	begin_file(&packed);
	put_packed(&packed, data + 1, size, piece);
	left = open_made(&file, &plain);
	right = open_made(&other, &packed);
	compare(left, right);
	sb_perfdata_close(left);
	sb_perfdata_close(right);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	open_files();
	if (size && data[0] & 1)
		pack_and_compare(data + 1, size < ROOM / 16 ? size - 1 : ROOM / 16);
	else if (size)
		open_any(data + 1, size - 1);
	return 0;
}
