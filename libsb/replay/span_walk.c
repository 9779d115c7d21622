/* span_walk.c - see span_walk.h. */
#include "replay/span_walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/call_sums.h"
#include "replay/joint.h"
#include "replay/span_sums.h"
#include "replay/span_write.h"

/* Begins anew at one place after another, only to see how it would go on. */
struct probe {
	struct walker walker;
	struct ledger ledger;
	struct sb_error error;
	uint64_t position; /* where it is to begin */
	int arrived;
};

/* What is written of the walk, by itself: flow, as it is or added up. */
struct channel {
	struct channel *next; /* of those that are open */
	enum span_channel is;
	struct span_writer writer;
};

struct spanner {
	const struct span_walk *walk;
	struct walker walker;
	struct ledger ledger;
	struct sb_sink sink;              /* of the ledger */
	struct sb_replay_options options; /* of the ledger */
	struct sb_error error;            /* of the walker */
	struct span_world numbers;
	struct channel channel[span_channels];
	struct channel *open; /* the first one */
	int counts;           /* .sums are wanted */
	struct span_sums sums;
	struct call_sums *calls; /* owned; NULL: not wanted */
	/* The CPU's, and how many of them were over when the last flow came: */
	const struct sb_sched *sched;
	size_t nscheds, npassed;
	struct schedule_use use; /* who looked at which of them */
	struct ledger total;     /* of all pieces */
	struct probe probe;
	int is_probing;   /* the probe is initialised */
	int uncounted;    /* filtering by time, and counting, is left to whoever knows the time */
	int starting;     /* the walk has not come to the place where it begins */
	int missed;       /* it cannot begin there */
	struct plan plan; /* for points */
	size_t span;      /* that the last point was in */
	uint64_t point;   /* the last point that was made, as yet ahead; UINT64_MAX: there is none */
};

/* ---- What the ledger gives --------------------------------------------------------------------- */

/* What was done before, and what is done behind, may have something in between elsewhere. */
static int break_sums(struct spanner *spanner)
{
	if (spanner->calls)
		call_sums_pass(spanner->calls);
	return spanner->counts ? span_sums_break(&spanner->sums) : 0;
}

/* A thread that is here again may have been on another CPU, even if nobody's flow is in between. */
static int look_at_schedule(struct spanner *spanner, const struct sb_flow *flow)
{
	const struct sb_clock *clock = &sb_perfdata_info(spanner->walk->world->perfdata)->clock;
	const uint64_t now = clock->time_mult ? sb_clock_tsc_to_ns(clock, flow->tsc) : 0;
	size_t npassed = spanner->npassed;
	int status = 0;

	/* None of those long before is looked at. */
	if (!npassed)
		npassed = array_above(spanner->sched, spanner->nscheds, sizeof(*spanner->sched), now);
	schedule_use_around(&spanner->use, npassed);
	while (npassed < spanner->nscheds && spanner->sched[npassed].time <= now)
		schedule_use_around(&spanner->use, ++npassed);
	if (npassed != spanner->npassed)
		status = break_sums(spanner);
	spanner->npassed = npassed;
	return status;
}

static int adds_up(const struct spanner *spanner)
{
	return spanner->counts || spanner->calls;
}

/* Who ran, and how much of that was the kernel's. */
static int add_turn(struct span_writer *writer, const struct sb_flow *flow)
{
	const struct sb_flow_turn turn = sb_flow_as_turn(flow);

	return span_write_turn(writer, &turn);
}

static int add_flow(struct spanner *spanner, struct channel *channel, const struct sb_flow *flow)
{
	if (channel->is == span_threads)
		return add_turn(&channel->writer, flow);
	if (channel->is == span_flows && spanner->counts)
		return span_sums_add(&spanner->sums, flow);
	if (channel->is == span_calls && spanner->calls)
		return call_sums_add(spanner->calls, flow);
	return span_write_flow(&channel->writer, flow, spanner->walk->sink->flow != NULL);
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct spanner *spanner = context;
	int status;

	if (spanner->starting)
		return 0;
	status = adds_up(spanner) ? look_at_schedule(spanner, flow) : 0;
	for (struct channel *channel = spanner->open; channel && status == 0; channel = channel->next)
		status = add_flow(spanner, channel, flow);
	return status;
}

