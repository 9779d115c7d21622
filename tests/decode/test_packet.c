/* test_packet.c - reading and writing packets; Intel SDM vol. 3, "Packet Definitions".
 *
 * Each row of the table is a packet as bytes, written down from the SDM, and what it says. Reading
 * the bytes must give the packet, writing the packet must give the bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packet/packet_read.h"
#include "packet/packet_write.h"

struct row {
	const char *name;
	uint8_t bytes[16];
	struct pt_packet packet; /* its size says how many of the bytes count */
};

#define IP_ROW(text, opcode, kind)                                                                           \
	{text " suppressed", {(opcode)}, {(kind), 1, {.ip = {pt_ipc_suppressed, 0}}}},                       \
	        {text " update 16",                                                                          \
	         {(opcode) | 0x20, 0x34, 0x12},                                                              \
	         {(kind), 3, {.ip = {pt_ipc_update_16, 0x1234}}}},                                           \
	        {text " update 32",                                                                          \
	         {(opcode) | 0x40, 0x78, 0x56, 0x34, 0x12},                                                  \
	         {(kind), 5, {.ip = {pt_ipc_update_32, 0x12345678}}}},                                       \
	        {text " sext 48",                                                                            \
	         {(opcode) | 0x60, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0xf2},                                      \
	         {(kind), 7, {.ip = {pt_ipc_sext_48, 0xf23456789abc}}}},                                     \
	        {text " update 48",                                                                          \
	         {(opcode) | 0x80, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12},                                      \
	         {(kind), 7, {.ip = {pt_ipc_update_48, 0x123456789abc}}}},                                   \
	{                                                                                                    \
		text " full", {(opcode) | 0xc0, 0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12},             \
		{                                                                                            \
			(kind), 9,                                                                           \
			{                                                                                    \
				.ip = { pt_ipc_full, 0x123456789abcdef0 }                                    \
			}                                                                                    \
		}                                                                                            \
	}

