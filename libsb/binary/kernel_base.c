/* kernel_base.c - see kernel_base.h. */
#include "binary/kernel_base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/kernel_vmlinux.h"

static int finish(struct kernel_base *base, int status, struct sb_error *err)
{
	if (status == 0 && base->code < 0)
		base->path = strdup(base->file.path);
	else if (status == 0 && asprintf(&base->path, "/proc/self/fd/%d", base->code) < 0)
		base->path = NULL;
	if (status == 0 && !base->path)
		status = -sbe_nomem;
	if (status < 0)
		kernel_base_close(base);
	return status == -sbe_nomem ? sb_error_set(err, status, NULL, UINT64_MAX, "out of memory") : status;
}

int kernel_base_open_kcore(struct kernel_base *base, const char *kcore, struct sb_error *err)
{
	int status;

	*base = kernel_base_none();
	status = open_maybe_compressed(&base->file, kcore, 0, err);
	if (status < 0)
		return status;
	return finish(base, kernel_regions_read(&base->regions, base->file.fd, kcore, 0, err), err);
}

int kernel_base_open_vmlinux(struct kernel_base *base, const struct plain_file *vmlinux, const char *name,
                             uint64_t shift, const char *kallsyms, struct sb_error *err)
{
	*base = kernel_base_none();
	base->file = *vmlinux;
	return finish(
	        base,
	        kernel_vmlinux_read(&base->regions, &base->code, &base->file, name, shift, kallsyms, err),
	        err);
}

void kernel_base_close(struct kernel_base *base)
{
	kernel_regions_free(&base->regions);
	free(base->path);
	if (base->file.fd >= 0)
		plain_file_close(&base->file);
	if (base->code >= 0)
		close(base->code);
	*base = kernel_base_none();
}
