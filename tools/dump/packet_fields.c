/* packet_fields.c - see packet_fields.h. A table by packet type: the name, and the function that lists
 * the fields. */
#include "dump/packet_fields.h"

#include <string.h>

#include "sink/text.h"

/* ---- Fields ----------------------------------------------------------------------------------- */

static struct packet_field *add(struct packet_fields *fields, const char *name, enum field_kind kind,
                                uint64_t value)
{
	struct packet_field *field = &fields->field[fields->count++];

	*field = (struct packet_field){.name = name, .value = value, .kind = (uint8_t)kind};
	return field;
}

static void add_bare(struct packet_fields *fields, const char *name, enum field_kind kind, uint64_t value)
{
	add(fields, name, kind, value)->bare = true;
}

static void add_word(struct packet_fields *fields, const char *name, const char *word, bool bare)
{
	struct packet_field *field = add(fields, name, field_word, 0);

	field->word = word;
	field->bare = bare;
}

/* A name from a table, or the number where the SDM has none. */
static void add_type(struct packet_fields *fields, const char *const *names, unsigned int count,
                     unsigned int type)
{
	if (type < count && names[type])
		add_word(fields, "type", names[type], true);
	else
		add(fields, "type", field_decimal, type);
}

static void list_tnt(struct packet_fields *fields, const struct pt_packet *packet)
{
	add_bare(fields, "tnt", field_tnt, packet->payload.tnt.payload);
	fields->field[0].width = packet->payload.tnt.bit_size;
}

static void list_ip(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "ipc", field_decimal, packet->payload.ip.ipc);
	add_bare(fields, "payload", field_ip, packet->payload.ip.ip);
	fields->field[1].width = (uint8_t)packet->payload.ip.ipc;
}

static void list_mode(struct packet_fields *fields, const struct pt_packet *packet)
{
	static const char *const modes[] = {"unknown", "16-bit", "32-bit", "64-bit"};
	const struct pt_packet_mode *mode = &packet->payload.mode;

	if (mode->leaf == pt_mol_tsx) {
		fields->name = "mode.tsx";
		add(fields, "intx", field_flag, mode->bits.tsx.intx);
		add(fields, "abrt", field_flag, mode->bits.tsx.abrt);
		return;
	}
	add_word(fields, "mode", modes[pt_get_exec_mode(&mode->bits.exec)], true);
	add(fields, "if", field_flag, mode->bits.exec.iflag);
}

static void list_pip(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "cr3", field_hex, packet->payload.pip.cr3);
	add(fields, "nr", field_flag, packet->payload.pip.nr);
}

static void list_vmcs(struct packet_fields *fields, const struct pt_packet *packet)
{
	add_bare(fields, "base", field_hex, packet->payload.vmcs.base);
}

static void list_cbr(struct packet_fields *fields, const struct pt_packet *packet)
{
	add_bare(fields, "ratio", field_decimal, packet->payload.cbr.ratio);
}

static void list_tsc(struct packet_fields *fields, const struct pt_packet *packet)
{
	add_bare(fields, "tsc", field_hex, packet->payload.tsc.tsc);
}

static void list_tma(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "ctc", field_hex, packet->payload.tma.ctc);
	add(fields, "fc", field_decimal, packet->payload.tma.fc);
}

static void list_mtc(struct packet_fields *fields, const struct pt_packet *packet)
{
	add_bare(fields, "ctc", field_hex, packet->payload.mtc.ctc);
}

static void list_cyc(struct packet_fields *fields, const struct pt_packet *packet)
{
	add_bare(fields, "cycles", field_decimal, packet->payload.cyc.value);
}

static void list_mnt(struct packet_fields *fields, const struct pt_packet *packet)
{
	add_bare(fields, "payload", field_hex, packet->payload.mnt.payload);
}

static void list_exstop(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "ip", field_flag, packet->payload.exstop.ip);
}

static void list_mwait(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "hints", field_hex, packet->payload.mwait.hints);
	add(fields, "ext", field_hex, packet->payload.mwait.ext);
}

