/* test_store.c - a recording that is asked for by range gives what it gives as a file: every byte of what is
 * replayed, whatever size pieces have; and a span asks for little more than what is in it.
 *
 * The recordings are not part of this project; without them the test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <sb/replay.h>
#include <sb/shard.h>
#include <sb/store.h>
#include <sb/trace.h>

#include "replay/session.h"

/* A file in memory, of which ranges are given. */
struct object {
	uint8_t *bytes;
	uint64_t size;
	atomic_ullong asked;      /* bytes */
	atomic_llong fails_after; /* so many further reads; negative: never */
	uint64_t last;            /* the end of what was asked for while it was opened */
	int is_open;
};

static int read_object(void *context, uint64_t offset, void *bytes, size_t size, struct sb_error *err)
{
	struct object *object = context;

	assert_true(size > 0 && offset < object->size && size <= object->size - offset);
	if (!object->is_open) {
		assert_true(offset >= object->last);
		object->last = offset + size;
	}
	if (object->fails_after >= 0 && object->fails_after-- <= 0)
		return sb_error_set(err, -sbe_io, "object", offset, "no more");
	memcpy(bytes, object->bytes + offset, size);
	object->asked += size;
	return 0;
}

static void load(struct object *object, const char *path)
{
	FILE *file = fopen(path, "rb");

	*object = (struct object){.fails_after = -1};
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	object->size = (uint64_t)ftell(file);
	rewind(file);
	object->bytes = malloc(object->size);
	assert_non_null(object->bytes);
	assert_int_equal(fread(object->bytes, 1, object->size, file), object->size);
	fclose(file);
}

static int open_object(struct object *object, uint64_t piece, struct sb_perfdata **perfdata,
                       struct sb_error *err)
{
	const struct sb_store store = {.size = sizeof(store),
	                               .name = "object",
	                               .bytes = object->size,
	                               .piece = piece,
	                               .context = object,
	                               .read = read_object};
	int status;

	object->is_open = 0;
	object->last = 0;
	object->asked = 0;
	status = sb_perfdata_open_store(perfdata, &store, err);
	object->is_open = 1;
	return status;
}

/* ---- What a replay gives
 * ------------------------------------------------------------------------------------ */

struct given {
	uint64_t sum;
	uint64_t ninsn, ngaps, nevents;
	uint64_t decoded, switches;
};

static void add(struct given *given, const void *bytes, size_t size)
{
	given->sum = crc32_z(given->sum, bytes, size);
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct given *given = context;

	add(given, &flow->tsc, sizeof(flow->tsc));
	add(given, (int32_t[]){flow->cpu, flow->pid, flow->tid}, 3 * sizeof(int32_t));
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b)
			add(given, &flow->path[i]->block[b].ip, sizeof(uint64_t));
	given->ninsn += flow->ninsn;
	return 0;
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct given *given = context;

	add(given, (uint64_t[]){gap->reason, gap->offset, gap->bytes, gap->ip, gap->tsc_from, gap->tsc_to},
	    6 * sizeof(uint64_t));
	given->ngaps += 1;
	return 0;
}

static int on_event(void *context, const struct sb_flow_event *event)
{
	struct given *given = context;

	add(given, (uint64_t[]){event->kind, event->tsc, event->from, event->to}, 4 * sizeof(uint64_t));
	given->nevents += 1;
	return 0;
}

struct way {
	unsigned int jobs;
	int by_time;
	uint64_t piece_size; /* of the crew's */
};

static int replay(const struct sb_perfdata *perfdata, const char *directory, const struct way *way,
                  struct given *given, struct sb_error *err)
{
	const struct sb_sink sink = {.context = given,
	                             .flow = on_flow,
	                             .gap = on_gap,
	                             .event = way->jobs > 1 && !way->by_time ? NULL : on_event};
	char root[256];
	const char *roots[] = {root};
	const struct sb_replay_options options = {.size = sizeof(options),
	                                          .root = roots,
	                                          .nroots = 1,
	                                          .no_host_root = 1,
	                                          .jobs = way->jobs,
	                                          .by_time = way->by_time};
	struct sb_session *session = NULL;
	int status;

	*given = (struct given){0};
	snprintf(root, sizeof(root), "%s/root", directory);
	status = sb_session_open(&session, perfdata, &options, err);
	if (status < 0)
		return status;
	session_set_piece_size(session, way->piece_size);
	status = sb_session_run(session, &sink, err);
	given->decoded = sb_session_account(session)->bytes_decoded;
	given->switches = sb_session_account(session)->nswitches;
	sb_session_close(session);
	return status;
}

static const struct way ways[] = {{1, 0, 1 << 15}, {2, 0, 1 << 12}, {1, 1, 1 << 15}};
static const uint64_t pieces[] = {0, 40000, 9000};

