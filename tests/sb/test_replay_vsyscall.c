/* test_replay_vsyscall.c - the vsyscall page: who calls it faults, and the kernel does what it asked for. No
 * instruction of it is executed, and none is missing.
 */
#include "replay_fixture.h"

#define VSYSCALL 0xffffffffff600000ull

static void calls_of_the_page_are_no_gaps(void **state)
{
	static const uint8_t code[] = {0xff, 0xd0, 0x90, 0x0f, 0x05}; /* call *%rax; nop; syscall */
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_file(fixture, "/a", code, sizeof(code));
	maps(fixture, 0, 7, 0x1000, "/a");
	switches(fixture, 0, 10, 1, 7);
	trace_start(&trace, 5);
	trace_enabled(&trace, 100, 0x1000);
	trace_ip(&trace, ppt_tip, VSYSCALL);
	trace_ip(&trace, ppt_fup, VSYSCALL);
	trace_disabled(&trace);
	trace_enabled(&trace, 200, 0x1002);
	trace_disabled(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/7/7@100: 1000; 0/7/7@200: 1002 1003", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(calls_of_the_page_are_no_gaps, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
