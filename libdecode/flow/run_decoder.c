/* run_decoder.c - pt_blk_run(): all basic blocks up to the next event or change of time, and where PSBs are.
 */
#include "flow/block_decoder.h"

#include "flow/decoder_face.h"

int pt_blk_run(struct pt_block_decoder *decoder, struct pt_run *urun, size_t size)
{
	struct pt_flow_sink sink = {0};
	struct pt_run run = {0};
	int status;

	if (!decoder || !urun || !pt_face_may_move(&decoder->flow))
		return -pte_invalid;
	sink.block = decoder->run;
	sink.capacity = pt_run_capacity;
	status = pt_flow_run(&decoder->flow, &sink);
	run.block = sink.block;
	run.nblocks = sink.count;
	run.ninsn = sink.ninsn;
	run.tsc = sink.time.tsc;
	run.lost_mtc = sink.time.lost_mtc;
	run.lost_cyc = sink.time.lost_cyc;
	run.has_tsc = sink.time.have_tsc;
	pt_copy_to_user(urun, size, &run, sizeof(run));
	return status;
}

int pt_blk_get_psb_offset(const struct pt_block_decoder *decoder, uint64_t *passed, uint64_t *read)
{
	int status;

	if (!decoder || !passed || !read)
		return -pte_invalid;
	status = pt_face_offset(decoder->flow.reached, &decoder->flow, passed);
	return status < 0 ? status : pt_face_offset(decoder->flow.evd.sync, &decoder->flow, read);
}
