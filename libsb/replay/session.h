/* session.h - what a session is made of, for tests and for who reads its code. */
#ifndef SB_SESSION_H
#define SB_SESSION_H

#include <intel-pt.h>
#include <sb/clock.h>
#include <sb/replay.h>

#include "binary/kernel_text.h"
#include "replay/lost_map.h"
#include "replay/walker.h"

/* @size > 0: pieces begin at least so many bytes apart. */
void session_set_piece_size(struct sb_session *session, uint64_t size);

/* Where the code comes from that a session decodes; borrowed. */
struct session_code {
	const struct sb_system *system;
	const struct sb_clock *clock;
	struct sb_resolver *resolver;
	struct pt_image_section_cache *sections;
	struct lost_maps *lost;
	const struct kernel_text *kernel; /* NULL: not known */
};

struct session_code session_code(const struct sb_session *session);

/* @status; or, with the reason in *err, that not all trace could be had, whatever came of it. */
int session_status(const struct sb_session *session, int status, struct sb_error *err);

/* What the session's walkers see; the session's. */
struct replay_world session_world(const struct sb_session *session);

#endif
