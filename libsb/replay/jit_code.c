/* jit_code.c - see jit_code.h. */
#include "replay/jit_code.h"

#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/jitdump.h"
#include "binary/perf_map.h"
#include "binary/resolver.h"
#include "binary/text_file.h"
#include "perfdata/perfdata_internal.h"

/* A dump, of one process. */
struct dump {
	char *path; /* owned */
	struct mapped_file file;
	struct jitdump content;
	int timed;      /* its times can be related to the trace's */
	uint32_t build; /* the last system that its code was given to */
	int source;     /* there */
	int32_t pid;    /* whose it is; -1: nobody mapped it yet */
	char why[120];  /* it cannot be used; "": it can */
};

/* What a process has to do with code of its own; by pid. */
struct jit_process {
	int32_t pid;
	char *marker;        /* owned: the last dump it mapped, as recorded; NULL: none */
	char note[160];      /* why that is of no use; "": it is */
	char names_name[24]; /* its map of names */
	int has_names;       /* which was looked for: */
	char *names_text;
	struct symbol_ranges names;
};

struct jit_code {
	struct sb_resolver *resolver;
	const struct sb_clock *clock;
	uint64_t lag, lead; /* ns by which the trace's time may be behind the true one, and ahead of it */
	struct dump *named; /* owned */
	size_t nnamed;
	struct system_coder coder;
	const struct sb_system *known; /* borrowed: says who is in which container; NULL: not known */
	int needs_containers;
	uint32_t build;       /* how many systems have been begun */
	void *dumps;          /* tsearch(3), by path; what is there once stays */
	pthread_mutex_t lock; /* for all processes, when the system has been built */
	void *processes;      /* tsearch(3), by pid */
};

/* ---- Dumps ------------------------------------------------------------------------------------ */

static int dump_open(struct dump *dump, const char *path, const struct sb_clock *clock, struct sb_error *err)
{
	int status;

	*dump = (struct dump){.path = strdup(path), .pid = -1};
	if (!dump->path)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	status = sb_mapped_file_open(&dump->file, path, err);
	if (status == 0)
		status = jitdump_read(&dump->content, dump->file.bytes, dump->file.size, path, err);
	dump->timed = (dump->content.flags & JITDUMP_ARCH_TIMESTAMP) && clock->time_mult;
	return status;
}

static void dump_close(struct dump *dump)
{
	jitdump_free(&dump->content);
	sb_mapped_file_close(&dump->file);
	free(dump->path);
}

static int compare_dumps(const void *a, const void *b)
{
	return strcmp(((const struct dump *)a)->path, ((const struct dump *)b)->path);
}

static void free_dump(void *dump)
{
	dump_close(dump);
	free(dump);
}

/* The dump at @path, which is read once; NULL when there is no memory. */
static struct dump *get_dump(struct jit_code *jit, const char *path)
{
	const struct dump wanted = {.path = (char *)(uintptr_t)path};
	struct dump **found = tfind(&wanted, &jit->dumps, compare_dumps), *dump;
	struct sb_error err;
	int status;

	if (found)
		return *found;
	dump = calloc(1, sizeof(*dump));
	if (!dump)
		return NULL;
	status = dump_open(dump, path, jit->clock, &err);
	if (status < 0)
		snprintf(dump->why, sizeof(dump->why), "%.100s", err.text);
	if (status == -sbe_nomem || !tsearch(dump, &jit->dumps, compare_dumps)) {
		free_dump(dump);
		return NULL;
	}
	return dump;
}

static struct system_code system_code_of(const struct jitdump_code *code, uint64_t time, int source)
{
	return (struct system_code){.time = time,
	                            .begin = code->begin,
	                            .end = code->end,
	                            .offset = code->offset == JITDUMP_NO_BYTES ? 0 : code->offset,
	                            .origin =
	                                    code->offset == JITDUMP_NO_BYTES ? sb_map_jit_moved : sb_map_jit,
	                            .source = source};
}

