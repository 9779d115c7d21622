/* test_overlay.c - a path in the union of layers: as the kernel's overlayfs has it, which is asked where that
 * is allowed, and in layers made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "binary/overlay_open.h"
#include "support/temp_dir.h"

enum { NLAYERS = 4 };

struct fixture {
	struct temp_dir dir;
	char *layer[NLAYERS]; /* "l0", the uppermost, to "l3" */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	temp_dir_make(&fixture->dir);
	for (int i = 0; i < NLAYERS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "l%d", i);
		fixture->layer[i] = temp_dir_path(&fixture->dir, name);
		assert_int_equal(mkdir(fixture->layer[i], 0755), 0);
	}
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < NLAYERS; i++)
		free(fixture->layer[i]);
	temp_dir_remove(&fixture->dir);
	free(fixture);
	return 0;
}

static void make_dir(const struct fixture *fixture, const char *name)
{
	char *path = temp_dir_path(&fixture->dir, name);

	assert_int_equal(mkdir(path, 0755), 0);
	free(path);
}

static void write_text(const struct fixture *fixture, const char *name, const char *text)
{
	free(temp_dir_write(&fixture->dir, name, text, strlen(text)));
}

static void make_link(const struct fixture *fixture, const char *target, const char *name)
{
	char *path = temp_dir_path(&fixture->dir, name);

	assert_int_equal(symlink(target, path), 0);
	free(path);
}

/* Whether this file system lets us. */
static int set_attribute(const struct fixture *fixture, const char *name, const char *attribute,
                         const char *value)
{
	char *path = temp_dir_path(&fixture->dir, name);
	const int status = setxattr(path, attribute, value, strlen(value), 0);

	free(path);
	return status == 0;
}

static int make_whiteout(const struct fixture *fixture, const char *name)
{
	char *path = temp_dir_path(&fixture->dir, name);
	const int status = mknod(path, S_IFCHR, makedev(0, 0));

	free(path);
	return status == 0;
}

/* The first bytes of what @name is, or NULL; to be freed. */
static char *look_up(const struct fixture *fixture, const char *name, enum rooted_status expected)
{
	struct rooted_file file;
	const enum rooted_status status =
	        overlay_open(&file, (const char *const *)fixture->layer, NLAYERS, name);
	char *text = NULL;

	if (status != expected)
		fail_msg("%s: %d, expected %d", name, status, expected);
	if (status == rooted_found) {
		text = calloc(1, 64);
		assert_true(read(file.fd, text, 63) >= 0);
		rooted_close(&file);
	}
	assert_int_equal(file.fd, -1);
	return text;
}

static void assert_is(const struct fixture *fixture, const char *name, const char *expected)
{
	char *text = look_up(fixture, name, rooted_found);

	assert_string_equal(text, expected);
	free(text);
}

static void assert_is_missing(const struct fixture *fixture, const char *name)
{
	free(look_up(fixture, name, rooted_missing));
}

/* ---- By hand ----------------------------------------------------------------------------------- */

static void the_uppermost_layer_that_has_it_decides(void **state)
{
	struct fixture *fixture = *state;

	write_text(fixture, "l3/a", "bottom");
	write_text(fixture, "l1/a", "middle");
	make_dir(fixture, "l3/d");
	make_dir(fixture, "l0/d");
	write_text(fixture, "l3/d/b", "below");
	write_text(fixture, "l0/d/c", "above");
	assert_is(fixture, "/a", "middle");
	assert_is(fixture, "/d/b", "below");
	assert_is(fixture, "/d/c", "above");
	assert_is(fixture, "//d/./../d//c", "above");
	assert_is_missing(fixture, "/d/e");
	assert_is_missing(fixture, "/a/b");
	free(look_up(fixture, "/d", rooted_not_regular));
	free(look_up(fixture, "/", rooted_not_regular));
}

static void a_file_hides_the_directories_below_it(void **state)
{
	struct fixture *fixture = *state;

	make_dir(fixture, "l0/d");
	write_text(fixture, "l1/d", "a file between two directories");
	make_dir(fixture, "l2/d");
	write_text(fixture, "l2/d/x", "hidden");
	assert_is_missing(fixture, "/d/x");
	free(look_up(fixture, "/d", rooted_not_regular));
}

