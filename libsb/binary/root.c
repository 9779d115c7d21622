/* root.c - see root.h. */
#include "binary/root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "binary/overlay_open.h"

static int add_layer(struct root *root, const char *path, struct sb_error *err)
{
	struct stat status;
	char *layer, *real;

	if (stat(path, &status) < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX,
		                    "this root is not there: %m");
	if (!S_ISDIR(status.st_mode))
		return sb_error_set(err, -sbe_invalid, path, UINT64_MAX, "this root is not a directory");
	layer = strdup(path);
	real = realpath(path, NULL);
	root->layer[root->nlayers] = layer;
	root->real[root->nlayers++] = real;
	if (!layer || !real)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	for (size_t length = strlen(layer); length > 1 && layer[length - 1] == '/'; --length)
		layer[length - 1] = '\0';
	return 0;
}

int root_init(struct root *root, const struct sb_root *given, struct sb_error *err)
{
	int status = 0;

	*root = (struct root){0};
	if (given->nlayers > OVERLAY_LAYERS_MAX)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "a root has %zu layers, expected at most %d", given->nlayers,
		                    OVERLAY_LAYERS_MAX);
	root->layer = calloc(given->nlayers + 1, sizeof(*root->layer));
	root->real = calloc(given->nlayers + 1, sizeof(*root->real));
	if (given->container)
		root->container = strdup(given->container);
	if (!root->layer || !root->real || (given->container && !root->container))
		status = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	for (size_t i = 0; i < given->nlayers && status == 0; ++i)
		status = add_layer(root, given->layer[i], err);
	if (status < 0)
		root_fini(root);
	return status;
}

void root_fini(struct root *root)
{
	for (size_t i = 0; i < root->nlayers; ++i) {
		free(root->layer[i]);
		free(root->real[i]);
	}
	free(root->layer);
	free(root->real);
	free(root->container);
	*root = (struct root){0};
}

enum rooted_status root_open(struct rooted_file *file, const struct root *root, const char *name)
{
	*file = (struct rooted_file){.fd = -1};
	if (!root->nlayers)
		return rooted_missing;
	if (root->nlayers == 1)
		return rooted_open(file, root->layer[0], name);
	return overlay_open(file, (const char *const *)root->layer, root->nlayers, name);
}

const char *root_name_of(const struct root *root, const char *path)
{
	for (size_t i = 0; i < root->nlayers; ++i) {
		const size_t length = strlen(root->real[i]);

		if (strcmp(root->real[i], "/") == 0)
			return path;
		if (strncmp(path, root->real[i], length) == 0 && path[length] == '/')
			return path + length;
	}
	return NULL;
}
