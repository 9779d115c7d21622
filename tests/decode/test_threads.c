/* Decoders in many threads over the same code: the same image, the same sections in images of their own,
 * block graphs that all of them build at once, while others add to the section cache, read from it and
 * limit it. Built a second time under ThreadSanitizer, which is the other half of this test. */
#include "image_fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "code/block_graph.h"
#include "code/section_cache.h"
#include "intel-pt-run.h"
#include "support/trace.h"

enum { ncells = 256, cell_size = 16, nthreads = 4, npackets = 400 };

/* A program of cells; in each a branch to a cell somewhere else, or on to the next one. Which way it goes
 * is random; so is the sum over the addresses of its instructions, which every decoder must come to. */
struct world {
	struct image_fixture image;
	uint8_t code[ncells * cell_size];
	char *file;
	char outcome[npackets * 6];
	uint64_t expected; /* the sum, relative to the load address */
};

static void put32(uint8_t *bytes, int32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

static int target_of(int cell)
{
	return (cell * 37 + 11) % ncells;
}

/* 0: nop; 1: jz target; 7: jmp next */
static void make_cell(struct world *w, int cell)
{
	uint8_t *bytes = &w->code[cell * cell_size];

	bytes[0] = 0x90;
	bytes[1] = 0x0f;
	bytes[2] = 0x84;
	put32(bytes + 3, (target_of(cell) - cell) * cell_size - 7);
	bytes[7] = 0xe9;
	put32(bytes + 8, ((cell + 1) % ncells - cell) * cell_size - 12);
}

static uint64_t simulate(const struct world *w)
{
	uint64_t sum = 0;
	int cell = 0;

	for (size_t i = 0; i < sizeof(w->outcome); i++) {
		const uint64_t begin = (uint64_t)cell * cell_size;

		sum += begin + begin + 1;
		if (w->outcome[i] == 't') {
			cell = target_of(cell);
		} else {
			sum += begin + 7;
			cell = (cell + 1) % ncells;
		}
	}
	/* Tracing is disabled in the branch of the last cell. */
	return sum + 2 * (uint64_t)cell * cell_size + 1;
}

static void make_trace(struct world *w, struct trace *trace, uint64_t base)
{
	trace->size = 0;
	trace_psb(trace);
	trace_mode64(trace);
	trace_ip(trace, ppt_fup, base);
	trace_psbend(trace);
	for (int i = 0; i < npackets; i++) {
		char six[7] = {0};

		memcpy(six, &w->outcome[i * 6], 6);
		trace_tnt(trace, six);
	}
	trace_ip_suppressed(trace, ppt_tip_pgd);
}

static int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	uint32_t random = 1;

	code_file_make(&w->image.code);
	w->image.image = pt_image_alloc(NULL);
	w->image.cache = pt_iscache_alloc(NULL);
	for (int i = 0; i < ncells; i++)
		make_cell(w, i);
	w->file = temp_dir_write(&w->image.code.dir, "program", w->code, sizeof(w->code));
	for (size_t i = 0; i < sizeof(w->outcome); i++) {
		random = random * 1664525u + 1013904223u;
		w->outcome[i] = random >> 31 ? 't' : 'n';
	}
	w->expected = simulate(w);
	*state = w;
	return 0;
}

static int world_teardown(void **state)
{
	struct world *w = *state;

	pt_image_free(w->image.image);
	pt_iscache_free(w->image.cache);
	code_file_remove(&w->image.code);
	free(w->file);
	free(w);
	return 0;
}

/* Decodes @trace with @image, by instructions. Returns the sum over their addresses. */
static uint64_t decode_insns(const struct trace *trace, struct pt_image *image, uint64_t base)
{
	struct pt_config config = trace_config(trace);
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
	int status = pt_insn_set_image(decoder, image);
	uint64_t sum = 0;

	for (status = pt_insn_sync_forward(decoder); status >= 0;) {
		struct pt_event event;
		struct pt_insn insn;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.size)
			sum += insn.ip - base;
	}
	pt_insn_free_decoder(decoder);
	return sum;
}

static uint64_t sum_path(const struct pt_run_path *path, uint64_t base)
{
	uint64_t sum = 0;

	for (uint32_t b = 0; b < path->nblocks; b++) {
		uint64_t ip = path->block[b].ip;

		for (int i = 0; i < path->block[b].ninsn; ip += path->block[b].length[i++])
			sum += ip - base;
	}
	return sum;
}

/* The same by runs of blocks. */
static uint64_t decode_runs(const struct trace *trace, struct pt_image *image, uint64_t base)
{
	struct pt_config config = trace_config(trace);
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);
	int status = pt_blk_set_image(decoder, image);
	uint64_t sum = 0;

	for (status = pt_blk_sync_forward(decoder); status >= 0 && !(status & pts_eos);) {
		struct pt_event event;
		struct pt_run run;

		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_run(decoder, &run, sizeof(run));
		for (uint32_t p = 0; p < run.npaths; p++)
			sum += sum_path(run.path[p], base);
	}
	pt_blk_free_decoder(decoder);
	return sum;
}

