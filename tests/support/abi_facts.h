/* What two versions of <intel-pt.h> say about the same things: the rows are in abi_facts.inc. */
#ifndef TEST_ABI_FACTS_H
#define TEST_ABI_FACTS_H

#include <stddef.h>
#include <stdint.h>

struct abi_fact {
	const char *name;
	uint64_t value; /* of bits: the first one's number << 8, and how many */
};

/* Fills @facts and returns how many there are; if that is more than @room, some are missing. */
size_t abi_facts_ours(struct abi_fact *facts, size_t room);
/* By the header of Debian's libipt-dev; zero if that is not installed, or is not 2.0. */
size_t abi_facts_debian(struct abi_fact *facts, size_t room);

#endif
