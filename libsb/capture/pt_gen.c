/* pt_gen.c - packets from retired instructions; the SDM, vol. 3, "Intel Processor Trace" says which.
 *
 * Where the SDM leaves a choice, the one that every decoder reads the same way is taken:
 * - PSB+ and overflows begin only right behind a branch that had a packet, so that no decoder can
 *   be farther ahead or behind. Addresses after them are written in full.
 * - A RET is compressed only if its target is on top of two return stacks: one that an uncompressed
 *   RET leaves alone, and one that it pops; decoders exist of both kinds.
 * - Uncompressed RETs are not deferred behind a TNT-64, for a decoder takes a TNT bit as theirs.
 */
#include "pt_gen.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_SIZE = 1 << 18, TNT_SHORT = 6, TNT_LONG = 47 };

static uint32_t next_random(struct pt_gen *gen)
{
	/* xorshift64* */
	gen->random ^= gen->random >> 12;
	gen->random ^= gen->random << 25;
	gen->random ^= gen->random >> 27;
	return (uint32_t)((gen->random * 0x2545f4914f6cdd1dull) >> 32);
}

static uint64_t stream_offset(const struct pt_gen *gen)
{
	return gen->offset + gen->size;
}

/* Return stacks */

static void returns_push(struct pt_gen_returns *returns, uint64_t ip)
{
	returns->top = (returns->top + 1) % PT_GEN_RETURNS;
	returns->ip[returns->top] = ip;
	if (returns->count < PT_GEN_RETURNS)
		returns->count++;
}

static void returns_pop(struct pt_gen_returns *returns)
{
	if (!returns->count)
		return;
	returns->top = (returns->top + PT_GEN_RETURNS - 1) % PT_GEN_RETURNS;
	returns->count--;
}

static int returns_match(const struct pt_gen_returns *returns, uint64_t ip)
{
	return returns->count && returns->ip[returns->top] == ip;
}

static void forget_returns(struct pt_gen *gen)
{
	gen->keeping.count = gen->popping.count = 0;
}

/* Single packets */

static void emit(struct pt_gen *gen, const struct pt_packet *packet)
{
	int size;

	if (gen->error)
		return;
	size = pt_enc_next(gen->encoder, packet);
	if (size < 0)
		gen->error = size;
	else
		gen->size += (size_t)size;
}

static void emit_plain(struct pt_gen *gen, enum pt_packet_type type)
{
	struct pt_packet packet = {.type = type};

	emit(gen, &packet);
}

static enum pt_ip_compression compression(uint64_t last, uint64_t ip)
{
	uint64_t extended = (uint64_t)((int64_t)(ip << 16) >> 16);

	if (last && (last ^ ip) >> 16 == 0)
		return pt_ipc_update_16;
	if (last && (last ^ ip) >> 32 == 0)
		return pt_ipc_update_32;
	return extended == ip ? pt_ipc_sext_48 : pt_ipc_full;
}

static uint64_t payload(enum pt_ip_compression ipc, uint64_t ip)
{
	switch (ipc) {
	case pt_ipc_update_16:
		return ip & 0xffff;
	case pt_ipc_update_32:
		return ip & 0xffffffff;
	case pt_ipc_sext_48:
		return ip & 0xffffffffffff;
	default:
		return ip;
	}
}

static void emit_ip(struct pt_gen *gen, enum pt_packet_type type, uint64_t ip)
{
	struct pt_packet packet = {.type = type};

	packet.payload.ip.ipc = compression(gen->last_ip, ip);
	packet.payload.ip.ip = payload(packet.payload.ip.ipc, ip);
	emit(gen, &packet);
	gen->last_ip = ip;
}

static void emit_mode(struct pt_gen *gen)
{
	struct pt_packet packet = {.type = ppt_mode};

	packet.payload.mode.leaf = pt_mol_exec;
	packet.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	emit(gen, &packet);
	gen->mode_known = 1;
}

/* Time. TSC and TMA start every clock anew. */

static uint64_t ticks_per_ctc(const struct pt_gen *gen)
{
	return gen->config.ctc_num / gen->config.ctc_den;
}

static uint64_t mtc_period(const struct pt_gen *gen)
{
	return ticks_per_ctc(gen) << gen->config.mtc_freq;
}

static void emit_tsc(struct pt_gen *gen)
{
	struct pt_packet packet = {.type = ppt_tsc};

	packet.payload.tsc.tsc = gen->tsc & 0xffffffffffffff;
	emit(gen, &packet);
	gen->last_cyc = gen->tsc;
	gen->next_mtc = (gen->tsc / mtc_period(gen) + 1) * mtc_period(gen);
	if (!gen->config.mtc)
		return;
	packet.type = ppt_tma;
	packet.payload.tma.ctc = (uint16_t)(gen->tsc / ticks_per_ctc(gen));
	packet.payload.tma.fc = (uint16_t)(gen->tsc % ticks_per_ctc(gen));
	emit(gen, &packet);
}