static void list_pwre(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "state", field_decimal, packet->payload.pwre.state);
	add(fields, "sub_state", field_decimal, packet->payload.pwre.sub_state);
	add(fields, "hw", field_flag, packet->payload.pwre.hw);
}

static void list_pwrx(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "last", field_decimal, packet->payload.pwrx.last);
	add(fields, "deepest", field_decimal, packet->payload.pwrx.deepest);
	add(fields, "interrupt", field_flag, packet->payload.pwrx.interrupt);
	add(fields, "store", field_flag, packet->payload.pwrx.store);
	add(fields, "autonomous", field_flag, packet->payload.pwrx.autonomous);
}

static void list_ptw(struct packet_fields *fields, const struct pt_packet *packet)
{
	const int size = pt_ptw_size(packet->payload.ptw.plc);

	/* Its digits tell how large the operand was. */
	add_bare(fields, "payload", field_hex, packet->payload.ptw.payload);
	fields->field[0].width = (uint8_t)(2 * size);
	add(fields, "ip", field_flag, packet->payload.ptw.ip);
}

static void list_cfe(struct packet_fields *fields, const struct pt_packet *packet)
{
	static const char *const types[] = {
	        [pt_cfe_intr] = "intr",
	        [pt_cfe_iret] = "iret",
	        [pt_cfe_smi] = "smi",
	        [pt_cfe_rsm] = "rsm",
	        [pt_cfe_sipi] = "sipi",
	        [pt_cfe_init] = "init",
	        [pt_cfe_vmentry] = "vmentry",
	        [pt_cfe_vmexit] = "vmexit",
	        [pt_cfe_vmexit_intr] = "vmexit_intr",
	        [pt_cfe_shutdown] = "shutdown",
	        [pt_cfe_uintr] = "uintr",
	        [pt_cfe_uiret] = "uiret",
	        [pt_cfe_swintr] = "swintr",
	        [pt_cfe_syscall] = "syscall",
	};

	add_type(fields, types, sizeof(types) / sizeof(types[0]), (unsigned int)packet->payload.cfe.type);
	add(fields, "vector", field_decimal, packet->payload.cfe.vector);
	add(fields, "ip", field_flag, packet->payload.cfe.ip);
}

static void list_evd(struct packet_fields *fields, const struct pt_packet *packet)
{
	static const char *const types[] = {
	        [pt_evd_cr2] = "cr2", [pt_evd_vmxq] = "vmxq", [pt_evd_vmxr] = "vmxr"};

	add_type(fields, types, sizeof(types) / sizeof(types[0]), (unsigned int)packet->payload.evd.type);
	add_bare(fields, "payload", field_hex, packet->payload.evd.payload);
}

static void list_trig(struct packet_fields *fields, const struct pt_packet *packet)
{
	add(fields, "trbv", field_hex, packet->payload.trig.trbv);
	if (packet->payload.trig.icntv)
		add(fields, "icnt", field_decimal, packet->payload.trig.icnt);
	add(fields, "mult", field_flag, packet->payload.trig.mult);
	add(fields, "ip", field_flag, packet->payload.trig.ip);
}

/* Bytes that the packet decoder tells to skip. */
static void list_garbage(struct packet_fields *fields, const struct pt_packet *packet)
{
	(void)packet;
	add_word(fields, "erratum", "SKZ84", false);
}

