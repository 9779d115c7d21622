/* overlay_open.c - see overlay_open.h.
 *
 * The path is walked name by name. For each directory on the way it is known which layers take part in it: a
 * name is looked up in these, from the top, and what is found there says which layers take part in what has
 * that name. In such a layer, none of the names on the way is a symbolic link.
 */
#include "binary/overlay_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { DEPTH_MAX = 256, LINKS_MAX = 40, WORDS = OVERLAY_LAYERS_MAX / 64 };

struct layer_set {
	uint64_t bits[WORDS];
};

/* One walk. */
struct walk {
	const char *const *layer;
	size_t nlayers;
	char at[PATH_MAX];   /* the directory reached: "" or "/usr/lib" */
	char rest[PATH_MAX]; /* names to be walked */
	size_t depth;        /* names in `at` */
	int links;
	struct layer_set taking_part[DEPTH_MAX + 1]; /* in each directory on the way */
};

/* What a name in the present directory stands for. */
struct entry {
	mode_t type;                        /* S_IFDIR, S_IFLNK, ..., 0: nothing */
	size_t layer;                       /* the uppermost that has it */
	struct layer_set taking_part;       /* of a directory */
	char path[PATH_MAX + NAME_MAX + 2]; /* in that layer */
};

static int has_layer(const struct layer_set *set, size_t layer)
{
	return set->bits[layer / 64] >> (layer % 64) & 1;
}

static void add_layer(struct layer_set *set, size_t layer)
{
	set->bits[layer / 64] |= 1ull << (layer % 64);
}

/* ---- overlayfs' marks -------------------------------------------------------------------------- */

/* The value's first byte, '-' for an empty value, 0: there is no such attribute. */
static char attribute(const char *path, const char *name)
{
	static const char *const spaces[] = {"trusted", "user"};

	for (size_t i = 0; i < 2; i++) {
		char full[64], value[PATH_MAX];
		ssize_t size;

		snprintf(full, sizeof(full), "%s.overlay.%s", spaces[i], name);
		size = lgetxattr(path, full, value, sizeof(value));
		if (size > 0)
			return value[0];
		if (size == 0 || errno == ERANGE)
			return '-';
	}
	return 0;
}

/* A name that is removed: a device of number 0, or an empty file that says so. */
static int is_whiteout(const char *path, const struct stat *status)
{
	if (S_ISCHR(status->st_mode))
		return status->st_rdev == 0;
	return S_ISREG(status->st_mode) && status->st_size == 0 && attribute(path, "whiteout");
}

static int is_opaque(const char *path)
{
	return attribute(path, "opaque") == 'y';
}

/* ---- One name ---------------------------------------------------------------------------------- */

