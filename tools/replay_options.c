/* replay_options.c - see replay_options.h. */
#include "replay_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/job_decode.h"
#include "strict.h"
#include "tell.h"

static int take_sink(void *target, const char *value, struct option_error *error)
{
	const char *equals = strchr(value, '=');
	char *name = strndup(value, equals ? (size_t)(equals - value) : strlen(value));
	int result;

	if (!name)
		return option_fail(error, "out of memory");
	result = job_add_sink(target, name, equals ? equals + 1 : NULL, error);
	free(name);
	return result;
}

static int take_with(void *target, const char *value, struct option_error *error)
{
	const char *equals = strchr(value, '=');
	char *name;
	int result;

	if (!equals || equals == value)
		return option_fail(error, "expected KEY=VALUE, found '%s'", value);
	name = strndup(value, (size_t)(equals - value));
	if (!name)
		return option_fail(error, "out of memory");
	result = job_add_setting(target, name, equals + 1, error);
	free(name);
	return result;
}

static int take_jitdump(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_texts_add(&job->jitdump, job_items_most, "the file's name", value, error);
}

static int take_cpu(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_list_add(&job->filter.cpu, value, error);
}

static int take_pid(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_list_add(&job->filter.pid, value, error);
}

static int take_container(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_add_text(&job->filter.container, value, error);
}

static int take_cgroup(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_add_text(&job->filter.cgroup, value, error);
}

static int take_comm(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_add_text(&job->filter.comm, value, error);
}

static int take_time(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;
	const char *comma = strchr(value, ',');
	char *from;
	int result;

	if (!comma)
		return option_fail(error, "expected FROM,TO, found '%s'", value);
	from = strndup(value, (size_t)(comma - value));
	if (!from)
		return option_fail(error, "out of memory");
	result = job_time_set(&job->filter.from, from, error);
	free(from);
	if (!result)
		result = job_time_set(&job->filter.to, comma + 1, error);
	if (!result && job_time_is_before(&job->filter.to, &job->filter.from))
		return option_fail(error, "the span %s ends before it begins", value);
	return result;
}

static int take_address(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_range_add(&job->filter.address, value, error);
}

static int take_function(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return job_add_text(&job->filter.function, value, error);
}

static int take_set(void *target, const char *value, struct option_error *error)
{
	return job_set_variable(&((struct replay_command *)target)->set, value, error);
}

static int take_progress(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct replay_command *)target)->options.progress = true;
	return 0;
}

static int take_resume(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct replay_command *)target)->options.resume = true;
	return 0;
}

static int take_symbols(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	(void)value;
	(void)error;
	job->symbols = true;
	return 0;
}

static int take_no_demangle(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	(void)value;
	(void)error;
	job->no_demangle = true;
	return 0;
}

static int take_strict(void *target, const char *value, struct option_error *error)
{
	struct job *job = target;

	return strict_set(&job->strict, value, error);
}

static int take_time_source(void *target, const char *value, struct option_error *error)
{
	return job_decode_set_time_source(&((struct job *)target)->decode, value, error);
}

static int take_switch_evidence(void *target, const char *value, struct option_error *error)
{
	return job_decode_set_evidence(&((struct job *)target)->decode, value, error);
}

static int take_jobs(void *target, const char *value, struct option_error *error)
{
	return job_set_jobs(target, value, error);
}

int replay_take_recording(void *target, const char *value, struct option_error *error)
{
	return job_set_recording(target, value, error);
}

const struct option_row replay_option_rows[] = {
        {"sink", 0, "NAME[=FILE]",
         "what to write: one of the sinks below (default: summary); may be repeated", take_sink},
        {"with", 0, "KEY=VALUE", "an option of the sink before it; may be repeated", take_with},
        FILE_OPTION_ROWS,
        BUNDLE_OPTION_ROW,
        KERNEL_OPTION_ROWS,
        {"jitdump", 0, "FILE", "code that a process made and wrote to FILE (jit-PID.dump); may be repeated",
         take_jitdump},
        {"cpu", 0, "LIST", "only these CPUs: 0,2-5", take_cpu},
        {"pid", 0, "LIST", "only these processes", take_pid},
        {"container", 0, "NAME",
         "only this container: name, id or its beginning, pod, or a pattern; may be repeated",
         take_container},
        {"cgroup", 0, "GLOB", "only cgroups whose path matches; may be repeated", take_cgroup},
        {"comm", 0, "GLOB", "only threads whose name matches; may be repeated", take_comm},
        {"jobs", 'j', "N", "decode on N threads (default: one for each CPU)", take_jobs},
        {"time", 0, "FROM,TO", "only this span, in time stamp counts or (483.295535467) seconds", take_time},
        {"address", 0, "FROM-TO", "only instructions at these addresses; may be repeated", take_address},
        {"function", 0, "GLOB", "only instructions of functions whose name matches; may be repeated",
         take_function},
        {"time-source", 0, "all|tsc", "the packets that tell the time (all)", take_time_source},
        {"switch-evidence", 0, "LIST",
         "what says who runs where records do not: addresses,page_tables,trials (all), or none",
         take_switch_evidence},
        {"symbols", 0, NULL, "tell function and file of each line; in the summary, the busiest functions",
         take_symbols},
        {"no-demangle", 0, NULL, "leave names of C++ and Rust functions as the compiler makes them",
         take_no_demangle},
        {"strict", 0, "[=REASON,...]", "exit status 3 if there are gaps, or gaps with one of these reasons",
         take_strict},
        {"set", 0, "KEY=VALUE", "a variable of the job; may be repeated", take_set},
        {"resume", 0, NULL, "leave out what the job's run record says is finished", take_resume},
        {"progress", 0, NULL, "tell how far it is, though standard error is no terminal", take_progress},
};

const size_t nreplay_option_rows = sizeof(replay_option_rows) / sizeof(replay_option_rows[0]);

void replay_command_free(struct replay_command *command)
{
	job_free(&command->job);
	job_variables_free(&command->set);
}

static bool is_job_file(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"));
}

int replay_command_check(const struct replay_command *command, struct option_error *error)
{
	const char *path = command->job.recording;

	if (!path && !command->job.files.bundle)
		return option_fail(error, "which recording?");
	if (path && is_job_file(path))
		return 0;
	if (command->set.count)
		return option_fail(error, "--set %s: there is no job that has variables",
		                   command->set.value[0].name);
	if (command->options.resume)
		return option_fail(error, "--resume: there is no job, which would have a run record");
	return 0;
}

int replay_command_read(struct replay_command *command, struct sb_error *err)
{
	struct job line = command->job;
	char *path = line.recording;
	int code;

	if (!path || !is_job_file(path))
		return 0;
	line.recording = NULL;
	code = job_read(&command->job, path, &command->set, err);
	if (code)
		job_free(&line);
	else
		job_override(&command->job, &line);
	free(path);
	return code;
}
