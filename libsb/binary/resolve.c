/* resolve.c - which file, and which part of it, stands behind a recorded mapping; see sb/binary.h.
 *
 * Places are asked in order: each root, then the host. The first that has a file of that name decides,
 * whether it fits or not; only a recorded build-id, which no wrong file can have, lets the search go on.
 */
#include <sb/binary.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/elf_file.h"
#include "binary/rooted_open.h"
#include "binary/vdso.h"

enum { PAGE = 4096 };

/* What was found for a mapping's file and range: the same wherever it was mapped. */
struct answer {
	struct sb_binary binary; /* first: handed out */
	struct answer *next;     /* of the same slot */
	char *filename;
	uint64_t pgoff, size, recorded_pgoff, recorded_size;
	uint8_t build_id_size;
	uint8_t build_id[20];
};

struct sb_resolver {
	pthread_mutex_t lock; /* for what follows roots: an answer that was given stays as it is */
	char **root;          /* owned; "/" comes last unless it is not allowed */
	size_t nroots;
	int host; /* the last root is the host */
	struct vdso vdso;
	struct answer **slot;
	size_t nslots, count;
};

/* ---- The resolver ----------------------------------------------------------------------------- */

static int add_root(struct sb_resolver *resolver, const char *path, struct sb_error *err)
{
	struct stat status;
	char *root;
	size_t length;

	if (stat(path, &status) < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX,
		                    "this root is not there: %m");
	if (!S_ISDIR(status.st_mode))
		return sb_error_set(err, -sbe_invalid, path, UINT64_MAX, "this root is not a directory");
	root = strdup(path);
	if (!root)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	for (length = strlen(root); length > 1 && root[length - 1] == '/'; --length)
		root[length - 1] = '\0';
	resolver->root[resolver->nroots++] = root;
	return 0;
}

int sb_resolver_new(struct sb_resolver **result, const char *const *root, size_t nroots, int no_host_root,
                    struct sb_error *err)
{
	struct sb_resolver *resolver;
	int status = 0;

