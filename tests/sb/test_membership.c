/* test_membership.c - which cgroup, namespaces and container each thread is in, from records that are made by
 * hand, and from what the installed perf records of cgroups and namespaces that the test makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "system/system.h"

#define DOCKER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

enum { HOST_PID_NS = 1, HOST_MNT_NS = 2, HOST = 100, WEB, OTHER_WEB, SLICE };

/* ---- Records ---------------------------------------------------------------------------------- */

static struct sb_record record_at(uint32_t type, uint64_t time, int32_t pid, int32_t tid)
{
	struct sb_record record = {.type = type};

	record.sample.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	record.sample.time = time;
	record.sample.pid = pid;
	record.sample.tid = tid;
	return record;
}

static void add(struct sb_system *system, struct sb_record record)
{
	assert_int_equal(system_record(system, &record), 0);
}

static void fork_thread(struct sb_system *system, uint64_t time, int32_t pid, int32_t tid, int32_t ppid,
                        int32_t ptid)
{
	struct sb_record record = record_at(PERF_RECORD_FORK, time, ppid, ptid);

	record.u.task.pid = pid;
	record.u.task.tid = tid;
	record.u.task.ppid = ppid;
	record.u.task.ptid = ptid;
	record.u.task.time = time;
	add(system, record);
}

static void fork_process(struct sb_system *system, uint64_t time, int32_t pid, int32_t ppid)
{
	fork_thread(system, time, pid, pid, ppid, ppid);
}

static void namespaces(struct sb_system *system, uint64_t time, int32_t pid, int32_t tid, uint64_t pid_ns,
                       uint64_t mnt_ns)
{
	struct sb_record record = record_at(PERF_RECORD_NAMESPACES, time, pid, tid);
	uint64_t entries[NR_NAMESPACES][2];

	for (int i = 0; i < NR_NAMESPACES; ++i) {
		entries[i][0] = 4;
		entries[i][1] = 50 + (uint64_t)i;
	}
	entries[PID_NS_INDEX][1] = pid_ns;
	entries[MNT_NS_INDEX][1] = mnt_ns;
	record.u.namespaces.pid = pid;
	record.u.namespaces.tid = tid;
	record.u.namespaces.nr = NR_NAMESPACES;
	record.u.namespaces.entries = (const uint8_t *)entries;
	add(system, record);
}

static void cgroup(struct sb_system *system, uint64_t id, const char *path)
{
	struct sb_record record = record_at(PERF_RECORD_CGROUP, 0, 0, 0);

	record.u.cgroup.id = id;
	record.u.cgroup.path = path;
	add(system, record);
}

static void sample(struct sb_system *system, uint64_t time, int32_t pid, int32_t tid, uint64_t id)
{
	struct sb_record record = record_at(PERF_RECORD_SAMPLE, time, pid, tid);

	record.u.sample.has = PERF_SAMPLE_CGROUP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	record.u.sample.cgroup = id;
	add(system, record);
}

static void usual_cgroups(struct sb_system *system)
{
	cgroup(system, HOST, "/");
	cgroup(system, WEB, "/system.slice/docker-" DOCKER ".scope");
	cgroup(system, OTHER_WEB, "/system.slice/docker-" OTHER ".scope");
	cgroup(system, SLICE, "/user.slice");
	namespaces(system, 0, 1, 1, HOST_PID_NS, HOST_MNT_NS);
}

/* ---- What is expected, as text ---------------------------------------------------------------- */

/* "CGROUP KIND ID", with "?" where nothing is known and "-" where there is no container. */
static const char *membership_text(struct sb_system *system, int32_t pid, int32_t tid, uint64_t time)
{
	const struct sb_membership *member = sb_system_membership(system, pid, tid, time);
	static char text[512];

	if (!member)
		return "?";
	assert_true(member->from <= time && time < member->to);
	snprintf(text, sizeof(text), "%s", member->cgroup ? member->cgroup : "?");
	if (member->container)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s %s",
		         sb_container_kind_name(member->container->kind), member->container->id);
	else
		strcat(text, " -");
	return text;
}

static void assert_member(struct sb_system *system, int32_t pid, int32_t tid, uint64_t time,
                          const char *expected)
{
	assert_string_equal(membership_text(system, pid, tid, time), expected);
}

static const char in_docker[] = "/system.slice/docker-" DOCKER ".scope docker " DOCKER;

static int setup(void **state)
{
	*state = system_new(0);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	sb_system_free(*state);
	return 0;
}

