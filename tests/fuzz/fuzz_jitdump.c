/* fuzz_jitdump.c - jitdump_read(): any bytes give code in time, or an error with a place in the file.
 *
 * What came of a dump with few pieces is worked out again, naively: which piece ended when, where moved code
 * came from, and what the system model says stands at each address whenever something changed. */
#include <string.h>

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "binary/jitdump.h"
#include "support/check.h"
#include "support/target.h"
#include "system/system.h"

enum { compared_most = 48, the_pid = 1 };

static int overlaps(const struct jitdump_code *a, const struct jitdump_code *b)
{
	return a->pid == b->pid && a->begin < b->end && b->begin < a->end;
}

/* ---- The history ---- */

/* Whether @moved may have come from @old, which stood when it came. */
static int is_origin(const struct jitdump_code *old, const struct jitdump_code *moved)
{
	return old->pid == moved->pid && old->begin == moved->moved_from &&
	       old->code_index == moved->code_index && old->end - old->begin == moved->end - moved->begin;
}

static void check_history(const struct jitdump *dump)
{
	enum { gone, left, here } standing[compared_most] = {gone}; /* left: moved away, and nothing came */

	for (size_t i = 0; i < dump->ncodes; i++) {
		const struct jitdump_code *code = &dump->code[i];
		int has_origin = !code->is_moved, replaces = 0;

		FUZZ_CHECK(!i || dump->code[i - 1].from <= code->from, "not sorted");
		for (size_t k = 0; k < i && code->is_moved; k++) {
			if (standing[k] != here || !is_origin(&dump->code[k], code))
				continue;
			FUZZ_CHECK(dump->code[k].to == code->from, "%zu was moved, but did not end", k);
			FUZZ_CHECK(dump->code[k].offset == code->offset, "%zu has other bytes", i);
			standing[k] = left;
			has_origin = 1;
		}
		FUZZ_CHECK(has_origin || code->offset == JITDUMP_NO_BYTES, "%zu comes from nowhere", i);
		for (size_t k = 0; k < i; k++) {
			if (!standing[k] || !overlaps(&dump->code[k], code))
				continue;
			FUZZ_CHECK(standing[k] == left || dump->code[k].to == code->from,
			           "%zu was overwritten, but did not end", k);
			FUZZ_CHECK(dump->code[k].replaced == code->from, "%zu was not replaced", k);
			standing[k] = gone;
			replaces = 1;
		}
		FUZZ_CHECK(code->replaces == replaces, "%zu replaces something, or not", i);
		standing[i] = here;
	}
	for (size_t i = 0; i < dump->ncodes; i++) {
		FUZZ_CHECK(standing[i] != here || dump->code[i].to == UINT64_MAX, "%zu ended", i);
		FUZZ_CHECK(standing[i] == gone || dump->code[i].replaced == UINT64_MAX, "%zu replaced", i);
	}
}

/* ---- The model ---- */

/* The piece that was put at @addr last, if none came over a part of it since; -1: none. */
static int put_last(const struct jitdump *dump, uint64_t time, uint64_t addr)
{
	int found = -1;

	for (size_t i = 0; i < dump->ncodes && dump->code[i].from <= time; i++) {
		const struct jitdump_code *code = &dump->code[i];

		if (code->begin <= addr && addr < code->end)
			found = (int)i;
		else if (found >= 0 && overlaps(&dump->code[found], code))
			found = -1;
	}
	return found;
}

static void check_at(const struct jitdump *dump, const struct sb_space *space, uint64_t time, uint64_t addr)
{
	const struct sb_map *map = sb_epoch_code(sb_space_epoch(space, time), addr);
	int expected = put_last(dump, time, addr);

	/* What is not there yet may be seen, if nothing was there before. */
	if (expected < 0 && map && map->origin != sb_map_recorded && map->time > time)
		return;
	if (expected < 0) {
		FUZZ_CHECK(!map || map->origin == sb_map_recorded, "code at %#lx", (unsigned long)addr);
		return;
	}
	FUZZ_CHECK(map && map->origin != sb_map_recorded, "no code at %#lx", (unsigned long)addr);
	FUZZ_CHECK(map->begin == dump->code[expected].begin && map->end == dump->code[expected].end,
	           "another piece at %#lx", (unsigned long)addr);
	FUZZ_CHECK(dump->code[expected].offset == JITDUMP_NO_BYTES ||
	                   map->pgoff == dump->code[expected].offset,
	           "other bytes at %#lx", (unsigned long)addr);
}

