/* run_use.c - see run_use.h. */
#include "support/run_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A path, and what it said when it came first. */
struct known_path {
	const struct pt_run_path *path;
	uint64_t said;
};

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * 0x9e3779b97f4a7c15u + (sum >> 29);
}

static uint64_t said_by(const struct pt_run_path *path)
{
	uint64_t sum = mix(path->id, path->nblocks), ninsn = 0;

	for (uint32_t b = 0; b < path->nblocks; ++b) {
		const struct pt_run_block *block = &path->block[b];

		sum = mix(mix(sum, block->ip), block->end_ip);
		sum = mix(sum, (uint64_t)block->flags << 32 | (uint32_t)block->mode << 8 | block->iclass);
		for (uint32_t n = 0; n < block->ninsn; ++n)
			sum = mix(sum, block->length[n]);
		ninsn += block->ninsn;
	}
	assert_int_equal(ninsn, path->ninsn);
	return sum;
}

static void check_all(const struct known_path *known)
{
	for (uint32_t id = 0; id < ptr_max_paths; ++id)
		if (known[id].path)
			assert_int_equal(said_by(known[id].path), known[id].said);
}

static void take_path(struct run_use *use, struct known_path *known, const struct pt_run_path *path)
{
	assert_true(path->nblocks > 0);
	if (path->id == ptr_no_id)
		return;
	assert_true(path->id < ptr_max_paths);
	use->numbered += 1;
	if (!known[path->id].path) {
		known[path->id] = (struct known_path){path, said_by(path)};
		use->numbers += 1;
	}
	assert_ptr_equal(known[path->id].path, path);
}

static void take_run(struct run_use *use, struct known_path *known, const struct pt_run *run)
{
	uint64_t ninsn = 0;

	use->runs += 1;
	for (uint32_t p = 0; p < run->npaths; ++p) {
		take_path(use, known, run->path[p]);
		ninsn += run->path[p]->ninsn;
	}
	assert_int_equal(ninsn, run->ninsn);
	if (run->flags & ptrf_last_of_paths) {
		check_all(known);
		memset(known, 0, ptr_max_paths * sizeof(*known));
		use->emptied += 1;
	}
}

struct run_use run_use(const struct pt_config *config, struct pt_image *image, int events_inside)
{
	struct known_path *known = calloc(ptr_max_paths, sizeof(*known));
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
	struct run_use use = {0};
	struct pt_event event;
	struct pt_run run;

	assert_non_null(known);
	assert_non_null(decoder);
	pt_blk_set_image(decoder, image);
	pt_blk_set_run_events(decoder, events_inside);
	use.status = pt_blk_sync_forward(decoder);
	while (use.status >= 0) {
		if (!events_inside && (use.status & pts_event_pending)) {
			use.status = pt_blk_event(decoder, &event, sizeof(event));
			continue;
		}
		use.status = pt_blk_run(decoder, &run, sizeof(run));
		take_run(&use, known, &run);
	}
	check_all(known);
	pt_blk_free_decoder(decoder);
	free(known);
	return use;
}
