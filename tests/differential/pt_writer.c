/* pt_writer.c - see pt_writer.h. Formats: Intel SDM, volume 3, "Packet Definitions". */
#include "pt_writer.h"

#include <stdlib.h>
#include <string.h>

void pt_bytes(struct pt_writer *writer, const void *bytes, size_t size)
{
	if (writer->size + size > writer->room) {
		writer->room = 2 * writer->room + size + 256;
		writer->bytes = realloc(writer->bytes, writer->room);
		if (!writer->bytes)
			abort();
	}
	memcpy(writer->bytes + writer->size, bytes, size);
	writer->size += size;
}

/* The low @size bytes of @value. */
static void put_number(struct pt_writer *writer, uint64_t value, size_t size)
{
	pt_bytes(writer, &value, size);
}

static void put_opcode(struct pt_writer *writer, uint8_t extended)
{
	const uint8_t bytes[2] = {0x02, extended};

	while (random_hit(writer->random, writer->pad_rate))
		put_number(writer, 0, 1);
	pt_bytes(writer, bytes, 2);
}

/* ---- TNT and TIP ---- */

static void put_tnt(struct pt_writer *writer, uint64_t bits, unsigned count)
{
	if (!count)
		return;
	if (count <= 6 && !(writer->long_tnt && random_hit(writer->random, 300))) {
		put_number(writer, (1ull << count | bits) << 1, 1);
		return;
	}
	put_opcode(writer, 0xa3);
	put_number(writer, 1ull << count | bits, 6);
}

/* The lowest sizes that say all, or a longer one. */
static unsigned choose_compression(struct pt_writer *writer, uint64_t ip)
{
	uint64_t last = writer->last_ip;
	unsigned fits[6], count = 0;

	if (writer->last_unknown)
		return 6;
	if (ip >> 16 == last >> 16)
		fits[count++] = 1;
	if (ip >> 32 == last >> 32)
		fits[count++] = 2;
	if (ip >> 48 == last >> 48)
		fits[count++] = 4;
	if ((uint64_t)((int64_t)(ip << 16) >> 16) == ip)
		fits[count++] = 3;
	fits[count++] = 6;
	return random_hit(writer->random, 700) ? fits[0] : fits[random_below(writer->random, count)];
}

static void put_ip(struct pt_writer *writer, enum ip_packet type, uint64_t ip)
{
	static const uint8_t sizes[] = {0, 2, 4, 6, 6, 0, 8};
	unsigned compression = choose_compression(writer, ip);

	put_number(writer, (uint64_t)type | compression << 5, 1);
	put_number(writer, ip, sizes[compression]);
	writer->last_ip = ip;
	writer->last_unknown = 0;
}

void pt_flush(struct pt_writer *writer)
{
	put_tnt(writer, writer->tnt, writer->ntnt);
	writer->tnt = 0;
	writer->ntnt = 0;
	for (unsigned i = 0; i < writer->ntips; ++i)
		put_ip(writer, ip_tip, writer->tip[i]);
	writer->ntips = 0;
}

void pt_branch(struct pt_writer *writer, int taken)
{
	writer->tnt = writer->tnt << 1 | (taken != 0);
	if (++writer->ntnt == (writer->long_tnt ? 47u : 6u) ||
	    random_hit(writer->random, writer->early_tnt_rate))
		pt_flush(writer);
}

/* With deferred TIPs, a TIP waits for the TNT packet to fill up. */
void pt_tip(struct pt_writer *writer, uint64_t ip)
{
	if (writer->defer_tips && writer->ntnt && writer->ntips < writer_max_tips) {
		writer->tip[writer->ntips++] = ip;
		return;
	}
	pt_flush(writer);
	put_ip(writer, ip_tip, ip);
}

void pt_ip(struct pt_writer *writer, enum ip_packet type, uint64_t ip)
{
	pt_flush(writer);
	put_ip(writer, type, ip);
}

void pt_ip_suppressed(struct pt_writer *writer, enum ip_packet type)
{
	pt_flush(writer);
	put_number(writer, type, 1);
}

/* ---- The others ---- */

static void put_extended(struct pt_writer *writer, uint8_t opcode)
{
	pt_flush(writer);
	put_opcode(writer, opcode);
}