/* ---- Cgroups ---------------------------------------------------------------------------------- */

static void a_recording_without_such_records_tells_nothing(void **state)
{
	struct sb_system *system = *state;
	size_t count;

	fork_process(system, 10, 6, 5);
	system_seal(system, 0);
	assert_null(sb_system_membership(system, 6, 6, 20));
	sb_system_containers(system, &count);
	assert_int_equal(count, 0);
}

static void a_sample_counts_until_another_one_says_something_else(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	sample(system, 10, 5, 5, HOST);
	sample(system, 20, 5, 5, HOST);
	sample(system, 30, 5, 5, WEB);
	sample(system, 40, 5, 5, WEB);
	sample(system, 50, 5, 5, HOST);
	system_seal(system, 0);
	assert_member(system, 5, 5, 5, "/ -");
	assert_member(system, 5, 5, 29, "/ -");
	assert_member(system, 5, 5, 30, in_docker);
	assert_member(system, 5, 5, 49, in_docker);
	assert_member(system, 5, 5, 50, "/ -");
	assert_int_equal(sb_system_membership(system, 5, 5, 35)->from, 30);
	assert_int_equal(sb_system_membership(system, 5, 5, 35)->to, 50);
	assert_int_equal(sb_system_membership(system, 5, 5, 60)->to, UINT64_MAX);
}

static void a_child_is_where_its_parent_was(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	sample(system, 10, 5, 5, WEB);
	fork_process(system, 20, 6, 5);
	sample(system, 30, 5, 5, HOST);
	fork_process(system, 40, 7, 5);
	fork_process(system, 50, 8, 6);
	system_seal(system, 0);
	assert_member(system, 6, 6, 100, in_docker);
	assert_member(system, 7, 7, 100, "/ -");
	assert_member(system, 8, 8, 100, in_docker);
}

/* A parent that is sampled after it forked was there before. */
static void a_mystery_is_solved_for_all_who_share_it(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	fork_process(system, 20, 6, 5);
	fork_process(system, 21, 7, 6);
	sample(system, 25, 6, 6, WEB); /* has moved: no proof of where 5 is */
	sample(system, 30, 5, 5, SLICE);
	system_seal(system, 0);
	assert_member(system, 5, 5, 1, "/user.slice -");
	assert_member(system, 6, 6, 24, "/user.slice -");
	assert_member(system, 6, 6, 25, in_docker);
	assert_member(system, 7, 7, 50, "/user.slice -");
}

static void children_solve_the_mystery_of_a_parent_that_is_never_sampled(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	fork_process(system, 20, 6, 5);
	fork_process(system, 21, 7, 6);
	sample(system, 25, 7, 7, WEB);
	system_seal(system, 0);
	assert_member(system, 5, 5, 1, in_docker);
	assert_member(system, 6, 6, 30, in_docker);
}

/* At the start perf tells who is whose child; they may have gone anywhere since. */
static void what_perf_tells_of_parents_at_the_start_proves_nothing(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	fork_process(system, 0, 5, 1);
	fork_thread(system, 0, 5, 55, 5, 5);
	fork_process(system, 0, 6, 1);
	sample(system, 10, 1, 1, HOST);
	sample(system, 10, 5, 5, WEB);
	system_seal(system, 0);
	assert_member(system, 1, 1, 20, "/ -");
	assert_member(system, 5, 5, 20, in_docker);
	assert_member(system, 5, 55, 20, in_docker); /* threads stay together */
	assert_member(system, 6, 6, 20, "? -");
}

static void threads_of_nobody_knows_where_are_with_their_leader(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	sample(system, 10, 5, 5, WEB);
	system_seal(system, 0);
	assert_member(system, 5, 77, 20, in_docker);
	assert_member(system, 6, 77, 20, "?");
}

static void a_number_that_is_used_again_is_somebody_else(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	sample(system, 10, 5, 5, WEB);
	sample(system, 12, 4, 4, HOST);
	fork_process(system, 20, 5, 4);
	fork_process(system, 30, 5, 999); /* and once more, by somebody unknown */
	sample(system, 40, 5, 5, SLICE);
	system_seal(system, 0);
	assert_member(system, 5, 5, 19, in_docker);
	assert_member(system, 5, 5, 29, "/ -");
	assert_member(system, 5, 5, 30, "/user.slice -");
}

