/* sb/tracepoint.h - what the raw bytes of a tracepoint's SAMPLE mean.
 *
 * A recording of tracepoints holds their formats (TRACING_DATA): for each, its number and its fields, as
 * /sys/kernel/tracing/events/SYSTEM/NAME/format has them.
 */
#ifndef SB_TRACEPOINT_H
#define SB_TRACEPOINT_H

#include <stddef.h>
#include <stdint.h>

#include <sb/export.h>
#include <sb/record.h>

enum sb_tracepoint_kind {
	sb_tracepoint_number, /* of 1, 2, 4 or 8 bytes */
	sb_tracepoint_text,   /* an array of char; its first NUL ends it */
	sb_tracepoint_other   /* arrays of other things, and what lies elsewhere (__data_loc) */
};

struct sb_tracepoint_field {
	const char *name;
	uint32_t offset, size; /* in the raw bytes */
	enum sb_tracepoint_kind kind;
	int is_signed;
};

struct sb_tracepoint {
	const char *system, *name; /* "sched", "sched_switch" */
	uint64_t id;               /* attr.config of its event */
	const struct sb_tracepoint_field *field;
	size_t nfields;
};

/* NULL when it has no such field. */
sb_export const struct sb_tracepoint_field *sb_tracepoint_find(const struct sb_tracepoint *tracepoint,
                                                               const char *name);

/* The field's number in @raw; signed ones are extended to 64 bits. 1, or 0 when it is no number, or is not
 * there. */
sb_export int sb_tracepoint_value(const struct sb_tracepoint_field *field, const uint8_t *raw,
                                  uint64_t raw_size, uint64_t *value);

#endif
