/* test_replay_filter.c - replays of certain containers, cgroups and names: who is wanted is decided by where
 * a thread is at that time, and so are the sums.
 *
 * All programs are /a: 1000 nop  1001 nop  1002 syscall.
 */
#include "replay_fixture.h"

#include <linux/perf_event.h>

#define DOCKER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

enum { HOST = 100, WEB, OTHER_WEB, NCGROUPS = 3, HOST_NS = 1, OWN_NS = 77 };

static const char in_docker[] = "/system.slice/docker-" DOCKER ".scope";
static const char in_other[] = "/docker/" OTHER;
static const char *const cgroups[NCGROUPS] = {"/", in_docker, in_other};

static const uint8_t code[] = {0x90, 0x90, 0x0f, 0x05};

/* ---- What is recorded ------------------------------------------------------------------------- */

static void begins(struct fixture *fixture)
{
	has_file(fixture, "/a", code, sizeof(code));
	for (uint64_t i = 0; i < NCGROUPS; ++i)
		assert_int_equal(sb_write_cgroup(fixture->writer, NULL, HOST + i, cgroups[i], NULL), 0);
}

static void is_in(struct fixture *fixture, uint64_t time, int32_t pid, uint64_t cgroup)
{
	const struct sb_write_sample at = sample(0, pid, time);

	assert_int_equal(sb_write_cgroup_sample(fixture->writer, &at, 0x1002, cgroup, NULL), 0);
}

static void enters(struct fixture *fixture, uint64_t time, int32_t pid, uint64_t ns)
{
	const struct sb_write_sample at = sample(0, pid, time);
	struct sb_namespace namespaces[NR_NAMESPACES];

	for (int i = 0; i < NR_NAMESPACES; ++i)
		namespaces[i] = (struct sb_namespace){4, 10 * ns + (uint64_t)i};
	assert_int_equal(sb_write_namespaces(fixture->writer, time ? &at : NULL, pid, pid, namespaces,
	                                     NR_NAMESPACES, NULL),
	                 0);
}

static void is_named(struct fixture *fixture, uint64_t time, int32_t pid, const char *name)
{
	const struct sb_write_sample at = sample(0, pid, time);

	assert_int_equal(sb_write_comm(fixture->writer, &at, pid, pid, name, 0, NULL), 0);
}

/* Processes 1, 2, 1, 2, ... run once each at 1100, 1200, ... */
static void take_turns(struct fixture *fixture, int count)
{
	static struct trace trace;

	trace = (struct trace){0};
	trace_start(&trace, 100);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/a");
	for (int i = 1; i <= count; ++i) {
		const uint64_t time = 1000 + 100 * (uint64_t)i;

		switches(fixture, 0, time - 50, i > 1 ? 1 + i % 2 : 0, 2 - i % 2);
		trace_stretch(&trace, time, 0x1000);
	}
	traced(fixture, 0, trace.bytes, trace.size);
}

/* ---- What is expected ------------------------------------------------------------------------- */

/* The hundreds at which each process was heard of: "1@1100 2@1200". */
static void assert_heard(struct fixture *fixture, const char *expected)
{
	char text[512] = "";
	const char *at;

	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->gaps, "");
	for (at = fixture->flow; *at; at = strstr(at, "; ") ? strstr(at, "; ") + 2 : "") {
		int pid, time;

		assert_int_equal(sscanf(at, "0/%d/%*d@%d:", &pid, &time), 2);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d@%d", *text ? " " : "", pid,
		         time);
	}
	assert_string_equal(text, expected);
}

/* "KIND ID processes/instructions", with commas. */
static void assert_sums(const struct fixture *fixture, const char *expected)
{
	const struct sb_account *account = sb_session_account(fixture->session);
	char text[512] = "";

	for (size_t i = 0; i < account->ncontainers; ++i) {
		const struct sb_account_container *sum = &account->container[i];

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %.4s %zu/%ju",
		         *text ? ", " : "",
		         sum->container ? sb_container_kind_name(sum->container->kind) : "-",
		         sum->container ? sum->container->id : "-", sum->nprocesses, (uintmax_t)sum->ninsn);
		assert_int_equal(sum->nblocks * 3, sum->ninsn);
	}
	assert_string_equal(text, expected);
}

