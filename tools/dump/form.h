/* tools/dump/form.h - the forms in which packets are written: text and JSON lines.
 *
 * A writer belongs to one form and one output. begin() is called before the packets of each stream.
 */
#ifndef TOOLS_DUMP_FORM_H
#define TOOLS_DUMP_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "dump/walk.h"
#include "output.h"

/* Where packets come from: all are -1 for a raw file. */
struct dump_stream {
	int32_t cpu, tid;
	uint64_t end; /* the largest offset there is */
};

struct dump_writer {
	struct output *output;
	bool raw;     /* with bytes */
	bool no_time; /* without time */
	struct dump_stream stream;
	void *state; /* the form's own */
};

struct dump_form_type {
	struct dump_form form; /* its @writer is a struct dump_writer */
	/* Zero or negative. NULL: there is nothing to be done. close() also follows an open() that failed. */
	int (*open)(struct dump_writer *writer);
	int (*begin)(struct dump_writer *writer);
	void (*close)(struct dump_writer *writer);
};

extern const struct dump_form_type dump_form_text, dump_form_json;

#endif