/* ---- Code whose times are known ---------------------------------------------------------------- */

/* Code of another process in the same dump: a forked child that goes on writing to it. Numbers of processes
 * are the recording's only where the dump's own is. */
static int source_of(const struct dump *dump, struct sb_system *system, int32_t code_pid, int32_t *last_pid,
                     int *last)
{
	if (code_pid == dump->content.pid)
		return dump->source;
	if (code_pid != *last_pid) {
		*last = system_code_source(system, code_pid, dump->path);
		*last_pid = code_pid;
	}
	return *last;
}

/* The time of the trace when a moment of the dump cannot have come yet, or must have come. */
static uint64_t surely_before(const struct jit_code *jit, uint64_t moment)
{
	const uint64_t ns = sb_clock_tsc_to_ns(jit->clock, moment);

	return ns > jit->lag ? ns - jit->lag : 0;
}

static uint64_t surely_after(const struct jit_code *jit, uint64_t moment)
{
	const uint64_t ns = sb_clock_tsc_to_ns(jit->clock, moment);

	return ns < UINT64_MAX - jit->lead ? ns + jit->lead : UINT64_MAX;
}

/* Something else than @added, but not before @time. */
static int add_unknown(struct sb_system *system, struct system_code added, enum sb_map_origin origin,
                       uint64_t from, uint64_t time)
{
	added.origin = origin;
	added.time = from > time ? from : time;
	return system_code(system, &added);
}

/* One piece: what it replaces and what replaces it are told apart by the trace's time, as far as that is
 * exact. */
static int add_piece(const struct jit_code *jit, const struct dump *dump, struct sb_system *system,
                     const struct jitdump_code *code, uint64_t time, int source)
{
	const uint64_t from =
	        code->replaces ? surely_after(jit, code->from) : sb_clock_tsc_to_ns(jit->clock, code->from);
	const uint64_t to = code->replaced == UINT64_MAX ? UINT64_MAX : surely_before(jit, code->replaced);
	const struct system_code added = system_code_of(code, from > time ? from : time, source);
	int status = 0;

	if (code->replaces)
		status = add_unknown(system, added, sb_map_jit_unsure, surely_before(jit, code->from), time);
	if (status == 0 && from < to)
		status = system_code(system, &added);
	if (status == 0 && dump->content.truncated_at)
		status = add_unknown(system, added, sb_map_jit_cut,
		                     surely_before(jit, dump->content.known_to), added.time);
	return status;
}

/* @pid: the recording's number of the dump's process; nothing of it comes before @time. */
static int add_timed(const struct jit_code *jit, struct dump *dump, struct sb_system *system, int32_t pid,
                     uint64_t time)
{
	int32_t last_pid = dump->content.pid;
	int last = 0, status = 0;

	for (size_t i = 0; i < dump->content.ncodes && status == 0; ++i) {
		const struct jitdump_code *code = &dump->content.code[i];
		int source;

		if (code->pid < 0 || (code->pid != dump->content.pid && pid != dump->content.pid))
			continue;
		source = source_of(dump, system, code->pid, &last_pid, &last);
		if (source < 0)
			return source;
		status = add_piece(jit, dump, system, code, time, source);
	}
	return status;
}

/* ---- Code whose times are not ------------------------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
	const struct jitdump_code *left = *(const struct jitdump_code *const *)a;
	const struct jitdump_code *right = *(const struct jitdump_code *const *)b;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return left < right ? -1 : 1;
}

/* Whether both are the same code in the same place. */
static int is_same(const struct dump *dump, const struct jitdump_code *a, const struct jitdump_code *b)
{
	if (a->begin != b->begin || a->end != b->end || a->offset == JITDUMP_NO_BYTES ||
	    b->offset == JITDUMP_NO_BYTES)
		return 0;
	return a->offset == b->offset ||
	       memcmp(dump->file.bytes + a->offset, dump->file.bytes + b->offset, a->end - a->begin) == 0;
}

