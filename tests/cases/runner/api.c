/* api.c - see api.h. */
#include "api.h"

#include <dlfcn.h>
#include <stdlib.h>

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
