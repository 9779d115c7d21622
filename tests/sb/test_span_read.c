/* test_span_read.c - results of spans that say more than their writer would: a block of some size is no
 * reason to take a multiple of it as memory. And what is written in two ways at a time, each of which is read
 * by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/span_read.h"
#include "replay/span_write.h"
#include "system/system.h"

enum { MANY = 8 << 20, ROOM = 2 * MANY + 256 };

/* One block, of one item. */
struct result {
	uint8_t *bytes;
	size_t size;
};

static int64_t read_result(void *context, size_t index, uint64_t offset, void *bytes, size_t size,
                           struct sb_error *err)
{
	const struct result *result = context;
	const size_t left = offset < result->size ? result->size - (size_t)offset : 0;

	(void)index;
	(void)err;
	size = size < left ? size : left;
	memcpy(bytes, result->bytes + offset, size);
	return (int64_t)size;
}

static void put(struct result *result, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		result->bytes[result->size++] = (uint8_t)(value | 0x80);
	result->bytes[result->size++] = (uint8_t)value;
}

static void put_same(struct result *result, uint8_t byte, size_t count)
{
	memset(result->bytes + result->size, byte, count);
	result->size += count;
}

static void begin(struct result *result)
{
	result->bytes = malloc(ROOM);
	assert_non_null(result->bytes);
	result->size = SPAN_BLOCK_HEADER;
}

static void end(struct result *result)
{
	const uint32_t size = (uint32_t)(result->size - SPAN_BLOCK_HEADER);
	const uint32_t sum = span_block_sum(result->bytes + SPAN_BLOCK_HEADER, size);

	memcpy(result->bytes, &size, sizeof(size));
	memcpy(result->bytes + sizeof(size), &sum, sizeof(sum));
}

/* Path 0, of one block of one instruction, @npaths times, and how often each ran. */
static void put_flow(struct result *result, size_t npaths)
{
	put(result, span_flow);
	put(result, span_flow_times);
	put(result, span_zigzag(1)); /* tsc */
	put(result, npaths);
	put(result, 2);                   /* path 0, which follows */
	put(result, 1);                   /* of one block, */
	put(result, 0);                   /* none of which was guessed: */
	put(result, 0);                   /* it follows */
	put(result, span_zigzag(0x1000)); /* ip */
	put_same(result, 0, 2);           /* end_ip, flags */
	result->bytes[result->size++] = ptem_64bit;
	result->bytes[result->size++] = 0; /* iclass */
	put(result, 1);                    /* one instruction, */
	result->bytes[result->size++] = 1; /* of one byte */
	put_same(result, 1, npaths - 1);   /* path 0 */
	put_same(result, 7, npaths);       /* times */
}

/* The end of a piece whose account has @nslots threads. */
static void put_piece_end(struct result *result, uint64_t nslots, size_t nbytes)
{
	put(result, span_piece_end);
	put_same(result, 0, 2 + 5 + sb_switch_evidences + 2 * sb_gap_reasons);
	put(result, nslots);
	put_same(result, 0, nbytes);
}

/* What reading the result comes to; the reader is left as it is then. */
static int read_as(struct result *result, struct span_reader *reader, struct span_item *item,
                   unsigned int sums)
{
	struct sb_system *system = system_new(0);
	struct span_world world;
	struct sb_error err = {0};
	int status;

	assert_non_null(system);
	assert_int_equal(system_seal(system, 0), 0);
	assert_int_equal(span_world_init(&world, system), 0);
	assert_int_equal(span_reader_init(reader, &world, 0), 0);
	end(result);
	reader->context = result;
	reader->read = read_result;
	reader->sums = sums;
	status = span_read(reader, item, &err);
	span_world_fini(&world);
	sb_system_free(system);
	return status;
}

static int read_it(struct result *result, struct span_reader *reader, struct span_item *item)
{
	return read_as(result, reader, item, sb_sums_blocks);
}

static void done(struct result *result, struct span_reader *reader)
{
	span_reader_fini(reader);
	free(result->bytes);
}