/* Looks at one layer; positive: those below do not count. Negative: errno says why. */
static int look_at(struct entry *entry, size_t layer, const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	if (is_whiteout(path, &status))
		return 1;
	if (entry->type == S_IFDIR && !S_ISDIR(status.st_mode))
		return 1;
	/* Its bytes are a layer below: this one only has another owner or mode. */
	if (S_ISREG(status.st_mode) && attribute(path, "metacopy") && !attribute(path, "redirect"))
		return 0;
	if (!S_ISLNK(status.st_mode) && attribute(path, "redirect")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (!entry->type) {
		entry->type = status.st_mode & S_IFMT;
		entry->layer = layer;
		if (entry->type != S_IFDIR)
			return 1;
	}
	add_layer(&entry->taking_part, layer);
	return is_opaque(path);
}

static int path_in(char *path, size_t size, const struct walk *walk, size_t layer, const char *name)
{
	const int length = snprintf(path, size, "%s%s/%s", walk->layer[layer], walk->at, name);

	if (length > 0 && (size_t)length < size)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

static int find_entry(const struct walk *walk, const char *name, struct entry *entry)
{
	const struct layer_set *taking_part = &walk->taking_part[walk->depth];
	int result = 0;

	entry->type = 0;
	memset(&entry->taking_part, 0, sizeof(entry->taking_part));
	for (size_t layer = 0; layer < walk->nlayers && result == 0; layer++) {
		if (!has_layer(taking_part, layer))
			continue;
		result = path_in(entry->path, sizeof(entry->path), walk, layer, name);
		if (result == 0)
			result = look_at(entry, layer, entry->path);
	}
	if (result >= 0 && entry->type)
		result = path_in(entry->path, sizeof(entry->path), walk, entry->layer, name);
	return result < 0 ? -1 : 0;
}

/* ---- The walk ---------------------------------------------------------------------------------- */

static void go_up(struct walk *walk)
{
	char *slash = strrchr(walk->at, '/');

	if (!slash)
		return;
	*slash = '\0';
	walk->depth--;
}

static int go_down(struct walk *walk, const char *name, const struct entry *entry)
{
	const size_t used = strlen(walk->at);

	if (walk->depth == DEPTH_MAX || used + 1 + strlen(name) >= sizeof(walk->at)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	walk->at[used] = '/';
	strcpy(walk->at + used + 1, name);
	walk->taking_part[++walk->depth] = entry->taking_part;
	return 0;
}

/* What the link says comes before what is left. */
static int follow(struct walk *walk, const struct entry *entry)
{
	char target[PATH_MAX], rest[PATH_MAX];
	const ssize_t length = readlink(entry->path, target, sizeof(target) - 1);

	if (length < 0)
		return -1;
	if (++walk->links > LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	target[length] = '\0';
	if (target[0] == '/') {
		walk->at[0] = '\0';
		walk->depth = 0;
	}
	strcpy(rest, walk->rest);
	if ((size_t)length + 1 + strlen(rest) >= sizeof(walk->rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(walk->rest, target);
	strcat(walk->rest, "/");
	strcat(walk->rest, rest);
	return 0;
}

/* Takes the next name from the front of what is left; zero: there is none. */
static int next_name(struct walk *walk, char name[NAME_MAX + 1])
{
	const char *begin = walk->rest + strspn(walk->rest, "/");
	const size_t length = strcspn(begin, "/");

	if (length > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name, begin, length);
	name[length] = '\0';
	memmove(walk->rest, begin + length, strlen(begin + length) + 1);
	return length > 0;
}

static int is_last(const struct walk *walk)
{
	return !walk->rest[strspn(walk->rest, "/")];
}

/* What is no directory ends the walk. */
static int leave_at(const struct walk *walk, const struct entry *entry)
{
	errno = ENOENT;
	return entry->type && is_last(walk) ? 0 : -1;
}

/* Along all names, to the entry that is no directory. Negative: errno says why. */
static int walk_to(struct walk *walk, struct entry *entry)
{
	char name[NAME_MAX + 1];
	int status;

	entry->type = S_IFDIR;
	while ((status = next_name(walk, name)) > 0) {
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			go_up(walk);
			continue;
		}
		if (find_entry(walk, name, entry) < 0)
			return -1;
		if (entry->type == S_IFDIR)
			status = go_down(walk, name, entry);
		else if (entry->type == S_IFLNK)
			status = follow(walk, entry);
		else
			return leave_at(walk, entry);
		if (status < 0)
			return -1;
	}
	return status;
}

static enum rooted_status open_entry(struct rooted_file *file, const struct entry *entry)
{
	enum rooted_status result;
	int named;

	if (entry->type != S_IFREG)
		return rooted_not_regular;
	named = open(entry->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (named < 0)
		return rooted_failed;
	result = rooted_open_named(file, named);
	close(named);
	return result;
}

static enum rooted_status walk_and_open(struct rooted_file *file, struct walk *walk, struct entry *entry)
{
	for (size_t layer = 0; layer < walk->nlayers; layer++)
		add_layer(&walk->taking_part[0], layer);
	if (walk_to(walk, entry) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? rooted_missing : rooted_failed;
	return open_entry(file, entry);
}

enum rooted_status overlay_open(struct rooted_file *file, const char *const *layer, size_t nlayers,
                                const char *name)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	struct entry *entry = calloc(1, sizeof(*entry));
	enum rooted_status result = rooted_failed;
	int saved;

	*file = (struct rooted_file){.fd = -1};
	if (!walk || !entry) {
		errno = ENOMEM;
	} else if (strlen(name) >= sizeof(walk->rest) || nlayers > OVERLAY_LAYERS_MAX) {
		errno = ENAMETOOLONG;
	} else {
		walk->layer = layer;
		walk->nlayers = nlayers;
		strcpy(walk->rest, name);
		result = walk_and_open(file, walk, entry);
	}
	saved = errno;
	free(walk);
	free(entry);
	errno = saved;
	return result;
}
