/* The feature BPF_PROG_INFO, put together byte by byte. */
#ifndef TEST_SB_BPF_FEATURE_H
#define TEST_SB_BPF_FEATURE_H

#include <linux/bpf.h>

#include "support/bytes.h"

enum {
	/* Bits of "arrays": jited_prog_insns, jited_ksyms, jited_func_lens. */
	BPF_ARRAYS = 1 << 0 | 1 << 3 | 1 << 4
};

struct bpf_function {
	uint64_t begin;
	const char *code; /* without zeros */
};

/* Appends a program; what it consists of lies in the data in the order code, addresses, lengths. */
static inline void put_bpf_program(struct bytes *b, uint32_t id, const char *name,
                                   const struct bpf_function *function, uint32_t nfunctions)
{
	struct bpf_prog_info info = {.type = BPF_PROG_TYPE_KPROBE,
	                             .id = id,
	                             .nr_jited_ksyms = nfunctions,
	                             .nr_jited_func_lens = nfunctions};
	size_t at = b->size, data = at + 16 + sizeof(info);

	memcpy(info.name, name, strlen(name));
	memset(info.tag, (int)id, sizeof(info.tag));
	b->size = data;
	for (uint32_t i = 0; i < nfunctions; i++) {
		memcpy(b->data + b->size, function[i].code, strlen(function[i].code));
		b->size += strlen(function[i].code);
	}
	info.jited_prog_len = (uint32_t)(b->size - data);
	info.jited_ksyms = b->size - data;
	for (uint32_t i = 0; i < nfunctions; i++)
		put64(b, function[i].begin);
	info.jited_func_lens = b->size - data;
	for (uint32_t i = 0; i < nfunctions; i++)
		put32(b, strlen(function[i].code));
	patch(b, at, sizeof(info), 4);
	patch(b, at + 4, b->size - data, 4);
	patch(b, at + 8, BPF_ARRAYS, 8);
	memcpy(b->data + at + 16, &info, sizeof(info));
}

#endif