struct worker {
	struct world *world;
	unsigned int number;
	struct trace trace;
	int wrong;
	atomic_int *running; /* decoders */
};

typedef void *thread_fn(void *worker);

/* Runs @decode in nthreads threads, and @disturb, if there is one, in two more until they are done. */
static void run_threads(struct world *w, thread_fn *decode, thread_fn *disturb)
{
	enum { all = nthreads + 2 };
	const int count = disturb ? all : nthreads;
	struct worker *worker = calloc(all, sizeof(*worker));
	atomic_int running = nthreads;
	pthread_t thread[all];

	for (int i = 0; i < count; i++) {
		worker[i].world = w;
		worker[i].number = (unsigned int)i;
		worker[i].running = &running;
		assert_int_equal(
		        pthread_create(&thread[i], NULL, i < nthreads ? decode : disturb, &worker[i]), 0);
	}
	for (int i = 0; i < count; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(worker[i].wrong, 0);
	}
	free(worker);
}

/* ---- one image for all ---------------------------------------------------------------------------- */

enum { shared_base = 0x400000 };

static void *decode_shared(void *argument)
{
	struct worker *me = argument;
	struct world *w = me->world;

	make_trace(w, &me->trace, shared_base);
	for (int round = 0; round < 3; round++) {
		me->wrong += decode_insns(&me->trace, w->image.image, shared_base) != w->expected;
		me->wrong += decode_runs(&me->trace, w->image.image, shared_base) != w->expected;
	}
	return NULL;
}

static void decoders_share_an_image(void **state)
{
	struct world *w = *state;

	assert_int_equal(pt_image_add_file(w->image.image, w->file, 0, UINT64_MAX, NULL, shared_base), 0);
	run_threads(w, decode_shared, NULL);
}

/* An image that was split has several sections over one mapped file. */
static void decoders_share_an_image_of_pieces(void **state)
{
	struct world *w = *state;

	for (uint64_t begin = 0; begin < sizeof(w->code); begin += 5 * cell_size)
		assert_int_equal(pt_image_add_file(w->image.image, w->file, begin, 5 * cell_size, NULL,
		                                   shared_base + begin),
		                 0);
	run_threads(w, decode_shared, NULL);
}

/* ---- one block graph for all ---------------------------------------------------------------------- */

/* More threads than the graph has shelves for (block_graph.c). */
enum { nfinders = 12 };

struct finder {
	struct pt_section *section;
	pthread_barrier_t *start;
	const struct pt_node *node[ncells * cell_size];
};

static void *find_all(void *argument)
{
	struct finder *me = argument;

	pthread_barrier_wait(me->start);
	for (uint64_t offset = 0; offset < ncells * cell_size; offset++)
		if (pt_graph_node(&me->node[offset], me->section, offset, ptem_64bit) < 0)
			me->node[offset] = NULL;
	return NULL;
}

