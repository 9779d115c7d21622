/* Reading one Intel PT packet (Intel SDM vol. 3, "Packet Definitions").
 *
 * Two tables say what a packet is: that of packet_form.h by its first byte, and one here by its second for
 * those that begin with 02. A row of the latter gives the type, the size and the function that reads the
 * payload.
 * Reserved bits are not checked: the SDM does not promise zeros. The exception is TMA, where
 * they tell an erratum.
 */
#include "packet/packet_read.h"
#include "packet/bytes.h"
#include "packet/packet_form.h"
#include "packet/psb_search.h"

enum {
	opcode_ext_mnt = 0xc3, /* and a third one, which must be mnt_byte */
	opcode_ext_ovf = 0xf3,
	mnt_byte = 0x88,
};

/* Reads the payload of the packet at @pos; all of its bytes are there. Zero or an error code. */
typedef int read_payload_t(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config);

struct format {
	uint8_t type; /* enum pt_packet_type; ppt_invalid: no such opcode */
	uint8_t size; /* with opcode, in bytes */
	read_payload_t *read;
};

static int read_nothing(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)packet, (void)pos, (void)config;
	return 0;
}

static int read_reserved(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)packet, (void)pos, (void)config;
	return -pte_bad_packet;
}

static int read_tnt_64(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	if (!pt_packet_is_tnt_64(pos)) /* no stop bit, or nothing below it */
		return -pte_bad_packet;
	(void)pt_packet_fill_tnt_64(packet, pos);
	return 0;
}

static int read_mode(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	if (!pt_packet_is_mode(pos))
		return -pte_bad_packet;
	(void)pt_packet_fill_mode(packet, pos);
	return 0;
}

static int read_pip(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	(void)pt_packet_fill_pip(packet, pos);
	return 0;
}

static int read_vmcs(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	(void)pt_packet_fill_vmcs(packet, pos);
	return 0;
}

static int read_cbr(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	(void)pt_packet_fill_cbr(packet, pos);
	return 0;
}

/* SKZ84: a guest's TMA may be garbage with one stray byte behind it. Impossible content gives it away;
 * the whole is handed out as one ppt_invalid, to be skipped. */
static int read_tma(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	if (pt_packet_is_plain_tma(pos)) {
		packet->payload.tma =
		        (struct pt_packet_tma){.ctc = pt_get16(pos + 2), .fc = pt_get16(pos + 5)};
		return 0;
	}
	if (!config->errata.skz84)
		return -pte_bad_packet;
	if (config->end - pos <= packet->size)
		return -pte_eos;
	packet->type = ppt_invalid;
	packet->size++;
	return 0;
}

static int read_psb(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)packet;
	return pt_psb_at(pos, config->end) ? 0 : -pte_bad_packet;
}

static int read_mnt(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	packet->payload.mnt.payload = pt_get64(pos + 3);
	return 0;
}

static int read_exstop(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	packet->payload.exstop = (struct pt_packet_exstop){.ip = !!(pos[1] & 0x80)};
	return 0;
}

static int read_mwait(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	packet->payload.mwait =
	        (struct pt_packet_mwait){.hints = pt_get32(pos + 2), .ext = pt_get32(pos + 6)};
	return 0;
}

static int read_pwre(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	packet->payload.pwre = (struct pt_packet_pwre){
	        .state = pos[3] >> 4, .sub_state = pos[3] & 0xf, .hw = !!(pos[2] & 0x80)};
	return 0;
}

static int read_pwrx(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	packet->payload.pwrx = (struct pt_packet_pwrx){
	        .last = pos[2] >> 4,
	        .deepest = pos[2] & 0xf,
	        .interrupt = !!(pos[3] & 0x01),
	        .store = !!(pos[3] & 0x04),
	        .autonomous = !!(pos[3] & 0x08),
	};
	return 0;
}

