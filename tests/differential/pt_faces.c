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

#include <intel-pt-filler.h>
#include <intel-pt-run.h>

#include "code/insn_class.h"
#include "faces_log.h"
#include "generate.h"
#include "mutate.h"

enum { copies = 14, max_syncs = 100000 };

enum plan_flag {
	plan_buffers = 1 << 0, /* a buffer for each copy */
	plan_observes = 1 << 1,
	plan_resyncs = 1 << 2,   /* after an error, instead of going to the next PSB */
	plan_asks = 1 << 4,      /* for position, time and the like, behind each instruction */
	plan_asks_some = 1 << 6, /* for some of it, behind some of them */
	plan_fills = 1 << 7,     /* images while they are used, where the cache is as it is */
	plan_shares = 1 << 8,    /* sections: those that are alike are the same in both images */
	plan_changes = 1 << 9,   /* the image that is in use, where another would be used */
	/* Only faces of one kind agree then: */
	plan_swaps = 1 << 3, /* images in the middle */
	plan_moves = 1 << 5, /* synchronises in the middle, and observes from there on */
	plan_of_kind = plan_swaps | plan_moves
};

struct plan {
	struct diff_case c[2]; /* the same trace, other code */
	uint8_t *trace;        /* owned: all copies */
	unsigned flags;        /* enum plan_flag */
};

enum kind { insns, blocks, runs };

/* How to decode. */
struct way {
	const char *name;
	enum kind kind;
	const char *limit; /* of the run cache; NULL: as it is */
	int events_inside;
	int mixed; /* with pt_blk_next(), and events in runs or not */
	int counts;
	int last_time; /* of the changes of time inside of runs, only the last one is told */
};

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

/* What a filler adds to an image. */
struct filling {
	const struct client *client;
	size_t which; /* of the plan's codes */
};

struct client {
	const struct way *way;
	const struct plan *plan;
	struct pt_image_section_cache *cache; /* NULL: sections are not shared */
	int isid[2][case_max_sections];
	struct filling filling[2]; /* for each image */
	const struct diff_case *code;
	struct log *log;
	struct pt_insn_decoder *insn;
	struct pt_block_decoder *block;
	struct random random;
	uint64_t seed;
	struct pt_observer tick, state;
	int status;
	struct pt_image *image[2];
	int asks, asks_some, observes;
	uint64_t passed; /* the PSB, before a run */
	unsigned given;  /* instructions or blocks */
	uint64_t known;  /* paths with a number that came: how well the cache is used */
	int bad;
};

/* ---- Observers ---- */

static int on_tick(struct pt_observer *self, uint64_t tsc, uint32_t lost_mtc, uint32_t lost_cyc)
{
	struct told *told = log_tell(((struct client *)self->context)->log);

	*told = (struct told){.tsc = tsc, .lost_mtc = lost_mtc, .lost_cyc = lost_cyc, .state = -1};
	return 0;
}

static int on_state(struct pt_observer *self, enum pt_decode_state state)
{
	struct told *told = log_tell(((struct client *)self->context)->log);

	*told = (struct told){.state = (int)state};
	return 0;
}

static void attach(struct client *client)
{
	client->observes = 1;
	client->tick = (struct pt_observer){.size = sizeof(client->tick), .context = client};
	client->state = client->tick;
	client->tick.tick.callback = on_tick;
	client->state.state.callback = on_state;
	if (client->insn) {
		pt_insn_attach_obsv(client->insn, &client->tick);
		pt_insn_attach_obsv(client->insn, &client->state);
	} else {
		pt_blk_attach_obsv(client->block, &client->tick);
		pt_blk_attach_obsv(client->block, &client->state);
	}
}

/* ---- The faces ---- */

static void complain(struct client *client, const char *text)
{
	printf("%s: %s\n", client->way->name, text);
	client->bad = 1;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * 0x9e3779b97f4a7c15u + (sum >> 29);
}

/* A number below @n that depends on where the client is, and not on the way. */
static unsigned choose(const struct client *client, uint64_t salt, unsigned n)
{
	return (unsigned)(mix(mix(salt, client->seed), client->given) >> 32) % n;
}

