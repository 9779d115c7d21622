/* options.c - see options.h. One row per option. */
#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

const char *const layer_names[layer_count] = {"packet", "query", "insn", "block", "psb", "psb_back"};
static const char *const part_names[] = {"time", "asid", "status", "offset", "iclass",
                                         "raw",  "tsc",  "flags",  NULL};
static const char *const flag_names[] = {"tick", "end-on-call", "end-on-jump", NULL};
static const char *const errata_names[] = {"bdm70", "bdm64", "skd007", "skd022", "skd010", "skl014",
                                           "apl12", "apl11", "skl168", "skz84",  NULL};

/* A number, or names separated by commas, as bits. */
static int parse_bits(unsigned *bits, const char *text, const char *const *names)
{
	char *end, *copy, *save = NULL;
	unsigned long number = strtoul(text, &end, 0);

	if (*text && !*end) {
		*bits = (unsigned)number;
		return 0;
	}
	*bits = 0;
	copy = strdup(text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		unsigned i = 0;

		while (names[i] && strcmp(names[i], word))
			++i;
		if (!names[i]) {
			fprintf(stderr, "unknown: %s\n", word);
			free(copy);
			return -1;
		}
		*bits |= 1u << i;
	}
	free(copy);
	return 0;
}

static int parse_pt(struct options *options, const char *text)
{
	return case_set_trace(&options->c, text);
}

static int parse_image(struct options *options, const char *text)
{
	char *copy = strdup(text);
	uint64_t number[3];
	int status = -1, i;

	for (i = 3; i--;) {
		char *colon = strrchr(copy, ':');

		if (!colon)
			break;
		number[i] = strtoull(colon + 1, NULL, 0);
		*colon = 0;
	}
	if (i < 0)
		status = case_add_file(&options->c, copy, number[0], number[1] ? number[1] : UINT64_MAX / 2,
		                       number[2]);
	free(copy);
	return status;
}

static int parse_sideband(struct options *options, const char *text)
{
	const char *colon = strchr(text, ':');
	char *pevent;
	int status;

	if (!colon)
		return -1;
	pevent = strndup(text, (size_t)(colon - text));
	status = recording_add(&options->c, pevent, colon + 1);
	free(pevent);
	return status;
}

/* FILE:ROOT:CPU, with the settings of the recorder's CPU. */
static int parse_perf(struct options *options, const char *text)
{
	char *copy = strdup(text), *cpu = strrchr(copy, ':'), *root = NULL;
	int status = -1;

	if (cpu) {
		*cpu++ = 0;
		root = strrchr(copy, ':');
	}
	if (root) {
		*root++ = 0;
		status = recording_open(&options->c, copy, root, (unsigned)strtoul(cpu, NULL, 0));
	}
	free(copy);
	return status;
}

static int parse_layer(struct options *options, const char *text)
{
	const char *names[layer_count + 1] = {0};

	memcpy(names, layer_names, sizeof(layer_names));
	return parse_bits(&options->layers, text, names);
}

static int parse_cpu(struct options *options, const char *text)
{
	unsigned family = 0, model = 0, stepping = 0;

	if (sscanf(text, "%u/%u/%u", &family, &model, &stepping) < 2)
		return -1;
	options->c.family = (uint16_t)family;
	options->c.model = (uint8_t)model;
	options->c.stepping = (uint8_t)stepping;
	return 0;
}

static int parse_errata(struct options *options, const char *text)
{
	return parse_bits(&options->c.errata, text, errata_names);
}

static int parse_cpuid(struct options *options, const char *text)
{
	return sscanf(text, "%" SCNu32 ":%" SCNu32, &options->c.eax, &options->c.ebx) == 2 ? 0 : -1;
}

static int parse_mtc_freq(struct options *options, const char *text)
{
	options->c.mtc_freq = (uint8_t)strtoul(text, NULL, 0);
	return 0;
}

static int parse_nom_freq(struct options *options, const char *text)
{
	options->c.nom_freq = (uint8_t)strtoul(text, NULL, 0);
	return 0;
}

static int parse_flags(struct options *options, const char *text)
{
	return parse_bits(&options->c.flags, text, flag_names);
}

static int parse_filter(struct options *options, const char *text)
{
	unsigned n = 0, config = 0;
	uint64_t a, b;

	if (sscanf(text, "%u:%u:%" SCNi64 ":%" SCNi64, &n, &config, (int64_t *)&a, (int64_t *)&b) != 4 ||
	    n >= case_max_filters)
		return -1;
	options->c.filter[n] = (struct case_filter){(uint8_t)config, a, b};
	return 0;
}

