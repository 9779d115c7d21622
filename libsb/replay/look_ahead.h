/* look_ahead.h - the addresses of user space that the trace names next, without any code.
 */
#ifndef SB_LOOK_AHEAD_H
#define SB_LOOK_AHEAD_H

#include <intel-pt.h>

enum { LOOK_AHEAD_MAX = 8 };

/* Execution in user space stands at @ip, and @decoder at the packet behind. Puts @ip and the addresses of the
 * next packets, one for each page, into @found, up to LOOK_AHEAD_MAX; up to where it is left, or may have
 * been. Returns how many. */
size_t look_ahead(const struct pt_block_decoder *decoder, uint64_t ip, uint64_t found[LOOK_AHEAD_MAX]);

/* Adds @ip to @count < LOOK_AHEAD_MAX addresses, unless one of them is of its page. Returns how many there
 * are. */
size_t look_ahead_add(uint64_t found[LOOK_AHEAD_MAX], size_t count, uint64_t ip);

#endif
