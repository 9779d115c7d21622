/* fetched.c - see fetched.h. What was not used for longest goes first; while a piece is asked for, others can
 * be taken, and who wants the same one waits. */
#include "perfdata/fetched.h"

#include <stdlib.h>

struct sb_fetched *fetched_new(const struct sb_store *store)
{
	struct sb_fetched *fetched = calloc(1, sizeof(*fetched));

	if (!fetched)
		return NULL;
	fetched->store = *store;
	fetched->store.name = NULL; /* the recording's path is the same */
	/* Whole words: what pads AUX data to one is less than that. */
	fetched->store.piece &= ~(uint64_t)7;
	if (!fetched->store.piece)
		fetched->store.piece = FETCHED_PIECE_MAX;
	pthread_mutex_init(&fetched->lock, NULL);
	pthread_cond_init(&fetched->came, NULL);
	return fetched;
}

static void free_piece(struct fetched_piece *piece)
{
	free(piece->bytes);
	free(piece);
}

void fetched_free(struct sb_fetched *fetched)
{
	if (!fetched)
		return;
	while (fetched->piece) {
		struct fetched_piece *piece = fetched->piece;

		fetched->piece = piece->next;
		free_piece(piece);
	}
	pthread_cond_destroy(&fetched->came);
	pthread_mutex_destroy(&fetched->lock);
	free(fetched);
}

/* Takes @piece, whose place in the list is @at, out of it. */
static void unlink_piece(struct sb_fetched *fetched, struct fetched_piece **at)
{
	struct fetched_piece *piece = *at;

	*at = piece->next;
	fetched->size -= piece->size;
	fetched->count -= 1;
}

static void link_first(struct sb_fetched *fetched, struct fetched_piece *piece)
{
	piece->next = fetched->piece;
	fetched->piece = piece;
	fetched->size += piece->size;
	fetched->count += 1;
}

/* The last one in the list that nobody uses; NULL: there is none. */
static struct fetched_piece **oldest_unused(struct sb_fetched *fetched)
{
	struct fetched_piece **oldest = NULL;

	for (struct fetched_piece **at = &fetched->piece; *at; at = &(*at)->next)
		if (!(*at)->users)
			oldest = at;
	return oldest;
}

static void make_room(struct sb_fetched *fetched)
{
	while (fetched->size > FETCHED_KEPT_SIZE || fetched->count > FETCHED_KEPT_MAX) {
		struct fetched_piece **oldest = oldest_unused(fetched);
		struct fetched_piece *piece;

		if (!oldest)
			return;
		piece = *oldest;
		unlink_piece(fetched, oldest);
		free_piece(piece);
	}
}

static void fail(struct sb_fetched *fetched, const struct sb_error *err, int code)
{
	if (fetched->failure.code)
		return;
	fetched->failure = *err;
	fetched->failure.code = code;
}

/* Asks for @piece; the lock is held before and behind. Zero or a negative code. */
static int ask(struct sb_fetched *fetched, struct fetched_piece *piece)
{
	struct sb_error err = {0};
	int code;

	pthread_mutex_unlock(&fetched->lock);
	piece->bytes = malloc(piece->size);
	code = piece->bytes ? fetched->store.read(fetched->store.context, piece->offset, piece->bytes,
	                                          piece->size, &err)
	                    : sb_error_set(&err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	pthread_mutex_lock(&fetched->lock);
	if (code < 0)
		fail(fetched, &err, code);
	else
		piece->is_here = 1;
	pthread_cond_broadcast(&fetched->came);
	return code;
}

static struct fetched_piece **find(struct sb_fetched *fetched, uint64_t offset, uint64_t size)
{
	struct fetched_piece **at = &fetched->piece;

	while (*at && ((*at)->offset != offset || (*at)->size != size))
		at = &(*at)->next;
	return *at ? at : NULL;
}

/* With the lock held. */
static int take(struct sb_fetched *fetched, uint64_t offset, uint64_t size, struct fetched_piece **taken)
{
	struct fetched_piece **at = find(fetched, offset, size), *piece = at ? *at : NULL;
	const int is_new = !piece;

	if (is_new) {
		piece = calloc(1, sizeof(*piece));
		if (!piece)
			return -sbe_nomem;
		piece->offset = offset;
		piece->size = size;
	} else {
		unlink_piece(fetched, at);
	}
	link_first(fetched, piece);
	piece->users += 1;
	make_room(fetched);
	*taken = piece;
	if (is_new)
		return ask(fetched, piece);
	while (!piece->is_here && !fetched->failure.code)
		pthread_cond_wait(&fetched->came, &fetched->lock);
	return piece->is_here ? 0 : fetched->failure.code;
}

int fetched_take(struct sb_fetched *fetched, uint64_t offset, uint64_t size, struct fetched_piece **piece)
{
	int code;

	*piece = NULL;
	pthread_mutex_lock(&fetched->lock);
	code = fetched->failure.code;
	if (!code)
		code = take(fetched, offset, size, piece);
	if (code && *piece) {
		(*piece)->users -= 1;
		*piece = NULL;
	}
	pthread_mutex_unlock(&fetched->lock);
	return code;
}

void fetched_give(struct sb_fetched *fetched, struct fetched_piece *piece)
{
	if (!piece)
		return;
	pthread_mutex_lock(&fetched->lock);
	piece->users -= 1;
	make_room(fetched);
	pthread_mutex_unlock(&fetched->lock);
}
