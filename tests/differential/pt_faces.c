/* pt_faces.c - holds our decoder's faces against each other: instructions, blocks, and runs of blocks, with
 * the run cache on, off and tiny; and what only counts against their sums.
 *
 *   pt_faces --seed N --count N [--mutate yes] [--save DIRECTORY]
 *
 * Each generated trace is decoded several times over, so that ways come again and are found in the cache: in
 * one buffer, or in buffers in turns (pt_blk_set_buffer()) with two images in turns whose code differs.
 *
 * Exit status: 0 they say the same, 1 they do not, 2 bad usage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <intel-pt-run.h>

#include "faces.h"
#include "generate.h"
#include "mutate.h"

enum { copies = 14, max_syncs = 100000 };

static const struct way ways[] = {
        {.name = "instructions, cache off", .limit = "0"},
        {.name = "instructions"},
        {.name = "instructions, tiny cache", .limit = "3"},
        {.name = "blocks, cache off", .kind = blocks, .limit = "0"},
        {.name = "blocks", .kind = blocks},
        {.name = "blocks, tiny cache", .kind = blocks, .limit = "3"},
        {.name = "runs, cache off", .kind = runs, .limit = "0"},
        {.name = "runs", .kind = runs},
        {.name = "runs with events", .kind = runs, .events_inside = 1},
        {.name = "runs with events, tiny cache", .kind = runs, .events_inside = 1, .limit = "3"},
        {.name = "runs with events, last time", .kind = runs, .events_inside = 1, .last_time = 1},
        {.name = "runs with events, last time, cache off",
         .kind = runs,
         .events_inside = 1,
         .last_time = 1,
         .limit = "0"},
        {.name = "runs by leaps", .kind = runs, .by = "leaps"},
        {.name = "runs with events, by leaps", .kind = runs, .events_inside = 1, .by = "leaps"},
        {.name = "runs with events, last time, by leaps",
         .kind = runs,
         .events_inside = 1,
         .last_time = 1,
         .by = "leaps"},
        {.name = "runs with events, last time, by windows",
         .kind = runs,
         .events_inside = 1,
         .last_time = 1,
         .by = "windows"},
        {.name = "runs and blocks", .kind = runs, .mixed = 1},
        {.name = "counts", .kind = runs, .counts = 1},
        {.name = "counts, tiny cache", .kind = runs, .counts = 1, .limit = "3"},
        {.name = "counts, times inside", .kind = runs, .counts = 1, .events_inside = 1},
        {.name = "counts, times inside, cache off",
         .kind = runs,
         .counts = 1,
         .events_inside = 1,
         .limit = "0"},
};
enum { nways = sizeof(ways) / sizeof(ways[0]) };

/* ---- A client that does what the manual says ---- */

/* Synchronises, or begins to observe. Returns whether. */
static int move(struct client *client, const struct plan *plan)
{
	if (!(plan->flags & plan_moves) || client->way->kind == runs || !client->given ||
	    face_choose(client, 2, 40))
		return 0;
	if (!client->observes && face_choose(client, 3, 2)) {
		face_attach(client);
		return 0;
	}
	face_synchronise(client, face_choose(client, 4, 4) != 0);
	return 1;
}

static void decode(struct client *client, const struct plan *plan)
{
	unsigned syncs = 0;

	face_synchronise(client, 0);
	while (client->status != -pte_eos && !client->bad) {
		const int inside = (client->way->events_inside && !client->way->counts) ||
		                   (client->way->mixed && random_hit(&client->random, 300));

		if (client->status < 0) {
			if (syncs++ == max_syncs)
				face_complain(client, "synchronises without end");
			log_add_error(client->log, client->status);
			face_synchronise(client, (plan->flags & plan_resyncs) != 0);
		} else if (client->status & pts_event_pending && !inside) {
			face_fetch_event(client);
		} else if (client->status & pts_event_pending) {
			pt_blk_set_run_events(client->block, 1);
			face_next_run(client);
		} else if (syncs == max_syncs || !move(client, plan)) {
			face_swap(client);
			face_next(client);
		} else {
			syncs++;
		}
	}
	if (client->status == -pte_eos && client->log->entry[client->log->count - 1].kind != log_sync)
		log_add_error(client->log, client->status);
}

/* ---- A case ---- */

static struct pt_config make_config(const struct plan *plan, enum kind kind)
{
	const struct diff_case *c = &plan->c[0];
	struct pt_config config;

