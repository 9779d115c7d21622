/* answer.h - what was found for a mapping's file and range: the same wherever it was mapped.
 *
 * Answers are kept by all that they depend on: what the record says, and whose root is asked. An answer that
 * was given stays as it is.
 */
#ifndef SB_ANSWER_H
#define SB_ANSWER_H

#include <sb/binary.h>

#include "binary/compressed_file.h"
#include "binary/rooted_open.h"

struct root;

struct answer {
	struct sb_binary binary; /* first: handed out */
	struct answer *next;     /* of the same slot */
	struct sb_map map;       /* what was asked for; from address 0 on; the name is owned */
	uint32_t scope;
	int was_written;         /* while it was recorded, after it was mapped */
	int is_for_some;         /* for others, it was: there is another answer */
	uint64_t recorded_until; /* ns since 1970; UINT64_MAX: not known */
	uint64_t written; /* the recorded file itself, last; 0: it is another one, or its build-id tells */
	const struct root *root; /* in which it was found; NULL: elsewhere */
	/* Of the search: the place that was looked at last for a file of that inode; NULL: none. */
	const struct root *seen_root;
	struct rooted_file seen;
	struct plain_file plain; /* of a file that is compressed */
	int debug_known;         /* looked for */
	char *debug;             /* path of the separate debug file; owned */
	struct plain_file debug_plain;
};

struct answer_table {
	struct answer **slot;
	size_t nslots, count;
};

/* The answer for @map, or NULL when there is none yet. @was_written: for who mapped a file that was written
 * to later on. */
struct answer *answer_find(const struct answer_table *table, uint32_t scope, const struct sb_map *map,
                           int was_written);
/* A new, empty one; NULL: out of memory. */
struct answer *answer_add(struct answer_table *table, uint32_t scope, const struct sb_map *map,
                          int was_written);
void answer_table_fini(struct answer_table *table);

#endif