static int read_ptw(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	uint8_t plc = pos[1] >> 5 & 3;

	(void)config;
	packet->payload.ptw = (struct pt_packet_ptw){
	        .payload = plc ? pt_get64(pos + 2) : pt_get32(pos + 2), .plc = plc, .ip = !!(pos[1] & 0x80)};
	return 0;
}

static int read_cfe(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	packet->payload.cfe = (struct pt_packet_cfe){
	        .type = (enum pt_cfe_type)(pos[2] & 0x1f), .vector = pos[3], .ip = !!(pos[2] & 0x80)};
	return 0;
}

static int read_evd(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	(void)config;
	packet->payload.evd = (struct pt_packet_evd){.type = (enum pt_evd_type)(pos[2] & 0x3f),
	                                             .payload = pt_get64(pos + 3)};
	return 0;
}

static const struct format extended_formats[256] = {
        [0x03] = {ppt_cbr, 4, read_cbr},
        [0x12] = {ppt_ptw, 6, read_ptw}, /* bits 6:5: size; bit 7: a FUP follows */
        [0x13] = {ppt_cfe, 4, read_cfe},
        [0x22] = {ppt_pwre, 4, read_pwre},
        [0x23] = {ppt_psbend, 2, read_nothing},
        [0x32] = {ppt_ptw, 10, read_ptw},
        [0x43] = {ppt_pip, 8, read_pip},
        [0x52] = {ppt_ptw, 2, read_reserved},
        [0x53] = {ppt_evd, 11, read_evd},
        [0x62] = {ppt_exstop, 2, read_exstop},
        [0x72] = {ppt_ptw, 2, read_reserved},
        [0x73] = {ppt_tma, 7, read_tma},
        [0x82] = {ppt_psb, pt_psb_size, read_psb},
        [0x83] = {ppt_stop, 2, read_nothing},
        [0x92] = {ppt_ptw, 6, read_ptw},
        [0xa2] = {ppt_pwrx, 7, read_pwrx},
        [0xa3] = {ppt_tnt_64, 8, read_tnt_64},
        [0xb2] = {ppt_ptw, 10, read_ptw},
        [0xc2] = {ppt_mwait, 10, read_mwait},
        [opcode_ext_mnt] = {ppt_mnt, 11, read_mnt},
        [0xc8] = {ppt_vmcs, 7, read_vmcs},
        [0xd2] = {ppt_ptw, 2, read_reserved},
        [0xe2] = {ppt_exstop, 2, read_exstop},
        [opcode_ext_ovf] = {ppt_ovf, 2, read_nothing},
        [0xf2] = {ppt_ptw, 2, read_reserved},
};

/* Asks the config's callback about an opcode that we do not know. */
static int read_unknown(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	struct pt_packet_unknown *unknown = &packet->payload.unknown;
	int size;

	if (!config->decode.callback)
		return -pte_bad_opc;
	packet->type = ppt_unknown;
	*unknown = (struct pt_packet_unknown){.packet = pos};
	size = config->decode.callback(unknown, config, pos, config->decode.context);
	if (size < 0)
		return size;
	if (!size) /* not taken: going on would be a loop */
		return -pte_bad_opc;
	if (size > config->end - pos)
		return -pte_eos;
	if (size > UINT8_MAX)
		return -pte_bad_packet;
	packet->size = (uint8_t)size;
	return size;
}

/* SKD007: an OVF may stand in place of all but the first byte of a CYC. As CYCs never follow each other,
 * 02 f3 after a first byte that promises more is that OVF. */
static int cyc_is_cut_by_ovf(const uint8_t *pos, const struct pt_config *config)
{
	return config->errata.skd007 && config->end - pos >= 3 && pos[1] == pt_packet_extended &&
	       pos[2] == opcode_ext_ovf;
}

/* CYC: five bits of the value in the first byte, seven in each further one, lowest first; a bit in each byte
 * says whether another one follows. */
