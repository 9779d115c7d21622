/* crew.c - see crew.h: the line of pieces, and handing out what they hold. */
#include "replay/crew.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "replay/crew_internal.h"

enum {
	PIECES_PER_JOB = 8,
	SPARES_MAX = 64,           /* parcels */
	WAITING_PER_JOB = 1 << 20, /* bytes: they stay in the processor's caches */
	IMAGE_PARTS_MAX = 1 << 20, /* of all workers: images, and mappings in them, of some 200 bytes */
	IMAGE_PARTS_LEAST = 1 << 12,
};

/* ---- The line --------------------------------------------------------------------------------- */

/* Puts a piece in line behind @before; NULL: at the end. NULL: out of memory. */
static struct piece *insert_piece(struct crew *crew, struct piece *before, const struct planned *planned)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	if (!piece) {
		crew->plan_status = -sbe_nomem;
		return NULL;
	}
	piece->planned = *planned;
	piece->at = planned->place.position;
	piece->last_parcel = &piece->parcel;
	if (!before)
		before = crew->last;
	if (before) {
		piece->next = before->next;
		before->next = piece;
	} else {
		crew->first = piece;
	}
	if (!piece->next)
		crew->last = piece;
	crew->npieces += 1;
	return piece;
}

/* Appends the plan's next piece. NULL: there is none, or the plan failed. */
static struct piece *make_piece(struct crew *crew)
{
	struct planned planned;
	const int status = plan_next(&crew->plan, &planned);

	if (status < 0)
		crew->plan_status = status;
	return status > 0 ? insert_piece(crew, NULL, &planned) : NULL;
}

static void free_piece(struct piece *piece)
{
	while (piece->parcel) {
		struct parcel *next = piece->parcel->next;

		parcel_free(piece->parcel);
		piece->parcel = next;
	}
	joint_fini(&piece->joint);
	ledger_part_fini(&piece->part);
	free(piece);
}

/* ---- Cutting what others decode ---------------------------------------------------------------- */

uint64_t crew_bytes_left_locked(const struct crew *crew, const struct piece *piece)
{
	const size_t stream = piece->planned.stream;
	const struct piece *next = piece->next;
	uint64_t end = crew->plan.stream[stream].size;

	while (next && next->dead)
		next = next->next;
	if (next && next->planned.stream == stream)
		end = next->planned.place.position;
	return end > piece->at ? end - piece->at : 0;
}

uint64_t crew_piece_least(const struct crew *crew)
{
	return crew->plan.piece_size < PLAN_PIECE_LEAST ? crew->plan.piece_size : PLAN_PIECE_LEAST;
}

/* How much of a piece somebody else may do. */
static uint64_t bytes_to_share(const struct crew *crew, const struct piece *piece)
{
	if (piece->state != piece_taken || piece->dead || piece->whole)
		return 0;
	return crew_bytes_left_locked(crew, piece);
}

static struct piece *find_largest(struct crew *crew, uint64_t *left)
{
	struct piece *largest = NULL;

	*left = 0;
	for (struct piece *piece = crew->first; piece; piece = piece->next) {
		const uint64_t bytes = bytes_to_share(crew, piece);

		if (bytes > *left) {
			*left = bytes;
			largest = piece;
		}
	}
	return largest;
}

/* The second half of what somebody has left to do, which they find out when they come there. NULL: there is
 * nothing left that is worth the while. */
static struct piece *cut_largest(struct crew *crew)
{
	struct planned planned;
	struct piece *piece;
	uint64_t left;

	while ((piece = find_largest(crew, &left)) && left >= 3 * crew_piece_least(crew)) {
		const int status =
		        plan_cut(&crew->plan, piece->planned.stream, piece->at + left / 2, &planned);

		if (status < 0) {
			crew->plan_status = status;
			return NULL;
		}
		if (status > 0 && planned.place.position < piece->at + left)
			return insert_piece(crew, piece, &planned);
		piece->whole = 1;
	}
	return NULL;
}

/* ---- Taking pieces ----------------------------------------------------------------------------- */

static struct piece *find_free(struct crew *crew)
{
	struct piece *piece = crew->first;

	while (piece && piece->state != piece_free)
		piece = piece->next;
	if (!piece && crew->npieces < crew->npieces_max)
		piece = make_piece(crew);
	if (!piece && crew->sums)
		piece = cut_largest(crew);
	return piece;
}

/* Whether there may be more to do later. */
static int may_come(const struct crew *crew)
{
	if (crew->plan_status < 0)
		return 0;
	if (!crew->sums)
		return crew->npieces >= crew->npieces_max;
	for (const struct piece *piece = crew->first; piece; piece = piece->next)
		if (piece->state != piece_done)
			return 1;
	return 0;
}

struct piece *crew_take(struct crew *crew)
{
	struct piece *piece = NULL;