static const struct row rows[] = {
        {"pad", {0x00}, {ppt_pad, 1, {.tnt = {0, 0}}}},
        {"psb",
         {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82},
         {ppt_psb, 16, {.tnt = {0, 0}}}},
        {"psbend", {0x02, 0x23}, {ppt_psbend, 2, {.tnt = {0, 0}}}},
        IP_ROW("fup", 0x1d, ppt_fup),
        IP_ROW("tip", 0x0d, ppt_tip),
        IP_ROW("tip.pge", 0x11, ppt_tip_pge),
        IP_ROW("tip.pgd", 0x01, ppt_tip_pgd),
        {"tnt-8, not taken", {0x04}, {ppt_tnt_8, 1, {.tnt = {1, 0}}}},
        {"tnt-8, taken", {0x06}, {ppt_tnt_8, 1, {.tnt = {1, 1}}}},
        {"tnt-8, six", {0xd6}, {ppt_tnt_8, 1, {.tnt = {6, 0x2b}}}},
        {"tnt-64, one", {0x02, 0xa3, 0x03}, {ppt_tnt_64, 8, {.tnt = {1, 1}}}},
        {"tnt-64, full",
         {0x02, 0xa3, 0xef, 0xcd, 0xab, 0x89, 0x67, 0xc5},
         {ppt_tnt_64, 8, {.tnt = {47, 0x456789abcdef}}}},
        {"mode.exec 16", {0x99, 0x00}, {ppt_mode, 2, {.mode = {pt_mol_exec, {.exec = {0, 0, 0}}}}}},
        {"mode.exec 64", {0x99, 0x01}, {ppt_mode, 2, {.mode = {pt_mol_exec, {.exec = {1, 0, 0}}}}}},
        {"mode.exec 32", {0x99, 0x02}, {ppt_mode, 2, {.mode = {pt_mol_exec, {.exec = {0, 1, 0}}}}}},
        {"mode.exec 64, IF", {0x99, 0x05}, {ppt_mode, 2, {.mode = {pt_mol_exec, {.exec = {1, 0, 1}}}}}},
        {"mode.tsx begin", {0x99, 0x21}, {ppt_mode, 2, {.mode = {pt_mol_tsx, {.tsx = {1, 0}}}}}},
        {"mode.tsx abort", {0x99, 0x22}, {ppt_mode, 2, {.mode = {pt_mol_tsx, {.tsx = {0, 1}}}}}},
        /* CR3[51:5] in bits 47:1, NR in bit 0 */
        {"pip", {0x02, 0x43, 0x00, 0x01, 0, 0, 0, 0}, {ppt_pip, 8, {.pip = {0x1000, 0}}}},
        {"pip, guest",
         {0x02, 0x43, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
         {ppt_pip, 8, {.pip = {0x000fffffffffffe0, 1}}}},
        {"vmcs", {0x02, 0xc8, 0x9a, 0x78, 0x56, 0x34, 0x12}, {ppt_vmcs, 7, {.vmcs = {0x123456789a000}}}},
        {"cbr", {0x02, 0x03, 0x2a, 0x00}, {ppt_cbr, 4, {.cbr = {42}}}},
        {"tsc", {0x19, 1, 2, 3, 4, 5, 6, 7}, {ppt_tsc, 8, {.tsc = {0x07060504030201}}}},
        {"tma", {0x02, 0x73, 0x34, 0x12, 0x00, 0xff, 0x01}, {ppt_tma, 7, {.tma = {0x1234, 0x1ff}}}},
        {"mtc", {0x59, 0xfe}, {ppt_mtc, 2, {.mtc = {0xfe}}}},
        {"cyc, 5 bits", {0xfb}, {ppt_cyc, 1, {.cyc = {0x1f}}}},
        {"cyc, 12 bits", {0x07, 0x02}, {ppt_cyc, 2, {.cyc = {0x20}}}},
        {"cyc, 19 bits", {0x0f, 0x01, 0x02}, {ppt_cyc, 3, {.cyc = {0x1001}}}},
        {"cyc, 64 bits",
         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0e},
         {ppt_cyc, 10, {.cyc = {UINT64_MAX}}}},
        {"stop", {0x02, 0x83}, {ppt_stop, 2, {.tnt = {0, 0}}}},
        {"ovf", {0x02, 0xf3}, {ppt_ovf, 2, {.tnt = {0, 0}}}},
        {"mnt", {0x02, 0xc3, 0x88, 8, 7, 6, 5, 4, 3, 2, 1}, {ppt_mnt, 11, {.mnt = {0x0102030405060708}}}},
        {"exstop", {0x02, 0x62}, {ppt_exstop, 2, {.exstop = {0}}}},
        {"exstop, ip", {0x02, 0xe2}, {ppt_exstop, 2, {.exstop = {1}}}},
        {"mwait", {0x02, 0xc2, 0x21, 0, 0, 0, 0x01, 0, 0, 0}, {ppt_mwait, 10, {.mwait = {0x21, 1}}}},
        {"pwre", {0x02, 0x22, 0x00, 0x12}, {ppt_pwre, 4, {.pwre = {1, 2, 0}}}},
        {"pwre, hw", {0x02, 0x22, 0x80, 0x34}, {ppt_pwre, 4, {.pwre = {3, 4, 1}}}},
        {"pwrx, interrupt", {0x02, 0xa2, 0x12, 0x01, 0, 0, 0}, {ppt_pwrx, 7, {.pwrx = {1, 2, 1, 0, 0}}}},
        {"pwrx, store", {0x02, 0xa2, 0x12, 0x04, 0, 0, 0}, {ppt_pwrx, 7, {.pwrx = {1, 2, 0, 1, 0}}}},
        {"pwrx, hw", {0x02, 0xa2, 0x12, 0x08, 0, 0, 0}, {ppt_pwrx, 7, {.pwrx = {1, 2, 0, 0, 1}}}},
        {"ptw, 4 bytes", {0x02, 0x12, 4, 3, 2, 1}, {ppt_ptw, 6, {.ptw = {0x01020304, 0, 0}}}},
        {"ptw, 4 bytes, ip", {0x02, 0x92, 4, 3, 2, 1}, {ppt_ptw, 6, {.ptw = {0x01020304, 0, 1}}}},
        {"ptw, 8 bytes",
         {0x02, 0x32, 8, 7, 6, 5, 4, 3, 2, 1},
         {ppt_ptw, 10, {.ptw = {0x0102030405060708, 1, 0}}}},
        {"ptw, 8 bytes, ip",
         {0x02, 0xb2, 8, 7, 6, 5, 4, 3, 2, 1},
         {ppt_ptw, 10, {.ptw = {0x0102030405060708, 1, 1}}}},
        {"cfe, interrupt", {0x02, 0x13, 0x81, 0x0e}, {ppt_cfe, 4, {.cfe = {pt_cfe_intr, 14, 1}}}},
        {"cfe, iret", {0x02, 0x13, 0x02, 0x00}, {ppt_cfe, 4, {.cfe = {pt_cfe_iret, 0, 0}}}},
        {"evd, cr2",
         {0x02, 0x53, 0x00, 8, 7, 6, 5, 4, 3, 2, 1},
         {ppt_evd, 11, {.evd = {pt_evd_cr2, 0x0102030405060708}}}},
        {"evd, vmxr", {0x02, 0x53, 0x02, 0x30}, {ppt_evd, 11, {.evd = {pt_evd_vmxr, 0x30}}}},
};

