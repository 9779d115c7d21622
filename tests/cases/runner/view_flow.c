/* view_flow.c - see view_flow.h.
 *
 * Both decoders are driven by the same loop, through a table of what differs. In the flow views, blocks are
 * expanded to instructions, so that both decoders must give the same text; the insn and blocks views
 * write what is particular to each, with the status bits that came along.
 */
#include "view_flow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code/insn_class.h"
#include "event_text.h"
#include "names.h"

/* A trace of a few packets cannot have more; a decoder that does is in a loop. */
enum { max_calls = 20000, max_resyncs = 64 };

struct flow_face {
	void *(*alloc)(const struct api *api, const struct pt_config *config);
	void (*free)(const struct api *api, void *decoder);
	int (*sync)(const struct api *api, void *decoder, enum case_sync how, uint64_t offset);
	int (*resync)(const struct api *api, void *decoder);
	int (*event)(const struct api *api, void *decoder, struct pt_event *event);
	int (*offset)(const struct api *api, void *decoder, uint64_t *offset);
	int (*time)(const struct api *api, void *decoder, uint64_t *tsc, uint32_t *lost_mtc,
	            uint32_t *lost_cyc);
	void (*set_image)(const struct api *api, void *decoder, struct pt_image *image);
};

/* The functions above for one decoder. */
#define FACE(prefix, type)                                                                                   \
	static void *prefix##_make(const struct api *api, const struct pt_config *config)                    \
	{                                                                                                    \
		return api->prefix##_alloc_decoder(config);                                                  \
	}                                                                                                    \
	static void prefix##_free(const struct api *api, void *decoder)                                      \
	{                                                                                                    \
		api->prefix##_free_decoder(decoder);                                                         \
	}                                                                                                    \
	static int prefix##_sync(const struct api *api, void *decoder, enum case_sync how, uint64_t offset)  \
	{                                                                                                    \
		if (how == case_sync_set)                                                                    \
			return api->prefix##_sync_set(decoder, offset);                                      \
		return how == case_sync_backward ? api->prefix##_sync_backward(decoder)                      \
		                                 : api->prefix##_sync_forward(decoder);                      \
	}                                                                                                    \
	static int prefix##_again(const struct api *api, void *decoder)                                      \
	{                                                                                                    \
		return api->prefix##_resync(decoder);                                                        \
	}                                                                                                    \
	static int prefix##_take_event(const struct api *api, void *decoder, struct pt_event *event)         \
	{                                                                                                    \
		return api->prefix##_event(decoder, event, sizeof(*event));                                  \
	}                                                                                                    \
	static int prefix##_offset(const struct api *api, void *decoder, uint64_t *offset)                   \
	{                                                                                                    \
		return api->prefix##_get_offset(decoder, offset);                                            \
	}                                                                                                    \
	static int prefix##_tell_time(const struct api *api, void *decoder, uint64_t *tsc,                   \
	                              uint32_t *lost_mtc, uint32_t *lost_cyc)                                \
	{                                                                                                    \
		return api->prefix##_time(decoder, tsc, lost_mtc, lost_cyc);                                 \
	}                                                                                                    \
	static void prefix##_use_image(const struct api *api, void *decoder, struct pt_image *image)         \
	{                                                                                                    \
		api->prefix##_set_image(decoder, image);                                                     \
	}                                                                                                    \
	static const struct flow_face prefix##_face = {                                                      \
	        prefix##_make,       prefix##_free,   prefix##_sync,      prefix##_again,                    \
	        prefix##_take_event, prefix##_offset, prefix##_tell_time, prefix##_use_image};

FACE(pt_insn, pt_insn_decoder)
FACE(pt_blk, pt_block_decoder)

struct walk {
	FILE *out;
	const struct view *view;
	const struct flow_face *face;
	enum case_view which;
	void *decoder;
	uint64_t ip; /* of the last instruction or block, or where the error happened */
};

static int is_detailed(const struct walk *walk)
{
	return walk->which == view_insn || walk->which == view_blocks;
}

static void print_address(const struct walk *walk, uint64_t address)
{
	program_print_address(walk->out, walk->view->program, address);
}

static void print_mode(FILE *out, enum pt_exec_mode mode)
{
	if (mode != ptem_64bit)
		fprintf(out, " %s", exec_mode_name(mode));
}

static void print_word(FILE *out, uint32_t flag, const char *word)
{
	if (flag)
		fprintf(out, " %s", word);
}

