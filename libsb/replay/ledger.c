/* ledger.c - see ledger.h. */
#include "replay/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "system/arena.h"

enum {
	HELD_BLOCKS_MAX = 128 * 1024, /* more are handed out unconfirmed: memory is bounded */
	PROGRESS_STEP = 64 * 1024
};

static const char *const reason_name[sb_gap_reasons] = {
        [sb_gap_none] = "none",
        [sb_gap_overflow] = "overflow",
        [sb_gap_no_binary] = "no-binary",
        [sb_gap_binary_mismatch] = "binary-mismatch",
        [sb_gap_anonymous] = "anonymous",
        [sb_gap_not_mapped] = "not-mapped",
        [sb_gap_unknown_process] = "unknown-process",
        [sb_gap_decode_error] = "decode-error",
        [sb_gap_bad_trace] = "bad-trace",
        [sb_gap_no_sync] = "no-sync",
        [sb_gap_truncated] = "truncated",
        [sb_gap_no_kernel] = "no-kernel",
        [sb_gap_vmx_guest] = "vmx-guest",
        [sb_gap_lost_patch] = "lost-patch",
        [sb_gap_filtered] = "filtered",
};

const char *sb_gap_reason_name(enum sb_gap_reason reason)
{
	return (unsigned int)reason < sb_gap_reasons ? reason_name[reason] : "unknown";
}

void ledger_init(struct ledger *ledger, const struct sb_sink *sink, const struct sb_replay_options *options)
{
	memset(ledger, 0, sizeof(*ledger));
	ledger->sink = sink;
	ledger->options = options;
}

void ledger_set_index(struct ledger *ledger, uint32_t index)
{
	ledger->numbering = (uint64_t)index << 32;
}

static void free_gaps(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->nitems; ++i)
		if (ledger->item[i].kind == held_gap)
			free((void *)(uintptr_t)ledger->item[i].gap);
	ledger->nitems = 0;
}

void ledger_fini(struct ledger *ledger)
{
	free_gaps(ledger);
	path_store_fini(&ledger->memory);
	free(ledger->slot);
	free(ledger->threads);
	free(ledger->containers);
	free(ledger->path);
	free(ledger->item);
	memset(ledger, 0, sizeof(*ledger));
}

void ledger_begin_stream(struct ledger *ledger, int32_t cpu)
{
	ledger->cpu = cpu;
	ledger->last_tsc = 0;
	ledger->confirmed_tsc = 0;
}

/* ---- Bytes ------------------------------------------------------------------------------------ */

int ledger_progress(struct ledger *ledger, uint64_t bytes)
{
	ledger->done += bytes;
	if (!ledger->sink->progress || ledger->done < ledger->progress_at)
		return 0;
	ledger->progress_at = ledger->done + PROGRESS_STEP;
	return ledger->sink->progress(ledger->sink->context, ledger->done, ledger->account.bytes_total);
}

int ledger_decoded(struct ledger *ledger, uint64_t bytes)
{
	ledger->account.bytes_decoded += bytes;
	return ledger_progress(ledger, bytes);
}

int ledger_complete(struct ledger *ledger)
{
	if (!ledger->sink->progress)
		return 0;
	return ledger->sink->progress(ledger->sink->context, ledger->done, ledger->account.bytes_total);
}

static int emit_gap(struct ledger *ledger, const struct sb_gap *gap)
{
	int status = 0;

	ledger->account.gap[gap->reason].count += 1;
	ledger->account.gap[gap->reason].bytes += gap->bytes;
	if (ledger->sink->gap)
		status = ledger->sink->gap(ledger->sink->context, gap);
	return status < 0 ? status : ledger_progress(ledger, gap->bytes);
}

int ledger_gap(struct ledger *ledger, const struct sb_gap *gap)
{
	return emit_gap(ledger, gap);
}

/* ---- Threads ---------------------------------------------------------------------------------- */

static size_t slot_of(const struct ledger *ledger, int32_t pid, int32_t tid,
                      const struct sb_container *container)
{
	const uint32_t inside = container ? (container->index + 1) * 0xc2b2ae35u : 0;
	size_t slot =
	        ((uint32_t)tid * 0x9e3779b1u ^ (uint32_t)pid * 0x85ebca6bu ^ inside) & (ledger->nslots - 1);

	while (ledger->slot[slot].used &&
	       (ledger->slot[slot].thread.pid != pid || ledger->slot[slot].thread.tid != tid ||
	        ledger->slot[slot].container != container))
		slot = (slot + 1) & (ledger->nslots - 1);
	return slot;
}

