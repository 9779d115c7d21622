/* fuzz_blocks.c - the flow: any code, any trace, through the instruction decoder, the block decoder and
 * pt_blk_run().
 *
 * A client that does what the manual says drives each of them; they must say the same: instructions,
 * events, errors, where they synchronised, and what observers were told. Then, if the input asks for it, a
 * mad client calls everything in any order; only crashes, hangs and impossible results count there. */
#include <stdlib.h>
#include <string.h>

#include "blocks_faces.h"
#include "support/check.h"
#include "support/guarded.h"
#include "support/target.h"

enum { max_mad_calls = 600, max_idle = 8 };

/* One decoder and its client. */
struct client {
	const struct face *face;
	struct world *world;
	struct log *log;
	void *decoder;
	int status;
	int unsure;    /* an observer failed: whether events are pending is not known */
	unsigned idle; /* calls that gave nothing */
	uint64_t trace_size;
};

static void check_status(int status)
{
	FUZZ_CHECK(status >= -pte_bad_cpu && status <= (pts_event_pending | pts_ip_suppressed | pts_eos),
	           "status %d", status);
	FUZZ_CHECK(status != -pte_internal, "internal error");
}

static void client_begin(struct client *client, struct world *world, const struct face *face, struct log *log)
{
	const struct pt_config config = face->config(&world->fc);

	memset(client, 0, sizeof(*client));
	client->face = face;
	client->world = world;
	client->log = log;
	client->trace_size = (uint64_t)(world->fc.config.end - world->fc.config.begin);
	world_begin(world);
	if (face->limit)
		setenv("SBTRACE_RUN_CACHE", face->limit, 1);
	else
		unsetenv("SBTRACE_RUN_CACHE");
	client->decoder = face->alloc(&config);
	FUZZ_CHECK(client->decoder, "no decoder");
	world->decoder = client->decoder;
	world->set_image = face->set_image;
	world->move = face->sync_forward;
	FUZZ_CHECK(face->set_image(client->decoder, world->image[0]) == 0, "image refused");
	if (world->observers & observe_time)
		FUZZ_CHECK(face->attach(client->decoder, &world->tick) == 0, "observer refused");
	if (world->observers & observe_state)
		FUZZ_CHECK(face->attach(client->decoder, &world->state) == 0, "observer refused");
	log_clear(log, face->name);
}

static void client_end(struct client *client)
{
	client->face->free(client->decoder);
	world_end(client->world);
}

static void check_offsets(const struct client *client)
{
	uint64_t offset = 0, sync = 0;
	const int status = client->face->get_offset(client->decoder, &offset);

	FUZZ_CHECK(client->face->get_sync_offset(client->decoder, &sync) == status,
	           "one offset, not the other");
	FUZZ_CHECK(status == 0 || status == -pte_nosync, "status %d", status);
	FUZZ_CHECK(offset <= client->trace_size && sync <= client->trace_size, "outside of the trace");
}

/* ---- A good client ---- */

/* What an observer's error hides is asked for. */
static void set_status(struct client *client, int status)
{
	check_status(status);
	client->unsure = status == observer_error;
	client->status = client->unsure ? 0 : status;
}

static void do_event(struct client *client)
{
	struct pt_event event;
	int status;

	memset(&event, 0, sizeof(event));
	event.type = (enum pt_event_type)0xff;
	status = client->face->event(client->decoder, &event, sizeof(event));
	FUZZ_CHECK(client->unsure || status != -pte_bad_query, "an event was promised");
	if (event.type != (enum pt_event_type)0xff) {
		FUZZ_CHECK(event.type <= ptev_syscall, "event type %d", event.type);
		FUZZ_CHECK(event.type != ptev_tip && event.type != ptev_tnt, "an event of other decoders");
		log_add(client->log, log_event)->event = event;
	} else if (client->unsure && status < 0 && status != observer_error) {
		client->unsure = 0; /* pt_*_next() says the error again */
		return;
	}
	set_status(client, status);
}

/* Whether there is more. */
static int do_sync(struct client *client, int first)
{
	const struct face *face = client->face;
	uint64_t offset = 0;
	int status;

	client->world->ticked = 0;
	if (!first && (client->world->client & client_resyncs)) {
		status = face->resync(client->decoder);
	} else if (first && (client->world->client & client_goes_back)) {
		unsigned syncs = 0;

		/* all the way, but for one */
		while ((status = face->sync_backward(client->decoder)) != -pte_eos)
			FUZZ_CHECK(syncs++ <= client->trace_size, "goes back without end");
		status = face->sync_forward(client->decoder);
	} else {
		status = face->sync_forward(client->decoder);
	}
	set_status(client, status);
	if (status >= 0 || status == observer_error)
		face->get_offset(client->decoder, &offset);
	*log_add(client->log, log_sync) =
	        (struct log_entry){.kind = log_sync, .ip = offset, .status = status < 0 ? status : 0};
	return status != -pte_eos;
}

static void do_next(struct client *client)
{
	const unsigned count = client->log->count;
	struct log *log = client->log;

	set_status(client, client->face->next(client->decoder, client->world, log));
	client->idle = count == log->count && !log->full ? client->idle + 1 : 0;
}