/* Both structs name their flags alike. */
#define PRINT_ENTRY_FLAGS(out, it)                                                                           \
	do {                                                                                                 \
		print_word((out), (it)->enabled, "enabled");                                                 \
		print_word((out), (it)->resumed, "resumed");                                                 \
		print_word((out), (it)->resynced, "resynced");                                               \
	} while (0)

#define PRINT_EXIT_FLAGS(out, it)                                                                            \
	do {                                                                                                 \
		print_word((out), (it)->disabled, "disabled");                                               \
		print_word((out), (it)->interrupted, "interrupted");                                         \
		print_word((out), (it)->stopped, "stopped");                                                 \
		print_word((out), (it)->aborted, "aborted");                                                 \
		print_word((out), (it)->committed, "committed");                                             \
	} while (0)

static void print_time(const struct walk *walk)
{
	uint32_t lost_mtc = 0, lost_cyc = 0;
	uint64_t tsc = 0;
	int status;

	if (!walk->view->file->show_time)
		return;
	status = walk->face->time(walk->view->api, walk->decoder, &tsc, &lost_mtc, &lost_cyc);
	if (status < 0) {
		fprintf(walk->out, " %s", error_name(status));
		return;
	}
	fprintf(walk->out, " tsc=%#" PRIx64, tsc);
	if (lost_mtc)
		fprintf(walk->out, " lost_mtc=%" PRIu32, lost_mtc);
	if (lost_cyc)
		fprintf(walk->out, " lost_cyc=%" PRIu32, lost_cyc);
}

static void print_status(FILE *out, int status)
{
	if (status <= 0)
		return;
	fputs(" {", out);
	print_word(out, status & pts_event_pending, "event");
	print_word(out, status & pts_ip_suppressed, "ip_suppressed");
	print_word(out, status & pts_eos, "eos");
	fputs(" }", out);
}

static void print_insn(const struct walk *walk, const struct pt_insn *insn, int status)
{
	FILE *out = walk->out;
	const int plain = walk->view->plain;

	print_address(walk, insn->ip);
	if (walk->which == view_insn)
		fprintf(out, " %s", class_names[insn->iclass]);
	print_mode(out, insn->mode);
	print_word(out, insn->speculative, "speculative");
	if (!plain)
		PRINT_ENTRY_FLAGS(out, insn);
	print_word(out, insn->truncated, "truncated");
	if (!plain)
		PRINT_EXIT_FLAGS(out, insn);
	if (walk->which == view_insn && insn->isid)
		fprintf(out, " isid=%d", insn->isid);
	print_time(walk);
	if (walk->which == view_insn)
		print_status(out, status);
	fputc('\n', out);
}

/* What an instruction of a block leads to, without trace. Zero: its bytes are not known. */
static int step(const struct walk *walk, const struct pt_block *block, uint64_t *ip)
{
	const struct pt_asid any = {.cr3 = pt_asid_no_cr3, .vmcs = pt_asid_no_vmcs};
	struct pt_insn_info info;
	struct pt_asid asid = any;
	uint8_t bytes[pt_max_insn_size];
	size_t size;

	if (walk->face == &pt_blk_face)
		walk->view->api->pt_blk_asid(walk->decoder, &asid, sizeof(asid));
	size = program_read(walk->view->program, &asid, *ip, bytes, sizeof(bytes));
	if (pt_insn_classify(&info, bytes, size, block->mode) < 0) {
		size = program_read(walk->view->program, &any, *ip, bytes, sizeof(bytes));
		if (pt_insn_classify(&info, bytes, size, block->mode) < 0)
			return 0;
	}
	if (info.kind == pt_kind_jump || info.kind == pt_kind_call)
		*ip = pt_insn_target(&info, *ip, block->mode);
	else
		*ip += info.length;
	return 1;
}

/* One instruction of a block, as the instruction decoder would give it. */
static void print_expanded(const struct walk *walk, const struct pt_block *block, uint64_t ip, int first,
                           int last)
{
	FILE *out = walk->out;
	const int plain = walk->view->plain;

	print_address(walk, ip);
	print_mode(out, block->mode);
	print_word(out, block->speculative, "speculative");
	if (!plain && first)
		PRINT_ENTRY_FLAGS(out, block);
	print_word(out, last && block->truncated, "truncated");
	if (!plain && last)
		PRINT_EXIT_FLAGS(out, block);
	print_time(walk);
	fputc('\n', out);
}

