/* cmd_events.c - `sbtrace events`: what can be counted and traced here, and what an event's string becomes.
 */
#include "commands.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <sb/event.h>

#include "options.h"
#include "output.h"
#include "tell.h"

struct events_command {
	const char *sysfs, *encode;
	enum sb_event_target target;
	const char *pattern;
	const char *pmu; /* of the event that was listed last */
	uint64_t nlisted;
	struct output *output;
};

static const struct {
	const char *name;
	enum sb_event_target target;
} targets[] = {
        {"perf", sb_event_target_perf},
        {"perf-ext", sb_event_target_perf_ext},
        {"none", sb_event_target_none},
};

static int take_sysfs(void *target, const char *value, struct option_error *error)
{
	if (access(value, R_OK | X_OK) < 0)
		return option_fail(error, "%s: not a directory that can be read", value);
	((struct events_command *)target)->sysfs = value;
	return 0;
}

static int take_encode(void *target, const char *value, struct option_error *error)
{
	(void)error;
	((struct events_command *)target)->encode = value;
	return 0;
}

static int take_target(void *target, const char *value, struct option_error *error)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (!strcmp(value, targets[i].name)) {
			((struct events_command *)target)->target = targets[i].target;
			return 0;
		}
	return option_fail(error, "'%s': perf, perf-ext or none is expected", value);
}

static int take_pattern(void *target, const char *value, struct option_error *error)
{
	struct events_command *command = target;

	if (command->pattern)
		return option_fail(error, "one pattern is expected, not '%s' and '%s'", command->pattern,
		                   value);
	command->pattern = value;
	return 0;
}

static const struct option_row rows[] = {
        {"encode", 0, "EVENT", "tell what EVENT is for perf_event_open(2)", take_encode},
        {"target", 0, "TARGET", "perf-ext, with all modifiers (default); perf; none: raw codes", take_target},
        {"sysfs", 0, "DIR", "where sysfs is, or a copy of another machine's (default: /sys)", take_sysfs},
};

static const struct option_table options = {
        .command = "sbtrace events",
        .usage = "[OPTIONS] [PATTERN]",
        .about = "Lists the events that this machine can count or trace, those whose names or explanations\n"
                 "match the glob PATTERN; or tells how an event is encoded.\n",
        .row = rows,
        .nrows = sizeof(rows) / sizeof(rows[0]),
        .operand = take_pattern,
};

/* ---- Listing ---------------------------------------------------------------------------------- */

static bool matches(const struct events_command *command, const char *name, const char *about)
{
	if (!command->pattern)
		return true;
	return !fnmatch(command->pattern, name, FNM_CASEFOLD) ||
	       (about && !fnmatch(command->pattern, about, FNM_CASEFOLD));
}

static int list_one(void *context, const char *pmu, const char *name, const char *about)
{
	struct events_command *command = context;

	if (!matches(command, name, about))
		return 0;
	if (!command->pmu || strcmp(command->pmu, pmu)) {
		output_printf(command->output, "%s%s:\n", command->nlisted ? "\n" : "", pmu);
		free((char *)(uintptr_t)command->pmu);
		command->pmu = strdup(pmu);
	}
	command->nlisted += 1;
	return output_printf(command->output, "  %-40s %.200s\n", name, about ? about : "") ? 1 : 0;
}

static void tell_of_pt(const struct events_command *command)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/bus/event_source/devices/intel_pt",
	         command->sysfs ? command->sysfs : "/sys");
	if (access(path, F_OK) < 0)
		tell_note(options.command,
		          "no PMU intel_pt: this machine cannot record Intel PT itself; sbtrace record "
		          "--software makes recordings anywhere");
}

static int list(struct events_command *command)
{
	struct sb_error err = {0};
	int code = output_open(&command->output, NULL, &err);

	if (!code) {
		sb_event_list(command->sysfs, list_one, command);
		code = output_commit(command->output, &err);
		output_close(command->output);
	}
	free((char *)(uintptr_t)command->pmu);
	if (code) {
		tell(options.command, "", &err);
		return exit_error;
	}
	if (!command->nlisted) {
		fprintf(stderr, "sbtrace events: no event matches '%s'\n",
		        command->pattern ? command->pattern : "*");
		return exit_error;
	}
	if (!command->pattern)
		tell_of_pt(command);
	return exit_fine;
}

