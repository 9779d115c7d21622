/* resolve.c - which file, and which part of it, stands behind a recorded mapping; see sb/binary.h for the
 * order in which places are asked. */
#include "binary/resolver.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/bundle_index.h"
#include "binary/debuginfod.h"
#include "binary/file_fit.h"

const char *sb_binary_how_name(enum sb_binary_how how)
{
	static const char *const names[sb_binary_hows] = {
	        [sb_how_path] = "path",         [sb_how_build_id] = "build-id",
	        [sb_how_inode] = "inode",       [sb_how_part_of_path] = "part-of-path",
	        [sb_how_bundle] = "bundle",     [sb_how_debuginfod] = "debuginfod",
	        [sb_how_own_vdso] = "own-vdso",
	};

	return (unsigned int)how < sb_binary_hows ? names[how] : "unknown";
}

/* ---- One place --------------------------------------------------------------------------------- */

/* Forgets the place that was looked at last. */
static void forget_seen(struct answer *answer)
{
	if (answer->seen_root)
		rooted_close(&answer->seen);
	answer->seen_root = NULL;
}

/* The place by the recorded name may be open already: its inode was looked at. */
static enum rooted_status open_place(struct answer *answer, struct rooted_file *file, const struct root *root,
                                     const char *name)
{
	if (answer->seen_root != root || name != answer->map.filename)
		return root_open(file, root, name);
	*file = answer->seen;
	answer->seen_root = NULL;
	return rooted_found;
}

/* Looks at one place. Returns whether the search is over: the file was taken, or nothing can be better. */
static int try_place(struct answer *answer, const struct root *root, const char *name, enum fit fit)
{
	struct rooted_file file;
	int taken;

	switch (open_place(answer, &file, root, name)) {
	case rooted_found:
		taken = file_take(answer, &file, fit);
		rooted_close(&file);
		if (taken) {
			answer->binary.how = sb_how_path;
			answer->root = root;
		}
		return taken || !answer->map.build_id_size;
	case rooted_not_regular:
		answer_say(answer, sb_gap_no_binary, "%.100s below %.30s is not a regular file", name,
		           root_title(root));
		return 0;
	case rooted_failed:
		answer_say(answer, sb_gap_no_binary, "%.80s below %.30s: %s", name, root_title(root),
		           strerror(errno));
		return 0;
	case rooted_missing:
		break;
	}
	return 0;
}

/* Takes an open file when it fits, and says nothing when it does not. */
static int take_quietly(struct answer *answer, struct rooted_file *file, enum fit fit, enum sb_binary_how how)
{
	const struct sb_binary before = answer->binary;
	const int taken = file_take(answer, file, fit);

	rooted_close(file);
	if (taken)
		answer->binary.how = how;
	else
		answer->binary = before;
	return taken;
}

/* ---- By build-id ------------------------------------------------------------------------------- */

static int find_by_build_id(const struct sb_resolver *resolver, struct answer *answer, enum fit fit)
{
	const struct sb_map *map = &answer->map;
	struct rooted_file file;
	char name[PATH_MAX];

	for (size_t i = 0; i < resolver->nbuild_id_dirs; ++i) {
		const struct build_id_dir *dir = &resolver->build_id_dir[i];

		for (unsigned int k = 0; build_id_name(name, sizeof(name), dir->prefix, build_id_code, k,
		                                       map->build_id, map->build_id_size);
		     ++k)
			if (rooted_open(&file, dir->root, name) == rooted_found &&
			    take_quietly(answer, &file, fit, sb_how_build_id))
				return 1;
	}
	return 0;
}

static int ask_debuginfod(struct sb_resolver *resolver, struct answer *answer, enum fit fit)
{
	struct rooted_file file;
	char *path;
	int taken = 0;

	if (!resolver->debuginfod || !answer->map.build_id_size)
		return 0;
	path = debuginfod_fetch(resolver->debuginfod, build_id_code, answer->map.build_id,
	                        answer->map.build_id_size);
	if (path && rooted_open(&file, "/", path) == rooted_found)
		taken = take_quietly(answer, &file, fit, sb_how_debuginfod);
	free(path);
	return taken;
}

/* ---- By device and inode ----------------------------------------------------------------------- */

static int try_inode(struct answer *answer, const struct root *root)
{
	struct rooted_file file;

	if (open_place(answer, &file, root, answer->map.filename) != rooted_found)
		return 0;
	if (!is_recorded_inode(&answer->map, &file)) {
		forget_seen(answer);
		answer->seen = file;
		answer->seen_root = root;
		return 0;
	}
	if (!take_quietly(answer, &file, fit_mapping, sb_how_inode))
		return 0;
	answer->root = root;
	return 1;
}

