/* Packed recordings put together by hand: records packed in pieces of every size, damaged, and made to eat
 * memory or disks; files packed as a whole, likewise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <sb/perfdata.h>

#include "support/temp_dir.h"

enum { HEADER = 8, USUAL = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER };

/* Bytes without a limit. */
struct text {
	uint8_t *bytes;
	size_t size, room;
};

static void put(struct text *to, const void *bytes, size_t size)
{
	if (to->size + size > to->room) {
		to->room = 2 * (to->size + size);
		to->bytes = realloc(to->bytes, to->room);
		assert_non_null(to->bytes);
	}
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

static void put_header(struct text *to, uint32_t type, size_t size)
{
	const uint16_t rest[] = {0, (uint16_t)size};

	put(to, &type, sizeof(type));
	put(to, rest, sizeof(rest));
}

static void put_record(struct text *to, uint32_t type, const void *body, size_t size)
{
	put_header(to, type, HEADER + size);
	put(to, body, size);
}

/* As through a pipe: one event, and how much was packed at once. */
static void begin_file(struct text *to, uint32_t mmap_len)
{
	const uint64_t header[] = {0x32454c4946524550, 16};
	const uint64_t attr[] = {(uint64_t)64 << 32 | 1, 9, 0, USUAL, 0, 1 << 18, 0, 0, 101};
	const uint32_t compressed[] = {27, 0, 0, 1, 1, 5, mmap_len};

	to->size = 0;
	put(to, header, sizeof(header));
	put_record(to, SB_RECORD_HEADER_ATTR, attr, sizeof(attr));
	if (mmap_len)
		put_record(to, SB_RECORD_HEADER_FEATURE, compressed, sizeof(compressed));
}

/* A SWITCH of CPU 0 at @time. */
static void put_switch(struct text *to, uint64_t time)
{
	const uint64_t trailer[] = {(uint64_t)7 << 32 | 7, time, 0, 101};

	put_record(to, PERF_RECORD_SWITCH, trailer, sizeof(trailer));
}

/* A SAMPLE, which holds what cannot be packed. */
static void put_noise(struct text *to, uint64_t *seed, size_t size)
{
	put_header(to, PERF_RECORD_SAMPLE, HEADER + 32 + size);
	for (size_t i = 0; i < 32 + size; i++) {
		const uint8_t byte = (uint8_t)(*seed >> 33);

		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		put(to, &byte, 1);
	}
}

static void put_auxtrace(struct text *to, const char *payload)
{
	const uint64_t body[] = {strlen(payload), 0, 0, (uint64_t)UINT32_MAX << 32, 0};

	put_record(to, SB_RECORD_AUXTRACE, body, sizeof(body));
	put(to, payload, strlen(payload));
}

static void pack(struct text *to, const struct text *from)
{
	to->size = 0;
	to->room = ZSTD_compressBound(from->size);
	to->bytes = realloc(to->bytes, to->room);
	to->size = ZSTD_compress(to->bytes, to->room, from->bytes, from->size, 3);
	assert_false(ZSTD_isError(to->size));
}

static void put_piece(struct text *to, const uint8_t *bytes, size_t size)
{
	put_record(to, SB_RECORD_COMPRESSED, bytes, size);
}

static void put_piece2(struct text *to, const uint8_t *bytes, size_t size)
{
	static const uint8_t zeros[8];
	const uint64_t data_size = size;
	const size_t padding = (8 - size % 8) % 8;

	put_header(to, SB_RECORD_COMPRESSED2, HEADER + 8 + size + padding);
	put(to, &data_size, 8);
	put(to, bytes, size);
	put(to, zeros, padding);
}

struct fixture {
	struct temp_dir dir;
	struct text file, records, packed;
	struct sb_perfdata *perfdata;
	struct sb_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_dir_make(&f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sb_perfdata_close(f->perfdata);
	temp_dir_remove(&f->dir);
	free(f->file.bytes);
	free(f->records.bytes);
	free(f->packed.bytes);
	free(f);
	return 0;
}

static int try_open(struct fixture *f)
{
	char *path = temp_dir_write(&f->dir, "perf.data", f->file.bytes, f->file.size);
	int code;

	sb_perfdata_close(f->perfdata);
	f->perfdata = NULL;
	code = sb_perfdata_open(&f->perfdata, path, &f->err);
	free(path);
	return code;
}

/* Walks to the end: how many records came, and the walk's last answer. */
static unsigned int walk(struct fixture *f, int *last)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	unsigned int count = 0;

	if (try_open(f) < 0)
		fail_msg("%s", f->err.text);
	sb_perfdata_begin(f->perfdata, &cursor);
	while ((*last = sb_perfdata_next(&cursor, &record, &f->err)) > 0)
		count++;
	assert_int_equal(*last < 0, sb_perfdata_damage(f->perfdata) != NULL);
	return count;
}

/* The walk ends after @count records with @code at @offset, for a reason that has @reason in it. */
static void expect_damage(struct fixture *f, unsigned int count, int code, uint64_t offset,
                          const char *reason)
{
	int last;

	assert_int_equal(walk(f, &last), count);
	assert_int_equal(last, code);
	if (!strstr(f->err.text, reason))
		fail_msg("'%s' is not in '%s'", reason, f->err.text);
	assert_int_equal(f->err.offset, offset);
}

enum { NSWITCHES = 40 };

static void put_switches(struct text *to)
{
	to->size = 0;
	for (uint64_t i = 0; i < NSWITCHES; i++)
		put_switch(to, 1000 + i);
}

/* In pieces of every size: records lie across them, and trace between them. */
static void records_lie_across_pieces(void **state)
{
	struct fixture *f = *state;
	size_t piece;

	put_switches(&f->records);
	pack(&f->packed, &f->records);
	for (piece = 1; piece <= f->packed.size; piece++) {
		struct sb_perfdata_cursor cursor;
		struct sb_record record;
		const struct sb_aux_stream *stream;
		uint64_t time = 1000;
		size_t count;

		begin_file(&f->file, 1 << 16);
		for (size_t at = 0; at < f->packed.size; at += piece) {
			const size_t left = f->packed.size - at;

			(at / piece % 2 ? put_piece : put_piece2)(&f->file, f->packed.bytes + at,
			                                          left < piece ? left : piece);
			put_auxtrace(&f->file, "payload!");
		}
		assert_int_equal(try_open(f), 0);
		assert_null(sb_perfdata_damage(f->perfdata));
		sb_perfdata_begin(f->perfdata, &cursor);
		while (sb_perfdata_next(&cursor, &record, &f->err) > 0) {
			if (record.type == PERF_RECORD_SWITCH)
				assert_int_equal(record.sample.time, time++);
			else if (record.type == SB_RECORD_AUXTRACE)
				assert_memory_equal(f->file.bytes + record.offset, record.bytes, record.size);
		}
		assert_int_equal(time, 1000 + NSWITCHES);
		stream = sb_perfdata_streams(f->perfdata, &count);
		assert_int_equal(count, 1);
		assert_int_equal(stream->nchunks, (f->packed.size + piece - 1) / piece);
		for (size_t i = 0; i < stream->nchunks; i++) {
			assert_memory_equal(stream->chunk[i].bytes, "payload!", 8);
			assert_memory_equal(f->file.bytes + stream->chunk[i].file_offset, "payload!", 8);
			assert_int_equal(stream->chunk[i].missing, 0);
		}
	}
}

/* Two cursors, and one that begins anew, see the same. */
static void cursors_are_independent(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata_cursor a, b;
	struct sb_record ra, rb;

	put_switches(&f->records);
	pack(&f->packed, &f->records);
	begin_file(&f->file, 1 << 16);
	put_piece(&f->file, f->packed.bytes, f->packed.size);
	assert_int_equal(try_open(f), 0);
	sb_perfdata_begin(f->perfdata, &a);
	for (int i = 0; i < 20; i++)
		assert_int_equal(sb_perfdata_next(&a, &ra, NULL), 1);
	sb_perfdata_begin(f->perfdata, &b);
	while (sb_perfdata_next(&b, &rb, NULL) > 0 && rb.bytes != ra.bytes)
		continue;
	assert_ptr_equal(ra.bytes, rb.bytes);
	assert_int_equal(ra.offset, rb.offset);
	assert_int_equal(ra.sample.time, rb.sample.time);
}

/* What is packed at once and does not fit into a record comes with what is packed next. */
static void what_a_full_record_leaves_comes_in_the_next(void **state)
{
	enum { ONCE = 1 << 17, SWITCHES = 3200 };
	struct fixture *f = *state;
	uint64_t seed = 1;
	int last;

	f->records.size = 0;
	for (int i = 0; i < 20; i++)
		put_noise(&f->records, &seed, 5000);
	for (int i = 0; i < SWITCHES; i++)
		put_switch(&f->records, 1);
	pack(&f->packed, &f->records);
	assert_true(f->packed.size > 100000);
	begin_file(&f->file, ONCE);
	put_piece(&f->file, f->packed.bytes, 60000);
	put_piece(&f->file, f->packed.bytes + 60000, f->packed.size - 60000);
	assert_int_equal(walk(f, &last), 20 + SWITCHES + 2);
	assert_int_equal(last, 0);
}

/* perf lets the size of such a record wrap around to 0. */
static void a_size_that_wrapped_around(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 1;
	int last;

	for (int i = 0; i < 30; i++)
		put_noise(&f->records, &seed, 5000);
	pack(&f->packed, &f->records);
	assert_true(f->packed.size > 100000);
	for (size_t size = 65505; size <= 65520; size++) {
		begin_file(&f->file, 1 << 20);
		put_piece2(&f->file, f->packed.bytes, size);
		put_piece(&f->file, f->packed.bytes + size, 40000);
		put_piece(&f->file, f->packed.bytes + size + 40000, f->packed.size - size - 40000);
		assert_int_equal(walk(f, &last), 30 + 2);
		assert_int_equal(last, 0);
	}
	/* But only one that holds that many bytes. */
	for (size_t size = 0; size <= 65530; size += 13106) {
		size_t at;

		begin_file(&f->file, 1 << 20);
		at = f->file.size;
		put_piece2(&f->file, f->packed.bytes, 65520);
		memcpy(f->file.bytes + at + HEADER, &size, 8);
		expect_damage(f, 2, -sbe_format, at, "does not hold the bytes that it counts");
	}
}

static void what_is_missing_at_the_end(void **state)
{
	struct fixture *f = *state;
	size_t whole, piece, got = 0;

	put_switches(&f->records);
	for (int i = 0; i < 40; i++) {
		uint64_t seed = (uint64_t)i;

		put_noise(&f->records, &seed, 100);
	}
	pack(&f->packed, &f->records);
	piece = f->packed.size / 2;
	begin_file(&f->file, 1 << 20);
	put_piece(&f->file, f->packed.bytes, piece);
	put_piece(&f->file, f->packed.bytes + piece, f->packed.size - piece);
	whole = f->file.size;
	/* A file that was cut, anywhere behind the events. */
	for (size_t cut = 200; cut < whole; cut += 97) {
		unsigned int count;
		int last;

		f->file.size = cut;
		count = walk(f, &last);
		assert_true(last == -sbe_truncated || last == 0);
		assert_true(count >= got && count <= 2 + 80);
		got = count;
	}
	/* A piece that is missing ends inside of a record, or says nothing. */
	begin_file(&f->file, 1 << 20);
	f->records.size = 0;
	put_noise(&f->records, &(uint64_t){5}, 60000);
	f->records.size -= 100;
	pack(&f->packed, &f->records);
	put_piece(&f->file, f->packed.bytes, f->packed.size);
	expect_damage(f, 2, -sbe_truncated, f->file.size, "the packed records end after");
}

static void what_cannot_be_unpacked(void **state)
{
	struct fixture *f = *state;
	size_t at;

	put_switches(&f->records);
	pack(&f->packed, &f->records);
	begin_file(&f->file, 1 << 20);
	put_piece(&f->file, f->packed.bytes, f->packed.size);
	at = f->file.size;
	put_piece(&f->file, (const uint8_t *)"not packed at all", 17);
	expect_damage(f, 2 + NSWITCHES, -sbe_format, at, "cannot be unpacked");
}

/* What stands in packed records is checked before it is believed. */
static void packed_records_that_cannot_be(void **state)
{
	static const struct {
		uint32_t type;
		uint16_t size;
		const char *reason;
	} wrong[] = {
	        {PERF_RECORD_SWITCH, 0, "its header alone has 8"},
	        {PERF_RECORD_SWITCH, 7, "its header alone has 8"},
	        {SB_RECORD_AUXTRACE, 48, "AUXTRACE), which never is"},
	        {SB_RECORD_TRACING_DATA, 16, "TRACING_DATA), which never is"},
	        {SB_RECORD_COMPRESSED, 16, "COMPRESSED), which never is"},
	        {SB_RECORD_COMPRESSED2, 24, "COMPRESSED2), which never is"},
	        {SB_RECORD_COMPRESSED2, 0, "its header alone has 8"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		static const uint8_t zeros[64];
		size_t at;

		put_switches(&f->records);
		put_header(&f->records, wrong[i].type, wrong[i].size);
		put(&f->records, zeros, sizeof(zeros));
		pack(&f->packed, &f->records);
		begin_file(&f->file, 1 << 20);
		at = f->file.size;
		put_piece(&f->file, f->packed.bytes, f->packed.size);
		expect_damage(f, 2 + NSWITCHES, -sbe_format, at, wrong[i].reason);
	}
}

static long peak_kilobytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* A few kilobytes that want to become a gigabyte: of zeros, and of records that are right. */
static void bombs_go_off_nowhere(void **state)
{
	enum { MANY = 1000000 };
	struct fixture *f = *state;
	const long before = peak_kilobytes();
	size_t at;
	int last;

	f->records.size = 0;
	for (int i = 0; i < MANY; i++)
		put_switch(&f->records, 1);
	pack(&f->packed, &f->records);
	assert_true(f->packed.size < 50000);
	begin_file(&f->file, 1 << 16);
	at = f->file.size;
	put_piece(&f->file, f->packed.bytes, f->packed.size);
	walk(f, &last);
	assert_int_equal(last, -sbe_format);
	assert_int_equal(f->err.offset, at);
	assert_non_null(strstr(f->err.text, "all that was packed at once"));
	/* That many bytes may be packed at once, when the recording says so. */
	begin_file(&f->file, 1 << 28);
	put_piece(&f->file, f->packed.bytes, f->packed.size);
	assert_int_equal(walk(f, &last), 2 + MANY);
	assert_int_equal(last, 0);
	sb_perfdata_close(f->perfdata);
	f->perfdata = NULL;
	/* The test's own bytes, which are 80 MB, and what a cursor has in its window. */
	assert_true(peak_kilobytes() - before < 200 << 10);
}

/* ---- Whole files ------------------------------------------------------------------------------ */

static void whole_recording(struct fixture *f)
{
	begin_file(&f->records, 0);
	for (uint64_t i = 0; i < NSWITCHES; i++)
		put_switch(&f->records, 1000 + i);
	put_auxtrace(&f->records, "payload!");
}

static void pack_gzip(struct text *to, const struct text *from)
{
	z_stream stream = {0};

	to->size = 0;
	to->room = 1 << 16;
	to->bytes = realloc(to->bytes, to->room);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = from->bytes;
	stream.avail_in = (uInt)from->size;
	stream.next_out = to->bytes;
	stream.avail_out = (uInt)to->room;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	to->size = stream.total_out;
	deflateEnd(&stream);
}

static void pack_xz(struct text *to, const struct text *from)
{
	to->size = 0;
	to->room = 1 << 16;
	to->bytes = realloc(to->bytes, to->room);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, from->bytes, from->size,
	                                         to->bytes, &to->size, to->room),
	                 LZMA_OK);
}

