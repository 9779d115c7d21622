/* debug_file.c - the separate debug file of a binary; see sb_resolver_find_debug(). */
#include "binary/resolver.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "binary/bundle_index.h"
#include "binary/debuginfod.h"
#include "binary/elf_file.h"

#define DEBUG_DIR "/usr/lib/debug"

/* What is known of the binary that a debug file is looked for. */
struct wanted {
	uint8_t id[20];
	int id_size;
	char link[NAME_MAX + 1]; /* "": none */
	uint32_t crc;
};

static uint32_t crc_of(int fd)
{
	uint8_t bytes[1 << 14];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		crc = crc32(crc, bytes, (uInt)n);
		at += n;
	}
	return (uint32_t)crc;
}

static int is_wanted(const struct wanted *wanted, int fd, int by_link)
{
	uint8_t id[20];

	if (by_link)
		return crc_of(fd) == wanted->crc;
	return elf_file_build_id(fd, id) == wanted->id_size &&
	       memcmp(id, wanted->id, (size_t)wanted->id_size) == 0;
}

/* Takes the file when it is the right one, unpacked if need be. */
static int take(struct answer *answer, const struct wanted *wanted, struct rooted_file *file, int by_link)
{
	struct plain_file plain;
	int taken = 0;

	if (plain_file_of(&plain, file->fd, file->path, 0, NULL) == 0) {
		taken = is_wanted(wanted, plain.fd, by_link);
		if (taken)
			answer->debug = strdup(plain.path);
		if (taken && plain.unpacked)
			answer->debug_plain = plain;
		else
			plain_file_close(&plain);
	}
	rooted_close(file);
	return taken;
}

/* ---- By build-id ------------------------------------------------------------------------------- */

/* The binary itself may be there, too: that is no separate file. */
static int take_other(struct answer *answer, const struct wanted *wanted, struct rooted_file *file)
{
	if (answer->binary.path && strcmp(file->path, answer->binary.path) == 0) {
		rooted_close(file);
		return 0;
	}
	return take(answer, wanted, file, 0);
}

static int find_in_bundle(const struct sb_resolver *resolver, struct answer *answer,
                          const struct wanted *wanted)
{
	const char *directory = bundle_directory(resolver->bundle);
	struct rooted_file file;
	char name[PATH_MAX];

	return directory &&
	       build_id_name(name, sizeof(name), "/.build-id", build_id_debug, 0, wanted->id,
	                     wanted->id_size) &&
	       rooted_open(&file, directory, name) == rooted_found && take_other(answer, wanted, &file);
}

static int find_by_build_id(const struct sb_resolver *resolver, struct answer *answer,
                            const struct wanted *wanted)
{
	struct rooted_file file;
	char name[PATH_MAX];

	if (find_in_bundle(resolver, answer, wanted))
		return 1;

	for (size_t i = 0; i < resolver->nbuild_id_dirs; ++i) {
		const struct build_id_dir *dir = &resolver->build_id_dir[i];

		/* the first two are for debug information alone */
		for (unsigned int k = 0;
		     k < 2 && build_id_name(name, sizeof(name), dir->prefix, build_id_debug, k, wanted->id,
		                            wanted->id_size);
		     ++k)
			if (rooted_open(&file, dir->root, name) == rooted_found &&
			    take_other(answer, wanted, &file))
				return 1;
	}
	for (size_t i = 0; i < resolver->nroots; ++i) {
		if (!build_id_name(name, sizeof(name), DEBUG_DIR "/.build-id", build_id_debug, 0, wanted->id,
		                   wanted->id_size))
			break;
		if (root_open(&file, &resolver->root[i], name) == rooted_found &&
		    take_other(answer, wanted, &file))
			return 1;
	}
	return 0;
}

/* ---- By link ----------------------------------------------------------------------------------- */

static int find_by_link(struct answer *answer, const struct wanted *wanted)
{
	/* beside the binary, and in the same directory below another one */
	static const char *const before[] = {"", "", DEBUG_DIR}, *const behind[] = {"", "/.debug", ""};
	const char *name = answer->root ? root_name_of(answer->root, answer->binary.path) : NULL;
	const char *slash = name ? strrchr(name, '/') : NULL;
	char path[PATH_MAX + NAME_MAX + 64];
	struct rooted_file file;

	if (!slash || !wanted->link[0])
		return 0;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); ++i) {
		snprintf(path, sizeof(path), "%s%.*s%s/%s", before[i], (int)(slash - name), name, behind[i],
		         wanted->link);
		if (root_open(&file, answer->root, path) == rooted_found && take(answer, wanted, &file, 1))
			return 1;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------- */

static void ask_debuginfod(struct sb_resolver *resolver, struct answer *answer, const struct wanted *wanted)
{
	struct rooted_file file;
	char *path;

	if (!resolver->debuginfod || !wanted->id_size)
		return;
	path = debuginfod_fetch(resolver->debuginfod, build_id_debug, wanted->id, wanted->id_size);
	if (path && rooted_open(&file, "/", path) == rooted_found)
		take(answer, wanted, &file, 0);
	free(path);
}

void resolve_debug(struct sb_resolver *resolver, struct answer *answer)
{
	struct wanted wanted = {0};
	struct plain_file plain;

	if (!answer->binary.path) {
		wanted.id_size = answer->map.build_id_size;
		memcpy(wanted.id, answer->map.build_id, sizeof(wanted.id));
	} else if (open_maybe_compressed(&plain, answer->binary.path, 0, NULL) == 0) {
		wanted.id_size = elf_file_build_id(plain.fd, wanted.id);
		elf_file_debuglink(plain.fd, wanted.link, sizeof(wanted.link), &wanted.crc);
		plain_file_close(&plain);
	}
	if (!find_by_build_id(resolver, answer, &wanted) && !find_by_link(answer, &wanted))
		ask_debuginfod(resolver, answer, &wanted);
}
