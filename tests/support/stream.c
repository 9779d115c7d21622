/* stream.c - see stream.h. */
#include "support/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { max_args = 3 };

/* The arguments of a word. */
struct args {
	const char *text; /* all of them */
	uint64_t value[max_args];
};

typedef void fill_t(struct pt_packet *packet, const struct args *args);

static void fill_nothing(struct pt_packet *packet, const struct args *args)
{
	(void)packet;
	(void)args;
}

static void fill_ip(struct pt_packet *packet, const struct args *args)
{
	const char *text = args->text;

	packet->payload.ip.ipc = *text == '-'   ? pt_ipc_suppressed
	                         : *text == '~' ? pt_ipc_update_16
	                                        : pt_ipc_sext_48;
	packet->payload.ip.ip = strtoull(text + (*text == '~' || *text == '-'), NULL, 16);
}

static void fill_tnt(struct pt_packet *packet, const struct args *args)
{
	for (const char *bit = args->text; *bit == '0' || *bit == '1'; ++bit) {
		packet->payload.tnt.payload = packet->payload.tnt.payload << 1 | (uint64_t)(*bit == '1');
		packet->payload.tnt.bit_size += 1;
	}
}

/* exec:BITS[,IF] */
static void fill_exec(struct pt_packet *packet, const struct args *args)
{
	const uint64_t bits = args->value[0];

	packet->payload.mode.leaf = pt_mol_exec;
	packet->payload.mode.bits.exec = pt_set_exec_mode(bits == 0x64   ? ptem_64bit
	                                                  : bits == 0x32 ? ptem_32bit
	                                                                 : ptem_16bit);
	packet->payload.mode.bits.exec.iflag = args->value[1] & 1;
}

/* tsx:SPECULATIVE,ABORTED */
static void fill_tsx(struct pt_packet *packet, const struct args *args)
{
	packet->payload.mode.leaf = pt_mol_tsx;
	packet->payload.mode.bits.tsx.intx = args->value[0] & 1;
	packet->payload.mode.bits.tsx.abrt = args->value[1] & 1;
}

static void fill_pip(struct pt_packet *packet, const struct args *args)
{
	packet->payload.pip.cr3 = args->value[0];
	packet->payload.pip.nr = args->value[1] & 1;
}

static void fill_vmcs(struct pt_packet *packet, const struct args *args)
{
	packet->payload.vmcs.base = args->value[0];
}

static void fill_cbr(struct pt_packet *packet, const struct args *args)
{
	packet->payload.cbr.ratio = (uint8_t)args->value[0];
}

static void fill_tsc(struct pt_packet *packet, const struct args *args)
{
	packet->payload.tsc.tsc = args->value[0];
}

static void fill_tma(struct pt_packet *packet, const struct args *args)
{
	packet->payload.tma.ctc = (uint16_t)args->value[0];
	packet->payload.tma.fc = (uint16_t)args->value[1];
}

static void fill_mtc(struct pt_packet *packet, const struct args *args)
{
	packet->payload.mtc.ctc = (uint8_t)args->value[0];
}

static void fill_cyc(struct pt_packet *packet, const struct args *args)
{
	packet->payload.cyc.value = args->value[0];
}

static void fill_mnt(struct pt_packet *packet, const struct args *args)
{
	packet->payload.mnt.payload = args->value[0];
}

static void fill_exstop(struct pt_packet *packet, const struct args *args)
{
	packet->payload.exstop.ip = args->value[0] & 1;
}

static void fill_mwait(struct pt_packet *packet, const struct args *args)
{
	packet->payload.mwait.hints = (uint32_t)args->value[0];
	packet->payload.mwait.ext = (uint32_t)args->value[1];
}

static void fill_pwre(struct pt_packet *packet, const struct args *args)
{
	packet->payload.pwre.state = (uint8_t)args->value[0];
	packet->payload.pwre.sub_state = (uint8_t)args->value[1];
	packet->payload.pwre.hw = args->value[2] & 1;
}

static void fill_pwrx(struct pt_packet *packet, const struct args *args)
{
	packet->payload.pwrx.last = (uint8_t)args->value[0];
	packet->payload.pwrx.deepest = (uint8_t)args->value[1];
	packet->payload.pwrx.interrupt = 1;
}

/* ptw:PAYLOAD,IP */
static void fill_ptw(struct pt_packet *packet, const struct args *args)
{
	packet->payload.ptw.payload = args->value[0];
	packet->payload.ptw.plc = 1;
	packet->payload.ptw.ip = args->value[1] & 1;
}