static const struct {
	const char *name; /* NULL: none such */
	void (*list)(struct packet_fields *fields, const struct pt_packet *packet);
	bool in_psb_header;
} formats[] = {
        [ppt_invalid] = {"garbage", list_garbage, true},
        [ppt_pad] = {"pad", NULL, true},
        [ppt_psb] = {"psb", NULL, false},
        [ppt_psbend] = {"psbend", NULL, false},
        [ppt_fup] = {"fup", list_ip, true},
        [ppt_tip] = {"tip", list_ip, false},
        [ppt_tip_pge] = {"tip.pge", list_ip, false},
        [ppt_tip_pgd] = {"tip.pgd", list_ip, false},
        [ppt_tnt_8] = {"tnt.8", list_tnt, false},
        [ppt_tnt_64] = {"tnt.64", list_tnt, false},
        [ppt_mode] = {"mode.exec", list_mode, true},
        [ppt_pip] = {"pip", list_pip, true},
        [ppt_vmcs] = {"vmcs", list_vmcs, true},
        [ppt_cbr] = {"cbr", list_cbr, true},
        [ppt_tsc] = {"tsc", list_tsc, true},
        [ppt_tma] = {"tma", list_tma, true},
        [ppt_mtc] = {"mtc", list_mtc, true},
        [ppt_cyc] = {"cyc", list_cyc, true},
        [ppt_stop] = {"stop", NULL, false},
        [ppt_ovf] = {"ovf", NULL, false},
        [ppt_mnt] = {"mnt", list_mnt, true},
        [ppt_exstop] = {"exstop", list_exstop, false},
        [ppt_mwait] = {"mwait", list_mwait, false},
        [ppt_pwre] = {"pwre", list_pwre, false},
        [ppt_pwrx] = {"pwrx", list_pwrx, false},
        [ppt_ptw] = {"ptw", list_ptw, false},
        [ppt_cfe] = {"cfe", list_cfe, false},
        [ppt_evd] = {"evd", list_evd, false},
        [ppt_trig] = {"trig", list_trig, false},
};

void packet_fields(struct packet_fields *fields, const struct pt_packet *packet)
{
	const unsigned int type = (unsigned int)packet->type;

	fields->count = 0;
	fields->name = "unknown";
	if (type >= sizeof(formats) / sizeof(formats[0]) || !formats[type].name)
		return;
	fields->name = formats[type].name;
	if (formats[type].list)
		formats[type].list(fields, packet);
}

bool packet_in_psb_header(enum pt_packet_type type)
{
	return (unsigned int)type < sizeof(formats) / sizeof(formats[0]) && formats[type].in_psb_header;
}

/* ---- Their values as text --------------------------------------------------------------------- */

/* All 16 digits of @value. */
static char *hex16(char *at, uint64_t value)
{
	const uint64_t digits[2] = {text_hex8((uint32_t)(value >> 32)), text_hex8((uint32_t)value)};

	memcpy(at, digits, sizeof(digits));
	return at + sizeof(digits);
}

/* Digits that the packet does not hold are question marks; what sign extension gives is known. */
static char *ip_text(char *at, uint64_t ip, uint8_t ipc)
{
	static const uint8_t unknown[8] = {[pt_ipc_suppressed] = 16,
	                                   [pt_ipc_update_16] = 12,
	                                   [pt_ipc_update_32] = 8,
	                                   [pt_ipc_update_48] = 4};

	if (ipc == pt_ipc_sext_48)
		ip = (uint64_t)((int64_t)(ip << 16) >> 16);
	hex16(at, ip);
	memset(at, '?', unknown[ipc & 7]);
	return at + 16;
}

static char *hex_text(char *at, uint64_t value, uint8_t digits)
{
	char full[16];
	unsigned int skip = 0;

	hex16(full, value);
	while (skip < 15 && full[skip] == '0' && 16u - skip > digits)
		skip++;
	*at++ = '0';
	*at++ = 'x';
	memcpy(at, full + skip, 16 - skip);
	return at + (16 - skip);
}

static char *word_text(char *at, const char *word)
{
	const size_t length = strlen(word);

	memcpy(at, word, length);
	return at + length;
}

char *field_text(char *at, const struct packet_field *field)
{
	switch ((enum field_kind)field->kind) {
	case field_decimal:
		return text_u64(at, field->value);
	case field_hex:
		return hex_text(at, field->value, field->width);
	case field_flag:
		*at++ = field->value ? '1' : '0';
		return at;
	case field_word:
		return word_text(at, field->word);
	case field_tnt:
		for (unsigned int i = field->width; i-- > 0;)
			*at++ = field->value >> i & 1 ? 'T' : 'N';
		return at;
	case field_ip:
		return ip_text(at, field->value, field->width);
	}
	return at;
}
