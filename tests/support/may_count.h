/* may_count.h - whether this machine lets us use perf_event_open(2). */
#ifndef TEST_MAY_COUNT_H
#define TEST_MAY_COUNT_H

/* A group's setup for cmocka: ends the test as skipped (77) where own processes cannot be counted. */
int may_count(void **state);

#endif