static void as_many_times_as_are_written(void **state)
{
	struct span_reader reader;
	struct span_item item;
	struct result result;

	(void)state;
	begin(&result);
	put_flow(&result, SPAN_TIMES_MAX);
	assert_int_equal(read_it(&result, &reader, &item), 1);
	assert_int_equal(item.flow.npaths, SPAN_TIMES_MAX);
	assert_int_equal(item.flow.nblocks, SPAN_TIMES_MAX);
	assert_int_equal(item.flow.path[SPAN_TIMES_MAX - 1]->block[0].ip, 0x1000);
	assert_int_equal(item.flow.times[SPAN_TIMES_MAX - 1], 7);
	done(&result, &reader);

	begin(&result);
	put_flow(&result, SPAN_TIMES_MAX + 1);
	assert_int_equal(read_it(&result, &reader, &item), -sbe_format);
	assert_int_equal(reader.times_capacity, 0);
	done(&result, &reader);
}

/* 16 MiB would be 64 as pointers, and as much again as times. */
static void many_paths_are_none(void **state)
{
	struct span_reader reader;
	struct span_item item;
	struct result result;

	(void)state;
	begin(&result);
	put_flow(&result, MANY);
	assert_int_equal(read_it(&result, &reader, &item), -sbe_format);
	assert_true(reader.path_capacity <= SPAN_FLOW_BLOCKS_MAX);
	assert_int_equal(reader.times_capacity, 0);
	done(&result, &reader);
}

/* As many bytes as threads, which are five bytes each at least. */
static void as_many_threads_as_there_are(void **state)
{
	struct span_reader reader;
	struct span_item item;
	struct result result;

	(void)state;
	begin(&result);
	put_piece_end(&result, 3, 3 * 5);
	assert_int_equal(read_it(&result, &reader, &item), 1);
	assert_int_equal(item.kind, span_piece_end);
	assert_int_equal(item.part.nused, 3);
	done(&result, &reader);

	begin(&result);
	put_piece_end(&result, MANY, MANY);
	assert_int_equal(read_it(&result, &reader, &item), -sbe_format);
	assert_true(reader.slot_capacity <= MANY / 5 * 2);
	done(&result, &reader);
}

static int keep_bytes(void *context, const void *bytes, size_t size)
{
	struct result *result = context;

	assert_true(result->size + size <= ROOM);
	memcpy(result->bytes + result->size, bytes, size);
	result->size += size;
	return 0;
}

/* Calls in one channel, a gap and nothing else in another one, and who ran in a third one. */
static void write_channels(struct result *result, const struct span_world *world)
{
	static const struct sb_flow_call_edge edges[] = {{.caller = sb_flow_call_base,
	                                                  .callee = 0,
	                                                  .ip = 0x2000,
	                                                  .from_ip = 0x1000,
	                                                  .calls = 2,
	                                                  .ninsn = 9}};
	static const struct sb_flow_call_sum sums[] = {{.ninsn = 5},
	                                               {.ip = 0x2000, .is_called = 1, .ninsn = 9}};
	static const struct sb_flow_calls calls = {.tsc_to = 7,
	                                           .low = 0x1000,
	                                           .high = 0x1100,
	                                           .sum = sums,
	                                           .nsums = 2,
	                                           .edge = edges,
	                                           .nedges = 1};
	const struct sb_flow flow = {.pid = 3, .tid = 4, .tsc = 7, .calls = &calls};
	const struct sb_flow_turn turn = {
	        .pid = 3, .tid = 4, .tsc = 8, .nblocks = 2, .ninsn = 9, .ninsn_kernel = 5};
	const struct sb_gap gap = {.cpu = 1, .bytes = 11};
	struct span_writer writer[span_channels];

	for (int i = 0; i < span_channels; i++)
		assert_int_equal(
		        span_writer_init(&writer[i], keep_bytes, result, world, (enum span_channel)i), 0);
	assert_int_equal(span_write_flow(&writer[span_calls], &flow, 1), 0);
	assert_int_equal(span_write_edges(&writer[span_calls], 3, NULL, &calls), 0);
	assert_int_equal(span_write_gap(&writer[span_flows], &gap, 0), 0);
	assert_int_equal(span_write_turn(&writer[span_threads], &turn), 0);
	assert_int_equal(span_write_turns(&writer[span_threads]), 0);
	for (int i = 0; i < span_channels; i++) {
		assert_int_equal(span_write_end(&writer[i], 0), 0);
		span_writer_fini(&writer[i]);
	}
}