static void a_cgroup_without_a_path_is_not_known(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	sample(system, 10, 5, 5, 4711);
	sample(system, 20, 5, 5, WEB);
	system_seal(system, 0);
	assert_member(system, 5, 5, 15, "? -");
	assert_member(system, 5, 5, 25, in_docker);
}

static void samples_are_put_in_order(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	sample(system, 30, 5, 5, WEB);
	fork_process(system, 10, 5, 4);
	sample(system, 5, 4, 4, HOST);
	sample(system, 20, 5, 5, SLICE);
	system_seal(system, 0);
	assert_member(system, 5, 5, 15, "/ -");
	assert_member(system, 5, 5, 25, "/user.slice -");
	assert_member(system, 5, 5, 35, in_docker);
}

static void nobody_is_in_the_cgroup_of_the_idle_task(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	sample(system, 30, 0, 0, HOST);
	sample(system, 30, -1, -1, WEB);
	system_seal(system, 0);
	assert_null(sb_system_membership(system, 0, 0, 30));
	assert_null(sb_system_membership(system, -1, -1, 30));
}

static void containers_can_be_in_containers(void **state)
{
	struct sb_system *system = *state;
	const struct sb_container *const *all, *inner;
	size_t count;

	cgroup(system, 7,
	       "/docker/" DOCKER "/kubepods/burstable/pod2fc932ce-fdcc-454b-97bd-aadfdeb4c340/" OTHER);
	cgroup(system, 8, "/docker/" DOCKER "/init.scope");
	cgroup(system, 9, "/docker/" OTHER); /* nobody is in it */
	sample(system, 10, 5, 5, 7);
	sample(system, 10, 6, 6, 8);
	system_seal(system, 0);
	all = sb_system_containers(system, &count);
	assert_int_equal(count, 2);
	inner = sb_system_membership(system, 5, 5, 10)->container;
	assert_int_equal(inner->kind, sb_container_pod);
	assert_string_equal(inner->pod, "2fc932ce-fdcc-454b-97bd-aadfdeb4c340");
	assert_int_equal(inner->pod_class, sb_pod_burstable);
	assert_ptr_equal(inner->outer, sb_system_membership(system, 6, 6, 10)->container);
	assert_string_equal(inner->outer->cgroup, "/docker/" DOCKER);
	assert_null(inner->outer->outer);
	assert_ptr_equal(all[inner->index], inner);
	assert_ptr_equal(all[inner->outer->index], inner->outer);
	assert_true(sb_container_matches(inner, DOCKER));
	assert_true(sb_container_matches(inner, OTHER));
	assert_false(sb_container_matches(inner->outer, OTHER));
}

/* ---- Namespaces ------------------------------------------------------------------------------- */

static void a_process_in_namespaces_of_its_own_is_a_container(void **state)
{
	struct sb_system *system = *state;

	namespaces(system, 0, 1, 1, HOST_PID_NS, HOST_MNT_NS);
	namespaces(system, 0, 5, 5, HOST_PID_NS, HOST_MNT_NS);
	namespaces(system, 10, 5, 5, HOST_PID_NS, 77); /* unshare: the PID namespace is its children's */
	fork_process(system, 20, 6, 5);
	namespaces(system, 20, 6, 6, 99, 77);
	fork_process(system, 30, 7, 6);
	namespaces(system, 40, 7, 7, 99, 88); /* a mount namespace in the container */
	namespaces(system, 50, 8, 8, 99, HOST_MNT_NS);
	system_seal(system, 0);
	assert_member(system, 5, 5, 9, "? -");
	assert_member(system, 5, 5, 15, "? -");
	assert_member(system, 6, 6, 20, "? namespace 99");
	assert_member(system, 7, 7, 30, "? namespace 99");
	assert_member(system, 7, 7, 40, "? namespace 99");
	assert_member(system, 8, 8, 50, "? -");
	assert_int_equal(sb_system_membership(system, 7, 7, 40)->namespaces->of[MNT_NS_INDEX].ino, 88);
	assert_ptr_equal(sb_system_membership(system, 6, 6, 20)->container,
	                 sb_system_membership(system, 7, 7, 40)->container);
}

static void setns_and_back(void **state)
{
	struct sb_system *system = *state;

	namespaces(system, 0, 1, 1, HOST_PID_NS, HOST_MNT_NS);
	namespaces(system, 0, 5, 5, HOST_PID_NS, HOST_MNT_NS);
	namespaces(system, 10, 5, 5, 99, 77);
	namespaces(system, 20, 5, 5, HOST_PID_NS, HOST_MNT_NS);
	system_seal(system, 0);
	assert_member(system, 5, 5, 9, "? -");
	assert_member(system, 5, 5, 10, "? namespace 99");
	assert_member(system, 5, 5, 19, "? namespace 99");
	assert_member(system, 5, 5, 20, "? -");
}

