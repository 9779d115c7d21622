/* The names of errors, errata, classes and events in cases, and the lists that coverage is checked against.
 */
#ifndef CASE_NAMES_H
#define CASE_NAMES_H

#include <intel-pt.h>

#include "support/event_names.h"

/* Tables that end with NULL; the index is the enum's value, a hole is "". */
extern const char *const error_names[];
extern const char *const class_names[];
extern const char *const errata_names[];

/* The name of a function's negative result. */
const char *error_name(int status);

/* 16, 32, 64, or "unknown-mode". */
const char *exec_mode_name(enum pt_exec_mode mode);

/* Sets the erratum @name; -1: there is no such one. */
int erratum_set(struct pt_errata *errata, const char *name);

#endif
