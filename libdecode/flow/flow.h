/* The flow: joins the trace (event decoder) with the code (image, block graph).
 *
 * The flow stands at an address. The next unit of trace says how far the way from there is known:
 * TNT bits and TIPs are used up at the branches that need them; an event holds from the address
 * or instruction that it binds to, and until it was applied, nothing behind it is decoded. The
 * block, run and instruction decoders are faces of this one machine.
 */
#ifndef PT_FLOW_H
#define PT_FLOW_H

#include "intel-pt-run.h"
#include "code/block_graph.h"
#include "code/image.h"
#include "event/event_decoder.h"
#include "flow/count_cache.h"
#include "flow/observer.h"
#include "flow/return_stack.h"

enum { pt_flow_cache_size = 2048, pt_flow_read_size = 64, pt_flow_max_held = 16 };

/* Ways without trace longer than this are none: no code is so long without a branch. */
enum { pt_flow_max_free_steps = 1 << 20 };

/* From here on, they are looked at for circles. */
enum { pt_flow_short_free_steps = 64 };

/* What stands in the flags of struct pt_block and struct pt_insn. */
enum pt_flow_flag {
	pt_flow_enabled = 1 << 0,
	pt_flow_resumed = 1 << 1,
	pt_flow_resynced = 1 << 2,
	pt_flow_disabled = 1 << 3,
	pt_flow_interrupted = 1 << 4,
	pt_flow_stopped = 1 << 5,
	pt_flow_aborted = 1 << 6,
	pt_flow_committed = 1 << 7,
	/* The lowest ones, for the first block behind an event. */
	pt_flow_entry_flags = pt_flow_enabled | pt_flow_resumed | pt_flow_resynced
};

/* Of the address space: by bit 63; a virtual machine's addresses are all its own. */
enum pt_flow_half { pt_half_low, pt_half_high, pt_half_guest, pt_half_unknown };

/* In place of enum pt_unit: the last one is used up, and nothing was fetched since. */
enum { pt_flow_no_unit = 16 };

/* Where an address leads: private to one flow, valid for one generation of one image, and while the address
 * space stays. */
struct pt_flow_place {
	uint64_t ip;
	uint64_t generation;
	const struct pt_node *node;
	struct pt_section *section;
	uint64_t base; /* the section's address */
	int isid;
	uint32_t spaces; /* as in struct pt_flow */
};

struct pt_flow {
	struct pt_evd evd;
	struct pt_observers observers;

	struct pt_image *image;     /* in use: the user's or own_image */
	struct pt_image *own_image; /* owned */
	uint64_t generation;        /* of image, when the flow last looked */

	uint64_t ip;                /* the next instruction's address, when enabled and node is NULL */
	uint64_t named_ip;          /* the last address that the trace named and the flow came to */
	const struct pt_node *node; /* the block at ip; NULL: not looked up */
	struct pt_section *section; /* of node; NULL: node is the scratch node */
	uint64_t base;
	int isid;

	const uint8_t *start;   /* the PSB that it was synchronised at */
	const uint8_t *reached; /* the last PSB that the flow has come to: evd.sync may be ahead */

	const uint8_t *asked_order; /* the PSB for which the order of TIPs was asked; NULL: for none ... */
	uint8_t order;              /* ... and what it is: enum pt_tip_order */

	uint32_t fresh_tnt; /* the bits of the TNT unit when it was fetched */
	int unit;           /* enum pt_unit, pt_flow_no_unit, or the negative code that came instead */
	int status;         /* negative: the flow must be synchronised again */
	enum pt_exec_mode mode;
	uint8_t mends; /* errata ask for a look at each event */
	uint8_t synced;
	uint8_t at_start; /* nothing was decoded since */
	uint8_t enabled;
	uint8_t speculative;
	uint8_t due;        /* the event at the queue's head holds at ip */
	uint8_t truncated;  /* the scratch node is an instruction that crosses sections */
	uint8_t in_branch;  /* a far branch was executed; the target is yet to come */
	uint8_t non_root;   /* VMX: a virtual machine's code is executed */
	uint8_t at_mov_cr3; /* its paging event was the last: it may have disabled tracing as well */
	uint8_t have_resume_ip;
	uint8_t entry_flags; /* enum pt_flow_flag: for the first block after an event */
	uint64_t branch_ip;  /* the far branch, while in it */
	uint64_t resume_ip;  /* where execution would go on after tracing was disabled */

