/* producer.c - see producer.h. The policy after an error is that of libipt's own tools: synchronise forward
 * until there is no PSB left. */
#include "producer_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "library.h"

struct producer {
	const struct library *lib;
	const struct diff_case *c;
	const struct face *face;
	void *decoder;
	struct pt_image_section_cache *cache; /* of what its image has; NULL: it has none */
	int status;                           /* of the last call, status bits or an error */
	int need_sync;                        /* before the next step */
	int finished;
	uint64_t last_sync;    /* offset of the last one, to see that the next one is elsewhere */
	uint64_t set_offset;   /* layer_psb: where sync_set is tried next */
	struct pt_block block; /* what is left of it */
	uint64_t error_offset;
};

/* One layer. All but step return what the library returned. */
struct face {
	void *(*alloc)(const struct library *lib, const struct pt_config *config);
	void (*free)(struct producer *p);
	int (*sync)(struct producer *p, uint64_t *ip);
	int (*offset)(struct producer *p, uint64_t *offset);
	int (*sync_offset)(struct producer *p, uint64_t *offset);
	void (*step)(struct producer *p, struct record *record);
	struct pt_image *(*image)(struct producer *p);
};

/* ---- The functions that every layer has ---- */

#define FACE_FUNCTIONS(face)                                                                                 \
	static void *face##_alloc(const struct library *lib, const struct pt_config *config)                 \
	{                                                                                                    \
		return lib->pt_##face##_alloc_decoder ? lib->pt_##face##_alloc_decoder(config) : NULL;       \
	}                                                                                                    \
	static void face##_free(struct producer *p)                                                          \
	{                                                                                                    \
		p->lib->pt_##face##_free_decoder(p->decoder);                                                \
	}                                                                                                    \
	static int face##_offset(struct producer *p, uint64_t *offset)                                       \
	{                                                                                                    \
		return p->lib->pt_##face##_get_offset(p->decoder, offset);                                   \
	}                                                                                                    \
	static int face##_sync_offset(struct producer *p, uint64_t *offset)                                  \
	{                                                                                                    \
		return p->lib->pt_##face##_get_sync_offset(p->decoder, offset);                              \
	}

#define FLOW_FUNCTIONS(face)                                                                                 \
	FACE_FUNCTIONS(face)                                                                                 \
	static int face##_sync(struct producer *p, uint64_t *ip)                                             \
	{                                                                                                    \
		*ip = 0;                                                                                     \
		return p->lib->pt_##face##_sync_forward(p->decoder);                                         \
	}                                                                                                    \
	static struct pt_image *face##_image(struct producer *p)                                             \
	{                                                                                                    \
		return p->lib->pt_##face##_get_image(p->decoder);                                            \
	}                                                                                                    \
	static void face##_state(struct producer *p, struct record *record)                                  \
	{                                                                                                    \
		struct pt_asid asid;                                                                         \
                                                                                                             \
		pt_asid_init(&asid);                                                                         \
		record->time_status = p->lib->pt_##face##_time(                                              \
		        p->decoder, &record->time, &record->time_lost_mtc, &record->time_lost_cyc);          \
		(void)p->lib->pt_##face##_core_bus_ratio(p->decoder, &record->cbr);                          \
		(void)p->lib->pt_##face##_asid(p->decoder, &asid, sizeof(asid));                             \
		record->cr3 = asid.cr3;                                                                      \
		record->vmcs = asid.vmcs;                                                                    \
	}                                                                                                    \
	static void face##_event(struct producer *p, struct record *record)                                  \
	{                                                                                                    \
		struct pt_event event;                                                                       \
                                                                                                             \
		memset(&event, 0, sizeof(event));                                                            \
		p->status = p->lib->pt_##face##_event(p->decoder, &event, sizeof(event));                    \
		if (p->status >= 0) {                                                                        \
			PRODUCER(event)(record, &event);                                                     \
			record->status = p->status;                                                          \
			face##_state(p, record);                                                             \
		}                                                                                            \
	}

FACE_FUNCTIONS(pkt)
FACE_FUNCTIONS(qry)
FLOW_FUNCTIONS(insn)
FLOW_FUNCTIONS(blk)

/* ---- Packets ---- */

static int packet_sync(struct producer *p, uint64_t *ip)
{
	*ip = 0;
	return p->lib->pt_pkt_sync_forward(p->decoder);
}

static void packet_step(struct producer *p, struct record *record)
{
	struct pt_packet packet;

	memset(&packet, 0, sizeof(packet));
	(void)pkt_offset(p, &record->offset);
	p->status = p->lib->pt_pkt_next(p->decoder, &packet, sizeof(packet));
	if (p->status < 0)
		return;
	PRODUCER(packet)(record, &packet);
	if (packet.size != p->status) {
		record->kind = rec_defect;
		record->text = "the packet's size is not what pt_pkt_next returned";
	}
}