	pthread_mutex_lock(&crew->lock);
	while (!crew->stop) {
		piece = find_free(crew);
		if (piece || !may_come(crew))
			break;
		pthread_cond_wait(&crew->changed, &crew->lock);
	}
	if (crew->stop)
		piece = NULL;
	if (piece)
		piece->state = piece_taken;
	pthread_mutex_unlock(&crew->lock);
	return piece;
}

struct piece *crew_next_locked(struct crew *crew, struct piece *piece)
{
	struct piece *next = piece->next;

	if (!next && !crew->sums && crew->plan.present == piece->planned.stream)
		next = make_piece(crew);
	return next && next->planned.stream == piece->planned.stream ? next : NULL;
}

void crew_kill_locked(struct crew *crew, struct piece *piece)
{
	piece->dead = 1;
	if (piece->state == piece_free)
		piece->state = piece_done;
	crew_tell_locked(crew);
}

/* Whether there is something to do for who hands out. */
static int can_hand_out(const struct crew *crew)
{
	const struct piece *first = crew->first;

	return !first || first->state == piece_done || (first->parcel && !first->dead);
}

void crew_tell_locked(struct crew *crew)
{
	pthread_cond_broadcast(&crew->changed);
	if (can_hand_out(crew))
		pthread_cond_signal(&crew->ready);
}

/* ---- Parcels ---------------------------------------------------------------------------------- */

struct parcel *crew_get_parcel(struct crew *crew)
{
	struct parcel *parcel;

	pthread_mutex_lock(&crew->lock);
	parcel = crew->spare;
	if (parcel) {
		crew->spare = parcel->next;
		crew->nspare -= 1;
		parcel->next = NULL;
	}
	pthread_mutex_unlock(&crew->lock);
	return parcel ? parcel : parcel_new();
}

static void put_parcel_locked(struct crew *crew, struct parcel *parcel)
{
	parcel_clear(parcel);
	if (crew->nspare >= SPARES_MAX) {
		parcel_free(parcel);
		return;
	}
	parcel->next = crew->spare;
	crew->spare = parcel;
	crew->nspare += 1;
}

void crew_put_parcel(struct crew *crew, struct parcel *parcel)
{
	pthread_mutex_lock(&crew->lock);
	put_parcel_locked(crew, parcel);
	pthread_mutex_unlock(&crew->lock);
}

/* The first in line always has room for one. */
static int has_room(const struct crew *crew, const struct piece *piece, size_t size)
{
	return crew->waiting + size <= crew->waiting_max || (piece == crew->first && !piece->parcel);
}

int crew_send(struct crew *crew, struct piece *piece, struct parcel *parcel)
{
	const size_t size = parcel_size(parcel);
	int unwanted;

	pthread_mutex_lock(&crew->lock);
	while (!crew->stop && !piece->dead && !has_room(crew, piece, size))
		pthread_cond_wait(&crew->changed, &crew->lock);
	unwanted = crew->stop || piece->dead;
	if (unwanted) {
		put_parcel_locked(crew, parcel);
	} else {
		*piece->last_parcel = parcel;
		piece->last_parcel = &parcel->next;
		crew->waiting += size;
		crew_tell_locked(crew);
	}
	pthread_mutex_unlock(&crew->lock);
	return unwanted;
}

static struct parcel *take_parcel_locked(struct crew *crew, struct piece *piece)
{
	struct parcel *parcel = piece->parcel;

	piece->parcel = parcel->next;
	if (!piece->parcel)
		piece->last_parcel = &piece->parcel;
	parcel->next = NULL;
	crew->waiting -= parcel_size(parcel);
	return parcel;
}

/* ---- Handing out ------------------------------------------------------------------------------ */

/* The time that no flow of the piece may come before. */
static uint64_t tsc_before(const struct crew *crew, const struct piece *piece)
{
	return piece->planned.first ? 0 : crew->last_tsc;
}

/* Called with the lock, which is released while the sink is called. */
static int deliver(struct crew *crew, struct piece *piece)
{
	struct parcel *parcel = take_parcel_locked(crew, piece);
	const struct parcel_target target = {
	        .ledger = crew->ledger, .last_tsc = tsc_before(crew, piece), .uncounted = crew->uncounted};
	int status;

	pthread_mutex_unlock(&crew->lock);
	status = parcel_deliver(parcel, &target);
	if (status >= 0)
		status = ledger_progress(crew->ledger, parcel->bytes);
	pthread_mutex_lock(&crew->lock);
	put_parcel_locked(crew, parcel);
	pthread_cond_broadcast(&crew->changed);
	return status < 0 ? status : 0;
}

/* What the piece's worker counted. */
static int add_part(struct crew *crew, struct ledger_part *part)
{
	if (crew->uncounted) {
		part->account.ninsn = part->account.nblocks = 0;
		part->nslots = 0;
	}
	return ledger_add_part(crew->ledger, part);
}

