/* How many records of each type a recording has, as we and as the installed perf see it. */
#ifndef TEST_SB_RECORD_COUNTS_H
#define TEST_SB_RECORD_COUNTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sb/perfdata.h>

#include "support/perf_tool.h"

enum { MAX_TYPE = 128 };

static inline struct sb_perfdata *open_recording(const char *path)
{
	struct sb_perfdata *perfdata;
	struct sb_error err;

	if (sb_perfdata_open(&perfdata, path, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	return perfdata;
}

/* There must be no damage. */
static inline void count_records(const struct sb_perfdata *perfdata, unsigned int *counts)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err;
	const struct sb_error *damage = sb_perfdata_damage(perfdata);
	int status;

	if (damage)
		fail_msg("%s: offset %#lx: %s", damage->file, (unsigned long)damage->offset, damage->text);
	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &err)) > 0) {
		assert_true(record.type < MAX_TYPE);
		counts[record.type]++;
	}
	if (status < 0)
		fail_msg("%s: offset %#lx: %s", err.file, (unsigned long)err.offset, err.text);
}

/* perf calls two of its own differently. */
static inline int is_name(const char *ours, const char *theirs)
{
	return !strcmp(ours, theirs) || (!strncmp(ours, "HEADER_", 7) && !strcmp(ours + 7, theirs));
}

static inline uint32_t type_of_name(const char *name)
{
	uint32_t type = 0;

	while (type < MAX_TYPE && !is_name(sb_record_name(type), name))
		type++;
	assert_in_range(type, 1, MAX_TYPE - 1);
	return type;
}

/* `perf script -D` sees as many records of each type in @path as we do in @perfdata. Returns how many. */
static inline unsigned int assert_perf_counts_the_same(const struct sb_perfdata *perfdata, const char *path)
{
	unsigned int counts[MAX_TYPE] = {0}, total = 0;
	struct perf_count theirs[64];
	size_t n = perf_count_records(path, theirs, 64);

	assert_true(n > 0);
	count_records(perfdata, counts);
	for (size_t i = 0; i < n; i++) {
		const uint32_t type = type_of_name(theirs[i].name);

		if (counts[type] != theirs[i].count)
			fail_msg("%s: %u of %s, perf has %u", path, counts[type], theirs[i].name,
			         theirs[i].count);
		total += counts[type];
		counts[type] = 0;
	}
	/* None that perf does not see. */
	for (uint32_t type = 0; type < MAX_TYPE; type++)
		assert_int_equal(counts[type], 0);
	return total;
}

#endif
