/* bundle_store.c - see bundle_store.h. */
#include "binary/bundle_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/bundle_index.h"
#include "binary/elf_file.h"
#include "binary/file_fit.h"
#include "binary/sha256.h"
#include "unfinished.h"

#define NEW ".new-" /* in front of the names of files that are not whole */

enum { PIECE = 256 << 10 };

static int failed(const char *path, const char *what, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "%s: %s", what, strerror(errno));
}

static int no_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Beginning --------------------------------------------------------------------------------- */

static int is_empty(const char *directory)
{
	struct dirent *entry;
	DIR *stream = opendir(directory);
	int empty = stream != NULL;

	while (stream && empty && (entry = readdir(stream)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (stream)
		closedir(stream);
	return empty;
}

/* Only what is a bundle already, or nothing at all, becomes one. */
static int check_old(const char *directory, struct sb_error *err)
{
	json_t *manifest;
	int status;

	if (is_empty(directory))
		return 0;
	status = bundle_manifest_read(&manifest, directory, err);
	if (status == 0 && !manifest)
		status = sb_error_set(err, -sbe_invalid, directory, UINT64_MAX,
		                      "expected a bundle, or nothing: there are other files in it");
	json_decref(manifest);
	return status;
}

static int open_work(struct bundle_store *store, const char *directory, struct sb_error *err)
{
	struct stat status;
	int result = 0;

	if (stat(directory, &status) == 0) {
		store->work = strdup(directory);
		if (store->work)
			result = check_old(directory, err);
	} else {
		unfinished_clear(directory, NULL, NULL, NULL);
		store->lock = unfinished_directory(directory, &store->work);
		if (store->lock < 0 || fchmod(store->lock, 0755) < 0)
			return failed(directory, "cannot be made", err);
	}
	return store->work ? result : no_memory(err);
}

/* What a run that was killed was just copying has a name that is nobody else's, see copy_aside(). */
static void clear_old(const struct bundle_store *store)
{
	DIR *stream = opendir(store->work);
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (!strncmp(entry->d_name, NEW, sizeof(NEW) - 1))
			(void)unlinkat(store->lock, entry->d_name, 0);
	if (stream)
		closedir(stream);
}

static int lock_old(struct bundle_store *store, struct sb_error *err)
{
	store->lock = open(store->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->lock < 0)
		return failed(store->directory, "cannot be opened", err);
	if (flock(store->lock, LOCK_EX | LOCK_NB) < 0)
		return failed(store->directory, "somebody else is writing to this bundle", err);
	clear_old(store);
	return 0;
}

int bundle_store_open(struct bundle_store *store, const char *directory, struct sb_error *err)
{
	size_t length;
	int status;

	*store = (struct bundle_store){.lock = -1};
	store->directory = strdup(directory);
	if (!store->directory)
		return no_memory(err);
	for (length = strlen(directory); length > 1 && directory[length - 1] == '/'; length--)
		store->directory[length - 1] = '\0';
	status = open_work(store, store->directory, err);
	if (status == 0 && store->lock < 0)
		status = lock_old(store, err);
	if (status < 0)
		bundle_store_close(store);
	return status;
}

/* ---- Adding ------------------------------------------------------------------------------------ */

static int note_added(struct bundle_store *store, const char *name, struct sb_error *err)
{
	if (store->nadded == store->room) {
		const size_t room = store->room ? 2 * store->room : 64;
		char **added = reallocarray(store->added, room, sizeof(*added));

		if (!added)
			return no_memory(err);
		store->added = added;
		store->room = room;
	}
	store->added[store->nadded] = strdup(name);
	if (!store->added[store->nadded])
		return no_memory(err);
	store->nadded++;
	return 0;
}

static int make_parents(struct bundle_store *store, const char *name, struct sb_error *err)
{
	char path[4096];
	int status = 0;

	for (const char *slash = strchr(name, '/'); slash && status == 0; slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof(path), "%.*s", (int)(slash - name), name);
		if (mkdirat(store->lock, path, 0777) == 0)
			status = note_added(store, path, err);
		else if (errno != EEXIST)
			status = failed(path, "cannot be made in the bundle", err);
	}
	return status;
}

/* Copies all bytes, and takes their sum. */
static int copy_bytes(int to, int from, struct stored_file *stored)
{
	uint8_t *bytes = malloc(PIECE), digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;
	ssize_t n = -1;

	stored->size = 0;
	sha256_init(&context);
	while (bytes && (n = pread(from, bytes, PIECE, (off_t)stored->size)) > 0) {
		sha256_update(&context, (size_t)n, bytes);
		for (ssize_t done = 0; done < n;) {
			const ssize_t m = write(to, bytes + done, (size_t)(n - done));

			if (m < 0 && errno != EINTR) {
				free(bytes);
				return -1;
			}
			done += m > 0 ? m : 0;
		}
		stored->size += (uint64_t)n;
	}
	free(bytes);
	if (n < 0)
		return -1;
	sha256_digest(&context, sizeof(digest), digest);
	sha256_text(digest, stored->sha256);
	return 0;
}

/* The bytes as a file of the bundle that has no name of its own yet: @temporary is its name. */
static int copy_aside(struct bundle_store *store, int from, const char *path, char *temporary, size_t size,
                      struct stored_file *stored, struct sb_error *err)
{
	int fd, status = 0;

	snprintf(temporary, size, NEW "%ld", (long)getpid());
	fd = openat(store->lock, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return failed(path, "cannot be copied into the bundle", err);
	if (copy_bytes(fd, from, stored) < 0)
		status = failed(path, "cannot be copied into the bundle", err);
	if (close(fd) < 0 && status == 0)
		status = failed(path, "cannot be copied into the bundle", err);
	if (status < 0)
		unlinkat(store->lock, temporary, 0);
	return status;
}

static int name_it(struct bundle_store *store, const char *temporary, const char *name, struct sb_error *err)
{
	int status = make_parents(store, name, err);

	if (status == 0)
		status = note_added(store, name, err);
	if (status == 0 && renameat(store->lock, temporary, store->lock, name) < 0)
		status = failed(name, "cannot be put into the bundle", err);
	if (status < 0)
		unlinkat(store->lock, temporary, 0);
	return status;
}

/* Opens for reading; only regular files. */
static int open_regular(int directory, const char *path, uint64_t *size)
{
	const int fd = openat(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	if (fd >= 0)
		*size = (uint64_t)status.st_size;
	return fd;
}

/* Whether the bundle has stored->name already, with so many bytes; then its sum becomes known. */
static int is_there(const struct bundle_store *store, uint64_t size, known_sha256 *known, void *context,
                    struct stored_file *stored)
{
	const char *sha256 = known ? known(context, stored->name, size) : NULL;
	uint64_t found;
	const int fd = open_regular(store->lock, stored->name, &found);
	int there;

	if (fd < 0)
		return 0;
	if (sha256)
		snprintf(stored->sha256, sizeof(stored->sha256), "%s", sha256);
	there = found == size && (sha256 || sha256_of_file(fd, stored->sha256) == 0);
	stored->size = found;
	close(fd);
	return there;
}

static int add_by_build_id(struct bundle_store *store, int fd, uint64_t size, const char *path,
                           known_sha256 *known, void *context, struct stored_file *stored,
                           struct sb_error *err)
{
	char temporary[64];
	int status;

	snprintf(stored->name, sizeof(stored->name), ".build-id/%.2s/%s/elf", stored->build_id,
	         stored->build_id + 2);
	if (is_there(store, size, known, context, stored))
		return 0;
	stored->copied = 1;
	status = copy_aside(store, fd, path, temporary, sizeof(temporary), stored, err);
	return status ? status : name_it(store, temporary, stored->name, err);
}

static int add_by_sum(struct bundle_store *store, int fd, const char *path, struct stored_file *stored,
                      struct sb_error *err)
{
	char temporary[64];
	uint64_t size;
	int there, status = copy_aside(store, fd, path, temporary, sizeof(temporary), stored, err);

	if (status < 0)
		return status;
	snprintf(stored->name, sizeof(stored->name), "sha256/%.2s/%s", stored->sha256, stored->sha256 + 2);
	there = open_regular(store->lock, stored->name, &size);
	if (there >= 0) {
		close(there);
		if (size == stored->size) {
			unlinkat(store->lock, temporary, 0);
			return 0;
		}
	}
	stored->copied = 1;
	return name_it(store, temporary, stored->name, err);
}

int bundle_store_add(struct bundle_store *store, const char *path, known_sha256 *known, void *context,
                     struct stored_file *stored, struct sb_error *err)
{
	uint64_t size;
	uint8_t id[20];
	const int fd = open_regular(AT_FDCWD, path, &size);
	int id_size, status;

	*stored = (struct stored_file){0};
	if (fd < 0)
		return failed(path, "cannot be opened", err);
	id_size = elf_file_build_id(fd, id);
	if (id_size > 1)
		build_id_text(id, id_size, stored->build_id);
	if (stored->build_id[0])
		status = add_by_build_id(store, fd, size, path, known, context, stored, err);
	else
		status = add_by_sum(store, fd, path, stored, err);
	close(fd);
	return status;
}

static int same_bytes(struct bundle_store *store, int fd, const char *to, uint64_t size,
                      struct stored_file *stored, struct sb_error *err)
{
	char sha256[65];

	snprintf(stored->name, sizeof(stored->name), "%s", to);
	if (sha256_of_file(fd, sha256) == 0 && is_there(store, size, NULL, NULL, stored) &&
	    strcmp(sha256, stored->sha256) == 0)
		return 0;
	return sb_error_set(err, -sbe_mismatch, to, UINT64_MAX,
	                    "the bundle has another file of this name; expected the same, or none");
}

int bundle_store_copy(struct bundle_store *store, const char *path, const char *to,
                      struct stored_file *stored, struct sb_error *err)
{
	uint64_t size;
	const int fd = open_regular(AT_FDCWD, path, &size);
	char temporary[64];
	int status;

	*stored = (struct stored_file){0};
	if (fd < 0)
		return failed(path, "cannot be opened", err);
	if (faccessat(store->lock, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		status = same_bytes(store, fd, to, size, stored, err);
	} else {
		stored->copied = 1;
		status = copy_aside(store, fd, path, temporary, sizeof(temporary), stored, err);
		if (status == 0)
			status = name_it(store, temporary, to, err);
	}
	close(fd);
	return status;
}

/* ---- The end ----------------------------------------------------------------------------------- */

static int write_manifest(const struct bundle_store *store, const char *temporary, const json_t *manifest,
                          struct sb_error *err)
{
	const int fd =
	        openat(store->lock, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	int status = 0;

	if (fd < 0)
		return failed(store->directory, "the manifest cannot be written", err);
	if (json_dumpfd(manifest, fd, JSON_INDENT(1) | JSON_PRESERVE_ORDER) < 0 || write(fd, "\n", 1) != 1 ||
	    fsync(fd) < 0)
		status = failed(store->directory, "the manifest cannot be written", err);
	if (close(fd) < 0 && status == 0)
		status = failed(store->directory, "the manifest cannot be written", err);
	return status;
}

int bundle_store_commit(struct bundle_store *store, const json_t *manifest, struct sb_error *err)
{
	static const char temporary[] = NEW BUNDLE_MANIFEST;
	int status = write_manifest(store, temporary, manifest, err);

	if (status == 0 && renameat(store->lock, temporary, store->lock, BUNDLE_MANIFEST) < 0)
		status = failed(store->directory, "the manifest cannot be put in place", err);
	if (status < 0) {
		unlinkat(store->lock, temporary, 0);
		return status;
	}
	if (strcmp(store->work, store->directory) != 0) {
		if (unfinished_rename_directory(store->lock, store->work, store->directory) < 0)
			return failed(store->directory, "the bundle cannot be put in place", err);
		strcpy(store->work, store->directory); /* which is shorter */
	}
	while (store->nadded)
		free(store->added[--store->nadded]);
	return 0;
}

void bundle_store_close(struct bundle_store *store)
{
	if (store->work && store->directory && strcmp(store->work, store->directory) != 0)
		unfinished_remove_directory(store->lock, store->work);
	while (store->nadded) {
		char *name = store->added[--store->nadded];

		/* A directory that others used meanwhile stays. */
		if (unlinkat(store->lock, name, 0) < 0)
			unlinkat(store->lock, name, AT_REMOVEDIR);
		free(name);
	}
	free(store->added);
	if (store->lock >= 0)
		close(store->lock);
	free(store->work);
	free(store->directory);
	*store = (struct bundle_store){.lock = -1};
}