	pt_config_init(&config);
	config.begin = plan->trace;
	config.end = plan->trace + (plan->flags & plan_buffers ? 1 : copies) * c->size;
	config.cpuid_0x15_eax = c->eax;
	config.cpuid_0x15_ebx = c->ebx;
	config.mtc_freq = c->mtc_freq;
	config.nom_freq = c->nom_freq;
	config.errata.bdm70 = !!(c->errata & err_bdm70);
	config.errata.skd022 = !!(c->errata & err_skd022);
	config.errata.skl014 = !!(c->errata & err_skl014);
	config.errata.skz84 = !!(c->errata & err_skz84);
	config.addr_filter.config.ctl.addr0_cfg = c->filter[0].config & 15u;
	config.addr_filter.addr0_a = c->filter[0].a;
	config.addr_filter.addr0_b = c->filter[0].b;
	if (kind != insns) {
		config.flags.variant.block.enable_tick_events = !!(c->flags & flag_tick);
		config.flags.variant.block.end_on_call = !!(c->flags & flag_end_on_call);
		config.flags.variant.block.end_on_jump = !!(c->flags & flag_end_on_jump);
	} else
		config.flags.variant.insn.enable_tick_events = !!(c->flags & flag_tick);
	return config;
}

static void make_decoder(struct client *client, const struct plan *plan)
{
	struct pt_config config = make_config(plan, client->way->kind != insns);

	if (client->way->kind != insns)
		client->block = pt_blk_alloc_decoder(&config);
	else
		client->insn = pt_insn_alloc_decoder(&config);
	if (!client->block && !client->insn)
		abort();
	if (plan->flags & plan_observes)
		face_attach(client);
	if (client->block) {
		pt_blk_set_run_events(client->block, client->way->events_inside);
		pt_blk_set_run_counts(client->block, client->way->counts);
		pt_blk_set_run_last_time(client->block, client->way->last_time);
	}
}

/* Decodes one copy. Instructions: with a decoder of its own. */
static void decode_copy(struct client *client, const struct plan *plan, size_t which, size_t copy)
{
	const uint8_t *begin = plan->trace + copy * plan->c[0].size;

	if (client->way->kind == insns) {
		pt_insn_free_decoder(client->insn);
		make_decoder(client, plan);
		face_use_code(client, which);
	} else {
		face_use_code(client, which);
		if (pt_blk_set_buffer(client->block, begin, begin + plan->c[0].size) < 0)
			face_complain(client, "refuses a buffer");
	}
	decode(client, plan);
}

/* Returns how many paths with a number came; negative: something is wrong. */
static int64_t decode_one_way(const struct way *way, struct plan *plan, struct log *log, uint64_t seed)
{
	struct client client = {
	        .way = way, .plan = plan, .log = log, .code = &plan->c[0], .random = {seed}, .seed = seed};

	client.asks = (plan->flags & plan_asks) != 0;
	client.asks_some = !client.asks && plan->flags & plan_asks_some;

	if (way->by)
		setenv("SBTRACE_RUN_BY", way->by, 1);
	else
		unsetenv("SBTRACE_RUN_BY");
	if (way->limit)
		setenv("SBTRACE_RUN_CACHE", way->limit, 1);
	else
		unsetenv("SBTRACE_RUN_CACHE");
	face_make_cache(&client);
	face_make_images(&client);
	log_clear(log, way->name);
	make_decoder(&client, plan);
	if (plan->flags & plan_buffers) {
		for (size_t copy = 0; copy < copies + 2; ++copy)
			decode_copy(&client, plan, copy & 1, copy % copies);
	} else {
		face_use_code(&client, 0);
		decode(&client, plan);
	}
	pt_insn_free_decoder(client.insn);
	pt_blk_free_decoder(client.block);
	pt_image_free(client.image[0]);
	pt_image_free(client.image[1]);
	pt_iscache_free(client.cache);
	return client.bad ? -1 : (int64_t)client.known;
}

/* The same code, but for a few bytes. */
static void change_code(struct diff_case *to, const struct diff_case *from, struct random *random)
{
	memset(to, 0, sizeof(*to));
	for (size_t i = 0; i < from->nsections; ++i) {
		const struct case_section *section = &from->section[i];
		uint8_t *bytes = malloc(section->size);
		uint32_t changes = random_below(random, 4);

		if (!bytes)
			abort();
		memcpy(bytes, section->bytes, section->size);
		while (section->size && changes--)
			bytes[random_below(random, (uint32_t)section->size)] ^= 1u << random_below(random, 8);
		if (case_add_bytes(to, bytes, section->size, section->vaddr) < 0)
			abort();
		free(bytes);
	}
}

