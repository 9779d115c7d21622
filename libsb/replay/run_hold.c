/* run_hold.c - see run_hold.h. */
#include "replay/run_hold.h"

static const struct pt_run_block *last_block(const struct pt_run *run)
{
	const struct pt_run_path *path = run->path[run->npaths - 1];

	return &path->block[path->nblocks - 1];
}

/* Blocks behind the last packet may have run or not: they are left out. They are at the end of a run's last
 * path. */
static struct pt_run_path without_unproven(const struct pt_run_path *last)
{
	uint32_t nblocks = last->nblocks;

	while (nblocks && (last->block[nblocks - 1].flags & ptrf_unproven))
		nblocks -= 1;
	return run_path_part(last, 0, nblocks);
}

static struct ledger_place place_of(const struct stream_replay *replay, const struct pt_run *run)
{
	const struct flow_owner *owner = &replay->observer->run;

	return (struct ledger_place){.pid = owner->pid,
	                             .tid = owner->tid,
	                             .membership = owner->membership,
	                             .unwanted = switch_window_want(&replay->window, owner),
	                             .epoch = replay->observer->run_epoch,
	                             .tsc = run->has_tsc ? run->tsc | replay->observer->tsc_base : 0};
}

/* Holds a run of paths that were proven. */
static int hold_paths(struct stream_replay *replay, const struct pt_run *run)
{
	if (!run->nblocks)
		return 0;
	replay->last_ip = replay->counts ? run->end_ip : last_block(run)->end_ip;
	sideband_observer_passed_by(replay->observer, run->ninsn);
	return ledger_hold(replay->ledger, place_of(replay, run), run);
}

static int hold_path(struct stream_replay *replay, const struct pt_run *run, const struct pt_run_path *path)
{
	const struct pt_run part = run_of_paths(run, &path, 1);

	return path->nblocks ? hold_paths(replay, &part) : 0;
}

/* Holds what lies between two places of a run. */
static int hold_between(struct stream_replay *replay, const struct pt_run *run, struct run_place from,
                        struct run_place to)
{
	struct pt_run_path cut;
	struct pt_run middle;
	int status = 0;

	if (from.path == to.path && from.path < run->npaths) {
		cut = run_path_part(run->path[from.path], from.block, to.block);
		return hold_path(replay, run, &cut);
	}
	if (from.block) {
		cut = run_path_part(run->path[from.path], from.block, run->path[from.path]->nblocks);
		status = hold_path(replay, run, &cut);
		from = (struct run_place){.path = from.path + 1};
	}
	middle = run_of_paths(run, run->path + from.path, to.path - from.path);
	if (status == 0)
		status = hold_paths(replay, &middle);
	if (status < 0 || !to.block)
		return status;
	cut = run_path_part(run->path[to.path], 0, to.block);
	return hold_path(replay, run, &cut);
}

/* Holds a run of the kernel, in which it may be seen switching: what comes from there on is another's. */
static int hold_switches(struct stream_replay *replay, const struct pt_run *run)
{
	struct run_place from = {0}, at = {0};
	int status = 0;

	while (status == 0 && run_watch_find(&replay->watch, run, &at)) {
		status = hold_between(replay, run, from, at);
		switch_window_pass(&replay->window, replay->ledger);
		if (status == 0)
			status = sideband_observer_pass(replay->observer, run->has_tsc ? run->tsc : 0);
		from = at;
		at.block += 1;
	}
	at = (struct run_place){.path = run->npaths};
	return status < 0 ? status : hold_between(replay, run, from, at);
}

static int hold_proven(struct stream_replay *replay, const struct pt_run *run)
{
	return replay->watch.ip && replay->observer->in_kernel ? hold_switches(replay, run)
	                                                       : hold_paths(replay, run);
}

int run_hold(struct stream_replay *replay, const struct pt_run *run)
{
	int status = 0;

	if (replay->counts)
		return hold_paths(replay, run);
	if (run->npaths && (last_block(run)->flags & ptrf_unproven)) {
		const struct pt_run proven = run_of_paths(run, run->path, run->npaths - 1);
		const struct pt_run_path rest = without_unproven(run->path[run->npaths - 1]);

		status = hold_proven(replay, &proven);
		if (status == 0)
			status = hold_path(replay, run, &rest);
	} else if (run->npaths) {
		status = hold_proven(replay, run);
	}
	/* That paths become invalid concerns those of runs before, too. */
	if (status == 0 && (run->flags & ptrf_last_of_paths)) {
		run_watch_forget(&replay->watch);
		status = ledger_hold(replay->ledger, (struct ledger_place){0},
		                     &(struct pt_run){.flags = ptrf_last_of_paths});
	}
	return status;
}
