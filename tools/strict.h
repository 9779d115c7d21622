/* tools/strict.h - gaps that are not put up with: --strict, and telling which gaps there are.
 *
 * A set of gap reasons is a bit for each enum sb_gap_reason.
 */
#ifndef TOOLS_STRICT_H
#define TOOLS_STRICT_H

#include <stdbool.h>
#include <stdint.h>

#include <sb/replay.h>

#include "options.h"

/* Whatever is lost; not what was left out because it was asked for. */
static const uint32_t strict_all =
        (UINT32_C(1) << sb_gap_reasons) - 1 - (UINT32_C(1) << sb_gap_none) - (UINT32_C(1) << sb_gap_filtered);

/* Reasons that are named, or, with a minus before them, taken out; not both. */
struct strict_list {
	uint32_t named, out;
};

/* "no-sync" or "-no-sync". Zero, or -1 with the reason. */
int strict_list_add(struct strict_list *list, const char *name, struct option_error *error);

/* Adds those that are named to @set, or takes the others out of it, or of all when it is empty. Zero, or -1
 * with the reason. */
int strict_list_take(const struct strict_list *list, uint32_t *set, struct option_error *error);

/* The same with the list in @text: "overflow,no-binary", "-no-sync"; NULL: all. */
int strict_set(uint32_t *set, const char *text, struct option_error *error);

/* One line on stderr that counts the gaps with reasons in @set, if there are any, and ends with @rest. */
void gaps_tell(const char *command, const struct sb_account *account, uint32_t set, const char *rest);

/* Whether nothing of what is in @set happened; else stderr says what. A damaged recording counts as
 * truncated. */
bool strict_allows(const char *command, uint32_t set, const struct sb_account *account,
                   const struct sb_error *damage);

#endif
