/* test_resolve_places.c - files by build-id, inode, parts of their paths, in containers, compressed, and from
 * debuginfod; and their separate debug files. */
#include "resolve_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "binary/resolver.h"

/* ---- The file, and what is known of it ---------------------------------------------------------- */

static void with_build_id(struct fixture *fixture)
{
	if (!fixture->self.build_id_size)
		skip();
	fixture->map.build_id_size = fixture->self.build_id_size;
	memcpy(fixture->map.build_id, fixture->self.build_id, sizeof(fixture->map.build_id));
}

static void with_inode_of(struct fixture *fixture, const char *name)
{
	char *path = temp_dir_path(&fixture->dir, name);
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	fixture->map.maj = major(status.st_dev);
	fixture->map.min = minor(status.st_dev);
	fixture->map.ino = status.st_ino;
	free(path);
}

/* "BEFORE/xx/yyyy...END"; the directories are made, up to the last slash. */
static void build_id_path(const struct fixture *fixture, const char *before, const char *end, char path[128])
{
	char id[41], *slash, *whole;

	for (int i = 0; i < fixture->self.build_id_size; i++)
		sprintf(id + 2 * i, "%02x", fixture->self.build_id[i]);
	snprintf(path, 128, "%s/%.2s/%s%s", before, id, id + 2, end);
	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		whole = temp_dir_path(&fixture->dir, path);
		mkdir(whole, 0777);
		free(whole);
		*slash = '/';
	}
}

/* ---- Resolvers ---------------------------------------------------------------------------------- */

struct opening {
	struct sb_resolver_options options;
	struct sb_root root[4];
	const char *layer[4]; /* names in the directory */
	char *path[4];
	const char *build_id_dir;
};

/* The roots r1 and r2, unless there are others, and what the options say. */
static void reopen(struct fixture *fixture, struct opening *opening)
{
	struct sb_error err = {0};
	char *ids = NULL;

	if (!opening->layer[0]) {
		opening->layer[0] = "r1";
		opening->layer[1] = "r2";
	}
	sb_resolver_free(fixture->resolver);
	fixture->resolver = NULL;
	for (size_t i = 0; i < 4 && opening->layer[i]; i++) {
		opening->path[i] = temp_dir_path(&fixture->dir, opening->layer[i]);
		opening->root[i].layer = (const char *const *)&opening->path[i];
		opening->root[i].nlayers = 1;
		opening->options.nroots = i + 1;
	}
	opening->options.size = sizeof(opening->options);
	opening->options.root = opening->root;
	opening->options.no_host_root = 1;
	if (opening->build_id_dir) {
		ids = temp_dir_path(&fixture->dir, opening->build_id_dir);
		opening->options.build_id_dir = (const char *const *)&ids;
		opening->options.nbuild_id_dirs = 1;
	}
	if (sb_resolver_open(&fixture->resolver, &opening->options, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	for (size_t i = 0; i < opening->options.nroots; i++)
		free(opening->path[i]);
	free(ids);
}

static const struct sb_binary *find_in(struct fixture *fixture, uint32_t scope)
{
	const struct sb_binary *binary;
	struct sb_error err;

	assert_int_equal(sb_resolver_find_in(fixture->resolver, scope, &fixture->map, &binary, &err), 0);
	return binary;
}

static void assert_is_file(const struct fixture *fixture, const struct sb_binary *binary, const char *name,
                           enum sb_binary_how how)
{
	char *path = temp_dir_path(&fixture->dir, name);

	if (binary->missing)
		fail_msg("missing: %s", binary->detail);
	assert_string_equal(binary->path, path);
	assert_string_equal(sb_binary_how_name(binary->how), sb_binary_how_name(how));
	free(path);
}

static int count_doubt(void *context, const char *text)
{
	assert_true(text[0] != '\0');
	*(int *)context += 1;
	return 0;
}

static int doubts(struct fixture *fixture)
{
	int count = 0;

	assert_int_equal(sb_resolver_doubts(fixture->resolver, count_doubt, &count), 0);
	return count;
}

/* ---- By build-id -------------------------------------------------------------------------------- */

static void build_id_directories_have_files_by_their_content(void **state)
{
	static const char *const ends[] = {"/elf", "/vdso", "", ".debug"};
	struct fixture *fixture = *state;
	char ids[16], before[32], path[128];

	with_build_id(fixture);
	for (int i = 0; i < 8; i++) {
		struct opening opening = {.build_id_dir = i == 7 ? before : ids};

		snprintf(ids, sizeof(ids), "ids%d", i);
		snprintf(before, sizeof(before), "%s%s", ids, i < 4 ? "" : "/.build-id");
		build_id_path(fixture, before, ends[i % 4], path);
		write_file(fixture, path, fixture->self.file_size);
		reopen(fixture, &opening);
		assert_is_file(fixture, find(fixture), path, sb_how_build_id);
		fixture->map.filename = "not even a path";
		assert_is_file(fixture, find(fixture), path, sb_how_build_id);
		fixture->map.filename = "/prog";
	}
	/* Who has no build-id is not helped. */
	fixture->map.build_id_size = 0;
	assert_missing(fixture, sb_gap_no_binary);
}

static void links_in_a_build_id_directory_stay_within(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.build_id_dir = "d"};
	char path[128];

	/* as perf makes them: of the directory that holds the file */
	with_build_id(fixture);
	build_id_path(fixture, "d/.build-id", "", path);
	build_id_path(fixture, "d/usr/bin/prog", "/elf", path);
	write_file(fixture, path, fixture->self.file_size);
	build_id_path(fixture, "../../usr/bin/prog", "", path);
	{
		char link[128];

		build_id_path(fixture, "d/.build-id", "", link);
		make_link(fixture, path, link);
	}
	reopen(fixture, &opening);
	build_id_path(fixture, "d/usr/bin/prog", "/elf", path);
	assert_is_file(fixture, find(fixture), path, sb_how_build_id);
}

static void a_build_id_directory_is_not_trusted(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.build_id_dir = "ids"};
	char path[128], *fifo, *huge;

	with_build_id(fixture);
	build_id_path(fixture, "ids", "/elf", path);
	/* another file */
	free(temp_dir_write(&fixture->dir, path, "\177ELF garbage", 12));
	/* a fifo */
	build_id_path(fixture, "ids", "/vdso", path);
	fifo = temp_dir_path(&fixture->dir, path);
	assert_int_equal(mkfifo(fifo, 0666), 0);
	/* a file that is as long as a file can be, and begins like ELF */
	build_id_path(fixture, "ids", ".debug", path);
	huge = temp_dir_path(&fixture->dir, path);
	write_file(fixture, path, sizeof(ElfW(Ehdr)));
	if (truncate(huge, 1ll << 43) < 0)
		print_message("no file of 8 TiB here\n");
	reopen(fixture, &opening);
	assert_missing(fixture, sb_gap_no_binary);
	free(fifo);
	free(huge);
}