static void assert_edge(const struct sb_flow_calls *calls)
{
	assert_int_equal(calls->nedges, 1);
	assert_true(calls->edge->caller == sb_flow_call_base && calls->edge->callee == 0);
	assert_true(calls->edge->ip == 0x2000 && calls->edge->from_ip == 0x1000);
	assert_true(calls->edge->calls == 2 && calls->edge->ninsn == 9);
}

static void open_channel(struct span_reader *reader, struct result *result, const struct span_world *world,
                         unsigned int sums)
{
	assert_int_equal(span_reader_init(reader, world, 0), 0);
	reader->context = result;
	reader->read = read_result;
	reader->sums = sums;
	reader->channel = span_channel_of(sums);
}

/* A world without anybody, and room for what is written. */
static struct sb_system *open_world(struct result *result, struct span_world *world)
{
	struct sb_system *system = system_new(0);

	*result = (struct result){.bytes = malloc(ROOM)};
	assert_non_null(result->bytes);
	assert_non_null(system);
	assert_int_equal(system_seal(system, 0), 0);
	assert_int_equal(span_world_init(world, system), 0);
	return system;
}

static void close_world(struct result *result, struct span_world *world, struct sb_system *system)
{
	span_world_fini(world);
	sb_system_free(system);
	free(result->bytes);
}

/* Of who expects other @sums than what the channel has. */
static void expect_refused(struct result *result, const struct span_world *world, unsigned int sums,
                           enum span_channel channel)
{
	struct span_reader reader;
	struct span_item item;
	struct sb_error err;

	open_channel(&reader, result, world, sums);
	reader.channel = channel;
	assert_int_equal(span_read(&reader, &item, &err), -sbe_format);
	span_reader_fini(&reader);
}

static void each_channel_by_itself(void **state)
{
	struct result result;
	struct sb_system *system;
	struct span_reader reader;
	struct span_item item;
	struct span_world world;
	struct sb_error err;

	(void)state;
	system = open_world(&result, &world);
	write_channels(&result, &world);

	open_channel(&reader, &result, &world, sb_sums_ways);
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_int_equal(item.kind, span_gap);
	assert_int_equal(item.gap.bytes, 11);
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_int_equal(item.kind, span_end);
	span_reader_fini(&reader);

	open_channel(&reader, &result, &world, sb_sums_edges);
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_int_equal(item.flow.tid, 4);
	assert_edge(item.flow.calls);
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_true(item.flow.pid == 3 && !item.flow.npaths);
	assert_edge(item.flow.calls);
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_int_equal(item.kind, span_end);
	span_reader_fini(&reader);

	open_channel(&reader, &result, &world, sb_sums_threads);
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_int_equal(item.kind, span_turns);
	assert_int_equal(item.flow.nturns, 1);
	assert_int_equal(item.flow.turn->ninsn_kernel, 5);
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_int_equal(item.kind, span_end);
	span_reader_fini(&reader);

	/* Who does not expect calls is not given any. */
	expect_refused(&result, &world, sb_sums_ways, span_calls);
	close_world(&result, &world, system);
}

/* Those of a thread are one item, as long as time does not go back: the first one, and the others as one or
 * one by one. */
