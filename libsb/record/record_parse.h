/* record_parse.h - parsing many records of one recording: what sb_record_parse() finds out about their format
 * each time is found out once, and what nobody will look at is only checked.
 */
#ifndef LIBSB_RECORD_PARSE_H
#define LIBSB_RECORD_PARSE_H

#include <sb/record.h>

/* The sample trailer of a format, and the format. */
struct record_trailer {
	struct sb_sample_format format;
	uint64_t fields; /* PERF_SAMPLE_* bits */
	uint32_t size;
};

enum { RECORD_KERNEL_TYPES = SB_RECORD_HEADER_ATTR };

/* For each type of the kernel's, the size from which on a record is right, whatever is in it; zero: it must
 * be parsed to tell. */
struct record_sizes {
	uint32_t right_from[RECORD_KERNEL_TYPES];
};

struct record_trailer record_trailer(const struct sb_sample_format *format);

void record_sizes(struct record_sizes *sizes, const struct record_trailer *trailer);
/* All but samples, which say more than the model asks for, were checked before. */
void record_sizes_trust(struct record_sizes *sizes);

/* As sb_record_parse(); record->format is that of @trailer. */
int record_parse(struct sb_record *record, const uint8_t *bytes, size_t avail,
                 const struct record_trailer *trailer, const char *file, uint64_t offset,
                 struct sb_error *err);

#endif
