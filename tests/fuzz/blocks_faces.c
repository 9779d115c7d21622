/* blocks_faces.c - see blocks_faces.h. */
#include "blocks_faces.h"

#include <string.h>

#include <intel-pt-run.h>

#include "blocks_code.h"
#include "support/check.h"

/* ---- Instructions ---- */

static void log_add_insn(struct log *log, const struct pt_insn *insn)
{
	struct log_entry *entry = log_add(log, log_insn);

	entry->ip = insn->ip;
	entry->size = insn->size;
	entry->mode = (int)insn->mode;
	entry->speculative = insn->speculative;
	entry->iclass = (int)insn->iclass;
	entry->isid = insn->isid;
	entry->entry_flags = insn->enabled | insn->resumed << 1 | insn->resynced << 2;
	entry->exit_flags = insn->disabled | insn->interrupted << 1 | insn->stopped << 2 |
	                    insn->aborted << 3 | insn->committed << 4;
}

/* The bytes are those of one of the images, and an instruction. */
static void check_insn(const struct world *world, const struct pt_insn *insn)
{
	int found = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct code_insn code;

		code_read(world, i, insn->ip, insn->mode, &code);
		found |= code.size == insn->size && !memcmp(code.raw, insn->raw, insn->size) &&
		         code.info.iclass == insn->iclass;
	}
	FUZZ_CHECK(found, "insn of %d bytes %02x %02x at %llx is not in the code", insn->size, insn->raw[0],
	           insn->raw[1], (unsigned long long)insn->ip);
}

static int next_insn(void *decoder, const struct world *world, struct log *log)
{
	struct pt_insn insn;
	int status;

	memset(&insn, 0xee, sizeof(insn));
	status = pt_insn_next(decoder, &insn, sizeof(insn));
	FUZZ_CHECK(insn.size <= pt_max_insn_size, "size %d", insn.size);
	if (insn.size) {
		check_insn(world, &insn);
		log_add_insn(log, &insn);
	}
	return status;
}

/* ---- Blocks ---- */

/* Lists the block's instructions as they are in image @i. Whether they end where the block says. */
static int expand(const struct world *world, unsigned i, const struct pt_block *block, struct log *log)
{
	uint64_t ip = block->ip;

	for (uint32_t n = 0; n < block->ninsn; n++) {
		struct code_insn insn;
		struct log_entry *entry;

		code_read(world, i, ip, block->mode, &insn);
		if (!insn.size ||
		    (n + 1u == block->ninsn && block->iclass && block->iclass != insn.info.iclass))
			return 0;
		entry = log_add(log, log_insn);
		entry->ip = ip;
		entry->size = insn.size;
		entry->mode = (int)block->mode;
		entry->speculative = block->speculative;
		entry->iclass = n + 1u == block->ninsn ? (int)block->iclass : -1;
		entry->isid = block->isid;
		if (n == 0)
			entry->entry_flags = block->enabled | block->resumed << 1 | block->resynced << 2;
		if (n + 1u == block->ninsn)
			entry->exit_flags = block->disabled | block->interrupted << 1 | block->stopped << 2 |
			                    block->aborted << 3 | block->committed << 4;
		if (n + 1u == block->ninsn)
			return ip == block->end_ip;
		ip = code_next(world, ip, block->mode, &insn);
	}
	return 0;
}

static void log_add_block(const struct world *world, unsigned before, const struct pt_block *block,
                          struct log *log)
{
	const unsigned count = log->count;
	const bool full = log->full;

	if (expand(world, before, block, log))
		return;
	log->count = count;
	log->full = full;
	FUZZ_CHECK(expand(world, !before, block, log), "the block of %d from %llx does not end at %llx",
	           block->ninsn, (unsigned long long)block->ip, (unsigned long long)block->end_ip);
}

static int next_block(void *decoder, const struct world *world, struct log *log)
{
	const unsigned before = world->now;
	struct pt_block block;
	int status;

	memset(&block, 0xee, sizeof(block));
	status = pt_blk_next(decoder, &block, sizeof(block));
	FUZZ_CHECK(!block.truncated || block.size, "truncated, but without size");
	if (block.ninsn)
		log_add_block(world, before, &block, log);
	return status;
}

/* ---- Runs ---- */

static void log_add_run_insn(const struct world *world, const struct pt_run_block *block, uint64_t ip,
                             unsigned n, struct log *log)
{
	struct log_entry *entry = log_add(log, log_insn);
	struct code_insn insn[2];

	for (unsigned i = 0; i < 2; i++)
		code_read(world, i, ip, (enum pt_exec_mode)block->mode, &insn[i]);
	FUZZ_CHECK(insn[0].size == block->length[n] || insn[1].size == block->length[n],
	           "length %d at %llx is not in the code", block->length[n], (unsigned long long)ip);
	entry->ip = ip;
	entry->size = block->length[n];
	entry->mode = (int)block->mode;
	entry->speculative = !!(block->flags & ptrf_speculative);
	entry->iclass = n + 1u == block->ninsn ? block->iclass : (int)ptic_other;
	FUZZ_CHECK(insn[0].info.iclass == entry->iclass || insn[1].info.iclass == entry->iclass,
	           "class %d at %llx", entry->iclass, (unsigned long long)ip);
	entry->isid = entry->entry_flags = entry->exit_flags = -1;
}

static unsigned log_add_run_block(const struct world *world, const struct pt_run_block *block,
                                  struct log *log)
{
	uint64_t ip = block->ip;