static void emit_cyc(struct pt_gen *gen, uint64_t tsc)
{
	struct pt_packet packet = {.type = ppt_cyc};

	if (!gen->config.cyc || tsc <= gen->last_cyc)
		return;
	packet.payload.cyc.value = tsc - gen->last_cyc;
	emit(gen, &packet);
	gen->last_cyc = tsc;
}

/* Pending branches */

static void emit_tnt(struct pt_gen *gen)
{
	struct pt_packet packet = {.type = gen->ntnt > TNT_SHORT ? ppt_tnt_64 : ppt_tnt_8};

	packet.payload.tnt.bit_size = (uint8_t)gen->ntnt;
	packet.payload.tnt.payload = gen->tnt;
	emit(gen, &packet);
	gen->tnt = 0;
	gen->ntnt = 0;
}

/* No packet may stand between the TNT and the TIPs that were deferred behind it. */
static void flush_branches(struct pt_gen *gen, uint64_t tsc)
{
	if (!gen->ntnt)
		return;
	emit_cyc(gen, tsc);
	emit_tnt(gen);
	for (uint32_t i = 0; i < gen->ntips; i++)
		emit_ip(gen, ppt_tip, gen->tip[i]);
	gen->ntips = 0;
}

static void add_tnt(struct pt_gen *gen, int taken)
{
	gen->tnt = gen->tnt << 1 | (uint64_t)taken;
	gen->ntnt++;
	if (gen->ntnt == (gen->config.tnt64 ? TNT_LONG : TNT_SHORT))
		flush_branches(gen, gen->tsc);
}

static void add_tip(struct pt_gen *gen, uint64_t ip, int deferrable)
{
	if (gen->config.tnt64 && deferrable && gen->ntnt && gen->ntips < PT_GEN_TIPS) {
		gen->tip[gen->ntips++] = ip;
		return;
	}
	flush_branches(gen, gen->tsc);
	emit_cyc(gen, gen->tsc);
	emit_ip(gen, ppt_tip, ip);
}

static void advance(struct pt_gen *gen, uint64_t tsc)
{
	struct pt_packet packet = {.type = ppt_mtc};

	if (gen->config.mtc && gen->enabled && !gen->overflowed) {
		for (; gen->next_mtc <= tsc; gen->next_mtc += mtc_period(gen)) {
			flush_branches(gen, gen->next_mtc);
			emit_cyc(gen, gen->next_mtc);
			packet.payload.mtc.ctc = (uint8_t)(gen->next_mtc / mtc_period(gen));
			emit(gen, &packet);
		}
	}
	gen->tsc = tsc;
}

/* PSB+ and overflows */

static int psb_due(const struct pt_gen *gen)
{
	return !gen->started || stream_offset(gen) - gen->last_psb >= gen->config.psb_period;
}

/* @ip: where the program is while tracing is enabled. */
static void emit_psb(struct pt_gen *gen, uint64_t ip)
{
	struct pt_packet cbr = {.type = ppt_cbr};

	emit_plain(gen, ppt_psb);
	gen->last_ip = 0;
	forget_returns(gen);
	emit_tsc(gen);
	cbr.payload.cbr.ratio = gen->config.cbr;
	emit(gen, &cbr);
	gen->mode_known = 0;
	if (gen->enabled) {
		emit_mode(gen);
		emit_ip(gen, ppt_fup, ip);
	}
	emit_plain(gen, ppt_psbend);
	gen->started = 1;
	gen->last_psb = stream_offset(gen);
}

static void begin_overflow(struct pt_gen *gen)
{
	gen->overflowed = 1;
	gen->noverflows++;
	gen->lost = 100 + next_random(gen) % 900;
}

static void emit_overflow(struct pt_gen *gen)
{
	emit_plain(gen, ppt_ovf);
	emit_tsc(gen);
	forget_returns(gen);
	gen->last_ip = 0;
	gen->overflowed = 0;
	gen->lost = 0;
	gen->last_overflow = stream_offset(gen);
}

/* Between two instructions, the former of which had a packet. */
static void after_packet(struct pt_gen *gen, uint64_t ip)
{
	const struct pt_gen_config *config = &gen->config;

	if (config->overflow_every && stream_offset(gen) - gen->last_overflow >= config->overflow_every) {
		flush_branches(gen, gen->tsc);
		begin_overflow(gen);
	} else if (psb_due(gen)) {
		flush_branches(gen, gen->tsc);
		emit_cyc(gen, gen->tsc);
		emit_psb(gen, ip);
	}
}

