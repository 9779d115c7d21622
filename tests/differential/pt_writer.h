/* Writes trace as a CPU does: TNT bits and deferred TIPs are gathered, IPs compressed against the last one.
 *
 * An encoder of the test's own, from the packet definitions of the SDM, so that nothing of the library under
 * test stands between the truth and the trace. */
#ifndef DIFF_PT_WRITER_H
#define DIFF_PT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "random.h"

enum ip_packet { ip_tip = 0x0d, ip_pge = 0x11, ip_pgd = 0x01, ip_fup = 0x1d };

enum { writer_max_tips = 8 };

struct pt_writer {
	struct random *random;
	uint8_t *bytes; /* grows */
	size_t size, room;
	uint64_t last_ip;
	int last_unknown; /* behind OVF a CPU writes all of the IP */
	uint64_t tnt;     /* bits that are not written yet, the oldest on top */
	unsigned ntnt;
	uint64_t tip[writer_max_tips]; /* deferred TIPs: targets of branches among the bits of tnt */
	unsigned ntips;

	/* How this CPU writes. */
	int long_tnt, defer_tips;
	uint32_t pad_rate, early_tnt_rate; /* per mille */
};

void pt_bytes(struct pt_writer *writer, const void *bytes, size_t size);

/* A TNT bit; an indirect branch. */
void pt_branch(struct pt_writer *writer, int taken);
void pt_tip(struct pt_writer *writer, uint64_t ip);

/* Writes what was gathered; every function below does so first. */
void pt_flush(struct pt_writer *writer);

void pt_ip(struct pt_writer *writer, enum ip_packet type, uint64_t ip);
void pt_ip_suppressed(struct pt_writer *writer, enum ip_packet type);
void pt_psb(struct pt_writer *writer);
void pt_ovf(struct pt_writer *writer); /* what was gathered is lost */
void pt_psbend(struct pt_writer *writer);
void pt_mode_exec(struct pt_writer *writer, int mode); /* 1, 2, 3: 16, 32, 64 bit */
void pt_mode_tsx(struct pt_writer *writer, int speculative, int aborted);
void pt_pip(struct pt_writer *writer, uint64_t cr3, int non_root);
void pt_vmcs(struct pt_writer *writer, uint64_t base);
void pt_cbr(struct pt_writer *writer, uint8_t ratio);
void pt_stop(struct pt_writer *writer);
void pt_mnt(struct pt_writer *writer, uint64_t payload);
void pt_exstop(struct pt_writer *writer, int ip);
void pt_mwait(struct pt_writer *writer, uint8_t hints, uint8_t ext);
void pt_pwre(struct pt_writer *writer, uint8_t state, uint8_t sub_state, int hw);
void pt_pwrx(struct pt_writer *writer, uint8_t last, uint8_t deepest, uint8_t reason);
void pt_ptw(struct pt_writer *writer, uint64_t payload, int quad, int ip);

/* Time does not force out what was gathered. */
void pt_tsc(struct pt_writer *writer, uint64_t tsc);
void pt_tma(struct pt_writer *writer, uint16_t ctc, uint16_t fc);
void pt_mtc(struct pt_writer *writer, uint8_t ctc);
void pt_cyc(struct pt_writer *writer, uint64_t cycles);

#endif