static void links_lead_through_the_union(void **state)
{
	struct fixture *fixture = *state;

	make_dir(fixture, "l3/usr");
	make_dir(fixture, "l3/usr/lib");
	make_link(fixture, "usr/lib", "l3/lib");
	make_dir(fixture, "l1/usr");
	make_dir(fixture, "l1/usr/lib");
	write_text(fixture, "l1/usr/lib/x.so.1", "new");
	make_link(fixture, "x.so.1", "l0/link-of-none");
	make_link(fixture, "../../../../../lib/x.so.1", "l1/usr/lib/x.so");
	make_link(fixture, "/usr/lib/../lib", "l2/abs");
	assert_is(fixture, "/lib/x.so", "new");
	assert_is(fixture, "/abs/x.so.1", "new");
	assert_is_missing(fixture, "/link-of-none");
	/* Neither links nor dots lead out. */
	write_text(fixture, "outside", "no");
	make_link(fixture, "../outside", "l0/up");
	make_link(fixture, fixture->dir.path, "l0/away");
	assert_is_missing(fixture, "/up");
	assert_is_missing(fixture, "/away/outside");
	assert_is_missing(fixture, "/../outside");
	/* Nor in circles. */
	make_link(fixture, "b", "l0/a");
	make_link(fixture, "a", "l3/b");
	assert_is_missing(fixture, "/a");
	make_link(fixture, "self/self", "l0/self");
	assert_is_missing(fixture, "/self");
}

static void what_a_whiteout_removed_is_gone(void **state)
{
	struct fixture *fixture = *state;

	write_text(fixture, "l3/a", "removed");
	make_dir(fixture, "l3/d");
	write_text(fixture, "l3/d/x", "removed with its directory");
	if (!make_whiteout(fixture, "l1/a") || !make_whiteout(fixture, "l1/d")) {
		print_message("skipped: no whiteouts here\n");
		skip();
	}
	assert_is_missing(fixture, "/a");
	assert_is_missing(fixture, "/d/x");
	/* made anew above the whiteout */
	make_dir(fixture, "l0/d");
	write_text(fixture, "l0/d/y", "new");
	assert_is(fixture, "/d/y", "new");
	assert_is_missing(fixture, "/d/x");
}

static void an_opaque_directory_hides_those_below(void **state)
{
	struct fixture *fixture = *state;
	static const char *const attributes[] = {"user.overlay.opaque", "trusted.overlay.opaque"};
	int tried = 0;

	make_dir(fixture, "l3/d");
	write_text(fixture, "l3/d/x", "hidden");
	make_dir(fixture, "l1/d");
	make_dir(fixture, "l0/d");
	assert_is(fixture, "/d/x", "hidden");
	for (int i = 0; i < 2; i++) {
		if (!set_attribute(fixture, "l1/d", attributes[i], "y"))
			continue;
		tried++;
		assert_is_missing(fixture, "/d/x");
		assert_true(set_attribute(fixture, "l1/d", attributes[i], "n"));
		assert_is(fixture, "/d/x", "hidden");
	}
	if (!tried) {
		print_message("skipped: no attributes here\n");
		skip();
	}
}

static void a_copy_of_the_metadata_has_no_bytes(void **state)
{
	struct fixture *fixture = *state;

	write_text(fixture, "l3/a", "bytes");
	write_text(fixture, "l0/a", "zeros");
	if (!set_attribute(fixture, "l0/a", "user.overlay.metacopy", ""))
		skip();
	assert_is(fixture, "/a", "bytes");
}

static void what_was_renamed_in_a_layer_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	make_dir(fixture, "l3/old");
	write_text(fixture, "l3/old/a", "moved");
	make_dir(fixture, "l0/new");
	if (!set_attribute(fixture, "l0/new", "user.overlay.redirect", "/old"))
		skip();
	free(look_up(fixture, "/new/a", rooted_failed));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void long_paths_are_errors(void **state)
{
	struct fixture *fixture = *state;
	char *name = malloc(6000);

	memset(name, 'a', 5999);
	name[5999] = '\0';
	for (size_t i = 0; i < 5999; i += 2)
		name[i] = '/';
	free(look_up(fixture, name, rooted_failed));
	memset(name + 1, 'a', 5998);
	free(look_up(fixture, name, rooted_failed));
	name[300] = '\0';
	free(look_up(fixture, name, rooted_failed));
	free(name);
}

/* ---- As the kernel has it ----------------------------------------------------------------------- */

/* A process that may mount, in a mount namespace of its own. */
static int may_mount(void)
{
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return 0;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Mounts layers @first (the uppermost) to the last at "merged". */
static int mount_layers(const struct fixture *fixture, int first, int writable)
{
	char options[1024], lower[512] = "", merged[128];

	for (int i = first + writable; i < NLAYERS; i++)
		snprintf(lower + strlen(lower), sizeof(lower) - strlen(lower), "%s%s", lower[0] ? ":" : "",
		         fixture->layer[i]);
	snprintf(merged, sizeof(merged), "%s/merged", fixture->dir.path);
	snprintf(options, sizeof(options), "lowerdir=%s", lower);
	if (writable)
		snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s/work%d", lower,
		         fixture->layer[first], fixture->dir.path, first);
	if (mount("overlay", merged, "overlay", 0, options) == 0)
		return 1;
	strcat(options, ",userxattr");
	return mount("overlay", merged, "overlay", 0, options) == 0;
}

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

/* A path of one to three of a few names, so that operations meet; those from 'c' on are rarely directories.
 */