static void without_process_1_the_first_pid_namespace_is_the_machines(void **state)
{
	struct sb_system *system = *state;

	namespaces(system, 0, 5, 5, 99, 77);
	namespaces(system, 0, 6, 6, 0xeffffffc, 2);
	namespaces(system, 0, 7, 7, 0xeffffffc, 2);
	system_seal(system, 0);
	assert_member(system, 5, 5, 9, "? namespace 99");
	assert_member(system, 6, 6, 9, "? -");
}

static void namespaces_that_could_not_be_read_are_not_known(void **state)
{
	struct sb_system *system = *state;

	namespaces(system, 0, 1, 1, HOST_PID_NS, HOST_MNT_NS);
	namespaces(system, 0, 5, 5, 0, 0);
	namespaces(system, 10, 5, 5, 99, 77);
	system_seal(system, 0);
	assert_member(system, 5, 5, 5, "? namespace 99");
}

/* What docker run does: runc moves itself into the container's cgroup, then makes the namespaces; nobody is
 * sampled before a while later. */
static void whoever_enters_the_mount_namespace_of_a_container_is_in_it(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	namespaces(system, 0, 5, 5, HOST_PID_NS, HOST_MNT_NS);
	sample(system, 10, 5, 5, HOST);
	fork_process(system, 20, 6, 5);
	namespaces(system, 30, 6, 6, HOST_PID_NS, 77);
	fork_process(system, 40, 7, 6);
	namespaces(system, 40, 7, 7, 99, 77);
	sample(system, 50, 7, 7, WEB);
	/* docker exec: enters from outside */
	fork_process(system, 60, 8, 5);
	namespaces(system, 70, 8, 8, 99, 77);
	system_seal(system, 0);
	assert_member(system, 6, 6, 29, "/ -");
	assert_member(system, 6, 6, 30, "/ docker " DOCKER);
	assert_member(system, 7, 7, 40, "/ docker " DOCKER);
	assert_member(system, 7, 7, 50, in_docker);
	assert_member(system, 8, 8, 69, "/ -");
	assert_member(system, 8, 8, 70, "/ docker " DOCKER);
}

/* A runtime in a mount namespace of its own, of which children were sampled in containers. */
static void mount_namespaces_of_several_containers_prove_nothing(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	namespaces(system, 0, 5, 5, HOST_PID_NS, 77);
	fork_process(system, 10, 6, 5);
	sample(system, 20, 6, 6, WEB);
	fork_process(system, 30, 7, 5);
	sample(system, 40, 7, 7, OTHER_WEB);
	fork_process(system, 50, 8, 5);
	system_seal(system, 0);
	assert_member(system, 6, 6, 25, in_docker);
	assert_member(system, 8, 8, 50, in_docker); /* the mystery of 5, as its first child solved it */
	(void)state;
}

static void a_mount_namespace_that_is_used_outside_proves_nothing(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	namespaces(system, 0, 5, 5, HOST_PID_NS, 77);
	sample(system, 5, 5, 5, SLICE);
	fork_process(system, 10, 6, 5);
	sample(system, 20, 6, 6, WEB);
	fork_process(system, 30, 7, 5);
	system_seal(system, 0);
	assert_member(system, 5, 5, 30, "/user.slice -");
	assert_member(system, 6, 6, 20, in_docker);
	assert_member(system, 7, 7, 30, "/user.slice -");
}

static void a_cgroup_tells_more_than_namespaces(void **state)
{
	struct sb_system *system = *state;

	usual_cgroups(system);
	namespaces(system, 10, 5, 5, 99, 77);
	sample(system, 10, 5, 5, WEB);
	namespaces(system, 20, 5, 5, 100, 78); /* a sandbox in the container */
	system_seal(system, 0);
	assert_member(system, 5, 5, 30, in_docker);
}

/* ---- Patterns --------------------------------------------------------------------------------- */

