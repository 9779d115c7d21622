/* known.c - see known.h. "2.0.5" is Debian's. */
#include "known.h"

#include <stddef.h>
#include <string.h>

#include "code.h"

/* Types as in intel-pt.h, which this file does not include: it is neither side's. */
enum {
	ev_enabled = 0,
	ev_disabled,
	ev_async_disabled,
	ev_async_branch,
	ev_paging = 4,
	ev_exec_mode = 7,
	ev_stop = 9,
	ev_vmcs,
	ev_async_vmcs = 11,
	ev_exstop,
	ev_mwait,
	ev_pwre,
	ev_pwrx,
	ev_ptwrite,
	ev_tick,
	ev_cbr,
	packet_mode = 11,
	packet_pwre = 24,
	err_nosync = -3,
	err_eos = -7,
	err_bad_query = -8,
	err_nomem = -9,
	err_bad_opc = -4,
	err_bad_packet = -5,
	err_bad_context = -6,
	err_bad_insn = -14,
	err_retstack = -20,
	err_nomap = -13,
	err_bad_status = -22,
	err_no_enable = -23
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

/* What the next record is tells as much, and is checked; see compare.c. */
static void event_pending(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (query->layer <= layer_block && ours->status >= 0 && debian->status >= 0) {
		ours->status &= query->held ? ~5 : ~1;
		debian->status &= query->held ? ~5 : ~1;
	}
}

static void lost_events(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (query->layer == layer_psb_back && ours->status >= 0 && !debian->status)
		ours->status = 0;
}

/* The bytes at an offset are not a whole PSB. */
static void no_psb(const struct known_query *query, struct record *ours, struct record *debian)
{
	static const uint8_t psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	uint64_t offset = ours->field[0];

	if (query->layer == layer_psb && ours->status >= 0 && debian->status == err_eos) {
		debian->status = ours->status; /* as sync_at_end() */
		debian->field[1] = ours->field[1];
	}
	if (query->layer == layer_psb && ours->status == err_nosync &&
	    (query->c->size - offset < sizeof(psb) || memcmp(query->c->trace + offset, psb, sizeof(psb))))
		debian->status = err_nosync;
}

/* 2.0.5 has read the packet behind PSB+, too; and of two errors in PSB+ it may tell the other. */
static void damaged_psb(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (!query->c->damaged || query->layer < layer_psb || ours->status == err_nosync ||
	    (debian->status >= 0 && ours->status < 0))
		return;
	debian->status = ours->status;
	debian->field[0] = ours->field[0];
	debian->field[1] = ours->field[1];
}

/* Between events, what a decoder tells of its state depends on how far it has read. */
static void state_between(const struct known_query *query, struct record *ours, struct record *debian)
{
	(void)query;
	record_forget(ours, part_time | part_asid);
	record_forget(debian, part_time | part_asid);
}

/* The instruction near which it is this time. */
static void tick_ip(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (is_event(ours, ev_tick) && ours->field[0] < debian->field[0] &&
	    debian->field[0] - ours->field[0] <= 15 && query->before && query->before->kind == rec_insn &&
	    query->before->field[0] == ours->field[0] &&
	    query->before->field[1] == debian->field[0] - ours->field[0])
		debian->field[0] = ours->field[0];
}

static void resumed(const struct known_query *query, struct record *ours, struct record *debian)
{
	(void)query;
	if (is_event(ours, ev_enabled) && ours->field[1] && !debian->field[1])
		debian->field[1] = 1;
}

static void block_resumed(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (query->layer == layer_block && query->c->errata & err_skl014 && is_event(ours, ev_enabled) &&
	    !ours->field[1])
		debian->field[1] = 0;
}

static void suppressed_status(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (query->c->damaged && ours->status >= 0 && debian->status >= 0 &&
	    (ours->kind == rec_event || ours->kind == rec_sync)) {
		ours->status &= ~2;
		debian->status &= ~2;
	}
}

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

/* The end of a trace that was cut in the middle of a packet. */
static void eos_status(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (query->c->damaged && ours->status >= 0 && debian->status >= 0) {
		ours->status &= ~4;
		debian->status &= ~4;
	}
}

/* An end of the trace in the middle of a packet. */
static void eos_offset(const struct known_query *query, struct record *ours, struct record *debian)
{
	if (ours->kind == rec_error && ours->status == err_eos && debian->offset > query->c->size)
		debian->offset = ours->offset;
}

/* ---- What cannot ---- */

/* Behind the last packet, and both go on to the same instruction. */
static enum known_effect endless_eos(const struct known_query *query)
{
	const struct record *ours = query->ours, *debian = query->debian;
	struct code_insn insn;