#define NROWS (sizeof(rows) / sizeof(*rows))

/* A buffer of exactly @size bytes on the heap, so that a sanitizer sees what is read beyond. */
static struct pt_config config_with(const uint8_t *bytes, size_t size)
{
	struct pt_config config;

	pt_config_init(&config);
	config.begin = malloc(size ? size : 1);
	assert_non_null(config.begin);
	memcpy(config.begin, bytes, size);
	config.end = config.begin + size;
	return config;
}

/* Reads the packet at the beginning of @bytes. */
static int read_bytes(struct pt_packet *packet, const uint8_t *bytes, size_t size)
{
	struct pt_config config = config_with(bytes, size);
	int result;

	memset(packet, 0, sizeof(*packet));
	result = pt_packet_read(packet, config.begin, &config);
	free(config.begin);
	return result;
}

static int read_result(const uint8_t *bytes, size_t size)
{
	struct pt_packet packet;

	return read_bytes(&packet, bytes, size);
}

static void bytes_give_the_packet(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS; i++) {
		struct pt_packet packet;
		int result = read_bytes(&packet, rows[i].bytes, rows[i].packet.size);

		if (result != rows[i].packet.size || memcmp(&packet, &rows[i].packet, sizeof(packet)) != 0)
			fail_msg("%s: reads as type %d, size %d", rows[i].name, packet.type, result);
	}
}

static void the_packet_gives_the_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS; i++) {
		uint8_t bytes[16] = {0};
		struct pt_config config = {.begin = bytes, .end = bytes + sizeof(bytes)};
		int result = pt_packet_write(bytes, &rows[i].packet, &config);

		if (result != rows[i].packet.size || memcmp(bytes, rows[i].bytes, sizeof(bytes)) != 0)
			fail_msg("%s: writes %d bytes, or others", rows[i].name, result);
	}
}

static void a_packet_cut_off_anywhere_is_the_end_of_the_trace(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS; i++) {
		for (size_t size = 0; size < rows[i].packet.size; size++) {
			if (read_result(rows[i].bytes, size) != -pte_eos)
				fail_msg("%s, cut to %zu bytes", rows[i].name, size);
		}
	}
}

static void a_packet_that_does_not_fit_is_not_written(void **state)
{
	static const uint8_t untouched[16];

	(void)state;
	for (size_t i = 0; i < NROWS; i++) {
		uint8_t bytes[16] = {0};
		struct pt_config config = {.begin = bytes, .end = bytes + rows[i].packet.size - 1};

		assert_int_equal(pt_packet_write(bytes, &rows[i].packet, &config), -pte_eos);
		assert_memory_equal(bytes, untouched, sizeof(bytes));
	}
}

/* Whatever is read can be written, and reads the same again. */
static void every_two_bytes_survive_a_round_trip(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 256; first++) {
		for (unsigned second = 0; second < 256; second++) {
			uint8_t bytes[16] = {(uint8_t)first, (uint8_t)second, 0x88, 1, 0, 5}, again[16];
			struct pt_config config = {.begin = again, .end = again + sizeof(again)};
			struct pt_packet packet, same = {0};
			int size = read_bytes(&packet, bytes, sizeof(bytes));

			if (size < 0)
				continue;
			assert_true(pt_packet_write(again, &packet, &config) > 0);
			assert_true(pt_packet_read(&same, again, &config) > 0);
			same.size = packet.size; /* a CYC may be longer than needed */
			assert_memory_equal(&same, &packet, sizeof(packet));
		}
	}
}

