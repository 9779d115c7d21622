/* sink_sqlite.c - all that a replay tells, but for single instructions, as a database to be asked in SQL:
 * sbtrace-sqlite(5) says what is in its tables.
 *
 * Rows are written as they come; a call, when it is over, under the number that it got when it began. */
#include "sink/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sink/database.h"
#include "sink/printable.h"
#include "sink/switch_time.h"
#include "sink/timeline.h"
#include "vector.h"
#include "version.h"

enum { path_most = 4096 };

enum table {
	table_info,
	table_container,
	table_process,
	table_thread,
	table_switch,
	table_file,
	table_function,
	table_call,
	table_gap,
	tables
};

/* The first column of tables with an id is what SQLite finds rows by. */
static const struct {
	const char *create, *insert;
} table[tables] = {
        [table_info] = {"CREATE TABLE info (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
                        "INSERT INTO info VALUES (?, ?)"},
        [table_container] =
                {"CREATE TABLE container (id INTEGER PRIMARY KEY, kind TEXT NOT NULL,"
                 " name TEXT NOT NULL, pod TEXT, cgroup TEXT,"
                 " outer INTEGER REFERENCES container)",
                 "INSERT INTO container VALUES (?, ?, ?, nullif(?, ''), nullif(?, ''), nullif(?, -1))"},
        [table_process] =
                {"CREATE TABLE process (pid INTEGER PRIMARY KEY, comm TEXT NOT NULL,"
                 " threads INTEGER NOT NULL, instructions INTEGER NOT NULL, blocks INTEGER NOT NULL,"
                 " container INTEGER REFERENCES container)",
                 "INSERT INTO process VALUES (?, ?, ?, ?, ?, nullif(?, -1))"},
        [table_thread] =
                {"CREATE TABLE thread (pid INTEGER NOT NULL REFERENCES process, tid INTEGER NOT NULL,"
                 " comm TEXT NOT NULL, instructions INTEGER NOT NULL, blocks INTEGER NOT NULL,"
                 " container INTEGER REFERENCES container, PRIMARY KEY (pid, tid)) WITHOUT ROWID",
                 "INSERT INTO thread VALUES (?, ?, ?, ?, ?, nullif(?, -1))"},
        [table_switch] = {"CREATE TABLE switch (time INTEGER NOT NULL, cpu INTEGER NOT NULL,"
                          " pid INTEGER NOT NULL, tid INTEGER NOT NULL,"
                          " prev_pid INTEGER NOT NULL, prev_tid INTEGER NOT NULL)",
                          "INSERT INTO switch VALUES (?, ?, ?, ?, ?, ?)"},
        [table_file] = {"CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE)",
                        "INSERT OR IGNORE INTO file (path) VALUES (?)"},
        [table_function] = {"CREATE TABLE function (id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                            " symbol TEXT, file INTEGER REFERENCES file)",
                            "INSERT INTO function VALUES (?, ?, ?, (SELECT id FROM file WHERE path = ?))"},
        [table_call] = {"CREATE TABLE call (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES call,"
                        " function INTEGER NOT NULL REFERENCES function, pid INTEGER NOT NULL,"
                        " tid INTEGER NOT NULL, cpu INTEGER NOT NULL, depth INTEGER NOT NULL,"
                        " begin INTEGER NOT NULL, end INTEGER NOT NULL, instructions INTEGER NOT NULL,"
                        " self INTEGER NOT NULL, guess INTEGER NOT NULL)",
                        "INSERT INTO call VALUES (?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        [table_gap] = {"CREATE TABLE gap (cpu INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER NOT NULL,"
                       " reason TEXT NOT NULL, begin INTEGER, end INTEGER, offset INTEGER NOT NULL,"
                       " bytes INTEGER NOT NULL, ip INTEGER, detail TEXT)",
                       "INSERT INTO gap VALUES (?, ?, ?, ?, nullif(?, -1), nullif(?, -1), ?, ?, nullif(?, 0),"
                       " nullif(?, ''))"},
};

/* Who ran on each CPU from when to when; and sums over calls. */
static const char views[] =
        "CREATE VIEW run AS SELECT cpu, pid, tid, time AS begin,"
        " lead(time) OVER (PARTITION BY cpu ORDER BY rowid) AS end FROM switch;"
        "CREATE VIEW profile AS SELECT function.name AS name, file.path AS file, count(*) AS calls,"
        " sum(call.self) AS self FROM call JOIN function ON function.id = call.function"
        " LEFT JOIN file ON file.id = function.file GROUP BY function.id;";

struct sqlite_state {
	struct database database;     /* owned */
	sqlite3_stmt *insert[tables]; /* owned */
	const struct sink_context *context;
	struct timeline *timeline; /* owned */
	uint64_t deepest;
	bool *told; /* owned; functions, by index */
	size_t ntold;
};

static int set_depth(void *context, const char *value, struct option_error *error)
{
	struct sqlite_state *state = context;

	return option_number(value, 1, UINT32_MAX, &state->deepest, error);
}

