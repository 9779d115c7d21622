/* Writing one Intel PT packet (Intel SDM vol. 3, "Packet Definitions").
 *
 * A table by packet type gives the opcode and the function that writes the payload behind it. A packet
 * is composed in a buffer of its own first, so that nothing is written when it does not fit.
 * Addresses and time stamps are cut to the bits the packet has room for; other fields must fit.
 */
#include "packet/packet_write.h"
#include "packet/bytes.h"
#include "packet/psb_search.h"

enum { max_packet_size = 16 };

/* Writes the payload, which begins at @payload; opcode bytes are before it and may be completed.
 * Returns the payload's size or an error code. */
typedef int write_payload_t(uint8_t *payload, const struct pt_packet *packet);

struct format {
	uint8_t opcode[3];
	uint8_t opcode_size; /* zero: cannot be written */
	write_payload_t *write;
};

static int write_nothing(uint8_t *payload, const struct pt_packet *packet)
{
	(void)payload, (void)packet;
	return 0;
}

static int write_psb(uint8_t *payload, const struct pt_packet *packet)
{
	(void)packet;
	for (int i = 0; i < pt_psb_size - 2; i += 2)
		pt_put(payload + i, 0x8202, 2);
	return pt_psb_size - 2;
}

static int write_ip(uint8_t *payload, const struct pt_packet *packet)
{
	static const int8_t sizes[8] = {0, 2, 4, 6, 6, -1, 8, -1};
	const struct pt_packet_ip *ip = &packet->payload.ip;
	unsigned ipc = (unsigned)ip->ipc;

	if (ipc >= sizeof(sizes) || sizes[ipc] < 0)
		return -pte_bad_packet;
	payload[-1] = (uint8_t)(payload[-1] | ipc << 5);
	pt_put(payload, ip->ip, (size_t)sizes[ipc]);
	return sizes[ipc];
}

/* The payload with its stop bit; zero when it is not between one and @max bits. */
static uint64_t tnt_with_stop(const struct pt_packet_tnt *tnt, uint8_t max)
{
	if (!tnt->bit_size || tnt->bit_size > max || tnt->payload >> tnt->bit_size)
		return 0;
	return tnt->payload | 1ull << tnt->bit_size;
}

static int write_tnt_8(uint8_t *payload, const struct pt_packet *packet)
{
	uint64_t bits = tnt_with_stop(&packet->payload.tnt, 6);

	payload[-1] = (uint8_t)(bits << 1); /* opcode bit: zero */
	return bits ? 0 : -pte_bad_packet;
}

static int write_tnt_64(uint8_t *payload, const struct pt_packet *packet)
{
	uint64_t bits = tnt_with_stop(&packet->payload.tnt, 47);

	pt_put(payload, bits, 6);
	return bits ? 6 : -pte_bad_packet;
}

static int write_mode(uint8_t *payload, const struct pt_packet *packet)
{
	const struct pt_packet_mode *mode = &packet->payload.mode;

	switch (mode->leaf) {
	case pt_mol_exec:
		*payload = (uint8_t)(pt_mol_exec | mode->bits.exec.csl | mode->bits.exec.csd << 1 |
		                     mode->bits.exec.iflag << 2);
		return 1;
	case pt_mol_tsx:
		*payload = (uint8_t)(pt_mol_tsx | mode->bits.tsx.intx | mode->bits.tsx.abrt << 1);
		return 1;
	}
	return -pte_bad_packet;
}

static int write_pip(uint8_t *payload, const struct pt_packet *packet)
{
	pt_put(payload, packet->payload.pip.cr3 >> 5 << 1 | packet->payload.pip.nr, 6);
	return 6;
}

static int write_vmcs(uint8_t *payload, const struct pt_packet *packet)
{
	pt_put(payload, packet->payload.vmcs.base >> 12, 5);
	return 5;
}

static int write_cbr(uint8_t *payload, const struct pt_packet *packet)
{
	pt_put(payload, packet->payload.cbr.ratio, 2);
	return 2;
}

static int write_tsc(uint8_t *payload, const struct pt_packet *packet)
{
	pt_put(payload, packet->payload.tsc.tsc, 7);
	return 7;
}

static int write_tma(uint8_t *payload, const struct pt_packet *packet)
{
	if (packet->payload.tma.fc > 0x1ff)
		return -pte_bad_packet;
	pt_put(payload, packet->payload.tma.ctc, 3);
	pt_put(payload + 3, packet->payload.tma.fc, 2);
	return 5;
}

static int write_mtc(uint8_t *payload, const struct pt_packet *packet)
{
	*payload = packet->payload.mtc.ctc;
	return 1;
}

static int write_cyc(uint8_t *payload, const struct pt_packet *packet)
{
	uint64_t value = packet->payload.cyc.value;
	int size = 0;

	payload[-1] = (uint8_t)(payload[-1] | (value & 0x1f) << 3 | (uint64_t)(value > 0x1f) << 2);
	for (value >>= 5; value; value >>= 7)
		payload[size++] = (uint8_t)((value & 0x7f) << 1 | (value > 0x7f));
	return size;
}

static int write_mnt(uint8_t *payload, const struct pt_packet *packet)
{
	pt_put(payload, packet->payload.mnt.payload, 8);
	return 8;
}

static int write_exstop(uint8_t *payload, const struct pt_packet *packet)
{
	payload[-1] = (uint8_t)(payload[-1] | packet->payload.exstop.ip << 7);
	return 0;
}

