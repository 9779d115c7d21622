/* debuginfod.c - see debuginfod.h. */
#include "binary/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <stdlib.h>
#include <unistd.h>

typedef int fetch_function(debuginfod_client *client, const unsigned char *id, int id_size, char **path);

struct debuginfod {
	void *library;
	debuginfod_client *client;
	fetch_function *fetch[2]; /* by build_id_kind */
	void (*end)(debuginfod_client *client);
};

/* A function of the library; POSIX wants this detour. */
static void find_symbol(void *library, const char *name, void *function)
{
	*(void **)function = dlsym(library, name);
}

static int begin(struct debuginfod *debuginfod, struct sb_error *err)
{
	debuginfod_client *(*make)(void) = NULL;

	find_symbol(debuginfod->library, "debuginfod_begin", &make);
	find_symbol(debuginfod->library, "debuginfod_end", &debuginfod->end);
	find_symbol(debuginfod->library, "debuginfod_find_executable", &debuginfod->fetch[build_id_code]);
	find_symbol(debuginfod->library, "debuginfod_find_debuginfo", &debuginfod->fetch[build_id_debug]);
	if (!make || !debuginfod->end || !debuginfod->fetch[0] || !debuginfod->fetch[1])
		return sb_error_set(err, -sbe_unsupported, DEBUGINFOD_SONAME, UINT64_MAX,
		                    "lacks functions that debuginfod needs");
	debuginfod->client = make();
	return debuginfod->client ? 0 : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

int debuginfod_open(struct debuginfod **result, struct sb_error *err)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	struct debuginfod *debuginfod;
	int status;

	if (!urls || !*urls)
		return sb_error_set(err, -sbe_not_found, NULL, UINT64_MAX,
		                    "debuginfod: $" DEBUGINFOD_URLS_ENV_VAR " names no server");
	debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	debuginfod->library = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (debuginfod->library)
		status = begin(debuginfod, err);
	else
		status = sb_error_set(err, -sbe_not_found, NULL, UINT64_MAX, "debuginfod: %s", dlerror());
	if (status < 0) {
		debuginfod_close(debuginfod);
		return status;
	}
	*result = debuginfod;
	return 0;
}

void debuginfod_close(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	/* The library stays: what it brought along has threads and handlers of its own. */
	free(debuginfod);
}

char *debuginfod_fetch(struct debuginfod *debuginfod, enum build_id_kind kind, const uint8_t *id, int id_size)
{
	char *path = NULL;
	const int fd = debuginfod->fetch[kind](debuginfod->client, id, id_size, &path);

	if (fd < 0) {
		free(path);
		return NULL;
	}
	close(fd);
	return path;
}
