/* job_keys.c - the table; see job_keys.h. */
#include "job/job_keys.h"

#include <stdlib.h>
#include <string.h>

#include "job/job_decode.h"
#include "nearest.h"

#define JOB(member)    offsetof(struct job, member)
#define FILTER(member) offsetof(struct job_filter, member)
#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))

/* ---- The tables ------------------------------------------------------------------------------- */

static const struct job_key time_keys[] = {
        {.name = "from",
         .kind = &job_kind_moment,
         .offset = 0,
         .about = "The first moment: a time stamp count, or seconds of perf's clock with a decimal point."},
        {.name = "to",
         .kind = &job_kind_moment,
         .offset = FILTER(to) - FILTER(from),
         .about = "The last moment, which is included."},
};
static const struct job_table time_table = {"a span of time", time_keys, COUNT(time_keys)};

/* Of a job, and of a sink. */
#define FILTER_KEYS(base)                                                                                    \
	{.name = "cpu",                                                                                      \
	 .kind = &job_kind_numbers,                                                                          \
	 .offset = (base) + FILTER(cpu),                                                                     \
	 .about = "Only these CPUs: numbers, or ranges such as 0-3.",                                        \
	 .what = "a list of CPU numbers"},                                                                   \
	        {.name = "pid",                                                                              \
	         .kind = &job_kind_numbers,                                                                  \
	         .offset = (base) + FILTER(pid),                                                             \
	         .about = "Only these processes: numbers, or ranges.",                                       \
	         .what = "a list of process numbers"},                                                       \
	        {.name = "container",                                                                        \
	         .kind = &job_kind_texts,                                                                    \
	         .offset = (base) + FILTER(container),                                                       \
	         .about = "Only these containers: name, ID or its beginning, pod, or a pattern.",            \
	         .what = "a list of containers",                                                             \
	         .item = "a name or a pattern"},                                                             \
	        {.name = "cgroup",                                                                           \
	         .kind = &job_kind_texts,                                                                    \
	         .offset = (base) + FILTER(cgroup),                                                          \
	         .about = "Only threads in cgroups whose path matches one of these patterns.",               \
	         .what = "a list of patterns of cgroups",                                                    \
	         .item = "a name or a pattern"},                                                             \
	        {.name = "comm",                                                                             \
	         .kind = &job_kind_texts,                                                                    \
	         .offset = (base) + FILTER(comm),                                                            \
	         .about = "Only threads whose name matches one of these patterns.",                          \
	         .what = "a list of patterns of commands",                                                   \
	         .item = "a name or a pattern"},                                                             \
	        {.name = "time",                                                                             \
	         .kind = &job_kind_mapping,                                                                  \
	         .offset = (base) + FILTER(from),                                                            \
	         .about = "Only this span of time; either end may be left out.",                             \
	         .whole = true,                                                                              \
	         .table = &time_table},                                                                      \
	        {.name = "address",                                                                          \
	         .kind = &job_kind_ranges,                                                                   \
	         .offset = (base) + FILTER(address),                                                         \
	         .about = "Only instructions at these addresses: FROM-TO, the end not included, or "         \
	                  "FROM+SIZE.",                                                                      \
	         .what = "a list of ranges of addresses",                                                    \
	         .item = "a range of addresses"},                                                            \
	{                                                                                                    \
		.name = "function", .kind = &job_kind_texts, .offset = (base) + FILTER(function),            \
		.about = "Only instructions of functions whose name matches one of these patterns.",         \
		.what = "a list of patterns of functions", .item = "a name or a pattern"                     \
	}

static const struct job_key kernel_keys[] = {
        {.name = "kcore",
         .kind = &job_kind_path,
         .offset = job_kcore * sizeof(char *),
         .about = "A copy of the traced kernel's /proc/kcore.",
         .what = "the name of a file"},
        {.name = "vmlinux",
         .kind = &job_kind_path,
         .offset = job_vmlinux * sizeof(char *),
         .about = "The kernel as it was built.",
         .what = "the name of a file"},
        {.name = "kallsyms",
         .kind = &job_kind_path,
         .offset = job_kallsyms * sizeof(char *),
         .about = "A copy of the traced kernel's /proc/kallsyms.",
         .what = "the name of a file"},
};
static const struct job_table kernel_table = {"files of a kernel", kernel_keys, COUNT(kernel_keys)};

