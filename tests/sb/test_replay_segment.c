/* test_replay_segment.c - cutting a stream into what decoders run over: every byte once, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/segment.h"

enum { PSB_SIZE = 16, STREAM_MAX = 1 << 16, CHUNKS_MAX = 4096 };

/* Bytes that count up, with PSBs in between, and the chunks that they come in. */
struct stream {
	uint8_t bytes[STREAM_MAX];
	size_t size;
	struct sb_aux_chunk chunk[CHUNKS_MAX];
	struct sb_aux_stream aux;
};

static void put_psb(struct stream *stream)
{
	for (int i = 0; i < PSB_SIZE / 2; ++i) {
		stream->bytes[stream->size++] = 0x02;
		stream->bytes[stream->size++] = 0x82;
	}
}

static void put_bytes(struct stream *stream, size_t count)
{
	for (size_t i = 0; i < count; ++i, ++stream->size)
		stream->bytes[stream->size] = (uint8_t)(0x10 + stream->size % 96);
}

/* The next chunk: copied, so that it ends where its memory ends. */
static void put_chunk(struct stream *stream, uint64_t from, uint64_t size, uint64_t padding)
{
	struct sb_aux_chunk *chunk = &stream->chunk[stream->aux.nchunks++];
	uint8_t *bytes = calloc(1, size + padding + 1);

	memcpy(bytes, stream->bytes + from, size);
	*chunk = (struct sb_aux_chunk){.bytes = bytes, .size = size + padding, .aux_offset = from};
	stream->aux.chunk = stream->chunk;
	stream->aux.size += size + padding;
}

static void cut_evenly(struct stream *stream, uint64_t size)
{
	for (uint64_t at = 0; at < stream->size; at += size)
		put_chunk(stream, at, at + size < stream->size ? size : stream->size - at, 0);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct stream));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct stream *stream = *state;

	for (size_t i = 0; i < stream->aux.nchunks; ++i)
		free((void *)(uintptr_t)stream->chunk[i].bytes);
	free(stream);
	return 0;
}

struct result {
	size_t nsegments, nfresh;
	uint64_t longest; /* of the buffers */
	uint64_t size;
	uint64_t duplicate;
	uint64_t fresh_at[8];
};

static void run_flagged(struct stream *stream, const struct sb_aux_flag *flag, size_t nflags,
                        struct result *result)
{
	struct segment_cutter cutter;
	struct sb_segment segment;
	int status;

	memset(result, 0, sizeof(*result));
	assert_int_equal(segment_cutter_init(&cutter, &stream->aux, flag, nflags), 0);
	while ((status = segment_next(&cutter, &segment)) > 0) {
		const uint64_t readable = (uint64_t)(segment.end - segment.begin);

		assert_true(segment.stop <= readable);
		/* What the decoder may read is the stream, also behind the segment's end. */
		assert_memory_equal(segment.begin, stream->bytes + segment.aux_offset, readable);
		if (segment.fresh)
			result->fresh_at[result->nfresh++ % 8] = segment.aux_offset;
		else
			assert_true(segment.begin[0] == 0x02 && segment.begin[1] == 0x82);
		/* A whole PSB+ follows where the next segment begins. */
		assert_true(segment.stop == readable || segment.stop + SEGMENT_TAIL <= readable);
		result->nsegments += 1;
		result->size += segment.stop;
		if (readable > result->longest)
			result->longest = readable;
	}
	assert_int_equal(status, 0);
	result->duplicate = cutter.duplicate;
	assert_int_equal(result->size + result->duplicate, stream->aux.size);
	segment_cutter_fini(&cutter);
}

static void run(struct stream *stream, struct result *result)
{
	run_flagged(stream, NULL, 0, result);
}

static void one_chunk_is_one_segment(void **state)
{
	struct stream *stream = *state;
	struct result result;

	put_bytes(stream, 100);
	put_psb(stream);
	put_bytes(stream, 3000);
	put_psb(stream);
	put_bytes(stream, 3000);
	cut_evenly(stream, stream->size);
	run(stream, &result);
	assert_int_equal(result.nsegments, 1);
	assert_int_equal(result.nfresh, 1);
}

static void no_chunks_are_no_segments(void **state)
{
	struct result result;

	run(*state, &result);
	assert_int_equal(result.nsegments, 0);
}

static void chunks_may_end_anywhere(void **state)
{
	struct stream *stream = *state;
	struct result result;

	put_bytes(stream, 100);
	for (int i = 0; i < 10; ++i) {
		put_psb(stream);
		put_bytes(stream, 2000);
	}
	for (uint64_t size = 7; size < stream->size; size += 61) {
		for (size_t i = 0; i < stream->aux.nchunks; ++i)
			free((void *)(uintptr_t)stream->chunk[i].bytes);
		memset(&stream->aux, 0, sizeof(stream->aux));
		cut_evenly(stream, size);
		run(stream, &result);
		assert_int_equal(result.nfresh, 1);
	}
}

static void memory_follows_the_psb_period(void **state)
{
	struct stream *stream = *state;
	struct result result;

	for (int i = 0; i < 60; ++i) {
		put_psb(stream);
		put_bytes(stream, 1000);
	}
	cut_evenly(stream, 8000);
	run(stream, &result);
	assert_true(result.nsegments > 12);
	assert_true(result.longest <= 8000);
}

static void without_psbs_all_is_joined(void **state)
{
	struct stream *stream = *state;
	struct result result;

	put_bytes(stream, 5000);
	cut_evenly(stream, 1000);
	run(stream, &result);
	assert_int_equal(result.nsegments, 1);
	assert_int_equal(result.longest, 5000);
}