static void a_build_id_goes_before_a_path(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.build_id_dir = "ids"};
	char path[128];

	with_build_id(fixture);
	build_id_path(fixture, "ids", "/elf", path);
	write_file(fixture, path, fixture->self.file_size);
	write_file(fixture, "r1/prog", fixture->self.file_size);
	reopen(fixture, &opening);
	assert_is_file(fixture, find(fixture), path, sb_how_build_id);
	fixture->map.build_id[3] ^= 1;
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void a_deleted_file_is_found_by_its_build_id(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "r1/prog", fixture->self.file_size);
	fixture->map.filename = "/prog (deleted)";
	assert_missing(fixture, sb_gap_no_binary);
	with_build_id(fixture);
	assert_is_file(fixture, find(fixture), "r1/prog", sb_how_path);
	fixture->map.build_id[0] ^= 1;
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void build_id_directories_must_be_there(void **state)
{
	static const char *nowhere[] = {"/nowhere/at/all"};
	struct sb_resolver_options options = {
	        .size = sizeof(options), .build_id_dir = nowhere, .nbuild_id_dirs = 1};
	struct sb_resolver *resolver = NULL;
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(sb_resolver_open(&resolver, &options, &err), -sbe_not_found);
	assert_string_equal(err.file, nowhere[0]);
	nowhere[0] = "/dev/null";
	assert_int_equal(sb_resolver_open(&resolver, &options, &err), -sbe_not_found);
	assert_null(resolver);
}

/* ---- By inode ----------------------------------------------------------------------------------- */

static void the_recorded_inode_goes_before_the_order_of_roots(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {NULL}};

	write_file(fixture, "r1/prog", fixture->self.file_size);
	write_file(fixture, "r2/prog", fixture->self.file_size);
	reopen(fixture, &opening);
	assert_is_file(fixture, find(fixture), "r1/prog", sb_how_path);
	with_inode_of(fixture, "r2/prog");
	assert_is_file(fixture, find(fixture), "r2/prog", sb_how_inode);
	fixture->map.ino += 1000000;
	assert_is_file(fixture, find(fixture), "r1/prog", sb_how_path);
}

