/* shard.c - see sb/shard.h: where recordings are cut, and one span of them. */
#include <sb/shard.h>

#include <stdlib.h>

#include "replay/plan.h"
#include "replay/session.h"
#include "replay/span_walk.h"

enum { SPAN_PARTS_MAX = 1 << 18 }; /* images, and mappings in them; there may be some spans at a time */

struct sb_cutter {
	struct replay_world world; /* only what a plan needs */
	struct plan plan;
	int32_t *cpu; /* owned; those that are wanted */
	size_t ncpus;
};

int sb_cutter_new(struct sb_cutter **result, const struct sb_perfdata *perfdata,
                  const struct sb_system *system, const struct sb_replay_options *options,
                  struct sb_error *err)
{
	struct sb_cutter *cutter;

	if (!result || !perfdata || !system)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_cutter_new: no recording");
	cutter = calloc(1, sizeof(*cutter));
	if (cutter && options && options->ncpus) {
		cutter->ncpus = options->ncpus;
		cutter->cpu = calloc(cutter->ncpus, sizeof(*cutter->cpu));
		for (size_t i = 0; cutter->cpu && i < cutter->ncpus; ++i)
			cutter->cpu[i] = options->cpu[i];
	}
	if (!cutter || (cutter->ncpus && !cutter->cpu)) {
		free(cutter);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	cutter->world = (struct replay_world){.perfdata = perfdata, .system = system};
	sb_trace_config(&cutter->world.config, sb_perfdata_info(perfdata));
	plan_init(&cutter->plan, &cutter->world, PLAN_PIECE_SIZE, 0);
	cutter->plan.releases = 1;
	*result = cutter;
	return 0;
}

void sb_cutter_free(struct sb_cutter *cutter)
{
	if (!cutter)
		return;
	plan_fini(&cutter->plan);
	free(cutter->cpu);
	free(cutter);
}

static int is_wanted(const struct sb_cutter *cutter, int32_t cpu)
{
	for (size_t i = 0; i < cutter->ncpus; ++i)
		if (cutter->cpu[i] == cpu)
			return 1;
	return !cutter->ncpus;
}

int sb_cutter_cut(struct sb_cutter *cutter, size_t stream, uint64_t from, uint64_t *position)
{
	struct planned planned;
	int status;

	if (stream >= cutter->plan.nstreams || !is_wanted(cutter, cutter->plan.stream[stream].cpu))
		return 0;
	status = plan_cut(&cutter->plan, stream, from ? from : 1, &planned);
	if (status > 0)
		*position = planned.place.position;
	return status;
}

int sb_session_run_span(const struct sb_session *session, const struct sb_line *line, size_t index,
                        const struct sb_sink *sink, sb_span_write *write, void *context,
                        struct sb_account *account, struct sb_error *err)
{
	struct replay_world world;
	struct span_walk walk = {.line = line,
	                         .index = index,
	                         .nparts = SPAN_PARTS_MAX,
	                         .sink = sink,
	                         .write = write,
	                         .context = context};
	int status;

	if (!session || !line || index >= line->nspans || !sink || !write)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_session_run_span: no span");
	if (err)
		*err = (struct sb_error){0};
	world = session_world(session);
	walk.world = &world;
	walk.from = line->span[index].from;
	walk.until = line->span[index].to;
	walk.sums = span_adds_up(world.options);
	status = span_line_check(line, world.perfdata, err);
	if (status == 0)
		status = span_walk(&walk, account, err);
	status = session_status(session, status, err);
	if (status == -sbe_nomem && err && !err->code)
		sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	return status;
}