static int grow_slots(struct ledger *ledger)
{
	struct account_slot *old = ledger->slot;
	const size_t nold = ledger->nslots;

	ledger->nslots = nold ? 2 * nold : 64;
	ledger->slot = calloc(ledger->nslots, sizeof(*ledger->slot));
	if (!ledger->slot) {
		ledger->slot = old;
		ledger->nslots = nold;
		return -sbe_nomem;
	}
	for (size_t i = 0; i < nold; ++i)
		if (old[i].used)
			ledger->slot[slot_of(ledger, old[i].thread.pid, old[i].thread.tid,
			                     old[i].container)] = old[i];
	free(old);
	return 0;
}

static struct sb_account_thread *get_thread(struct ledger *ledger, int32_t pid, int32_t tid,
                                            const struct sb_container *container)
{
	struct account_slot *slot;

	if (2 * ledger->nused >= ledger->nslots && grow_slots(ledger) < 0)
		return NULL;
	slot = &ledger->slot[slot_of(ledger, pid, tid, container)];
	if (!slot->used) {
		slot->used = 1;
		slot->thread.pid = pid;
		slot->thread.tid = tid;
		slot->container = container;
		ledger->nused += 1;
	}
	return &slot->thread;
}

/* ---- Flow ------------------------------------------------------------------------------------- */

/* Whose it is was looked at before; the time is known only now. */
static int is_wanted(const struct sb_replay_options *options, uint64_t tsc)
{
	return !(options->tsc_from || options->tsc_to) ||
	       (tsc >= options->tsc_from && tsc <= options->tsc_to);
}

int ledger_asks_time(const struct ledger *ledger)
{
	return ledger->options->tsc_from || ledger->options->tsc_to;
}

int ledger_flow(struct ledger *ledger, const struct sb_flow *flow)
{
	const struct sb_membership *membership = flow->membership;
	struct sb_account_thread *thread;

	if (!is_wanted(ledger->options, flow->tsc)) {
		ledger->account.ninsn_filtered += flow->ninsn;
		return 0;
	}
	thread = get_thread(ledger, flow->pid, flow->tid, membership ? membership->container : NULL);
	if (!thread)
		return -sbe_nomem;
	thread->ninsn += flow->ninsn;
	thread->nblocks += flow->nblocks;
	ledger->account.ninsn += flow->ninsn;
	ledger->account.nblocks += flow->nblocks;
	return ledger->sink->flow ? ledger->sink->flow(ledger->sink->context, flow) : 0;
}

static int emit_flow(struct ledger *ledger, const struct held_item *item)
{
	const struct sb_flow flow = {.cpu = ledger->cpu,
	                             .pid = item->place.pid,
	                             .tid = item->place.tid,
	                             .tsc = item->place.tsc,
	                             .membership = item->place.membership,
	                             .path = ledger->path ? ledger->path + item->first : NULL,
	                             .npaths = item->npaths,
	                             .nblocks = item->nblocks,
	                             .ninsn = item->ninsn,
	                             .numbering = ledger->numbering,
	                             .left_ip = item->left_ip,
	                             .epoch = item->place.epoch};

	if (!item->place.unwanted)
		return ledger_flow(ledger, &flow);
	ledger->account.ninsn_filtered += item->ninsn;
	return 0;
}

int ledger_event(struct ledger *ledger, const struct sb_flow_event *event)
{
	if (!ledger->sink->event || !is_wanted(ledger->options, event->tsc))
		return 0;
	return ledger->sink->event(ledger->sink->context, event);
}

static int emit_event(struct ledger *ledger, const struct held_item *item)
{
	const struct sb_flow_event event = {.kind = item->event,
	                                    .cpu = ledger->cpu,
	                                    .pid = item->place.pid,
	                                    .tid = item->place.tid,
	                                    .tsc = item->place.tsc,
	                                    .membership = item->place.membership,
	                                    .from = item->from,
	                                    .to = item->to};

	return ledger_event(ledger, &event);
}