/* What overlaps [0] of the @count pieces, directly or not: how many, and whether they are one and the same.
 */
static size_t take_heap(const struct dump *dump, const struct jitdump_code *const *piece, size_t count,
                        uint64_t *end, int *same)
{
	size_t n = 1;

	*end = piece[0]->end;
	for (*same = 1; n < count && piece[n]->begin < *end; ++n) {
		*same &= is_same(dump, piece[0], piece[n]);
		if (piece[n]->end > *end)
			*end = piece[n]->end;
	}
	return n;
}

/* What was never overwritten is there from @time on. */
static int add_untimed(struct dump *dump, struct sb_system *system, uint64_t time)
{
	const struct jitdump_code **piece = calloc(dump->content.ncodes + 1, sizeof(*piece));
	size_t count = 0;
	int status = 0;

	if (!piece)
		return -sbe_nomem;
	for (size_t i = 0; i < dump->content.ncodes; ++i)
		if (dump->content.code[i].pid == dump->content.pid)
			piece[count++] = &dump->content.code[i];
	qsort(piece, count, sizeof(*piece), by_begin);
	for (size_t i = 0, n; i < count && status == 0; i += n) {
		struct system_code added = system_code_of(piece[i], time, dump->source);
		int same;

		n = take_heap(dump, piece + i, count - i, &added.end, &same);
		if (!same)
			added.origin = sb_map_jit_untimed;
		else if (dump->content.truncated_at)
			added.origin = sb_map_jit_cut;
		status = system_code(system, &added);
	}
	free(piece);
	return status;
}

/* Once for each system. */
static int add_dump(const struct jit_code *jit, struct dump *dump, struct sb_system *system, int32_t pid,
                    uint64_t time)
{
	dump->build = jit->build;
	dump->source = system_code_source(system, pid, dump->path);
	if (dump->source < 0)
		return dump->source;
	return dump->timed ? add_timed(jit, dump, system, pid, time) : add_untimed(dump, system, time);
}

/* ---- Processes -------------------------------------------------------------------------------- */