/* ---- Queries: without code, a branch is asked for both ways ---- */

static int query_sync(struct producer *p, uint64_t *ip)
{
	return p->lib->pt_qry_sync_forward(p->decoder, ip);
}

static void query_event(struct producer *p, struct record *record)
{
	struct pt_event event;

	memset(&event, 0, sizeof(event));
	p->status = p->lib->pt_qry_event(p->decoder, &event, sizeof(event));
	if (p->status >= 0)
		PRODUCER(event)(record, &event);
}

static void query_branch(struct producer *p, struct record *record)
{
	int taken = 0;

	p->status = p->lib->pt_qry_cond_branch(p->decoder, &taken);
	if (p->status >= 0) {
		record->kind = rec_branch;
		record->field[0] = (uint64_t)taken;
		return;
	}
	if (p->status != -pte_bad_query)
		return;
	p->status = p->lib->pt_qry_indirect_branch(p->decoder, &record->field[0]);
	if (p->status < 0)
		record->field[0] = 0;
	else
		record->kind = rec_target;
}

static void query_step(struct producer *p, struct record *record)
{
	if (p->status & pts_event_pending)
		query_event(p, record);
	else
		query_branch(p, record);
	if (p->status < 0)
		return;
	record->status = p->status;
	record->time_status = p->lib->pt_qry_time(p->decoder, &record->time, &record->time_lost_mtc,
	                                          &record->time_lost_cyc);
	(void)p->lib->pt_qry_core_bus_ratio(p->decoder, &record->cbr);
}

/* ---- Instructions ---- */

/* An instruction may come together with an error, which the next record then tells. */
static void insn_step(struct producer *p, struct record *record)
{
	struct pt_insn insn;

	if (p->status & pts_event_pending) {
		insn_event(p, record);
		return;
	}
	memset(&insn, 0, sizeof(insn));
	p->status = p->lib->pt_insn_next(p->decoder, &insn, sizeof(insn));
	if (p->status < 0 && insn.iclass == ptic_error)
		return;
	record->kind = rec_insn;
	record->status = p->status < 0 ? 0 : p->status;
	record->field[0] = insn.ip;
	record->field[1] = insn.size;
	record->field[2] = insn.mode;
	record->field[3] = insn.iclass;
	record->field[4] = insn.speculative;
	record->field[5] = insn.truncated;
	memcpy(record->raw, insn.raw, insn.size <= sizeof(insn.raw) ? insn.size : sizeof(insn.raw));
	insn_state(p, record);
	if (!insn.size) {
		record->kind = rec_defect;
		record->text = "an instruction of no bytes";
	}
}

/* ---- Blocks, an instruction at a time ---- */

static void block_defect(struct producer *p, struct record *record, const char *text)
{
	record->kind = rec_defect;
	record->text = text;
	record->field[0] = p->block.ip;
	record->field[1] = p->block.end_ip;
	p->block.ninsn = 0;
}

static void block_insn(struct producer *p, struct record *record)
{
	struct pt_block *block = &p->block;
	struct code_insn insn;

	if (code_decode(p->c, block->ip, (int)block->mode, &insn) < 0) {
		block_defect(p, record, "the block holds what is no instruction");
		return;
	}
	if (block->ninsn == 1 && block->ip != block->end_ip) {
		block_defect(p, record, "the block does not end at end_ip");
		return;
	}
	if (block->ninsn == 1 && block->truncated && memcmp(block->raw, insn.raw, insn.size)) {
		block_defect(p, record, "raw does not hold the truncated instruction");
		return;
	}
	record->kind = rec_insn;
	record->field[0] = block->ip;
	record->field[1] = insn.size;
	record->field[2] = block->mode;
	record->field[4] = block->speculative;
	memcpy(record->raw, insn.raw, sizeof(insn.raw));
	block->ip = insn.next;
	--block->ninsn;
}

/* A block may be empty, when there is nothing between two events. */
static void block_step(struct producer *p, struct record *record)
{
	for (int empty = 0; empty < 1000 && !p->block.ninsn; ++empty) {
		if (p->status & pts_event_pending) {
			blk_event(p, record);
			return;
		}
		memset(&p->block, 0, sizeof(p->block));
		p->status = p->lib->pt_blk_next(p->decoder, &p->block, sizeof(p->block));
		if (p->status < 0 && !p->block.ninsn)
			return;
	}
	if (p->block.ninsn)
		block_insn(p, record);
	else
		block_defect(p, record, "nothing but empty blocks");
}