static int read_cyc(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	const uint8_t *byte = pos;
	uint64_t value = *byte >> 3;
	unsigned shift = 5;
	int more = *byte++ & 4;

	if (more && cyc_is_cut_by_ovf(pos, config))
		more = 0;
	while (more) {
		uint64_t bits;

		if (byte == config->end)
			return -pte_eos;
		bits = *byte >> 1;
		more = *byte++ & 1;
		if (shift > 63 || bits << shift >> shift != bits)
			return -pte_bad_packet;
		value |= bits << shift;
		shift += 7;
	}
	packet->type = ppt_cyc;
	packet->size = (uint8_t)(byte - pos);
	packet->payload.cyc.value = value;
	return packet->size;
}

/* What begins with 02, @left bytes before the end of the trace; NULL when its opcode is cut off. */
static const struct format *extended_format(const uint8_t *pos, ptrdiff_t left)
{
	static const struct format none = {0};

	if (left < 2)
		return NULL;
	if (pos[1] == opcode_ext_mnt && left > 2 && pos[2] != mnt_byte)
		return &none;
	return &extended_formats[pos[1]];
}

int pt_packet_type_at(const uint8_t *pos, const struct pt_config *config)
{
	const ptrdiff_t left = config->end - pos;
	const struct format *format;
	int type;

	if (left <= 0)
		return -pte_eos;
	type = (int)pt_packet_forms[*pos].type;
	if (*pos == pt_packet_extended) {
		format = extended_format(pos, left);
		if (!format || (format->type == ppt_mnt && left < 3))
			return -pte_eos;
		type = format->type;
	}
	if (type == ppt_invalid)
		return config->decode.callback ? ppt_unknown : -pte_bad_opc;
	return type;
}

static int read_by_format(struct pt_packet *packet, const struct format *format, const uint8_t *pos,
                          const struct pt_config *config)
{
	int errcode;

	if (config->end - pos < format->size)
		return -pte_eos;
	packet->type = (enum pt_packet_type)format->type;
	packet->size = format->size;
	errcode = format->read(packet, pos, config);
	return errcode < 0 ? errcode : packet->size;
}

static int read_extended(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	const struct format *format = extended_format(pos, config->end - pos);

	if (!format)
		return -pte_eos;
	if (format->type == ppt_invalid)
		return read_unknown(packet, pos, config);
	return read_by_format(packet, format, pos, config);
}

int pt_packet_read_other(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	static const struct format mode = {ppt_mode, 2, read_mode};

	if (*pos == pt_packet_extended)
		return read_extended(packet, pos, config);
	switch (pt_packet_forms[*pos].type) {
	case ppt_mode:
		return read_by_format(packet, &mode, pos, config);
	case ppt_cyc:
		return read_cyc(packet, pos, config);
	case ppt_invalid:
		return read_unknown(packet, pos, config);
	default: /* a reserved compression of an IP */
		return -pte_bad_packet;
	}
}

/* The eight bytes behind the first one; those past the end are zero. A word that was written byte by byte
 * just before would have to be waited for: it is made in a register. */
static uint64_t bytes_behind(const uint8_t *pos, ptrdiff_t left)
{
	uint64_t bytes = 0;

	if (left >= pt_packet_form_room)
		return pt_get64(pos + 1);
	while (--left > 0)
		bytes = bytes << 8 | pos[left];
	return bytes;
}

int pt_packet_read(struct pt_packet *packet, const uint8_t *pos, const struct pt_config *config)
{
	const ptrdiff_t left = config->end - pos;
	int size;

	if (left <= 0)
		return -pte_eos;
	size = pt_packet_forms[*pos].size;
	if (!size)
		return pt_packet_read_other(packet, pos, config);
	if (left < size)
		return -pte_eos;
	pt_packet_fill(packet, &pt_packet_forms[*pos], bytes_behind(pos, left));
	return size;
}