static void (*const packers[])(struct text *to, const struct text *from) = {pack_gzip, pack, pack_xz};
enum { NPACKERS = sizeof(packers) / sizeof(packers[0]) };

/* The file is packed in two parts, one behind the other: together they are one file. */
static void several_parts_are_one_file(void **state)
{
	struct fixture *f = *state;
	int last;

	whole_recording(f);
	for (size_t i = 0; i < NPACKERS; i++) {
		for (size_t first = 0; first < f->records.size; first += 13) {
			const struct text left = {f->records.bytes, first, 0};
			const struct text right = {f->records.bytes + first, f->records.size - first, 0};

			f->file.size = 0;
			packers[i](&f->packed, &left);
			put(&f->file, f->packed.bytes, f->packed.size);
			packers[i](&f->packed, &right);
			put(&f->file, f->packed.bytes, f->packed.size);
			assert_int_equal(walk(f, &last), 1 + NSWITCHES + 1);
			assert_int_equal(last, 0);
		}
	}
}

static void cut_files_are_refused(void **state)
{
	struct fixture *f = *state;

	whole_recording(f);
	for (size_t i = 0; i < NPACKERS; i++) {
		packers[i](&f->packed, &f->records);
		for (size_t cut = 6; cut < f->packed.size; cut++) {
			int code;

			f->file.size = 0;
			put(&f->file, f->packed.bytes, cut);
			code = try_open(f);
			assert_true(code == -sbe_truncated || code == -sbe_format);
		}
	}
}

