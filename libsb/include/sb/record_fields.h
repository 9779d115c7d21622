/* sb/record_fields.h - a record as named fields, for those who show records: as text, JSON, a table.
 *
 * What identifies the record (offset, type, misc) and the sample trailer are not among them: they are the
 * same for all types, and in struct sb_record.
 */
#ifndef SB_RECORD_FIELDS_H
#define SB_RECORD_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <sb/record.h>
#include <sb/tracepoint.h>

enum sb_field_kind {
	sb_field_signed,
	sb_field_unsigned,
	sb_field_hex, /* addresses, flags: to be read in hexadecimal */
	sb_field_real,
	sb_field_flag,   /* .u.is_set */
	sb_field_string, /* .u.text */
	sb_field_bytes,  /* .u.bytes, .count of them */
	sb_field_numbers /* .u.bytes: .count little-endian u64 at any alignment, to be read in hexadecimal */
};

struct sb_field {
	const char *name; /* a word */
	enum sb_field_kind kind;
	union {
		int64_t i;
		uint64_t u;
		double real;
		int is_set;
		const char *text;
		const uint8_t *bytes;
	} u;
	uint64_t count;
};

/* Functions that the fields are told to, in the order of the record. A list has any number of groups of
 * fields, and no list in it. */
struct sb_field_visitor {
	void *context;
	void (*field)(void *context, const struct sb_field *field);
	void (*begin_list)(void *context, const char *name);
	void (*begin_group)(void *context);
	void (*end_group)(void *context);
	void (*end_list)(void *context);
};

/* Of a type that is not known, its number and the bytes behind the header. */
sb_export void sb_record_visit(const struct sb_record *record, const struct sb_field_visitor *visitor);

/* The fields that the raw bytes of a SAMPLE hold, of the tracepoint that it is of (sb_perfdata_tracepoint()).
 */
sb_export void sb_tracepoint_visit(const struct sb_tracepoint *tracepoint, const struct sb_record *sample,
                                   const struct sb_field_visitor *visitor);

/* ' tracepoint "SYSTEM":"NAME"' and those fields, as sb_record_print() writes fields. */
sb_export void sb_tracepoint_print(FILE *out, const struct sb_tracepoint *tracepoint,
                                   const struct sb_record *sample);

#endif
