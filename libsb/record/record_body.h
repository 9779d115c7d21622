/* record_body.h - one row per record type: its name, and how its body is read.
 *
 * The body is what lies between the 8-byte header and the sample trailer. A row's function is called
 * only when the smallest body is there; it answers with NULL or with what is wrong.
 */
#ifndef LIBSB_RECORD_BODY_H
#define LIBSB_RECORD_BODY_H

#include <sb/record.h>

struct record_body {
	const char *name; /* NULL: no such type */
	uint16_t least;   /* bytes that the body has at least */
	uint16_t is_open; /* a record that is large enough may still be wrong */
	const char *(*parse)(struct sb_record *record, const uint8_t *body, size_t size);
};

extern const struct record_body kernel_bodies[]; /* by type */
extern const uint32_t kernel_bodies_count;
extern const struct record_body perf_bodies[]; /* by type - 64 */
extern const uint32_t perf_bodies_count;

/* The string at @body[@at] must end before the body does. */
const char *read_string(const char **string, const uint8_t *body, size_t size, size_t at);

/* SAMPLE and READ, which record->format describes. */
const char *parse_sample(struct sb_record *record, const uint8_t *body, size_t size);
const char *parse_read(struct sb_record *record, const uint8_t *body, size_t size);

#endif