static void turns_of_a_thread_are_told_together(void **state)
{
	static const struct sb_flow_turn turn[] = {
	        {.tsc = 5, .tsc_to = 5, .ninsn = 7, .ninsn_kernel = 4, .pid = 3, .tid = 4, .nblocks = 70000},
	        {.tsc = 5, .tsc_to = 5, .ninsn = 300000, .ninsn_kernel = 9, .pid = 3, .tid = 4, .nblocks = 2},
	        {.tsc = 9, .tsc_to = 9, .ninsn = 1, .pid = 3, .tid = 4, .nblocks = 1},
	        {.tsc = 600, .tsc_to = 600, .ninsn = 1, .pid = 3, .tid = 4, .nblocks = 3},
	        {.tsc = 4, .tsc_to = 4, .ninsn = 1, .pid = 3, .tid = 4, .nblocks = 1},
	        {.tsc = 1u << 30, .tsc_to = 1u << 30, .ninsn = 2, .pid = 3, .tid = 5, .nblocks = 1},
	};
	/* All but the first one of an item. */
	static const struct sb_flow_turn others = {.tsc = 5,
	                                           .tsc_to = 600,
	                                           .ninsn = 300002,
	                                           .ninsn_kernel = 9,
	                                           .pid = 3,
	                                           .tid = 4,
	                                           .nblocks = 6};
	static const size_t count[] = {4, 1, 1};
	const struct sb_flow_turn *next = turn;
	struct result result;
	struct sb_system *system;
	struct span_writer writer;
	struct span_reader reader;
	struct span_item item;
	struct span_world world;
	struct sb_error err;

	(void)state;
	system = open_world(&result, &world);
	assert_int_equal(span_writer_init(&writer, keep_bytes, &result, &world, span_threads), 0);
	for (size_t i = 0; i < sizeof(turn) / sizeof(turn[0]); i++)
		assert_int_equal(span_write_turn(&writer, &turn[i]), 0);
	assert_int_equal(span_write_turns(&writer), 0);
	assert_int_equal(span_write_end(&writer, 0), 0);
	span_writer_fini(&writer);

	open_channel(&reader, &result, &world, sb_sums_threads);
	for (size_t i = 0; i < sizeof(count) / sizeof(count[0]); i++) {
		assert_int_equal(span_read(&reader, &item, &err), 1);
		assert_int_equal(item.kind, span_turns);
		assert_int_equal(item.flow.nturns, 1);
		assert_int_equal(reader.others.count, count[i] - 1);
		if (count[i] > 1)
			assert_memory_equal(&reader.others.all, &others, sizeof(others));
		assert_int_equal(span_read_others(&reader, &item, &err), 0);
		assert_int_equal(item.flow.nturns, count[i]);
		assert_memory_equal(item.flow.turn, next, count[i] * sizeof(*next));
		next += count[i];
	}
	assert_int_equal(span_read(&reader, &item, &err), 1);
	assert_int_equal(item.kind, span_end);
	span_reader_fini(&reader);

	/* Who does not expect them is not given any. */
	expect_refused(&result, &world, sb_sums_calls, span_threads);
	close_world(&result, &world, system);
}

/* More of the kernel than there is, none at all, and more than there are bytes. */
static void turns_that_cannot_be_are_refused(void **state)
{
	static const uint8_t row[][16] = {
	        {span_turns, span_flow_kernel, 1, 2, 1, 3, 4},
	        {span_turns, 0, 0},
	        {span_turns, 0, SPAN_TURNS_MAX + 1, 2, 1, 3, 2, 1, 3},
	        {span_turns, 0, 3, 2, 1, 3, 2, 1, 3, 9, 0}, /* nine bytes follow */
	        {span_turns, span_flow_left, 1, 2, 1, 3},
	};
	/* Of three, the second one has more, or comes later, than it and the third one together; or it is
	 * shorter. */
	static const uint8_t other[][16] = {
	        {span_turns, 0, 3, 2, 1, 3, 2, 1, 3, 3, 0, 2, 1},
	        {span_turns, 0, 3, 2, 1, 3, 2, 1, 3, 3, 0, 1, 4},
	        {span_turns, 0, 3, 2, 1, 3, 2, 1, 3, 3, 3, 1, 1},
	        {span_turns, 0, 3, 2, 1, 3, 2, 1, 3, 4, 0, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct span_reader reader;
		struct span_item item;
		struct result result;

		begin(&result);
		for (size_t k = 0; k < sizeof(row[i]); k++)
			result.bytes[result.size++] = row[i][k];
		assert_int_equal(read_as(&result, &reader, &item, sb_sums_threads), -sbe_format);
		done(&result, &reader);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		struct span_reader reader;
		struct span_item item;
		struct result result;
		struct sb_error err;

		begin(&result);
		for (size_t k = 0; k < sizeof(other[i]); k++)
			result.bytes[result.size++] = other[i][k];
		assert_int_equal(read_as(&result, &reader, &item, sb_sums_threads), 1);
		assert_int_equal(span_read_others(&reader, &item, &err), -sbe_format);
		done(&result, &reader);
	}
}

/* A number that the block's end cuts off is none, whatever would come behind it. */
static void no_number_goes_on_behind_its_block(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < 4; cut++) {
		struct span_reader reader;
		struct span_item item;
		struct result result;

		begin(&result);
		put(&result, span_flow);
		result.bytes[result.size++] = span_flow_calls;
		put(&result, span_zigzag(1));                            /* tsc */
		put_same(&result, 0, 1 + 2);                             /* paths, flags, tsc_to */
		put(&result, 2);                                         /* sums */
		put_same(&result, 0, 3);                                 /* low, high, ninsn */
		memcpy(result.bytes + result.size, "\0\0\x80\x80", cut); /* ninsn, function 0, at ... */
		result.size += cut;
		assert_int_equal(read_as(&result, &reader, &item, sb_sums_calls), -sbe_format);
		done(&result, &reader);
	}
}