static int emit(struct ledger *ledger, const struct held_item *item)
{
	switch (item->kind) {
	case held_gap:
		return emit_gap(ledger, item->gap);
	case held_event:
		return item->place.unwanted ? 0 : emit_event(ledger, item);
	default:
		return emit_flow(ledger, item);
	}
}

/* Nothing is held back any more. */
static void forget(struct ledger *ledger)
{
	free_gaps(ledger);
	ledger->nblocks = 0;
	ledger->npaths = 0;
	ledger->ncut = 0;
	ledger->handed_out += 1;
	path_store_clear(&ledger->memory);
}

int ledger_confirm(struct ledger *ledger)
{
	int status = 0;

	for (size_t i = 0; i < ledger->nitems && status >= 0; ++i)
		status = emit(ledger, &ledger->item[i]);
	ledger->confirmed_tsc = ledger->last_tsc;
	forget(ledger);
	return status < 0 ? status : 0;
}

int ledger_discard(struct ledger *ledger)
{
	int status = 0;

	for (size_t i = 0; i < ledger->nitems && status >= 0; ++i)
		if (ledger->item[i].kind == held_gap)
			status = emit_gap(ledger, ledger->item[i].gap);
	ledger->last_tsc = ledger->confirmed_tsc;
	forget(ledger);
	return status < 0 ? status : 0;
}

/* Makes the paths from @first on our own which the decoder numbers, or those which it does not. */
static int keep_paths(struct ledger *ledger, size_t first, int numbered)
{
	for (size_t i = first; i < ledger->npaths; ++i) {
		if ((ledger->path[i]->id != ptr_no_id) != numbered)
			continue;
		ledger->path[i] = path_store_copy(&ledger->memory, ledger->path[i], ptr_no_id);
		if (!ledger->path[i])
			return -sbe_nomem;
	}
	return 0;
}

static int reserve_paths(struct ledger *ledger, size_t more)
{
	return array_reserve_more(&ledger->path, &ledger->path_capacity, ledger->npaths, more,
	                          sizeof(*ledger->path));
}

static int same_place(const struct ledger_place *a, const struct ledger_place *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->tsc == b->tsc && a->epoch == b->epoch &&
	       a->membership == b->membership && a->unwanted == b->unwanted;
}

/* Adds a run, of which @npaths are kept, to the last item, or begins a new one. */
static int add_flow(struct ledger *ledger, const struct ledger_place *place, const struct pt_run *run,
                    uint32_t npaths)
{
	struct held_item *last = ledger->nitems > ledger->ncut ? &ledger->item[ledger->nitems - 1] : NULL;

	if (last && last->kind == held_flow && !last->left_ip && same_place(&last->place, place)) {
		last->npaths += npaths;
		last->nblocks += run->nblocks;
		last->ninsn += run->ninsn;
		return 0;
	}
	if (array_reserve(&ledger->item, &ledger->item_capacity, ledger->nitems, sizeof(*ledger->item)) < 0)
		return -sbe_nomem;
	ledger->item[ledger->nitems++] = (struct held_item){.place = *place,
	                                                    .ninsn = run->ninsn,
	                                                    .first = ledger->npaths,
	                                                    .npaths = npaths,
	                                                    .nblocks = run->nblocks};
	return 0;
}

static int hold_run(struct ledger *ledger, struct ledger_place place, const struct pt_run *run)
{
	/* Who only counts needs no paths. */
	const uint32_t npaths = ledger->sink->flow && place.unwanted != ledger_unwanted ? run->npaths : 0;
	const size_t before = ledger->npaths;

	if (add_flow(ledger, &place, run, npaths) < 0)
		return -sbe_nomem;
	ledger->nblocks += run->nblocks;
	if (!npaths)
		return 0;
	if (reserve_paths(ledger, npaths) < 0)
		return -sbe_nomem;
	memcpy(ledger->path + before, run->path, npaths * sizeof(*run->path));
	ledger->npaths += npaths;
	return keep_paths(ledger, before, 0);
}

void ledger_renumber(struct ledger *ledger)
{
	ledger->numbering += 1;
}