static void assert_same(const char *directory, struct object *object, const char *path)
{
	struct given expected, given;
	struct sb_perfdata *perfdata = NULL;
	struct sb_error err = {0};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); ++i) {
		assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
		assert_int_equal(replay(perfdata, directory, &ways[i], &expected, &err), 0);
		sb_perfdata_close(perfdata);
		assert_true(expected.ninsn > 0);
		for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); ++p) {
			if (open_object(object, pieces[p], &perfdata, &err) < 0 ||
			    replay(perfdata, directory, &ways[i], &given, &err) < 0)
				fail_msg("%s: %s", path, err.text);
			sb_perfdata_close(perfdata);
			if (memcmp(&given, &expected, sizeof(given)) != 0)
				fail_msg("%s: pieces of %d, way %zu: something else comes out", path,
				         (int)pieces[p], i);
		}
	}
}

static const char *const names[] = {"user-threads-overflow", "user-pipe", "user-true", "user-threads"};

/* The recording with number @i; zero: there is none. */
static int find(size_t i, struct object *object, char directory[256], char path[300])
{
	snprintf(directory, 256, "%s/%s", CORPUS_DIR, names[i]);
	snprintf(path, 300, "%s/perf.data", directory);
	if (access(path, R_OK))
		return 0;
	load(object, path);
	return 1;
}

static void replays_alike(void **state)
{
	char directory[256], path[300];
	struct object object;
	int found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		if (!find(i, &object, directory, path))
			continue;
		found = 1;
		assert_same(directory, &object, path);
		free(object.bytes);
	}
	if (!found)
		skip();
}

/* ---- Trace
 * -------------------------------------------------------------------------------------------------- */

/* All that a stream has, as decoders see it; how long it is. */
static uint64_t walk(const struct sb_aux_stream *stream, uint32_t *sum)
{
	struct sb_trace *trace = NULL;
	struct sb_segment segment;
	uint64_t size = 0;
	int status;

	*sum = 0;
	assert_int_equal(sb_trace_open(&trace, stream, NULL, 0), 0);
	while ((status = sb_trace_next(trace, &segment)) > 0) {
		*sum = (uint32_t)crc32_z(*sum, segment.begin, segment.stop);
		assert_int_equal(segment.position - size,
		                 sb_trace_duplicate(trace) ? segment.position - size : 0);
		size += segment.stop;
	}
	assert_int_equal(status, 0);
	size += sb_trace_duplicate(trace);
	sb_trace_close(trace);
	return size;
}

static void has_the_same_trace(void **state)
{
	struct sb_perfdata *here = NULL, *there = NULL;
	char directory[256], path[300];
	struct object object;

	(void)state;
	if (!find(1, &object, directory, path))
		skip();
	for (uint64_t piece = 300; piece < 1 << 18; piece = 3 * piece + 7) {
		const struct sb_aux_stream *stream, *other;
		size_t count, others;

		assert_int_equal(sb_perfdata_open(&here, path, NULL), 0);
		assert_int_equal(open_object(&object, piece, &there, NULL), 0);
		stream = sb_perfdata_streams(here, &count);
		other = sb_perfdata_streams(there, &others);
		assert_int_equal(count, others);
		for (size_t i = 0; i < count; ++i) {
			uint32_t sum, other_sum;
			const uint64_t size = walk(&stream[i], &sum);

			assert_int_equal(size, walk(&other[i], &other_sum));
			assert_int_equal(sum, other_sum);
			assert_int_equal(size, stream[i].size);
		}
		sb_perfdata_close(here);
		sb_perfdata_close(there);
	}
	free(object.bytes);
}

/* ---- What is asked for
 * -------------------------------------------------------------------------------------- */

static int drop(void *context, const void *bytes, size_t size)
{
	(void)context;
	(void)bytes;
	(void)size;
	return 0;
}

/* One span in the middle: what is asked for is what is no trace, the span, and a piece or two on each side.
 */
