/* packet_text.c - see packet_text.h. */
#include "packet_text.h"

#include <inttypes.h>
#include <string.h>

#include "names.h"

enum { max_words = 16 };

/* The other side of a packet: words to read fields from, or a stream to write them to. */
struct side {
	FILE *out; /* NULL: read */
	const struct program *program;
	char *word[max_words]; /* NULL: used up */
	size_t nwords;
	const char *error;
};

/* How each packet's name stands for its type and, with MODE, its leaf. */
static const struct row {
	const char *name;
	enum pt_packet_type type;
	enum pt_mode_leaf leaf;
} rows[] = {
        {"pad", ppt_pad, pt_mol_exec},         {"psb", ppt_psb, pt_mol_exec},
        {"psbend", ppt_psbend, pt_mol_exec},   {"fup", ppt_fup, pt_mol_exec},
        {"tip", ppt_tip, pt_mol_exec},         {"tip.pge", ppt_tip_pge, pt_mol_exec},
        {"tip.pgd", ppt_tip_pgd, pt_mol_exec}, {"tnt", ppt_tnt_8, pt_mol_exec},
        {"tnt64", ppt_tnt_64, pt_mol_exec},    {"mode.exec", ppt_mode, pt_mol_exec},
        {"mode.tsx", ppt_mode, pt_mol_tsx},    {"pip", ppt_pip, pt_mol_exec},
        {"vmcs", ppt_vmcs, pt_mol_exec},       {"cbr", ppt_cbr, pt_mol_exec},
        {"tsc", ppt_tsc, pt_mol_exec},         {"tma", ppt_tma, pt_mol_exec},
        {"mtc", ppt_mtc, pt_mol_exec},         {"cyc", ppt_cyc, pt_mol_exec},
        {"stop", ppt_stop, pt_mol_exec},       {"ovf", ppt_ovf, pt_mol_exec},
        {"mnt", ppt_mnt, pt_mol_exec},         {"exstop", ppt_exstop, pt_mol_exec},
        {"mwait", ppt_mwait, pt_mol_exec},     {"pwre", ppt_pwre, pt_mol_exec},
        {"pwrx", ppt_pwrx, pt_mol_exec},       {"ptw", ppt_ptw, pt_mol_exec},
        {"cfe", ppt_cfe, pt_mol_exec},         {"evd", ppt_evd, pt_mol_exec},
        {"trig", ppt_trig, pt_mol_exec},       {"unknown", ppt_unknown, pt_mol_exec},
        {"invalid", ppt_invalid, pt_mol_exec},
};

const char *const packet_names[] = {
        "pad",   "psb",       "psbend",   "fup", "tip",  "tip.pge", "tip.pgd", "tnt",
        "tnt64", "mode.exec", "mode.tsx", "pip", "vmcs", "cbr",     "tsc",     "tma",
        "mtc",   "cyc",       "stop",     "ovf", "mnt",  "exstop",  "mwait",   "pwre",
        "pwrx",  "ptw",       "cfe",      "evd", "trig", "unknown", "invalid", NULL,
};

/* A word that is no "key=value"; NULL: there is none. */
static char *take_bare(struct side *side)
{
	for (size_t i = 0; i < side->nwords; ++i) {
		char *word = side->word[i];

		if (word && !strchr(word, '=')) {
			side->word[i] = NULL;
			return word;
		}
	}
	return NULL;
}

static const char *take_value(struct side *side, const char *key)
{
	const size_t size = strlen(key);

	for (size_t i = 0; i < side->nwords; ++i) {
		const char *word = side->word[i];

		if (word && !strncmp(word, key, size) && word[size] == '=') {
			side->word[i] = NULL;
			return word + size + 1;
		}
	}
	return NULL;
}

/* The field @key, in or out. */
static uint64_t field(struct side *side, const char *key, uint64_t value)
{
	const char *text;

	if (side->out) {
		fprintf(side->out, " %s=%#" PRIx64, key, value);
		return value;
	}
	text = take_value(side, key);
	if (text && program_value(side->program, text, &value) < 0)
		side->error = "not a value";
	return value;
}