/* What comes next has its place behind the flow so far. */
static int flush_sums(struct spanner *spanner)
{
	int status = spanner->counts ? span_sums_flush(&spanner->sums) : 0;

	if (status == 0 && spanner->calls)
		status = call_sums_flush(spanner->calls);
	for (struct channel *channel = spanner->open; channel && status == 0; channel = channel->next)
		status = span_write_turns(&channel->writer);
	return status;
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct spanner *spanner = context;
	int status = spanner->starting ? 0 : flush_sums(spanner);

	if (spanner->starting)
		return 0;
	for (struct channel *channel = spanner->open; channel && status == 0; channel = channel->next)
		status = span_write_gap(&channel->writer, gap, spanner->walker.finishing);
	return status;
}

static int on_event(void *context, const struct sb_flow_event *event)
{
	struct spanner *spanner = context;
	int status = spanner->starting ? 0 : flush_sums(spanner);

	if (spanner->starting)
		return 0;
	for (struct channel *channel = spanner->open; channel && status == 0; channel = channel->next)
		status = span_write_event(&channel->writer, event);
	return status;
}

static int on_progress(void *context, uint64_t done, uint64_t total)
{
	const struct sb_sink *sink = ((struct spanner *)context)->walk->sink;

	return sink->progress(sink->context, done, total);
}

/* ---- Pieces ----------------------------------------------------------------------------------- */

static int begin_piece(struct spanner *spanner, uint64_t position)
{
	int status = 0;

	for (struct channel *channel = spanner->open; channel && status == 0; channel = channel->next)
		status = span_write_piece(&channel->writer, position);
	return status;
}

static int end_piece(struct spanner *spanner, uint64_t to)
{
	struct ledger_part part;
	int status;

	walker_settle(&spanner->walker);
	ledger_take_part(&spanner->ledger, &part);
	status = flush_sums(spanner);
	for (struct channel *channel = spanner->open; channel && status == 0; channel = channel->next)
		status = span_write_piece_end(&channel->writer, to, spanner->ledger.last_tsc, &part);
	if (status == 0)
		status = ledger_add_part(&spanner->total, &part);
	ledger_part_fini(&part);
	return status;
}

/* ---- The probe -------------------------------------------------------------------------------- */

static int on_arrival(void *context, uint64_t position)
{
	struct probe *probe = context;

	probe->arrived = position == probe->position;
	return 1;
}

static int open_probe(struct spanner *spanner)
{
	static const struct sb_sink nobody;
	struct probe *probe = &spanner->probe;

	if (spanner->is_probing)
		return 0;
	spanner->is_probing = 1;
	ledger_init(&probe->ledger, &nobody, &spanner->options);
	return walker_init(&probe->walker, spanner->walk->world, &probe->ledger, spanner->walk->nparts,
	                   &probe->error);
}

/* Whether a replay that begins at @place comes to it, and would go on as this one. Or a negative code. */
static int fits(struct spanner *spanner, const struct stream_place *place)
{
	struct probe *probe = &spanner->probe;
	struct joint joint;
	int status = open_probe(spanner);

	if (status == 0 && probe->walker.stream != spanner->walker.stream)
		status = walker_open(&probe->walker, spanner->walker.stream);
	if (status < 0)
		return status;
	probe->position = place->position;
	probe->arrived = 0;
	probe->walker.replay.border = place->position;
	probe->walker.replay.at_border = on_arrival;
	probe->walker.replay.border_context = probe;
	/* What goes wrong there goes wrong in whoever begins there, too: they never arrive. */
	if (walker_run_from(&probe->walker, place) <= 0 || !probe->arrived)
		return 0;
	ledger_restart(&probe->ledger);
	status = joint_init(&joint, &probe->walker.replay);
	if (status < 0)
		return status;
	status = joint_fits(&joint, &spanner->walker.replay);
	joint_fini(&joint);
	return status;
}

/* ---- Points ----------------------------------------------------------------------------------- */

/* Where the span behind that of the last point begins; UINT64_MAX: the stream ends first. */
static uint64_t next_span(const struct spanner *spanner)
{
	const struct sb_line *line = spanner->walk->line;
	const struct sb_span *span = &line->span[spanner->span];

	return spanner->span + 1 < line->nspans && span[1].stream == span->stream ? span[1].from : UINT64_MAX;
}

/* How far it is from the point @from to the next one. Sums have fewer and fewer, as each piece says anew what
 * it has blocks of, and hardly ever is more than the first one needed; where they are does not depend on the
 * span that the walk began in. */
static uint64_t step_from(const struct spanner *spanner, uint64_t from)
{
	const struct sb_line *line = spanner->walk->line;
	const uint64_t inside = from - line->span[spanner->span].from;

	return adds_up(spanner) && inside >= line->step ? 15 * inside : line->step;
}

