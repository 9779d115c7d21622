/* Code that a callback reads, and how long blocks of it, and of files, stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt-run.h>

#include "support/flow_text.h"
#include "support/run_blocks.h"

static int read_blocks(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	/* 2000: nop; jmp 2003; 2003: mov $0,%eax; jmp 200a; 200a: syscall */
	static const uint8_t code[] = {0x90, 0xeb, 0x00, 0xb8, 0, 0, 0, 0, 0xeb, 0x00, 0x0f, 0x05};
	const uint64_t offset = ip - 0x2000;

	(void)asid;
	(void)context;
	if (offset >= sizeof(code))
		return -pte_nomap;
	if (size > sizeof(code) - offset)
		size = sizeof(code) - offset;
	memcpy(buffer, code + offset, size);
	return (int)size;
}

/* The lengths of one block's instructions must not be those of the next. */
static void several_blocks_from_a_callback(void **state)
{
	struct trace trace = {0};
	struct pt_config config;
	struct pt_image *image = pt_image_alloc(NULL);
	struct flow_text flow;

	(void)state;
	assert_int_equal(pt_image_set_callback(image, read_blocks, NULL), 0);
	trace_start(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, 0x2000);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	config = trace_config(&trace);
	flow_text(&flow, &config, image);
	pt_image_free(image);
	assert_string_equal(flow.text, "[enabled] 2000 2001 2003 2008 200a [disabled] eos");
}

/* What pt_blk_run() handed out stays until its next call, even when the image is freed. */
static void blocks_outlive_their_image(void **state)
{
	struct trace trace = {0};
	struct program program;
	struct pt_config config;
	struct pt_image *image;
	struct pt_block_decoder *decoder;
	struct pt_event event;
	struct pt_run run;
	int status;

	(void)state;
	trace_start(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	program_write(&program, "\x90\xb8\x00\x00\x00\x00\x0f\x05", 8);
	image = program_image(&program, 0x1000);
	config = trace_config(&trace);
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, image);
	status = pt_blk_sync_forward(decoder);
	while (status & pts_event_pending)
		status = pt_blk_event(decoder, &event, sizeof(event));
	assert_int_equal(pt_blk_run(decoder, &run, sizeof(run)), pts_event_pending);
	pt_blk_set_image(decoder, NULL);
	pt_image_free(image);
	assert_int_equal(run.nblocks, 1);
	assert_memory_equal(run_block(&run, 0)->length, "\x01\x05\x02", 3);
	pt_blk_free_decoder(decoder);
	program_remove(&program);
}

static int read_nops(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	static const uint8_t code[] = {0x90, 0x90, 0x0f, 0x05};
	size_t n = 0;

	(void)asid;
	(void)context;
	if (ip < 0x2000 || ip >= 0x2000 + sizeof(code))
		return -pte_nomap;
	while (n < size && ip - 0x2000 + n < sizeof(code)) {
		buffer[n] = code[ip - 0x2000 + n];
		n += 1;
	}
	return (int)n;
}

static void code_from_a_callback(void **state)
{
	struct trace trace = {0};
	struct pt_config config;
	struct pt_image *image = pt_image_alloc(NULL);
	struct flow_text flow;

	(void)state;
	assert_int_equal(pt_image_set_callback(image, read_nops, NULL), 0);
	trace_start(&trace, 100);
	trace_ip(&trace, ppt_tip_pge, 0x2000);
	trace_ip_suppressed(&trace, ppt_tip_pgd);
	config = trace_config(&trace);
	flow_text(&flow, &config, image);
	pt_image_free(image);
	assert_string_equal(flow.text, "[enabled] 2000 2001 2002 [disabled] eos");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(several_blocks_from_a_callback),
	        cmocka_unit_test(blocks_outlive_their_image),
	        cmocka_unit_test(code_from_a_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