#define FIELD(key, place, type) (place) = (type)field(side, (key), (uint64_t)(place))
#define BIT(key, place)         (place) = field(side, (key), (place)) & 1

static void tnt(struct side *side, struct pt_packet_tnt *tnt)
{
	const char *bits;

	if (side->out) {
		fputc(' ', side->out);
		for (unsigned i = tnt->bit_size; i-- > 0;)
			fputc(tnt->payload >> i & 1 ? 't' : 'n', side->out);
		return;
	}
	bits = take_bare(side);
	for (; bits && *bits; ++bits) {
		if (*bits != 't' && *bits != 'n')
			side->error = "neither t nor n";
		tnt->payload = tnt->payload << 1 | (*bits == 't');
		tnt->bit_size += 1;
	}
}

static void ip(struct side *side, struct pt_packet_ip *packet)
{
	static const uint64_t mask[8] = {
	        [pt_ipc_update_16] = 0xffff,       [pt_ipc_update_32] = 0xffffffff,
	        [pt_ipc_sext_48] = 0xffffffffffff, [pt_ipc_update_48] = 0xffffffffffff,
	        [pt_ipc_full] = UINT64_MAX,
	};
	const char *address;
	uint64_t value = 0;

	if (side->out) {
		fprintf(side->out, " ipc=%u", (unsigned)packet->ipc);
		if (packet->ipc != pt_ipc_suppressed)
			fprintf(side->out, " %#" PRIx64, packet->ip);
		return;
	}
	address = take_bare(side);
	packet->ipc = address ? pt_ipc_sext_48 : pt_ipc_suppressed;
	FIELD("ipc", packet->ipc, enum pt_ip_compression);
	if (address && program_value(side->program, address, &value) < 0)
		side->error = "not an address";
	packet->ip = value & mask[packet->ipc & 7];
}

static void mode_exec(struct side *side, struct pt_packet_mode_exec *exec)
{
	const char *word;

	if (side->out) {
		fprintf(side->out, " %s%s", exec_mode_name(pt_get_exec_mode(exec)), exec->iflag ? " if" : "");
		return;
	}
	while ((word = take_bare(side))) {
		unsigned mode = 0;

		if (!strcmp(word, "if")) {
			exec->iflag = 1;
			continue;
		}
		while (mode < 4 && strcmp(exec_mode_name((enum pt_exec_mode)mode), word))
			mode += 1;
		if (mode == 4) {
			side->error = "not an execution mode";
			return;
		}
		exec->csl = pt_set_exec_mode((enum pt_exec_mode)mode).csl;
		exec->csd = pt_set_exec_mode((enum pt_exec_mode)mode).csd;
	}
}

static void mode(struct side *side, struct pt_packet_mode *packet)
{
	if (packet->leaf == pt_mol_exec) {
		mode_exec(side, &packet->bits.exec);
		return;
	}
	BIT("intx", packet->bits.tsx.intx);
	BIT("abrt", packet->bits.tsx.abrt);
}

static void ptw(struct side *side, struct pt_packet_ptw *packet)
{
	FIELD("plc", packet->plc, uint8_t);
	FIELD("payload", packet->payload, uint64_t);
	BIT("ip", packet->ip);
}

static void pwrx(struct side *side, struct pt_packet_pwrx *packet)
{
	FIELD("last", packet->last, uint8_t);
	FIELD("deepest", packet->deepest, uint8_t);
	BIT("interrupt", packet->interrupt);
	BIT("store", packet->store);
	BIT("autonomous", packet->autonomous);
}

static void trig(struct side *side, struct pt_packet_trig *packet)
{
	FIELD("trbv", packet->trbv, uint8_t);
	FIELD("icnt", packet->icnt, uint16_t);
	BIT("ip", packet->ip);
	BIT("icntv", packet->icntv);
	BIT("mult", packet->mult);
}