static const struct job_key decode_keys[] = {
        {.name = "cpu_model",
         .kind = &job_kind_cpu_model,
         .offset = offsetof(struct job_decode, cpu_model),
         .about = "The processor whose errata apply, FAMILY/MODEL/STEPPING, in place of the recording's."},
        {.name = "errata",
         .kind = &job_kind_words,
         .offset = offsetof(struct job_decode, errata),
         .about = "The errata to work around, in place of those of the processor.",
         .what = "a list of errata",
         .item = "an erratum",
         .word = job_errata},
        {.name = "time_source",
         .kind = &job_kind_choice,
         .offset = offsetof(struct job_decode, time_source),
         .about = "The packets that tell the time: all, or TSC alone.",
         .word = job_time_sources},
        {.name = "switch_evidence",
         .kind = &job_kind_words,
         .offset = offsetof(struct job_decode, switch_evidence),
         .about = "What says who runs where records of switches do not.",
         .what = "a list of evidence",
         .item = "a kind of evidence",
         .word = job_switch_evidence},
};
static const struct job_table decode_table = {"decode options", decode_keys, COUNT(decode_keys)};

static const struct job_key limit_keys[] = {
        {.name = "memory",
         .kind = &job_kind_size,
         .offset = offsetof(struct job_limits, memory),
         .about = "The most memory to be taken for data, in bytes, or with K, M, G or T behind it."},
        {.name = "disk",
         .kind = &job_kind_size,
         .offset = offsetof(struct job_limits, disk),
         .about = "The most that all files together may take, likewise."},
};
static const struct job_table limit_table = {"limits", limit_keys, COUNT(limit_keys)};

static const struct job_key parts_keys[] = {
        {.name = "directory",
         .kind = &job_kind_path,
         .offset = offsetof(struct job_parts_options, directory),
         .about = "Where the results of parts are, until all of a recording is done; no other job's.",
         .what = "the name of a directory",
         .required = true},
        {.name = "size",
         .kind = &job_kind_size,
         .offset = offsetof(struct job_parts_options, size),
         .about = "How much trace is in a part, in bytes, or with K, M, G or T behind it."},
};
static const struct job_table parts_table = {"parts", parts_keys, COUNT(parts_keys)};

static const struct job_key filter_keys[] = {FILTER_KEYS(0)};
const struct job_table job_filter_table = {"a filter", filter_keys, COUNT(filter_keys)};

static const char *const on_error[] = {[job_fail] = "fail", [job_skip] = "skip", NULL};