void pt_psb(struct pt_writer *writer)
{
	pt_flush(writer);
	for (int i = 0; i < 8; ++i)
		pt_bytes(writer, "\2\x82", 2);
	writer->last_ip = 0;
	writer->last_unknown = 0;
}

void pt_ovf(struct pt_writer *writer)
{
	writer->ntnt = writer->ntips = 0;
	writer->tnt = 0;
	put_opcode(writer, 0xf3);
	writer->last_unknown = 1;
}

void pt_psbend(struct pt_writer *writer)
{
	put_extended(writer, 0x23);
}

void pt_mode_exec(struct pt_writer *writer, int mode)
{
	static const uint8_t bits[] = {0, 0, 2, 1};

	pt_flush(writer);
	put_number(writer, 0x99, 1);
	put_number(writer, bits[mode & 3], 1);
}

void pt_mode_tsx(struct pt_writer *writer, int speculative, int aborted)
{
	pt_flush(writer);
	put_number(writer, 0x99, 1);
	put_number(writer, 0x20u | (speculative != 0) | (aborted ? 2u : 0u), 1);
}

void pt_pip(struct pt_writer *writer, uint64_t cr3, int non_root)
{
	put_extended(writer, 0x43);
	put_number(writer, cr3 >> 5 << 1 | (non_root != 0), 6);
}

void pt_vmcs(struct pt_writer *writer, uint64_t base)
{
	put_extended(writer, 0xc8);
	put_number(writer, base >> 12, 5);
}

void pt_cbr(struct pt_writer *writer, uint8_t ratio)
{
	put_extended(writer, 0x03);
	put_number(writer, ratio, 2);
}

void pt_stop(struct pt_writer *writer)
{
	put_extended(writer, 0x83);
}

void pt_mnt(struct pt_writer *writer, uint64_t payload)
{
	put_extended(writer, 0xc3);
	put_number(writer, 0x88, 1);
	put_number(writer, payload, 8);
}

void pt_exstop(struct pt_writer *writer, int ip)
{
	put_extended(writer, ip ? 0xe2 : 0x62);
}

void pt_mwait(struct pt_writer *writer, uint8_t hints, uint8_t ext)
{
	put_extended(writer, 0xc2);
	put_number(writer, hints, 4);
	put_number(writer, ext & 3u, 4);
}

void pt_pwre(struct pt_writer *writer, uint8_t state, uint8_t sub_state, int hw)
{
	put_extended(writer, 0x22);
	put_number(writer, hw ? 0x80 : 0, 1);
	put_number(writer, (state & 15u) << 4 | (sub_state & 15u), 1);
}

void pt_pwrx(struct pt_writer *writer, uint8_t last, uint8_t deepest, uint8_t reason)
{
	put_extended(writer, 0xa2);
	put_number(writer, (last & 15u) << 4 | (deepest & 15u), 1);
	put_number(writer, reason & 15u, 4);
}

void pt_ptw(struct pt_writer *writer, uint64_t payload, int quad, int ip)
{
	put_extended(writer, (uint8_t)(0x12 | (quad ? 0x20 : 0) | (ip ? 0x80 : 0)));
	put_number(writer, payload, quad ? 8 : 4);
}

/* ---- Time ---- */

void pt_tsc(struct pt_writer *writer, uint64_t tsc)
{
	put_number(writer, 0x19, 1);
	put_number(writer, tsc, 7);
}

void pt_tma(struct pt_writer *writer, uint16_t ctc, uint16_t fc)
{
	put_opcode(writer, 0x73);
	put_number(writer, ctc, 2);
	put_number(writer, 0, 1);
	put_number(writer, fc & 0x1ffu, 2);
}

void pt_mtc(struct pt_writer *writer, uint8_t ctc)
{
	put_number(writer, 0x59, 1);
	put_number(writer, ctc, 1);
}

void pt_cyc(struct pt_writer *writer, uint64_t cycles)
{
	uint64_t byte = (cycles & 0x1f) << 3 | 3;

	cycles >>= 5;
	put_number(writer, byte | (cycles ? 4 : 0), 1);
	while (cycles) {
		byte = (cycles & 0x7f) << 1;
		cycles >>= 7;
		put_number(writer, byte | (cycles ? 1 : 0), 1);
	}
}
