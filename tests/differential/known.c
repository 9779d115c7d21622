/* known.c - see known.h. "2.0.5" is Debian's. */
#include "known.h"

#include <string.h>

#include "code.h"

/* Types as in intel-pt.h, which this file does not include: it is neither side's. */
enum {
	ev_enabled = 0,
	ev_async_vmcs = 11,
	ev_exstop,
	ev_mwait,
	ev_pwre,
	ev_pwrx,
	ev_ptwrite,
	packet_mode = 11,
	packet_pwre = 24,
	err_eos = -7,
	err_bad_query = -8
};

struct known {
	const char *reason;
	/* Takes the difference out of both records. */
	void (*excuse)(const struct known_query *query, struct record *ours, struct record *debian);
	/* Or: says how to go on. */
	enum known_effect (*flow)(const struct known_query *query);
};

static int is_event(const struct record *record, uint32_t type)
{
	return record->kind == rec_event && record->type == type;
}

/* ---- What can be taken out ---- */

static void pwre_hw(const struct known_query *query, struct record *ours, struct record *debian)
{
	(void)query;
	if (is_event(ours, ev_pwre) || (ours->kind == rec_packet && ours->type == packet_pwre))
		ours->field[2] = debian->field[2] = 0;
}

static void mode_iflag(const struct known_query *query, struct record *ours, struct record *debian)
{
	(void)query;
	if (ours->kind == rec_packet && ours->type == packet_mode)
		ours->field[3] = debian->field[3] = 0;
}

static void events_without_time(const struct known_query *query, struct record *ours, struct record *debian)
{
	(void)query;
	if (ours->kind != rec_event || ours->type < ev_async_vmcs || ours->type > ev_ptwrite ||
	    debian->flags & 4)
		return;
	ours->flags &= ~4u;
	ours->tsc = debian->tsc = 0;
	ours->lost_mtc = ours->lost_cyc = debian->lost_mtc = debian->lost_cyc = 0;
}

/* With TSC packets alone, there is nothing to estimate. */
static void estimated_time(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (!query->c->estimates || (ours->flags & 4) != (debian->flags & 4))
		return;
	record_forget(ours, part_tsc);
	record_forget(debian, part_tsc);
	if (ours->time_status != debian->time_status)
		return;
	ours->time = debian->time = 0;
	ours->time_lost_mtc = ours->time_lost_cyc = debian->time_lost_mtc = debian->time_lost_cyc = 0;
}

/* ---- What cannot ---- */

/* Whether execution, once at @ip, never leaves a circle of direct branches. */
static int is_endless(const struct diff_case *c, uint64_t ip, int mode)
{
	uint64_t at = ip;

	for (int i = 0; i < 5000; ++i) {
		struct code_insn insn;

		if (code_decode(c, at, mode, &insn) < 0 || insn.cond || insn.stops)
			return 0;
		at = insn.next;
		if (at == ip)
			return 1;
	}
	return 0;
}

static enum known_effect endless(const struct known_query *query)
{
	const struct record *ours = query->ours, *debian = query->debian;

	if (ours->kind == rec_error && (ours->status == err_eos || ours->status == err_bad_query) &&
	    debian->kind == rec_insn && is_endless(query->c, debian->field[0], (int)debian->field[2]))
		return known_stop;
	return known_none;
}

static const struct known rows[known_count] = {
        {"PWRE: the HW bit is bit 7 of its byte (SDM); 2.0.5 reads another one", pwre_hw, NULL},
        {"MODE.Exec: the IF bit came after 2.0.5", mode_iflag, NULL},
        {"power events, PTWRITE and async VMCS have no time in 2.0.5", events_without_time, NULL},
        {"time between TSC packets is an estimate, and ours is another one", estimated_time, NULL},
        {"endless direct branches: ours ends where no trace is left, 2.0.5 goes on for ever", NULL, endless},
};

int known_same(const struct known_query *query, uint64_t *counts)
{
	struct record ours = *query->ours, debian = *query->debian;
	int used[known_count] = {0};

	if (ours.kind != debian.kind || ours.type != debian.type)
		return 0;
	for (int row = 0; row < known_count; ++row) {
		struct record before = ours, before_debian = debian;

		if (!rows[row].excuse)
			continue;
		rows[row].excuse(query, &ours, &debian);
		used[row] = !record_equal(&ours, &before) || !record_equal(&debian, &before_debian);
	}
	if (!record_equal(&ours, &debian))
		return 0;
	for (int row = 0; row < known_count; ++row)
		counts[row] += used[row] != 0;
	return 1;
}

enum known_effect known_flow(const struct known_query *query, uint64_t *counts)
{
	for (int row = 0; row < known_count; ++row) {
		enum known_effect effect = rows[row].flow ? rows[row].flow(query) : known_none;

		if (effect == known_none)
			continue;
		++counts[row];
		return effect;
	}
	return known_none;
}

const char *known_reason(int row)
{
	return rows[row].reason;
}
