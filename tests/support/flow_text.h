/* A decoded flow as one line of text: addresses of instructions, and events in brackets where they
 * come, for example "[enabled] 1000 1001 [disabled] eos". All three faces of the decoder give the
 * same text; flow_text() asserts that they do. */
#ifndef TEST_FLOW_TEXT_H
#define TEST_FLOW_TEXT_H

#include "support/trace.h"

struct flow_text {
	char text[65536];
};

/* Decodes from the first PSB to the end or the first error, which stands last: "eos", "bad_query", ... */
void flow_text(struct flow_text *flow, const struct pt_config *config, struct pt_image *image);

#endif