static void good_client(struct client *client)
{
	unsigned syncs = 0;

	if (!do_sync(client, 1))
		return;
	while (!client->log->full) {
		check_offsets(client);
		if (client->status < 0) {
			log_add(client->log, log_error)->status = client->status;
			client->idle = 0;
			FUZZ_CHECK(syncs++ <= 64 * client->trace_size + 64, "synchronises without end");
			if (!do_sync(client, 0))
				return;
		} else if (!client->face->events_inside &&
		           (client->unsure || (client->status & pts_event_pending))) {
			do_event(client);
			if (!client->unsure && !(client->status & pts_event_pending) && client->status >= 0)
				do_next(client);
		} else {
			do_next(client);
		}
		FUZZ_CHECK(client->idle < max_idle * (client->trace_size + 1), "nothing comes any more");
	}
}

static void compare_told(const struct world *world, const struct told *told, unsigned ntold)
{
	FUZZ_CHECK(world->ntold == ntold, "observers were called %u times, then %u", ntold, world->ntold);
	for (unsigned i = 0; i < ntold; i++)
		FUZZ_CHECK(!memcmp(&told[i], &world->told[i], sizeof(*told)), "call %u of observers differs",
		           i);
}

static void good_clients(struct world *world)
{
	static struct log logs[nfaces];
	static struct told told[max_ticks];
	unsigned ntold = 0;

	for (unsigned f = 0; f < nfaces; f++) {
		struct client client;

		client_begin(&client, world, &faces[f], &logs[f]);
		good_client(&client);
		client_end(&client);
		if (f)
			log_compare(&logs[0], &logs[f]);
		if (f && !logs[0].full && !logs[f].full)
			compare_told(world, told, ntold);
		if (!f) {
			memcpy(told, world->told, sizeof(told[0]) * world->ntold);
			ntold = world->ntold;
		}
	}
}

/* ---- A mad client ---- */

static void mad_query(struct client *client, unsigned number)
{
	struct guarded result;
	uint64_t time = 0;
	uint32_t lost;
	const size_t size = number * 5;
	int status;

	status = client->face->time(client->decoder, &time, &lost, NULL);
	FUZZ_CHECK(status == 0 || status == -pte_no_time, "status %d", status);
	status = client->face->asid(client->decoder, guarded_begin(&result), size);
	FUZZ_CHECK(status == (size < sizeof(size_t) ? -pte_invalid : 0), "status %d", status);
	guarded_check(&result, status < 0 ? 0 : size, sizeof(struct pt_asid), status == 0);
}

static int mad_event(struct client *client, unsigned number)
{
	static const uint8_t sizes[] = {64, 72, 100, 0, 24, 71};
	const size_t size = sizes[number % sizeof(sizes)];
	struct guarded result;
	int status = client->face->event(client->decoder, guarded_begin(&result), size);

	/* the event is given although the observer failed, too */
	guarded_check(&result, size, sizeof(struct pt_event), status >= 0);
	return status;
}

static void mad_change(struct client *client, unsigned number)
{
	struct world *world = client->world;
	const unsigned i = number & 1;

	switch (number >> 1) {
	case 0:
		pt_image_remove_by_asid(world->image[i], NULL);
		break;
	case 1:
		world_map(world, i);
		break;
	case 2:
		pt_image_copy(world->image[i], world->image[!i]);
		break;
	case 3:
		client->face->set_image(client->decoder, NULL);
		break;
	case 4:
		pt_iscache_set_limit(world->cache, i);
		break;
	default:
		client->face->set_image(client->decoder, world->image[i]);
		world->now = i;
		break;
	}
}

static void mad_attach(struct client *client, unsigned number)
{
	struct pt_observer *obsv = number & 1 ? &client->world->tick : &client->world->state;
	const int status = client->face->attach(client->decoder, obsv);

	FUZZ_CHECK(status == 0 || status == -pte_invalid, "status %d", status);
}

static void mad_call(struct client *client, uint8_t op)
{
	const struct face *face = client->face;
	const unsigned number = op >> 4;
	int status = 0;

	client->world->ticked = 0;
	switch (op & 15) {
	case 0:
		status = face->sync_forward(client->decoder);
		break;
	case 1:
		status = face->sync_backward(client->decoder);
		break;
	case 2:
		status = face->sync_set(client->decoder, number * (client->trace_size + 1) / 16);
		break;
	case 3:
		status = face->resync(client->decoder);
		break;
	case 4:
	case 5:
		status = mad_event(client, number);
		break;
	case 6:
		mad_query(client, number);
		break;
	case 7:
	case 8:
		mad_change(client, number);
		break;
	case 9:
		mad_attach(client, number);
		break;
	case 10:
		/* blocks and runs mixed */
		if (face >= &faces[first_of_blocks] && face <= &faces[last_of_blocks])
			face = face == &faces[last_of_blocks] ? &faces[first_of_blocks] : face + 1;
		client->face = face;
		break;
	default:
		status = face->next(client->decoder, client->world, client->log);
		break;
	}
	check_status(status);
	check_offsets(client);
}

static void mad_client(struct world *world, const struct face *face)
{
	static struct log log;
	struct client client;

	client_begin(&client, world, face, &log);
	for (unsigned n = 0; world->ops && n < max_mad_calls; n++)
		mad_call(&client, world->op[n % world->ops]);
	client_end(&client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;

	world_init(&world, data, size);
	good_clients(&world);
	if (world.client & client_is_mad) {
		mad_client(&world, &faces[nfaces - 1]);
		mad_client(&world, &faces[first_of_blocks]);
	}
	world_fini(&world);
	return 0;
}

size_t fuzz_trace_begin(const uint8_t *data, size_t size)
{
	return world_trace_begin(data, size);
}

uint64_t fuzz_code_address(const uint8_t *data, size_t size)
{
	return world_base(data, size);
}