/* Asking for the position leaves a path, and asking for the time does not. */
static void ask_one(const struct client *client, struct log_entry *entry, int for_time)
{
	if (!for_time && client->insn)
		pt_insn_get_offset(client->insn, &entry->offset);
	else if (!for_time)
		pt_blk_get_offset(client->block, &entry->offset);
	else if (client->insn)
		pt_insn_time(client->insn, &entry->time, NULL, NULL);
	else
		pt_blk_time(client->block, &entry->time, NULL, NULL);
}

/* What the decoder's other functions say; @more goes with it. */
static void add_state(const struct client *client, struct log_entry *entry, uint64_t more)
{
	/* Where it is rare, chains of paths are left somewhere on the way. */
	const unsigned choice = client->asks_some ? choose(client, 1, client->seed % 2 ? 8 : 64) : 0;
	uint64_t sync = 0;
	uint32_t lost_mtc = 0, lost_cyc = 0, cbr = 0;
	struct pt_asid asid;
	int status;

	if (!client->asks && !client->asks_some)
		return;
	if (choice) {
		if (choice < 6)
			ask_one(client, entry, choice > 1);
		return;
	}
	pt_asid_init(&asid);
	if (client->insn) {
		status = pt_insn_time(client->insn, &entry->time, &lost_mtc, &lost_cyc);
		pt_insn_get_offset(client->insn, &entry->offset);
		pt_insn_get_sync_offset(client->insn, &sync);
		pt_insn_core_bus_ratio(client->insn, &cbr);
		pt_insn_asid(client->insn, &asid, sizeof(asid));
	} else {
		status = pt_blk_time(client->block, &entry->time, &lost_mtc, &lost_cyc);
		pt_blk_get_offset(client->block, &entry->offset);
		pt_blk_get_sync_offset(client->block, &sync);
		pt_blk_core_bus_ratio(client->block, &cbr);
		pt_blk_asid(client->block, &asid, sizeof(asid));
	}
	entry->others = mix(mix(more, (uint64_t)status), (uint64_t)lost_mtc << 32 | lost_cyc);
	entry->others = mix(entry->others, sync);
	entry->others = mix(mix(mix(entry->others, cbr), asid.cr3), asid.vmcs);
}

static void next_insn(struct client *client)
{
	struct log_entry *entry;
	struct pt_insn insn;
	uint64_t raw = 0;

	memset(&insn, 0, sizeof(insn));
	client->status = pt_insn_next(client->insn, &insn, sizeof(insn));
	if (!insn.size)
		return;
	client->given += 1;
	entry = log_add(client->log, log_insn);
	entry->ip = insn.ip;
	entry->size = insn.size;
	entry->mode = (int16_t)insn.mode;
	entry->speculative = insn.speculative;
	entry->iclass = (int16_t)insn.iclass;
	entry->entry_flags = (int16_t)(insn.enabled | insn.resumed << 1 | insn.resynced << 2);
	entry->exit_flags = (int16_t)(insn.disabled | insn.interrupted << 1 | insn.stopped << 2 |
	                              insn.aborted << 3 | insn.committed << 4);
	for (unsigned i = 0; i < sizeof(insn.raw); ++i)
		raw = mix(raw, insn.raw[i]);
	add_state(client, entry, mix(raw, (uint64_t)insn.isid << 1 | insn.truncated));
}

/* The size of the instruction at *ip, which goes on behind it; zero: there is none. What the bytes of an
 * instruction mean has tests of its own. */
static int step(const struct diff_case *code, uint64_t *ip, enum pt_exec_mode mode)
{
	const uint8_t bits = pt_mode_ip_bits(mode);
	uint8_t bytes[pt_max_insn_size], byte;
	struct pt_insn_info info;
	uint64_t next, wrapped;

	if (pt_insn_classify(&info, bytes, case_read(code, *ip, bytes, sizeof(bytes)), mode) < 0)
		return 0;
	next = *ip + info.length;
	wrapped = pt_wrap_ip(next, bits, *ip, mode);
	if (info.kind == pt_kind_jump || info.kind == pt_kind_call) {
		wrapped = pt_insn_target(&info, *ip, mode);
		next += info.ip_bits ? (uint64_t)info.displacement : 0;
	}
	/* At addresses that the mode does not have, it depends on sections whether they are wrapped. */
	*ip = case_read(code, wrapped, &byte, 1) ? wrapped : next;
	return info.length;
}