/* ---- Synchronisation points: forward, then each offset where a PSB may begin ---- */

static void psb_step(struct producer *p, struct record *record)
{
	const uint8_t *from = p->c->trace + p->set_offset, *end = p->c->trace + p->c->size;
	const uint8_t *found = memmem(from, (size_t)(end - from), "\2\x82", 2);

	if (!found) {
		p->finished = 1;
		return;
	}
	record->kind = rec_sync;
	record->field[0] = (uint64_t)(found - p->c->trace);
	record->status = p->lib->pt_insn_sync_set(p->decoder, record->field[0]);
	if (record->status >= 0)
		(void)insn_sync_offset(p, &record->field[1]);
	p->set_offset = record->field[0] + 1;
}

/* After a failure, the search goes on from there; the PSB that failed is told by some only. */
static void back_step(struct producer *p, struct record *record)
{
	record->status = p->lib->pt_insn_sync_backward(p->decoder);
	if (record->status == -pte_eos) {
		p->finished = 1;
		return;
	}
	record->kind = rec_sync;
	if (record->status < 0)
		return;
	(void)insn_sync_offset(p, &record->field[0]);
	if (record->field[0] >= p->last_sync)
		block_defect(p, record, "sync_backward does not go backward");
	p->last_sync = record->field[0];
}

/* ---- All together ---- */

static const struct face faces[layer_count] = {
        [layer_packet] = {pkt_alloc, pkt_free, packet_sync, pkt_offset, pkt_sync_offset, packet_step, NULL},
        [layer_query] = {qry_alloc, qry_free, query_sync, qry_offset, qry_sync_offset, query_step, NULL},
        [layer_insn] = {insn_alloc, insn_free, insn_sync, insn_offset, insn_sync_offset, insn_step,
                        insn_image},
        [layer_block] = {blk_alloc, blk_free, blk_sync, blk_offset, blk_sync_offset, block_step, blk_image},
        [layer_psb] = {insn_alloc, insn_free, NULL, insn_offset, insn_sync_offset, psb_step, NULL},
        [layer_psb_back] = {insn_alloc, insn_free, NULL, insn_offset, insn_sync_offset, back_step, NULL},
};

static void set_errata(const struct library *lib, struct pt_config *config, const struct diff_case *c)
{
	config->cpu = (struct pt_cpu){.vendor = c->family ? pcv_intel : pcv_unknown,
	                              .family = c->family,
	                              .model = c->model,
	                              .stepping = c->stepping};
	if (c->family)
		(void)lib->pt_cpu_errata(&config->errata, &config->cpu);
	config->errata.bdm70 |= !!(c->errata & err_bdm70);
	config->errata.bdm64 |= !!(c->errata & err_bdm64);
	config->errata.skd007 |= !!(c->errata & err_skd007);
	config->errata.skd022 |= !!(c->errata & err_skd022);
	config->errata.skd010 |= !!(c->errata & err_skd010);
	config->errata.skl014 |= !!(c->errata & err_skl014);
	config->errata.apl12 |= !!(c->errata & err_apl12);
	config->errata.apl11 |= !!(c->errata & err_apl11);
	config->errata.skl168 |= !!(c->errata & err_skl168);
	config->errata.skz84 |= !!(c->errata & err_skz84);
}

static void set_filter(struct pt_config *config, const struct diff_case *c)
{
	struct pt_conf_addr_filter *filter = &config->addr_filter;

	filter->config.ctl.addr0_cfg = c->filter[0].config & 15u;
	filter->config.ctl.addr1_cfg = c->filter[1].config & 15u;
	filter->config.ctl.addr2_cfg = c->filter[2].config & 15u;
	filter->config.ctl.addr3_cfg = c->filter[3].config & 15u;
	filter->addr0_a = c->filter[0].a;
	filter->addr0_b = c->filter[0].b;
	filter->addr1_a = c->filter[1].a;
	filter->addr1_b = c->filter[1].b;
	filter->addr2_a = c->filter[2].a;
	filter->addr2_b = c->filter[2].b;
	filter->addr3_a = c->filter[3].a;
	filter->addr3_b = c->filter[3].b;
}

static void set_config(const struct library *lib, struct pt_config *config, const struct diff_case *c,
                       enum layer layer)
{
	pt_config_init(config);
	config->begin = c->trace;
	config->end = c->trace + c->size;
	config->cpuid_0x15_eax = c->eax;
	config->cpuid_0x15_ebx = c->ebx;
	config->mtc_freq = c->mtc_freq;
	config->nom_freq = c->nom_freq;
	if (layer == layer_insn)
		config->flags.variant.insn.enable_tick_events = !!(c->flags & flag_tick);
	if (layer == layer_block) {
		config->flags.variant.block.enable_tick_events = !!(c->flags & flag_tick);
		config->flags.variant.block.end_on_call = !!(c->flags & flag_end_on_call);
		config->flags.variant.block.end_on_jump = !!(c->flags & flag_end_on_jump);
	}
	set_errata(lib, config, c);
	set_filter(config, c);
}

