/* api.c - see api.h. */
#include "api.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Not all of them exist yet. */
#pragma weak pt_evt_alloc_decoder
#pragma weak pt_evt_free_decoder
#pragma weak pt_evt_sync_forward
#pragma weak pt_evt_sync_backward
#pragma weak pt_evt_sync_set
#pragma weak pt_evt_get_offset
#pragma weak pt_evt_next
#pragma weak pt_insn_resync
#pragma weak pt_blk_resync

#define OURS(function) .function = function,
const struct api api_ours = {CASE_API(OURS) CASE_NEWER_API(OURS)};

int api_debian(struct api *api)
{
	const char *path = getenv("CASE_LIBIPT");
	void *library = dlopen(path ? path : "/usr/lib/x86_64-linux-gnu/libipt.so.2", RTLD_NOW | RTLD_LOCAL);
	int missing = 0;

	if (!library)
		return -1;
#define LOAD(function) api->function = (__typeof__(api->function))(uintptr_t)dlsym(library, #function);
#define NEED(function) missing |= !api->function;
	CASE_API(LOAD)
	CASE_NEWER_API(LOAD)
	CASE_API(NEED)
	return missing ? -1 : 0;
}
