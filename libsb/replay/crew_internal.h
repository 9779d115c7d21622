/* crew_internal.h - shared by crew.c, which hands out and joins pieces, and crew_work.c, which decodes them.
 */
#ifndef SB_CREW_INTERNAL_H
#define SB_CREW_INTERNAL_H

#include <pthread.h>

#include "replay/crew.h"
#include "replay/joint.h"
#include "replay/packer.h"

enum piece_state { piece_free, piece_taken, piece_done };
enum joint_state { joint_expected, joint_ready, joint_missing };

/* A piece in line. All is guarded by the crew's lock. */
struct piece {
	struct piece *next;
	struct planned planned;
	enum piece_state state;
	enum joint_state joint_state;
	struct joint joint;                   /* where its decoding began */
	uint64_t at;                          /* bytes of the stream: decoding is there, or farther */
	int whole;                            /* there is no place to cut it at */
	int dead;                             /* the piece before goes on through it */
	struct parcel *parcel, **last_parcel; /* owned */
	struct ledger_part part;              /* when it is done */
	uint64_t last_tsc;                    /* of its flow, then */
	int status;
	struct sb_error error;
};

struct crew {
	const struct replay_world *world;
	struct ledger *ledger; /* of the calling thread */
	size_t nparts;         /* of images, per worker */
	int sums;              /* nobody wants the flow: streams are cut when somebody has nothing to do */
	int uncounted; /* workers leave filtering by time, and counting, to the thread that knows the time */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* anything below, or of the pieces: for workers */
	pthread_cond_t ready;   /* something to hand out, or the first piece's end: for the calling thread */
	struct plan plan;
	struct piece *first, *last; /* the line */
	size_t npieces, npieces_max;
	struct parcel *spare;
	size_t nspare;
	size_t waiting, waiting_max; /* bytes in parcels */
	uint64_t last_tsc;           /* of what was handed out of the present stream */
	int stop;
	int plan_status; /* negative: the plan failed */
};

struct worker {
	struct crew *crew;
	pthread_t thread;
	struct packer packer;
	struct piece *piece;
	int starting;  /* the piece's joint is not there yet */
	int abandoned; /* nobody wants what is left */
};

/* ---- crew.c. Those ending in _locked are called with the lock. -------------------------------- */

/* Waits for a piece. NULL: there will be none. */
struct piece *crew_take(struct crew *crew);
/* The piece behind @piece in its stream, or NULL. Makes it if there is none yet. */
struct piece *crew_next_locked(struct crew *crew, struct piece *piece);
void crew_kill_locked(struct crew *crew, struct piece *piece);
/* Something changed: whoever may have waited for it goes on. */
void crew_tell_locked(struct crew *crew);
/* From where the piece's decoding has come to up to the next piece of its stream. */
uint64_t crew_bytes_left_locked(const struct crew *crew, const struct piece *piece);
/* What is shorter is not cut off for somebody who has nothing to do. */
uint64_t crew_piece_least(const struct crew *crew);
/* Puts @parcel in line, when there is room. Positive: nobody wants it. */
int crew_send(struct crew *crew, struct piece *piece, struct parcel *parcel);
struct parcel *crew_get_parcel(struct crew *crew);
void crew_put_parcel(struct crew *crew, struct parcel *parcel);

/* ---- crew_work.c ------------------------------------------------------------------------------ */

/* @index: of the worker, from one on. */
int worker_init(struct worker *worker, struct crew *crew, uint32_t index);
void worker_fini(struct worker *worker);
/* The thread's function; @context is the worker. */
void *worker_main(void *context);

#endif
