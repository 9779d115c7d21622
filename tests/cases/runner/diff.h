/* The difference of two texts, line by line. */
#ifndef CASE_DIFF_H
#define CASE_DIFF_H

#include <stdio.h>

/* Writes the lines of both: "  " common, "- " only expected, "+ " only actual. */
void diff_print(FILE *out, const char *expected, const char *actual);

#endif
