/* library.c - see library.h. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { event_size_2_0 = 64 };

static int find(void *handle, const char *name, void *function)
{
	void **target = function;

	*target = dlsym(handle, name);
	return *target ? 0 : -1;
}

/* "libipt 2.0.5" as the file is named: pt_library_version() leaves out the last number. */
static void name_it(struct library *library, const char *path, int ours)
{
	struct pt_version version = library->pt_library_version();
	char *file = realpath(path, NULL);
	const char *number = file ? strstr(file, ".so.") : NULL;

	snprintf(library->name, sizeof(library->name), "%s%s", ours ? "ours" : "libipt ",
	         ours     ? ""
	         : number ? number + strlen(".so.")
	                  : "?");
	free(file);
	library->event_size = version.major == 2 && !version.minor ? event_size_2_0 : sizeof(struct pt_event);
}

int library_load(struct library *library, const char *path, int ours)
{
	int missing = 0;

	if (dlsym(RTLD_DEFAULT, "pt_blk_next")) {
		fprintf(stderr,
		        "bench: a libipt is there already: the peer would call it instead of itself\n");
		return -1;
	}
	library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle) {
		fprintf(stderr, "bench: %s\n", dlerror());
		return -1;
	}
#define LIBRARY_FIND(function) missing |= find(library->handle, #function, &library->function);
	LIBRARY_FUNCTIONS(LIBRARY_FIND)
#undef LIBRARY_FIND
	(void)find(library->handle, "pt_blk_run", &library->pt_blk_run);
	(void)find(library->handle, "pt_blk_set_run_events", &library->pt_blk_set_run_events);
	(void)find(library->handle, "pt_blk_set_run_last_time", &library->pt_blk_set_run_last_time);
	if (missing || (ours && !library->pt_blk_run)) {
		fprintf(stderr, "bench: %s: not all of libipt's functions are there\n", path);
		return -1;
	}
	name_it(library, path, ours);
	return 0;
}