static int parse_ignore(struct options *options, const char *text)
{
	return parse_bits(&options->forget, text, part_names);
}

static int parse_context(struct options *options, const char *text)
{
	options->context = (unsigned)strtoul(text, NULL, 0);
	return 0;
}

static int parse_max(struct options *options, const char *text)
{
	options->max_records = strtoull(text, NULL, 0);
	return 0;
}

static int parse_seed(struct options *options, const char *text)
{
	options->seed = strtoull(text, NULL, 0);
	options->seeded = 1;
	return 0;
}

static int parse_count(struct options *options, const char *text)
{
	options->count = strtoull(text, NULL, 0);
	return 0;
}

static int parse_mutate(struct options *options, const char *text)
{
	options->mutate = !strcmp(text, "yes");
	return 0;
}

static int parse_wrong_code(struct options *options, const char *text)
{
	options->c.damaged = !strcmp(text, "yes");
	return 0;
}

static int parse_timeout(struct options *options, const char *text)
{
	options->timeout = (unsigned)strtoul(text, NULL, 0);
	return 0;
}

static int parse_save(struct options *options, const char *text)
{
	options->save = text;
	return 0;
}

static int parse_show(struct options *options, const char *text)
{
	options->show = strcmp(text, "debian") ? side_ours : side_debian;
	return 0;
}

static int parse_ours(struct options *options, const char *text)
{
	options->path[side_ours] = text;
	return 0;
}

static int parse_debian(struct options *options, const char *text)
{
	options->path[side_debian] = text;
	return 0;
}

struct row {
	const char *name, *value;
	int (*parse)(struct options *options, const char *text);
};

static const struct row rows[] = {
        {"pt", "FILE", parse_pt},
        {"image", "FILE:OFFSET:SIZE:VADDR (SIZE 0: to the end)", parse_image},
        {"sideband", "PEVENT:ROOT (MMAP2 records)", parse_sideband},
        {"perf", "PERF.DATA:ROOT:CPU of a software recording", parse_perf},
        {"layer", "NAME[,NAME]", parse_layer},
        {"cpu", "FAMILY/MODEL/STEPPING", parse_cpu},
        {"errata", "NAME[,NAME] or bits", parse_errata},
        {"cpuid", "EAX:EBX of leaf 15h", parse_cpuid},
        {"mtc-freq", "N", parse_mtc_freq},
        {"nom-freq", "N", parse_nom_freq},
        {"flags", "tick,end-on-call,end-on-jump", parse_flags},
        {"filter", "N:CONFIG:A:B", parse_filter},
        {"seed", "N of the first generated case", parse_seed},
        {"count", "N generated cases", parse_count},
        {"mutate", "yes|no", parse_mutate},
        {"wrong-code", "yes: the code is not all that ran, as good as damage", parse_wrong_code},
        {"timeout", "MILLISECONDS of CPU time per case and layer", parse_timeout},
        {"save", "DIRECTORY for trace and code of the case", parse_save},
        {"ignore", "time,asid,status,offset,iclass,raw,tsc,flags", parse_ignore},
        {"context", "N records around a difference", parse_context},
        {"max", "N records at most", parse_max},
        {"show", "ours|debian", parse_show},
        {"ours", "PATH of our libipt", parse_ours},
        {"debian", "PATH of Debian's", parse_debian},
};

/* A generated flow may be endless. */
enum { max_generated = 20000, generated_timeout = 3000 };

enum { nrows = sizeof(rows) / sizeof(rows[0]) };

static int usage(void)
{
	fprintf(stderr, "pt_diff: see the beginning of pt_diff.c; options:\n");
	for (int i = 0; i < nrows; ++i)
		fprintf(stderr, "  --%s %s\n", rows[i].name, rows[i].value);
	return -1;
}

int options_parse(struct options *options, int argc, char **argv)
{
	struct option table[nrows + 1] = {0};
	int row;

	*options = (struct options){.path = {OURS_PATH, DEBIAN_PATH},
	                            .layers = (1u << layer_count) - 1,
	                            .context = 8,
	                            .max_records = 100000000,
	                            .count = 1,
	                            .show = -1};
	for (int i = 0; i < nrows; ++i)
		table[i] = (struct option){rows[i].name, required_argument, NULL, i};
	while ((row = getopt_long(argc, argv, "", table, NULL)) != -1)
		if (row < 0 || row >= nrows || rows[row].parse(options, optarg) < 0)
			return usage();
	if (options->seeded && options->max_records > max_generated)
		options->max_records = max_generated;
	if (options->seeded && !options->timeout)
		options->timeout = generated_timeout;
	return optind == argc && (options->c.trace || options->seeded) ? 0 : usage();
}