static void next_block(struct client *client)
{
	struct pt_block block;

	memset(&block, 0, sizeof(block));
	client->status = pt_blk_next(client->block, &block, sizeof(block));
	client->given += block.ninsn != 0;
	for (unsigned n = 0; n < block.ninsn; ++n) {
		const int last = n + 1u == block.ninsn;
		struct log_entry *entry = log_add(client->log, log_insn);

		entry->ip = block.ip;
		entry->size = (int16_t)step(client->code, &block.ip, block.mode);
		entry->mode = (int16_t)block.mode;
		entry->speculative = block.speculative;
		entry->iclass = last ? (int16_t)block.iclass : -1;
		if (!n)
			entry->entry_flags =
			        (int16_t)(block.enabled | block.resumed << 1 | block.resynced << 2);
		if (last)
			entry->exit_flags =
			        (int16_t)(block.disabled | block.interrupted << 1 | block.stopped << 2 |
			                  block.aborted << 3 | block.committed << 4);
		if (last && !client->way->mixed)
			add_state(client, entry, (uint64_t)block.isid << 1 | block.truncated);
	}
}

/* @has_tsc, @tsc: the time. */
static uint64_t add_run_block(struct client *client, const struct pt_run_block *block, int16_t has_tsc,
                              uint64_t tsc)
{
	uint64_t ip = block->ip;

	for (unsigned n = 0; n < block->ninsn; ip += block->length[n++]) {
		struct log_entry *entry = log_add(client->log, log_insn);
		const int16_t last = n + 1u == block->ninsn;

		entry->ip = ip;
		entry->size = block->length[n];
		entry->mode = block->mode;
		entry->speculative = (block->flags & ptrf_speculative) != 0;
		entry->iclass = last ? block->iclass : (int16_t)ptic_other;
		entry->entry_flags = entry->exit_flags = -1;
		entry->has_tsc = client->way->mixed ? -1 : has_tsc;
		entry->tsc = tsc;
		entry->offset = client->passed;
		entry->ends = last;
		entry->unproven = (block->flags & ptrf_unproven) != 0;
		if (last && ip != block->end_ip)
			complain(client, "a block does not end where it says");
	}
	return block->ninsn;
}

static void add_run(struct client *client, const struct pt_run *run)
{
	uint64_t ninsn = 0, nblocks = 0, tsc = run->tsc;
	int16_t has_tsc = (int16_t)run->has_tsc;
	uint32_t e = 0, t = 0;

	for (uint32_t p = 0; p <= run->npaths; ++p) {
		const struct pt_run_path *path;
		uint64_t in_path = 0;

		for (; e < run->nevents && run->event[e].path == p; ++e)
			log_add(client->log, log_event)->event = run->event[e].event;
		if (p == run->npaths)
			break;
		for (; t < run->ntimes && run->time[t].path <= p; ++t) {
			has_tsc = (int16_t)run->time[t].has_tsc;
			tsc = run->time[t].tsc;
		}
		/* Of the times in between, the last one alone is told. */
		if ((p || e) && t < run->ntimes && client->way->last_time)
			has_tsc = -1;
		path = run->path[p];
		client->known += path->id != ptr_no_id;
		for (uint32_t b = 0; b < path->nblocks; ++b)
			in_path += add_run_block(client, &path->block[b], has_tsc, tsc);
		if (in_path != path->ninsn || !path->nblocks)
			complain(client, "a path's sum is wrong");
		ninsn += in_path;
		nblocks += path->nblocks;
	}
	if (e != run->nevents)
		complain(client, "events are not in order");
	if (run->ntimes > 1 && client->way->last_time)
		complain(client, "more than the last time is told");
	if (ninsn != run->ninsn || nblocks != run->nblocks)
		complain(client, "a run's sum is wrong");
}

static void add_counts(struct client *client, const struct pt_run *run)
{
	struct log_entry *entry;

	if (run->npaths || run->nevents || run->ntimes > (uint32_t)client->way->events_inside ||
	    !run->nblocks != !run->ninsn)
		complain(client, "a run that counts has something else");
	if (run->ntimes && (!run->has_tsc != !run->time->has_tsc || run->time->tsc <= run->tsc))
		complain(client, "time does not go on inside of a run");
	if (!run->nblocks)
		return;
	entry = log_add(client->log, log_sum);
	entry->ip = run->end_ip;
	entry->ninsn = run->ninsn;
	entry->nblocks = run->nblocks;
	entry->has_tsc = (int16_t)run->has_tsc;
	entry->tsc = run->tsc;
}

