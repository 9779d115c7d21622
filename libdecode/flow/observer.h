/* The observers attached to one decoder (intel-pt.h, struct pt_observer).
 *
 * Callbacks are never nested, and an observer's fields are read anew before each call, so that
 * changes made inside a callback count at once. Errors of callbacks do not disturb decoding: the
 * first one is kept until the decoder's function returns it.
 */
#ifndef PT_OBSERVER_H
#define PT_OBSERVER_H

#include "intel-pt.h"
#include "event/time.h"

struct pt_observer_entry {
	struct pt_observer *obsv;
	uint64_t told; /* the time of its last tick, or when it was attached */
};

struct pt_observers {
	struct pt_observer_entry *entry; /* owned */
	uint32_t count, capacity;
	uint32_t calls;             /* how often callbacks were called */
	uint8_t calling;            /* inside a callback */
	int errcode;                /* the first negative result of a callback, or zero */
	enum pt_decode_state state; /* as last notified */
};

void pt_observers_init(struct pt_observers *observers);
/* Detaches all. */
void pt_observers_fini(struct pt_observers *observers);

int pt_observers_attach(struct pt_observers *observers, struct pt_observer *obsv, const struct pt_time *time);

/* Time changed. */
void pt_observers_tick(struct pt_observers *observers, const struct pt_time *time);

/* The decode state is @state now; calls nobody when it was that before. A limit that a callback moved
 * before the present time makes it tick. */
void pt_observers_state(struct pt_observers *observers, enum pt_decode_state state,
                        const struct pt_time *time);

/* The lowest limit, UINT64_MAX when nobody listens. */
uint64_t pt_observers_limit(const struct pt_observers *observers);

/* Takes the kept error: zero or negative. */
int pt_observers_take_error(struct pt_observers *observers);

#endif
