/* For tests of the decoder: code and trace written down as in a specification. */
#ifndef TEST_TRACE_H
#define TEST_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <intel-pt.h>

#include "support/temp_dir.h"

/* A buffer of packets, filled by the functions below. */
struct trace {
	uint8_t bytes[4096];
	size_t size;
};

void trace_psb(struct trace *trace);
void trace_psbend(struct trace *trace);
void trace_tsc(struct trace *trace, uint64_t tsc);
void trace_tma(struct trace *trace, uint16_t ctc, uint16_t fc);
void trace_mtc(struct trace *trace, uint8_t ctc);
void trace_mode64(struct trace *trace);
void trace_ovf(struct trace *trace);
void trace_tsx(struct trace *trace, int speculative, int aborted);
void trace_pip(struct trace *trace, uint64_t cr3);
void trace_pip_guest(struct trace *trace, uint64_t cr3); /* of a virtual machine */
void trace_vmcs(struct trace *trace, uint64_t base);
void trace_ptw(struct trace *trace, uint64_t payload); /* a FUP with its address must follow */
void trace_stop(struct trace *trace);
/* Outcomes as a string of 't' and 'n', the oldest first; up to six. */
void trace_tnt(struct trace *trace, const char *outcomes);
void trace_tnt_64(struct trace *trace, const char *outcomes); /* up to 47 */
/* Full addresses; type is ppt_tip, ppt_tip_pge, ppt_tip_pgd or ppt_fup. */
void trace_ip(struct trace *trace, enum pt_packet_type type, uint64_t ip);
void trace_ip_suppressed(struct trace *trace, enum pt_packet_type type);
/* PSB+ of a CPU on which tracing is off, at time @tsc. */
void trace_start(struct trace *trace, uint64_t tsc);

struct pt_config trace_config(const struct trace *trace);

/* Code in a file of its own directory. */
struct program {
	struct temp_dir dir;
	char *path;
};
void program_write(struct program *program, const void *bytes, size_t size);
void program_remove(struct program *program);

/* An image with the program at @vaddr. */
struct pt_image *program_image(const struct program *program, uint64_t vaddr);

#endif