	/* Ways without trace must not go round in circles (Brent's algorithm). */
	uint64_t circle_ip;
	uint32_t circle_steps, circle_limit; /* limit 0: trace was used since */
	uint32_t free_steps;                 /* blocks since trace was used */

	/* The sections of the blocks that were handed out: they stay until the next ones are, whatever
	 * becomes of the image. */
	struct pt_section *held[pt_flow_max_held];
	uint32_t nheld;

	/* Tick events, for those who asked for them: behind a branch whose packet came at another time
	 * than the flow was told last. */
	uint8_t ticks;       /* asked for */
	uint8_t tick_is_due; /* before the event that is due */
	uint64_t told;       /* the time that was told last */
	uint64_t tick_ip;
	struct pt_time unit_time; /* of the unit; of the tick that is due. Only if asked for */

	/* Who is told when execution comes to the other half of the address space; see pt_blk_set_crossing().
	 */
	struct {
		pt_crossing_callback_t *callback; /* NULL: nobody */
		void *context;
		uint8_t half; /* enum pt_flow_half: as told last */
	} crossing;

	struct pt_asid asid;
	uint32_t spaces; /* counts changes of asid */
	struct pt_return_stack returns;
	struct pt_flow_place cache[pt_flow_cache_size];
	_Alignas(struct pt_node) uint8_t scratch[pt_node_storage]; /* a node that cannot be remembered */
	uint8_t scratch_bytes[pt_flow_read_size]; /* its code: the image may be another one already */
};

/* Where blocks go to, and when to stop. */
struct pt_flow_sink {
	struct pt_run_block *block;
	uint32_t count, capacity;
	uint32_t stop_kinds; /* bit per enum pt_insn_kind: stop behind a block that ends so */
	uint8_t one_section; /* stop before the section changes */
	uint8_t no_fetch;    /* stop where the unit is used up, without one */
	uint8_t started;     /* stop where the sink would if it held blocks already */
	uint8_t in_window;   /* use no packets but the unit's, and deferred TIPs that begin before: */
	const uint8_t *until;
	struct pt_section *section; /* of the last block; NULL: the flow's scratch node, which comes alone */
	uint64_t base;
	uint64_t ninsn;
	int isid;

	/* Blocks are only counted: here, with the address of the last one's last instruction. @count is one
	 * as soon as there were any. */
	uint32_t nblocks;
	uint64_t end_ip;
	struct pt_count_cache *ways; /* borrowed; NULL: the way is always walked block by block */
	uint8_t counts;
};

/* Compilers clear more than that by an instruction that costs as much as a short block's walk. */
_Static_assert(sizeof(struct pt_flow_sink) <= 96, "a sink for each block is made without a thought");

/* @ticks: tick events are wanted. */
int pt_flow_init(struct pt_flow *flow, const struct pt_config *config, int evd_flags, int ticks);
void pt_flow_fini(struct pt_flow *flow);

/* As if just made, with another buffer; image and observers stay. */
void pt_flow_set_buffer(struct pt_flow *flow, const uint8_t *begin, const uint8_t *end);

/* Starts at the PSB at @psb. Returns status bits or a negative code. */
int pt_flow_sync(struct pt_flow *flow, const uint8_t *psb);
int pt_flow_sync_forward(struct pt_flow *flow);
int pt_flow_sync_backward(struct pt_flow *flow);
int pt_flow_sync_set(struct pt_flow *flow, uint64_t offset);

/* After an error: goes on at the next address that the trace tells. As pt_flow_sync_forward(). */
int pt_flow_resync(struct pt_flow *flow);

/* The same, but at an address that a packet holds as a whole. */
int pt_flow_resync_whole(struct pt_flow *flow);

/* Appends blocks to @sink until it is full, or something else comes: see struct pt_flow_sink, a change
 * of time, an event that is due. Returns status bits or a negative code; blocks already in the sink
 * stand in either case. */
