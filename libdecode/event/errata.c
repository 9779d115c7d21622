/* Which processor has which errata of Intel PT (Intel's specification updates).
 *
 * Processors are grouped: all of a group have the same errata.
 */
#include "intel-pt.h"

/* A group's errata, and its members: an entry ends a group's list when its family is zero. */
struct group {
	struct pt_errata errata;
	struct {
		uint8_t family, model;
	} cpus[20];
};

static const struct group groups[] = {
        {.errata = {.bdm70 = 1, .bdm64 = 1}, .cpus = {{6, 61}, {6, 71}, {6, 79}, {6, 86}}},
        {.errata = {.bdm70 = 1, .skd007 = 1, .skd022 = 1, .skd010 = 1, .skl014 = 1, .skl168 = 1},
         .cpus = {{6, 78}, {6, 94}, {6, 142}, {6, 158}, {6, 165}, {6, 166}}},
        {.errata = {.bdm70 = 1, .skl014 = 1, .skd022 = 1, .skz84 = 1}, .cpus = {{6, 85}, {6, 106}, {6, 108}}},
        {.errata = {.bdm70 = 1, .skd022 = 1, .skz84 = 1},
         .cpus = {{6, 143}, {6, 207}, {6, 173}, {6, 174}, {19, 1}}},
        {.errata = {.bdm70 = 1, .skl014 = 1, .skd022 = 1},
         .cpus = {{6, 102}, {6, 125}, {6, 126}, {6, 140}, {6, 141}, {6, 167}, {6, 168}}},
        {.errata = {.bdm70 = 1, .skd022 = 1, .apl11 = 1},
         .cpus = {{6, 151},
                  {6, 154},
                  {6, 186},
                  {6, 183},
                  {6, 191},
                  {6, 197},
                  {6, 198},
                  {6, 181},
                  {6, 170},
                  {6, 172},
                  {6, 189},
                  {6, 204},
                  {6, 213},
                  {18, 1},
                  {18, 3}}},
        {.errata = {.apl12 = 1, .apl11 = 1}, .cpus = {{6, 92}, {6, 95}}},
        {.errata = {.apl11 = 1},
         .cpus = {{6, 122}, {6, 134}, {6, 150}, {6, 156}, {6, 182}, {6, 175}, {6, 221}}},
};

static int group_has(const struct group *group, const struct pt_cpu *cpu)
{
	for (size_t i = 0; group->cpus[i].family; i++) {
		if (group->cpus[i].family == cpu->family && group->cpus[i].model == cpu->model)
			return 1;
	}
	return 0;
}

int pt_cpu_errata(struct pt_errata *errata, const struct pt_cpu *cpu)
{
	if (!errata || !cpu)
		return -pte_invalid;
	memset(errata, 0, sizeof(*errata));
	if (cpu->vendor != pcv_intel)
		return -pte_bad_cpu;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (group_has(&groups[i], cpu)) {
			*errata = groups[i].errata;
			return 0;
		}
	}
	return -pte_bad_cpu;
}