static int write_mwait(uint8_t *payload, const struct pt_packet *packet)
{
	pt_put(payload, packet->payload.mwait.hints, 4);
	pt_put(payload + 4, packet->payload.mwait.ext, 4);
	return 8;
}

static int write_pwre(uint8_t *payload, const struct pt_packet *packet)
{
	const struct pt_packet_pwre *pwre = &packet->payload.pwre;

	if (pwre->state > 0xf || pwre->sub_state > 0xf)
		return -pte_bad_packet;
	payload[0] = (uint8_t)(pwre->hw << 7);
	payload[1] = (uint8_t)(pwre->state << 4 | pwre->sub_state);
	return 2;
}

static int write_pwrx(uint8_t *payload, const struct pt_packet *packet)
{
	const struct pt_packet_pwrx *pwrx = &packet->payload.pwrx;

	if (pwrx->last > 0xf || pwrx->deepest > 0xf)
		return -pte_bad_packet;
	payload[0] = (uint8_t)(pwrx->last << 4 | pwrx->deepest);
	pt_put(payload + 1, (uint64_t)(pwrx->interrupt | pwrx->store << 2 | pwrx->autonomous << 3), 4);
	return 5;
}

static int write_ptw(uint8_t *payload, const struct pt_packet *packet)
{
	const struct pt_packet_ptw *ptw = &packet->payload.ptw;
	int size = pt_ptw_size(ptw->plc);

	if (size < 0 || (size == 4 && ptw->payload > UINT32_MAX))
		return -pte_bad_packet;
	payload[-1] = (uint8_t)(payload[-1] | ptw->plc << 5 | ptw->ip << 7);
	pt_put(payload, ptw->payload, (size_t)size);
	return size;
}

static int write_cfe(uint8_t *payload, const struct pt_packet *packet)
{
	const struct pt_packet_cfe *cfe = &packet->payload.cfe;

	if ((unsigned)cfe->type > 0x1f)
		return -pte_bad_packet;
	payload[0] = (uint8_t)((unsigned)cfe->type | (uint32_t)cfe->ip << 7);
	payload[1] = cfe->vector;
	return 2;
}

static int write_evd(uint8_t *payload, const struct pt_packet *packet)
{
	const struct pt_packet_evd *evd = &packet->payload.evd;

	if ((unsigned)evd->type > 0x3f)
		return -pte_bad_packet;
	payload[0] = (uint8_t)evd->type;
	pt_put(payload + 1, evd->payload, 8);
	return 9;
}

/* TRIG is missing: see packet_read.c. */
static const struct format formats[] = {
        [ppt_pad] = {{0x00}, 1, write_nothing},
        [ppt_psb] = {{0x02, 0x82}, 2, write_psb},
        [ppt_psbend] = {{0x02, 0x23}, 2, write_nothing},
        [ppt_fup] = {{0x1d}, 1, write_ip},
        [ppt_tip] = {{0x0d}, 1, write_ip},
        [ppt_tip_pge] = {{0x11}, 1, write_ip},
        [ppt_tip_pgd] = {{0x01}, 1, write_ip},
        [ppt_tnt_8] = {{0x00}, 1, write_tnt_8},
        [ppt_tnt_64] = {{0x02, 0xa3}, 2, write_tnt_64},
        [ppt_mode] = {{0x99}, 1, write_mode},
        [ppt_pip] = {{0x02, 0x43}, 2, write_pip},
        [ppt_vmcs] = {{0x02, 0xc8}, 2, write_vmcs},
        [ppt_cbr] = {{0x02, 0x03}, 2, write_cbr},
        [ppt_tsc] = {{0x19}, 1, write_tsc},
        [ppt_tma] = {{0x02, 0x73}, 2, write_tma},
        [ppt_mtc] = {{0x59}, 1, write_mtc},
        [ppt_cyc] = {{0x03}, 1, write_cyc},
        [ppt_stop] = {{0x02, 0x83}, 2, write_nothing},
        [ppt_ovf] = {{0x02, 0xf3}, 2, write_nothing},
        [ppt_mnt] = {{0x02, 0xc3, 0x88}, 3, write_mnt},
        [ppt_exstop] = {{0x02, 0x62}, 2, write_exstop},
        [ppt_mwait] = {{0x02, 0xc2}, 2, write_mwait},
        [ppt_pwre] = {{0x02, 0x22}, 2, write_pwre},
        [ppt_pwrx] = {{0x02, 0xa2}, 2, write_pwrx},
        [ppt_ptw] = {{0x02, 0x12}, 2, write_ptw},
        [ppt_cfe] = {{0x02, 0x13}, 2, write_cfe},
        [ppt_evd] = {{0x02, 0x53}, 2, write_evd},
};

int pt_packet_write(uint8_t *pos, const struct pt_packet *packet, const struct pt_config *config)
{
	unsigned type = (unsigned)packet->type;
	const struct format *format =
	        &formats[type < sizeof(formats) / sizeof(*formats) ? type : ppt_invalid];
	uint8_t bytes[max_packet_size];
	int size;

	if (!format->opcode_size)
		return -pte_bad_opc;
	memcpy(bytes, format->opcode, sizeof(format->opcode));
	size = format->write(bytes + format->opcode_size, packet);
	if (size < 0)
		return size;
	size += format->opcode_size;
	if (size > config->end - pos)
		return -pte_eos;
	memcpy(pos, bytes, (size_t)size);
	return size;
}