/* What stands in a file now is what ran, if it was not written to since. */
static void a_file_that_was_written_to_since_is_another_one(void **state)
{
	static const struct timespec written[2] = {{1000, 5}, {1000, 5}};
	const uint64_t when = 1000 * (uint64_t)1000000000 + 5;
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {NULL}};
	char *path = temp_dir_path(&fixture->dir, "r1/prog");

	write_file(fixture, "r1/prog", fixture->self.file_size);
	assert_int_equal(utimensat(AT_FDCWD, path, written, 0), 0);
	with_inode_of(fixture, "r1/prog");
	reopen(fixture, &opening);
	resolver_recorded_until(fixture->resolver, when);
	assert_is_file(fixture, find(fixture), "r1/prog", sb_how_inode);
	reopen(fixture, &opening);
	resolver_recorded_until(fixture->resolver, when - 1);
	assert_missing(fixture, sb_gap_binary_mismatch);
	assert_non_null(strstr(find(fixture)->detail, "was written to since it was recorded"));
	/* A copy has times of its own, and a build-id tells for sure. */
	fixture->map.ino += 1000000;
	assert_is_file(fixture, find(fixture), "r1/prog", sb_how_path);
	fixture->map.ino -= 1000000;
	with_build_id(fixture);
	assert_is_file(fixture, find(fixture), "r1/prog", sb_how_path);
	free(path);
}

/* On the machine that was recorded, another inode is another file. */
static void a_file_in_the_place_of_the_recorded_one_is_another_one(void **state)
{
	struct fixture *fixture = *state;
	struct sb_error err = {0};
	char *path = temp_dir_path(&fixture->dir, "r1/prog");

	write_file(fixture, "r1/prog", fixture->self.file_size);
	with_inode_of(fixture, "r1/prog");
	if (!fixture->map.maj)
		skip();
	sb_resolver_free(fixture->resolver);
	assert_int_equal(sb_resolver_new(&fixture->resolver, NULL, 0, 0, &err), 0);
	fixture->map.filename = path;
	assert_int_equal(find(fixture)->missing, sb_gap_none);
	fixture->map.ino += 1000000;
	assert_missing(fixture, sb_gap_binary_mismatch);
	assert_non_null(strstr(find(fixture)->detail, "is another file now"));
	fixture->map.min += 1000;
	assert_int_equal(find(fixture)->missing, sb_gap_none);
	free(path);
}

/* ---- By parts of the path ----------------------------------------------------------------------- */

static void the_end_of_a_path_is_told_as_a_doubt(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {NULL}};

	make_dir(fixture, "r1/bin");
	make_dir(fixture, "r2/usr");
	make_dir(fixture, "r2/usr/bin");
	write_file(fixture, "r1/bin/prog", fixture->self.file_size);
	write_file(fixture, "r2/usr/bin/prog", fixture->self.file_size);
	fixture->map.filename = "/mnt/image/usr/bin/prog";
	reopen(fixture, &opening);
	assert_int_equal(doubts(fixture), 0);
	/* the longer end first */
	assert_is_file(fixture, find_in(fixture, 0), "r2/usr/bin/prog", sb_how_part_of_path);
	assert_non_null(strstr(find_in(fixture, 0)->detail, "/mnt/image/usr/bin/prog"));
	assert_int_equal(doubts(fixture), 1);
	fixture->map.filename = "/opt/prog";
	assert_missing(fixture, sb_gap_no_binary);
	assert_int_equal(doubts(fixture), 1);
}

static void the_end_of_a_path_and_a_build_id_are_no_doubt(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {NULL}};

	with_build_id(fixture);
	write_file(fixture, "r1/prog", fixture->self.file_size);
	fixture->map.filename = "/build/out/prog";
	reopen(fixture, &opening);
	assert_is_file(fixture, find(fixture), "r1/prog", sb_how_path);
	assert_int_equal(doubts(fixture), 0);
	fixture->map.build_id[19] ^= 1;
	assert_missing(fixture, sb_gap_no_binary);
}

