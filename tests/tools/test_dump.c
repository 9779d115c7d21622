/* sbtrace dump, from packets to text: every packet that the encoder can write, dumped as columns and as
 * JSON lines. What must come out stands in dump/every_packet.{txt,jsonl}, written by hand from the Intel SDM,
 * vol. 3, "Packet Definitions": the bytes of each packet, too.
 *
 * Time in these files: TSC 0x1000000; TMA says that the CTC was 0x100 16 ticks ago; with 84 ticks per CTC,
 * the MTC at CTC 0x108 is at 16777216 - 16 + 8 * 84; cycles last half a tick (21 / 42).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

#include "dump/packet_fields.h"
#include "support/temp_dir.h"

#define MODE_EXEC(l, d, i)                                                                                   \
	{                                                                                                    \
		.type = ppt_mode, .payload.mode = {                                                          \
			.leaf = pt_mol_exec,                                                                 \
			.bits.exec = {.csl = (l), .csd = (d), .iflag = (i)}                                  \
		}                                                                                            \
	}
#define MODE_TSX(in, abort)                                                                                  \
	{                                                                                                    \
		.type = ppt_mode, .payload.mode = {                                                          \
			.leaf = pt_mol_tsx,                                                                  \
			.bits.tsx = {.intx = (in), .abrt = (abort)}                                          \
		}                                                                                            \
	}
#define IP(kind, compression, address)                                                                       \
	{                                                                                                    \
		.type = (kind), .payload.ip = {.ipc = (compression), .ip = (address) }                       \
	}

static const struct pt_packet every_packet[] = {
        {.type = ppt_psb},
        {.type = ppt_tsc, .payload.tsc.tsc = 0x1000000},
        {.type = ppt_tma, .payload.tma = {.ctc = 0x100, .fc = 16}},
        {.type = ppt_cbr, .payload.cbr.ratio = 42},
        MODE_EXEC(1, 0, 0),
        MODE_TSX(1, 0),
        {.type = ppt_pip, .payload.pip = {.cr3 = 0x123456000, .nr = 1}},
        {.type = ppt_vmcs, .payload.vmcs.base = 0xabcdef000},
        IP(ppt_fup, pt_ipc_full, 0xffffffff81000000),
        {.type = ppt_psbend},
        {.type = ppt_tnt_8, .payload.tnt = {.bit_size = 3, .payload = 3}},
        IP(ppt_tip, pt_ipc_update_16, 0x1234),
        IP(ppt_tip, pt_ipc_update_32, 0x92345678),
        IP(ppt_tip, pt_ipc_sext_48, 0x800000000000),
        IP(ppt_tip, pt_ipc_update_48, 0x456789abcdef),
        IP(ppt_tip, pt_ipc_full, 0x1122334455667788),
        IP(ppt_tip_pgd, pt_ipc_suppressed, 0),
        IP(ppt_tip_pge, pt_ipc_update_16, 0x8000),
        IP(ppt_fup, pt_ipc_suppressed, 0),
        IP(ppt_fup, pt_ipc_sext_48, 0x401000),
        IP(ppt_tip_pgd, pt_ipc_update_16, 0x1005),
        {.type = ppt_tnt_64, .payload.tnt = {.bit_size = 47, .payload = 1ull << 46 | 1}},
        MODE_EXEC(0, 1, 1),
        MODE_EXEC(0, 0, 0),
        MODE_TSX(0, 1),
        MODE_TSX(0, 0),
        {.type = ppt_mtc, .payload.mtc.ctc = 0x21},
        {.type = ppt_cyc, .payload.cyc.value = 100},
        {.type = ppt_cyc, .payload.cyc.value = 5},
        {.type = ppt_ovf},
        {.type = ppt_stop},
        {.type = ppt_mnt, .payload.mnt.payload = 0x8877665544332211},
        {.type = ppt_exstop, .payload.exstop.ip = 1},
        {.type = ppt_exstop},
        {.type = ppt_mwait, .payload.mwait = {.hints = 0x20, .ext = 1}},
        {.type = ppt_pwre, .payload.pwre = {.state = 3, .sub_state = 1, .hw = 1}},
        {.type = ppt_pwrx, .payload.pwrx = {.last = 2, .deepest = 5, .interrupt = 1}},
        {.type = ppt_pwrx, .payload.pwrx = {.last = 3, .deepest = 6, .store = 1, .autonomous = 1}},
        {.type = ppt_ptw, .payload.ptw = {.payload = 0x12345678, .plc = 0, .ip = 1}},
        {.type = ppt_ptw, .payload.ptw = {.payload = 1, .plc = 1}},
        {.type = ppt_cfe, .payload.cfe = {.type = pt_cfe_intr, .vector = 14, .ip = 1}},
        {.type = ppt_cfe, .payload.cfe = {.type = pt_cfe_iret}},
        {.type = ppt_evd, .payload.evd = {.type = pt_evd_cr2, .payload = 0xdead0000}},
        {.type = ppt_pad},
        {.type = ppt_psb},
        {.type = ppt_psbend},
        IP(ppt_tip, pt_ipc_update_16, 0x10),
};

struct fixture {
	struct temp_dir dir;
	char *trace;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint8_t bytes[512];
	struct pt_config config;
	struct pt_encoder *encoder;
	uint64_t size;

	assert_non_null(fixture);
	temp_dir_make(&fixture->dir);
	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + sizeof(bytes);
	encoder = pt_alloc_encoder(&config);
	assert_non_null(encoder);
	for (size_t i = 0; i < sizeof(every_packet) / sizeof(every_packet[0]); i++)
		assert_true(pt_enc_next(encoder, &every_packet[i]) > 0);
	assert_int_equal(pt_enc_get_offset(encoder, &size), 0);
	pt_free_encoder(encoder);
	fixture->trace = temp_dir_write(&fixture->dir, "trace.pt", bytes, size);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	free(fixture->trace);
	temp_dir_remove(&fixture->dir);
	free(fixture);
	return 0;
}

static char *read_all(FILE *file)
{
	enum { most = 1 << 16 };
	char *text = calloc(1, most);

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, most - 1, file) < most - 1);
	return text;
}

/* What `sbtrace dump OPTIONS` writes to standard output, to be freed. */
static char *dump(const struct fixture *fixture, const char *options)
{
	char line[1024], *text;
	FILE *pipe;

	snprintf(line, sizeof(line),
	         SBTRACE_EXE " dump --cpuid-0x15 2,168 --mtc-freq 3 --nom-freq 21 %s %s 2>&1", options,
	         fixture->trace);
	pipe = popen(line, "r");
	text = read_all(pipe);
	assert_int_equal(pclose(pipe), 0);
	return text;
}

