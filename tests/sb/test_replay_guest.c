/* test_replay_guest.c - a virtual machine runs in the middle of the trace: what it executes is a gap of its
 * own, however much its addresses look like the host's.
 *
 * No recording with virtual machines is at hand: the packets are made as the SDM says that VM entries and VM
 * exits make them. Host and guest have the same addresses:
 *   /a  1000 nop  1001 nop  1002 syscall  1004 nop  1005 syscall
 *   K   81000000 nop  81000001 vmresume  81000004 nop  81000005 sysret
 */
#include "replay_fixture.h"

#include "support/kcore_file.h"

#define K 0xffffffff81000000ull

static const uint8_t code_a[] = {0x90, 0x90, 0x0f, 0x05, 0x90, 0x0f, 0x05};
static const uint8_t code_kernel[] = {0x90, 0x0f, 0x01, 0xc3, 0x90, 0x48, 0x0f, 0x07};

enum { HOST_CR3 = 0x10000, GUEST_CR3 = 0x20000 };

static char *kcore;

static int setup_host(void **state)
{
	struct fixture *fixture;

	setup_kernel(state);
	fixture = *state;
	has_file(fixture, "/a", code_a, sizeof(code_a));
	kcore = kcore_file(&fixture->dir, K, code_kernel, sizeof(code_kernel));
	fixture->options.kcore = kcore;
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 50, 0, 1);
	return 0;
}

static int teardown_host(void **state)
{
	free(kcore);
	return teardown(state);
}

/* From user space to the kernel, which stands before its VMRESUME. */
static void trace_host(struct trace *trace)
{
	trace_start(trace, 100);
	trace_enabled(trace, 200, 0x1000);
	trace_ip(trace, ppt_tip, K);
}

static void trace_vm_entry(struct trace *trace, uint64_t ip)
{
	trace_pip_guest(trace, GUEST_CR3);
	trace_ip(trace, ppt_tip, ip);
}

static void trace_vm_exit(struct trace *trace, uint64_t ip)
{
	trace_ip(trace, ppt_fup, ip);
	trace_pip(trace, HOST_CR3);
	trace_ip(trace, ppt_tip, K + 4);
}

/* What a guest executes that runs the very code of the host, at the same addresses. */
static void trace_guest(struct trace *trace)
{
	trace_ip(trace, ppt_tip, 0x1000);
	trace_ip(trace, ppt_tip, K);
	trace_tnt(trace, "tnt");
	trace_pip_guest(trace, GUEST_CR3 + 0x1000);
	trace_ip(trace, ppt_tip, 0x1000);
	trace_ip(trace, ppt_fup, 0x1001); /* an interrupt, inside of the guest */
	trace_ip(trace, ppt_tip, K);
}

static void trace_return(struct trace *trace)
{
	trace_ip(trace, ppt_tip, 0x1004);
	trace_disabled(trace);
}

#define BEFORE "0/1/1@200: 1000 1001 1002 ffffffff81000000 ffffffff81000001"
#define BEHIND " ffffffff81000004 ffffffff81000005 1004 1005"

static void check(struct fixture *fixture, const struct trace *trace, const char *flow, uint64_t bytes)
{
	char gaps[64];

	traced(fixture, 0, trace->bytes, trace->size);
	snprintf(gaps, sizeof(gaps), "vmx-guest+%ju", (uintmax_t)bytes);
	assert_replay(fixture, flow, gaps);
}

static void a_guest_is_a_gap(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	size_t begin, end;

	trace_host(&trace);
	trace_vm_entry(&trace, K);
	begin = trace.size;
	trace_guest(&trace);
	trace_vm_exit(&trace, K + 1);
	end = trace.size;
	trace_return(&trace);
	check(fixture, &trace, BEFORE BEHIND, end - begin);
	assert_string_equal(fixture->details, "a virtual machine ran, whose code is not the host's\n");
}

/* The guest's kernel runs at once where the host's did, and leaves at once. */
static void each_stay_is_one_gap(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	trace_host(&trace);
	for (int i = 0; i < 3; ++i) {
		trace_vm_entry(&trace, K);
		trace_ip(&trace, ppt_fup, K + 1);
		trace_pip(&trace, HOST_CR3);
		trace_ip(&trace, ppt_tip, i < 2 ? K : K + 4);
	}
	trace_return(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, BEFORE " ffffffff81000000 ffffffff81000001"
	                                          " ffffffff81000000 ffffffff81000001" BEHIND);
	assert_int_equal(sb_session_account(fixture->session)->gap[sb_gap_vmx_guest].count, 3);
}

/* PSB+ says that it is the guest that runs, and that it has a VMCS. */
static void a_guest_at_a_psb_is_known(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	size_t end;

	trace_psb(&trace);
	trace_tsc(&trace, 200);
	trace_pip_guest(&trace, GUEST_CR3);
	trace_vmcs(&trace, 0x5000);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_fup, K);
	trace_psbend(&trace);
	trace_guest(&trace);
	trace_vm_exit(&trace, K);
	end = trace.size;
	trace_return(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: ffffffff81000004 ffffffff81000005 1004 1005");
	assert_int_equal(sb_session_account(fixture->session)->gap[sb_gap_vmx_guest].count, 1);
	assert_in_range(sb_session_account(fixture->session)->gap[sb_gap_vmx_guest].bytes, 1, end);
}

/* The VM entry itself lies where the host's code is not known. */
static void a_guest_behind_another_gap_is_none_of_the_host(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	trace_start(&trace, 100);
	trace_enabled(&trace, 200, 0x1000);
	trace_ip(&trace, ppt_tip, K + 0x800);
	trace_vm_entry(&trace, K);
	trace_guest(&trace);
	trace_vm_exit(&trace, K + 1);
	trace_return(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002" BEHIND);
}

/* Programs in the guest run at addresses at which the process that has the virtual machine has code. */
static void a_guest_of_user_space_is_a_gap(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	size_t begin, end;

	trace_host(&trace);
	trace_vm_entry(&trace, 0x1000);
	begin = trace.size;
	trace_ip(&trace, ppt_tip, 0x1004);
	trace_vm_exit(&trace, 0x1005);
	end = trace.size;
	trace_return(&trace);
	check(fixture, &trace, BEFORE BEHIND, end - begin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(a_guest_is_a_gap, setup_host, teardown_host),
	        cmocka_unit_test_setup_teardown(each_stay_is_one_gap, setup_host, teardown_host),
	        cmocka_unit_test_setup_teardown(a_guest_at_a_psb_is_known, setup_host, teardown_host),
	        cmocka_unit_test_setup_teardown(a_guest_behind_another_gap_is_none_of_the_host, setup_host,
	                                        teardown_host),
	        cmocka_unit_test_setup_teardown(a_guest_of_user_space_is_a_gap, setup_host, teardown_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