int pt_flow_run(struct pt_flow *flow, struct pt_flow_sink *sink);

/* Empties @sink: what was handed out with the last one is not used any more. */
void pt_flow_begin_sink(struct pt_flow *flow, struct pt_flow_sink *sink);

/* The same without a beginning and an end: more blocks for a sink of pt_flow_begin_sink(). Zero or a negative
 * code. The image was looked at, and there is a unit. */
int pt_flow_walk(struct pt_flow *flow, struct pt_flow_sink *sink);

/* Takes the event that is due into *event and leaves the flow behind it: without a unit, if nothing else may
 * be due. Zero or a negative code. */
int pt_flow_take_event(struct pt_flow *flow, struct pt_event *event);

/* Applies the event that is due and hands it out. Returns status bits or a negative code. */
int pt_flow_event(struct pt_flow *flow, struct pt_event *event, size_t size);

/* Where the flow stands in the trace: before a TNT or TIP that was read ahead and is not used yet. */
const uint8_t *pt_flow_pos(const struct pt_flow *flow);

/* The time there; for observers the one that they are told. */
const struct pt_time *pt_flow_time(const struct pt_flow *flow);

/* Status bits of the present position. */
int pt_flow_status(const struct pt_flow *flow);

int pt_flow_attach(struct pt_flow *flow, struct pt_observer *obsv);

int pt_flow_set_image(struct pt_flow *flow, struct pt_image *image);

/* Flags of the first block behind events, taken once; and of the last block before those that are due. */
static inline uint32_t pt_flow_take_entry_flags(struct pt_flow *flow)
{
	const uint32_t flags = flow->entry_flags;

	flow->entry_flags = 0;
	return flags;
}
uint32_t pt_flow_exit_flags(const struct pt_flow *flow);

/* ---- Between flow.c, flow_walk.c and flow_event.c --------------------------------------------- */

/* Tells observers of @state, if it is new. */
void pt_flow_notify(struct pt_flow *flow, enum pt_decode_state state);

/* Fetches the next unit; observers may be called. The flow's ip must be right and node may be lost. */
void pt_flow_advance(struct pt_flow *flow);

/* Takes the event at the queue's head, which is due, into *event and applies it: what comes next is to be
 * fetched. Zero or a negative code. */
int pt_flow_use_event(struct pt_flow *flow, struct pt_event *event);

/* The flow stands where the event at the queue's head holds, which is now due, unless it is one that
 * concerns nobody but the flow: then the flow advances behind it. */
void pt_flow_arrive(struct pt_flow *flow);

/* The image may have been changed or exchanged, by the user or by an observer: forgets what was known
 * of it. The flow's ip must be right. */
void pt_flow_look_at_image(struct pt_flow *flow);

/* The branch at @ip was decided by a TNT bit or TIP that came at the unit's time: a tick is due if that is
 * news. */
static inline void pt_flow_tick_at(struct pt_flow *flow, uint64_t ip)
{
	const struct pt_time *time = &flow->unit_time;

	if (!flow->ticks || !time->have_tsc || time->tsc == flow->told)
		return;
	flow->told = time->tsc;
	flow->tick_ip = ip;
	flow->tick_is_due = 1;
}

static inline enum pt_flow_half pt_flow_half(const struct pt_flow *flow)
{
	return flow->non_root ? pt_half_guest : flow->ip >> 63 ? pt_half_high : pt_half_low;
}

/* Whether execution comes to another half of the address space, and somebody is to be told before anything is
 * read there. */
static inline int pt_flow_crosses(const struct pt_flow *flow)
{
	if (!flow->crossing.callback || !flow->enabled || flow->in_branch)
		return 0;
	return flow->crossing.half == pt_half_unknown ||
	       (!flow->node && pt_flow_half(flow) != flow->crossing.half);
}

/* Tells. The image may be another one then. */
void pt_flow_cross(struct pt_flow *flow);

/* What follows in @sink comes from the flow's section, which is kept as long as blocks of it are handed out.
 */
