/* session.h - for tests: into which pieces workers cut the trace. */
#ifndef SB_SESSION_H
#define SB_SESSION_H

#include <sb/replay.h>

/* @size > 0: pieces begin at least so many bytes apart. */
void session_set_piece_size(struct sb_session *session, uint64_t size);

#endif
