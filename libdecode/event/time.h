/* Time from TSC, TMA, MTC and CYC packets (Intel SDM vol. 3, "Packet Generation Scenarios: Timing").
 *
 * TSC gives the time stamp count; TMA ties it to the core crystal clock (CTC); MTC counts that
 * clock; CYC counts core cycles since the last CYC. The estimate is always recomputed from the last
 * exact point (TSC + TMA), so that rounding does not add up, and cycles never carry it past the
 * next MTC that is due, so that it does not run ahead.
 */
#ifndef PT_TIME_H
#define PT_TIME_H

#include "intel-pt.h"

enum { pt_ratio_shift = 16 };

struct pt_time {
	uint64_t tsc;    /* the current estimate */
	uint64_t stamp;  /* the last TSC packet's */
	uint64_t base;   /* TSC at the CTC edge that TMA names */
	uint64_t ctc;    /* CTC ticks since base */
	uint64_t anchor; /* TSC at the last exact point: a TSC or MTC packet */
	uint64_t next;   /* TSC at the MTC that is to come, if have_tma: cycles do not go past it */
	uint64_t cyc;    /* core cycles since the anchor */
	uint64_t ratio;  /* TSC ticks per core cycle, pt_ratio_shift fractional bits; 0: not known */
	uint32_t lost_mtc, lost_cyc;
	uint32_t ctc_mask; /* which bits of the next MTC's payload can be compared */
	uint8_t last_ctc;  /* payload of the last MTC, or what it would have been at TMA */
	uint8_t cbr;       /* core:bus ratio, 0: not known */
	uint8_t have_tsc, have_tma, have_mtc, have_cbr;
	uint8_t have_stamp; /* no TMA came since */
	uint8_t cyc_lost;   /* erratum SKL168: cycles since the last MTC may be missing */
};

void pt_time_init(struct pt_time *time);

/* After lost packets: distances to MTC and CYC are unknown until the next TSC. @keep_tcal keeps the
 * calibration of cycles. */
void pt_time_overflow(struct pt_time *time, int keep_tcal);

void pt_time_update_tsc(struct pt_time *time, uint64_t tsc);
void pt_time_update_cbr(struct pt_time *time, uint8_t cbr, const struct pt_config *config);
/* -pte_bad_context: there was no TSC packet, since the last TMA, that it could belong to. */
int pt_time_update_tma(struct pt_time *time, uint16_t ctc, uint16_t fc, const struct pt_config *config);
void pt_time_update_mtc(struct pt_time *time, uint8_t ctc, const struct pt_config *config);
void pt_time_update_cyc(struct pt_time *time, uint64_t cycles, const struct pt_config *config);

/* Behind an MTC at @pos: goes over the MTCs that follow, as long as there is nothing else but PADs, and CYCs
 * of one or two bytes, between them. The time is the same as if they were taken one by one. Returns where the
 * next packet is, behind an MTC or still at @pos; *@last is that MTC, if there was one. */
const uint8_t *pt_time_skip(struct pt_time *time, const uint8_t *pos, const struct pt_config *config,
                            const uint8_t **last);

/* A PSB: with erratum SKL168, cycles before it may be missing, so that they calibrate nothing. */
void pt_time_psb(struct pt_time *time, const struct pt_config *config);

/* An estimate never takes time back. Signed: an early base may lie before zero. */
static inline void pt_time_advance(struct pt_time *time, uint64_t tsc)
{
	if ((int64_t)(tsc - time->tsc) > 0)
		time->tsc = tsc;
}

/* Whether the MTC with that payload is the one to come right behind the last one, so that cycles before it
 * cannot take time past it. */
static inline int pt_time_is_due(const struct pt_time *time, uint8_t ctc)
{
	return time->have_mtc && time->next && (uint8_t)(ctc - time->last_ctc) == 1;
}

/* pt_time_update_mtc() for that one. */
void pt_time_due_mtc(struct pt_time *time, const struct pt_config *config);

/* pt_time_update_cyc(), to be inlined where CYCs are frequent. */
static inline void pt_time_pass_cyc(struct pt_time *time, uint64_t cycles, const struct pt_config *config)
{
	uint64_t tsc;

	time->cyc += cycles;
	if (!time->ratio) {
		time->lost_cyc += cycles != 0;
		return;
	}
	tsc = time->anchor + (time->cyc >> pt_ratio_shift) * time->ratio +
	      ((time->cyc & ((1u << pt_ratio_shift) - 1)) * time->ratio >> pt_ratio_shift);
	if (time->have_tma && config->mtc_freq < 32 && tsc >= time->next)
		tsc = time->next - 1;
	pt_time_advance(time, tsc);
}

/* Whichever of these @packet asks for; 1, or 0 when it has nothing to do with time; or an error code. OVF
 * and PSB are left to the caller. */
int pt_time_update(struct pt_time *time, const struct pt_packet *packet, const struct pt_config *config);

/* The public face: -pte_no_time before the first TSC, with *tsc the estimate so far. */
int pt_time_query(const struct pt_time *time, uint64_t *tsc, uint32_t *lost_mtc, uint32_t *lost_cyc);

#endif