static int compare_processes(const void *a, const void *b)
{
	const struct jit_process *left = a, *right = b;

	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* The process @pid, known from now on; NULL when there is no memory. */
static struct jit_process *get_process(struct jit_code *jit, int32_t pid)
{
	struct jit_process *process = calloc(1, sizeof(*process)), **found;

	if (!process)
		return NULL;
	process->pid = pid;
	snprintf(process->names_name, sizeof(process->names_name), PERF_MAP_NAME, pid);
	found = tsearch(process, &jit->processes, compare_processes);
	if (found && *found == process)
		return process;
	free(process);
	return found ? *found : NULL;
}

static void free_process(void *freed)
{
	struct jit_process *process = freed;

	free(process->marker);
	symbol_ranges_fini(&process->names);
	free(process->names_text);
	free(process);
}

/* ---- Markers ---------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The dump that the caller named for this marker. */
static struct dump *find_named(const struct jit_code *jit, const char *marker)
{
	for (size_t i = 0; i < jit->nnamed; ++i)
		if (strcmp(base_name(jit->named[i].path), base_name(marker)) == 0)
			return &jit->named[i];
	return NULL;
}

static void note(struct jit_process *process, const char *why)
{
	snprintf(process->note, sizeof(process->note), "%.70s: %.80s", process->marker, why);
}

static int name_fits(const struct jitdump *dump, const char *marker)
{
	char expected[32];

	snprintf(expected, sizeof(expected), "jit-%" PRId32 ".dump", dump->pid);
	return strcmp(base_name(marker), expected) == 0;
}

/* The path of a whole file, which the recording calls as @map does; NULL when it is not to be had, with the
 * reason.
 */
static const char *find_file(const struct jit_code *jit, const struct sb_map *map, const char **why)
{
	const uint32_t scope = sb_map_scope(jit->resolver, jit->known, map);
	const struct sb_binary *binary;

	if (sb_resolver_find_in(jit->resolver, scope, map, &binary, NULL) < 0)
		*why = "out of memory";
	else if (binary->missing)
		*why = binary->detail;
	else
		return binary->path;
	return NULL;
}

/* Looks for the dump that @process has mapped as @map says. Zero, also when it is of no use, or -sbe_nomem.
 */
static int find_dump(struct jit_code *jit, struct jit_process *process, const struct sb_map *map,
                     struct dump **dump)
{
	const struct sb_map whole = {.end = UINT64_MAX,
	                             .filename = map->filename,
	                             .maj = map->maj,
	                             .min = map->min,
	                             .ino = map->ino,
	                             .pid = map->pid,
	                             .time = map->time};
	const char *path, *why = "";

	*dump = find_named(jit, process->marker);
	if (*dump)
		return 0;
	jit->needs_containers |= jit->resolver->has_scopes;
	path = find_file(jit, &whole, &why);
	if (!path) {
		snprintf(process->note, sizeof(process->note), "%.150s", why);
		return 0;
	}
	*dump = get_dump(jit, path);
	if (!*dump)
		return -sbe_nomem;
	if (!(*dump)->why[0] && name_fits(&(*dump)->content, process->marker))
		return 0;
	note(process, (*dump)->why[0] ? (*dump)->why : "another process wrote it");
	*dump = NULL;
	return 0;
}

/* @process has mapped @dump. A dump is of one process: names may be the same in many containers. */
static int use_dump(const struct jit_code *jit, struct jit_process *process, struct dump *dump,
                    struct sb_system *system, uint64_t time)
{
	const int is_new = dump->build != jit->build;

	if (!is_new && dump->pid >= 0) {
		if (dump->pid != process->pid)
			note(process, "another process mapped it");
		return 0;
	}
	dump->pid = process->pid;
	if (is_new)
		return add_dump(jit, dump, system, process->pid, time);
	system_code_source_pid(system, dump->source, process->pid);
	return 0;
}

static int on_marker(void *context, struct sb_system *system, int32_t pid, const struct sb_map *map)
{
	struct jit_code *jit = context;
	struct jit_process *process = get_process(jit, pid);
	struct dump *dump;
	int status;

	if (!process)
		return -sbe_nomem;
	free(process->marker);
	process->note[0] = '\0';
	process->marker = strdup(map->filename);
	status = process->marker ? find_dump(jit, process, map, &dump) : -sbe_nomem;
	return status == 0 && dump ? use_dump(jit, process, dump, system, map->time) : status;
}

static int on_begin(void *context, struct sb_system *system)
{
	struct jit_code *jit = context;
	int status = 0;

	jit->build += 1;
	for (size_t i = 0; i < jit->nnamed && status == 0; ++i) {
		jit->named[i].pid = -1;
		if (jit->named[i].timed)
			status = add_dump(jit, &jit->named[i], system, jit->named[i].content.pid, 0);
	}
	return status;
}

/* ---- Life ------------------------------------------------------------------------------------- */

/* How exact the trace's time is. Between two timing packets it stands still, or follows the cycles of the
 * core, whose frequency may change; outcomes of branches may come behind the next MTC packet. Without MTC,
 * time may stand still until the kernel's next tick. */
static void set_exactness(struct jit_code *jit, const struct sb_perfdata_info *info)
{
	enum { TICK = 10000000 }; /* ns */
	const int has_mtc = info->pt_mtc && info->tsc_ctc_den && info->pt_mtc_freq < 32;
	const uint64_t ratio = has_mtc ? info->tsc_ctc_num / info->tsc_ctc_den + 1 : 0;
	struct sb_clock length = info->clock;

	length.time_zero = 0;
	jit->lag = has_mtc ? sb_clock_tsc_to_ns(&length, (ratio << info->pt_mtc_freq) + 2 * ratio) : TICK;
	jit->lead = has_mtc || info->pt_cyc ? jit->lag : 0;
}

int jit_code_new(struct jit_code **result, struct sb_resolver *resolver, const struct sb_perfdata_info *info,
                 const char *const *named, size_t nnamed, struct sb_error *err)
{
	struct jit_code *jit = calloc(1, sizeof(*jit));
	int status = 0;

	if (jit && pthread_mutex_init(&jit->lock, NULL)) {
		free(jit);
		jit = NULL;
	}
	if (jit)
		jit->named = calloc(nnamed + 1, sizeof(*jit->named));
	if (!jit || !jit->named) {
		jit_code_free(jit);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	jit->resolver = resolver;
	jit->clock = &info->clock;
	set_exactness(jit, info);
	jit->coder = (struct system_coder){jit, on_begin, on_marker};
	for (size_t i = 0; i < nnamed && status == 0; ++i) {
		status = dump_open(&jit->named[i], named[i], jit->clock, err);
		jit->nnamed += 1;
	}
	if (status < 0) {
		jit_code_free(jit);
		return status;
	}
	*result = jit;
	return 0;
}

void jit_code_free(struct jit_code *jit)
{
	if (!jit)
		return;
	tdestroy(jit->processes, free_process);
	tdestroy(jit->dumps, free_dump);
	for (size_t i = 0; i < jit->nnamed; ++i)
		dump_close(&jit->named[i]);
	free(jit->named);
	pthread_mutex_destroy(&jit->lock);
	free(jit);
}

const struct system_coder *jit_code_coder(const struct jit_code *jit)
{
	return &jit->coder;
}

int jit_code_needs_containers(const struct jit_code *jit)
{
	return jit->needs_containers;
}

void jit_code_use_containers(struct jit_code *jit, const struct sb_system *known)
{
	jit->known = known;
}

/* ---- Explaining ------------------------------------------------------------------------------- */

static void read_names(const struct jit_code *jit, struct jit_process *process)
{
	const struct sb_map whole = {.end = UINT64_MAX, .filename = process->names_name};
	const char *path, *why = "";
	size_t size;

	process->has_names = 1;
	path = find_file(jit, &whole, &why);
	if (path && text_file_read(path, PERF_MAP_MOST, &process->names_text, &size, NULL) == 0)
		(void)perf_map_parse(process->names_text, NULL, &process->names);
}

/* A dump that the caller named, of @pid, whose code is nowhere. */
static const struct dump *unused_dump(const struct jit_code *jit, int32_t pid)
{
	for (size_t i = 0; i < jit->nnamed; ++i)
		if (jit->named[i].build != jit->build && jit->named[i].content.pid == pid)
			return &jit->named[i];
	return NULL;
}

static void explain(const struct jit_code *jit, struct jit_process *process, uint64_t ip, char *text,
                    size_t size)
{
	const struct dump *unused = unused_dump(jit, process->pid);
	struct symbol_bounds bounds = {0, UINT64_MAX, 0, UINT64_MAX};
	struct range_entry *found = NULL;

	if (!process->has_names)
		read_names(jit, process);
	if (symbol_ranges_find(&process->names, ip, 0, &found, &bounds) == 0 && found && found->name.raw)
		snprintf(text, size, "; its name is known from %s (%.40s), but not the code",
		         process->names_name, found->name.raw);
	else if (process->note[0])
		snprintf(text, size, "; %s", process->note);
	else if (unused)
		snprintf(text, size, "; %.60s has times of another clock, and nobody mapped it",
		         base_name(unused->path));
	else if (process->marker)
		snprintf(text, size, "; %.60s has no code there", process->marker);
}

void jit_code_explain(struct jit_code *jit, int32_t pid, uint64_t ip, char *text, size_t size)
{
	struct jit_process *process;

	pthread_mutex_lock(&jit->lock);
	process = get_process(jit, pid);
	if (process)
		explain(jit, process, ip, text, size);
	pthread_mutex_unlock(&jit->lock);
}
