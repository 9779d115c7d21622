/* tools/dump/packet_fields.h - a packet as its name and named fields, for every form of output.
 *
 * Names are those of the Intel SDM, vol. 3, "Packet Definitions", in lower case. How a number is shown is
 * a property of the field: quantities are decimal, bit patterns and addresses hexadecimal.
 */
#ifndef TOOLS_DUMP_PACKET_FIELDS_H
#define TOOLS_DUMP_PACKET_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <intel-pt.h>

enum field_kind {
	field_decimal,
	field_hex,
	field_flag, /* zero or one; text names it when it is set, and is silent otherwise */
	field_word, /* .word */
	field_tnt,  /* width bits, the oldest first: T taken, N not taken */
	field_ip    /* what the packet holds of an address; width is its enum pt_ip_compression */
};

struct packet_field {
	const char *name;
	uint64_t value;
	const char *word;
	uint8_t kind;  /* enum field_kind */
	uint8_t width; /* of field_hex: the least number of digits */
	bool bare;     /* text leaves out the name: it says no more than the packet's */
};

enum { packet_fields_most = 5, field_text_most = 48 };

struct packet_fields {
	const char *name; /* "tip.pge" */
	unsigned int count;
	struct packet_field field[packet_fields_most];
};

/* Never fails: what is no known kind of packet is "unknown". */
void packet_fields(struct packet_fields *fields, const struct pt_packet *packet);

/* Whether a packet of this kind may stand between PSB and PSBEND. */
bool packet_in_psb_header(enum pt_packet_type type);

/* The value of a field as text, without a NUL: up to field_text_most bytes at @at. Returns the end. */
char *field_text(char *at, const struct packet_field *field);

#endif