static void drop_first_locked(struct crew *crew)
{
	struct piece *piece = crew->first;

	while (piece->parcel)
		put_parcel_locked(crew, take_parcel_locked(crew, piece));
	crew->first = piece->next;
	if (!crew->first)
		crew->last = NULL;
	crew->npieces -= 1;
	free_piece(piece);
	pthread_cond_broadcast(&crew->changed);
}

/* The first in line is done, and all that it sent was handed out. */
static int settle_first_locked(struct crew *crew, struct sb_error *err)
{
	struct piece *piece = crew->first;
	int status = piece->dead ? 0 : piece->status;

	if (status < 0 && err && piece->error.code)
		*err = piece->error;
	if (status == 0 && !piece->dead) {
		status = add_part(crew, &piece->part);
		crew->last_tsc = tsc_before(crew, piece);
		if (crew->last_tsc < piece->last_tsc)
			crew->last_tsc = piece->last_tsc;
	}
	drop_first_locked(crew);
	return status;
}

/* Hands out all pieces in order. Zero or a negative code. */
static int deliver_all(struct crew *crew, struct sb_error *err)
{
	int status = 0;

	pthread_mutex_lock(&crew->lock);
	while (status == 0) {
		struct piece *piece = crew->first;

		if (!piece) {
			if (!make_piece(crew)) {
				status = crew->plan_status;
				break;
			}
			pthread_cond_broadcast(&crew->changed);
		} else if (piece->parcel && !piece->dead) {
			status = deliver(crew, piece);
		} else if (piece->state == piece_done) {
			status = settle_first_locked(crew, err);
		} else {
			pthread_cond_wait(&crew->ready, &crew->lock);
		}
	}
	crew->stop = 1;
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	return status;
}

/* ---- The crew --------------------------------------------------------------------------------- */

unsigned int crew_size(unsigned int jobs, uint64_t bytes, uint64_t piece_size)
{
	const uint64_t useful = bytes / piece_size + 1;
	cpu_set_t cpus;

	if (!jobs)
		jobs = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned int)CPU_COUNT(&cpus) : 1;
	return jobs < useful ? jobs : (unsigned int)useful;
}

static void fini(struct crew *crew)
{
	while (crew->first)
		drop_first_locked(crew);
	while (crew->spare) {
		struct parcel *next = crew->spare->next;

		parcel_free(crew->spare);
		crew->spare = next;
	}
	plan_fini(&crew->plan);
	pthread_cond_destroy(&crew->ready);
	pthread_cond_destroy(&crew->changed);
	pthread_mutex_destroy(&crew->lock);
}

static int init(struct crew *crew, const struct replay_world *world, struct ledger *ledger, unsigned int jobs,
                uint64_t piece_size)
{
	*crew = (struct crew){.world = world,
	                      .ledger = ledger,
	                      .nparts = IMAGE_PARTS_MAX / jobs,
	                      .uncounted = world->options->tsc_from || world->options->tsc_to,
	                      .npieces_max = (size_t)PIECES_PER_JOB * jobs,
	                      .waiting_max = (size_t)WAITING_PER_JOB * jobs};
	if (crew->nparts < IMAGE_PARTS_LEAST)
		crew->nparts = IMAGE_PARTS_LEAST;
	if (pthread_mutex_init(&crew->lock, NULL))
		return -sbe_nomem;
	if (pthread_cond_init(&crew->changed, NULL)) {
		pthread_mutex_destroy(&crew->lock);
		return -sbe_nomem;
	}
	if (pthread_cond_init(&crew->ready, NULL)) {
		pthread_cond_destroy(&crew->changed);
		pthread_mutex_destroy(&crew->lock);
		return -sbe_nomem;
	}
	crew->sums = !ledger->sink->flow && !crew->uncounted;
	if (crew->sums)
		crew->npieces_max = SIZE_MAX;
	plan_init(&crew->plan, world, piece_size, crew->sums);
	return 0;
}

/* As many workers as there can be. Zero: none. */
static unsigned int hire(struct crew *crew, struct worker *worker, unsigned int jobs)
{
	unsigned int i;

	for (i = 0; i < jobs; ++i) {
		if (worker_init(&worker[i], crew, i + 1) < 0 ||
		    pthread_create(&worker[i].thread, NULL, worker_main, &worker[i])) {
			worker_fini(&worker[i]);
			break;
		}
	}
	return i;
}

int crew_replay(const struct replay_world *world, struct ledger *ledger, unsigned int jobs,
                uint64_t piece_size, struct sb_error *err)
{
	struct worker *worker = calloc(jobs, sizeof(*worker));
	unsigned int hired;
	struct crew crew;
	int status = worker ? init(&crew, world, ledger, jobs, piece_size) : -sbe_nomem;

	if (status < 0) {
		free(worker);
		return status;
	}
	hired = hire(&crew, worker, jobs);
	status = hired ? deliver_all(&crew, err) : 1;
	for (unsigned int i = 0; i < hired; ++i) {
		pthread_join(worker[i].thread, NULL);
		worker_fini(&worker[i]);
	}
	fini(&crew);
	free(worker);
	return status;
}
