/* crew_work.c - a worker: decodes pieces, and finds out where the next one takes over. */
#include <stdlib.h>
#include <string.h>

#include "replay/crew_internal.h"

/* ---- What the packer gives and takes ----------------------------------------------------------- */

static struct parcel *get_parcel(void *context)
{
	struct worker *worker = context;

	return crew_get_parcel(worker->crew);
}

static int send_parcel(void *context, struct parcel *parcel)
{
	struct worker *worker = context;

	if (!crew_send(worker->crew, worker->piece, parcel))
		return 0;
	worker->abandoned = 1;
	return -sbe_stop;
}

/* ---- Pieces ----------------------------------------------------------------------------------- */

/* Decoding begins here: what was found on the way to this place counts for the piece before. */
static int publish_joint(struct worker *worker, uint64_t position)
{
	struct crew *crew = worker->crew;
	struct piece *piece = worker->piece;
	struct joint joint;
	int status;

	if (position != piece->planned.place.position) {
		worker->abandoned = 1;
		return 1;
	}
	walker_settle(&worker->packer.walker);
	ledger_restart(&worker->packer.ledger);
	if (worker->packer.parcel)
		crew_put_parcel(crew, worker->packer.parcel);
	worker->packer.parcel = NULL;
	worker->packer.accounted = 0;
	status = joint_init(&joint, &worker->packer.walker.replay);
	if (status < 0)
		return status;
	pthread_mutex_lock(&crew->lock);
	piece->joint = joint;
	piece->joint_state = joint_ready;
	crew_tell_locked(crew);
	pthread_mutex_unlock(&crew->lock);
	worker->starting = 0;
	return 0;
}

static void finish_piece_locked(struct worker *worker, const struct ledger_part *part, int status)
{
	struct piece *piece = worker->piece;

	if (piece->joint_state == joint_expected)
		piece->joint_state = joint_missing;
	piece->part = *part;
	piece->last_tsc = worker->packer.ledger.last_tsc;
	piece->status = status;
	if (status < 0)
		piece->error = worker->packer.error;
	piece->state = piece_done;
	crew_tell_locked(worker->crew);
}

/* The next piece, which nobody took, is this worker's: it goes on. */
static int go_on_into(struct worker *worker, struct piece *next)
{
	struct crew *crew = worker->crew;
	struct ledger_part part;
	struct joint joint;
	int status = joint_init(&joint, &worker->packer.walker.replay), sent;

	sent = packer_finish(&worker->packer, &part);
	pthread_mutex_lock(&crew->lock);
	finish_piece_locked(worker, &part, sent < 0 && !worker->abandoned ? sent : 0);
	worker->piece = next;
	/* Whoever stops here does not go on from there, either. */
	next->joint_state = status < 0 || sent < 0 ? joint_missing : joint_ready;
	next->joint = joint;
	pthread_mutex_unlock(&crew->lock);
	return status < 0 ? status : sent;
}

/* What becomes of the piece that begins where this worker has come to. */
enum meeting { meeting_taken_over, meeting_joined, meeting_unlike, meeting_unwanted };

static enum meeting meet_locked(struct worker *worker, struct piece *next)
{
	struct crew *crew = worker->crew;

	if (next->state == piece_free) {
		next->state = piece_taken;
		return meeting_taken_over;
	}
	while (next->joint_state == joint_expected && !next->dead && !crew->stop && !worker->piece->dead)
		pthread_cond_wait(&crew->changed, &crew->lock);
	if (crew->stop || worker->piece->dead)
		return meeting_unwanted;
	if (!next->dead && next->joint_state == joint_ready &&
	    joint_fits(&next->joint, &worker->packer.walker.replay))
		return meeting_joined;
	return meeting_unlike;
}

/* The next piece that this worker has not passed by yet: at @position or behind it. */
static struct piece *next_in_sight_locked(struct worker *worker, uint64_t position)
{
	struct piece *next = crew_next_locked(worker->crew, worker->piece);

	while (next && (next->dead || next->planned.place.position < position)) {
		if (!next->dead)
			crew_kill_locked(worker->crew, next);
		next = crew_next_locked(worker->crew, next);
	}
	return next;
}

static uint64_t place_of(const struct piece *piece)
{
	return piece ? piece->planned.place.position : UINT64_MAX;
}

/* Where to ask next: there may be other pieces then. Who has nothing to do takes the second half of what is
 * left, so that one asks the more often the less that is. */
static uint64_t border_behind_locked(const struct crew *crew, const struct piece *piece,
                                     const struct piece *next)
{
	const uint64_t least = crew_piece_least(crew), size = crew->plan.piece_size;
	const uint64_t quarter = crew->sums ? crew_bytes_left_locked(crew, piece) / 4 : size;
	uint64_t soon = quarter < size ? quarter : size;

	if (soon < least)
		soon = least;
	soon = piece->at < UINT64_MAX - soon ? piece->at + soon : UINT64_MAX;
	return place_of(next) < soon ? place_of(next) : soon;
}