	if (!result || (nroots && !root))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_resolver_new: no roots");
	resolver = calloc(1, sizeof(*resolver));
	if (resolver && pthread_mutex_init(&resolver->lock, NULL)) {
		free(resolver);
		resolver = NULL;
	}
	if (resolver)
		resolver->root = calloc(nroots + 1, sizeof(*resolver->root));
	if (!resolver || !resolver->root) {
		sb_resolver_free(resolver);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	for (size_t i = 0; i < nroots && status == 0; ++i)
		status = add_root(resolver, root[i], err);
	if (status == 0 && !no_host_root) {
		status = add_root(resolver, "/", err);
		resolver->host = 1;
	}
	if (status < 0) {
		sb_resolver_free(resolver);
		return status;
	}
	*result = resolver;
	return 0;
}

void sb_resolver_free(struct sb_resolver *resolver)
{
	if (!resolver)
		return;
	for (size_t i = 0; i < resolver->nslots; ++i) {
		for (struct answer *answer = resolver->slot[i], *next; answer; answer = next) {
			next = answer->next;
			free(answer->binary.path);
			free(answer->filename);
			free(answer);
		}
	}
	free(resolver->slot);
	for (size_t i = 0; i < resolver->nroots; ++i)
		free(resolver->root[i]);
	free(resolver->root);
	vdso_free(&resolver->vdso);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

/* ---- Remembered answers ----------------------------------------------------------------------- */

static size_t hash(const struct sb_map *map)
{
	uint64_t value = 0xcbf29ce484222325ull ^ map->pgoff;

	for (const char *c = map->filename; *c; ++c)
		value = (value ^ (uint8_t)*c) * 0x100000001b3ull;
	value = (value ^ (map->end - map->begin)) * 0x9e3779b97f4a7c15ull;
	return (size_t)(value ^ (value >> 29));
}

static int is_answer_for(const struct answer *answer, const struct sb_map *map)
{
	return answer->pgoff == map->pgoff && answer->size == map->end - map->begin &&
	       answer->recorded_pgoff == map->recorded_pgoff && answer->recorded_size == map->recorded_size &&
	       answer->build_id_size == map->build_id_size &&
	       memcmp(answer->build_id, map->build_id, sizeof(map->build_id)) == 0 &&
	       strcmp(answer->filename, map->filename) == 0;
}

static struct sb_map map_of(const struct answer *answer)
{
	return (struct sb_map){.filename = answer->filename, .pgoff = answer->pgoff, .end = answer->size};
}

static int grow(struct sb_resolver *resolver)
{
	const size_t nslots = resolver->nslots ? 2 * resolver->nslots : 256;
	struct answer **slot = calloc(nslots, sizeof(struct answer *));

	if (!slot)
		return -sbe_nomem;
	for (size_t i = 0; i < resolver->nslots; ++i) {
		for (struct answer *answer = resolver->slot[i], *next; answer; answer = next) {
			const struct sb_map map = map_of(answer);
			const size_t index = hash(&map) & (nslots - 1);

			next = answer->next;
			answer->next = slot[index];
			slot[index] = answer;
		}
	}
	free(resolver->slot);
	resolver->slot = slot;
	resolver->nslots = nslots;
	return 0;
}

static struct answer *new_answer(struct sb_resolver *resolver, const struct sb_map *map)
{
	struct answer *answer;
	size_t index;

	if (resolver->count >= resolver->nslots && grow(resolver) < 0)
		return NULL;
	answer = calloc(1, sizeof(*answer));
	if (!answer)
		return NULL;
	answer->filename = strdup(map->filename);
	if (!answer->filename) {
		free(answer);
		return NULL;
	}
	answer->pgoff = map->pgoff;
	answer->size = map->end - map->begin;
	answer->recorded_pgoff = map->recorded_pgoff;
	answer->recorded_size = map->recorded_size;
	answer->build_id_size = map->build_id_size;
	memcpy(answer->build_id, map->build_id, sizeof(map->build_id));
	index = hash(map) & (resolver->nslots - 1);
	answer->next = resolver->slot[index];
	resolver->slot[index] = answer;
	resolver->count += 1;
	return answer;
}

/* ---- Does a file fit? -------------------------------------------------------------------------- */

static void say(struct sb_binary *binary, enum sb_gap_reason missing, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void say(struct sb_binary *binary, enum sb_gap_reason missing, const char *format, ...)
{
	va_list args;

	binary->missing = missing;
	va_start(args, format);
	vsnprintf(binary->detail, sizeof(binary->detail), format, args);
	va_end(args);
}

static const char *hex(const uint8_t *id, int size, char text[41])
{
	for (int i = 0; i < size; ++i)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	if (!size)
		strcpy(text, "none");
	return text;
}

static int build_id_fits(struct sb_binary *binary, const struct answer *answer,
                         const struct rooted_file *file)
{
	char recorded[41], found[41];
	uint8_t id[20];
	int size;

	if (!answer->build_id_size)
		return 1;
	size = elf_file_build_id(file->fd, id);
	if (size == answer->build_id_size && memcmp(id, answer->build_id, (size_t)size) == 0)
		return 1;
	say(binary, sb_gap_binary_mismatch, "build-id recorded %s, found %s in %.60s",
	    hex(answer->build_id, answer->build_id_size, recorded), hex(id, size, found), file->path);
	return 0;
}

static uint64_t page_up(uint64_t value)
{
	return value + (PAGE - 1 - (value - 1) % PAGE);
}

/* The part of the file that stands at the mapping's begin, when code ends at @end. */
static int set_range(struct sb_binary *binary, const struct answer *answer, const struct rooted_file *file,
                     uint64_t end)
{
	if (end > file->size)
		end = file->size;
	if (answer->pgoff >= end) {
		say(binary, sb_gap_binary_mismatch, "offset 0x%" PRIx64 " of %.100s holds no code",
		    answer->pgoff, file->path);
		return 0;
	}
	binary->offset = answer->pgoff;
	binary->size = answer->size < end - answer->pgoff ? answer->size : end - answer->pgoff;
	return 1;
}

static int range_fits(struct sb_binary *binary, const struct answer *answer, const struct rooted_file *file)
{
	const uint64_t offset = answer->recorded_pgoff, size = answer->recorded_size;
	char why[80] = "the file is too short";
	uint64_t code_size;

	/* What several records made has no end of its own to check. */
	if (!size)
		return set_range(binary, answer, file, UINT64_MAX);
	if (elf_file_check_mapping(file->fd, offset, size, &code_size, why, sizeof(why)) == 0 &&
	    offset < file->size && code_size <= page_up(file->size) - offset)
		return set_range(binary, answer, file, offset + code_size);
	say(binary, sb_gap_binary_mismatch, "recorded 0x%" PRIx64 " bytes at 0x%" PRIx64 " of %.60s: %s",
	    size, offset, file->path, why);
	return 0;
}

/* A vdso is an image of memory: one segment, mapped whole. */
static int vdso_range_fits(struct sb_binary *binary, const struct answer *answer,
                           const struct rooted_file *file)
{
	if (answer->recorded_size <= page_up(file->size))
		return set_range(binary, answer, file, UINT64_MAX);
	say(binary, sb_gap_binary_mismatch, "recorded 0x%" PRIx64 " bytes; %.60s has 0x%" PRIx64,
	    answer->recorded_size, file->path, file->size);
	return 0;
}

typedef int range_check(struct sb_binary *binary, const struct answer *answer,
                        const struct rooted_file *file);

/* Takes the file when it fits. */
static int take(struct answer *answer, struct rooted_file *file, range_check *check)
{
	struct sb_binary *binary = &answer->binary;

	if (!file->size) {
		say(binary, sb_gap_binary_mismatch, "%.120s is empty", file->path);
		return 0;
	}
	if (!build_id_fits(binary, answer, file) || !check(binary, answer, file))
		return 0;
	binary->missing = sb_gap_none;
	binary->detail[0] = '\0';
	binary->path = file->path;
	file->path = NULL;
	return 1;
}

/* ---- Where is it? ------------------------------------------------------------------------------ */

/* Looks at one place. Returns whether the search is over. */
static int try_place(struct answer *answer, const char *root, const char *name, range_check *check)
{
	struct rooted_file file;
	int taken;

	switch (rooted_open(&file, root, name)) {
	case rooted_found:
		taken = take(answer, &file, check);
		rooted_close(&file);
		return taken || !answer->build_id_size;
	case rooted_not_regular:
		say(&answer->binary, sb_gap_no_binary, "%.100s below %.30s is not a regular file", name,
		    root);
		return 0;
	case rooted_failed:
		say(&answer->binary, sb_gap_no_binary, "%.80s below %.30s: %s", name, root, strerror(errno));
		return 0;
	case rooted_missing:
		break;
	}
	return 0;
}

static void find_file(const struct sb_resolver *resolver, struct answer *answer)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(answer->filename);

	if (length >= sizeof(deleted) - 1 &&
	    strcmp(answer->filename + length - (sizeof(deleted) - 1), deleted) == 0) {
		say(&answer->binary, sb_gap_no_binary, "%.120s: had no name any more", answer->filename);
		return;
	}
	if (answer->filename[0] != '/') {
		say(&answer->binary, sb_gap_no_binary, "%.120s: not a path", answer->filename);
		return;
	}
	say(&answer->binary, sb_gap_no_binary, "%.120s: not found", answer->filename);
	for (size_t i = 0; i < resolver->nroots; ++i)
		if (try_place(answer, resolver->root[i], answer->filename, range_fits))
			return;
}

/* This process has the recorded one's vdso when the machine and its kernel are the same: the best sign of
 * that is its size, unless there is a build-id. */
static void try_own_vdso(struct sb_resolver *resolver, struct answer *answer)
{
	if (vdso_make(&resolver->vdso) < 0)
		return;
	if (answer->recorded_size && answer->recorded_size != resolver->vdso.size) {
		say(&answer->binary, sb_gap_binary_mismatch,
		    "[vdso] recorded with 0x%" PRIx64 " bytes, this machine's has 0x%" PRIx64,
		    answer->recorded_size, resolver->vdso.size);
		return;
	}
	try_place(answer, "/", resolver->vdso.path, vdso_range_fits);
}

static void find_vdso(struct sb_resolver *resolver, struct answer *answer)
{
	static const char *const names[] = {"/[vdso]", "/vdso.so", "/vdso"};
	const size_t nroots = resolver->nroots - (resolver->host ? 1 : 0);

	say(&answer->binary, sb_gap_no_binary, "[vdso]: not found");
	for (size_t i = 0; i < nroots; ++i)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); ++k)
			if (try_place(answer, resolver->root[i], names[k], vdso_range_fits))
				return;
	if (resolver->host)
		try_own_vdso(resolver, answer);
}