static void impossible_content_is_refused(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t size;
	} bad[] = {
	        {{0xad}, 1},                                /* IPBytes 101 */
	        {{0xfd, 0, 0, 0, 0, 0, 0, 0, 0}, 9},        /* IPBytes 111 */
	        {{0x02, 0xa3, 0, 0, 0, 0, 0, 0}, 8},        /* no stop bit */
	        {{0x02, 0xa3, 1, 0, 0, 0, 0, 0}, 8},        /* nothing but a stop bit */
	        {{0x99, 0x40}, 2},                          /* MODE leaf 2 */
	        {{0x02, 0x52, 1, 2, 3, 4, 5, 6, 7, 8}, 10}, /* PTW size 10 */
	        {{0x02, 0x73, 1, 2, 1, 3, 0}, 7},           /* TMA, reserved byte */
	        {{0x02, 0x73, 1, 2, 0, 3, 2}, 7},           /* TMA, FastCounter of 10 bits */
	        {{2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x83}, 16},
	        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10}, 10}, /* CYC of 65 bits */
	        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, 11},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(read_result(bad[i].bytes, bad[i].size), -pte_bad_packet);
}

static void fields_out_of_range_are_not_written(void **state)
{
	static const struct pt_packet bad[] = {
	        {ppt_tnt_8, 0, {.tnt = {0, 0}}},
	        {ppt_tnt_8, 0, {.tnt = {7, 0}}},
	        {ppt_tnt_8, 0, {.tnt = {2, 4}}},
	        {ppt_tnt_64, 0, {.tnt = {48, 0}}},
	        {ppt_tip, 0, {.ip = {(enum pt_ip_compression)5, 0}}},
	        {ppt_tip, 0, {.ip = {(enum pt_ip_compression)8, 0}}},
	        {ppt_mode, 0, {.mode = {(enum pt_mode_leaf)0x40, {.exec = {0, 0, 0}}}}},
	        {ppt_tma, 0, {.tma = {0, 0x200}}},
	        {ppt_pwre, 0, {.pwre = {16, 0, 0}}},
	        {ppt_pwrx, 0, {.pwrx = {0, 16, 0, 0, 0}}},
	        {ppt_ptw, 0, {.ptw = {0, 2, 0}}},
	        {ppt_ptw, 0, {.ptw = {1ull << 32, 0, 0}}},
	        {ppt_cfe, 0, {.cfe = {(enum pt_cfe_type)32, 0, 0}}},
	        {ppt_evd, 0, {.evd = {(enum pt_evd_type)64, 0}}},
	};
	uint8_t bytes[16];
	struct pt_config config = {.begin = bytes, .end = bytes + sizeof(bytes)};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(pt_packet_write(bytes, &bad[i], &config), -pte_bad_packet);
}

static void types_that_are_no_packet_are_not_written(void **state)
{
	static const int types[] = {ppt_invalid, ppt_unknown, ppt_trig, ppt_trig + 1, -1};
	uint8_t bytes[16];
	struct pt_config config = {.begin = bytes, .end = bytes + sizeof(bytes)};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct pt_packet packet = {.type = (enum pt_packet_type)types[i]};

		assert_int_equal(pt_packet_write(bytes, &packet, &config), -pte_bad_opc);
	}
}

/* What a decode callback was told, and what it answers. */
struct answer {
	const struct pt_config *config;
	const uint8_t *pos;
	int result;
};

static int decode(struct pt_packet_unknown *unknown, const struct pt_config *config, const uint8_t *pos,
                  void *context)
{
	struct answer *answer = context;

	answer->config = config;
	answer->pos = pos;
	unknown->priv = answer;
	return answer->result;
}

static void an_unknown_opcode_goes_to_the_callback(void **state)
{
	static const struct {
		uint8_t bytes[4];
	} unknown[] = {{{0x05, 0, 0, 0}}, {{0xd9, 0, 0, 0}}, {{0x02, 0x01, 0, 0}}, {{0x02, 0xc3, 0x87, 0}}};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		struct pt_config config = config_with(unknown[i].bytes, 4);
		struct answer answer = {.result = 3};
		struct pt_packet packet;

		assert_int_equal(pt_packet_read(&packet, config.begin, &config), -pte_bad_opc);

		config.decode.callback = decode;
		config.decode.context = &answer;
		assert_int_equal(pt_packet_read(&packet, config.begin, &config), 3);
		assert_int_equal(packet.type, ppt_unknown);
		assert_int_equal(packet.size, 3);
		assert_ptr_equal(packet.payload.unknown.packet, config.begin);
		assert_ptr_equal(packet.payload.unknown.priv, &answer);
		assert_ptr_equal(answer.config, &config);
		assert_ptr_equal(answer.pos, config.begin);
		free(config.begin);
	}
}