/* In a cache: without one, Debian's makes tables anew whenever the flow goes to another section, which takes
 * most of the time, and almost all of it under AddressSanitizer. */
static void add_section(struct producer *p, const struct case_section *section)
{
	const int isid = p->lib->pt_iscache_add_file(p->cache, section->path, section->offset, section->size,
	                                             section->vaddr);

	if (isid < 0 || p->lib->pt_image_add_cached(p->face->image(p), p->cache, isid, NULL) < 0)
		fprintf(stderr, "a library refuses section %s\n", section->path);
}

static void add_sections(struct producer *p)
{
	enum { CACHE_LIMIT = 1 << 30 };

	p->cache = p->lib->pt_iscache_alloc(NULL);
	if (!p->cache || p->lib->pt_iscache_set_limit(p->cache, CACHE_LIMIT) < 0)
		fprintf(stderr, "a library has no section cache\n");
	for (size_t i = 0; i < p->c->nsections; ++i)
		add_section(p, &p->c->section[i]);
}

static struct producer *open_producer(const struct library *lib, const struct diff_case *c, enum layer layer)
{
	struct producer *p = calloc(1, sizeof(*p));
	struct pt_config config;

	if (!p)
		return NULL;
	set_config(lib, &config, c, layer);
	*p = (struct producer){.lib = lib, .c = c, .face = &faces[layer]};
	p->need_sync = p->face->sync != NULL;
	p->last_sync = p->error_offset = UINT64_MAX;
	p->decoder = p->face->alloc(lib, &config);
	if (!p->decoder) {
		free(p);
		return NULL;
	}
	if (p->face->image)
		add_sections(p);
	return p;
}

static void close_producer(struct producer *p)
{
	if (p) {
		p->face->free(p);
		p->lib->pt_iscache_free(p->cache);
	}
	free(p);
}

static void fill_error(struct producer *p, struct record *record)
{
	uint64_t offset = 0;

	record->kind = rec_error;
	record->status = p->status;
	record->offset = p->face->offset(p, &offset) < 0 ? 0 : offset;
}

/* A failing sync_forward at the same place twice in a row would go on for ever. */
static void sync_step(struct producer *p, struct record *record)
{
	p->status = p->face->sync(p, &record->field[1]);
	if (p->status >= 0) {
		p->need_sync = 0;
		record->kind = rec_sync;
		record->status = p->status;
		(void)p->face->sync_offset(p, &record->field[0]);
		if (record->field[0] == p->last_sync)
			p->finished = 1;
		p->last_sync = record->field[0];
		p->error_offset = UINT64_MAX;
		return;
	}
	record->field[1] = 0;
	fill_error(p, record);
	if (p->status == -pte_eos || record->offset == p->error_offset)
		p->finished = 1;
	p->error_offset = record->offset;
}

/* A step may give a record, an error, or both: the error then is the next record. */
static int next_record(struct producer *p, struct record *record)
{
	memset(record, 0, sizeof(*record));
	if (p->finished)
		return 0;
	if (p->need_sync) {
		sync_step(p, record);
		return 1;
	}
	if (p->status >= 0 || p->block.ninsn)
		p->face->step(p, record);
	if (record->kind != rec_none)
		return 1;
	if (p->finished)
		return 0;
	memset(record, 0, sizeof(*record));
	fill_error(p, record);
	p->need_sync = 1;
	return 1;
}

static uint64_t tell(struct producer *p)
{
	uint64_t offset = 0;

	return p->face->offset(p, &offset) < 0 ? 0 : offset;
}

static struct library *load(const char *path)
{
	struct library *lib = calloc(1, sizeof(*lib));
	void *symbol;

	if (!lib)
		return NULL;
	lib->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib->handle) {
		fprintf(stderr, "%s\n", dlerror());
		free(lib);
		return NULL;
	}
#define LIBRARY_LOOKUP(name)                                                                                 \
	symbol = dlsym(lib->handle, #name);                                                                  \
	memcpy(&lib->name, &symbol, sizeof(symbol));
	LIBRARY_FUNCTIONS(LIBRARY_LOOKUP)
#undef LIBRARY_LOOKUP
	return lib;
}

static void unload(struct library *lib)
{
	dlclose(lib->handle);
	free(lib);
}

const struct producer_ops PRODUCER(ops) = {load, unload, open_producer, next_record, tell, close_producer};
