/* code_vote.h - which file stands where, by the addresses that were executed.
 *
 * Packets name addresses: targets of calls into libraries, entry points, functions that are passed to others.
 * Many are where a function begins. So each such address votes, with each function of a file that begins at
 * the same place in a page, for where the file would be. Then all of them must be where its instructions
 * begin: in the wrong place, or the wrong file, one in three or four is.
 */
#ifndef SB_CODE_VOTE_H
#define SB_CODE_VOTE_H

#include "replay/code_file.h"

struct code_verdict {
	const struct code_file *file; /* NULL: none is clear */
	uint64_t base;                /* what the file's addresses are relative to */
	uint32_t score;               /* how much speaks for it */
};

/* Where one of @nfiles files must stand, of @nips addresses; the clearest one, where @epoch has nothing. Zero
 * or -sbe_nomem. */
int code_vote(const struct sb_epoch *epoch, struct code_file *file, size_t nfiles, const uint64_t *ip,
              size_t nips, struct code_verdict *verdict);

#endif