static void make_plan(struct plan *plan, uint64_t seed, int damaged)
{
	struct random random = {~seed};

	generate(&plan->c[0], seed);
	if (damaged)
		mutate(&plan->c[0], &random);
	change_code(&plan->c[1], &plan->c[0], &random);
	plan->trace = malloc(copies * plan->c[0].size + 1);
	if (!plan->trace)
		abort();
	for (size_t i = 0; i < copies; ++i)
		memcpy(plan->trace + i * plan->c[0].size, plan->c[0].trace, plan->c[0].size);
	plan->flags = seed % 2 ? plan_buffers : 0;
	if (!(plan->flags & plan_buffers) && random_hit(&random, 400))
		plan->flags |= plan_observes;
	if (random_hit(&random, 300))
		plan->flags |= plan_resyncs;
	if (random_hit(&random, 400))
		plan->flags |= plan_asks;
	if (!(plan->flags & plan_buffers) && random_hit(&random, 400))
		plan->flags |= plan_swaps;
	if (random_hit(&random, 150))
		plan->c[0].flags |= flag_tick;
	if (!(plan->flags & plan_buffers) && random_hit(&random, 300))
		plan->flags |= plan_moves;
	if (random_hit(&random, 500))
		plan->flags |= plan_asks_some;
	if (random_hit(&random, 300))
		plan->flags |= plan_fills;
	if (random_hit(&random, 500))
		plan->flags |= plan_shares;
	if (random_hit(&random, 500))
		plan->flags |= plan_changes;
	if (random_hit(&random, 250))
		plan->c[0].flags |= flag_end_on_call;
	if (random_hit(&random, 250))
		plan->c[0].flags |= flag_end_on_jump;
	/* A filler must not replace what is mapped. */
	if (face_sections_overlap(&plan->c[0]))
		plan->flags &= ~(unsigned)plan_fills;
}

/* Whether what decoders of one kind say besides must be the same. Of runs that is the PSB that they follow.
 */
static int agrees_in_state(const struct way *way, const struct plan *plan)
{
	return way->kind != runs || !(way->events_inside || way->mixed || plan->flags & plan_of_kind);
}

/* Counts, against the sums of those that tell every block. */
static int agrees_in_sums(const char *what, const struct log *all, const struct log *counts, int timed)
{
	struct log sums = {0}, counted = {0};
	int same;

	log_sums(all, &sums, timed);
	log_sums(counts, &counted, timed);
	same = log_same(what, &sums, &counted, 0);
	log_fini(&sums);
	log_fini(&counted);
	return same;
}

/* Holds the way @i against the first one of its kind, and against the first of all. */
static int agrees(const char *what, const struct plan *plan, const struct log *logs, size_t first, size_t i)
{
	const unsigned of_kind = plan->flags & plan_of_kind;

	if (ways[i].counts)
		return of_kind || agrees_in_sums(what, &logs[first], &logs[i], !ways[i].events_inside);
	if (agrees_in_state(&ways[i], plan) &&
	    !log_same(what, &logs[first], &logs[i],
	              log_with_state | (of_kind ? (unsigned)log_may_leave_circles : 0)))
		return 0;
	return of_kind ||
	       (log_same(what, &logs[first], &logs[i], 0) && log_same(what, &logs[0], &logs[i], 0));
}

static uint64_t known;

static int run_case(struct log *logs, uint64_t seed, int damaged, const char *save)
{
	struct plan plan;
	size_t first_of_kind = 0;
	char what[64];
	int good = 1;

	make_plan(&plan, seed, damaged);
	if (save)
		(void)case_save(&plan.c[0], save);
	snprintf(what, sizeof(what), "%sseed %llu", damaged ? "damaged " : "", (unsigned long long)seed);
	for (size_t i = 0; i < nways; ++i) {
		const int64_t came = decode_one_way(&ways[i], &plan, &logs[i], seed);

		known += came < 0 ? 0 : (uint64_t)came;
		good &= came >= 0;
		if (!i || ways[i].kind != ways[i - 1].kind)
			first_of_kind = i;
		good &= agrees(what, &plan, logs, first_of_kind, i);
	}
	free(plan.trace);
	case_free(&plan.c[0]);
	case_free(&plan.c[1]);
	return good;
}

int main(int argc, char **argv)
{
	static struct log logs[nways];
	uint64_t seed = 1, count = 300, bad = 0;
	const char *save = NULL;
	int damaged = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--mutate"))
			damaged = 1;
		else if (!strcmp(argv[i], "--save"))
			save = argv[i + 1];
		else
			return 2;
	}
	for (uint64_t i = 0; i < count && bad < 20; ++i)
		bad += !run_case(logs, seed + i, damaged, save);
	printf("%llu cases, %llu paths out of the cache, %llu bad\n", (unsigned long long)count,
	       (unsigned long long)known, (unsigned long long)bad);
	for (size_t i = 0; i < nways; ++i)
		log_fini(&logs[i]);
	return bad != 0;
}