static void patterns(void **state)
{
	const struct sb_container docker = {
	        .kind = sb_container_docker, .id = DOCKER, .pod = "2fc932ce-fdcc-454b-97bd-aadfdeb4c340"};
	const struct sb_container lxc = {.kind = sb_container_lxc, .id = "web", .pod = ""};

	(void)state;
	assert_true(sb_container_matches(&docker, DOCKER));
	assert_true(sb_container_matches(&docker, "0123456789ab"));
	assert_true(sb_container_matches(&docker, "0"));
	assert_false(sb_container_matches(&docker, "1"));
	assert_false(sb_container_matches(&docker, ""));
	assert_false(sb_container_matches(&docker, DOCKER "0"));
	assert_true(sb_container_matches(&docker, "0123*cdef"));
	assert_true(sb_container_matches(&docker, "2fc932ce-fdcc-454b-97bd-aadfdeb4c340"));
	assert_true(sb_container_matches(&docker, "2fc932ce-*"));
	assert_false(sb_container_matches(&docker, "2fc932ce"));
	assert_true(sb_container_matches(&lxc, "web"));
	assert_false(sb_container_matches(&lxc, "we")); /* names are not abbreviated */
	assert_true(sb_container_matches(&lxc, "we?"));
	assert_true(sb_container_matches(&lxc, "[vw]*"));
	assert_false(sb_container_matches(&lxc, ""));
}

/* ---- Order ------------------------------------------------------------------------------------ */

static uint32_t draw(uint32_t *random, uint32_t below)
{
	*random = *random * 1664525u + 1013904223u;
	return (*random >> 8) % below;
}

/* Something happens to one of some threads, which fork, enter namespaces, and are sampled. */
static struct sb_record make_event(uint32_t *random, uint64_t time, uint64_t entries[NR_NAMESPACES][2])
{
	const int32_t pid = 1 + (int32_t)draw(random, 40), other = 1 + (int32_t)draw(random, 40);
	struct sb_record record = record_at(PERF_RECORD_SAMPLE, time, pid, pid);

	switch (draw(random, 3)) {
	case 0:
		record.type = PERF_RECORD_FORK;
		record.u.task.pid = record.u.task.tid = other;
		record.u.task.ppid = record.u.task.ptid = pid;
		break;
	case 1:
		record.type = PERF_RECORD_NAMESPACES;
		record.u.namespaces.pid = record.u.namespaces.tid = pid;
		record.u.namespaces.nr = NR_NAMESPACES;
		record.u.namespaces.entries = (const uint8_t *)entries;
		for (int i = 0; i < NR_NAMESPACES; ++i) {
			entries[i][0] = 4;
			entries[i][1] = draw(random, 4);
		}
		break;
	default:
		record.u.sample.has = PERF_SAMPLE_CGROUP;
		record.u.sample.cgroup = HOST + draw(random, 5);
		break;
	}
	return record;
}

/* All memberships of each thread follow each other without a gap. */
static void assert_complete(struct sb_system *system)
{
	size_t count, ncontainers;
	const struct sb_membership *all = sb_system_memberships(system, &count);
	const struct sb_container *const *container = sb_system_containers(system, &ncontainers);

	for (size_t i = 0; i < count; ++i) {
		assert_true(all[i].from < all[i].to);
		assert_true(all[i].to == UINT64_MAX || (i + 1 < count && all[i + 1].from == all[i].to));
		assert_true(all[i].from == 0 || (i && all[i - 1].to == all[i].from));
		if (all[i].container) {
			assert_true(all[i].container->index < ncontainers);
			assert_ptr_equal(container[all[i].container->index], all[i].container);
		}
	}
}

/* What comes in rounds, and is concluded from round by round, is what it would be all at once. */
static void rounds_change_nothing(void **state)
{
	const struct sb_record finished = {.type = SB_RECORD_FINISHED_ROUND};
	uint64_t entries[NR_NAMESPACES][2];
	uint32_t random = 1;

	(void)state;
	for (int run = 0; run < 200; ++run) {
		struct sb_system *thrifty = system_new(1), *gathering = system_new(0);

		assert_non_null(thrifty);
		assert_non_null(gathering);
		usual_cgroups(thrifty);
		usual_cgroups(gathering);
		for (uint64_t time = 1; time < 300; ++time) {
			/* Two at a time come in the wrong order. */
			const struct sb_record record = make_event(&random, time ^ 1, entries);

			assert_int_equal(system_record(gathering, &record), 0);
			assert_int_equal(system_record(thrifty, &record), 0);
			if (time % 20 == 19)
				assert_int_equal(system_record(thrifty, &finished), 0);
		}
		assert_int_equal(system_seal(thrifty, 0), 0);
		assert_int_equal(system_seal(gathering, 0), 0);
		assert_complete(thrifty);
		for (uint64_t time = 0; time < 320; time += 7)
			for (int32_t pid = 1; pid <= 40; ++pid) {
				char expected[512];

				strcpy(expected, membership_text(gathering, pid, pid, time));
				assert_member(thrifty, pid, pid, time, expected);
			}
		sb_system_free(thrifty);
		sb_system_free(gathering);
	}
}

