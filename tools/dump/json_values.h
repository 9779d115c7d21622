/* tools/dump/json_values.h - values of JSON as both kinds of dump write them. New references; NULL when
 * memory is short. */
#ifndef TOOLS_DUMP_JSON_VALUES_H
#define TOOLS_DUMP_JSON_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* "0x1f": numbers that may need more than 53 bits, which is where many readers of JSON begin to round. */
json_t *json_hex(uint64_t value);

/* An integer; as a string of digits when JSON's readers have no room for it. */
json_t *json_unsigned(uint64_t value);

/* Two hexadecimal digits for each. */
json_t *json_bytes(const uint8_t *bytes, uint64_t size);

/* A name from a recording. When it is not UTF-8, bytes outside of ASCII become \xNN. */
json_t *json_text(const char *text);

#endif
