/* kernel_base.h - the kernel's code as files have it, patches aside: kcore, which is what ran, or vmlinux.
 */
#ifndef SB_KERNEL_BASE_H
#define SB_KERNEL_BASE_H

#include "binary/compressed_file.h"
#include "binary/kernel_regions.h"

struct kernel_base {
	struct kernel_regions regions; /* of the file at .path */
	char *path;                    /* owned; NULL: there is none; lasts as long as this */
	struct plain_file file;        /* what was named */
	int code;                      /* what was made of it; -1: it is as it is */
};

static inline struct kernel_base kernel_base_none(void)
{
	return (struct kernel_base){.file = {.fd = -1}, .code = -1};
}

/* The file of .regions, as it is open; -1: there is none. */
static inline int kernel_base_fd(const struct kernel_base *base)
{
	return base->code >= 0 ? base->code : base->file.fd;
}

/* kcore may be compressed; vmlinux is plain, and taken, also on failure: @name is what it was named. @shift:
 * from where it was linked to where it stood; @kallsyms NULL: not known. On failure there is nothing to
 * close. */
int kernel_base_open_kcore(struct kernel_base *base, const char *kcore, struct sb_error *err);
int kernel_base_open_vmlinux(struct kernel_base *base, const struct plain_file *vmlinux, const char *name,
                             uint64_t shift, const char *kallsyms, struct sb_error *err);
void kernel_base_close(struct kernel_base *base);

#endif
