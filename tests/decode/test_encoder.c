/* test_encoder.c - the public encoder: packets one after the other, and where they went.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt.h>

static struct pt_encoder *encoder_for(uint8_t *bytes, size_t size)
{
	struct pt_config config;
	struct pt_encoder *encoder;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + size;
	encoder = pt_alloc_encoder(&config);
	assert_non_null(encoder);
	return encoder;
}

static uint64_t offset_of(const struct pt_encoder *encoder)
{
	uint64_t offset = UINT64_MAX;

	assert_int_equal(pt_enc_get_offset(encoder, &offset), 0);
	return offset;
}

static const struct pt_packet mtc = {.type = ppt_mtc, .payload.mtc.ctc = 7};
static const struct pt_packet tip = {.type = ppt_tip, .payload.ip = {pt_ipc_update_16, 0xffff1234}};

static void packets_follow_each_other(void **state)
{
	static const uint8_t expected[8] = {0x59, 0x07, 0x2d, 0x34, 0x12, 0x59, 0x07, 0x00};
	uint8_t bytes[8] = {0};
	struct pt_encoder *encoder = encoder_for(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(offset_of(encoder), 0);
	assert_int_equal(pt_enc_next(encoder, &mtc), 2);
	assert_int_equal(pt_enc_next(encoder, &tip), 3);
	assert_int_equal(offset_of(encoder), 5);
	assert_int_equal(pt_enc_next(encoder, &mtc), 2);
	assert_memory_equal(bytes, expected, sizeof(bytes));
	pt_free_encoder(encoder);
}

static void a_packet_that_does_not_fit_changes_nothing(void **state)
{
	static const uint8_t expected[4] = {0x59, 0x07, 0x00, 0x00};
	uint8_t bytes[4] = {0};
	struct pt_encoder *encoder = encoder_for(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(pt_enc_next(encoder, &mtc), 2);
	assert_int_equal(pt_enc_next(encoder, &tip), -pte_eos);
	assert_int_equal(offset_of(encoder), 2);
	assert_memory_equal(bytes, expected, sizeof(bytes));
	assert_int_equal(pt_enc_next(encoder, &mtc), 2);
	assert_int_equal(pt_enc_next(encoder, &mtc), -pte_eos);
	pt_free_encoder(encoder);
}

static void set_goes_back_to_write_again(void **state)
{
	static const uint8_t expected[4] = {0x00, 0x59, 0x07, 0x00};
	uint8_t bytes[4] = {0};
	struct pt_encoder *encoder = encoder_for(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(pt_enc_sync_set(encoder, 1), 0);
	assert_int_equal(pt_enc_next(encoder, &mtc), 2);
	assert_memory_equal(bytes, expected, sizeof(bytes));
	assert_int_equal(pt_enc_sync_set(encoder, 4), 0);
	assert_int_equal(pt_enc_next(encoder, &mtc), -pte_eos);
	assert_int_equal(pt_enc_sync_set(encoder, 5), -pte_eos);
	assert_int_equal(offset_of(encoder), 4);
	pt_free_encoder(encoder);
}

static void what_cannot_be_written_is_refused(void **state)
{
	uint8_t bytes[16];
	struct pt_encoder *encoder = encoder_for(bytes, sizeof(bytes));
	struct pt_packet packet = {.type = ppt_unknown};

	(void)state;
	assert_int_equal(pt_enc_next(encoder, &packet), -pte_bad_opc);
	packet.type = ppt_tma;
	packet.payload.tma.fc = 0x200;
	assert_int_equal(pt_enc_next(encoder, &packet), -pte_bad_packet);
	assert_int_equal(offset_of(encoder), 0);
	pt_free_encoder(encoder);
}

/* The size of a packet is the encoder's to know. */
static void the_packets_size_is_ignored(void **state)
{
	uint8_t bytes[16];
	struct pt_encoder *encoder = encoder_for(bytes, sizeof(bytes));
	struct pt_packet packet = mtc;

	(void)state;
	packet.size = 200;
	assert_int_equal(pt_enc_next(encoder, &packet), 2);
	pt_free_encoder(encoder);
}

static void null_is_refused(void **state)
{
	uint8_t bytes[4];
	struct pt_encoder *encoder = encoder_for(bytes, sizeof(bytes));
	uint64_t offset;

	(void)state;
	assert_null(pt_alloc_encoder(NULL));
	pt_free_encoder(NULL);
	assert_int_equal(pt_enc_next(NULL, &mtc), -pte_invalid);
	assert_int_equal(pt_enc_next(encoder, NULL), -pte_invalid);
	assert_int_equal(pt_enc_sync_set(NULL, 0), -pte_invalid);
	assert_int_equal(pt_enc_get_offset(NULL, &offset), -pte_invalid);
	assert_int_equal(pt_enc_get_offset(encoder, NULL), -pte_invalid);
	assert_null(pt_enc_get_config(NULL));
	assert_ptr_equal(pt_enc_get_config(encoder)->end, bytes + sizeof(bytes));
	pt_free_encoder(encoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(packets_follow_each_other),
	        cmocka_unit_test(a_packet_that_does_not_fit_changes_nothing),
	        cmocka_unit_test(set_goes_back_to_write_again),
	        cmocka_unit_test(what_cannot_be_written_is_refused),
	        cmocka_unit_test(the_packets_size_is_ignored),
	        cmocka_unit_test(null_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
