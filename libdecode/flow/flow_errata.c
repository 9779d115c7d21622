/* flow_errata.c - where an event does not say enough, or a processor's erratum made it wrong: what the
 * code ahead tells of its place.
 *
 * Errata are worked around where the configuration says that the processor has them (struct pt_errata).
 */
#include "flow/flow.h"

#include <string.h>

#include "code/insn_class.h"

/* How many instructions are looked at. */
enum { max_ahead = 256 };

static int read_code(struct pt_flow *flow, uint8_t *bytes, uint64_t ip)
{
	int isid;

	return pt_image_read(flow->image, &isid, bytes, pt_max_insn_size, &flow->asid, ip);
}

static int is_vm_entry(struct pt_flow *flow, uint64_t ip)
{
	uint8_t bytes[pt_max_insn_size];

	if (read_code(flow, bytes, ip) < 3)
		return 0;
	/* VMLAUNCH, VMRESUME */
	return bytes[0] == 0x0f && bytes[1] == 0x01 && (bytes[2] == 0xc2 || bytes[2] == 0xc3);
}

/* SKD022: a VM entry that clears TraceEn emits a FUP, as if tracing had been disabled before it. */
static void take_back_fup(struct pt_flow *flow, struct pt_event *ev)
{
	const uint64_t ip = ev->variant.async_disabled.ip;

	if (!is_vm_entry(flow, ev->variant.async_disabled.at))
		return;
	memset(&ev->variant, 0, sizeof(ev->variant));
	ev->type = ptev_disabled;
	ev->variant.disabled.ip = ip;
}

/* Where execution gets to from where the flow stands, without trace. */
struct ahead {
	uint64_t ip;
	uint8_t kind; /* enum pt_insn_kind of the branch at ip that needs trace; pt_kind_other: none is near
	               */
};

static struct ahead look_ahead(struct pt_flow *flow, uint64_t until)
{
	struct ahead ahead = {.ip = flow->ip, .kind = pt_kind_other};

	for (int n = 0; n < max_ahead && ahead.ip != until; ++n) {
		uint8_t bytes[pt_max_insn_size];
		struct pt_insn_info insn;
		int size = read_code(flow, bytes, ahead.ip);

		if (size <= 0 || pt_insn_classify(&insn, bytes, (uint64_t)size, flow->mode) < 0)
			return ahead;
		if (pt_kind_needs_trace(insn.kind)) {
			ahead.kind = insn.kind;
			return ahead;
		}
		if (insn.kind == pt_kind_jump || insn.kind == pt_kind_call)
			ahead.ip = pt_insn_target(&insn, ahead.ip, flow->mode);
		else
			ahead.ip += insn.length;
	}
	return ahead;
}

/* BDM64: the target of a branch right before a transactional abort may be wrong. It did not matter:
 * what ran behind it was undone. */
static void go_to_abort(struct pt_flow *flow, const struct pt_event *ev)
{
	const uint64_t ip = ev->variant.tsx.ip;

	if (look_ahead(flow, ip).ip != ip)
		pt_flow_set_ip(flow, ip);
}

/* A TIP.PGD without address behind the PIP of a MOV CR3: the new CR3 may be filtered out, or the
 * kernel returns to user space, which is not traced. Then, and only then, a far branch comes next. */
static void tell_who_disables(struct pt_flow *flow)
{
	if (look_ahead(flow, UINT64_MAX).kind == pt_kind_far)
		flow->at_mov_cr3 = 0;
}

void pt_flow_mend_event(struct pt_flow *flow)
{
	const struct pt_errata *errata = &flow->evd.config.errata;
	struct pt_event *ev = pt_evd_event(&flow->evd);

	if (!flow->enabled || flow->in_branch || ev->status_update)
		return;
	if (errata->skd022 && ev->type == ptev_async_disabled)
		take_back_fup(flow, ev);
	if (errata->bdm64 && ev->type == ptev_tsx && ev->variant.tsx.aborted && !ev->ip_suppressed)
		go_to_abort(flow, ev);
	if (flow->at_mov_cr3 && ev->type == ptev_disabled)
		tell_who_disables(flow);
}

/* Whether tracing goes on at @ip, as far as the address filter knows (Intel SDM vol. 3, "Filtering by IP"):
 * inside of a filter range, if there is any, and outside of all stop ranges. */
static int is_traced(const struct pt_conf_addr_filter *filter, uint64_t ip)
{
	const struct {
		uint32_t kind;
		uint64_t first, last;
	} range[] = {
	        {filter->config.ctl.addr0_cfg, filter->addr0_a, filter->addr0_b},
	        {filter->config.ctl.addr1_cfg, filter->addr1_a, filter->addr1_b},
	        {filter->config.ctl.addr2_cfg, filter->addr2_a, filter->addr2_b},
	        {filter->config.ctl.addr3_cfg, filter->addr3_a, filter->addr3_b},
	};
	int filtered = 0, inside = 0;

	for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); ++i) {
		const int hit = range[i].first <= ip && ip <= range[i].last;

		if (range[i].kind == pt_addr_stop && hit)
			return 0;
		filtered |= range[i].kind == pt_addr_filter;
		inside |= range[i].kind == pt_addr_filter && hit;
	}
	return inside || !filtered;
}

int pt_flow_leaves_filter(const struct pt_flow *flow, uint64_t ip)
{
	return flow->evd.config.errata.skl014 && !is_traced(&flow->evd.config.addr_filter, ip);
}