static void random_path(uint32_t *random, const char *root, char *path, size_t size)
{
	const uint32_t depth = 1 + next_random(random) % 3;

	snprintf(path, size, "%s", root);
	for (uint32_t i = 0; i < depth; i++)
		snprintf(path + strlen(path), size - strlen(path), "/%c",
		         (int)('a' + next_random(random) % (i + 1 < depth ? 3 : 6)));
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	remove(path);
	return 0;
}

static void random_change(uint32_t *random, const char *root, int number)
{
	char path[256], other[256], text[32], *name;
	int fd;

	random_path(random, root, path, sizeof(path));
	random_path(random, root, other, sizeof(other));
	name = &path[strlen(path) - 1];
	switch (next_random(random) % 16) {
	case 0:
	case 1:
	case 2:
	case 3:
		*name = (char)('a' + *name % 3);
		mkdir(path, 0755);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		if (*name < 'c')
			*name = (char)(*name + 3);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
		snprintf(text, sizeof(text), "%d", number);
		if (fd >= 0) {
			assert_true(write(fd, text, strlen(text)) > 0);
			close(fd);
		}
		break;
	case 10:
		nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
		break;
	case 11:
	case 12:
		rename(path, other);
		break;
	case 13:
		/* to somewhere in the union; absolute ones would mean another place in the mounted one */
		assert_true(symlink(other + strlen(root) + 1, path) == 0 || errno);
		break;
	default:
		link(path, other);
	}
}

/* All paths of up to four of the names; @compare each. */
static void each_path(const struct fixture *fixture, char *path, size_t length, int depth, int *found)
{
	for (int c = 'a'; c <= 'f' && depth < 4; c++) {
		char whole[512], expected[64] = "";
		struct stat status;
		FILE *file;

		path[length] = '/';
		path[length + 1] = (char)c;
		path[length + 2] = '\0';
		snprintf(whole, sizeof(whole), "%s/merged%s", fixture->dir.path, path);
		if (stat(whole, &status) < 0) {
			assert_is_missing(fixture, path);
			continue; /* but what is below a link to nowhere is missing, too */
		}
		if (S_ISREG(status.st_mode)) {
			file = fopen(whole, "r");
			assert_non_null(file);
			assert_non_null(fgets(expected, sizeof(expected), file));
			fclose(file);
			assert_is(fixture, path, expected);
			*found += 1;
		} else {
			free(look_up(fixture, path, rooted_not_regular));
			each_path(fixture, path, length + 2, depth + 1, found);
		}
		path[length] = '\0';
	}
}

/* Layers that grow by changes to the union of those below, as images of containers do. */
static int compare_with_kernel(struct fixture *fixture, uint32_t random)
{
	char merged[128], work[128], path[64] = "";
	int found = 0;

	if (!may_mount())
		return 77;
	snprintf(merged, sizeof(merged), "%s/merged", fixture->dir.path);
	mkdir(merged, 0755);
	for (int i = 0; i < 120; i++)
		random_change(&random, fixture->layer[NLAYERS - 1], i);
	for (int layer = NLAYERS - 2; layer >= 0; layer--) {
		snprintf(work, sizeof(work), "%s/work%d", fixture->dir.path, layer);
		mkdir(work, 0755);
		if (!mount_layers(fixture, layer, 1))
			return 77;
		for (int i = 0; i < 120; i++)
			random_change(&random, merged, 1000 * (layer + 1) + i);
		umount(merged);
	}
	if (!mount_layers(fixture, 0, 0))
		return 77;
	each_path(fixture, path, 0, 0, &found);
	umount(merged);
	print_message("%d files are where the kernel has them\n", found);
	return found > 10 ? 0 : 1;
}

static void the_kernel_agrees(void **state)
{
	(void)state;
	for (uint32_t seed = 3; seed < 9; seed++) {
		void *fixture;
		pid_t child;
		int status;

		setup(&fixture);
		child = fork();
		/* What fails in the child ends as this test does, and prints why; its status then is no zero.
		 */
		if (!child) {
			status = compare_with_kernel(fixture, seed);
			fflush(NULL);
			_exit(status);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		teardown(&fixture);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 77) {
			print_message("skipped: no overlayfs here\n");
			skip();
		}
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(the_uppermost_layer_that_has_it_decides),
	        TEST(a_file_hides_the_directories_below_it),
	        TEST(links_lead_through_the_union),
	        TEST(what_a_whiteout_removed_is_gone),
	        TEST(an_opaque_directory_hides_those_below),
	        TEST(a_copy_of_the_metadata_has_no_bytes),
	        TEST(what_was_renamed_in_a_layer_is_an_error),
	        TEST(long_paths_are_errors),
	        cmocka_unit_test(the_kernel_agrees),
	};

	return cmocka_run_group_tests_name("overlay", tests, NULL, NULL);
}