	FUZZ_CHECK(block->ninsn, "an empty block");
	for (unsigned n = 0; n < block->ninsn; n++) {
		log_add_run_insn(world, block, ip, n, log);
		FUZZ_CHECK(n + 1u < block->ninsn || ip == block->end_ip, "bad end");
		ip += block->length[n];
	}
	return block->ninsn;
}

static unsigned log_add_path(const struct world *world, const struct pt_run_path *path, struct log *log)
{
	unsigned total = 0;

	FUZZ_CHECK(path->nblocks, "an empty path");
	FUZZ_CHECK(path->id == ptr_no_id || path->id < ptr_max_paths, "path %x", path->id);
	for (uint32_t b = 0; b < path->nblocks; b++)
		total += log_add_run_block(world, &path->block[b], log);
	FUZZ_CHECK(total == path->ninsn, "%u instructions in a path, not %u", total, path->ninsn);
	return total;
}

static int next_run(void *decoder, const struct world *world, struct log *log)
{
	struct pt_run run;
	uint64_t total = 0;
	uint32_t event = 0;
	int status;

	memset(&run, 0, sizeof(run));
	status = pt_blk_run(decoder, &run, sizeof(run));
	for (uint32_t p = 0; p <= run.npaths; p++) {
		for (; event < run.nevents && run.event[event].path == p; event++)
			log_add(log, log_event)->event = run.event[event].event;
		if (p < run.npaths)
			total += log_add_path(world, run.path[p], log);
	}
	FUZZ_CHECK(event == run.nevents, "an event out of order");
	FUZZ_CHECK(total == run.ninsn, "%d instructions, not %d", (int)total, (int)run.ninsn);
	return status;
}

static int next_run_with_events(void *decoder, const struct world *world, struct log *log)
{
	int status;

	pt_blk_set_run_events(decoder, 1);
	status = next_run(decoder, world, log);
	pt_blk_set_run_events(decoder, 0);
	return status;
}

/* ---- The table ---- */

#define FACE_FUNCTIONS(prefix, type)                                                                         \
	static void *prefix##_alloc(const struct pt_config *config)                                          \
	{                                                                                                    \
		return pt_##prefix##_alloc_decoder(config);                                                  \
	}                                                                                                    \
	static void prefix##_free(void *decoder)                                                             \
	{                                                                                                    \
		pt_##prefix##_free_decoder(decoder);                                                         \
	}                                                                                                    \
	static int prefix##_forward(void *decoder)                                                           \
	{                                                                                                    \
		return pt_##prefix##_sync_forward(decoder);                                                  \
	}                                                                                                    \
	static int prefix##_backward(void *decoder)                                                          \
	{                                                                                                    \
		return pt_##prefix##_sync_backward(decoder);                                                 \
	}                                                                                                    \
	static int prefix##_set(void *decoder, uint64_t offset)                                              \
	{                                                                                                    \
		return pt_##prefix##_sync_set(decoder, offset);                                              \
	}                                                                                                    \
	static int prefix##_resync(void *decoder)                                                            \
	{                                                                                                    \
		return pt_##prefix##_resync(decoder);                                                        \
	}                                                                                                    \
	static int prefix##_offset(const void *decoder, uint64_t *offset)                                    \
	{                                                                                                    \
		return pt_##prefix##_get_offset(decoder, offset);                                            \
	}                                                                                                    \
	static int prefix##_sync_offset(const void *decoder, uint64_t *offset)                               \
	{                                                                                                    \
		return pt_##prefix##_get_sync_offset(decoder, offset);                                       \
	}                                                                                                    \
	static int prefix##_image(void *decoder, struct pt_image *image)                                     \
	{                                                                                                    \
		return pt_##prefix##_set_image(decoder, image);                                              \
	}                                                                                                    \
	static int prefix##_attach(void *decoder, struct pt_observer *obsv)                                  \
	{                                                                                                    \
		return pt_##prefix##_attach_obsv(decoder, obsv);                                             \
	}                                                                                                    \
	static int prefix##_event(void *decoder, struct pt_event *event, size_t size)                        \
	{                                                                                                    \
		return pt_##prefix##_event(decoder, event, size);                                            \
	}                                                                                                    \
	static int prefix##_time(void *decoder, uint64_t *time, uint32_t *lost_mtc, uint32_t *lost_cyc)      \
	{                                                                                                    \
		return pt_##prefix##_time(decoder, time, lost_mtc, lost_cyc);                                \
	}                                                                                                    \
	static int prefix##_asid(const void *decoder, struct pt_asid *asid, size_t size)                     \
	{                                                                                                    \
		return pt_##prefix##_asid(decoder, asid, size);                                              \
	}

FACE_FUNCTIONS(insn, pt_insn_decoder)
FACE_FUNCTIONS(blk, pt_block_decoder)

#define FACE(name, limit, inside, prefix, config, next)                                                      \
	{                                                                                                    \
		name, limit, inside, config, prefix##_alloc, prefix##_free, prefix##_forward,                \
		        prefix##_backward, prefix##_set, prefix##_resync, prefix##_offset,                   \
		        prefix##_sync_offset, prefix##_image, prefix##_attach, prefix##_event,               \
		        prefix##_time, prefix##_asid, next                                                   \
	}

const struct face faces[nfaces] = {
        FACE("pt_insn_next on foot", "0", 0, insn, fuzz_config_for_insns, next_insn),
        FACE("pt_blk_next", NULL, 0, blk, fuzz_config_for_blocks, next_block),
        FACE("pt_blk_run", NULL, 0, blk, fuzz_config_for_blocks, next_run),
        FACE("pt_blk_run with events", NULL, 1, blk, fuzz_config_for_blocks, next_run_with_events),
        FACE("pt_insn_next", NULL, 0, insn, fuzz_config_for_insns, next_insn),
};