static void want(const char *const **list, size_t *count, const char *const *patterns)
{
	*list = patterns;
	for (*count = 0; patterns[*count];)
		*count += 1;
}

#define WANT(fixture, what, ...)                                                                             \
	want(&(fixture)->options.what, &(fixture)->options.n##what##s,                                       \
	     (const char *const[]){__VA_ARGS__, NULL})

/* ---- Tests ------------------------------------------------------------------------------------ */

/* Process 1 is in a container from 1320 to 1720; process 2 always in another one. */
static void record_moves(struct fixture *fixture)
{
	begins(fixture);
	is_in(fixture, 1001, 1, HOST);
	is_in(fixture, 1002, 2, OTHER_WEB);
	is_in(fixture, 1320, 1, WEB);
	is_in(fixture, 1720, 1, HOST);
	take_turns(fixture, 8);
}

static void a_container_is_heard_of_while_a_process_is_in_it(void **state)
{
	struct fixture *fixture = *state;

	record_moves(fixture);
	WANT(fixture, container, DOCKER);
	assert_heard(fixture, "1@1500 1@1700");
	assert_sums(fixture, "docker 0123 1/6");
	assert_int_equal(sb_session_account(fixture->session)->nthreads, 1);
	assert_int_equal(sb_session_account(fixture->session)->ninsn, 6);
	assert_int_equal(sb_session_account(fixture->session)->ninsn_filtered, 18);
}

static void without_a_filter_all_are_summed_up(void **state)
{
	struct fixture *fixture = *state;

	record_moves(fixture);
	assert_heard(fixture, "1@1100 2@1200 1@1300 2@1400 1@1500 2@1600 1@1700 2@1800");
	assert_sums(fixture, "docker 0123 1/6, docker fedc 1/12, - - 1/6");
	/* A thread that was in two places is one thread. */
	assert_int_equal(sb_session_account(fixture->session)->nthreads, 2);
	assert_int_equal(sb_session_account(fixture->session)->thread[0].ninsn, 12);
}

static void containers_can_be_abbreviated_or_matched(void **state)
{
	struct fixture *fixture = *state;

	record_moves(fixture);
	WANT(fixture, container, "fed");
	assert_heard(fixture, "2@1200 2@1400 2@1600 2@1800");
	WANT(fixture, container, "web", "0*");
	assert_heard(fixture, "1@1500 1@1700");
	WANT(fixture, container, "fed", "012");
	assert_heard(fixture, "2@1200 2@1400 1@1500 2@1600 1@1700 2@1800");
	WANT(fixture, container, "web");
	assert_heard(fixture, "");
	assert_int_equal(sb_session_account(fixture->session)->ncontainers, 0);
}

static void cgroups_are_matched_as_whole_paths(void **state)
{
	struct fixture *fixture = *state;

	record_moves(fixture);
	WANT(fixture, cgroup, "/system.slice/*");
	assert_heard(fixture, "1@1500 1@1700");
	WANT(fixture, cgroup, "/");
	assert_heard(fixture, "1@1100 1@1300");
	WANT(fixture, cgroup, "docker*");
	assert_heard(fixture, "");
	WANT(fixture, cgroup, "*docker*");
	assert_heard(fixture, "2@1200 2@1400 1@1500 2@1600 1@1700 2@1800");
}

static void all_kinds_of_filters_have_to_agree(void **state)
{
	struct fixture *fixture = *state;
	static const int32_t pid[] = {1};

	record_moves(fixture);
	WANT(fixture, cgroup, "*docker*");
	fixture->options.pid = pid;
	fixture->options.npids = 1;
	assert_heard(fixture, "1@1500 1@1700");
	fixture->options.tsc_from = 1600;
	fixture->options.tsc_to = 2000;
	assert_heard(fixture, "1@1700");
	assert_sums(fixture, "docker 0123 1/3");
	assert_int_equal(sb_session_account(fixture->session)->ninsn_filtered, 21);
	WANT(fixture, container, "fed");
	assert_heard(fixture, "");
	assert_int_equal(sb_session_account(fixture->session)->ninsn_filtered, 24);
}

