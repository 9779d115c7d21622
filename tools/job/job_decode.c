/* job_decode.c - see job_decode.h. */
#include "job/job_decode.h"

#include <stdlib.h>
#include <string.h>

#include <sb/replay.h>

#include "nearest.h"

/* The bits of struct pt_errata have no addresses: a name and a function for each. */
#define ERRATUM(name)                                                                                        \
	static void set_##name(struct pt_errata *errata)                                                     \
	{                                                                                                    \
		errata->name = 1;                                                                            \
	}
ERRATUM(bdm70)
ERRATUM(bdm64)
ERRATUM(skd007)
ERRATUM(skd022)
ERRATUM(skd010)
ERRATUM(skl014)
ERRATUM(apl12)
ERRATUM(apl11)
ERRATUM(skl168)
ERRATUM(skz84)

static void set_none(struct pt_errata *errata)
{
	(void)errata;
}

const char *const job_errata[] = {"bdm70", "bdm64", "skd007", "skd022", "skd010", "skl014",
                                  "apl12", "apl11", "skl168", "skz84",  "none",   NULL};
static void (*const setters[])(struct pt_errata *errata) = {set_bdm70,  set_bdm64,  set_skd007, set_skd022,
                                                            set_skd010, set_skl014, set_apl12,  set_apl11,
                                                            set_skl168, set_skz84,  set_none};

static void set_erratum(struct pt_errata *errata, const char *name)
{
	for (size_t i = 0; job_errata[i]; i++)
		if (!strcmp(job_errata[i], name))
			setters[i](errata);
}

const char *const job_time_sources[] = {
        [job_source_unsaid] = "", [job_source_all] = "all", [job_source_tsc] = "tsc", NULL};

const char *const job_switch_evidence[] = {"addresses", "page_tables", "trials", "none", NULL};
static const uint32_t evidence_bits[] = {1u << sb_switch_by_address, 1u << sb_switch_by_paging,
                                         1u << sb_switch_repaired, 0};

/* The index of @text among @words; negative with the reason. */
static int find_word(const char *const *words, const char *text, struct option_error *error)
{
	struct nearest nearest;

	nearest_begin(&nearest, text);
	for (int i = 0; words[i]; i++) {
		if (!*words[i])
			continue;
		if (!strcmp(words[i], text))
			return i;
		nearest_offer(&nearest, words[i]);
	}
	return nearest.best ? option_fail(error, "'%s' is not known; did you mean '%s'?", text, nearest.best)
	                    : option_fail(error, "'%s' is not known; there are %s", text, nearest.all);
}

int job_decode_set_time_source(struct job_decode *decode, const char *text, struct option_error *error)
{
	const int word = find_word(job_time_sources, text, error);

	if (word >= 0)
		decode->time_source = (unsigned int)word;
	return word < 0 ? -1 : 0;
}

int job_decode_check_none(const struct job_texts *words, const char *word, struct option_error *error)
{
	const char *first = words->count ? words->value[0] : word;

	if (!strcmp(first, "none") == !strcmp(word, "none"))
		return 0;
	return option_fail(error, "'%s' and '%s' exclude each other", first, word);
}

int job_decode_set_evidence(struct job_decode *decode, const char *text, struct option_error *error)
{
	char *list = strdup(text), *rest = list;
	int code = list ? 0 : option_fail(error, "out of memory");

	while (rest && !code) {
		const char *word = strsep(&rest, ",");

		code = find_word(job_switch_evidence, word, error) < 0 ? -1 : 0;
		if (!code)
			code = job_decode_check_none(&decode->switch_evidence, word, error);
		if (!code)
			code = job_add_text(&decode->switch_evidence, word, error);
	}
	free(list);
	return code;
}

static uint32_t unused_evidence(const struct job_texts *used)
{
	uint32_t without = 0;

	if (!used->count)
		return 0;
	for (size_t k = 0; job_switch_evidence[k]; k++)
		without |= evidence_bits[k];
	for (size_t i = 0; i < used->count; i++)
		for (size_t k = 0; job_switch_evidence[k]; k++)
			if (!strcmp(job_switch_evidence[k], used->value[i]))
				without &= ~evidence_bits[k];
	return without;
}

int job_decoding_of(const struct job_decode *decode, struct job_decoding *decoding, struct sb_error *err)
{
	struct option_error error;

	*decoding = (struct job_decoding){.has_cpu = decode->cpu_model != NULL,
	                                  .has_errata = decode->errata.count != 0,
	                                  .tsc_alone = decode->time_source == job_source_tsc,
	                                  .without_evidence = unused_evidence(&decode->switch_evidence)};
	if (decode->cpu_model && job_cpu_model(decode->cpu_model, &decoding->cpu, &error))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "%s", error.why);
	for (size_t i = 0; i < decode->errata.count; i++)
		set_erratum(&decoding->errata, decode->errata.value[i]);
	return 0;
}