/* ---- Many ------------------------------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* @count processes, each in its own container, which move about, and are all asked for. */
static double time_of_many(int32_t count)
{
	const double begin = seconds();
	struct sb_system *system = system_new(0);
	size_t ncontainers;

	assert_non_null(system);
	namespaces(system, 0, 1, 1, HOST_PID_NS, HOST_MNT_NS);
	cgroup(system, 1, "/");
	for (int32_t i = 0; i < count; ++i) {
		char path[128];

		snprintf(path, sizeof(path), "/docker/%064x", (unsigned int)i);
		cgroup(system, 1000 + (uint64_t)i, path);
		fork_process(system, 10 + (uint64_t)i, 100 + i, 99 + i);
		namespaces(system, 10 + (uint64_t)i, 100 + i, 100 + i, 5000 + 2 * (uint64_t)i,
		           5001 + 2 * (uint64_t)i);
	}
	for (uint64_t round = 0; round < 10; ++round)
		for (int32_t i = 0; i < count; ++i)
			sample(system, 1000000 * (round + 1) + (uint64_t)i, 100 + i, 100 + i,
			       round % 2 ? 1 : 1000 + (uint64_t)i);
	assert_int_equal(system_seal(system, 0), 0);
	for (int32_t i = 0; i < count; ++i) {
		const struct sb_membership *at_2 =
		        sb_system_membership(system, 100 + i, 100 + i, 1000000 + (uint64_t)i);

		assert_non_null(at_2->container);
		assert_int_equal(strtoul(at_2->container->id, NULL, 16), i);
		assert_string_equal(
		        sb_system_membership(system, 100 + i, 100 + i, 2000000 + (uint64_t)i)->cgroup, "/");
	}
	sb_system_containers(system, &ncontainers);
	assert_int_equal(ncontainers, 2 * (size_t)count);
	sb_system_free(system);
	return seconds() - begin;
}

/* A machine that others use, too, has its moments: what is quadratic takes 100 times as long in each of them.
 */
static void many_are_not_quadratic(void **state)
{
	double few = 1e9, many = 1e9;
	int rounds = 10;

	(void)state;
	do {
		const double few_now = time_of_many(2000), many_now = time_of_many(20000);

		few = few_now < few ? few_now : few;
		many = many_now < many ? many_now : many;
	} while (many >= 40 * few + 0.05 && --rounds);
	print_message("2,000 containers: %.1f ms, 20,000: %.1f ms\n", 1e3 * few, 1e3 * many);
	assert_true(many < 40 * few + 0.05);
}

int main(void)
{
#define model_test(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
	        model_test(a_recording_without_such_records_tells_nothing),
	        model_test(a_sample_counts_until_another_one_says_something_else),
	        model_test(a_child_is_where_its_parent_was),
	        model_test(a_mystery_is_solved_for_all_who_share_it),
	        model_test(children_solve_the_mystery_of_a_parent_that_is_never_sampled),
	        model_test(what_perf_tells_of_parents_at_the_start_proves_nothing),
	        model_test(threads_of_nobody_knows_where_are_with_their_leader),
	        model_test(a_number_that_is_used_again_is_somebody_else),
	        model_test(a_cgroup_without_a_path_is_not_known),
	        model_test(samples_are_put_in_order),
	        model_test(nobody_is_in_the_cgroup_of_the_idle_task),
	        model_test(containers_can_be_in_containers),
	        model_test(a_process_in_namespaces_of_its_own_is_a_container),
	        model_test(setns_and_back),
	        model_test(without_process_1_the_first_pid_namespace_is_the_machines),
	        model_test(namespaces_that_could_not_be_read_are_not_known),
	        model_test(whoever_enters_the_mount_namespace_of_a_container_is_in_it),
	        model_test(mount_namespaces_of_several_containers_prove_nothing),
	        model_test(a_mount_namespace_that_is_used_outside_proves_nothing),
	        model_test(a_cgroup_tells_more_than_namespaces),
	        cmocka_unit_test(patterns),
	        cmocka_unit_test(rounds_change_nothing),
	        cmocka_unit_test(many_are_not_quadratic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
