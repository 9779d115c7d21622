/* call_places.h - from an address that was executed to its function, and how far that one's code reaches.
 *
 * Functions are interned: equal names in equal files are one function, wherever it is mapped. Answers of
 * sb_symbols are kept, each with the addresses and times that it is good for.
 */
#ifndef SB_CALL_PLACES_H
#define SB_CALL_PLACES_H

#include <sb/call_stack.h>

#include "system/arena.h"
#include "system/key_table.h"

/* What functions do to stacks that their code alone does not tell. */
enum function_trait {
	trait_sets_jump = 1 << 0, /* setjmp: execution may return behind its call again */
	trait_unwinds = 1 << 1,   /* longjmp, or what exceptions come from: it goes on in a frame below */
	trait_resumes = 1 << 2,   /* and not in the one that called it */
	trait_cold = 1 << 3,      /* a part of another function that was put elsewhere */
	trait_switches =
	        1 << 12, /* returns when execution comes back to its stack, whoever else waits for that */
	trait_learned = 1 << 13, /* which was seen, and is not known by its name */
	/* Of Go's runtime, see call_routines.c. */
	trait_parks = 1 << 4,      /* what it calls runs on the thread's own stack; its goroutine waits */
	trait_grows = 1 << 5,      /* likewise, but mostly its goroutine goes on at once */
	trait_gives_up = 1 << 6,   /* the goroutine that came to this one waits, however it came there */
	trait_ends = 1 << 7,       /* likewise, it has ended */
	trait_chooses = 1 << 8,    /* says which goroutine is next */
	trait_goes = 1 << 9,       /* jumps to where a goroutine goes on, or begins */
	trait_starts = 1 << 10,    /* the first on a thread's own stack that is left there for good */
	trait_outermost = 1 << 11, /* to where a goroutine's own function returns */
	traits_of_go = trait_parks | trait_grows | trait_gives_up | trait_ends | trait_chooses | trait_goes |
	               trait_starts | trait_outermost
};

struct known_function {
	struct sb_function public;
	uint32_t traits;
	int is_summed; /* flow was added up in which it has none of these traits */
};

/* What is known of some addresses. */
struct call_place {
	const struct sb_epoch *epoch;
	int32_t pid;
	int valid;
	uint64_t low, high, from, to; /* addresses and times that it is good for */
	uint64_t begin;               /* of the symbol; 0: there is none */
	const char *name, *mangled, *dso;
	struct known_function *function; /* NULL: not interned yet */
};

enum { call_places_slots = 4096 };

struct call_places {
	struct sb_symbols *symbols;   /* borrowed; NULL: none */
	const struct sb_clock *clock; /* borrowed; NULL: none */
	struct arena arena;           /* of functions */
	struct key_table keys;        /* of functions, by number */
	struct known_function **function;
	size_t capacity;
	uint64_t learned;  /* how often something was */
	uint64_t tsc, now; /* the time that was converted last */
	struct call_place slot[call_places_slots];
};

/* NULL: no memory. */
struct call_places *call_places_new(const struct sb_calls_options *options);
void call_places_free(struct call_places *places);

/* The time of @tsc, as places have it. */
uint64_t call_places_time(struct call_places *places, uint64_t tsc);

/* What is known of @ip, executed by @thread; valid until the next call. NULL: no memory. */
struct call_place *call_places_at(struct call_places *places, const struct sb_call_thread *thread,
                                  uint64_t ip);

/* The function of @place. @called: the address that was called, if it was; a function that has no name is
 * told by it. NULL: no memory. */
const struct known_function *call_places_function(struct call_places *places, struct call_place *place,
                                                  uint64_t called);
/* The function of a frame that is entered at @ip so; *place becomes what is known of @ip. NULL: no memory. */
struct known_function *call_places_entered(struct call_places *places, const struct sb_call_thread *thread,
                                           uint64_t ip, int called, struct call_place **place);

/* What @function does was seen. */
void call_places_learn(struct call_places *places, const struct sb_function *function, uint32_t traits);

static inline const struct known_function *known_function(const struct sb_function *function)
{
	return (const struct known_function *)function; /* its first member */
}

#endif
