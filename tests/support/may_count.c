/* may_count.c - see may_count.h. */
#include "support/may_count.h"

#include <stdio.h>
#include <stdlib.h>

#include <sb/counter.h>

int may_count(void **state)
{
	const int counter = sb_counter_allocate("page-faults:u", sb_counter_process, 0, -1, NULL);
	const int status = counter > 0 ? sb_counter_attach(counter, 0, NULL) : counter;

	(void)state;
	sb_counter_release(counter);
	if (status < 0) {
		printf("skipped: perf_event_open(2) is not permitted here\n");
		exit(77);
	}
	return 0;
}
