/* job_decode.c - see job_decode.h. */
#include "job/job_decode.h"

#include <string.h>

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

int job_decoding_of(const struct job_decode *decode, struct job_decoding *decoding, struct sb_error *err)
{
	struct option_error error;

	*decoding = (struct job_decoding){.has_cpu = decode->cpu_model != NULL,
	                                  .has_errata = decode->errata.count != 0};
	if (decode->cpu_model && job_cpu_model(decode->cpu_model, &decoding->cpu, &error))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "%s", error.why);
	for (size_t i = 0; i < decode->errata.count; i++)
		set_erratum(&decoding->errata, decode->errata.value[i]);
	return 0;
}