static void the_end_of_a_path_alone_is_not_enough(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {NULL}};

	fixture->map.filename = "/build/out/prog";
	write_file(fixture, "r1/prog", fixture->self.file_size);
	/* not the whole code segment */
	fixture->map.recorded_size -= PAGE;
	reopen(fixture, &opening);
	assert_missing(fixture, sb_gap_no_binary);
	fixture->map.recorded_pgoff += PAGE;
	assert_missing(fixture, sb_gap_no_binary);
	/* nothing is known of the mapping as it was recorded */
	fixture->map.recorded_size = 0;
	assert_missing(fixture, sb_gap_no_binary);
	/* no ELF file */
	free(temp_dir_write(&fixture->dir, "r1/text", fixture->self.bytes + 1, fixture->self.file_size - 1));
	fixture->map.filename = "/build/out/text";
	fixture->map.recorded_pgoff = fixture->map.pgoff;
	fixture->map.recorded_size = fixture->self.code_size;
	assert_missing(fixture, sb_gap_no_binary);
}

/* ---- Containers --------------------------------------------------------------------------------- */

/* The scope of a container of that ID. */
static uint32_t scope_of(const struct fixture *fixture, const char *id)
{
	const struct sb_container container = {
	        .kind = sb_container_docker, .id = id, .pod = "", .cgroup = "/docker"};

	return sb_resolver_scope(fixture->resolver, &container);
}

/* r1 is everybody's, r2 is web's. */
static void open_with_container(struct fixture *fixture)
{
	struct opening opening = {.layer = {"r1", "r2"}};

	opening.root[1].container = "web";
	reopen(fixture, &opening);
}

static void a_container_has_its_own_files(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_binary *host, *own;
	uint32_t web;

	write_file(fixture, "r1/prog", fixture->self.file_size);
	write_file(fixture, "r2/prog", fixture->self.file_size - 1);
	open_with_container(fixture);
	web = scope_of(fixture, "web");
	assert_int_not_equal(web, 0);
	assert_int_equal(scope_of(fixture, "we"), 0);
	assert_int_equal(scope_of(fixture, "other"), 0);
	host = find_in(fixture, 0);
	own = find_in(fixture, web);
	assert_is_file(fixture, host, "r1/prog", sb_how_path);
	assert_is_file(fixture, own, "r2/prog", sb_how_path);
	/* and each stays what it was */
	assert_ptr_equal(find_in(fixture, 0), host);
	assert_ptr_equal(find_in(fixture, web), own);
}

static void files_of_others_are_not_a_containers(void **state)
{
	struct fixture *fixture = *state;
	uint32_t web;

	write_file(fixture, "r1/prog", fixture->self.file_size);
	open_with_container(fixture);
	web = scope_of(fixture, "web");
	assert_int_equal(find_in(fixture, web)->missing, sb_gap_no_binary);
	/* but for those that are proven to be */
	with_inode_of(fixture, "r1/prog");
	assert_is_file(fixture, find_in(fixture, web), "r1/prog", sb_how_inode);
	fixture->map.ino = 0;
	with_build_id(fixture);
	assert_is_file(fixture, find_in(fixture, web), "r1/prog", sb_how_path);
}

static void a_containers_files_are_nobody_elses(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "r2/prog", fixture->self.file_size);
	open_with_container(fixture);
	assert_missing(fixture, sb_gap_no_binary);
	with_build_id(fixture);
	assert_missing(fixture, sb_gap_no_binary);
}