void pt_flow_enter_section(struct pt_flow *flow, struct pt_flow_sink *sink);

/* Whether no more sections can be kept, and the flow's is none of them. */
static inline int pt_flow_has_no_hold(const struct pt_flow *flow)
{
	return flow->section && flow->nheld == pt_flow_max_held &&
	       flow->section != flow->held[flow->nheld - 1];
}

static inline void pt_flow_fill_block(struct pt_run_block *block, const struct pt_node *node, uint64_t ip,
                                      uint32_t flags)
{
	block->ip = ip;
	block->end_ip = ip + node->last;
	block->length = node->length;
	block->ninsn = node->ninsn;
	block->mode = node->mode;
	block->iclass = node->iclass;
	block->flags = flags;
}

/* @node, which ends in a call, stands at @ip. */
static inline void pt_flow_push_return(struct pt_flow *flow, const struct pt_node *node, uint64_t ip)
{
	/* A call to the next instruction only reads the instruction pointer: it is not pushed. */
	if (node->kind == pt_kind_call && node->target == (int64_t)node->size)
		return;
	pt_return_stack_push(&flow->returns, pt_node_next_ip(node, ip));
}

/* Where @ip would be remembered, and whether it is. */
static inline struct pt_flow_place *pt_flow_place_of(const struct pt_flow *flow, uint64_t ip)
{
	return (struct pt_flow_place *)(uintptr_t)&flow->cache[(ip ^ (ip >> 9)) % pt_flow_cache_size];
}

/* Whether the image is the one that the flow looked at last. */
static inline int pt_flow_image_is_same(const struct pt_flow *flow)
{
	return pt_image_generation(flow->image) == flow->generation;
}

static inline int pt_flow_place_is(const struct pt_flow *flow, const struct pt_flow_place *place, uint64_t ip)
{
	return place->ip == ip && place->generation == flow->generation && place->spaces == flow->spaces &&
	       place->node->mode == flow->mode;
}

/* Looks up the node at ip. */
int pt_flow_locate(struct pt_flow *flow);

/* Addresses mean something else from now on, if that is another address space than before. */
void pt_flow_set_asid(struct pt_flow *flow, uint64_t cr3, uint64_t vmcs);

/* Forgets the node, so that code is looked up anew at @ip. */
static inline void pt_flow_set_ip(struct pt_flow *flow, uint64_t ip)
{
	flow->ip = ip;
	flow->node = 0;
	flow->circle_limit = 0;
	flow->free_steps = 0;
}

/* How an event finds its place in the flow. */
enum pt_binding {
	pt_bind_now,     /* where the flow stands */
	pt_bind_ip,      /* at an address */
	pt_bind_disable, /* at the next branch that can disable tracing */
	pt_bind_paging,  /* behind the next MOV CR3, or in the next far branch */
	pt_bind_vmcs,    /* behind the next VMPTRLD, or in the next far branch */
	pt_bind_ptwrite, /* behind the next PTWRITE, or the one at its address */
	pt_bind_error    /* such an event cannot come here */
};

/* The binding of @ev; for pt_bind_ip, *ip is the address. */
enum pt_binding pt_flow_binding(const struct pt_flow *flow, const struct pt_event *ev, uint64_t *ip);

/* Forgets what is known of the way that execution took. */
void pt_flow_lose_way(struct pt_flow *flow);

/* Tracing is on, and execution stands at @ip. */
void pt_flow_enable(struct pt_flow *flow, uint64_t ip);

/* The kinds of address ranges in struct pt_conf_addr_filter. */
enum { pt_addr_filter = 1, pt_addr_stop = 2 };

/* flow_errata.c. Sets right the event at the queue's head, or the place where the flow stands, if an
 * erratum or the event's ambiguity calls for it. */
void pt_flow_mend_event(struct pt_flow *flow);

/* Erratum SKL014: a direct branch to @ip ends tracing, and its TIP.PGD does not say where it went. */
int pt_flow_leaves_filter(const struct pt_flow *flow, uint64_t ip);

/* Changes the flow's state by @ev, which is due. */
int pt_flow_apply(struct pt_flow *flow, struct pt_event *ev);

#endif
