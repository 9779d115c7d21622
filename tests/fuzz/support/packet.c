/* packet.c - see packet.h. */
#include "packet.h"

static bool modes_equal(const struct pt_packet_mode *a, const struct pt_packet_mode *b)
{
	if (a->leaf != b->leaf)
		return false;
	if (a->leaf == pt_mol_tsx)
		return a->bits.tsx.intx == b->bits.tsx.intx && a->bits.tsx.abrt == b->bits.tsx.abrt;
	return a->bits.exec.csl == b->bits.exec.csl && a->bits.exec.csd == b->bits.exec.csd &&
	       a->bits.exec.iflag == b->bits.exec.iflag;
}

static bool pwrx_equal(const struct pt_packet_pwrx *a, const struct pt_packet_pwrx *b)
{
	return a->last == b->last && a->deepest == b->deepest && a->interrupt == b->interrupt &&
	       a->store == b->store && a->autonomous == b->autonomous;
}

static bool trigs_equal(const struct pt_packet_trig *a, const struct pt_packet_trig *b)
{
	return a->trbv == b->trbv && a->icnt == b->icnt && a->ip == b->ip && a->icntv == b->icntv &&
	       a->mult == b->mult;
}

#define SAME(member) (a->payload.member == b->payload.member)

bool fuzz_packets_equal(const struct pt_packet *a, const struct pt_packet *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		return SAME(ip.ipc) && SAME(ip.ip);
	case ppt_tnt_8:
	case ppt_tnt_64:
		return SAME(tnt.bit_size) && SAME(tnt.payload);
	case ppt_mode:
		return modes_equal(&a->payload.mode, &b->payload.mode);
	case ppt_pip:
		return SAME(pip.cr3) && SAME(pip.nr);
	case ppt_vmcs:
		return SAME(vmcs.base);
	case ppt_cbr:
		return SAME(cbr.ratio);
	case ppt_tsc:
		return SAME(tsc.tsc);
	case ppt_tma:
		return SAME(tma.ctc) && SAME(tma.fc);
	case ppt_mtc:
		return SAME(mtc.ctc);
	case ppt_cyc:
		return SAME(cyc.value);
	case ppt_mnt:
		return SAME(mnt.payload);
	case ppt_exstop:
		return SAME(exstop.ip);
	case ppt_mwait:
		return SAME(mwait.hints) && SAME(mwait.ext);
	case ppt_pwre:
		return SAME(pwre.state) && SAME(pwre.sub_state) && SAME(pwre.hw);
	case ppt_pwrx:
		return pwrx_equal(&a->payload.pwrx, &b->payload.pwrx);
	case ppt_ptw:
		return SAME(ptw.payload) && SAME(ptw.plc) && SAME(ptw.ip);
	case ppt_cfe:
		return SAME(cfe.type) && SAME(cfe.vector) && SAME(cfe.ip);
	case ppt_evd:
		return SAME(evd.type) && SAME(evd.payload);
	case ppt_trig:
		return trigs_equal(&a->payload.trig, &b->payload.trig);
	default:
		return true;
	}
}