static void the_callback_cannot_lead_astray(void **state)
{
	static const struct {
		int answer, result;
	} answers[] = {{-pte_nomem, -pte_nomem}, {0, -pte_bad_opc}, {4, 4}, {5, -pte_eos}};
	static const uint8_t bytes[4] = {0x05};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct pt_config config = config_with(bytes, sizeof(bytes));
		struct answer answer = {.result = answers[i].answer};
		struct pt_packet packet;

		config.decode.callback = decode;
		config.decode.context = &answer;
		assert_int_equal(pt_packet_read(&packet, config.begin, &config), answers[i].result);
		free(config.begin);
	}
}

/* SKD007: an OVF comes after the first byte of a CYC, in place of its other bytes. */
static void skd007_an_ovf_in_a_cyc(void **state)
{
	static const uint8_t bytes[] = {0x0f, 0x02, 0xf3, 0x00};
	struct pt_config config = config_with(bytes, sizeof(bytes));
	struct pt_packet packet;

	(void)state;
	assert_int_equal(pt_packet_read(&packet, config.begin, &config), 2);
	assert_int_equal(packet.payload.cyc.value, 0x21);

	config.errata.skd007 = 1;
	assert_int_equal(pt_packet_read(&packet, config.begin, &config), 1);
	assert_int_equal(packet.type, ppt_cyc);
	assert_int_equal(packet.payload.cyc.value, 1);
	assert_int_equal(pt_packet_read(&packet, config.begin + 1, &config), 2);
	assert_int_equal(packet.type, ppt_ovf);

	config.end = config.begin + 2; /* it could still be a CYC */
	assert_int_equal(pt_packet_read(&packet, config.begin, &config), 2);
	free(config.begin);
}

/* SKZ84: a TMA with garbage in it is followed by one stray byte. */
static void skz84_a_corrupted_tma(void **state)
{
	static const uint8_t bytes[] = {0x02, 0x73, 0x01, 0x02, 0x55, 0x03, 0x01, 0xaa, 0x02, 0x23};
	struct pt_config config = config_with(bytes, sizeof(bytes));
	struct pt_packet packet;

	(void)state;
	assert_int_equal(pt_packet_read(&packet, config.begin, &config), -pte_bad_packet);

	config.errata.skz84 = 1;
	assert_int_equal(pt_packet_read(&packet, config.begin, &config), 8);
	assert_int_equal(packet.type, ppt_invalid);
	assert_int_equal(packet.size, 8);
	assert_int_equal(pt_packet_read(&packet, config.begin + 8, &config), 2);
	assert_int_equal(packet.type, ppt_psbend);

	config.end = config.begin + 7;
	assert_int_equal(pt_packet_read(&packet, config.begin, &config), -pte_eos);

	config.end = config.begin + sizeof(bytes);
	config.begin[4] = 0; /* nothing wrong with this one */
	assert_int_equal(pt_packet_read(&packet, config.begin, &config), 7);
	assert_int_equal(packet.type, ppt_tma);
	free(config.begin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(bytes_give_the_packet),
	        cmocka_unit_test(the_packet_gives_the_bytes),
	        cmocka_unit_test(a_packet_cut_off_anywhere_is_the_end_of_the_trace),
	        cmocka_unit_test(a_packet_that_does_not_fit_is_not_written),
	        cmocka_unit_test(every_two_bytes_survive_a_round_trip),
	        cmocka_unit_test(impossible_content_is_refused),
	        cmocka_unit_test(fields_out_of_range_are_not_written),
	        cmocka_unit_test(types_that_are_no_packet_are_not_written),
	        cmocka_unit_test(an_unknown_opcode_goes_to_the_callback),
	        cmocka_unit_test(the_callback_cannot_lead_astray),
	        cmocka_unit_test(skd007_an_ovf_in_a_cyc),
	        cmocka_unit_test(skz84_a_corrupted_tma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
