/* crew_work.c - a worker: decodes pieces, and finds out where the next one takes over. */
#include <stdlib.h>
#include <string.h>

#include "replay/crew_internal.h"

/* A parcel is sent when it holds so much, or its piece is done. */
enum { PARCEL_SIZE = 64 * 1024 };

/* ---- What the ledger gives -------------------------------------------------------------------- */

static uint64_t accounted_bytes(const struct ledger *ledger)
{
	uint64_t bytes = ledger->account.bytes_decoded;

	for (int i = 0; i < sb_gap_reasons; ++i)
		bytes += ledger->account.gap[i].bytes;
	return bytes;
}

static int send_parcel(struct worker *worker)
{
	struct parcel *parcel = worker->parcel;
	const uint64_t bytes = accounted_bytes(&worker->ledger);

	if (!parcel && bytes == worker->accounted)
		return 0;
	if (!parcel)
		parcel = crew_get_parcel(worker->crew);
	if (!parcel)
		return -sbe_nomem;
	parcel->bytes = bytes - worker->accounted;
	worker->accounted = bytes;
	worker->parcel = NULL;
	if (!crew_send(worker->crew, worker->piece, parcel))
		return 0;
	worker->abandoned = 1;
	return -sbe_stop;
}

/* Where the next item goes; NULL: out of memory. */
static struct parcel *open_parcel(struct worker *worker)
{
	if (worker->parcel)
		return worker->parcel;
	parcel_index_clear(&worker->index);
	worker->parcel = crew_get_parcel(worker->crew);
	return worker->parcel;
}

static int send_if_full(struct worker *worker)
{
	return parcel_size(worker->parcel) < PARCEL_SIZE ? 0 : send_parcel(worker);
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct worker *worker = context;

	if (!open_parcel(worker) ||
	    parcel_add_flow(worker->parcel, &worker->index, flow, worker->ledger.numbering) < 0)
		return -sbe_nomem;
	return send_if_full(worker);
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct worker *worker = context;

	if (!open_parcel(worker) || parcel_add_gap(worker->parcel, gap, worker->walker.finishing) < 0)
		return -sbe_nomem;
	return send_if_full(worker);
}

/* ---- Pieces ----------------------------------------------------------------------------------- */

/* All of the present piece is with the crew now. */
static int send_rest(struct worker *worker, struct ledger_part *part)
{
	int status;

	walker_settle(&worker->walker);
	status = send_parcel(worker);
	ledger_take_part(&worker->ledger, part);
	worker->accounted = 0;
	return status;
}

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
	walker_settle(&worker->walker);
	ledger_restart(&worker->ledger);
	if (worker->parcel)
		crew_put_parcel(crew, worker->parcel);
	worker->parcel = NULL;
	worker->accounted = 0;
	status = joint_init(&joint, &worker->walker.replay);
	if (status < 0)
		return status;
	pthread_mutex_lock(&crew->lock);
	piece->joint = joint;
	piece->joint_state = joint_ready;
	pthread_cond_broadcast(&crew->changed);
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
	piece->last_tsc = worker->ledger.last_tsc;
	piece->status = status;
	if (status < 0)
		piece->error = worker->error;
	piece->state = piece_done;
	pthread_cond_broadcast(&worker->crew->changed);
}

/* The next piece, which nobody took, is this worker's: it goes on. */
static int go_on_into(struct worker *worker, struct piece *next)
{
	struct crew *crew = worker->crew;
	struct ledger_part part;
	struct joint joint;
	int status = joint_init(&joint, &worker->walker.replay), sent;

	sent = send_rest(worker, &part);
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
	    joint_fits(&next->joint, &worker->walker.replay))
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

/* Where to ask next: there may be other pieces then. */
static uint64_t border_behind(const struct worker *worker, uint64_t position, const struct piece *next)
{
	const uint64_t size = worker->crew->plan.piece_size;
	const uint64_t soon = position < UINT64_MAX - size ? position + size : UINT64_MAX;

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
		worker->walker.replay.border = border_behind(worker, position, next);
		if (place_of(next) > position)
			return 0;
		switch (meet_locked(worker, next)) {
		case meeting_taken_over:
			*taken_over = next;
			worker->walker.replay.border =
			        border_behind(worker, position, crew_next_locked(worker->crew, next));
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
	/* So that there is progress. */
	return status || !is_first ? status : send_parcel(worker);
}

static int walk(struct worker *worker, const struct planned *planned)
{
	struct walker *walker = &worker->walker;
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
	worker->error = (struct sb_error){0};
	ledger_restart(&worker->ledger);
	worker->accounted = 0;
	status = walk(worker, &piece->planned);
	if (status >= 0 && !worker->abandoned)
		sent = send_rest(worker, &part);
	else
		ledger_take_part(&worker->ledger, &part);
	if (worker->parcel)
		crew_put_parcel(worker->crew, worker->parcel);
	worker->parcel = NULL;
	if (status >= 0 && sent < 0)
		status = sent;
	pthread_mutex_lock(&worker->crew->lock);
	if (status == 0 && !worker->abandoned && !worker->starting)
		end_stream_locked(worker);
	finish_piece_locked(worker, &part, status < 0 && !worker->abandoned ? status : 0);
	pthread_mutex_unlock(&worker->crew->lock);
}

/* ---- The worker ------------------------------------------------------------------------------- */

int worker_init(struct worker *worker, struct crew *crew)
{
	const struct sb_sink *sink = crew->ledger->sink;

	*worker = (struct worker){.crew = crew};
	worker->sink.context = worker;
	worker->sink.flow = sink->flow || crew->uncounted ? on_flow : NULL;
	worker->sink.gap = sink->gap ? on_gap : NULL;
	worker->options = *crew->world->options;
	worker->options.tsc_from = worker->options.tsc_to = 0;
	ledger_init(&worker->ledger, &worker->sink, &worker->options);
	if (worker->sink.flow && parcel_index_init(&worker->index) < 0)
		return -sbe_nomem;
	return walker_init(&worker->walker, crew->world, &worker->ledger, crew->nparts, &worker->error);
}

void worker_fini(struct worker *worker)
{
	walker_fini(&worker->walker);
	ledger_fini(&worker->ledger);
	parcel_index_fini(&worker->index);
}

void *worker_main(void *context)
{
	struct worker *worker = context;
	struct piece *piece;

	while ((piece = crew_take(worker->crew)))
		decode_piece(worker, piece);
	return NULL;
}