static const struct job_key job_keys[] = {
        {.name = "version",
         .kind = &job_kind_version,
         .about = "The version of this format.",
         .required = true},
        {.name = "include",
         .kind = &job_kind_scope_names,
         .about = "Other job files, whose keys hold where this one does not have them.",
         .what = "a list of job files",
         .item = "the name of a job file"},
        {.name = "variables",
         .kind = &job_kind_scope_values,
         .about = "Variables and their values, for ${NAME}; without a value, --set has to give it.",
         .what = "variables (a mapping)"},
        {.name = "environment",
         .kind = &job_kind_scope_names,
         .about = "Variables of the environment that ${NAME} may mean.",
         .what = "a list of variables",
         .item = "the name of a variable"},
        {.name = "recording",
         .kind = &job_kind_path,
         .offset = JOB(recording),
         .about = "What to replay: a perf.data file, a directory, or a URL, which is fetched.",
         .what = "the name of one recording"},
        {.name = "recordings",
         .kind = &job_kind_paths,
         .offset = JOB(recordings),
         .about = "Several recordings, or patterns that stand for all files that they match.",
         .what = "a list of recordings",
         .item = "the name of a recording"},
        {.name = "fetch",
         .kind = &job_kind_mapping,
         .offset = JOB(fetch),
         .about = "The commands that fetch recordings which are named by URLs, by range.",
         .table = &job_fetch_table},
        {.name = "roots",
         .kind = &job_kind_roots,
         .offset = JOB(files.roots),
         .about = "Directories below which mapped files are looked up; a list means layers of an overlay.",
         .what = "a list of directories"},
        {.name = "host_root",
         .kind = &job_kind_flag,
         .offset = JOB(files.no_host_root),
         .about = "Whether files that no root has are taken from this machine.",
         .inverse = true},
        {.name = "container_roots",
         .kind = &job_kind_container_roots,
         .offset = JOB(files.container_roots),
         .about = "The directories that hold the files of containers, by their names or IDs.",
         .what = "a mapping of containers to directories"},
        {.name = "build_id_dirs",
         .kind = &job_kind_paths,
         .offset = JOB(files.build_id_dir),
         .about = "Directories that hold files by their build-id.",
         .what = "a list of directories",
         .item = "the name of a directory"},
        {.name = "debuginfod",
         .kind = &job_kind_flag,
         .offset = JOB(files.debuginfod),
         .about = "Whether the servers of $DEBUGINFOD_URLS are asked."},
        {.name = "jitdumps",
         .kind = &job_kind_paths,
         .offset = JOB(jitdump),
         .about = "Files with code that processes made themselves.",
         .what = "a list of files",
         .item = "the name of a file"},
        {.name = "bundle",
         .kind = &job_kind_path,
         .offset = JOB(files.bundle),
         .about = "What sbtrace bundle made.",
         .what = "the name of a directory"},
        {.name = "kernel",
         .kind = &job_kind_mapping,
         .offset = JOB(file),
         .about = "Files of the kernel that was traced.",
         .table = &kernel_table},
        FILTER_KEYS(JOB(filter)),
        {.name = "decode",
         .kind = &job_kind_mapping,
         .offset = JOB(decode),
         .about = "How the trace is decoded, where the recording does not know.",
         .table = &decode_table},
        {.name = "symbols",
         .kind = &job_kind_flag,
         .offset = JOB(symbols),
         .about = "Whether functions and files are told, too."},
        {.name = "demangle",
         .kind = &job_kind_flag,
         .offset = JOB(no_demangle),
         .about = "Whether names of C++ and Rust functions are shown as the source has them.",
         .inverse = true},
        {.name = "sinks",
         .kind = &job_kind_sinks,
         .offset = JOB(sink),
         .about = "What to write, in which form, and where to.",
         .what = "a list of sinks"},
        {.name = "jobs",
         .kind = &job_kind_count,
         .offset = JOB(jobs),
         .about = "How many threads decode.",
         .what = "a number of threads",
         .least = 1,
         .most = job_jobs_most},
        {.name = "limits",
         .kind = &job_kind_mapping,
         .offset = JOB(limits),
         .about = "What the replay may take of the machine.",
         .table = &limit_table},
        {.name = "parts",
         .kind = &job_kind_mapping,
         .offset = JOB(parts),
         .about = "Recordings are decoded in parts, which --resume does not do again.",
         .table = &parts_table},
        {.name = "on_error",
         .kind = &job_kind_choice,
         .offset = JOB(on_error),
         .about = "Whether a recording that cannot be replayed ends the job, or is passed over.",
         .word = on_error},
        {.name = "strict",
         .kind = &job_kind_strict,
         .offset = JOB(strict),
         .about = "Whether gaps, or those with these reasons, are a failure.",
         .what = "a list of reasons"},
        {.name = "cluster",
         .kind = &job_kind_mapping,
         .offset = JOB(cluster),
         .about = "How a batch system runs the job in shards.",
         .table = &job_cluster_table},
        {.name = "run_record",
         .kind = &job_kind_path,
         .offset = JOB(run_record),
         .about = "Where to write what was read and done: the run record.",
         .what = "the name of a file"},
};
const struct job_table job_table = {"a job", job_keys, COUNT(job_keys)};

_Static_assert(COUNT(job_keys) <= 64, "a bit of struct job.given for each");

/* ---- Reading ---------------------------------------------------------------------------------- */

static int unknown_key(struct job_source *source, const struct job_table *table, const yaml_node_t *node,
                       const char *name)
{
	struct nearest nearest;

	if (!strcmp(name, "<<"))
		return source_fail(source, node,
		                   "mappings are not merged with '<<' here: a job takes keys of other files "
		                   "with 'include'");
	nearest_begin(&nearest, name);
	for (size_t i = 0; i < table->nkeys; i++)
		nearest_offer(&nearest, table->key[i].name);
	if (nearest.best)
		return source_fail(source, node, "%s has no key '%s'; did you mean '%s'?", table->what, name,
		                   nearest.best);
	return source_fail(source, node, "%s has no key '%s'", table->what, name);
}

