/* intel-pt-time.h - the time at each packet.
 *
 * An addition to libipt's interface, for those who read packets (pt_pkt_next()) and want to know when
 * they came: a clock that is told the packets one after the other and keeps the estimate that the
 * event decoder and those above it would have there.
 */
#ifndef INTEL_PT_TIME_H
#define INTEL_PT_TIME_H

#include <intel-pt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pt_clock;

/* Takes a config as decoders do, with flags.variant.event. NULL when it is bad or memory is short. */
extern pt_export struct pt_clock *pt_clock_alloc(const struct pt_config *config);
extern pt_export void pt_clock_free(struct pt_clock *clock); /* NULL is fine */

/* Takes the next packet. Returns 1 for the kinds that a clock cares about (TSC, TMA, MTC, CYC, CBR, OVF),
 * 0 for those it need not be told. */
extern pt_export int pt_clock_packet(struct pt_clock *clock, const struct pt_packet *packet);

/* The time after the last packet, as a time stamp count, and the MTC and CYC packets that could not be
 * used since the last TSC (both may be NULL). -pte_no_time: there was no TSC yet. */
extern pt_export int pt_clock_time(const struct pt_clock *clock, uint64_t *tsc, uint32_t *lost_mtc,
                                   uint32_t *lost_cyc);

#ifdef __cplusplus
}
#endif

#endif /* INTEL_PT_TIME_H */
