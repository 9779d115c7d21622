/* packet_form.c - see packet_form.h. */
#include "packet/packet_form.h"

#include "packet/packet_rows.h"

#define FORM(byte, type, size, first, second, first_bytes, second_bytes)                                     \
	[byte] = {type, size, {first, second}, {BYTES(first_bytes), BYTES(second_bytes)}},

const struct pt_packet_form pt_packet_forms[256] = {FIRST_BYTES(FORM)};