static void power_and_event(struct side *side, struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_exstop:
		BIT("ip", packet->payload.exstop.ip);
		break;
	case ppt_mwait:
		FIELD("hints", packet->payload.mwait.hints, uint32_t);
		FIELD("ext", packet->payload.mwait.ext, uint32_t);
		break;
	case ppt_pwre:
		FIELD("state", packet->payload.pwre.state, uint8_t);
		FIELD("sub_state", packet->payload.pwre.sub_state, uint8_t);
		BIT("hw", packet->payload.pwre.hw);
		break;
	case ppt_pwrx:
		pwrx(side, &packet->payload.pwrx);
		break;
	case ppt_cfe:
		FIELD("type", packet->payload.cfe.type, enum pt_cfe_type);
		FIELD("vector", packet->payload.cfe.vector, uint8_t);
		BIT("ip", packet->payload.cfe.ip);
		break;
	case ppt_evd:
		FIELD("type", packet->payload.evd.type, enum pt_evd_type);
		FIELD("payload", packet->payload.evd.payload, uint64_t);
		break;
	default:
		break;
	}
}

static void timing(struct side *side, struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_cbr:
		FIELD("ratio", packet->payload.cbr.ratio, uint8_t);
		break;
	case ppt_tsc:
		FIELD("tsc", packet->payload.tsc.tsc, uint64_t);
		break;
	case ppt_tma:
		FIELD("ctc", packet->payload.tma.ctc, uint16_t);
		FIELD("fc", packet->payload.tma.fc, uint16_t);
		break;
	case ppt_mtc:
		FIELD("ctc", packet->payload.mtc.ctc, uint8_t);
		break;
	case ppt_cyc:
		FIELD("value", packet->payload.cyc.value, uint64_t);
		break;
	default:
		power_and_event(side, packet);
		break;
	}
}

static void payload(struct side *side, struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		ip(side, &packet->payload.ip);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		tnt(side, &packet->payload.tnt);
		break;
	case ppt_mode:
		mode(side, &packet->payload.mode);
		break;
	case ppt_pip:
		FIELD("cr3", packet->payload.pip.cr3, uint64_t);
		BIT("nr", packet->payload.pip.nr);
		break;
	case ppt_vmcs:
		FIELD("base", packet->payload.vmcs.base, uint64_t);
		break;
	case ppt_mnt:
		FIELD("payload", packet->payload.mnt.payload, uint64_t);
		break;
	case ppt_ptw:
		ptw(side, &packet->payload.ptw);
		break;
	case ppt_trig:
		trig(side, &packet->payload.trig);
		break;
	default:
		timing(side, packet);
		break;
	}
}

void packet_print(FILE *out, const struct pt_packet *packet)
{
	struct side side = {.out = out};
	struct pt_packet copy = *packet;
	size_t i = 0;

	while (i + 1 < sizeof(rows) / sizeof(*rows) &&
	       (rows[i].type != packet->type ||
	        (packet->type == ppt_mode && rows[i].leaf != packet->payload.mode.leaf)))
		i += 1;
	fputs(rows[i].name, out);
	if (packet->type == ppt_unknown || packet->type == ppt_invalid)
		fprintf(out, " size=%u", (unsigned)packet->size);
	payload(&side, &copy);
}

const char *packet_parse(struct pt_packet *packet, char *text, const struct program *program)
{
	struct side side = {.program = program};
	char *save = NULL, *name = strtok_r(text, " \t", &save), *word;
	size_t i = 0;

	memset(packet, 0, sizeof(*packet));
	while (i < sizeof(rows) / sizeof(*rows) && strcmp(rows[i].name, name))
		i += 1;
	if (i == sizeof(rows) / sizeof(*rows))
		return "no such packet";
	packet->type = rows[i].type;
	if (packet->type == ppt_mode)
		packet->payload.mode.leaf = rows[i].leaf;
	while ((word = strtok_r(NULL, " \t", &save)) && side.nwords < max_words)
		side.word[side.nwords++] = word;
	payload(&side, packet);
	for (i = 0; i < side.nwords; ++i) {
		if (side.word[i])
			return "a word that does not belong to this packet";
	}
	return side.error;
}