	return ours->kind == rec_insn && debian->kind == rec_insn && !(ours->status & 4) &&
	                       debian->status & 4 &&
	                       !memcmp(ours->field, debian->field, sizeof(ours->field)) &&
	                       !code_decode(query->c, ours->field[0], (int)ours->field[2], &insn) &&
	                       is_endless(query->c, insn.next, (int)ours->field[2])
	               ? known_stop
	               : known_none;
}

static enum known_effect endless(const struct known_query *query)
{
	const struct record *ours = query->ours, *debian = query->debian;

	if (ours->kind == rec_error &&
	    (ours->status == err_eos || ours->status == err_bad_query || query->c->damaged) &&
	    debian->kind == rec_insn && is_endless(query->c, debian->field[0], (int)debian->field[2]))
		return known_stop;
	return known_none;
}

static enum known_effect early_cbr(const struct known_query *query)
{
	return is_event(query->debian, ev_cbr) && query->debian->flags & 2 ? known_hold : known_none;
}

static enum known_effect estimated_tick(const struct known_query *query)
{
	if (!query->c->estimates)
		return known_none;
	if (is_event(query->debian, ev_tick))
		return known_skip_debian;
	return is_event(query->ours, ev_tick) ? known_skip_ours : known_none;
}

/* The truth of such cases is that ours is right. */
static enum known_effect block_disabled(const struct known_query *query)
{
	return query->layer == layer_block && query->insn_agreed && !query->c->damaged &&
	                       query->c->errata & err_skl014 &&
	                       query->c->flags & (flag_end_on_call | flag_end_on_jump) &&
	                       is_event(query->debian, ev_disabled) && query->debian->flags & 1
	               ? known_stop
	               : known_none;
}

static enum known_effect enabled_update(const struct known_query *query)
{
	return query->layer == layer_query && is_event(query->ours, ev_enabled) && query->ours->flags & 2
	               ? known_skip_ours
	               : known_none;
}

static enum known_effect early_exec_mode(const struct known_query *query)
{
	return is_event(query->debian, ev_exec_mode) && !(query->debian->flags & 2) ? known_hold : known_none;
}

static enum known_effect missed_psb(const struct known_query *query)
{
	const struct record *ours = query->ours, *debian = query->debian;

	if (query->layer == layer_psb_back && ours->kind == rec_sync && ours->status >= 0 &&
	    (debian->kind == rec_none || debian->status < 0 || debian->field[0] < ours->field[0]))
		return known_skip_ours;
	return known_none;
}

static enum known_effect stuck_at_psb(const struct known_query *query)
{
	const struct record *ours = query->ours, *debian = query->debian;

	if (query->layer != layer_psb_back || !query->c->damaged)
		return known_none;
	if (ours->kind == rec_none && debian->kind == rec_sync && debian->status < 0)
		return known_stop;
	if (debian->kind == rec_sync && ours->kind == rec_sync && debian->field[0] > ours->field[0])
		return known_skip_debian;
	return ours->kind == rec_sync && ours->status < 0 ? known_skip_ours : known_none;
}

/* Behind an error, to before the place of the error. */
static enum known_effect went_back(const struct known_query *query)
{
	const struct record *before = query->before, *debian = query->debian;

	if (!query->c->damaged || !before || before->kind != rec_error)
		return known_none;
	if (debian->kind == rec_sync && debian->field[0] < before->offset)
		return known_resync;
	if (debian->kind == rec_error && debian->offset < before->offset)
		return known_resync;
	return known_none;
}

static enum known_effect sync_at_end(const struct known_query *query)
{
	return query->ours->kind == rec_sync && query->debian->kind == rec_error &&
	                       query->debian->status == err_eos
	               ? known_stop
	               : known_none;
}

static enum known_effect no_insn(const struct known_query *query)
{
	struct code_insn insn;