/* Sets the border behind @position. Positive: what is there is left to whoever took it. */
static int pass_border_locked(struct worker *worker, uint64_t position, struct piece **taken_over)
{
	for (;;) {
		struct piece *next;

		*taken_over = NULL;
		if (worker->crew->stop || worker->piece->dead) {
			worker->abandoned = 1;
			return 1;
		}
		worker->piece->at = position;
		next = next_in_sight_locked(worker, position);
		worker->packer.walker.replay.border = border_behind_locked(worker->crew, worker->piece, next);
		if (place_of(next) > position)
			return 0;
		switch (meet_locked(worker, next)) {
		case meeting_taken_over:
			*taken_over = next;
			worker->packer.walker.replay.border = border_behind_locked(
			        worker->crew, next, crew_next_locked(worker->crew, next));
			return 0;
		case meeting_joined:
			return 1;
		case meeting_unlike:
			if (!next->dead)
				crew_kill_locked(worker->crew, next);
			break;
		case meeting_unwanted:
			break;
		}
	}
}

static int on_border(void *context, uint64_t position)
{
	struct worker *worker = context;
	struct piece *taken_over;
	int status = 0, is_first;

	if (worker->starting)
		status = publish_joint(worker, position);
	if (status)
		return status;
	pthread_mutex_lock(&worker->crew->lock);
	/* Its own place is behind it. */
	status = pass_border_locked(worker, position, &taken_over);
	is_first = worker->crew->first == worker->piece;
	pthread_mutex_unlock(&worker->crew->lock);
	if (taken_over)
		return go_on_into(worker, taken_over);
	return status || !is_first ? status : packer_show_progress(&worker->packer);
}

static int walk(struct worker *worker, const struct planned *planned)
{
	struct walker *walker = &worker->packer.walker;
	const struct sb_aux_stream *stream = &worker->crew->plan.stream[planned->stream];
	int status = 0;

	if (planned->first || walker->stream != stream)
		status = walker_open(walker, stream);
	if (status < 0)
		return status;
	walker->replay.at_border = on_border;
	walker->replay.border_context = worker;
	/* At the beginning of a stream, the first PSB is as good as any to ask what comes next. */
	walker->replay.border = planned->first ? 0 : planned->place.position;
	return planned->first ? walker_run(walker) : walker_run_from(walker, &planned->place);
}

/* Up to the end of the stream: what is in line behind is not needed. */
static void end_stream_locked(struct worker *worker)
{
	struct crew *crew = worker->crew;
	const size_t stream = worker->piece->planned.stream;

	if (worker->piece->dead)
		return;
	plan_leave(&crew->plan, stream);
	for (struct piece *piece = worker->piece->next; piece && piece->planned.stream == stream;
	     piece = piece->next)
		crew_kill_locked(crew, piece);
}

static void decode_piece(struct worker *worker, struct piece *piece)
{
	struct ledger_part part;
	int status, sent = 0;

	worker->piece = piece;
	worker->starting = !piece->planned.first;
	worker->abandoned = 0;
	worker->packer.error = (struct sb_error){0};
	ledger_restart(&worker->packer.ledger);
	worker->packer.accounted = 0;
	status = walk(worker, &piece->planned);
	if (status >= 0 && !worker->abandoned)
		sent = packer_finish(&worker->packer, &part);
	else
		ledger_take_part(&worker->packer.ledger, &part);
	if (worker->packer.parcel)
		crew_put_parcel(worker->crew, worker->packer.parcel);
	worker->packer.parcel = NULL;
	if (status >= 0 && sent < 0)
		status = sent;
	pthread_mutex_lock(&worker->crew->lock);
	if (status == 0 && !worker->abandoned && !worker->starting)
		end_stream_locked(worker);
	finish_piece_locked(worker, &part, status < 0 && !worker->abandoned ? status : 0);
	pthread_mutex_unlock(&worker->crew->lock);
}

/* ---- The worker ------------------------------------------------------------------------------- */

int worker_init(struct worker *worker, struct crew *crew, uint32_t index)
{
	*worker = (struct worker){
	        .crew = crew,
	        .packer = {.context = worker, .get = get_parcel, .send = send_parcel},
	};
	return packer_init(&worker->packer, crew->world, crew->ledger, crew->nparts, crew->uncounted, index);
}

void worker_fini(struct worker *worker)
{
	packer_fini(&worker->packer);
}

void *worker_main(void *context)
{
	struct worker *worker = context;
	struct piece *piece;

	while ((piece = crew_take(worker->crew)))
		decode_piece(worker, piece);
	return NULL;
}