static void the_first_root_that_means_a_container_is_its(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {"r1", "r2"}};
	struct sb_container outer = {.kind = sb_container_lxc, .id = "outer", .pod = "", .cgroup = "/lxc"};
	const struct sb_container inner = {
	        .kind = sb_container_lxc, .id = "inner", .pod = "", .cgroup = "/lxc/inner", .outer = &outer};

	opening.root[0].container = "0123456789ab";
	opening.root[1].container = "outer";
	reopen(fixture, &opening);
	assert_int_equal(
	        scope_of(fixture, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"), 1);
	assert_int_equal(scope_of(fixture, "0123456789a"), 0);
	assert_int_equal(sb_resolver_scope(fixture->resolver, &outer), 2);
	assert_int_equal(sb_resolver_scope(fixture->resolver, &inner), 2);
	assert_int_equal(sb_resolver_scope(fixture->resolver, NULL), 0);
}

static void scopes_that_are_none_are_refused(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_binary *binary;
	struct sb_error err;

	open_with_container(fixture);
	/* 1 is the root of everybody */
	assert_int_equal(sb_resolver_find_in(fixture->resolver, 1, &fixture->map, &binary, &err),
	                 -sbe_invalid);
	assert_int_equal(sb_resolver_find_in(fixture->resolver, 3, &fixture->map, &binary, &err),
	                 -sbe_invalid);
}

/* ---- Compressed --------------------------------------------------------------------------------- */

static void run(const struct fixture *fixture, const char *command)
{
	char *line = NULL;

	assert_true(asprintf(&line, "cd %s && { %s; } 2>/dev/null", fixture->dir.path, command) > 0);
	if (system(line) != 0) {
		print_message("skipped: failed: %s\n", command);
		free(line);
		skip();
	}
	free(line);
}

static void a_compressed_file_is_what_is_in_it_when_the_build_id_says_so(void **state)
{
	static const char *const tools[] = {"gzip", "zstd", "xz"};
	struct fixture *fixture = *state;

	with_build_id(fixture);
	for (size_t i = 0; i < 3; i++) {
		struct opening opening = {.layer = {NULL}};
		const struct sb_binary *binary;
		char command[128];
		uint8_t *bytes;
		FILE *file;

		write_file(fixture, "plain", fixture->self.file_size);
		snprintf(command, sizeof(command), "%s -c <plain >r1/prog", tools[i]);
		run(fixture, command);
		fixture->map.build_id_size = 0;
		reopen(fixture, &opening);
		assert_missing(fixture, sb_gap_binary_mismatch);
		fixture->map.build_id_size = fixture->self.build_id_size;
		binary = find(fixture);
		assert_int_equal(binary->missing, sb_gap_none);
		file = fopen(binary->path, "rb");
		assert_non_null(file);
		bytes = malloc(fixture->self.file_size);
		assert_int_equal(fread(bytes, 1, fixture->self.file_size, file), fixture->self.file_size);
		assert_memory_equal(bytes, fixture->self.bytes, fixture->self.file_size);
		assert_int_equal(fgetc(file), EOF);
		fclose(file);
		free(bytes);
		assert_int_equal(binary->offset, fixture->map.pgoff);
	}
}

/* ---- Debug files -------------------------------------------------------------------------------- */

static const char *find_debug(struct fixture *fixture)
{
	const char *path = "not set";
	struct sb_error err;

	assert_int_equal(sb_resolver_find_debug(fixture->resolver, find(fixture), &path, &err), 0);
	return path;
}

static void assert_debug(struct fixture *fixture, const char *name)
{
	const char *path = find_debug(fixture);
	char *expected = temp_dir_path(&fixture->dir, name);

	assert_non_null(path);
	assert_string_equal(path, expected);
	free(expected);
}

static void a_debug_file_is_no_code(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {NULL}};

	write_file(fixture, "plain", fixture->self.file_size);
	run(fixture, "objcopy --only-keep-debug plain r1/prog");
	reopen(fixture, &opening);
	assert_missing(fixture, sb_gap_binary_mismatch);
	with_build_id(fixture);
	assert_missing(fixture, sb_gap_binary_mismatch);
	fixture->map.recorded_size = 0;
	assert_missing(fixture, sb_gap_binary_mismatch);
}

static void debug_files_are_found_by_build_id(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.build_id_dir = "ids"};
	char path[128], command[256];

	if (!fixture->self.build_id_size)
		skip();
	write_file(fixture, "r1/prog", fixture->self.file_size);
	build_id_path(fixture, "ids", ".debug", path);
	reopen(fixture, &opening);
	assert_null(find_debug(fixture));
	run(fixture, "objcopy --only-keep-debug r1/prog debug");
	snprintf(command, sizeof(command), "cp debug %s", path);
	run(fixture, command);
	/* what was once not there stays away */
	assert_null(find_debug(fixture));
	reopen(fixture, &opening);
	assert_debug(fixture, path);
	/* below a root, and compressed */
	snprintf(command, sizeof(command), "rm %s", path);
	run(fixture, command);
	build_id_path(fixture, "r2/usr/lib/debug/.build-id", ".debug", path);
	snprintf(command, sizeof(command), "gzip -c debug >%s", path);
	run(fixture, command);
	reopen(fixture, &opening);
	assert_memory_equal(find_debug(fixture), "/proc/self/fd/", 14);
}