/* The first point behind @position. Zero or -sbe_nomem. */
static int advance(struct spanner *spanner, uint64_t position)
{
	const size_t stream = spanner->walk->line->span[spanner->walk->index].stream;

	while (spanner->point <= position && spanner->point != UINT64_MAX) {
		const uint64_t from = spanner->point, step = step_from(spanner, from);
		struct planned planned;
		int status = 0;

		if (from < UINT64_MAX - step)
			status = plan_cut(&spanner->plan, stream, from + step, &planned);
		if (status < 0)
			return status;
		if (status && planned.place.position < next_span(spanner)) {
			spanner->point = planned.place.position;
			continue;
		}
		spanner->point = next_span(spanner);
		if (spanner->point != UINT64_MAX)
			spanner->span += 1;
	}
	spanner->walker.replay.border = spanner->point;
	return 0;
}

/* The replay has come to a point. Positive: it ends there. */
static int pass_point(struct spanner *spanner, uint64_t position)
{
	const size_t stream = spanner->walk->line->span[spanner->walk->index].stream;
	struct planned planned;
	int status;

	/* What is held back here would be nobody's. */
	if (ledger_holds(&spanner->ledger) || spanner->walker.replay.in_gap)
		return 0;
	status = plan_find(&spanner->plan, stream, position, &planned);
	if (status > 0)
		status = fits(spanner, &planned.place);
	if (status <= 0)
		return status;
	status = end_piece(spanner, position);
	if (status < 0 || position >= spanner->walk->until)
		return status < 0 ? status : 1;
	return begin_piece(spanner, position);
}

static int on_border(void *context, uint64_t position)
{
	struct spanner *spanner = context;
	int status = 0;

	if (spanner->starting && position != spanner->walk->from) {
		spanner->missed = 1;
		return 1;
	}
	if (spanner->starting) {
		spanner->starting = 0;
		walker_settle(&spanner->walker);
		ledger_restart(&spanner->ledger);
		status = begin_piece(spanner, position);
	} else if (position == spanner->point) {
		status = pass_point(spanner, position);
	}
	return status ? status : advance(spanner, position);
}

/* ---- The walk --------------------------------------------------------------------------------- */

/* Positive: it ended at a point, or could not begin; zero: at the stream's end. */
static int go(struct spanner *spanner, struct sb_error *err)
{
	const struct span_walk *walk = spanner->walk;
	const size_t index = walk->line->span[walk->index].stream;
	struct walker *walker = &spanner->walker;
	struct planned planned;
	int status = walker_open(walker, &spanner->plan.stream[index]);

	if (status < 0)
		return status;
	spanner->sched = system_schedule_in_use(walk->world->system, spanner->plan.stream[index].cpu,
	                                        &spanner->nscheds, &spanner->use);
	walker->replay.at_border = on_border;
	walker->replay.border_context = spanner;
	spanner->starting = walk->from != 0;
	if (!walk->from) {
		status = begin_piece(spanner, 0);
		if (status == 0)
			status = advance(spanner, 0);
		return status < 0 ? status : walker_run(walker);
	}
	status = plan_find(&spanner->plan, index, walk->from, &planned);
	if (status == 0)
		status = sb_error_set(err, -sbe_invalid, sb_perfdata_path(walk->world->perfdata), UINT64_MAX,
		                      "CPU %d has no PSB at 0x%" PRIx64 " of its trace, where a span begins",
		                      spanner->plan.stream[index].cpu, walk->from);
	if (status < 0)
		return status;
	walker->replay.border = walk->from;
	return walker_run_from(walker, &planned.place);
}

static int open_channel(struct spanner *spanner, enum span_channel is)
{
	const struct span_walk *walk = spanner->walk;
	struct channel *channel = &spanner->channel[is];

	channel->is = is;
	channel->next = spanner->open;
	spanner->open = channel;
	return span_writer_init(&channel->writer, walk->write, walk->context, &spanner->numbers, is);
}

/* One for each of the ways in which flow is wanted; without symbols there are no sums of calls. */
static int open_channels(struct spanner *spanner)
{
	const struct span_walk *walk = spanner->walk;
	const unsigned int counts = walk->sums & sb_sums_counts, stacks = walk->sums & sb_sums_stacks,
	                   threads = walk->sums & sb_sums_threads;
	int status = counts || !(stacks | threads) ? open_channel(spanner, span_flows) : 0;

	if (status == 0 && threads)
		status = open_channel(spanner, span_threads);
	if (status == 0 && stacks)
		status = open_channel(spanner, span_calls);
	if (status < 0 || !walk->sink->flow)
		return status;
	spanner->counts = counts != 0;
	if (counts)
		status = span_sums_init(&spanner->sums, &spanner->channel[span_flows].writer,
		                        (enum sb_sums)counts);
	if (status == 0 && stacks && walk->world->symbols)
		status = call_sums_new(&spanner->calls, &spanner->channel[span_calls].writer, walk->world,
		                       stacks);
	return status;
}

