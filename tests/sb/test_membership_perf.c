/* test_membership_perf.c - the model of what the installed perf records of cgroups and namespaces that the
 * test makes: who is in them is told by the processes themselves. Needs root and a writable cgroup file
 * system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <sb/perfdata.h>
#include <sb/system.h>

#include "support/perf_tool.h"
#include "support/temp_dir.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A process in three places, each of which lasts long enough for samples: as it was started, in a container's
 * cgroup, and, as another one, in namespaces of its own there. Meanwhile, as numbers of namespaces are used
 * again, another one is in namespaces outside. They write down their numbers. */
static const char script[] =
        "group=$1/docker-" ID ".scope\n"
        "mkdir -p $group\n"
        "unshare -pmf --kill-child sh -c 'echo outer $(readlink /proc/self/ns/pid) >&3; exec sleep 60' & outer=$!\n"
        "sh -c 'echo mover $$ >&3; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done;"
        "  echo $$ > '$group'/cgroup.procs;"
        "  i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done;"
        "  unshare -pmf sh -c \"echo inner \\$(readlink /proc/self/ns/pid) >&3; ls / >/dev/null\"'\n"
        "kill -9 $outer; wait\n"
        "rmdir $group $1\n";

struct fixture {
	struct temp_dir dir;
	char *cgroup; /* below which the test may make others; NULL: there is none */
	char *perf_data, *notes;
	struct sb_perfdata *perfdata;
	struct sb_system *system;
};

static int is_cgroup2(const char *path)
{
	enum { MAGIC = 0x63677270 };
	struct statfs info;

	return !statfs(path, &info) && info.f_type == MAGIC && !access(path, W_OK);
}

static char *find_cgroups(void)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char *path;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i)
		if (is_cgroup2(places[i]) && asprintf(&path, "%s/sbtrace-test-%d", places[i], getpid()) > 0) {
			if (!mkdir(path, 0755))
				return path;
			free(path);
		}
	return NULL;
}

static int record(struct fixture *f)
{
	char *path = temp_dir_write(&f->dir, "script", script, strlen(script)), *command;
	int status;

	f->perf_data = temp_dir_path(&f->dir, "perf.data");
	f->notes = temp_dir_path(&f->dir, "notes");
	assert_true(asprintf(&command,
	                     "perf record -q -a -e cpu-clock -F 4000 --all-cgroups --namespaces -o %s -- "
	                     "sh %s %s 3>%s 2>%s.err",
	                     f->perf_data, path, f->cgroup, f->notes, f->notes) > 0);
	status = system(command);
	free(command);
	free(path);
	return status;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sb_error err;

	assert_non_null(f);
	*state = f;
	temp_dir_make(&f->dir);
	if (geteuid() || !perf_is_installed())
		return 0;
	f->cgroup = find_cgroups();
	if (!f->cgroup)
		return 0;
	if (record(f)) {
		rmdir(f->cgroup);
		free(f->cgroup);
		f->cgroup = NULL;
		return 0;
	}
	assert_int_equal(sb_perfdata_open(&f->perfdata, f->perf_data, &err), 0);
	assert_int_equal(sb_system_build(&f->system, f->perfdata, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	sb_system_free(f->system);
	sb_perfdata_close(f->perfdata);
	temp_dir_remove(&f->dir);
	free(f->cgroup);
	free(f->perf_data);
	free(f->notes);
	free(f);
	return 0;
}

/* The number behind @name in the notes. */
static uint64_t note(const struct fixture *f, const char *name)
{
	FILE *file = fopen(f->notes, "r");
	char word[32], text[64];
	uint64_t number = 0;

	assert_non_null(file);
	while (fscanf(file, "%31s %63s", word, text) == 2)
		if (!strcmp(word, name))
			number = strtoull(text + strcspn(text, "0123456789"), NULL, 10);
	fclose(file);
	assert_true(number > 0);
	return number;
}

/* How many samples of @pid there are in cgroups whose path has @part in it, by the records themselves, and
 * whether the model has the process there at that time. */
static unsigned int samples_in(const struct fixture *f, int32_t pid, const char *part)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err;
	unsigned int count = 0;

	sb_perfdata_begin(f->perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &record, &err) > 0) {
		const struct sb_membership *member;

		if (record.type != PERF_RECORD_SAMPLE || record.sample.pid != pid)
			continue;
		member = sb_system_membership(f->system, pid, record.sample.tid, record.sample.time);
		assert_non_null(member);
		assert_non_null(member->cgroup);
		count += strstr(member->cgroup, part) != NULL;
	}
	return count;
}

static const struct sb_container *find(const struct fixture *f, const char *pattern)
{
	size_t count;
	const struct sb_container *const *all = sb_system_containers(f->system, &count);

	for (size_t i = 0; i < count; ++i)
		if (sb_container_matches(all[i], pattern))
			return all[i];
	return NULL;
}

static void what_perf_records_is_understood(void **state)
{
	struct fixture *f = *state;
	const struct sb_membership *last;
	const struct sb_container *container;
	char inode[24];
	int32_t mover;

	if (!f->system) {
		print_message("needs root, perf, and a cgroup file system of version 2 to write to\n");
		skip();
	}
	mover = (int32_t)note(f, "mover");
	container = find(f, ID);
	assert_non_null(container);
	assert_int_equal(container->kind, sb_container_docker);
	assert_null(find(f, "fedcba"));

	/* In its last place; and before it moved, elsewhere. */
	last = sb_system_membership(f->system, mover, mover, UINT64_MAX);
	assert_ptr_equal(last->container, container);
	assert_non_null(last->namespaces);
	assert_true(last->from > 0);
	assert_null(sb_system_membership(f->system, mover, mover, last->from - 1)->container);
	assert_true(samples_in(f, mover, "docker-" ID) > 2);

	/* Outside of it a namespace is a container; inside it is not. */
	snprintf(inode, sizeof(inode), "%ju", (uintmax_t)note(f, "outer"));
	container = find(f, inode);
	assert_non_null(container);
	assert_int_equal(container->kind, sb_container_namespace);
	snprintf(inode, sizeof(inode), "%ju", (uintmax_t)note(f, "inner"));
	assert_null(find(f, inode));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(what_perf_records_is_understood, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
