/* packer.c - see packer.h. */
#include "replay/packer.h"

/* A parcel is sent when it holds so much; or to show progress, when so much trace was read since the last
 * one. */
enum { PARCEL_SIZE = 64 * 1024, PROGRESS_SIZE = 1 << 20 };

static uint64_t accounted_bytes(const struct ledger *ledger)
{
	uint64_t bytes = ledger->account.bytes_decoded;

	for (int i = 0; i < sb_gap_reasons; ++i)
		bytes += ledger->account.gap[i].bytes;
	return bytes;
}

int packer_send(struct packer *packer)
{
	struct parcel *parcel = packer->parcel;
	const uint64_t bytes = accounted_bytes(&packer->ledger);

	if (!parcel && bytes == packer->accounted)
		return 0;
	if (!parcel)
		parcel = packer->get(packer->context);
	if (!parcel)
		return -sbe_nomem;
	parcel->bytes = bytes - packer->accounted;
	packer->accounted = bytes;
	packer->parcel = NULL;
	return packer->send(packer->context, parcel);
}

int packer_show_progress(struct packer *packer)
{
	return accounted_bytes(&packer->ledger) - packer->accounted < PROGRESS_SIZE ? 0 : packer_send(packer);
}

/* Where the next item goes; NULL: out of memory. */
static struct parcel *open_parcel(struct packer *packer)
{
	if (packer->parcel)
		return packer->parcel;
	parcel_index_clear(&packer->index);
	packer->parcel = packer->get(packer->context);
	return packer->parcel;
}

static int send_if_full(struct packer *packer)
{
	return parcel_size(packer->parcel) < PARCEL_SIZE ? 0 : packer_send(packer);
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct packer *packer = context;

	if (!open_parcel(packer) || parcel_add_flow(packer->parcel, &packer->index, flow) < 0)
		return -sbe_nomem;
	return send_if_full(packer);
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct packer *packer = context;

	if (!open_parcel(packer) || parcel_add_gap(packer->parcel, gap, packer->walker.finishing) < 0)
		return -sbe_nomem;
	return send_if_full(packer);
}

static int on_event(void *context, const struct sb_flow_event *event)
{
	struct packer *packer = context;

	if (!open_parcel(packer) || parcel_add_event(packer->parcel, event) < 0)
		return -sbe_nomem;
	return send_if_full(packer);
}

int packer_finish(struct packer *packer, struct ledger_part *part)
{
	int status;

	walker_settle(&packer->walker);
	status = packer_send(packer);
	ledger_take_part(&packer->ledger, part);
	packer->accounted = 0;
	return status;
}

int packer_init(struct packer *packer, const struct replay_world *world, const struct ledger *target,
                size_t nparts, int uncounted, uint32_t index)
{
	const struct sb_sink *sink = target->sink;

	packer->sink.context = packer;
	packer->sink.flow = sink->flow || uncounted ? on_flow : NULL;
	packer->sink.gap = sink->gap ? on_gap : NULL;
	packer->sink.event = sink->event ? on_event : NULL;
	packer->options = *world->options;
	if (uncounted)
		packer->options.tsc_from = packer->options.tsc_to = 0;
	ledger_init(&packer->ledger, &packer->sink, &packer->options);
	ledger_set_index(&packer->ledger, index);
	if (packer->sink.flow && parcel_index_init(&packer->index) < 0)
		return -sbe_nomem;
	return walker_init(&packer->walker, world, &packer->ledger, nparts, &packer->error);
}

void packer_fini(struct packer *packer)
{
	walker_fini(&packer->walker);
	ledger_fini(&packer->ledger);
	parcel_index_fini(&packer->index);
	parcel_free(packer->parcel);
	packer->parcel = NULL;
}