static void expand_block(const struct walk *walk, const struct pt_block *block)
{
	uint64_t ip = block->ip;

	for (unsigned i = 0; i < block->ninsn; ++i) {
		const int last = i + 1u == block->ninsn;

		print_expanded(walk, block, ip, !i, last);
		if (last && ip != block->end_ip)
			fprintf(walk->out, "bad block: it should end at %#" PRIx64 "\n", block->end_ip);
		if (!last && !step(walk, block, &ip)) {
			fprintf(walk->out, "bad block: no code\n");
			return;
		}
	}
}

static void print_block(const struct walk *walk, const struct pt_block *block, int status)
{
	FILE *out = walk->out;

	print_address(walk, block->ip);
	fputs("..", out);
	print_address(walk, block->end_ip);
	fprintf(out, " n=%u %s", (unsigned)block->ninsn, class_names[block->iclass]);
	print_mode(out, block->mode);
	print_word(out, block->speculative, "speculative");
	if (!walk->view->plain)
		PRINT_ENTRY_FLAGS(out, block);
	print_word(out, block->truncated, "truncated");
	if (!walk->view->plain)
		PRINT_EXIT_FLAGS(out, block);
	if (block->isid)
		fprintf(out, " isid=%d", block->isid);
	print_time(walk);
	print_status(out, status);
	fputc('\n', out);
}

/* The bytes of an instruction must be those of the code, and all of them. */
static void check_bytes(const struct walk *walk, const struct pt_insn *insn)
{
	struct pt_asid asid;
	struct pt_insn_info info;
	uint8_t bytes[pt_max_insn_size];
	size_t size;

	memset(&asid, 0, sizeof(asid));
	pt_asid_init(&asid);
	walk->view->api->pt_insn_asid(walk->decoder, &asid, sizeof(asid));
	size = program_read(walk->view->program, &asid, insn->ip, bytes, sizeof(bytes));
	if (insn->size > size || memcmp(bytes, insn->raw, insn->size))
		fprintf(walk->out, "bad bytes\n");
	else if (!walk->view->plain &&
	         (pt_insn_classify(&info, bytes, size, insn->mode) < 0 || info.length != insn->size))
		fprintf(walk->out, "bad size\n");
}

static int next_insn(struct walk *walk)
{
	struct pt_insn insn;
	int status;

	memset(&insn, 0, sizeof(insn));
	status = walk->view->api->pt_insn_next(walk->decoder, &insn, sizeof(insn));
	walk->ip = insn.ip;
	if (status >= 0) {
		print_insn(walk, &insn, status);
		check_bytes(walk, &insn);
	}
	return status;
}

static int next_block(struct walk *walk)
{
	struct pt_block block;
	int status;

	memset(&block, 0, sizeof(block));
	status = walk->view->api->pt_blk_next(walk->decoder, &block, sizeof(block));
	walk->ip = block.ip;
	if (!block.ninsn)
		return status;
	if (walk->which == view_blocks)
		print_block(walk, &block, status);
	else
		expand_block(walk, &block);
	return status;
}

static int take_event(struct walk *walk)
{
	struct pt_event event;
	int status;

	memset(&event, 0, sizeof(event));
	status = walk->face->event(walk->view->api, walk->decoder, &event);
	if (status < 0)
		return status;
	fputc('[', walk->out);
	event_print(walk->out, &event, walk->view->program);
	fputc(']', walk->out);
	if (is_detailed(walk))
		print_status(walk->out, status);
	fputc('\n', walk->out);
	return status;
}

/* From a synchronised decoder to an error. */
static int walk_to_error(struct walk *walk, int status)
{
	for (unsigned calls = 0; status >= 0; ++calls) {
		if (calls == max_calls) {
			fprintf(walk->out, "endless\n");
			return -pte_eos;
		}
		if (status & pts_event_pending)
			status = take_event(walk);
		else
			status = walk->which == view_insn || walk->which == view_insn_flow ? next_insn(walk)
			                                                                   : next_block(walk);
	}
	return status;
}