/* Items with so many sums, which are of functions that are new in the first one. What ran is @ninsn. */
static void write_sums(struct span_writer *writer, uint32_t nsums, uint64_t ninsn)
{
	struct sb_flow_call_sum sum[SPAN_SHAPE_MOST + 2] = {{.ninsn = ninsn}};
	const struct sb_flow_calls calls = {.low = 0x1000, .high = 0x1100, .sum = sum, .nsums = nsums};
	const struct sb_flow flow = {.pid = 3, .tid = 4, .calls = &calls};

	for (uint32_t i = 1; i < nsums; i++)
		sum[i] = (struct sb_flow_call_sum){.function = i - 1,
		                                   .ip = 0x2000 + i,
		                                   .below = i / 2,
		                                   .is_called = 1,
		                                   .jumps = i % 2,
		                                   .ninsn = ninsn + i};
	assert_int_equal(span_write_flow(writer, &flow, 0), 0);
}

static void expect_sums(struct span_reader *reader, uint32_t nsums, uint64_t ninsn)
{
	const struct sb_flow_call_sum *sum;
	struct span_item item;
	struct sb_error err;

	assert_int_equal(span_read(reader, &item, &err), 1);
	assert_int_equal(item.kind, span_flow);
	assert_int_equal(item.flow.calls->nsums, nsums);
	sum = item.flow.calls->sum;
	for (uint32_t i = 0; i < nsums; i++) {
		assert_int_equal(sum[i].ninsn, ninsn + i);
		assert_true(i == 0 || (sum[i].function == i - 1 && sum[i].below == i / 2 &&
		                       sum[i].is_called && sum[i].jumps == i % 2));
	}
}

/* What is written to one channel, and then read. */
struct passage {
	struct span_writer writer;
	struct span_reader reader;
	struct sb_system *system;
	struct span_world world;
	struct result result;
};

static void begin_writing(struct passage *passage)
{
	passage->system = open_world(&passage->result, &passage->world);
	assert_int_equal(
	        span_writer_init(&passage->writer, keep_bytes, &passage->result, &passage->world, span_calls),
	        0);
}

static void end_writing(struct passage *passage)
{
	assert_int_equal(span_write_end(&passage->writer, 0), 0);
	span_writer_fini(&passage->writer);
}

static void begin_reading(struct passage *passage)
{
	end_writing(passage);
	open_channel(&passage->reader, &passage->result, &passage->world, sb_sums_calls);
}

static void end_reading(struct passage *passage)
{
	span_reader_fini(&passage->reader);
	close_world(&passage->result, &passage->world, passage->system);
}