static void next_run(struct client *client)
{
	struct pt_run run;

	uint64_t read;

	client->passed = 0;
	pt_blk_get_psb_offset(client->block, &client->passed, &read);
	client->status = pt_blk_run(client->block, &run, sizeof(run));
	if (client->way->counts)
		add_counts(client, &run);
	else
		add_run(client, &run);
}

/* ---- A client that does what the manual says ---- */

static void next(struct client *client)
{
	if (client->insn) {
		next_insn(client);
		return;
	}
	if (client->way->kind == blocks || (client->way->mixed && random_hit(&client->random, 300))) {
		next_block(client);
		return;
	}
	if (client->way->mixed)
		pt_blk_set_run_events(client->block, random_hit(&client->random, 500));
	next_run(client);
}

static void fetch_event(struct client *client)
{
	struct pt_event event;

	memset(&event, 0, sizeof(event));
	client->status = client->insn ? pt_insn_event(client->insn, &event, sizeof(event))
	                              : pt_blk_event(client->block, &event, sizeof(event));
	if (client->status >= 0) {
		struct log_entry *entry = log_add(client->log, log_event);

		entry->event = event;
		if (client->way->kind != runs)
			add_state(client, entry, 0);
	}
}

static void synchronise(struct client *client, int resync)
{
	struct log_entry *entry;
	uint64_t offset = 0;

	/* How much came before an error may depend on the face: a circle is gone round more or less often. */
	client->given = 0;
	if (client->insn) {
		client->status = resync ? pt_insn_resync(client->insn) : pt_insn_sync_forward(client->insn);
		pt_insn_get_offset(client->insn, &offset);
	} else {
		client->status = resync ? pt_blk_resync(client->block) : pt_blk_sync_forward(client->block);
		pt_blk_get_offset(client->block, &offset);
	}
	entry = log_add(client->log, log_sync);
	entry->status = client->status < 0 ? client->status : 0;
	entry->ip = client->status < 0 ? 0 : offset;
}

static int add_section(const struct client *client, struct pt_image *image, size_t which, size_t number)
{
	const struct case_section *section = &client->plan->c[which].section[number];

	if (client->cache)
		return pt_image_add_cached(image, client->cache, client->isid[which][number], NULL);
	return pt_image_add_file(image, section->path, section->offset, section->size, NULL, section->vaddr);
}

static void add_code(const struct client *client, struct pt_image *image, size_t which)
{
	for (size_t i = 0; i < client->plan->c[which].nsections; ++i)
		if (add_section(client, image, which, i) < 0)
			abort();
}

/* Whether images are filled while they are used. */
static int fills(const struct client *client)
{
	return client->plan->flags & plan_fills && !client->way->limit;
}

/* Gives the image in use the other code: over what is there, or in place of it. */
static void change_image(struct client *client, size_t which, int over)
{
	if (!over)
		pt_image_remove_by_asid(client->image[0], NULL);
	client->filling[0].which = which;
	/* A filler adds the rest when it is asked. */
	if (over || !fills(client))
		add_code(client, client->image[0], which);
}

static void use_code(struct client *client, size_t which)
{
	const size_t image = client->plan->flags & plan_changes ? 0 : which;

	if (client->plan->flags & plan_changes && client->code != &client->plan->c[which])
		change_image(client, which, choose(client, 5, 2) != 0);
	client->code = &client->plan->c[which];
	if (client->insn)
		pt_insn_set_image(client->insn, client->image[image]);
	else
		pt_blk_set_image(client->block, client->image[image]);
}

/* Other code every now and then: an error may come with an instruction or behind it, so calls do not count.
 */
static void swap(struct client *client)
{
	const unsigned other = client->given / 37 & 1;

	if (client->plan->flags & plan_swaps && client->code != &client->plan->c[other])
		use_code(client, other);
}

/* Synchronises, or begins to observe. Returns whether. */
static int move(struct client *client, const struct plan *plan)
{
	if (!(plan->flags & plan_moves) || client->way->kind == runs || !client->given ||
	    choose(client, 2, 40))
		return 0;
	if (!client->observes && choose(client, 3, 2)) {
		attach(client);
		return 0;
	}
	synchronise(client, choose(client, 4, 4) != 0);
	return 1;
}