static void names_are_those_of_the_time(void **state)
{
	struct fixture *fixture = *state;

	begins(fixture);
	is_named(fixture, 1001, 1, "sh");
	is_named(fixture, 1002, 2, "sort");
	is_named(fixture, 1320, 1, "sort");
	is_named(fixture, 1720, 1, "sed");
	take_turns(fixture, 9);
	WANT(fixture, comm, "sort");
	assert_heard(fixture, "2@1200 2@1400 1@1500 2@1600 1@1700 2@1800");
	WANT(fixture, comm, "s[eh]*");
	assert_heard(fixture, "1@1100 1@1300 1@1900");
	WANT(fixture, comm, "*");
	assert_heard(fixture, "1@1100 2@1200 1@1300 2@1400 1@1500 2@1600 1@1700 2@1800 1@1900");
	/* Nobody was in a container: nothing is told of them. */
	assert_int_equal(sb_session_account(fixture->session)->ncontainers, 0);
}

static void whoever_enters_a_namespace_is_split_by_time(void **state)
{
	struct fixture *fixture = *state;

	begins(fixture);
	enters(fixture, 0, 1, HOST_NS);
	enters(fixture, 0, 2, HOST_NS);
	enters(fixture, 1320, 1, OWN_NS);
	enters(fixture, 1720, 1, HOST_NS);
	take_turns(fixture, 9);
	WANT(fixture, container, "773"); /* the PID namespace */
	assert_heard(fixture, "1@1500 1@1700");
	assert_sums(fixture, "namespace 773 1/6");
	WANT(fixture, container, "77");
	assert_heard(fixture, "");
}

static void a_container_that_another_one_is_in_is_heard_of_with_it(void **state)
{
	struct fixture *fixture = *state;

	begins(fixture);
	assert_int_equal(sb_write_cgroup(fixture->writer, NULL, 7, "/lxc/outer/docker/" DOCKER, NULL), 0);
	assert_int_equal(sb_write_cgroup(fixture->writer, NULL, 8, "/lxc/outer/init.scope", NULL), 0);
	is_in(fixture, 1001, 1, 7);
	is_in(fixture, 1002, 2, 8);
	take_turns(fixture, 4);
	WANT(fixture, container, "outer");
	assert_heard(fixture, "1@1100 2@1200 1@1300 2@1400");
	assert_sums(fixture, "docker 0123 1/6, lxc oute 1/6");
	WANT(fixture, container, DOCKER);
	assert_heard(fixture, "1@1100 1@1300");
}

/* Pieces that several threads decode. */
static void the_same_with_many_jobs(void **state)
{
	struct fixture *fixture = *state;

	record_moves(fixture);
	fixture->options.jobs = 3;
	fixture->piece_size = 16;
	WANT(fixture, container, "0123");
	assert_heard(fixture, "1@1500 1@1700");
	assert_sums(fixture, "docker 0123 1/6");
	fixture->options.tsc_from = 1;
	fixture->options.tsc_to = 1600;
	assert_heard(fixture, "1@1500");
	assert_sums(fixture, "docker 0123 1/3");
	assert_int_equal(sb_session_account(fixture->session)->ninsn_filtered, 21);
}

int main(void)
{
#define replay_test(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
	        replay_test(a_container_is_heard_of_while_a_process_is_in_it),
	        replay_test(without_a_filter_all_are_summed_up),
	        replay_test(containers_can_be_abbreviated_or_matched),
	        replay_test(cgroups_are_matched_as_whole_paths),
	        replay_test(all_kinds_of_filters_have_to_agree),
	        replay_test(names_are_those_of_the_time),
	        replay_test(whoever_enters_a_namespace_is_split_by_time),
	        replay_test(a_container_that_another_one_is_in_is_heard_of_with_it),
	        replay_test(the_same_with_many_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
