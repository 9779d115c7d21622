/* strict.c - see strict.h. */
#include "strict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

static bool has(uint32_t set, unsigned int reason)
{
	return set >> reason & 1;
}

static int unknown(const char *name, struct option_error *error)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (unsigned int i = 0; i < sb_gap_reasons; i++)
		if (has(strict_all, i))
			nearest_offer(&nearest, sb_gap_reason_name((enum sb_gap_reason)i));
	if (nearest.best)
		return option_fail(error, "no gap has the reason '%s'; did you mean '%s'?", name,
		                   nearest.best);
	return option_fail(error, "no gap has the reason '%s'; there are %s", name, nearest.all);
}

int strict_list_add(struct strict_list *list, const char *name, struct option_error *error)
{
	const bool out = name[0] == '-';

	for (unsigned int i = 0; i < sb_gap_reasons; i++) {
		if (!has(strict_all, i) || strcmp(name + out, sb_gap_reason_name((enum sb_gap_reason)i)))
			continue;
		if (out ? list->named : list->out)
			return option_fail(
			        error, "'%s': reasons are named or, with a minus, taken out of all: not both",
			        name);
		*(out ? &list->out : &list->named) |= UINT32_C(1) << i;
		return 0;
	}
	return unknown(name + out, error);
}

int strict_list_take(const struct strict_list *list, uint32_t *set, struct option_error *error)
{
	const uint32_t left = list->out ? (*set ? *set : strict_all) & ~list->out : *set | list->named;

	if (!left)
		return option_fail(error, "no reason is left: all are taken out");
	*set = left;
	return 0;
}

int strict_set(uint32_t *set, const char *text, struct option_error *error)
{
	struct strict_list list = {0};
	char *items, *rest;
	int result = 0;

	if (!text) {
		*set = strict_all;
		return 0;
	}
	items = rest = strdup(text);
	if (!items)
		return option_fail(error, "out of memory");
	while (!result && rest)
		result = strict_list_add(&list, strsep(&rest, ","), error);
	free(items);
	return result ? result : strict_list_take(&list, set, error);
}

void gaps_tell(const char *command, const struct sb_account *account, uint32_t set, const char *rest)
{
	const char *before = NULL;

	for (unsigned int i = 0; i < sb_gap_reasons; i++) {
		if (!has(set, i) || !account->gap[i].count)
			continue;
		if (!before)
			fprintf(stderr, "%s: gaps: ", command);
		fprintf(stderr, "%s%" PRIu64 " %s (%" PRIu64 " bytes)", before ? before : "",
		        account->gap[i].count, sb_gap_reason_name((enum sb_gap_reason)i),
		        account->gap[i].bytes);
		before = ", ";
	}
	if (before)
		fprintf(stderr, "%s\n", rest);
}

bool strict_allows(const char *command, uint32_t set, const struct sb_account *account,
                   const struct sb_error *damage)
{
	const bool damaged = damage && has(set, sb_gap_truncated);
	bool gaps = false;

	for (unsigned int i = 0; i < sb_gap_reasons; i++)
		gaps |= has(set, i) && account->gap[i].count;
	gaps_tell(command, account, set, ": --strict does not allow them");
	if (damaged)
		fprintf(stderr, "%s: the recording is damaged: --strict does not allow it\n", command);
	return !gaps && !damaged;
}
