/* faces_tell.c - what a face says, into the log. */
#include <stdio.h>
#include <string.h>

#include "code/insn_class.h"
#include "faces.h"

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

void face_attach(struct client *client)
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

void face_complain(struct client *client, const char *text)
{
	printf("%s: %s\n", client->way->name, text);
	client->bad = 1;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * 0x9e3779b97f4a7c15u + (sum >> 29);
}

unsigned face_choose(const struct client *client, uint64_t salt, unsigned n)
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
	const unsigned choice = client->asks_some ? face_choose(client, 1, client->seed % 2 ? 8 : 64) : 0;
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

void next_insn(struct client *client)
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
			face_complain(client, "a block does not end where it says");
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
			face_complain(client, "a path's sum is wrong");
		ninsn += in_path;
		nblocks += path->nblocks;
	}
	if (e != run->nevents)
		face_complain(client, "events are not in order");
	if (run->ntimes > 1 && client->way->last_time)
		face_complain(client, "more than the last time is told");
	if (ninsn != run->ninsn || nblocks != run->nblocks)
		face_complain(client, "a run's sum is wrong");
}

static void add_counts(struct client *client, const struct pt_run *run)
{
	struct log_entry *entry;

	if (run->npaths || run->nevents || run->ntimes > (uint32_t)client->way->events_inside ||
	    !run->nblocks != !run->ninsn)
		face_complain(client, "a run that counts has something else");
	if (run->ntimes && (!run->has_tsc != !run->time->has_tsc || run->time->tsc <= run->tsc))
		face_complain(client, "time does not go on inside of a run");
	if (!run->nblocks)
		return;
	entry = log_add(client->log, log_sum);
	entry->ip = run->end_ip;
	entry->ninsn = run->ninsn;
	entry->nblocks = run->nblocks;
	entry->has_tsc = (int16_t)run->has_tsc;
	entry->tsc = run->tsc;
}

void face_next_run(struct client *client)
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

void face_next(struct client *client)
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
	face_next_run(client);
}

void face_fetch_event(struct client *client)
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

void face_synchronise(struct client *client, int resync)
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