static void what_ran_in_the_same_functions_is_told_alone(void **state)
{
	static const struct {
		uint32_t nsums;
		uint64_t ninsn;
	} items[] = {{40, 1}, {40, 7}, {30, 9}, {40, 3}, {30, 200}, {1, 2}, {1, 3}, {SPAN_SHAPE_MOST + 1, 5}};
	enum { count = sizeof(items) / sizeof(items[0]) };
	struct passage passage;

	(void)state;
	begin_writing(&passage);
	for (size_t i = 0; i < count; i++)
		write_sums(&passage.writer, items[i].nsums, items[i].ninsn);
	assert_int_equal(passage.writer.shapes.nshapes, 2);
	assert_int_equal(span_write_piece(&passage.writer, 0), 0);
	assert_int_equal(passage.writer.shapes.nshapes, 0);
	write_sums(&passage.writer, 40, 4);

	begin_reading(&passage);
	for (size_t i = 0; i < count; i++)
		expect_sums(&passage.reader, items[i].nsums, items[i].ninsn);
	assert_int_equal(span_read(&passage.reader, &(struct span_item){0}, NULL), 1);
	expect_sums(&passage.reader, 40, 4);
	end_reading(&passage);
}

/* More of them than there is room for. */
static void shapes_begin_anew(void **state)
{
	struct passage passage;

	(void)state;
	begin_writing(&passage);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = SPAN_SHAPE_MOST; i > 1; i--)
			write_sums(&passage.writer, i, round);
	/* Half of all that there can be. */
	assert_true(passage.writer.shapes.nsums == (SPAN_SHAPE_MOST + 1) * SPAN_SHAPE_MOST / 2 - 1);
	for (uint32_t i = 0; i < SPAN_SHAPES_SUMS / 2; i++) {
		struct sb_flow_call_sum sum[] = {
		        {.ninsn = 1}, {.function = 1 + i % 100, .is_called = 1}, {0}};
		const struct sb_flow_calls calls = {.low = 1, .high = 2, .sum = sum, .nsums = 3};
		const struct sb_flow flow = {.calls = &calls};

		sum[2] = (struct sb_flow_call_sum){.function = i / 100 % 100, .is_kernel = i / 10000 % 2};
		assert_int_equal(span_write_flow(&passage.writer, &flow, 0), 0);
		assert_true(passage.writer.shapes.nsums <= SPAN_SHAPES_SUMS);
	}
	write_sums(&passage.writer, 40, 4);
	write_sums(&passage.writer, 40, 5);

	begin_reading(&passage);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = SPAN_SHAPE_MOST; i > 1; i--)
			expect_sums(&passage.reader, i, round);
	for (uint32_t i = 0; i < SPAN_SHAPES_SUMS / 2; i++) {
		struct span_item item;
		const struct sb_flow_call_sum *sum = NULL;

		assert_int_equal(span_read(&passage.reader, &item, NULL), 1);
		sum = item.flow.calls->sum;
		assert_true(item.flow.calls->nsums == 3 && sum[1].function == 1 + i % 100);
		assert_true(sum[2].function == i / 100 % 100 && sum[2].is_kernel == i / 10000 % 2);
	}
	expect_sums(&passage.reader, 40, 4);
	expect_sums(&passage.reader, 40, 5);
	end_reading(&passage);
}

/* A shape that no item had. */
static void unknown_shapes_are_refused(void **state)
{
	struct passage passage;

	(void)state;
	begin_writing(&passage);
	write_sums(&passage.writer, 5, 1);
	/* As who reads does not know of it. */
	passage.writer.size = SPAN_BLOCK_HEADER;
	write_sums(&passage.writer, 5, 2);
	end_writing(&passage);
	expect_refused(&passage.result, &passage.world, sb_sums_calls, span_calls);
	close_world(&passage.result, &passage.world, passage.system);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(as_many_times_as_are_written),
	        cmocka_unit_test(many_paths_are_none),
	        cmocka_unit_test(as_many_threads_as_there_are),
	        cmocka_unit_test(each_channel_by_itself),
	        cmocka_unit_test(turns_of_a_thread_are_told_together),
	        cmocka_unit_test(turns_that_cannot_be_are_refused),
	        cmocka_unit_test(no_number_goes_on_behind_its_block),
	        cmocka_unit_test(what_ran_in_the_same_functions_is_told_alone),
	        cmocka_unit_test(shapes_begin_anew),
	        cmocka_unit_test(unknown_shapes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
