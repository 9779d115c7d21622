/* job_files.c - see job_files.h. */
#include "job/job_files.h"

#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "job/job_list.h"

static void roots_free(struct job_roots *roots)
{
	for (size_t i = 0; i < roots->count; i++) {
		job_texts_free(&roots->root[i].layer);
		free(roots->root[i].container);
	}
	free(roots->root);
}

void job_files_free(struct job_files *files)
{
	roots_free(&files->roots);
	roots_free(&files->container_roots);
	job_texts_free(&files->build_id_dir);
	free(files->bundle);
	memset(files, 0, sizeof(*files));
}

/* ---- Filling ---------------------------------------------------------------------------------- */

struct job_root *job_add_root(struct job_files *files, const char *container, struct option_error *error)
{
	struct job_roots *roots = container ? &files->container_roots : &files->roots;
	struct job_root *root = job_grow(roots->root, roots->count, job_items_most, sizeof(*root), error);
	char *name = NULL;

	if (!root)
		return NULL;
	roots->root = root;
	if (container && !(name = job_copy(container, error)))
		return NULL;
	root += roots->count++;
	*root = (struct job_root){.container = name};
	return root;
}

int job_add_layer(struct job_root *root, const char *path, struct option_error *error)
{
	return job_texts_add(&root->layer, job_layers_most, "a directory's name", path, error);
}

/* Cuts the first layer off; returns the rest, or NULL. */
static char *cut_layer(char *text)
{
	char *to = text;

	for (; *text && *text != ':'; text++) {
		if (text[0] == '\\' && (text[1] == ':' || text[1] == '\\'))
			text++;
		*to++ = *text;
	}
	if (!*text)
		text = NULL;
	*to = '\0';
	return text ? text + 1 : NULL;
}

int job_add_layers(struct job_root *root, const char *text, struct option_error *error)
{
	char *copy = job_copy(text, error), *layer = copy;
	int result = copy ? 0 : -1;

	while (!result && layer) {
		char *rest = cut_layer(layer);

		result = job_add_layer(root, layer, error);
		layer = rest;
	}
	free(copy);
	return result;
}

int job_add_container_root(struct job_files *files, const char *text, struct option_error *error)
{
	const char *equals = strchr(text, '=');
	struct job_root *root;
	char *name;

	if (!equals || equals == text)
		return option_fail(error, "expected NAME=DIR, found '%s'", text);
	name = strndup(text, (size_t)(equals - text));
	if (!name)
		return option_fail(error, "out of memory");
	root = job_add_root(files, name, error);
	free(name);
	return root ? job_add_layers(root, equals + 1, error) : -1;
}

/* ---- The command line -------------------------------------------------------------------------- */

static struct job_files *files_of(void *target)
{
	return &((struct job *)target)->files;
}

int file_option_root(void *target, const char *value, struct option_error *error)
{
	struct job_root *root = job_add_root(files_of(target), NULL, error);

	return root ? job_add_layer(root, value, error) : -1;
}

int file_option_overlay(void *target, const char *value, struct option_error *error)
{
	struct job_root *root = job_add_root(files_of(target), NULL, error);

	return root ? job_add_layers(root, value, error) : -1;
}

int file_option_container_root(void *target, const char *value, struct option_error *error)
{
	return job_add_container_root(files_of(target), value, error);
}

int file_option_no_host_root(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	files_of(target)->no_host_root = true;
	return 0;
}

int file_option_build_id_dir(void *target, const char *value, struct option_error *error)
{
	return job_texts_add(&files_of(target)->build_id_dir, job_items_most, "a directory's name", value,
	                     error);
}

int file_option_debuginfod(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	files_of(target)->debuginfod = true;
	return 0;
}

int file_option_bundle(void *target, const char *value, struct option_error *error)
{
	return job_set_text(&files_of(target)->bundle, "a directory's name", value, error);
}

int file_option_kcore(void *target, const char *value, struct option_error *error)
{
	return job_set_text(&((struct job *)target)->file[job_kcore], "the file's name", value, error);
}

int file_option_vmlinux(void *target, const char *value, struct option_error *error)
{
	return job_set_text(&((struct job *)target)->file[job_vmlinux], "the file's name", value, error);
}

int file_option_kallsyms(void *target, const char *value, struct option_error *error)
{
	return job_set_text(&((struct job *)target)->file[job_kallsyms], "the file's name", value, error);
}

/* ---- Using it ---------------------------------------------------------------------------------- */

static void put_roots(const struct job_roots *roots, struct sb_root *to)
{
	for (size_t i = 0; i < roots->count; i++)
		to[i] = (struct sb_root){.layer = (const char *const *)roots->root[i].layer.value,
		                         .nlayers = roots->root[i].layer.count,
		                         .container = roots->root[i].container};
}

int job_open_resolver(const struct job_files *files, struct sb_resolver **resolver, struct sb_error *err)
{
	struct sb_resolver_options options = {
	        .size = sizeof(options),
	        .nroots = files->roots.count + files->container_roots.count,
	        /* A bundle has all that there was: something else of the same name is none of it. */
	        .no_host_root = files->no_host_root || files->bundle,
	        .build_id_dir = (const char *const *)files->build_id_dir.value,
	        .nbuild_id_dirs = files->build_id_dir.count,
	        .debuginfod = files->debuginfod,
	        .bundle = files->bundle,
	};
	struct sb_root *root = calloc(options.nroots + 1, sizeof(*root));
	int status;

	if (!root)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	put_roots(&files->roots, root);
	put_roots(&files->container_roots, root + files->roots.count);
	options.root = root;
	status = sb_resolver_open(resolver, &options, err);
	free(root);
	return status;
}
