/* guest_records.h - records of a virtual machine's kernel, which perf inject --guest-data puts between those
 * of the host: their processes and CPUs are others, with the same numbers.
 *
 * Such a record has the CPU mode of a guest, or is of an event that ID_INDEX gives to another machine.
 * SAMPLEs with the CPU mode of a guest are the host's: they say that its thread ran the guest.
 */
#ifndef SB_GUEST_RECORDS_H
#define SB_GUEST_RECORDS_H

#include <stddef.h>

#include <sb/record.h>

/* The events of other machines; sorted. */
struct guest_records {
	uint64_t *id; /* owned */
	size_t count, capacity;
};

/* Takes an ID_INDEX. Zero or -sbe_nomem. */
int guest_records_index(struct guest_records *guests, const struct sb_record *record);
int guest_records_have(const struct guest_records *guests, const struct sb_record *record);
void guest_records_free(struct guest_records *guests);

#endif