static void retire_lost(struct pt_gen *gen, const struct traced_insn *insn, uint64_t next)
{
	if (gen->lost)
		gen->lost--;
	if (gen->lost || insn->kind == ik_far)
		return;
	emit_overflow(gen);
	emit_ip(gen, ppt_fup, next);
}

/* Branches */

static void retire_call(struct pt_gen *gen, const struct traced_insn *insn, uint64_t next)
{
	uint64_t after = insn->ip + insn->length;

	/* CALL to the next instruction only asks for its own address: there will be no RET. */
	if (insn->kind == ik_call && next == after)
		return;
	returns_push(&gen->keeping, after);
	returns_push(&gen->popping, after);
}

static void retire_ret(struct pt_gen *gen, uint64_t next)
{
	int match = gen->config.retcomp && returns_match(&gen->keeping, next) &&
	            returns_match(&gen->popping, next);

	returns_pop(&gen->popping);
	if (match) {
		returns_pop(&gen->keeping);
		add_tnt(gen, 1);
	} else {
		add_tip(gen, next, 0);
	}
}

int pt_gen_retire(struct pt_gen *gen, uint64_t tsc, const struct traced_insn *insn, uint64_t next)
{
	advance(gen, tsc);
	if (gen->overflowed) {
		retire_lost(gen, insn, next);
		return 0;
	}
	switch (insn->kind) {
	case ik_cond:
		add_tnt(gen, next != insn->ip + insn->length);
		break;
	case ik_call:
		retire_call(gen, insn, next);
		return 1;
	case ik_call_indirect:
		retire_call(gen, insn, next);
		add_tip(gen, next, 1);
		break;
	case ik_jump_indirect:
		add_tip(gen, next, 1);
		break;
	case ik_ret:
		retire_ret(gen, next);
		break;
	default:
		return 1;
	}
	after_packet(gen, next);
	return 1;
}

void pt_gen_enable(struct pt_gen *gen, uint64_t tsc, uint64_t ip)
{
	advance(gen, tsc);
	if (psb_due(gen))
		emit_psb(gen, 0);
	emit_tsc(gen);
	if (!gen->mode_known)
		emit_mode(gen);
	emit_ip(gen, ppt_tip_pge, ip);
	gen->enabled = 1;
}

static void leave(struct pt_gen *gen)
{
	struct pt_packet packet = {.type = ppt_tip_pgd};

	packet.payload.ip.ipc = pt_ipc_suppressed;
	emit(gen, &packet);
}

/* An overflow ends in the kernel at the latest, where nothing is written and the buffer drains. Its OVF does
 * not wait for the next way back, which may be another thread's, or never come. */
void pt_gen_disable(struct pt_gen *gen, uint64_t tsc)
{
	advance(gen, tsc);
	if (gen->overflowed) {
		emit_overflow(gen);
	} else {
		flush_branches(gen, tsc);
		emit_cyc(gen, tsc);
		leave(gen);
	}
	gen->enabled = 0;
}

void pt_gen_interrupt(struct pt_gen *gen, uint64_t tsc, uint64_t ip)
{
	advance(gen, tsc);
	if (gen->overflowed) {
		emit_overflow(gen);
	} else {
		flush_branches(gen, tsc);
		emit_cyc(gen, tsc);
		emit_ip(gen, ppt_fup, ip);
		leave(gen);
	}
	gen->enabled = 0;
}

/* The stream */

int pt_gen_init(struct pt_gen *gen, const struct pt_gen_config *config)
{
	struct pt_config encoding;

	memset(gen, 0, sizeof(*gen));
	gen->config = *config;
	gen->random = config->seed | 1;
	gen->capacity = BUFFER_SIZE;
	gen->buffer = malloc(gen->capacity);
	if (!gen->buffer)
		return -pte_nomem;
	pt_config_init(&encoding);
	encoding.begin = gen->buffer;
	encoding.end = gen->buffer + gen->capacity;
	gen->encoder = pt_alloc_encoder(&encoding);
	if (gen->encoder)
		return 0;
	pt_gen_fini(gen);
	return -pte_nomem;
}

void pt_gen_fini(struct pt_gen *gen)
{
	pt_free_encoder(gen->encoder);
	free(gen->buffer);
	memset(gen, 0, sizeof(*gen));
}

void pt_gen_drop(struct pt_gen *gen, size_t size)
{
	int status;

	memmove(gen->buffer, gen->buffer + size, gen->size - size);
	gen->size -= size;
	gen->offset += size;
	status = pt_enc_sync_set(gen->encoder, gen->size);
	if (status < 0 && !gen->error)
		gen->error = status;
}

void pt_gen_pad(struct pt_gen *gen, size_t alignment)
{
	while (!gen->error && stream_offset(gen) % alignment)
		emit_plain(gen, ppt_pad);
}