	if (query->ours->kind == rec_error && query->ours->status == err_bad_insn &&
	    query->debian->kind == rec_error && query->debian->status == err_eos && query->c->damaged)
		return known_stop;
	return query->ours->kind == rec_error && query->ours->status == err_bad_insn &&
	                       query->debian->kind == rec_insn &&
	                       code_decode(query->c, query->debian->field[0], (int)query->debian->field[2],
	                                   &insn) < 0
	               ? known_resync
	               : known_none;
}

/* Only where a damaged trace has 32-bit code at an address above. */
static enum known_effect high_address(const struct known_query *query)
{
	uint64_t ours = query->ours->field[0], debian = query->debian->field[0];

	return query->c->damaged && query->debian->kind == rec_insn && query->debian->field[2] < 3 &&
	                       ours != debian && (ours == (debian & 0xffffffff) || ours == (debian & 0xffff))
	               ? known_resync
	               : known_none;
}

static enum known_effect newer_packet(const struct known_query *query)
{
	const struct record *debian = query->debian;
	const uint8_t *bytes = query->c->trace + debian->offset;

	if (debian->kind != rec_error || debian->status != err_bad_opc || debian->offset + 2 > query->c->size)
		return known_none;
	return bytes[0] == 0xd9 || (bytes[0] == 0x02 && (bytes[1] == 0x13 || bytes[1] == 0x53)) ? known_resync
	                                                                                        : known_none;
}

static enum known_effect two_at_once(const struct known_query *query)
{
	const struct record *ours = query->ours;

	return query->c->damaged && query->before && (is_event(ours, ev_paging) || is_event(ours, ev_vmcs)) &&
	                       is_event(query->before, ours->type) && query->debian->kind == rec_insn
	               ? known_resync
	               : known_none;
}

static enum known_effect wrong_mode(const struct known_query *query)
{
	return query->c->damaged && query->ours->kind == rec_insn && query->debian->kind == rec_insn &&
	                       query->ours->field[2] != query->debian->field[2]
	               ? known_resync
	               : known_none;
}

static int is_ptwrite(const struct diff_case *c, uint64_t ip)
{
	uint8_t bytes[5] = {0};
	size_t at = 1;

	(void)case_read(c, ip, bytes, sizeof(bytes));
	at += bytes[1] >> 4 == 4;
	return bytes[0] == 0xf3 && bytes[at] == 0x0f && bytes[at + 1] == 0xae;
}

static enum known_effect no_ptwrite(const struct known_query *query)
{
	return query->c->damaged && is_event(query->debian, ev_ptwrite) &&
	                       !is_ptwrite(query->c, query->debian->field[0])
	               ? known_resync
	               : known_none;
}

static int bytes_at(const struct known_query *query, uint64_t offset, uint8_t first, uint8_t second)
{
	const uint8_t *bytes = query->c->trace + offset;

	return offset + 2 <= query->c->size && bytes[0] == first && bytes[1] == second;
}

/* By erratum SKZ84, a byte follows TMA; here the trace ends before it. */
static enum known_effect tma_at_end(const struct known_query *query)
{
	const struct record *debian = query->debian;

	return debian->kind == rec_error && query->c->errata & err_skz84 &&
	                       query->c->size - debian->offset == 7 &&
	                       bytes_at(query, debian->offset, 0x02, 0x73)
	               ? known_resync
	               : known_none;
}

/* A CYC of ten bytes, which can hold 64 bits. */
static enum known_effect long_cyc(const struct known_query *query)
{
	const struct record *debian = query->debian;
	const uint8_t *bytes = query->c->trace + debian->offset;
	int size = 1;

	if (debian->kind != rec_error || debian->status != err_bad_packet ||
	    debian->offset + 10 > query->c->size || (bytes[0] & 7) != 7)
		return known_none;
	while (size < 10 && bytes[size] & 1)
		++size;
	return size >= 9 ? known_resync : known_none;
}

/* A CBR of zero, or a PSB+ with one. */
static enum known_effect zero_cbr(const struct known_query *query)
{
	const struct record *debian = query->debian;
	size_t size = query->c->size;