/* The scope's own roots, or those of others. The host is asked last, by its path. */
static int find_by_inode(const struct sb_resolver *resolver, struct answer *answer, int own)
{
	if (!answer->map.ino || answer->map.build_id_size)
		return 0;
	for (size_t i = 0; i < resolver->nroots; ++i) {
		const struct root *root = &resolver->root[i];
		const int host = resolver->host && i == resolver->nroots - 1;

		if (own != root_is_of(resolver, answer->scope, root) || (own && host) ||
		    (!own && root->container))
			continue;
		if (try_inode(answer, root))
			return 1;
	}
	return 0;
}

/* ---- By path ----------------------------------------------------------------------------------- */

/* Whether the recorded device has another file at the recorded place now, as the host's root shows. Devices
 * without a number of their own have another one each time. */
static int is_replaced_since(struct answer *answer, const struct root *root, const char *name)
{
	const struct sb_map *map = &answer->map;
	struct rooted_file file;
	int is;

	if (map->build_id_size || !map->ino || !map->maj || root_open(&file, root, name) != rooted_found)
		return 0;
	is = map->maj == file.maj && map->min == file.min && map->ino != file.ino;
	rooted_close(&file);
	if (is)
		answer_say(answer, sb_gap_binary_mismatch,
		           "%.80s is another file now, by its inode, and no build-id was recorded", name);
	return is;
}

static int find_by_path(const struct sb_resolver *resolver, struct answer *answer, const char *name, int own)
{
	for (size_t i = 0; i < resolver->nroots; ++i) {
		const struct root *root = &resolver->root[i];

		if (own != root_is_of(resolver, answer->scope, root) || (!own && root->container))
			continue;
		if ((resolver->host && i == resolver->nroots - 1 && is_replaced_since(answer, root, name)) ||
		    try_place(answer, root, name, fit_mapping))
			return 1;
	}
	return 0;
}

static int try_part(struct answer *answer, const struct root *root, const char *name)
{
	const enum fit fit = answer->map.build_id_size ? fit_mapping : fit_exactly;
	struct rooted_file file;

	if (root_open(&file, root, name) != rooted_found)
		return 0;
	if (!take_quietly(answer, &file, fit, answer->map.build_id_size ? sb_how_path : sb_how_part_of_path))
		return 0;
	answer->root = root;
	if (answer->binary.how == sb_how_part_of_path)
		snprintf(answer->binary.detail, sizeof(answer->binary.detail),
		         "%.60s is taken to be %.65s: its code fits", answer->map.filename,
		         answer->binary.path);
	return 1;
}

/* By ever shorter ends of the path: the recorded machine may have had these directories elsewhere. */
static int find_by_part_of_path(const struct sb_resolver *resolver, struct answer *answer, const char *name)
{
	const size_t nroots = resolver->nroots - (resolver->host ? 1 : 0);

	while ((name = strchr(name + 1, '/')))
		for (size_t i = 0; i < nroots; ++i)
			if (root_is_of(resolver, answer->scope, &resolver->root[i]) &&
			    try_part(answer, &resolver->root[i], name))
				return 1;
	return 0;
}

/* Where the path had several files while it was recorded, the inode alone tells whether this is the one. */
static int find_replaced(const struct sb_resolver *resolver, struct answer *answer)
{
	if (find_by_inode(resolver, answer, 1))
		return 1;
	if (!answer->scope && resolver->host && answer->map.ino &&
	    try_inode(answer, &resolver->root[resolver->nroots - 1]))
		return 1;
	answer_say(answer, sb_gap_binary_mismatch,
	           "%.80s: another file was there, too, while it was recorded", answer->map.filename);
	return 0;
}

/* Everywhere where a name leads. */
static int find_by_name(const struct sb_resolver *resolver, struct answer *answer, const char *name)
{
	if (answer->map.replaced)
		return find_replaced(resolver, answer);
	if (find_by_inode(resolver, answer, 1) || find_by_path(resolver, answer, name, 1))
		return 1;
	if (answer->scope) {
		/* The files of others may be a container's, too, but their names do not say it. */
		if (find_by_inode(resolver, answer, 0))
			return 1;
		if (answer->map.build_id_size && find_by_path(resolver, answer, name, 0))
			return 1;
	}
	return find_by_part_of_path(resolver, answer, name);
}

/* The name that a deleted file had; only a build-id says that what has it now is the same. NULL: not deleted.
 */
static char *name_before_deletion(const char *filename)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(filename), end = sizeof(deleted) - 1;

	if (length < end || strcmp(filename + length - end, deleted) != 0)
		return NULL;
	return strndup(filename, length - end);
}