static const char account[] =
        "sbtrace dump: 237 bytes of trace = 237 in 47 packets + 0 left out in 0 places\n";

static char *expected(const char *name)
{
	char path[512], *text;
	FILE *file;

	snprintf(path, sizeof(path), SOURCE_DIR "/tests/tools/dump/%s", name);
	file = fopen(path, "r");
	text = read_all(file);
	fclose(file);
	return strcat(text, account);
}

static void assert_dump(void **state, const char *options, const char *name)
{
	char *found = dump(*state, options), *wanted = expected(name);

	assert_string_equal(found, wanted);
	free(found);
	free(wanted);
}

static void every_packet_as_columns(void **state)
{
	assert_dump(state, "--raw", "every_packet.txt");
}

static void every_packet_as_json_lines(void **state)
{
	assert_dump(state, "--raw --json", "every_packet.jsonl");
}

/* Cuts @skip bytes at @from out of each line, or everything from there on when @skip is zero. */
static void cut(char *text, size_t from, size_t skip)
{
	char *out = text;

	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		const size_t length = (size_t)(end - line) + 1, kept = skip ? from + skip : length - 1;

		memmove(out, line, from);
		out += from;
		memmove(out, line + kept, length - kept);
		out += length - kept;
	}
	*out = '\0';
}

static void columns_can_be_left_out(void **state)
{
	enum { bytes_at = 10, bytes_width = 34, time_at = 8 + 2 + 34 + 13 + 49 };
	char *found = dump(*state, "--no-pad"), *wanted = expected("every_packet.txt"), *pad;

	wanted[strlen(wanted) - strlen(account)] = '\0';
	cut(wanted, bytes_at, bytes_width);
	pad = strstr(wanted, "000000d7");
	memmove(pad, strchr(pad, '\n') + 1, strlen(strchr(pad, '\n') + 1) + 1);
	strcat(wanted, account);
	assert_string_equal(found, wanted);
	free(found);
	free(wanted);

	found = dump(*state, "--raw --no-time");
	wanted = expected("every_packet.txt");
	/* Without time, no blanks follow the last IP. */
	wanted[strlen(wanted) - strlen(account)] = '\0';
	cut(wanted, time_at + 16, 0);
	for (char *blank; (blank = strstr(wanted, " \n"));)
		memmove(blank, blank + 1, strlen(blank));
	strcat(wanted, account);
	assert_string_equal(found, wanted);
	free(found);
	free(wanted);
}

/* The encoder writes no TRIG, nor what no processor sends. */
static void assert_fields(const struct pt_packet *packet, const char *wanted)
{
	struct packet_fields fields;
	char text[256], *at = text;

	packet_fields(&fields, packet);
	at += sprintf(at, "%s", fields.name);
	for (unsigned int i = 0; i < fields.count; i++) {
		at += sprintf(at, " %s=", fields.field[i].name);
		at = field_text(at, &fields.field[i]);
	}
	*at = '\0';
	assert_string_equal(text, wanted);
}

static void what_the_encoder_does_not_write(void **state)
{
	(void)state;
	assert_fields(
	        &(struct pt_packet){.type = ppt_trig, .payload.trig = {.trbv = 5, .icnt = 9, .icntv = 1}},
	        "trig trbv=0x5 icnt=9 mult=0 ip=0");
	assert_fields(&(struct pt_packet){.type = ppt_trig, .payload.trig = {.trbv = 5, .mult = 1, .ip = 1}},
	              "trig trbv=0x5 mult=1 ip=1");
	assert_fields(&(struct pt_packet)MODE_EXEC(1, 1, 0), "mode.exec mode=unknown if=0");
	assert_fields(&(struct pt_packet){.type = ppt_cfe, .payload.cfe = {.type = (enum pt_cfe_type)0x1f}},
	              "cfe type=31 vector=0 ip=0");
	assert_fields(&(struct pt_packet){.type = ppt_evd, .payload.evd = {.type = (enum pt_evd_type)7}},
	              "evd type=7 payload=0x0");
	assert_fields(&(struct pt_packet){.type = ppt_invalid}, "garbage erratum=SKZ84");
	assert_fields(&(struct pt_packet){.type = ppt_unknown}, "unknown");
	assert_fields(&(struct pt_packet){.type = (enum pt_packet_type)1000}, "unknown");
	assert_fields(&(struct pt_packet){.type = ppt_cyc, .payload.cyc.value = UINT64_MAX},
	              "cyc cycles=18446744073709551615");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_packet_as_columns),
	        cmocka_unit_test(every_packet_as_json_lines),
	        cmocka_unit_test(columns_can_be_left_out),
	        cmocka_unit_test(what_the_encoder_does_not_write),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