	if (!query->c->damaged || debian->kind != rec_error || debian->status != err_bad_packet ||
	    debian->offset >= size)
		return known_none;
	size -= debian->offset;
	return memmem(query->c->trace + debian->offset, size < 80 ? size : 80, "\2\3\0", 3) ? known_resync
	                                                                                    : known_none;
}

/* Behind an error, to a PSB+ that had been read but not reached. */
static enum known_effect began_earlier(const struct known_query *query)
{
	const struct record *before = query->before;

	return query->c->damaged && before && before->kind == rec_error && query->ours->kind == rec_sync &&
	                       query->ours->field[0] < before->offset
	               ? known_resync
	               : known_none;
}

/* An event at another place, if the flow then ends in an error for both. */
static enum known_effect other_place(const struct known_query *query)
{
	int ours = query->ours->kind == rec_event, debian = query->debian->kind == rec_event;

	return query->c->damaged && (ours || debian) && query->ours->kind != rec_defect ? known_damage
	                                                                                : known_none;
}

/* Without a TSC before it. */
static enum known_effect stray_tma(const struct known_query *query)
{
	const struct record *debian = query->debian;

	return debian->kind == rec_error && debian->status == err_bad_context &&
	                       bytes_at(query, debian->offset, 0x02, 0x73)
	               ? known_resync
	               : known_none;
}

/* The instruction layer is where the flow is held against 2.0.5's. */
static enum known_effect other_block(const struct known_query *query)
{
	if (!query->c->damaged || query->layer != layer_block || !query->insn_agreed ||
	    query->ours->kind == rec_error || query->debian->kind == rec_error)
		return known_none;
	return known_resync;
}

/* Where MODE.Exec takes effect when no TIP follows it, as a CPU would write it. */
static enum known_effect stray_mode(const struct known_query *query)
{
	return query->c->damaged && is_event(query->ours, ev_exec_mode) && !(query->ours->flags & 2)
	               ? known_resync
	               : known_none;
}

/* A CPU writes TIP.PGD without IP for far branches and MOV CR3 only, and not while tracing is off. */
static enum known_effect stray_disable(const struct known_query *query)
{
	return query->c->damaged && is_event(query->ours, ev_disabled) && query->ours->flags & 1
	               ? known_resync
	               : known_none;
}

static enum known_effect stray_fup(const struct known_query *query)
{
	return query->c->damaged && (is_event(query->ours, ev_async_branch) ||
	                             is_event(query->ours, ev_async_disabled))
	               ? known_resync
	               : known_none;
}

/* An event that fits nowhere, and then the end of the trace. */
static enum known_effect event_at_end(const struct known_query *query)
{
	return query->c->damaged && query->ours->kind == rec_error &&
	                       (query->ours->status == err_bad_query ||
	                        query->ours->status == err_bad_insn) &&
	                       query->debian->kind == rec_error && query->debian->status == err_eos &&
	                       query->ours->offset + 16 >= query->c->size
	               ? known_stop
	               : known_none;
}

static enum known_effect stop_while_enabled(const struct known_query *query)
{
	return is_event(query->ours, ev_stop) && query->debian->kind == rec_error &&
	                       query->debian->status == err_bad_context
	               ? known_resync
	               : known_none;
}

static enum known_effect bad_psb(const struct known_query *query)
{
	return query->c->damaged &&
	                       ((query->ours->kind == rec_error && query->ours->status == err_bad_status) ||
	                        (query->debian->kind == rec_error && query->debian->status == err_bad_status))
	               ? known_resync
	               : known_none;
}

static enum known_effect return_stack(const struct known_query *query)
{
	return query->c->damaged && query->ours->kind == rec_error && query->ours->status == err_retstack
	               ? known_resync
	               : known_none;
}

static enum known_effect queue_full(const struct known_query *query)
{
	return query->debian->kind == rec_error && query->debian->status == err_nomem ? known_resync
	                                                                              : known_none;
}

static enum known_effect damage(const struct known_query *query)
{
	return query->c->damaged && (query->ours->kind == rec_error || query->debian->kind == rec_error)
	               ? known_damage
	               : known_none;
}

enum { damage_both, damage_code, damage_debian, damage_ours, bad_status, nspecial };

/* Rows that known_damaged() and known_bad_status() count. */
static const char *const special[nspecial] = {
        "damage: both give an error before the next PSB, one a little later: 2.0.5 reads ahead",
        "damage: both give an error at the same place, but not the same one",
        "damage: packets in an order that no CPU writes: an error in 2.0.5, ours goes on",
        "damage: packets in an order that no CPU writes: an error in ours, 2.0.5 goes on",
        "2.0.5's block decoder does not tell of the event behind one of PIP or VMCS in its status",
};

static const struct known rows[] = {
        {"PWRE: the HW bit is bit 7 of its byte (SDM); 2.0.5 reads another one", pwre_hw, NULL},
        {"MODE.Exec: the IF bit came after 2.0.5", mode_iflag, NULL},
        {"power events, PTWRITE and async VMCS have no time in 2.0.5", events_without_time, NULL},
        {"time between TSC packets is an estimate, and ours is another one", estimated_time, NULL},
        {"the bit for pending events, where events come in another order", event_pending, NULL},
        {"sync_backward: 2.0.5 loses the events of the PSB+", lost_events, NULL},
        {"sync_set on what is not a whole PSB: nosync, bad_packet in 2.0.5", no_psb, NULL},
        {"damage at or behind a PSB+: 2.0.5's sync_set and sync_backward tell another error, or one at all",
         damaged_psb, NULL},
        {"pt_insn_time() and the like between events: how far was read", state_between, NULL},
        {"tick: at the branch that brought the time; behind it in 2.0.5", tick_ip, NULL},
        {"enabled at the return address of a call that disabled: resumed (BLOCKS.md), but not in 2.0.5",
         resumed, NULL},
        {"SKL014: 2.0.5's block decoder says resumed where its instruction decoder does not", block_resumed,
         NULL},
        {"damage: pts_ip_suppressed behind events while tracing is off", suppressed_status, NULL},
        {"a trace cut in a packet: its end is told a step earlier or later", eos_status, NULL},
        {"2.0.5's offset is behind the end of the trace", eos_offset, NULL},
        {"endless direct branches: ours does not tell the end of the trace at the last of them", NULL,
         endless_eos},
        {"endless direct branches: ours ends where no trace can be read, 2.0.5 goes on for ever", NULL,
         endless},
        {"tick: where the estimates of time are others, they change at other places", NULL, estimated_tick},
        {"SKL014: 2.0.5's block decoder, told to end blocks at calls or jumps, stops at the wrong one", NULL,
         block_disabled},
        {"query decoder: PSB+ with a FUP gives enabled as a status update, which came after 2.0.5", NULL,
         enabled_update},
        {"CBR in PSB+: 2.0.5 tells it before the place where the PSB+ is", NULL, early_cbr},
        {"MODE.Exec before TIP: 2.0.5 tells it where the target is reached first, by whatever way", NULL,
         early_exec_mode},
        {"sync_backward: 2.0.5 misses a PSB that sync_forward finds", NULL, missed_psb},
        {"sync_backward: 2.0.5 does not get past a damaged PSB+, or misses it", NULL, stuck_at_psb},
        {"sync_forward: 2.0.5 goes back for a PSB whose first bytes a damaged packet had swallowed", NULL,
         went_back},
        {"a PSB+ with nothing behind it: 2.0.5 does not synchronise there", NULL, sync_at_end},
        {"bytes that are no instruction: 2.0.5 takes them for one", NULL, no_insn},
        {"branches in 16 and 32-bit mode stay in 16 and 32 bits; not in 2.0.5", NULL, high_address},
        {"CFE, EVD and TRIG packets came after 2.0.5", NULL, newer_packet},
        {"SKZ84: a TMA at the trace's end lacks its stray byte", NULL, tma_at_end},
        {"a CYC of ten bytes holds 64 bits, which 2.0.5 cannot read", NULL, long_cyc},
        {"damage: a CBR of zero: ours takes it, bad_packet in 2.0.5", NULL, zero_cbr},
        {"damage: sync_forward: ours begins at a PSB+ that was read ahead, 2.0.5 at the next", NULL,
         began_earlier},
        {"damage: a second TMA for one TSC: ours takes it, bad_context in 2.0.5", NULL, stray_tma},
        {"damage: MODE.Exec without its TIP: where it takes effect", NULL, stray_mode},
        {"damage: TIP.PGD without IP at a conditional branch, or while tracing is off", NULL, stray_disable},
        {"damage: which of two packets a FUP belongs to", NULL, stray_fup},
        {"damage: an event that fits nowhere before the end: bad_query, eos in 2.0.5", NULL, event_at_end},
        {"damage: two PIP or VMCS at one branch: ours gives both there, 2.0.5 one of them later", NULL,
         two_at_once},
        {"damage: MODE.Exec before TIP, as above, and 2.0.5 reads code in the wrong mode", NULL, wrong_mode},
        {"damage: PTW with the address of no PTWRITE: no event in ours", NULL, no_ptwrite},
        {"damage: TraceStop while tracing is on: ours tells it, 2.0.5 calls it an error", NULL,
         stop_while_enabled},
        {"damage: PSB+ contradicts the flow: bad_status, another error, or unnoticed", NULL, bad_psb},
        {"damage: compressed returns behind one that was not: what is left of the return stack", NULL,
         return_stack},
        {"2.0.5 has room for few events in a row", NULL, queue_full},
        {"damage: 2.0.5's block decoder goes another way than its instruction decoder does", NULL,
         other_block},
        {NULL, NULL, damage},
        {"damage: an event elsewhere in a flow that ends in an error in both", NULL, other_place},
};

enum { nrows = sizeof(rows) / sizeof(rows[0]) };

_Static_assert(nrows + nspecial <= known_count, "room to count each row");

static size_t distance(const struct record *a, const struct record *b)
{
	const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
	size_t count = 0;

	for (size_t i = 0; i < offsetof(struct record, text); ++i)
		count += x[i] != y[i];
	return count;
}

int known_same(const struct known_query *query, uint64_t *counts)
{
	struct record ours = *query->ours, debian = *query->debian;
	int used[known_count] = {0};

	if (ours.kind != debian.kind || ours.type != debian.type)
		return 0;
	for (int row = 0; row < nrows; ++row) {
		size_t before = distance(&ours, &debian);

		if (!rows[row].excuse)
			continue;
		rows[row].excuse(query, &ours, &debian);
		used[row] = distance(&ours, &debian) < before;
	}
	if (!record_equal(&ours, &debian))
		return 0;
	for (int row = 0; row < nrows; ++row)
		counts[row] += used[row] != 0;
	return 1;
}

enum known_effect known_flow(const struct known_query *query, uint64_t *counts)
{
	for (int row = 0; row < nrows; ++row) {
		enum known_effect effect = rows[row].flow ? rows[row].flow(query) : known_none;

		if (effect == known_none)
			continue;
		counts[row] += rows[row].reason != NULL;
		return effect;
	}
	return known_none;
}

/* Errors of packets in an order in which no CPU writes them. */
static int is_order_error(int status)
{
	return status == err_bad_context || status == err_bad_query || status == err_no_enable ||
	       status == err_nomap || status == err_bad_insn;
}

int known_damaged(const struct known_query *query, int ours, int debian, uint64_t *counts)
{
	int what = damage_both;

	if (ours == debian)
		what = damage_both;
	else if (!debian || debian == err_eos)
		what = damage_ours;
	else if (!ours || ours == err_eos)
		what = damage_debian;
	else if (query->ours->kind == rec_error && query->debian->kind == rec_error)
		what = damage_code;
	++counts[nrows + what];
	if (query->layer == layer_block && query->insn_agreed)
		return 1;
	if (what == damage_debian)
		return is_order_error(debian);
	if (what == damage_ours)
		return is_order_error(ours);
	return 1;
}

void known_bad_status(uint64_t *counts)
{
	++counts[nrows + bad_status];
}

const char *known_reason(int row)
{
	if (row < nrows)
		return rows[row].reason;
	return row < nrows + nspecial ? special[row - nrows] : NULL;
}