/* Whoever makes a block first: it is one for all, and has what stands there. */
static void a_block_that_many_find_at_once_is_one(void **state)
{
	struct world *w = *state;
	struct finder *finder = calloc(nfinders, sizeof(*finder));
	pthread_t thread[nfinders];
	pthread_barrier_t start;
	int nfound = 0;

	pthread_barrier_init(&start, NULL, nfinders);
	for (int i = 0; i < nfinders; i++) {
		finder[i].start = &start;
		if (i == 0)
			assert_int_equal(pt_section_make(&finder[0].section, w->file, 0, sizeof(w->code)), 0);
		finder[i].section = finder[0].section;
		assert_int_equal(pthread_create(&thread[i], NULL, find_all, &finder[i]), 0);
	}
	for (int i = 0; i < nfinders; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	for (uint64_t offset = 0; offset < ncells * cell_size; offset++) {
		const struct pt_node *node = finder[0].node[offset];

		for (int i = 1; i < nfinders; i++)
			assert_ptr_equal(finder[i].node[offset], node);
		assert_true(!node || node->offset == offset);
		if (offset % cell_size == 0)
			assert_true(node && node->kind == pt_kind_cond && node->ninsn == 2);
		nfound += node != NULL;
	}
	assert_true(nfound > ncells);
	pt_section_put(finder[0].section);
	pthread_barrier_destroy(&start);
	free(finder);
}

/* ---- one cache for all ---------------------------------------------------------------------------- */

/* An image of its own, changed between decoding, with the shared sections at other addresses each time. */
static void *decode_own(void *argument)
{
	struct worker *me = argument;
	struct world *w = me->world;
	struct pt_image *image = pt_image_alloc(NULL);

	for (unsigned int round = 0; round < 12; round++) {
		const uint64_t base = 0x10000000ull * (1 + me->number % 2) + 0x100000 * (round % 3);
		const int isid = pt_iscache_add_file(w->image.cache, w->file, 0, sizeof(w->code), base);

		me->wrong += isid <= 0 || pt_image_add_cached(image, w->image.cache, isid, NULL) < 0;
		make_trace(w, &me->trace, base);
		me->wrong += decode_insns(&me->trace, image, base) != w->expected;
		me->wrong += decode_runs(&me->trace, image, base) != w->expected;
		me->wrong += pt_image_remove_by_asid(image, NULL) != 1;
	}
	pt_image_free(image);
	atomic_fetch_sub(me->running, 1);
	return NULL;
}

/* Adds, reads and limits, as long as there are decoders. */
static void *disturb_cache(void *argument)
{
	static const uint64_t limit[] = {0, 5000, 100000, UINT64_MAX};
	struct worker *me = argument;
	struct world *w = me->world;

	for (unsigned int n = 0; atomic_load(me->running); n++) {
		const unsigned int i = (n * 7 + me->number) % 100;
		uint8_t bytes[cell_size];
		int isid;

		isid = pt_iscache_add_file(w->image.cache, w->file, i * cell_size, cell_size, i * 4096u);
		me->wrong +=
		        pt_iscache_read(w->image.cache, bytes, cell_size, isid, i * 4096u) != cell_size ||
		        memcmp(bytes, w->code + i * cell_size, cell_size) != 0;
		me->wrong += pt_iscache_set_limit(w->image.cache, limit[n % 4]) != 0;
		if (n % 16 == 0)
			usleep(100);
	}
	return NULL;
}

static void decoders_share_a_cache_that_others_use_and_limit(void **state)
{
	run_threads(*state, decode_own, disturb_cache);
}

static void decoders_share_a_cache_that_keeps_nothing(void **state)
{
	struct world *w = *state;

	assert_int_equal(pt_iscache_set_limit(w->image.cache, 0), 0);
	run_threads(w, decode_own, NULL);
}

/* ---- a section in all its states ------------------------------------------------------------------ */

/* Takes a section, uses it, gives it back: each time it may be mapped for the first time, or go. */
static void *use_and_leave(void *argument)
{
	struct worker *me = argument;
	struct world *w = me->world;

	for (unsigned int n = 0; n < 300; n++) {
		const uint64_t cell = (n * (me->number + 1)) % ncells;
		const struct pt_node *node, *taken;
		struct pt_section *section;
		uint64_t vaddr;

		me->wrong += pt_iscache_lookup(w->image.cache, 1, &section, &vaddr) < 0;
		me->wrong += pt_graph_node(&node, section, cell * cell_size, ptem_64bit) < 0 ||
		             node->kind != pt_kind_cond || pt_graph_taken(&taken, section, node) < 0 ||
		             taken->offset != (uint64_t)target_of((int)cell) * cell_size;
		pt_section_put(section);
	}
	atomic_fetch_sub(me->running, 1);
	return NULL;
}

static void *change_limit(void *argument)
{
	struct worker *me = argument;

	for (unsigned int n = me->number; atomic_load(me->running); n++)
		me->wrong += pt_iscache_set_limit(me->world->image.cache, n % 2 ? UINT64_MAX : 0) != 0;
	return NULL;
}

static void a_section_is_kept_and_evicted(void **state)
{
	struct world *w = *state;

	assert_int_equal(pt_iscache_add_file(w->image.cache, w->file, 0, sizeof(w->code), 0), 1);
	run_threads(w, use_and_leave, change_limit);
}

static void a_section_comes_and_goes(void **state)
{
	struct world *w = *state;

	assert_int_equal(pt_iscache_add_file(w->image.cache, w->file, 0, sizeof(w->code), 0), 1);
	assert_int_equal(pt_iscache_set_limit(w->image.cache, 0), 0);
	run_threads(w, use_and_leave, NULL);
}

/* The cache goes while the last images let go of its sections. */
static void *let_go(void *argument)
{
	pt_image_free(argument);
	return NULL;
}

static void a_cache_goes_before_its_images(void **state)
{
	struct world *w = *state;

	for (int round = 0; round < 50; round++) {
		struct pt_image_section_cache *cache = pt_iscache_alloc(NULL);
		pthread_t thread[nthreads];

		assert_int_equal(pt_iscache_add_file(cache, w->file, 0, sizeof(w->code), shared_base), 1);
		for (int i = 0; i < nthreads; i++) {
			struct pt_image *image = pt_image_alloc(NULL);

			assert_int_equal(pt_image_add_cached(image, cache, 1, NULL), 0);
			assert_int_equal(pthread_create(&thread[i], NULL, let_go, image), 0);
		}
		pt_iscache_free(cache);
		for (int i = 0; i < nthreads; i++)
			assert_int_equal(pthread_join(thread[i], NULL), 0);
	}
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        WORLD_TEST(decoders_share_an_image),
	        WORLD_TEST(decoders_share_an_image_of_pieces),
	        WORLD_TEST(a_block_that_many_find_at_once_is_one),
	        WORLD_TEST(decoders_share_a_cache_that_others_use_and_limit),
	        WORLD_TEST(decoders_share_a_cache_that_keeps_nothing),
	        WORLD_TEST(a_section_comes_and_goes),
	        WORLD_TEST(a_section_is_kept_and_evicted),
	        WORLD_TEST(a_cache_goes_before_its_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