/* Where decoding stopped, in the code and in the trace, is for the detailed views. */
static void print_error(const struct walk *walk, const char *what, int status)
{
	uint64_t offset = 0;

	fprintf(walk->out, "%s %s", what, error_name(status));
	if (is_detailed(walk) && status != -pte_eos) {
		fputs(" at ", walk->out);
		print_address(walk, walk->ip);
		if (walk->face->offset(walk->view->api, walk->decoder, &offset) >= 0)
			fprintf(walk->out, " @%" PRIx64, offset);
	}
	fputc('\n', walk->out);
}

/* Goes on after an error, as the case says. */
static int go_on(struct walk *walk)
{
	const struct api *api = walk->view->api;
	int status = -pte_eos;

	if (walk->view->file->after_error == case_sync_again)
		status = walk->face->sync(api, walk->decoder, case_sync_forward, 0);
	else if (walk->view->file->after_error == case_resync)
		status = walk->face->resync(api, walk->decoder);
	if (status >= 0)
		fprintf(walk->out, "again\n");
	return status;
}

static void walk_all(struct walk *walk)
{
	const struct case_file *file = walk->view->file;
	int status = walk->face->sync(walk->view->api, walk->decoder, file->sync, file->sync_offset);

	if (is_detailed(walk)) {
		fputs("sync", walk->out);
		print_status(walk->out, status);
		fputc('\n', walk->out);
	}
	for (unsigned n = 0; n < max_resyncs; ++n) {
		status = walk_to_error(walk, status);
		print_error(walk, "error", status);
		if (file->after_error == case_stop)
			return;
		status = go_on(walk);
		if (status == -pte_eos)
			break;
	}
	print_error(walk, "end", status);
}

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const size_t n = program_read(context, asid, ip, buffer, size);

	return n ? (int)n : -pte_nomap;
}

static void add_section(const struct view *view, struct pt_image *image,
                        struct pt_image_section_cache *iscache, const struct program_section *section)
{
	const struct api *api = view->api;
	int isid;

	if (!iscache) {
		api->pt_image_add_file(image, section->path, 0, section->size, &section->asid,
		                       section->address);
		return;
	}
	isid = api->pt_iscache_add_file(iscache, section->path, 0, section->size, section->address);
	api->pt_image_add_cached(image, iscache, isid, &section->asid);
}

static struct pt_image *make_image(const struct view *view, struct pt_image_section_cache *iscache)
{
	struct pt_image *image = view->api->pt_image_alloc(NULL);

	if (view->file->image == case_image_callback) {
		view->api->pt_image_set_callback(image, read_code, (void *)(uintptr_t)view->program);
		return image;
	}
	for (size_t i = 0; i < view->program->nsections; ++i)
		add_section(view, image, iscache, &view->program->section[i]);
	return image;
}

static struct pt_config flow_config(const struct view *view, int by_insn)
{
	const struct case_file *file = view->file;
	struct pt_config config = view->config;

	if (by_insn) {
		config.flags.variant.insn.enable_tick_events = file->flag_tick & 1;
		config.flags.variant.insn.keep_tcal_on_ovf = file->flag_keep_tcal & 1;
		config.flags.variant.insn.enable_iflags_events = file->flag_iflags & 1;
	} else {
		config.flags.variant.block.enable_tick_events = file->flag_tick & 1;
		config.flags.variant.block.keep_tcal_on_ovf = file->flag_keep_tcal & 1;
		config.flags.variant.block.enable_iflags_events = file->flag_iflags & 1;
		config.flags.variant.block.end_on_call = file->flag_end_on_call & 1;
		config.flags.variant.block.end_on_jump = file->flag_end_on_jump & 1;
	}
	return config;
}

void print_flow(FILE *out, const struct view *view, enum case_view which)
{
	const int by_insn = which == view_insn || which == view_insn_flow;
	const struct pt_config config = flow_config(view, by_insn);
	struct pt_image_section_cache *iscache =
	        view->file->image == case_image_cached ? view->api->pt_iscache_alloc(NULL) : NULL;
	struct pt_image *image = make_image(view, iscache);
	struct walk walk = {.out = out, .view = view, .which = which};

	walk.face = by_insn ? &pt_insn_face : &pt_blk_face;
	walk.decoder = walk.face->alloc(view->api, &config);
	if (walk.decoder) {
		walk.face->set_image(view->api, walk.decoder, image);
		walk_all(&walk);
		walk.face->free(view->api, walk.decoder);
	} else {
		fprintf(out, "no decoder\n");
	}
	view->api->pt_image_free(image);
	view->api->pt_iscache_free(iscache);
}
