/* pt_diff.c - holds our libdecode against Debian's libipt 2.0.5, layer by layer, record by record.
 *
 *   pt_diff --pt FILE --image FILE:OFFSET:SIZE:VADDR ... [--layer insn]     one case from files
 *   pt_diff --pt FILE ... --mutate yes --seed N --count N                   damaged pieces of it
 *   pt_diff --seed N --count N [--mutate yes]                               generated cases
 *   pt_diff --show ours|debian ...                                          only what one of them gives
 *
 * Exit status: 0 nothing differs (but for what known.c lists), 1 something does, 2 bad usage, 77 a library
 * is missing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "generate.h"
#include "mutate.h"
#include "options.h"
#include "run.h"

enum { piece_size = 6000 };

/* Sections are shared with the original: fd and mapping stay with that. */
static void copy_case(struct diff_case *c, const struct diff_case *from)
{
	*c = *from;
	c->trace = malloc(from->size + 1);
	if (!c->trace)
		abort();
	memcpy(c->trace, from->trace, from->size);
	c->shared = 1;
}

static int make_case(void *context, struct diff_case *c, uint64_t at)
{
	const struct options *options = context;
	struct random random = {~(options->seed + at)};

	if (options->c.trace)
		copy_case(c, &options->c);
	else
		generate(c, options->seed + at);
	c->flags |= options->c.flags;
	if (options->mutate) {
		if (options->c.trace)
			mutate_cut(c, &random, piece_size);
		mutate(c, &random);
		snprintf(c->name, sizeof(c->name), "%s%.60s%smutated seed %" PRIu64,
		         options->c.trace ? "..." : "",
		         options->c.trace ? options->c.name + strlen(options->c.name) / 3 : "",
		         options->c.trace ? " " : "", options->seed + at);
	}
	if (options->save)
		(void)case_save(c, options->save);
	return 1;
}

static int show(struct comparer *comparer, struct options *options)
{
	struct progress progress;
	struct diff_case c;

	comparer->progress = &progress;
	make_case(options, &c, 0);
	for (int layer = 0; layer < layer_count; ++layer)
		if (options->layers & 1u << layer)
			compare_show(comparer, options->show, &c, (enum layer)layer);
	case_free(&c);
	return 0;
}

static int compare_all(struct comparer *comparer, struct options *options)
{
	struct run_plan plan = {.make = make_case,
	                        .context = options,
	                        .count = options->count,
	                        .layers = options->layers,
	                        .timeout = options->timeout,
	                        .verbose = options->count == 1};
	struct tally *tally = run(comparer, &plan);

	return tally ? run_report(tally) : 2;
}

/* Debian's library crashes: that is counted, and must look like a crash in a sanitized build, too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "handle_segv=0:handle_sigbus=0";
}

int main(int argc, char **argv)
{
	static struct options options;
	struct comparer comparer = {0};
	int status;

	if (options_parse(&options, argc, argv) < 0)
		return 2;
	comparer.context = options.context;
	comparer.forget = options.forget;
	comparer.max_records = options.max_records;
	comparer.side[side_ours] = (struct side){"ours", &ours_ops, ours_ops.load(options.path[side_ours])};
	comparer.side[side_debian] =
	        (struct side){"debian", &debian_ops, debian_ops.load(options.path[side_debian])};
	if (!comparer.side[side_ours].lib || !comparer.side[side_debian].lib)
		return 77;
	status = options.show >= 0 ? show(&comparer, &options) : compare_all(&comparer, &options);
	case_free(&options.c);
	ours_ops.unload(comparer.side[side_ours].lib);
	debian_ops.unload(comparer.side[side_debian].lib);
	return status;
}
