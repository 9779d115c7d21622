/* The block decoder: shared by pt_blk_next() (block_decoder.c) and pt_blk_run() (run_decoder.c). */
#ifndef PT_BLOCK_DECODER_H
#define PT_BLOCK_DECODER_H

#include "flow/flow.h"

enum { pt_run_capacity = 512 };

struct pt_block_decoder {
	struct pt_flow flow;
	struct pt_run_block run[pt_run_capacity];
};

#endif