static void find_file(struct sb_resolver *resolver, struct answer *answer)
{
	const int by_build_id = answer->map.build_id_size > 0;
	const char *name = answer->map.filename;
	char *before = name_before_deletion(name);

	if (before)
		answer_say(answer, sb_gap_no_binary, "%.120s: had no name any more", name);
	else if (name[0] != '/')
		answer_say(answer, sb_gap_no_binary, "%.120s: not a path", name);
	else
		answer_say(answer, sb_gap_no_binary, "%.120s: not found", name);
	if (before)
		name = by_build_id ? before : "";
	if (!find_by_build_id(resolver, answer, fit_mapping) &&
	    !(name[0] == '/' && find_by_name(resolver, answer, name)))
		ask_debuginfod(resolver, answer, fit_mapping);
	forget_seen(answer);
	free(before);
}

/* ---- The vdso ---------------------------------------------------------------------------------- */

/* This process has the recorded one's vdso when the machine and its kernel are the same: the best signs of
 * that are its size and the kernel's release, unless there is a build-id. */
static void try_own_vdso(struct sb_resolver *resolver, struct answer *answer)
{
	const uint64_t recorded = answer->map.recorded_size;

	if (vdso_is_foreign(&resolver->vdso) && !answer->map.build_id_size) {
		answer_say(answer, sb_gap_binary_mismatch,
		           "[vdso] of Linux %s, which this machine does not run", resolver->vdso.recorded_on);
		return;
	}
	if (vdso_make(&resolver->vdso) < 0)
		return;
	if (recorded && recorded != resolver->vdso.size) {
		answer_say(answer, sb_gap_binary_mismatch,
		           "[vdso] recorded with 0x%" PRIx64 " bytes, this machine's has 0x%" PRIx64,
		           recorded, resolver->vdso.size);
		return;
	}
	if (try_place(answer, &resolver->root[resolver->nroots - 1], resolver->vdso.path, fit_vdso))
		answer->binary.how = sb_how_own_vdso;
	answer->root = NULL;
}

static void find_vdso(struct sb_resolver *resolver, struct answer *answer)
{
	static const char *const names[] = {"/[vdso]", "/vdso.so", "/vdso"};
	const size_t nroots = resolver->nroots - (resolver->host ? 1 : 0);

	answer_say(answer, sb_gap_no_binary, "[vdso]: not found");
	if (find_by_build_id(resolver, answer, fit_vdso))
		return;
	/* The kernel is the same for all containers. */
	for (size_t i = 0; i < nroots; ++i)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); ++k)
			if (try_place(answer, &resolver->root[i], names[k], fit_vdso))
				return;
	if (resolver->host)
		try_own_vdso(resolver, answer);
}

/* ------------------------------------------------------------------------------------------------- */

/* Code that the process made itself: whoever put what is in a jitdump into the model has seen the file. */
static void find_made(struct answer *answer)
{
	struct sb_binary *binary = &answer->binary;
	const struct sb_map *map = &answer->map;

	switch (map->origin) {
	case sb_map_written:
		answer_say(answer, sb_gap_anonymous, "%.80s: the process could write there, too",
		           map->filename);
		return;
	case sb_map_jit:
		binary->path = strdup(map->filename);
		binary->offset = map->pgoff;
		binary->size = map->end;
		binary->missing = sb_gap_none;
		if (!binary->path)
			answer_say(answer, sb_gap_no_binary, "%.100s: out of memory", map->filename);
		return;
	case sb_map_jit_moved:
		answer_say(answer, sb_gap_anonymous, "%.80s: what was moved there was never loaded",
		           map->filename);
		return;
	case sb_map_jit_unsure:
		answer_say(answer, sb_gap_anonymous,
		           "%.60s: other code came there, and the trace's time does not say exactly when",
		           map->filename);
		return;
	case sb_map_doubtful:
		answer_say(answer, sb_gap_anonymous,
		           "%.70s: mapped by a process that may have the same memory", map->filename);
		return;
	case sb_map_jit_cut:
		answer_say(answer, sb_gap_anonymous, "%.80s is cut off: what was there since is not known",
		           map->filename);
		return;
	default:
		answer_say(
		        answer, sb_gap_anonymous,
		        "%.60s: several pieces of code were there, and its times are not of the trace's clock",
		        map->filename);
		return;
	}
}

static const char *container_of(const struct sb_resolver *resolver, uint32_t scope)
{
	return scope ? resolver->root[scope - 1].container : NULL;
}

void resolve(struct sb_resolver *resolver, struct answer *answer)
{
	const char *name = answer->map.filename;

	if (answer->map.origin != sb_map_recorded) {
		find_made(answer);
		return;
	}
	if (resolver->bundle && bundle_take(resolver->bundle, container_of(resolver, answer->scope), answer))
		return;
	if (strcmp(name, "[vdso]") == 0)
		find_vdso(resolver, answer);
	else if (sb_map_is_anonymous(name) || name[0] == '[')
		answer_say(answer, sb_gap_anonymous, "memory without a file: \"%.100s\"", name);
	else
		find_file(resolver, answer);
	if (resolver->bundle && answer->binary.missing)
		bundle_explain(resolver->bundle, container_of(resolver, answer->scope), answer);
}