static struct database_value number(int64_t value)
{
	return database_number((uint64_t)value);
}

static int put(struct sqlite_state *state, enum table which, const struct database_value *value, size_t count)
{
	return database_insert(&state->database, state->insert[which], value, count);
}

#define PUT(state, which, ...)                                                                               \
	put(state, which, (const struct database_value[]){__VA_ARGS__},                                      \
	    sizeof((const struct database_value[]){__VA_ARGS__}) / sizeof(struct database_value))

/* ---- Calls ---------------------------------------------------------------------------------------- */

/* Before its first call. */
static int put_function(struct sqlite_state *state, const struct timeline_slice *slice)
{
	const struct sb_function *function = slice->function;
	char room[4 * path_most + 1], symbol[4 * path_most + 1];
	const char *file = function->dso ? printable(room, function->dso, path_most) : NULL;

	if (vector_reach(&state->told, &state->ntold, function->index, sizeof(*state->told)))
		return -1;
	if (state->told[function->index])
		return 0;
	state->told[function->index] = true;
	if (file && PUT(state, table_file, database_text(file)))
		return -1;
	return PUT(state, table_function, number(function->index), database_text(slice->name),
	           database_text(function->mangled ? printable(symbol, function->mangled, path_most) : NULL),
	           database_text(file));
}

static int on_end(void *context, const struct timeline_slice *slice)
{
	struct sqlite_state *state = context;

	if (put_function(state, slice))
		return -1;
	return PUT(state, table_call, database_number(slice->id), database_number(slice->parent),
	           number(slice->function->index), number(slice->pid), number(slice->tid), number(slice->cpu),
	           number(slice->depth), database_number(slice->begin), database_number(slice->end),
	           database_number(slice->ninsn), database_number(slice->self), number(slice->unsure));
}

/* ---- What is known at first ------------------------------------------------------------------------- */

static int put_containers(struct sqlite_state *state)
{
	const struct sb_container *const *container;
	char name[4 * SB_CONTAINER_ID_MAX + 1], pod[4 * SB_POD_MAX + 1], cgroup[4 * path_most + 1];
	int status = 0;
	size_t count;

	container = sb_system_containers(state->context->system, &count);
	for (size_t i = 0; i < count && !status; i++)
		status = PUT(state, table_container, number(container[i]->index),
		             database_text(sb_container_kind_name(container[i]->kind)),
		             database_text(printable(name, container[i]->id, SB_CONTAINER_ID_MAX)),
		             database_text(printable(pod, container[i]->pod, SB_POD_MAX)),
		             database_text(printable(cgroup, container[i]->cgroup, path_most)),
		             number(container[i]->outer ? (int64_t)container[i]->outer->index : -1));
	return status;
}

static int put_switches(struct sqlite_state *state, int32_t cpu)
{
	const struct sb_sched *sched;
	int status = 0;
	size_t count;

	sched = switches_replayed(state->context, cpu, &count);
	for (size_t i = 0; i < count && !status; i++)
		status = PUT(state, table_switch, database_number(sched[i].time), number(cpu),
		             number(sched[i].pid), number(sched[i].tid), number(sched[i].prev_pid),
		             number(sched[i].prev_tid));
	return status;
}

static int put_recording(struct sqlite_state *state)
{
	const char *path = sb_perfdata_path(state->context->perfdata);
	const struct sb_aux_stream *stream;
	char room[4 * path_most + 1];
	size_t count;
	int status;

	stream = sb_perfdata_streams(state->context->perfdata, &count);
	status = PUT(state, table_info, database_text("recording"),
	             database_text(printable(room, path, path_most)));
	if (!status)
		status = PUT(state, table_info, database_text("sbtrace"), database_text(sbtrace_version));
	if (!status)
		status = PUT(state, table_info, database_text("unit"),
		             database_text(timeline_has_clock(state->timeline) ? "ns" : "ticks"));
	if (!status)
		status = put_containers(state);
	for (size_t i = 0; i < count && !status; i++)
		if (stream[i].cpu >= 0)
			status = put_switches(state, stream[i].cpu);
	return status;
}

/* ---- The end --------------------------------------------------------------------------------------- */

static int64_t container_of(const struct sqlite_state *state, const struct sb_account_thread *thread)
{
	const struct sb_membership *membership =
	        sb_system_membership(state->context->system, thread->pid, thread->tid, UINT64_MAX - 1);

	return membership && membership->container ? (int64_t)membership->container->index : -1;
}

