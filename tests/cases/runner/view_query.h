/* The answers of the query decoder for a case. */
#ifndef CASE_VIEW_QUERY_H
#define CASE_VIEW_QUERY_H

#include "view.h"

void print_query(FILE *out, const struct view *view);

#endif
