/* What a decoder makes of a case, as text, one line per packet, event, instruction or block. */
#ifndef CASE_VIEW_H
#define CASE_VIEW_H

#include "api.h"
#include "program.h"
#include "trace_build.h"

struct view {
	const struct api *api;
	const struct case_file *file;
	const struct program *program;
	struct pt_config config;
	int plain; /* without what only our library tells: the flags beside the events */
};

/* A view of case @file through @api. */
struct view view_make(const struct api *api, const struct case_file *file, const struct program *program,
                      struct case_trace *trace);

/* The text of view @which; to be freed. NULL: the library cannot give it. */
char *view_text(const struct view *view, enum case_view which);

/* @text without those flags: what a plain view must be. To be freed. */
char *view_plain(const char *text);

#endif
