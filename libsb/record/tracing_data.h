/* tracing_data.h - the formats of all tracepoints of a recording, read from its TRACING_DATA. */
#ifndef LIBSB_RECORD_TRACING_DATA_H
#define LIBSB_RECORD_TRACING_DATA_H

#include <sb/tracepoint.h>

/* Sorted by id. Zeroed, it is empty. */
struct tracing_data {
	struct sb_tracepoint *tracepoint;
	size_t ntracepoints, capacity;
};

/* The content of the feature, or the payload of the record: NULL, or what is wrong; what came before that is
 * kept. Memory follows @size. tracing_data_free() in both cases. */
const char *tracing_data_read(struct tracing_data *data, const uint8_t *bytes, uint64_t size);
void tracing_data_free(struct tracing_data *data);

/* NULL when there is none. */
const struct sb_tracepoint *tracing_data_by_id(const struct tracing_data *data, uint64_t id);
const struct sb_tracepoint *tracing_data_by_name(const struct tracing_data *data, const char *system,
                                                 const char *name);

#endif