/* The @count threads of a process. */
static int put_process(struct sqlite_state *state, const struct sb_account_thread *thread, size_t count)
{
	const char *comm = sb_system_comm(state->context->system, thread->pid, thread->pid, UINT64_MAX);
	uint64_t ninsn = 0, nblocks = 0;
	char name[4 * 16 + 1];
	int status = 0;

	for (size_t i = 0; i < count; i++) {
		ninsn += thread[i].ninsn;
		nblocks += thread[i].nblocks;
	}
	if (PUT(state, table_process, number(thread->pid), database_text(printable(name, comm, 16)),
	        database_number(count), database_number(ninsn), database_number(nblocks),
	        number(container_of(state, thread))))
		return -1;
	for (size_t i = 0; i < count && !status; i++)
		status = PUT(state, table_thread, number(thread[i].pid), number(thread[i].tid),
		             database_text(printable(name, thread[i].comm, sizeof(thread[i].comm))),
		             database_number(thread[i].ninsn), database_number(thread[i].nblocks),
		             number(container_of(state, &thread[i])));
	return status;
}

static int put_account(struct sqlite_state *state, const struct sb_account *account)
{
	const struct {
		const char *name;
		uint64_t value;
	} sum[] = {
	        {"instructions", account->ninsn},
	        {"blocks", account->nblocks},
	        {"instructions_filtered", account->ninsn_filtered},
	        {"switches", account->nswitches},
	        {"bytes_total", account->bytes_total},
	        {"bytes_decoded", account->bytes_decoded},
	};
	int status = 0;

	for (size_t i = 0; i < sizeof(sum) / sizeof(sum[0]) && !status; i++)
		status = PUT(state, table_info, database_text(sum[i].name), database_number(sum[i].value));
	return status;
}

/* ---- The sink --------------------------------------------------------------------------------------- */

static void sqlite_free(void *context)
{
	struct sqlite_state *state = context;

	for (unsigned int i = 0; i < tables; i++)
		database_finalize(&state->database, state->insert[i]);
	database_close(&state->database);
	timeline_free(state->timeline);
	free(state->told);
}

static int create(struct sqlite_state *state)
{
	/* "SBtr", and the version of the schema. */
	if (database_run(&state->database, "PRAGMA application_id = 0x53427472; PRAGMA user_version = 1"))
		return -1;
	for (unsigned int i = 0; i < tables; i++)
		if (database_run(&state->database, table[i].create) ||
		    database_prepare(&state->database, &state->insert[i], table[i].insert))
			return -1;
	return database_run(&state->database, views);
}

static int sqlite_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct sqlite_state *state = context;
	const struct timeline_consumer consumer = {.context = state, .end = on_end};

	state->context = sink;
	state->timeline = timeline_new(sink, &consumer, (uint32_t)state->deepest);
	if (state->timeline && !database_open(&state->database, output) && !create(state) &&
	    !put_recording(state))
		return 0;
	sqlite_free(state);
	return -1;
}

static int sqlite_flow(void *context, const struct sb_flow *flow)
{
	struct sqlite_state *state = context;

	return timeline_flow(state->timeline, flow);
}

static int64_t time_of(const struct sqlite_state *state, uint64_t tsc)
{
	if (!tsc)
		return -1;
	return (int64_t)(timeline_has_clock(state->timeline) ? sb_clock_tsc_to_ns(state->context->clock, tsc)
	                                                     : tsc);
}

static int sqlite_gap(void *context, const struct sb_gap *gap)
{
	struct sqlite_state *state = context;
	char detail[4 * sizeof(gap->detail) + 1];

	if (timeline_gap(state->timeline, gap))
		return -1;
	return PUT(state, table_gap, number(gap->cpu), number(gap->pid), number(gap->tid),
	           database_text(sb_gap_reason_name(gap->reason)), number(time_of(state, gap->tsc_from)),
	           number(time_of(state, gap->tsc_to)), database_number(gap->offset),
	           database_number(gap->bytes), database_number(gap->ip),
	           database_text(printable(detail, gap->detail, sizeof(gap->detail))));
}

static int sqlite_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct sqlite_state *state = context;
	int status = timeline_finish(state->timeline);

	(void)perfdata;
	if (!status)
		status = put_account(state, account);
	for (size_t i = 0, count; i < account->nthreads && !status; i += count) {
		for (count = 1; i + count < account->nthreads; count++)
			if (account->thread[i + count].pid != account->thread[i].pid)
				break;
		status = put_process(state, &account->thread[i], count);
	}
	for (unsigned int i = 0; i < tables; i++) {
		database_finalize(&state->database, state->insert[i]);
		state->insert[i] = NULL;
	}
	return status ? status : database_finish(&state->database);
}

static const struct sink_option options[] = {
        {"depth", "N", "leave out functions that are deeper in the stack (none)", set_depth},
};

const struct sink_type sink_sqlite = {
        .name = "sqlite",
        .about = "processes, threads, containers, switches, calls and gaps as a database: sbtrace-sqlite(5)",
        .size = sizeof(struct sqlite_state),
        .option = options,
        .noptions = sizeof(options) / sizeof(options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .file_only = true,
        .of_all = true,
        .begin = sqlite_begin,
        .flow = sqlite_flow,
        .gap = sqlite_gap,
        .end = sqlite_end,
        .free = sqlite_free,
};