static void perfs_padding_is_no_part_of_the_stream(void **state)
{
	struct stream *stream = *state;
	struct result result;

	put_psb(stream);
	put_bytes(stream, 3000);
	put_chunk(stream, 0, 1003, 5);
	put_chunk(stream, 1003, 1001, 7);
	put_chunk(stream, 2004, stream->size - 2004, 0);
	run(stream, &result);
	assert_int_equal(result.nfresh, 1);
	assert_int_equal(result.duplicate, 12);
}

static void what_was_recorded_twice_counts_once(void **state)
{
	struct stream *stream = *state;
	struct result result;

	put_psb(stream);
	put_bytes(stream, 3000);
	put_chunk(stream, 0, 2000, 0);
	put_chunk(stream, 1500, 1000, 0);
	put_chunk(stream, 1600, 300, 0);
	put_chunk(stream, 2500, stream->size - 2500, 0);
	run(stream, &result);
	assert_int_equal(result.duplicate, 800);
	assert_int_equal(result.nfresh, 1);
}

static void a_missing_chunk_begins_anew(void **state)
{
	struct stream *stream = *state;
	struct result result;

	put_psb(stream);
	put_bytes(stream, 3000);
	put_chunk(stream, 0, 1000, 0);
	put_chunk(stream, 2000, 500, 0);
	put_chunk(stream, 2500, stream->size - 2500, 0);
	run(stream, &result);
	assert_int_equal(result.nfresh, 2);
	assert_int_equal(result.fresh_at[1], 2000);
}

static void a_flag_begins_anew_within_a_chunk_and_between_two(void **state)
{
	static const struct sb_aux_flag flag[] = {{.aux_offset = 1000, .aux_size = 1000},
	                                          {.aux_offset = 500, .aux_size = 200},
	                                          {.aux_offset = UINT64_MAX - 5, .aux_size = 100},
	                                          {.aux_offset = 9000, .aux_size = 100}};
	struct stream *stream = *state;
	struct result result;

	put_psb(stream);
	put_bytes(stream, 3000);
	put_chunk(stream, 0, 2000, 0);
	put_chunk(stream, 2000, stream->size - 2000, 0);
	run_flagged(stream, flag, sizeof(flag) / sizeof(flag[0]), &result);
	assert_int_equal(result.nfresh, 4);
	assert_int_equal(result.fresh_at[1], 94);
	assert_int_equal(result.fresh_at[2], 700);
	assert_int_equal(result.fresh_at[3], 2000);
}

static void what_precedes_a_psb_may_look_like_it(void **state)
{
	struct stream *stream = *state;
	struct segment_cutter cutter;
	struct sb_segment segment;

	put_psb(stream);
	put_bytes(stream, 1000);
	stream->bytes[stream->size++] = 0x02;
	stream->bytes[stream->size++] = 0x82;
	put_psb(stream);
	put_bytes(stream, 1000);
	put_chunk(stream, 0, 900, 0);
	put_chunk(stream, 900, stream->size - 900, 0);
	assert_int_equal(segment_cutter_init(&cutter, &stream->aux, NULL, 0), 0);
	assert_int_equal(segment_next(&cutter, &segment), 1);
	assert_int_equal(segment.stop, PSB_SIZE + 1000 + 2);
	segment_cutter_fini(&cutter);
}

/* Each PSB with a whole PSB+ behind it can be begun at, but the last one of a chunk that another one
 * continues: the next segment begins there. From everywhere, the next such PSB is found. */
static void places_are_psbs_within_segments(void **state)
{
	enum { PERIOD = 1000, CHUNK = 3100 };
	struct stream *stream = *state;
	struct segment_cutter cutter;
	size_t nfound = 0;

	for (int i = 0; i < 20; ++i) {
		put_psb(stream);
		put_bytes(stream, PERIOD - PSB_SIZE);
	}
	cut_evenly(stream, CHUNK);
	assert_int_equal(segment_cutter_init(&cutter, &stream->aux, NULL, 0), 0);
	for (size_t i = 0; i < cutter.npieces; ++i) {
		const struct segment_piece *piece = &cutter.piece[i];
		const uint64_t end = piece->position + piece->size;
		uint64_t last = (end - SEGMENT_TAIL) / PERIOD * PERIOD; /* but for the last piece, too late */

		if (i + 1 == cutter.npieces)
			last += PERIOD;
		for (uint64_t offset = 0; offset <= piece->size; ++offset) {
			const uint64_t next = (piece->position + offset + PERIOD - 1) / PERIOD * PERIOD;
			uint64_t psb = UINT64_MAX;

			assert_int_equal(segment_find_psb(&cutter, i, offset, &psb) == 1, next < last);
			if (next < last)
				assert_int_equal(piece->position + psb, next);
			nfound += next < last && next == piece->position + offset;
		}
	}
	assert_int_equal(nfound, 9);
	segment_cutter_fini(&cutter);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(one_chunk_is_one_segment),
	        TEST(no_chunks_are_no_segments),
	        TEST(chunks_may_end_anywhere),
	        TEST(memory_follows_the_psb_period),
	        TEST(without_psbs_all_is_joined),
	        TEST(perfs_padding_is_no_part_of_the_stream),
	        TEST(what_was_recorded_twice_counts_once),
	        TEST(a_missing_chunk_begins_anew),
	        TEST(a_flag_begins_anew_within_a_chunk_and_between_two),
	        TEST(places_are_psbs_within_segments),
	        TEST(what_precedes_a_psb_may_look_like_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