static void map_anonymous(struct sb_system *system)
{
	struct sb_record record = {.type = PERF_RECORD_MMAP2};

	record.u.mmap.pid = record.u.mmap.tid = the_pid;
	record.u.mmap.addr = 0x1000;
	record.u.mmap.len = 0x100000;
	record.u.mmap.prot = PROT_EXEC;
	record.u.mmap.is_mmap2 = 1;
	record.u.mmap.filename = "//anon";
	FUZZ_CHECK(system_record(system, &record) == 0, "no record");
}

static void check_model(const struct jitdump *dump)
{
	struct sb_system *system = system_new(0);
	const int source = system_code_source(system, the_pid, "a.dump");
	const struct sb_space *space;

	map_anonymous(system);
	for (size_t i = 0; i < dump->ncodes; i++) {
		const struct jitdump_code *code = &dump->code[i];
		const struct system_code added = {
		        .time = code->from,
		        .begin = code->begin,
		        .end = code->end,
		        .offset = code->offset,
		        .origin = code->offset == JITDUMP_NO_BYTES ? sb_map_jit_moved : sb_map_jit,
		        .source = source};

		FUZZ_CHECK(system_code(system, &added) == 0, "no code");
	}
	FUZZ_CHECK(system_seal(system, 0) == 0, "no system");
	space = sb_system_space(system, the_pid, 0);
	for (size_t t = 0; t < dump->ncodes && dump->code[t].from < UINT64_MAX; t++) {
		for (size_t i = 0; i < dump->ncodes; i++) {
			check_at(dump, space, dump->code[t].from, dump->code[i].begin);
			check_at(dump, space, dump->code[t].from, dump->code[i].end - 1);
			check_at(dump, space, dump->code[t].from, dump->code[i].end);
		}
	}
	sb_system_free(system);
}

/* ---- The dump ---- */

static void check_pieces(const struct jitdump *dump, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < dump->ncodes; i++) {
		const struct jitdump_code *code = &dump->code[i];
		const uint64_t code_size = code->end - code->begin;

		FUZZ_CHECK(code->begin < code->end, "an empty piece");
		FUZZ_CHECK(code->to >= code->from, "a piece ended before it began");
		FUZZ_CHECK(code->offset == JITDUMP_NO_BYTES ||
		                   (code->offset <= size && code_size <= size - code->offset),
		           "bytes beyond the end");
		if (code->name[0])
			FUZZ_CHECK((const uint8_t *)code->name > data &&
			                   memchr(code->name, '\0',
			                          (size_t)(data + size - (const uint8_t *)code->name)),
			           "a name beyond the end");
	}
	FUZZ_CHECK(dump->truncated_at <= size, "truncated beyond the end");
}

/* All of one process, as the model is asked about one. */
static int is_one_process(const struct jitdump *dump)
{
	for (size_t i = 1; i < dump->ncodes; i++)
		if (dump->code[i].pid != dump->code[0].pid)
			return 0;
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sb_error err = {0};
	struct jitdump dump;
	const int status = jitdump_read(&dump, data, size, "fuzz", &err);

	if (status < 0) {
		FUZZ_CHECK(status == err.code && err.offset <= size && err.text[0], "no place in the file");
		return 0;
	}
	check_pieces(&dump, data, size);
	if (dump.ncodes <= compared_most) {
		check_history(&dump);
		if (is_one_process(&dump))
			check_model(&dump);
	}
	jitdump_free(&dump);
	return 0;
}
