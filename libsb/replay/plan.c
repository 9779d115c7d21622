/* plan.c - see plan.h. A piece should begin where tracing is on and the time is known, as at most PSBs:
 * there, all that decoding needs is in the PSB's header (Intel SDM vol. 3, "PSB+").
 */
#include "replay/plan.h"

#include <string.h>

#include "bisect.h"

/* After so many PSBs that are not good to begin at, any will do. */
enum { TRIES_MAX = 64 };

void plan_init(struct plan *plan, const struct replay_world *world, uint64_t piece_size, int whole)
{
	*plan = (struct plan){.world = world, .piece_size = piece_size, .whole = whole};
	plan->stream = sb_perfdata_streams(world->perfdata, &plan->nstreams);
}

static void close_stream(struct plan *plan)
{
	if (plan->is_open)
		segment_cutter_fini(&plan->cutter);
	plan->is_open = 0;
}

void plan_fini(struct plan *plan)
{
	close_stream(plan);
}

static int open_stream(struct plan *plan, size_t index)
{
	const struct sb_aux_stream *stream = &plan->stream[index];
	const struct sb_aux_flag *flag;
	size_t nflags;

	close_stream(plan);
	flag = sb_system_stream_flags(plan->world->system, stream, &nflags);
	if (segment_cutter_init(&plan->cutter, stream, flag, nflags) < 0)
		return -sbe_nomem;
	plan->is_open = 1;
	plan->opened = index;
	plan->index = 0;
	plan->target = plan->piece_size;
	return 0;
}

/* Whether the header of the PSB at @bytes says where execution stands, and when. */
static int is_good(const struct replay_world *world, const uint8_t *bytes, uint64_t size)
{
	struct pt_config config = world->config;
	struct pt_packet_decoder *decoder;
	int has_ip = 0, has_tsc = !sb_perfdata_info(world->perfdata)->pt_tsc, status;

	config.begin = (uint8_t *)(uintptr_t)bytes;
	config.end = config.begin + (size < SEGMENT_TAIL ? size : SEGMENT_TAIL);
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		return 0;
	status = pt_pkt_sync_set(decoder, 0);
	while (status >= 0) {
		struct pt_packet packet;

		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status < 0 || packet.type == ppt_psbend || packet.type == ppt_ovf)
			break;
		has_ip |= packet.type == ppt_fup && packet.payload.ip.ipc != pt_ipc_suppressed;
		has_tsc |= packet.type == ppt_tsc;
	}
	pt_pkt_free_decoder(decoder);
	return status >= 0 && has_ip && has_tsc;
}

static int take_place(struct plan *plan, struct planned *planned, uint64_t psb)
{
	const uint64_t position = plan->cutter.piece[plan->index].position + psb;

	plan->target = position + plan->piece_size;
	*planned = (struct planned){
	        .stream = plan->opened,
	        .place = {.piece = plan->index, .offset = psb, .position = position},
	};
	return 1;
}

/* Bytes of the present piece that were looked at, and are not needed any more. */
static void release(const struct plan *plan, uint64_t begin, uint64_t end)
{
	const struct segment_piece *piece = &plan->cutter.piece[plan->index];

	if (plan->releases && piece->bytes)
		sb_perfdata_release(plan->world->perfdata, piece->bytes + begin, piece->bytes + end);
}

/* The next place in the open stream: positive, or zero, or a negative code. */
static int next_place(struct plan *plan, struct planned *planned)
{
	int tries = 0;

	while (plan->index < plan->cutter.npieces) {
		const struct segment_piece *piece = &plan->cutter.piece[plan->index];
		uint64_t offset = plan->target > piece->position ? plan->target - piece->position : 0, psb;
		const uint8_t *bytes;
		int status = 0;

		if (offset < piece->size)
			status = segment_find_psb(&plan->cutter, plan->index, offset, &psb);
		if (status < 0)
			return status;
		if (status == 0) {
			release(plan, 0, piece->size);
			plan->index += 1;
			continue;
		}
		bytes = segment_bytes(&plan->cutter, plan->index, &status);
		if (!bytes)
			return status;
		if (++tries > TRIES_MAX || is_good(plan->world, bytes + psb, piece->size - psb)) {
			release(plan, offset, psb + 1);
			return take_place(plan, planned, psb);
		}
		plan->target = piece->position + psb + 1;
	}
	return 0;
}

int plan_next(struct plan *plan, struct planned *planned)
{
	if (plan->is_open && !plan->whole) {
		const int status = next_place(plan, planned);

		if (status)
			return status;
		plan_leave(plan, plan->present);
	}
	if (plan->present >= plan->nstreams)
		return 0;
	*planned = (struct planned){.stream = plan->present, .first = 1};
	if (plan->whole)
		plan->present += 1;
	else if (open_stream(plan, plan->present) < 0)
		return -sbe_nomem;
	return 1;
}

/* The last of the cutter's pieces that does not begin behind @position. */
static size_t find_piece(const struct segment_cutter *cutter, uint64_t position)
{
	struct bisect at = {.high = cutter->npieces};

	while (bisect_more(&at))
		bisect_go(&at, cutter->piece[at.middle].position <= position);
	return at.low ? at.low - 1 : 0;
}

/* Opens @stream at @position. */
static int seek(struct plan *plan, size_t stream, uint64_t position)
{
	if ((!plan->is_open || plan->opened != stream) && open_stream(plan, stream) < 0)
		return -sbe_nomem;
	plan->index = find_piece(&plan->cutter, position);
	plan->target = position;
	return 0;
}

int plan_cut(struct plan *plan, size_t stream, uint64_t from, struct planned *planned)
{
	return seek(plan, stream, from) < 0 ? -sbe_nomem : next_place(plan, planned);
}

int plan_find(struct plan *plan, size_t stream, uint64_t position, struct planned *planned)
{
	uint64_t begin, psb;
	int status;

	if (seek(plan, stream, position) < 0)
		return -sbe_nomem;
	if (plan->index >= plan->cutter.npieces)
		return 0;
	begin = plan->cutter.piece[plan->index].position;
	if (position < begin)
		return 0;
	status = segment_find_psb(&plan->cutter, plan->index, position - begin, &psb);
	if (status <= 0 || begin + psb != position)
		return status < 0 ? status : 0;
	return take_place(plan, planned, psb);
}

void plan_leave(struct plan *plan, size_t stream)
{
	if (plan->whole || plan->present != stream)
		return;
	close_stream(plan);
	plan->present += 1;
}
