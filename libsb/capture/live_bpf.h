/* live_bpf.h - BPF programs that the kernel has compiled: where their functions are, and their code, which is
 * in no file.
 *
 * Those that are there when a recording begins get KSYMBOL and BPF_EVENT records, as the kernel writes them
 * for those that come; the code of all goes into the file's feature BPF_PROG_INFO (perfdata/bpf_images.h).
 */
#ifndef SB_LIVE_BPF_H
#define SB_LIVE_BPF_H

#include <stddef.h>
#include <stdint.h>

#include <sb/perfdata_write.h>

#include "system/key_table.h"

struct live_bpf {
	struct key_table read; /* uint32_t: programs whose code has been read */
	struct key_table told; /* uint32_t: programs that the kernel has told of itself */
	int pending;           /* of which some have not been read */
	uint8_t *parts;        /* the feature's, one behind the other; owned */
	size_t size, capacity;
	uint32_t count;
};

void live_bpf_init(struct live_bpf *bpf);
void live_bpf_fini(struct live_bpf *bpf);

/* The kernel has told that a program was loaded. Zero or -sbe_nomem. */
int live_bpf_loaded(struct live_bpf *bpf, uint32_t program);

/* Reads the programs that have not been read, and writes records of those of which the kernel has not told.
 * @sample NULL: as of before the recording. Without the privilege to see programs, there are none. Zero or an
 * error. */
int live_bpf_read(struct live_bpf *bpf, struct sb_perfdata_writer *writer,
                  const struct sb_write_sample *sample, const char *proc, struct sb_error *err);

#endif