/* ---- Encoding --------------------------------------------------------------------------------- */

static void print_flag(const char *name, unsigned int value)
{
	if (value)
		printf("%-24s %u\n", name, value);
}

static void print_attr(const struct sb_event_perf *event, const char *whole)
{
	const struct perf_event_attr *attr = event->attr;

	printf("%-24s %s\n%-24s %" PRIu32 "\n%-24s 0x%" PRIx64 "\n", "event", whole, "type", attr->type,
	       "config", (uint64_t)attr->config);
	if (attr->config1)
		printf("%-24s 0x%" PRIx64 "\n", "config1", (uint64_t)attr->config1);
	if (attr->config2)
		printf("%-24s 0x%" PRIx64 "\n", "config2", (uint64_t)attr->config2);
#ifdef PERF_ATTR_SIZE_VER8
	if (attr->config3)
		printf("%-24s 0x%" PRIx64 "\n", "config3", (uint64_t)attr->config3);
#endif
	if (attr->sample_period)
		printf("%-24s %" PRIu64 "\n", attr->freq ? "sample_freq" : "sample_period",
		       (uint64_t)attr->sample_period);
	print_flag("exclude_user", attr->exclude_user);
	print_flag("exclude_kernel", attr->exclude_kernel);
	print_flag("exclude_hv", attr->exclude_hv);
	print_flag("exclude_guest", attr->exclude_guest);
	print_flag("exclude_host", attr->exclude_host);
	print_flag("precise_ip", attr->precise_ip);
	print_flag("pinned", attr->pinned);
	print_flag("exclusive", attr->exclusive);
	if (event->cpu >= 0)
		printf("%-24s %d\n", "cpu", event->cpu);
}

static int encode_perf(const struct events_command *command, struct sb_error *err)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	char *whole = NULL;
	struct sb_event_perf event = {
	        .attr = &attr, .fstr = &whole, .size = sizeof(event), .sysfs = command->sysfs, .err = err};
	const int status =
	        sb_event_encode(command->encode, sb_event_user | sb_event_kernel, command->target, &event);

	if (status == 0)
		print_attr(&event, whole);
	free(whole);
	return status;
}

static int encode_codes(const struct events_command *command, struct sb_error *err)
{
	char *whole = NULL;
	struct sb_event_codes event = {
	        .fstr = &whole, .size = sizeof(event), .sysfs = command->sysfs, .err = err};
	const int status =
	        sb_event_encode(command->encode, sb_event_user | sb_event_kernel, command->target, &event);

	if (status == 0) {
		printf("%-24s %s\n", "event", whole);
		for (int i = 0; i < event.count; i++)
			printf("code[%d]%-17s 0x%" PRIx64 "\n", i, "", event.codes[i]);
		free(event.codes);
	}
	free(whole);
	return status;
}

static int encode(const struct events_command *command)
{
	struct sb_error err = {0};
	const int status = command->target == sb_event_target_none ? encode_codes(command, &err)
	                                                           : encode_perf(command, &err);

	if (status == 0)
		return exit_fine;
	fprintf(stderr, "sbtrace events: %s: %s\n", sb_event_strerror(status),
	        err.code ? err.text : command->encode);
	return exit_error;
}

int cmd_events(int argc, char **argv)
{
	struct events_command command = {.target = sb_event_target_perf_ext};

	switch (options_parse(&options, argc, argv, &command, NULL)) {
	case options_help:
		return exit_fine;
	case options_wrong:
		return exit_usage;
	default:
		break;
	}
	if (command.encode && command.pattern) {
		fprintf(stderr, "sbtrace events: --encode and a pattern exclude each other\n");
		return exit_usage;
	}
	return command.encode ? encode(&command) : list(&command);
}
