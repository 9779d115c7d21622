/* tools/sink/json_out.h - JSON to outputs.
 *
 * Strings come from recordings and may hold any byte: what is not printable ASCII is \xNN (the backslash
 * itself, too), and what means something in a page is escaped, so that the JSON can stand in one. Numbers
 * that not every reader takes exactly, beyond 2^53 - 1, are strings of digits. */
#ifndef TOOLS_SINK_JSON_OUT_H
#define TOOLS_SINK_JSON_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "output.h"

/* @text, of which at most @most bytes are looked at; NULL: null. Zero, or negative when broken. */
int json_out_string(struct output *output, const char *text, size_t most);
int json_out_number(struct output *output, uint64_t number);

/* The same with ",\"NAME\":" before it. */
int json_out_named_string(struct output *output, const char *name, const char *text, size_t most);
int json_out_named_number(struct output *output, const char *name, uint64_t number);
int json_out_named_integer(struct output *output, const char *name, int32_t number);
int json_out_named_address(struct output *output, const char *name, uint64_t address); /* "0x..." */

#endif
