/* guest_records.c - see guest_records.h. */
#include "system/guest_records.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "bisect.h"
#include "record/bytes.h"
#include "system/arena.h"

enum { ENTRY_SIZE = 32, GUEST_SIZE = 16 };       /* of ID_INDEX; both begin with what counts here */
enum { GUEST_KERNEL_MODE = 4, GUEST_USER_MODE }; /* PERF_RECORD_MISC_GUEST_* */

int guest_records_index(struct guest_records *guests, const struct sb_record *record)
{
	const uint8_t *guest = record->u.id_index.guests;

	for (uint64_t i = 0; guest && i < record->u.id_index.nr; ++i) {
		/* The host is no machine's process. */
		if ((int64_t)load_u64(guest + i * GUEST_SIZE) <= 0)
			continue;
		if (array_reserve(&guests->id, &guests->capacity, guests->count, sizeof(*guests->id)) < 0)
			return -sbe_nomem;
		guests->id[guests->count++] = load_u64(record->u.id_index.entries + i * ENTRY_SIZE);
	}
	return array_sort(guests->id, guests->count, sizeof(*guests->id));
}

static int has_id(const struct guest_records *guests, uint64_t id)
{
	struct bisect at = {.high = guests->count};

	while (bisect_more(&at))
		bisect_go(&at, guests->id[at.middle] < id);
	return at.low < guests->count && guests->id[at.low] == id;
}

int guest_records_have(const struct guest_records *guests, const struct sb_record *record)
{
	const unsigned int mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	if (record->type >= SB_RECORD_HEADER_ATTR)
		return 0;
	if (record->type != PERF_RECORD_SAMPLE && (mode == GUEST_KERNEL_MODE || mode == GUEST_USER_MODE))
		return 1;
	return guests->count && (record->sample.has & PERF_SAMPLE_ID) && has_id(guests, record->sample.id);
}

void guest_records_free(struct guest_records *guests)
{
	free(guests->id);
}