static void asks_for_a_span(void **state)
{
	enum { PIECE = 8192 };
	char root[300];
	const char *roots[] = {root};
	const struct sb_replay_options options = {
	        .size = sizeof(options), .root = roots, .nroots = 1, .no_host_root = 1};
	const struct sb_sink sink = {.gap = on_gap};
	const struct sb_aux_stream *stream;
	struct sb_perfdata *perfdata = NULL;
	struct sb_session *session = NULL;
	struct sb_cutter *cutter = NULL;
	struct given given = {0};
	char directory[256], path[300];
	struct object object;
	uint64_t cut[2], trace = 0, sideband, before;
	struct sb_span spans[3 + 8];
	struct sb_line line = {.span = spans, .step = 4096};
	struct sb_account account;
	size_t count;

	(void)state;
	if (!find(1, &object, directory, path))
		skip();
	snprintf(root, sizeof(root), "%s/root", directory);
	assert_int_equal(open_object(&object, PIECE, &perfdata, NULL), 0);
	sideband = object.asked;
	stream = sb_perfdata_streams(perfdata, &count);
	assert_true(count >= 1 && count <= 8);
	for (size_t i = 0; i < count; ++i)
		trace += stream[i].size;
	/* What is behind trace is asked for in steps; here, trace comes in few pieces. */
	assert_in_range(sideband, object.size - trace, object.size - trace + trace / 4);
	assert_int_equal(sb_session_open(&session, perfdata, &options, NULL), 0);
	assert_int_equal(sb_cutter_new(&cutter, perfdata, sb_session_system(session), &options, NULL), 0);
	assert_int_equal(object.asked, sideband);
	assert_int_equal(sb_cutter_cut(cutter, 0, stream[0].size / 2, &cut[0]), 1);
	assert_int_equal(sb_cutter_cut(cutter, 0, stream[0].size / 2 + 16384, &cut[1]), 1);
	assert_in_range(object.asked, sideband + 1, sideband + 4 * PIECE);
	sb_cutter_free(cutter);
	spans[line.nspans++] = (struct sb_span){0, 0, cut[0]};
	spans[line.nspans++] = (struct sb_span){0, cut[0], cut[1]};
	spans[line.nspans++] = (struct sb_span){0, cut[1], UINT64_MAX};
	for (size_t i = 1; i < count; ++i)
		spans[line.nspans++] = (struct sb_span){i, 0, UINT64_MAX};
	/* On another machine. */
	sb_session_close(session);
	sb_perfdata_close(perfdata);
	assert_int_equal(open_object(&object, PIECE, &perfdata, NULL), 0);
	assert_int_equal(sb_session_open(&session, perfdata, &options, NULL), 0);
	before = object.asked;
	assert_int_equal(before, sideband);
	assert_int_equal(sb_session_run_span(session, &line, 1,
	                                     &(struct sb_sink){.context = &given, .gap = sink.gap}, drop,
	                                     NULL, &account, NULL),
	                 0);
	assert_in_range(object.asked - before, 1, cut[1] - cut[0] + 4 * PIECE);
	assert_true(account.bytes_decoded > 0);
	sb_session_close(session);
	sb_perfdata_close(perfdata);
	free(object.bytes);
}

/* ---- What goes wrong
 * ---------------------------------------------------------------------------------------- */

/* Whichever read fails, its error comes out, and nothing else. */
static void tells_failures(void **state)
{
	static const struct way two = {2, 0, 1 << 12}, one = {1, 0, 1 << 15};
	char directory[256], path[300];
	struct object object;
	int finished = 0;

	(void)state;
	if (!find(1, &object, directory, path))
		skip();
	for (int n = 0; !finished; n += 1 + n / 4) {
		struct sb_perfdata *perfdata = NULL;
		struct sb_error err = {0}, why = {0};
		struct given given;
		int status;

		object.fails_after = n;
		status = open_object(&object, 20000, &perfdata, &err);
		if (status == 0) {
			status = replay(perfdata, directory, n % 2 ? &one : &two, &given, &err);
			assert_int_equal(sb_perfdata_failure(perfdata, &why), status);
			if (status < 0)
				assert_string_equal(why.text, "no more");
			sb_perfdata_close(perfdata);
		} else {
			assert_null(perfdata);
		}
		finished = status == 0;
		if (!finished) {
			assert_int_equal(status, -sbe_io);
			assert_string_equal(err.text, "no more");
		}
	}
	free(object.bytes);
}

/* Cut anywhere, it is what a file that was cut there is. */
static void is_cut_like_a_file(void **state)
{
	char directory[256], path[300], name[] = "/tmp/test_store.XXXXXX";
	struct object object;
	int fd;

	(void)state;
	if (!find(2, &object, directory, path))
		skip();
	fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, object.bytes, object.size), object.size);
	for (uint64_t size = object.size; size > 0;
	     size = size > 2000 ? size - size / 9 : size - size / 5 - 1) {
		struct sb_perfdata *here = NULL, *there = NULL;
		struct sb_error err = {0}, other = {0};
		size_t count, others;
		int status;

		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		object.size = size;
		status = sb_perfdata_open(&here, name, &err);
		assert_int_equal(open_object(&object, 0, &there, &other), status);
		assert_string_equal(err.text, other.text);
		if (status == 0) {
			const struct sb_error *damage = sb_perfdata_damage(here),
			                      *also = sb_perfdata_damage(there);

			assert_int_equal(!damage, !also);
			if (damage)
				assert_string_equal(damage->text, also->text);
			sb_perfdata_streams(here, &count);
			sb_perfdata_streams(there, &others);
			assert_int_equal(count, others);
		}
		sb_perfdata_close(here);
		sb_perfdata_close(there);
	}
	close(fd);
	unlink(name);
	free(object.bytes);
}

static void refuses_what_is_packed(void **state)
{
	uint8_t bytes[200] = {0x1f, 0x8b, 8};
	struct object object = {.bytes = bytes, .size = sizeof(bytes), .fails_after = -1};
	struct sb_perfdata *perfdata = NULL;
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(open_object(&object, 0, &perfdata, &err), -sbe_unsupported);
	assert_non_null(strstr(err.text, "gzip"));
	assert_null(perfdata);
	memcpy(bytes, "PERFILE3", 8);
	assert_int_equal(open_object(&object, 0, &perfdata, &err), -sbe_format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(replays_alike),      cmocka_unit_test(has_the_same_trace),
	        cmocka_unit_test(asks_for_a_span),    cmocka_unit_test(tells_failures),
	        cmocka_unit_test(is_cut_like_a_file), cmocka_unit_test(refuses_what_is_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