static void damaged_files_are_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 17;

	whole_recording(f);
	for (size_t i = 0; i < NPACKERS; i++) {
		packers[i](&f->packed, &f->records);
		for (int n = 0; n < 300; n++) {
			int last;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			f->file.size = 0;
			put(&f->file, f->packed.bytes, f->packed.size);
			f->file.bytes[6 + (seed >> 33) % (f->packed.size - 6)] ^= (uint8_t)(1 << (seed & 7));
			/* Not every packing has a checksum. */
			if (try_open(f) == 0)
				walk(f, &last);
			else
				assert_true(f->err.text[0]);
		}
	}
}

static void packed_files_that_are_no_recordings(void **state)
{
	struct fixture *f = *state;
	struct text hello = {0};

	put(&hello, "hello, hello, hello, hello", 26);
	for (size_t i = 0; i < NPACKERS; i++) {
		packers[i](&f->packed, &hello);
		f->file.size = 0;
		put(&f->file, f->packed.bytes, f->packed.size);
		assert_int_equal(try_open(f), -sbe_format);
		assert_non_null(strstr(f->err.text, "not a perf.data"));
	}
	free(hello.bytes);
}

/* It begins like a recording, and goes on with zeros. Neither memory nor the disk takes much of them. */
static void a_file_of_next_to_nothing_is_refused(void **state)
{
	enum { BLOCK = 1 << 20, BLOCKS = 4096 };
	struct fixture *f = *state;
	ZSTD_CStream *stream = ZSTD_createCStream();
	uint8_t *block = calloc(1, BLOCK), *out = malloc(BLOCK);
	const long before = peak_kilobytes();

	whole_recording(f);
	memcpy(block, f->records.bytes, f->records.size);
	f->file.size = 0;
	for (int i = 0; i <= BLOCKS; i++) {
		ZSTD_inBuffer in = {block, i < BLOCKS ? BLOCK : 0, 0};
		ZSTD_outBuffer to = {out, BLOCK, 0};

		assert_false(ZSTD_isError(
		        ZSTD_compressStream2(stream, &to, &in, i < BLOCKS ? ZSTD_e_continue : ZSTD_e_end)));
		put(&f->file, out, to.pos);
		memset(block, 0, f->records.size);
	}
	assert_true(f->file.size < 1 << 20);
	assert_int_equal(try_open(f), -sbe_format);
	assert_non_null(strstr(f->err.text, "times as many"));
	assert_true(peak_kilobytes() - before < 32 << 10);
	ZSTD_freeCStream(stream);
	free(block);
	free(out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(records_lie_across_pieces),
	        TEST(cursors_are_independent),
	        TEST(what_a_full_record_leaves_comes_in_the_next),
	        TEST(a_size_that_wrapped_around),
	        TEST(what_is_missing_at_the_end),
	        TEST(what_cannot_be_unpacked),
	        TEST(packed_records_that_cannot_be),
	        TEST(bombs_go_off_nowhere),
	        TEST(several_parts_are_one_file),
	        TEST(cut_files_are_refused),
	        TEST(damaged_files_are_refused),
	        TEST(packed_files_that_are_no_recordings),
	        TEST(a_file_of_next_to_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