static int read_pair(struct job_source *source, const struct job_table *table, const yaml_node_pair_t *pair,
                     uint64_t *seen, void *target)
{
	yaml_node_t *node = source_node(source, pair->key), *value = source_node(source, pair->value);
	const char *name = source_text(source, node, "a key");

	if (!name)
		return -sbe_format;
	for (size_t i = 0; i < table->nkeys; i++) {
		const struct job_key *key = &table->key[i];
		void *field = (char *)target + key->offset;
		int code;

		if (strcmp(key->name, name))
			continue;
		if (*seen & UINT64_C(1) << i)
			return source_fail(source, node, "the key '%s' is here a second time", name);
		*seen |= UINT64_C(1) << i;
		code = key->kind->read(source, value, key, field);
		return code ? code : source_note(source, value, field);
	}
	return unknown_key(source, table, node, name);
}

static int read_keys(struct job_source *source, yaml_node_t *node, const struct job_table *table,
                     uint64_t *seen, void *target)
{
	int code = 0;

	if (node->type != YAML_MAPPING_NODE)
		return source_fail(source, node, "expected %s (a mapping), found %s", table->what,
		                   source_kind(node));
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top && !code; pair++)
		code = read_pair(source, table, pair, seen, target);
	for (size_t i = 0; i < table->nkeys && !code; i++)
		if (table->key[i].required && !(*seen & UINT64_C(1) << i))
			code = source_fail(source, node, "%s needs the key '%s'", table->what,
			                   table->key[i].name);
	return code;
}

int job_read_mapping(struct job_source *source, yaml_node_t *node, const struct job_table *table,
                     void *target)
{
	uint64_t seen = 0;

	return read_keys(source, node, table, table == &job_table ? &source->job->given : &seen, target);
}

/* ---- One job over another --------------------------------------------------------------------- */

static bool is_given(const char *field, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (field[i])
			return true;
	return false;
}

static void swap(char *a, char *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char keep = a[i];

		a[i] = b[i];
		b[i] = keep;
	}
}

struct overriding {
	struct job *job;
	const struct job *over;
	uint64_t given; /* of the table's keys */
};

/* What is replaced goes to the job that is over the other, to be freed with it. */
static void override(const struct overriding *all, const struct job_table *table, char *target, char *over)
{
	const struct overriding nested = {all->job, all->over, 0};

	for (size_t i = 0; i < table->nkeys; i++) {
		const struct job_key *key = &table->key[i];
		const size_t size = key->whole ? 2 * sizeof(struct job_time) : key->kind->size;
		char *to = target + key->offset, *from = over + key->offset;
		struct job_place place;

		if (key->table && !key->whole && !size)
			override(&nested, key->table, to, from);
		if (!(all->given & UINT64_C(1) << i) && !is_given(from, size))
			continue;
		swap(to, from, size);
		place = job_places_find(&all->over->places, from);
		job_places_add(&all->job->places, to, &place);
	}
}

void job_override(struct job *job, struct job *over)
{
	const struct overriding all = {job, over, over->given};

	/* One recording takes the place of several, and the other way round. */
	if (over->recording)
		job_texts_free(&job->recordings);
	if (over->recordings.count) {
		free(job->recording);
		job->recording = NULL;
	}
	override(&all, &job_table, (char *)job, (char *)over);
	job->given |= over->given;
	job_places_join(&job->places, &over->places);
	job_free(over);
}

/* ---- Showing ---------------------------------------------------------------------------------- */

json_t *job_table_value(const struct job_table *table, const void *target)
{
	json_t *object = json_object();

	for (size_t i = 0; i < table->nkeys; i++) {
		const struct job_key *key = &table->key[i];
		json_t *value = NULL;

		if (key->kind->value)
			value = key->kind->value(key, (const char *)target + key->offset);
		if (value)
			json_object_set_new(object, key->name, value);
	}
	return object;
}

json_t *job_table_schema(const struct job_table *table)
{
	json_t *properties = json_object(), *required = json_array(), *schema;

	for (size_t i = 0; i < table->nkeys; i++) {
		const struct job_key *key = &table->key[i];
		json_t *one = key->kind->schema(key);

		json_object_set_new(one, "description", json_string(key->about));
		json_object_set_new(properties, key->name, one);
		if (key->required)
			json_array_append_new(required, json_string(key->name));
	}
	schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
	                   "additionalProperties", 0);
	if (json_array_size(required))
		json_object_set(schema, "required", required);
	json_decref(required);
	return schema;
}

json_t *job_value(const struct job *job)
{
	return job_table_value(&job_table, job);
}

json_t *job_schema(void)
{
	json_t *schema = job_table_schema(&job_table);

	json_object_set_new(schema, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
	json_object_set_new(schema, "title", json_string("A replay job of sbtrace"));
	return schema;
}