int ledger_hold(struct ledger *ledger, struct ledger_place place, const struct pt_run *run)
{
	int status = 0;

	if (run->nblocks) {
		if (place.tsc < ledger->last_tsc)
			place.tsc = ledger->last_tsc;
		ledger->last_tsc = place.tsc;
		if (ledger->nblocks >= HELD_BLOCKS_MAX)
			status = ledger_confirm(ledger);
		if (status == 0)
			status = hold_run(ledger, place, run);
		if (status < 0)
			return status;
	}
	if (!(run->flags & ptrf_last_of_paths))
		return 0;
	ledger->numbering += 1;
	return keep_paths(ledger, 0, 1);
}

size_t ledger_cut(struct ledger *ledger)
{
	ledger->ncut = ledger->nitems;
	return ledger->ncut;
}

void ledger_pass_time(struct ledger *ledger, uint64_t tsc)
{
	if (tsc > ledger->last_tsc)
		ledger->last_tsc = tsc;
}

int ledger_may_be_left(const struct ledger *ledger)
{
	const struct held_item *last = ledger->nitems ? &ledger->item[ledger->nitems - 1] : NULL;

	return last && last->kind == held_flow && !last->left_ip;
}

void ledger_hold_left(struct ledger *ledger, uint64_t ip)
{
	if (ledger_may_be_left(ledger))
		ledger->item[ledger->nitems - 1].left_ip = ip;
}

int ledger_hold_gap(struct ledger *ledger, const struct sb_gap *gap)
{
	struct sb_gap *copy;

	if (array_reserve(&ledger->item, &ledger->item_capacity, ledger->nitems, sizeof(*ledger->item)) < 0)
		return -sbe_nomem;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -sbe_nomem;
	*copy = *gap;
	ledger->item[ledger->nitems++] = (struct held_item){.kind = held_gap, .gap = copy};
	return 0;
}

int ledger_hold_event(struct ledger *ledger, struct ledger_place place, const struct sb_flow_event *event)
{
	if (!ledger->sink->event || place.unwanted == ledger_unwanted)
		return 0;
	if (array_reserve(&ledger->item, &ledger->item_capacity, ledger->nitems, sizeof(*ledger->item)) < 0)
		return -sbe_nomem;
	if (place.tsc < ledger->last_tsc)
		place.tsc = ledger->last_tsc;
	ledger->item[ledger->nitems++] = (struct held_item){.kind = held_event,
	                                                    .place = place,
	                                                    .event = event->kind,
	                                                    .from = event->from,
	                                                    .to = event->to};
	return 0;
}

/* ---- Parts ------------------------------------------------------------------------------------ */

void ledger_restart(struct ledger *ledger)
{
	struct ledger_part part;

	forget(ledger);
	ledger_take_part(ledger, &part);
	ledger_part_fini(&part);
}

void ledger_take_part(struct ledger *ledger, struct ledger_part *part)
{
	*part = (struct ledger_part){.account = ledger->account,
	                             .slot = ledger->slot,
	                             .nslots = ledger->nslots,
	                             .nused = ledger->nused};
	ledger->account = (struct sb_account){0};
	ledger->slot = NULL;
	ledger->nslots = ledger->nused = 0;
}

static int add_threads(struct ledger *ledger, const struct ledger_part *part)
{
	for (size_t i = 0; i < part->nslots; ++i) {
		const struct sb_account_thread *from = &part->slot[i].thread;
		struct sb_account_thread *thread;

		if (!part->slot[i].used)
			continue;
		thread = get_thread(ledger, from->pid, from->tid, part->slot[i].container);
		if (!thread)
			return -sbe_nomem;
		thread->ninsn += from->ninsn;
		thread->nblocks += from->nblocks;
	}
	return 0;
}

int ledger_add_part(struct ledger *ledger, const struct ledger_part *part)
{
	const struct sb_account *from = &part->account;
	struct sb_account *account = &ledger->account;

	account->bytes_decoded += from->bytes_decoded;
	account->ninsn += from->ninsn;
	account->nblocks += from->nblocks;
	account->ninsn_filtered += from->ninsn_filtered;
	account->nswitches += from->nswitches;
	for (int i = 0; i < sb_switch_evidences; ++i)
		account->switches[i] += from->switches[i];
	for (int i = 0; i < sb_gap_reasons; ++i) {
		account->gap[i].count += from->gap[i].count;
		account->gap[i].bytes += from->gap[i].bytes;
	}
	return add_threads(ledger, part);
}

