/* survey_folder.c - see survey_folder.h. */
#include "replay/survey_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/folder.h"
#include "system/arena.h"

enum { FOLDER_FILES_MAX = 2048, FILES_MAX = 3072 };

static int has_folder(const struct survey_folder *folder, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; ++i)
		if (folder[i].length == length && memcmp(folder[i].name, name, length) == 0)
			return 1;
	return 0;
}

size_t survey_folders(const struct code_file *file, size_t nfiles,
                      struct survey_folder folder[SURVEY_FOLDERS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < nfiles && count < SURVEY_FOLDERS_MAX; ++i) {
		const char *name = file[i].like.filename;
		const size_t length = (size_t)(strrchr(name, '/') + 1 - name);

		if (!has_folder(folder, count, name, length))
			folder[count++] = (struct survey_folder){name, length};
	}
	return count;
}

/* Links lead to the same file. */
static int has_path(const struct survey_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; ++i)
		if (strcmp(files->file[i].path, path) == 0)
			return 1;
	return 0;
}

/* Takes @name, which is NULL without memory. */
static int keep_name(struct survey_files *files, char *name)
{
	if (!name)
		return -sbe_nomem;
	if (array_reserve(&files->name, &files->name_capacity, files->nnames, sizeof(*files->name)) < 0) {
		free(name);
		return -sbe_nomem;
	}
	files->name[files->nnames++] = name;
	return 0;
}

static int add(struct survey_files *files, struct sb_resolver *resolver, const char *name)
{
	const struct sb_map map = {.end = UINT64_MAX, .filename = name};
	const struct sb_binary *binary;
	struct code_file *file;
	int status = sb_resolver_find(resolver, &map, &binary, NULL);

	if (status < 0 || binary->missing || has_path(files, binary->path))
		return status < 0 ? -sbe_nomem : 0;
	if (array_reserve(&files->file, &files->capacity, files->count, sizeof(*files->file)) < 0)
		return -sbe_nomem;
	file = &files->file[files->count];
	status = code_file_read(file, &map, binary->path);
	if (status == 0 && file->nsegments)
		files->count += 1;
	else
		code_file_free(file);
	return status;
}

static int add_folder(struct survey_files *files, struct sb_resolver *resolver,
                      const struct survey_folder *folder)
{
	char *path = strndup(folder->name, folder->length), **name;
	size_t count;
	int status = path ? resolver_list_folder(resolver, path, &name, &count) : -sbe_nomem;

	if (status < 0) {
		free(path);
		return status;
	}
	for (size_t i = 0; i < count; ++i) {
		char *joined = NULL;

		files->left_out |= count > FOLDER_FILES_MAX || files->count >= FILES_MAX;
		if (status == 0 && !files->left_out) {
			if (asprintf(&joined, "%s%s", path, name[i]) < 0)
				joined = NULL;
			status = keep_name(files, joined);
			if (status == 0)
				status = add(files, resolver, joined);
		}
		free(name[i]);
	}
	free(name);
	free(path);
	return status;
}

int survey_files_read(struct survey_files *files, struct sb_resolver *resolver,
                      const struct survey_folder *folder, size_t nfolders)
{
	int status = 0;

	*files = (struct survey_files){0};
	for (size_t i = 0; i < nfolders && status == 0; ++i)
		status = add_folder(files, resolver, &folder[i]);
	return status;
}

void survey_files_drop(struct survey_files *files)
{
	for (size_t i = 0; i < files->count; ++i)
		code_file_free(&files->file[i]);
	free(files->file);
	files->file = NULL;
	files->count = files->capacity = 0;
}

void survey_files_free(struct survey_files *files)
{
	survey_files_drop(files);
	for (size_t i = 0; i < files->nnames; ++i)
		free(files->name[i]);
	free(files->name);
	*files = (struct survey_files){0};
}
