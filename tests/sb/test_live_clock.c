/* test_live_clock.c - the time of perf's records, as a recorder without the CPU for a while finds it out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "capture/live_clock.h"
#include "support/may_count.h"

enum { late_us = 40000, near_ns = 5000000 };

static int late; /* the next so many times, others have the CPU behind the call */

int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

int __wrap_prctl(int option, ...)
{
	va_list args;
	int status;

	va_start(args, option);
	status = __real_prctl(option, va_arg(args, unsigned long));
	va_end(args);
	if (option == PR_SET_NAME && late > 0) {
		late -= 1;
		usleep(late_us);
	}
	return status;
}

static void others_have_the_cpu(void **state)
{
	struct live_clock clock, disturbed;

	(void)state;
	assert_int_equal(live_clock_set(&clock), 0);
	late = 1;
	assert_int_equal(live_clock_set(&disturbed), 0);
	assert_int_equal(late, 0);
	assert_in_range(clock.ahead - disturbed.ahead + near_ns, 0, 2 * near_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(others_have_the_cpu),
	};

	return cmocka_run_group_tests(tests, may_count, NULL);
}
