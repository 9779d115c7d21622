/* damage.c - see damage.h. */
#include "damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

static int same_line(const char *a, const char *b)
{
	const size_t size = strcspn(a, "\n");

	return size == strcspn(b, "\n") && !memcmp(a, b, size);
}

/* The block decoder hands out the instruction at which it finds an error, the instruction decoder does not.
 */
static int is_erring_insn(const char *line)
{
	return *line != '[' && !strncmp(next_line(line), "error ", 6);
}

static int agree(const char *insn_flow, const char *block_flow)
{
	while (*insn_flow || *block_flow) {
		if (!strncmp(block_flow, "endless", 7) || !strncmp(block_flow, "bad ", 4))
			return 0;
		if (!same_line(insn_flow, block_flow)) {
			if (!is_erring_insn(block_flow))
				return 0;
			block_flow = next_line(block_flow);
			continue;
		}
		insn_flow = next_line(insn_flow);
		block_flow = next_line(block_flow);
	}
	return 1;
}

static int check_flows(const struct view *view, const char *what, size_t where)
{
	char *insn_flow = view_text(view, view_insn_flow), *block_flow = view_text(view, view_block_flow);
	const int good = agree(insn_flow, block_flow);

	if (!good)
		printf("%s: %s %zu: by instructions\n%sby blocks\n%s", view->file->path, what, where,
		       insn_flow, block_flow);
	free(insn_flow);
	free(block_flow);
	return good;
}

static void run_others(const struct view *view)
{
	static const enum case_view others[] = {view_packets, view_events, view_query};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); ++i)
		free(view_text(view, others[i]));
}

static int check_view(const struct view *view, const char *what, size_t where)
{
	run_others(view);
	return check_flows(view, what, where);
}

int damage_check(const struct case_file *file, const struct program *program, struct case_trace *trace)
{
	const size_t size = trace->size;
	struct view view;
	int good = 1;

	for (trace->size = 0; trace->size < size; ++trace->size) {
		view = view_make(&api_ours, file, program, trace);
		good &= check_view(&view, "cut at", trace->size);
	}
	view = view_make(&api_ours, file, program, trace);
	for (size_t bit = 0; bit < 8 * size; ++bit) {
		trace->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		good &= check_view(&view, "inverted bit", bit);
		trace->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	return good;
}