/* cfe:TYPE,VECTOR,IP */
static void fill_cfe(struct pt_packet *packet, const struct args *args)
{
	packet->payload.cfe.type = (enum pt_cfe_type)args->value[0];
	packet->payload.cfe.vector = (uint8_t)args->value[1];
	packet->payload.cfe.ip = args->value[2] & 1;
}

static void fill_evd(struct pt_packet *packet, const struct args *args)
{
	packet->payload.evd.type = (enum pt_evd_type)args->value[0];
	packet->payload.evd.payload = args->value[1];
}

static const struct {
	const char *name;
	enum pt_packet_type type;
	fill_t *fill;
} words[] = {
        {"pad", ppt_pad, fill_nothing},
        {"psb", ppt_psb, fill_nothing},
        {"psbend", ppt_psbend, fill_nothing},
        {"ovf", ppt_ovf, fill_nothing},
        {"stop", ppt_stop, fill_nothing},
        {"fup", ppt_fup, fill_ip},
        {"tip", ppt_tip, fill_ip},
        {"pge", ppt_tip_pge, fill_ip},
        {"pgd", ppt_tip_pgd, fill_ip},
        {"tnt", ppt_tnt_8, fill_tnt},
        {"tnt64", ppt_tnt_64, fill_tnt},
        {"exec", ppt_mode, fill_exec},
        {"tsx", ppt_mode, fill_tsx},
        {"pip", ppt_pip, fill_pip},
        {"vmcs", ppt_vmcs, fill_vmcs},
        {"cbr", ppt_cbr, fill_cbr},
        {"tsc", ppt_tsc, fill_tsc},
        {"tma", ppt_tma, fill_tma},
        {"mtc", ppt_mtc, fill_mtc},
        {"cyc", ppt_cyc, fill_cyc},
        {"mnt", ppt_mnt, fill_mnt},
        {"exstop", ppt_exstop, fill_exstop},
        {"mwait", ppt_mwait, fill_mwait},
        {"pwre", ppt_pwre, fill_pwre},
        {"pwrx", ppt_pwrx, fill_pwrx},
        {"ptw", ppt_ptw, fill_ptw},
        {"cfe", ppt_cfe, fill_cfe},
        {"evd", ppt_evd, fill_evd},
};

void stream_clear(struct stream *stream)
{
	stream->size = 0;
}

static void write_packet(struct stream *stream, const struct pt_packet *packet)
{
	struct pt_encoder *encoder;
	struct pt_config config;
	int size;

	pt_config_init(&config);
	config.begin = stream->bytes + stream->size;
	config.end = stream->bytes + sizeof(stream->bytes);
	encoder = pt_alloc_encoder(&config);
	assert_non_null(encoder);
	size = pt_enc_next(encoder, packet);
	pt_free_encoder(encoder);
	assert_true(size > 0);
	stream->size += (size_t)size;
}

/* raw:BYTES: what no encoder writes. */
static void write_raw(struct stream *stream, const char *text)
{
	for (; text[0] && text[1]; text += 2) {
		const char byte[] = {text[0], text[1], 0};

		assert_true(stream->size < sizeof(stream->bytes));
		stream->bytes[stream->size++] = (uint8_t)strtoul(byte, NULL, 16);
	}
}

static void write_word(struct stream *stream, const char *name, const struct args *args)
{
	if (strcmp(name, "raw") == 0) {
		write_raw(stream, args->text);
		return;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); ++i) {
		struct pt_packet packet = {.type = words[i].type};

		if (strcmp(name, words[i].name) != 0)
			continue;
		words[i].fill(&packet, args);
		write_packet(stream, &packet);
		return;
	}
	fail_msg("no packet is written as %s", name);
}

void stream_write(struct stream *stream, const char *text)
{
	while (*text) {
		char word[128];
		size_t size = strcspn(text, " ");
		struct args args = {.text = ""};
		char *colon;

		assert_true(size < sizeof(word));
		memcpy(word, text, size);
		word[size] = 0;
		colon = strchr(word, ':');
		if (colon) {
			const char *next = colon + 1;

			*colon = 0;
			args.text = next;
			for (size_t i = 0; i < max_args && next; ++i) {
				args.value[i] = strtoull(next, NULL, 16);
				next = strchr(next, ',');
				next = next ? next + 1 : NULL;
			}
		}
		if (size)
			write_word(stream, word, &args);
		text += size;
		text += strspn(text, " ");
	}
}

struct pt_config stream_config(struct stream *stream)
{
	struct pt_config config;

	pt_config_init(&config);
	config.begin = stream->bytes;
	config.end = stream->bytes + stream->size;
	return config;
}
