/* The walk from bytes to packets, where it is not straight: damage, a trace that begins anywhere, spans of
 * it, pieces, and last IP and time over all that. Streams are written down as bytes, as the Intel SDM has
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sb/trace.h>

#include "dump/packet_fields.h"
#include "dump/walk.h"

#define PSB            2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82
#define PSBEND         2, 0x23
#define TIP(low, high) 0x2d, low, high /* replaces two bytes of the last IP */
#define TSC(low)       0x19, low, 0, 0, 0, 0, 0, 0
#define CUT_TSC        0x19, 7, 0
#define UNKNOWN        0x02, 0x01

/* What comes out: a line for each packet or place, and how many bytes they cover so far. */
struct log {
	char *text;
	size_t used, room;
	uint64_t next; /* where the next one must begin; UINT64_MAX: do not check */
	int stop_after;
};

static void log_line(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void log_line(struct log *log, const char *format, ...)
{
	va_list args;

	if (!log->text)
		return;
	if (log->room - log->used < 256)
		log->text = realloc(log->text, log->room *= 2);
	assert_non_null(log->text);
	va_start(args, format);
	log->used += (size_t)vsnprintf(log->text + log->used, 256, format, args);
	va_end(args);
}

static void covered(struct log *log, uint64_t offset, uint64_t size)
{
	if (log->next == UINT64_MAX)
		return;
	assert_int_equal(offset, log->next);
	log->next = offset + size;
}

static int on_packet(void *writer, const struct dump_packet *packet)
{
	struct packet_fields fields;
	struct log *log = writer;

	packet_fields(&fields, packet->packet);
	covered(log, packet->offset, packet->size);
	log_line(log, "%u %s%s", (unsigned int)packet->offset, packet->in_psb_header ? "+" : "", fields.name);
	if (packet->has_ip)
		log_line(log, " %llx", (unsigned long long)packet->ip);
	if (packet->has_tsc)
		log_line(log, " @%llu", (unsigned long long)packet->tsc);
	log_line(log, "\n");
	return log->stop_after && !--log->stop_after ? -pte_event_ignored : 0;
}

static int on_skip(void *writer, const struct dump_skip *skip)
{
	struct log *log = writer;

	covered(log, skip->offset, skip->size);
	log_line(log, "%u %s %u: %s\n", (unsigned int)skip->offset, skip->damage ? "ERROR" : "skip",
	         (unsigned int)skip->size, skip->reason);
	return 0;
}

static const struct dump_form form = {on_packet, on_skip};

static void log_begin(struct log *log)
{
	*log = (struct log){.text = malloc(4096), .room = 4096, .next = UINT64_MAX};
	assert_non_null(log->text);
	log->text[0] = '\0';
}

static struct dump_walk walk_of(struct log *log)
{
	struct dump_walk walk = {.form = &form, .writer = log, .to = UINT64_MAX};

	pt_config_init(&walk.config);
	return walk;
}

static uint64_t accounted(const struct dump_walk *walk)
{
	return walk->account.read + walk->account.skipped + walk->account.outside;
}

/* Walks over @bytes as @walk says; the account must hold every byte. Zeroes what is the walk's own. */
static void assert_walk(struct dump_walk *walk, const uint8_t *bytes, size_t size, const char *wanted)
{
	const struct dump_span span = {.begin = bytes, .size = size, .fresh = true};
	struct log log;

	log_begin(&log);
	walk->writer = &log;
	assert_int_equal(dump_walk_span(walk, &span), 0);
	assert_string_equal(log.text, wanted);
	assert_int_equal(accounted(walk), size);
	dump_walk_fini(walk);
	free(log.text);
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void last_ip_and_time_belong_to_the_place_behind_a_packet(void **state)
{
	struct dump_walk walk = walk_of(NULL);

	(void)state;
	assert_walk(&walk,
	            BYTES(PSB, TSC(5), PSBEND, TIP(0x34, 0x12), 0x6d, 0, 0, 0, 0, 0, 0x80, TIP(1, 0), 0x01,
	                  PSB, PSBEND, TIP(9, 0)),
	            "0 psb\n"
	            "16 +tsc @5\n"
	            "24 psbend @5\n"
	            "26 tip 1234 @5\n"
	            "29 tip ffff800000000000 @5\n"
	            "36 tip ffff800000000001 @5\n"
	            "39 tip.pgd ffff800000000001 @5\n"
	            "40 psb @5\n"
	            "56 psbend @5\n"
	            "58 tip 9 @5\n");
	assert_int_equal(walk.account.packets, 10);
	assert_int_equal(walk.account.damages, 0);
}

static void an_overflow_or_a_branch_ends_the_header_of_a_psb(void **state)
{
	struct dump_walk walk = walk_of(NULL);

	(void)state;
	assert_walk(&walk, BYTES(PSB, 0, 2, 0xf3, 0, PSB, 0x06, 0),
	            "0 psb\n16 +pad\n17 ovf\n19 pad\n20 psb\n36 tnt.8\n37 pad\n");
}

static void damage_is_left_out_up_to_the_next_psb(void **state)
{
	struct dump_walk walk = walk_of(NULL);

	(void)state;
	assert_walk(&walk, BYTES(PSB, TSC(5), TIP(1, 0), UNKNOWN, 0, TIP(2, 0), PSB, PSBEND, TIP(3, 0)),
	            "0 psb\n16 +tsc @5\n24 tip 1 @5\n"
	            "27 ERROR 6: unknown packet\n"
	            "33 psb\n49 psbend\n51 tip 3\n");
	assert_int_equal(walk.account.skipped, 6);
	assert_int_equal(walk.account.places, 1);
	assert_int_equal(walk.account.damages, 1);

	/* the last PSB: up to the end */
	walk = walk_of(NULL);
	assert_walk(&walk, BYTES(PSB, 0xad, 0, 0, 0), "0 psb\n16 ERROR 4: packet with impossible content\n");
	walk = walk_of(NULL);
	assert_walk(&walk, BYTES(PSB, 0, CUT_TSC),
	            "0 psb\n16 +pad\n17 ERROR 3: packet cut off by the end of the trace\n");
}

/* A TSC of which three bytes are there would take the PSB's first five. */
static void a_packet_does_not_reach_over_a_psb(void **state)
{
	struct dump_walk walk = walk_of(NULL);

	(void)state;
	assert_walk(&walk, BYTES(PSB, PSBEND, CUT_TSC, PSB, PSBEND),
	            "0 psb\n16 psbend\n18 ERROR 3: packet cut off by a PSB\n21 psb\n37 psbend\n");
	/* But a payload may look like the beginning of one, and PSBs may follow each other. */
	walk = walk_of(NULL);
	assert_walk(&walk, BYTES(PSB, PSBEND, TIP(0x02, 0x82), PSB, PSB, PSBEND),
	            "0 psb\n16 psbend\n18 tip 8202\n21 psb\n37 psb\n53 psbend\n");
}

static void a_trace_begins_at_its_first_psb(void **state)
{
	struct dump_walk walk = walk_of(NULL);

	(void)state;
	assert_walk(&walk, BYTES(0x82, 1, 2, PSB, PSBEND),
	            "0 skip 3: before the first PSB\n3 psb\n19 psbend\n");
	assert_int_equal(walk.account.damages, 0);
	walk = walk_of(NULL);
	assert_walk(&walk, BYTES(0, 0, 0), "0 ERROR 3: no PSB\n");
}

static void or_where_it_is_told_to(void **state)
{
	struct dump_walk walk = walk_of(NULL);

	/* An address is not known until it comes whole. */
	(void)state;
	walk.no_sync = true;
	assert_walk(&walk, BYTES(TIP(1, 0), 0x6d, 0, 0, 0x40, 0, 0, 0, TIP(2, 0), UNKNOWN, 0, PSB),
	            "0 tip\n3 tip 400000\n10 tip 400002\n13 ERROR 3: unknown packet\n16 psb\n");
	walk = walk_of(NULL);
	walk.no_sync = true;
	walk.from = 1;
	assert_walk(&walk, BYTES(0x19, 6, 4), "1 tnt.8\n2 tnt.8\n");
	assert_int_equal(walk.account.outside, 1);
}

static void pads_are_read_but_not_told(void **state)
{
	struct dump_walk walk = walk_of(NULL);

	(void)state;
	walk.no_pad = true;
	assert_walk(&walk, BYTES(PSB, 0, 0, PSBEND), "0 psb\n18 psbend\n");
	assert_int_equal(walk.account.packets, 4);
	assert_int_equal(walk.account.read, 20);
}

/* ---- A trace with everything in it ------------------------------------------------------------ */

enum { big_size = 20000 };

static uint32_t draw(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	return *seed ^= *seed << 5;
}

static size_t put(uint8_t *at, const uint8_t *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return size;
}

/* Valid packets with a PSB+ every now and then, and PADs at the end. */
static void big_trace(uint8_t *bytes, uint32_t seed)
{
	static const uint8_t psb[] = {PSB, TSC(1), 2, 3, 42, 0, PSBEND}, tip[] = {TIP(2, 0x82)},
	                     tsc[] = {TSC(9)}, full[] = {0xcd, 1, 2, 3, 4, 5, 6, 7, 8}, tnt[] = {0x82},
	                     ptw[] = {2, 0x12, 2, 0x82, 2, 0x82}, ovf[] = {2, 0xf3};
	static const struct {
		const uint8_t *bytes;
		size_t size;
	} packets[] = {{tip, sizeof(tip)}, {tsc, sizeof(tsc)}, {full, sizeof(full)},
	               {tnt, sizeof(tnt)}, {ptw, sizeof(ptw)}, {ovf, sizeof(ovf)}};
	size_t at = put(bytes, psb, sizeof(psb));

	memset(bytes + at, 0, big_size - at);
	while (at < big_size - 64) {
		const uint32_t drawn = draw(&seed);
		const size_t which = drawn % 6;

		if (drawn >> 8 & 63)
			at += put(bytes + at, packets[which].bytes, packets[which].size);
		else
			at += put(bytes + at, psb, sizeof(psb));
	}
}

/* All lines of the dump of a part are lines of the dump of the whole, in between those before and behind. */
static void a_part_is_dumped_as_it_stands_in_the_whole(void **state)
{
	uint8_t *bytes = malloc(big_size);
	struct log whole, part;
	const struct dump_span span = {.begin = bytes, .size = big_size, .fresh = true};
	struct dump_walk walk;
	uint32_t seed = 7;

	(void)state;
	assert_non_null(bytes);
	big_trace(bytes, 1);
	log_begin(&whole);
	walk = walk_of(&whole);
	assert_int_equal(dump_walk_span(&walk, &span), 0);
	assert_int_equal(walk.account.read, big_size);
	dump_walk_fini(&walk);
	for (int i = 0; i < 300; i++) {
		unsigned int first = UINT32_MAX;
		const char *found;

		log_begin(&part);
		walk = walk_of(&part);
		walk.from = draw(&seed) % big_size;
		walk.to = walk.from + 1 + draw(&seed) % 500;
		assert_int_equal(dump_walk_span(&walk, &span), 0);
		assert_int_equal(accounted(&walk), big_size);
		assert_int_equal(walk.account.skipped, 0);
		/* an empty part is a piece of a packet */
		if (part.used) {
			found = strstr(whole.text, part.text);
			assert_non_null(found);
			assert_true(found == whole.text || found[-1] == '\n');
			assert_int_equal(sscanf(part.text, "%u", &first), 1);
			assert_in_range(first, walk.from, walk.to - 1);
			/* the packet before is before, the one behind is behind */
			for (found -= found != whole.text; found > whole.text && found[-1] != '\n'; found--)
				;
			if (found != whole.text || first)
				assert_true((uint64_t)atoi(found) < walk.from);
			found = strstr(whole.text, part.text) + part.used;
			if (*found)
				assert_true((uint64_t)atoi(found) >= walk.to);
		} else {
			assert_true(walk.to - walk.from < 16);
		}
		dump_walk_fini(&walk);
		free(part.text);
	}
	free(whole.text);
	free(bytes);
}

/* Wherever it begins: also in the middle of a PSB, and of one with a payload before it that looks like it. */
static void a_part_may_begin_inside_of_a_psb(void **state)
{
	static const uint8_t bytes[] = {PSB, TSC(5), PSBEND,       TIP(2, 0x82), PSB,
	                                PSB, TSC(5), TIP(2, 0x82), TSC(6),       TIP(2, 0x82),
	                                PSB, TSC(6), PSBEND};
	const struct dump_span span = {.begin = bytes, .size = sizeof(bytes), .fresh = true};
	struct log whole, part;
	struct dump_walk walk;

	(void)state;
	log_begin(&whole);
	walk = walk_of(&whole);
	assert_int_equal(dump_walk_span(&walk, &span), 0);
	dump_walk_fini(&walk);
	for (uint64_t from = 0; from < sizeof(bytes); from++) {
		const char *wanted = whole.text;

		while (*wanted && (uint64_t)atoi(wanted) < from)
			wanted = strchr(wanted, '\n') + 1;
		log_begin(&part);
		walk = walk_of(&part);
		walk.from = from;
		assert_int_equal(dump_walk_span(&walk, &span), 0);
		assert_string_equal(part.text, wanted);
		assert_int_equal(accounted(&walk), sizeof(bytes));
		dump_walk_fini(&walk);
		free(part.text);
	}
	free(whole.text);
}

static void the_form_ends_the_walk(void **state)
{
	const uint8_t bytes[] = {PSB, 0, 0, 0};
	const struct dump_span span = {.begin = bytes, .size = sizeof(bytes), .fresh = true};
	struct log log = {.next = UINT64_MAX, .stop_after = 2};
	struct dump_walk walk = walk_of(&log);

	(void)state;
	assert_int_equal(dump_walk_span(&walk, &span), -pte_event_ignored);
	assert_int_equal(walk.account.packets, 2);
	dump_walk_fini(&walk);
}

/* Whatever the bytes are: each lands in exactly one line, in order, and the walk ends. */
static void no_byte_is_lost_to_damage(void **state)
{
	uint8_t *bytes = malloc(big_size), *exact;
	uint32_t seed = 42;

	(void)state;
	assert_non_null(bytes);
	for (int round = 0; round < 400; round++) {
		struct log log = {.next = 0};
		struct dump_walk walk = walk_of(&log);
		struct dump_span span = {.size = 1 + draw(&seed) % big_size, .fresh = true};

		big_trace(bytes, draw(&seed) | 1);
		for (uint32_t n = draw(&seed) % 64; n > 0; n--)
			bytes[draw(&seed) % big_size] = (uint8_t)draw(&seed);
		/* ends where its memory ends */
		exact = malloc(span.size);
		assert_non_null(exact);
		memcpy(exact, bytes, span.size);
		span.begin = exact;
		walk.no_sync = round % 3 == 0;
		if (round % 2)
			walk.config.errata.skz84 = walk.config.errata.skd007 = 1;
		assert_int_equal(dump_walk_span(&walk, &span), 0);
		assert_int_equal(log.next, span.size);
		assert_int_equal(accounted(&walk), span.size);
		dump_walk_fini(&walk);
		free(exact);
	}
	free(bytes);
}

/* ---- Recordings ------------------------------------------------------------------------------- */

static void walk_stream(struct dump_walk *walk, const struct sb_aux_stream *stream,
                        const struct sb_aux_flag *flag, size_t nflags)
{
	struct sb_segment segment;
	struct sb_trace *trace;

	assert_int_equal(sb_trace_open(&trace, stream, flag, nflags), 0);
	while (sb_trace_next(trace, &segment) > 0) {
		const struct dump_span span = {segment.begin, segment.stop, segment.aux_offset,
		                               segment.fresh != 0};

		assert_int_equal(dump_walk_span(walk, &span), 0);
	}
	walk->account.duplicate = sb_trace_duplicate(trace);
	sb_trace_close(trace);
}

/* Chunks of a buffer are cut anywhere; what is dumped does not depend on it. */
static void packets_that_are_cut_between_chunks_are_whole(void **state)
{
	static struct sb_aux_chunk chunk[big_size];
	uint8_t *bytes = malloc(big_size);
	const struct dump_span span = {.begin = bytes, .size = big_size, .fresh = true};
	struct log whole, log;
	struct dump_walk walk;
	uint32_t seed = 3;

	(void)state;
	assert_non_null(bytes);
	big_trace(bytes, 5);
	log_begin(&whole);
	walk = walk_of(&whole);
	assert_int_equal(dump_walk_span(&walk, &span), 0);
	dump_walk_fini(&walk);
	for (uint32_t largest = 1; largest < 2 * big_size; largest *= 4) {
		struct sb_aux_stream stream = {.cpu = 0, .tid = -1, .chunk = chunk, .size = big_size};

		for (uint64_t at = 0; at < big_size; at += chunk[stream.nchunks++].size) {
			uint64_t size = 1 + draw(&seed) % largest;

			size = size < big_size - at ? size : big_size - at;
			chunk[stream.nchunks] =
			        (struct sb_aux_chunk){.bytes = bytes + at, .size = size, .aux_offset = at};
		}
		log_begin(&log);
		walk = walk_of(&log);
		walk_stream(&walk, &stream, NULL, 0);
		assert_string_equal(log.text, whole.text);
		assert_int_equal(walk.account.read, big_size);
		dump_walk_fini(&walk);
		free(log.text);
	}
	free(whole.text);
	free(bytes);
}

/* The second chunk does not continue the first; nor does the kernel say that trace is whole behind 24. */
static void where_trace_is_missing_reading_begins_anew(void **state)
{
	static const uint8_t first[] = {PSB, TSC(5), TIP(1, 0)}, second[] = {7, 7, PSB, TIP(2, 0)};
	const struct sb_aux_chunk apart[] = {{.bytes = first, .size = sizeof(first)},
	                                     {.bytes = second, .size = sizeof(second), .aux_offset = 100}};
	const struct sb_aux_stream stream = {
	        .tid = -1, .chunk = apart, .nchunks = 2, .size = sizeof(first) + sizeof(second)};
	const struct sb_aux_chunk alone = {.bytes = first, .size = sizeof(first)};
	const struct sb_aux_stream flagged = {
	        .tid = -1, .chunk = &alone, .nchunks = 1, .size = sizeof(first)};
	const struct sb_aux_flag flag = {.aux_offset = 0, .aux_size = 24, .flags = 1};
	struct log log;
	struct dump_walk walk;

	(void)state;
	log_begin(&log);
	walk = walk_of(&log);
	walk_stream(&walk, &stream, NULL, 0);
	assert_string_equal(log.text,
	                    "0 psb\n16 +tsc @5\n24 tip 1 @5\n"
	                    "100 skip 2: trace is missing here, and up to the next PSB nothing can be read\n"
	                    "102 psb\n118 tip 2\n");
	assert_int_equal(walk.account.damages, 0);
	dump_walk_fini(&walk);
	free(log.text);

	log_begin(&log);
	walk = walk_of(&log);
	walk_stream(&walk, &flagged, &flag, 1);
	assert_string_equal(log.text,
	                    "0 psb\n16 +tsc @5\n"
	                    "24 skip 3: trace is missing here, and up to the next PSB nothing can be read\n");
	dump_walk_fini(&walk);
	free(log.text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(last_ip_and_time_belong_to_the_place_behind_a_packet),
	        cmocka_unit_test(an_overflow_or_a_branch_ends_the_header_of_a_psb),
	        cmocka_unit_test(damage_is_left_out_up_to_the_next_psb),
	        cmocka_unit_test(a_packet_does_not_reach_over_a_psb),
	        cmocka_unit_test(a_trace_begins_at_its_first_psb),
	        cmocka_unit_test(or_where_it_is_told_to),
	        cmocka_unit_test(pads_are_read_but_not_told),
	        cmocka_unit_test(a_part_is_dumped_as_it_stands_in_the_whole),
	        cmocka_unit_test(a_part_may_begin_inside_of_a_psb),
	        cmocka_unit_test(the_form_ends_the_walk),
	        cmocka_unit_test(no_byte_is_lost_to_damage),
	        cmocka_unit_test(packets_that_are_cut_between_chunks_are_whole),
	        cmocka_unit_test(where_trace_is_missing_reading_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
