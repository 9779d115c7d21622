/* test_cgroups.c - where control groups are when their hierarchy is mounted from one of them on, as in a
 * container: those below it, and no others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "capture/cgroups.h"

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

static const char *mounts; /* NULL: those that there are */

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!mounts || strcmp(path, "/proc/self/mountinfo") != 0)
		return __real_fopen(path, mode);
	return fmemopen((void *)(uintptr_t)mounts, strlen(mounts), "r");
}

static void below_what_is_mounted(void **state)
{
	static const struct {
		const char *path, *place; /* NULL: it is elsewhere */
	} rows[] = {
	        {"/docker/ab", "/sys/fs/cgroup/"},
	        {"/docker/ab/x", "/sys/fs/cgroup/x"},
	        {"/docker/abc", NULL},
	        {"/docker/abc/x", NULL},
	        {"/docker", NULL},
	        {"/", NULL},
	};
	struct cgroups *cgroups;
	char place[PATH_MAX];

	(void)state;
	mounts = "30 20 0:26 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
	assert_int_equal(cgroups_open(&cgroups), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
		const int status = cgroups_place(cgroups, rows[i].path, place);

		if (status != (rows[i].place ? 0 : -EXDEV))
			fail_msg("%s: %d, %s", rows[i].path, status, place);
		if (rows[i].place)
			assert_string_equal(place, rows[i].place);
	}
	cgroups_close(cgroups);
	mounts = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(below_what_is_mounted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