void ledger_part_fini(struct ledger_part *part)
{
	free(part->slot);
	memset(part, 0, sizeof(*part));
}

/* ---- The account ------------------------------------------------------------------------------ */

static int compare_slots(const void *a, const void *b)
{
	const struct sb_account_thread *left = &((const struct account_slot *)a)->thread,
	                               *right = &((const struct account_slot *)b)->thread;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

/* The used slots come first, sorted by pid and tid. */
static void sort_slots(struct ledger *ledger)
{
	size_t count = 0;

	for (size_t i = 0; i < ledger->nslots; ++i)
		if (ledger->slot[i].used)
			ledger->slot[count++] = ledger->slot[i];
	if (count)
		qsort(ledger->slot, count, sizeof(*ledger->slot), compare_slots);
}

static void add_sums(struct sb_account_thread *thread, const struct sb_account_thread *more)
{
	thread->ninsn += more->ninsn;
	thread->nblocks += more->nblocks;
}

/* A thread that was in several containers is one thread. */
static int list_threads(struct ledger *ledger, const struct sb_system *system)
{
	struct sb_account_thread *end;

	ledger->threads = calloc(ledger->nused ? ledger->nused : 1, sizeof(*ledger->threads));
	if (!ledger->threads)
		return -sbe_nomem;
	end = ledger->threads;
	for (size_t i = 0; i < ledger->nused; ++i) {
		const struct sb_account_thread *slot = &ledger->slot[i].thread;
		const char *name;

		if (end > ledger->threads && end[-1].pid == slot->pid && end[-1].tid == slot->tid) {
			add_sums(&end[-1], slot);
			continue;
		}
		*end = *slot;
		name = sb_system_comm(system, slot->pid, slot->tid, UINT64_MAX);
		strncpy(end->comm, name, sizeof(end->comm) - 1);
		end += 1;
	}
	ledger->account.thread = ledger->threads;
	ledger->account.nthreads = (size_t)(end - ledger->threads);
	return 0;
}

/* By kind, pod and id; what was outside of all comes last. */
static int compare_containers(const void *a, const void *b)
{
	const struct sb_container *left = ((const struct sb_account_container *)a)->container;
	const struct sb_container *right = ((const struct sb_account_container *)b)->container;
	int order;

	if (!left || !right)
		return !left - !right;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	order = strcmp(left->pod, right->pod);
	if (!order)
		order = strcmp(left->id, right->id);
	return order ? order : left->index < right->index ? -1 : left->index > right->index;
}

/* Sums by container. The slots are sorted by process; whoever was in several counts in each. */
static int list_containers(struct ledger *ledger, const struct sb_system *system)
{
	struct sb_account_container *sum, *end;
	int32_t *last_pid;
	size_t count;

	sb_system_containers(system, &count);
	if (!count)
		return 0;
	sum = ledger->containers = calloc(count + 1, sizeof(*sum));
	last_pid = calloc(count + 1, sizeof(*last_pid));
	for (size_t i = 0; sum && last_pid && i < ledger->nused; ++i) {
		const struct account_slot *slot = &ledger->slot[i];
		const size_t at = slot->container ? slot->container->index : count;

		sum[at].container = slot->container;
		sum[at].nprocesses += !sum[at].nblocks || last_pid[at] != slot->thread.pid;
		sum[at].ninsn += slot->thread.ninsn;
		sum[at].nblocks += slot->thread.nblocks;
		last_pid[at] = slot->thread.pid;
	}
	free(last_pid);
	if (!sum || !last_pid)
		return -sbe_nomem;
	end = sum;
	for (size_t i = 0; i <= count; ++i)
		if (sum[i].nblocks)
			*end++ = sum[i];
	qsort(sum, (size_t)(end - sum), sizeof(*sum), compare_containers);
	/* Nobody in any: then there is nothing to tell apart. */
	ledger->account.container = sum;
	ledger->account.ncontainers = end > sum && sum[0].container ? (size_t)(end - sum) : 0;
	return 0;
}

int ledger_finish(struct ledger *ledger, const struct sb_system *system)
{
	int status;

	sort_slots(ledger);
	status = list_threads(ledger, system);
	return status < 0 ? status : list_containers(ledger, system);
}
