/* Whether the cases of a folder cover all that there is to cover. */
#ifndef CASE_COVERAGE_H
#define CASE_COVERAGE_H

/* Says on stdout what no case in the folders below @folder expects, and what its file `not-covered` lists
 * in vain. Returns whether there was nothing to say. */
int coverage_check(const char *folder);

#endif
