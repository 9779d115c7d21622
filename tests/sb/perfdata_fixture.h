/* perfdata_fixture.h - a folder for each test of reading recordings, a file put together in it, and walking
 * through its records. */
#ifndef SB_TESTS_PERFDATA_FIXTURE_H
#define SB_TESTS_PERFDATA_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include <sb/perfdata.h>

#include "sb/perfdata_file.h"
#include "support/temp_dir.h"

struct fixture {
	struct temp_dir dir;
	struct bytes file;
	struct sb_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_dir_make(&f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	temp_dir_remove(&f->dir);
	free(f);
	return 0;
}

/* Walks to the end: the number of records, and the walk's last answer. */
static inline unsigned int walk(const struct sb_perfdata *perfdata, int *last, struct sb_error *err)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	unsigned int count = 0;

	sb_perfdata_begin(perfdata, &cursor);
	while ((*last = sb_perfdata_next(&cursor, &record, err)) > 0)
		count++;
	assert_int_equal(sb_perfdata_next(&cursor, &record, err), *last);
	return count;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
