/* run_decoder.c - pt_blk_run(): all basic blocks up to the next event or change of time, and where PSBs are.
 */
#include "flow/block_decoder.h"

#include "flow/decoder_face.h"

static struct pt_run describe(const struct pt_run_walk *walk)
{
	const struct pt_flow_sink *counted = walk->sink.counts ? &walk->sink : NULL;

	return (struct pt_run){
	        .path = walk->path,
	        .event = walk->event,
	        .npaths = walk->npaths,
	        .nevents = walk->nevents,
	        .nblocks = counted ? counted->nblocks : walk->nblocks,
	        .flags = walk->cache.full ? ptrf_last_of_paths : 0,
	        .ninsn = counted ? counted->ninsn : walk->ninsn,
	        .tsc = walk->time.tsc,
	        .lost_mtc = walk->time.lost_mtc,
	        .lost_cyc = walk->time.lost_cyc,
	        .has_tsc = walk->time.has_tsc,
	        .ntimes = walk->ntimes,
	        .time = walk->times,
	        .end_ip = counted && counted->nblocks ? counted->end_ip : 0,
	};
}

int pt_blk_run(struct pt_block_decoder *decoder, struct pt_run *urun, size_t size)
{
	struct pt_run run;
	int status;

	if (!decoder || !urun || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	pt_block_settle(decoder);
	if (!decoder->walk)
		decoder->walk = pt_run_walk_new(&decoder->flow, decoder->run);
	if (decoder->walk) {
		decoder->walk->events_inside = decoder->events_inside && !decoder->counts;
		decoder->walk->times_inside = decoder->events_inside;
		decoder->walk->last_time = decoder->last_time || decoder->counts;
		decoder->walk->sink.counts = decoder->counts;
	}
	if (!decoder->walk || pt_run_walk_prepare(decoder->walk) < 0) {
		run = (struct pt_run){0};
		pt_copy_to_user(urun, size, &run, sizeof(run));
		return -pte_nomem;
	}
	status = pt_run_walk_next(decoder->walk);
	run = describe(decoder->walk);
	pt_copy_to_user(urun, size, &run, sizeof(run));
	return status;
}

int pt_blk_set_run_events(struct pt_block_decoder *decoder, int inside)
{
	if (!decoder)
		return -pte_invalid;
	decoder->events_inside = inside != 0;
	return 0;
}

int pt_blk_set_run_counts(struct pt_block_decoder *decoder, int counts)
{
	if (!decoder)
		return -pte_invalid;
	decoder->counts = counts != 0;
	return 0;
}

int pt_blk_set_run_last_time(struct pt_block_decoder *decoder, int last)
{
	if (!decoder)
		return -pte_invalid;
	decoder->last_time = last != 0;
	return 0;
}

/* What was recorded does not say where it crosses, if nobody was to be told. */
int pt_blk_set_crossing(struct pt_block_decoder *decoder, pt_crossing_callback_t *callback, void *context)
{
	if (!decoder || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	pt_block_settle(decoder);
	if (decoder->walk)
		pt_run_walk_forget(decoder->walk);
	decoder->flow.crossing.callback = callback;
	decoder->flow.crossing.context = context;
	decoder->flow.crossing.half = pt_half_unknown;
	return 0;
}

int pt_blk_set_buffer(struct pt_block_decoder *decoder, const uint8_t *begin, const uint8_t *end)
{
	if (!decoder || !begin || !end || end < begin || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	pt_cursor_reset(&decoder->cursor);
	pt_flow_set_buffer(&decoder->flow, begin, end);
	return 0;
}

int pt_blk_resync_whole(struct pt_block_decoder *decoder)
{
	if (!decoder || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	pt_block_settle(decoder);
	pt_cursor_reset(&decoder->cursor);
	return pt_flow_resync_whole(&decoder->flow);
}

int pt_blk_retry(struct pt_block_decoder *decoder)
{
	struct pt_flow *flow = decoder ? &decoder->flow : NULL;

	/* Code is looked for before anything of the trace is used. */
	if (!flow || flow->status != -pte_nomap || !pt_face_may_move(flow))
		return -pte_invalid;
	flow->status = 0;
	return pt_flow_status(flow);
}

int pt_blk_is_non_root(const struct pt_block_decoder *decoder)
{
	return decoder ? decoder->flow.non_root : -pte_invalid;
}

int pt_blk_get_named_ip(const struct pt_block_decoder *decoder, uint64_t *ip)
{
	if (!decoder || !ip)
		return -pte_invalid;
	pt_block_settle((struct pt_block_decoder *)(uintptr_t)decoder);
	*ip = decoder->flow.named_ip;
	return 0;
}

int pt_blk_get_psb_offset(const struct pt_block_decoder *decoder, uint64_t *passed, uint64_t *read)
{
	int status;

	if (!decoder || !passed || !read)
		return -pte_invalid;
	status = pt_face_offset(decoder->flow.reached, &decoder->flow, passed);
	return status < 0 ? status : pt_face_offset(decoder->flow.evd.sync, &decoder->flow, read);
}