static int init(struct spanner *spanner, const struct span_walk *walk)
{
	const struct sb_replay_options *options = walk->world->options;
	const struct sb_sink *sink = walk->sink;
	int status;

	*spanner = (struct spanner){.walk = walk, .options = *options, .span = walk->index};
	spanner->point = walk->from;
	spanner->uncounted = options->tsc_from || options->tsc_to;
	spanner->sink = (struct sb_sink){.context = spanner,
	                                 .flow = sink->flow || spanner->uncounted ? on_flow : NULL,
	                                 .gap = sink->gap ? on_gap : NULL,
	                                 .progress = sink->progress ? on_progress : NULL,
	                                 .event = sink->event ? on_event : NULL};
	if (spanner->uncounted)
		spanner->options.tsc_from = spanner->options.tsc_to = 0;
	plan_init(&spanner->plan, walk->world, walk->line->step, 0);
	ledger_init(&spanner->ledger, &spanner->sink, &spanner->options);
	ledger_init(&spanner->total, &spanner->sink, &spanner->options);
	status = span_world_init(&spanner->numbers, walk->world->system);
	if (status == 0)
		status = open_channels(spanner);
	return status < 0 ? status
	                  : walker_init(&spanner->walker, walk->world, &spanner->ledger, walk->nparts,
	                                &spanner->error);
}

static void fini(struct spanner *spanner)
{
	walker_fini(&spanner->walker);
	ledger_fini(&spanner->ledger);
	ledger_fini(&spanner->total);
	if (spanner->is_probing) {
		walker_fini(&spanner->probe.walker);
		ledger_fini(&spanner->probe.ledger);
	}
	span_sums_fini(&spanner->sums);
	call_sums_free(spanner->calls);
	for (int i = 0; i < span_channels; ++i)
		span_writer_fini(&spanner->channel[i].writer);
	span_world_fini(&spanner->numbers);
	plan_fini(&spanner->plan);
}

static int walk_as(struct spanner *spanner, const struct span_walk *walk, struct sb_account *account,
                   struct sb_error *err)
{
	struct sb_span span = walk->line->span[walk->index];
	int status = init(spanner, walk);

	span.from = walk->from;
	for (struct channel *channel = spanner->open; channel && status == 0; channel = channel->next)
		status = span_write_begin(&channel->writer, &span);
	if (status == 0)
		status = go(spanner, err);
	if (status == 0)
		status = end_piece(spanner, UINT64_MAX);
	for (struct channel *channel = spanner->open; channel && status >= 0; channel = channel->next)
		status = span_write_end(&channel->writer,
		                        code_survey_is_made(&walk->world->evidence->maps.survey));
	if (status < 0 && spanner->error.code && err && !err->code)
		*err = spanner->error;
	if (account)
		*account = spanner->total.account;
	fini(spanner);
	return status < 0 ? status : 0;
}

int span_walk(const struct span_walk *walk, struct sb_account *account, struct sb_error *err)
{
	/* Too large for a stack that has been as small as that so far. */
	struct spanner *spanner = malloc(sizeof(*spanner));
	const int status = spanner ? walk_as(spanner, walk, account, err)
	                           : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");

	free(spanner);
	return status;
}

/* ---- The line --------------------------------------------------------------------------------- */

/* Whether @span can follow @before, which is NULL at the beginning. */
static int follows(const struct sb_span *span, const struct sb_span *before)
{
	if (!before)
		return !span->stream && !span->from;
	if (span->stream == before->stream)
		return span->from == before->to && span->from > before->from;
	return span->stream == before->stream + 1 && before->to == UINT64_MAX && !span->from;
}

int span_line_check(const struct sb_line *line, const struct sb_perfdata *perfdata, struct sb_error *err)
{
	size_t count;

	sb_perfdata_streams(perfdata, &count);
	for (size_t i = 0; i < line->nspans; ++i)
		if (!follows(&line->span[i], i ? &line->span[i - 1] : NULL))
			return sb_error_set(err, -sbe_invalid, sb_perfdata_path(perfdata), UINT64_MAX,
			                    "span %zu does not follow the one before it", i);
	if (line->step && (line->nspans ? line->span[line->nspans - 1].stream + 1 == count &&
	                                          line->span[line->nspans - 1].to == UINT64_MAX
	                                : !count))
		return 0;
	return sb_error_set(err, -sbe_invalid, sb_perfdata_path(perfdata), UINT64_MAX,
	                    "the spans are not all of the recording's %zu streams", count);
}