static void debug_files_are_found_by_link_and_checksum(void **state)
{
	static const char *const names[] = {"r1/usr/bin/prog.debug", "r1/usr/bin/.debug/prog.debug",
	                                    "r1/usr/lib/debug/usr/bin/prog.debug"};
	struct fixture *fixture = *state;
	struct opening opening = {.layer = {NULL}};
	char command[256];

	write_file(fixture, "plain", fixture->self.file_size);
	run(fixture, "mkdir -p r1/usr/bin/.debug r1/usr/lib/debug/usr/bin &&"
	             "objcopy --only-keep-debug plain prog.debug &&"
	             "objcopy --strip-debug --remove-section=.note.gnu.build-id "
	             "--add-gnu-debuglink=prog.debug plain r1/usr/bin/prog");
	fixture->map.filename = "/usr/bin/prog";
	reopen(fixture, &opening);
	assert_null(find_debug(fixture));
	for (size_t i = 0; i < 3; i++) {
		snprintf(command, sizeof(command), "cp prog.debug %s", names[i]);
		run(fixture, command);
		reopen(fixture, &opening);
		assert_debug(fixture, names[i]);
		snprintf(command, sizeof(command), "echo >>%s", names[i]);
		run(fixture, command);
		reopen(fixture, &opening);
		assert_null(find_debug(fixture));
	}
}

/* ---- debuginfod --------------------------------------------------------------------------------- */

static void debuginfod_is_asked_last(void **state)
{
	struct fixture *fixture = *state;
	struct opening opening = {.options = {.debuginfod = 1}};
	const struct sb_binary *binary;
	char path[128], id[41], *urls, *cache;
	struct sb_resolver *none = NULL;
	struct sb_error err = {0};
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);

	unsetenv("DEBUGINFOD_URLS");
	opening.options.size = sizeof(opening.options);
	assert_int_equal(sb_resolver_open(&none, &opening.options, &err), -sbe_not_found);
	if (!library) {
		print_message("skipped: no libdebuginfod here\n");
		skip();
	}
	with_build_id(fixture);
	for (int i = 0; i < fixture->self.build_id_size; i++)
		sprintf(id + 2 * i, "%02x", fixture->self.build_id[i]);
	snprintf(path, sizeof(path), "mkdir -p server/buildid/%s cache", id);
	run(fixture, path);
	snprintf(path, sizeof(path), "server/buildid/%s/executable", id);
	write_file(fixture, path, fixture->self.file_size);
	snprintf(path, sizeof(path), "server/buildid/%s/debuginfo", id);
	write_file(fixture, path, fixture->self.file_size);
	assert_true(asprintf(&urls, "file://%s/server", fixture->dir.path) > 0);
	cache = temp_dir_path(&fixture->dir, "cache");
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	reopen(fixture, &opening);
	binary = find(fixture);
	if (binary->missing)
		fail_msg("%s", binary->detail);
	assert_string_equal(sb_binary_how_name(binary->how), "debuginfod");
	assert_memory_equal(binary->path, cache, strlen(cache));
	assert_non_null(find_debug(fixture));
	/* nobody has this one */
	fixture->map.build_id[0] ^= 1;
	assert_missing(fixture, sb_gap_no_binary);
	free(urls);
	free(cache);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(build_id_directories_have_files_by_their_content),
	        TEST(links_in_a_build_id_directory_stay_within),
	        TEST(a_build_id_directory_is_not_trusted),
	        TEST(a_build_id_goes_before_a_path),
	        TEST(a_deleted_file_is_found_by_its_build_id),
	        TEST(build_id_directories_must_be_there),
	        TEST(the_recorded_inode_goes_before_the_order_of_roots),
	        TEST(a_file_that_was_written_to_since_is_another_one),
	        TEST(a_file_in_the_place_of_the_recorded_one_is_another_one),
	        TEST(the_end_of_a_path_is_told_as_a_doubt),
	        TEST(the_end_of_a_path_and_a_build_id_are_no_doubt),
	        TEST(the_end_of_a_path_alone_is_not_enough),
	        TEST(a_container_has_its_own_files),
	        TEST(files_of_others_are_not_a_containers),
	        TEST(a_containers_files_are_nobody_elses),
	        TEST(the_first_root_that_means_a_container_is_its),
	        TEST(scopes_that_are_none_are_refused),
	        TEST(a_compressed_file_is_what_is_in_it_when_the_build_id_says_so),
	        TEST(a_debug_file_is_no_code),
	        TEST(debug_files_are_found_by_build_id),
	        TEST(debug_files_are_found_by_link_and_checksum),
	        TEST(debuginfod_is_asked_last),
	};

	return cmocka_run_group_tests_name("resolve_places", tests, NULL, NULL);
}
