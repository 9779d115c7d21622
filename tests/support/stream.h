/* Packets written as text, one word each, into a trace: "psb fup:400000 psbend tnt:101 tip:-".
 *
 * Numbers are hexadecimal. An address is written in six bytes; after '~' in two, and '-' suppresses it. What
 * a word may be is in the table of stream.c; unknown words fail the test.
 */
#ifndef TEST_STREAM_H
#define TEST_STREAM_H

#include <intel-pt.h>

struct stream {
	uint8_t bytes[8192];
	size_t size;
};

void stream_clear(struct stream *stream);
void stream_write(struct stream *stream, const char *text);

/* A configuration for what was written so far. */
struct pt_config stream_config(struct stream *stream);

#endif