static void find_answer(struct sb_resolver *resolver, struct answer *answer)
{
	if (strcmp(answer->filename, "[vdso]") == 0)
		find_vdso(resolver, answer);
	else if (sb_map_is_anonymous(answer->filename) || answer->filename[0] == '[')
		say(&answer->binary, sb_gap_anonymous, "memory without a file: \"%.100s\"", answer->filename);
	else
		find_file(resolver, answer);
}

static struct answer *find_or_make(struct sb_resolver *resolver, const struct sb_map *map)
{
	struct answer *answer = NULL;

	if (resolver->nslots)
		answer = resolver->slot[hash(map) & (resolver->nslots - 1)];
	while (answer && !is_answer_for(answer, map))
		answer = answer->next;
	if (answer)
		return answer;
	answer = new_answer(resolver, map);
	if (answer)
		find_answer(resolver, answer);
	return answer;
}

int sb_resolver_find(struct sb_resolver *resolver, const struct sb_map *map, const struct sb_binary **binary,
                     struct sb_error *err)
{
	struct answer *answer;

	if (!resolver || !map || !map->filename || !binary)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_resolver_find: no mapping");
	pthread_mutex_lock(&resolver->lock);
	answer = find_or_make(resolver, map);
	pthread_mutex_unlock(&resolver->lock);
	if (!answer)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	*binary = &answer->binary;
	return 0;
}