static void decode(struct client *client, const struct plan *plan)
{
	unsigned syncs = 0;

	synchronise(client, 0);
	while (client->status != -pte_eos && !client->bad) {
		const int inside = (client->way->events_inside && !client->way->counts) ||
		                   (client->way->mixed && random_hit(&client->random, 300));

		if (client->status < 0) {
			if (syncs++ == max_syncs)
				complain(client, "synchronises without end");
			log_add_error(client->log, client->status);
			synchronise(client, (plan->flags & plan_resyncs) != 0);
		} else if (client->status & pts_event_pending && !inside) {
			fetch_event(client);
		} else if (client->status & pts_event_pending) {
			pt_blk_set_run_events(client->block, 1);
			next_run(client);
		} else if (syncs == max_syncs || !move(client, plan)) {
			swap(client);
			next(client);
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

static int holds(const struct case_section *section, uint64_t ip)
{
	return ip - section->vaddr < section->size;
}

static int fill(struct pt_image *image, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const struct filling *filling = context;
	const struct diff_case *c = &filling->client->plan->c[filling->which];

	(void)asid;
	for (size_t i = 0; i < c->nsections; ++i)
		if (holds(&c->section[i], ip))
			return add_section(filling->client, image, filling->which, i) == 0;
	return 0;
}

static int sections_overlap(const struct diff_case *c)
{
	for (size_t i = 0; i < c->nsections; ++i)
		for (size_t j = 0; j < c->nsections; ++j)
			if (i != j && holds(&c->section[i], c->section[j].vaddr))
				return 1;
	return 0;
}

/* Numbers for all sections, the same in whatever order images use them. */
static void make_cache(struct client *client)
{
	const struct plan *plan = client->plan;

	if (!(plan->flags & plan_shares))
		return;
	client->cache = pt_iscache_alloc(NULL);
	for (size_t which = 0; which < 2; ++which)
		for (size_t i = 0; i < plan->c[which].nsections; ++i) {
			const struct case_section *section = &plan->c[which].section[i];
			const struct case_section *first = &plan->c[0].section[i];

			if (section->size == first->size &&
			    !memcmp(section->bytes, first->bytes, section->size))
				section = first;
			client->isid[which][i] = pt_iscache_add_file(
			        client->cache, section->path, section->offset, section->size, section->vaddr);
			if (client->isid[which][i] < 0)
				abort();
		}
}

static void make_images(struct client *client)
{
	for (size_t i = 0; i < 2; ++i) {
		client->image[i] = pt_image_alloc(NULL);
		client->filling[i] = (struct filling){client, i};
		if (fills(client))
			pt_image_set_filler(client->image[i], fill, &client->filling[i]);
		else
			add_code(client, client->image[i], i);
	}
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
		attach(client);
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
		use_code(client, which);
	} else {
		use_code(client, which);
		if (pt_blk_set_buffer(client->block, begin, begin + plan->c[0].size) < 0)
			complain(client, "refuses a buffer");
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

	if (way->limit)
		setenv("SBTRACE_RUN_CACHE", way->limit, 1);
	else
		unsetenv("SBTRACE_RUN_CACHE");
	make_cache(&client);
	make_images(&client);
	log_clear(log, way->name);
	make_decoder(&client, plan);
	if (plan->flags & plan_buffers) {
		for (size_t copy = 0; copy < copies + 2; ++copy)
			decode_copy(&client, plan, copy & 1, copy % copies);
	} else {
		use_code(&client, 0);
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
	if (sections_overlap(&plan->c[0]))
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
		if (ways[i].counts) {
			if (!(plan.flags & plan_of_kind))
				good &= agrees_in_sums(what, &logs[first_of_kind], &logs[i],
				                       !ways[i].events_inside);
			continue;
		}
		if (agrees_in_state(&ways[i], &plan))
			good &= log_same(what, &logs[first_of_kind], &logs[i], 1);
		if (!(plan.flags & plan_of_kind))
			good &= log_same(what, &logs[first_of_kind], &logs[i], 0) &&
			        log_same(what, &logs[0], &logs[i], 0);
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
