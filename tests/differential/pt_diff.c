/* pt_diff.c - holds our libdecode against Debian's libipt 2.0.5, layer by layer, record by record.
 *
 *   pt_diff --pt FILE --image FILE:OFFSET:SIZE:VADDR ... [--layer insn]     one case from files
 *   pt_diff --seed N [--count N]                                            generated cases
 *   pt_diff --show ours|debian ...                                          only what one of them gives
 *
 * Exit status: 0 nothing differs (but for what known.c lists), 1 something does, 2 bad usage, 77 a library
 * is missing. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "generate.h"
#include "options.h"

static const char *const layer_list = "packet,query,insn,block,psb,psb_back";

static void print_truth(const struct comparer *comparer, const struct diff_case *c, enum layer layer,
                        const struct verdict *verdict, int side)
{
	uint64_t n = verdict->nright[side];

	if (verdict->right[side] == 0)
		printf("%s: layer %s: %s is WRONG at instruction %" PRIu64 ": %" PRIx64 " is %" PRIx64 "\n",
		       c->name, layer_names[layer], comparer->side[side].name, n, c->truth[n],
		       verdict->got[side]);
	if (verdict->right[side] == 1)
		printf("%s: layer %s: %s is right, %" PRIu64 " instructions\n", c->name, layer_names[layer],
		       comparer->side[side].name, n);
}

static int one_layer(struct comparer *comparer, const struct options *options, const struct diff_case *c,
                     enum layer layer)
{
	struct verdict verdict;

	if (options->show >= 0) {
		printf("layer %s\n", layer_names[layer]);
		compare_show(comparer, options->show, c, layer);
		return 0;
	}
	compare(comparer, c, layer, &verdict);
	if (verdict.skipped)
		printf("%s: layer %s is not there in both\n", c->name, layer_names[layer]);
	else if (!verdict.differs)
		printf("%s: layer %s equal, %" PRIu64 " records\n", c->name, layer_names[layer],
		       verdict.records);
	for (int side = 0; side < sides; ++side)
		print_truth(comparer, c, layer, &verdict, side);
	return verdict.differs;
}

static int one_case(struct comparer *comparer, const struct options *options, const struct diff_case *c)
{
	int differs = 0;

	for (int layer = 0; layer < layer_count; ++layer)
		if (options->layers & 1u << layer)
			differs |= one_layer(comparer, options, c, (enum layer)layer);
	return differs;
}

static int generated_cases(struct comparer *comparer, const struct options *options)
{
	uint64_t bad = 0;

	for (uint64_t i = 0; i < options->count; ++i) {
		struct diff_case c;

		generate(&c, options->seed + i);
		if (options->save)
			(void)case_save(&c, options->save);
		bad += one_case(comparer, options, &c) != 0;
		case_free(&c);
	}
	printf("%" PRIu64 " of %" PRIu64 " cases differ\n", bad, options->count);
	return bad != 0;
}

static int load(struct comparer *comparer, const struct options *options)
{
	comparer->side[side_ours] = (struct side){"ours", &ours_ops, ours_ops.load(options->path[side_ours])};
	comparer->side[side_debian] =
	        (struct side){"debian", &debian_ops, debian_ops.load(options->path[side_debian])};
	return comparer->side[side_ours].lib && comparer->side[side_debian].lib;
}

int main(int argc, char **argv)
{
	static struct options options;
	struct comparer comparer = {0};
	struct progress progress = {sides};
	int differs = 0;

	if (options_parse(&options, argc, argv) < 0) {
		fprintf(stderr, "layers: %s\n", layer_list);
		return 2;
	}
	comparer.context = options.context;
	comparer.forget = options.forget;
	comparer.max_records = options.max_records;
	comparer.progress = &progress;
	if (!load(&comparer, &options))
		return 77;
	differs = options.count ? generated_cases(&comparer, &options)
	                        : one_case(&comparer, &options, &options.c);
	for (int row = 0; row < known_count; ++row)
		if (comparer.known[row])
			printf("known: %" PRIu64 " times: %s\n", comparer.known[row], known_reason(row));
	case_free(&options.c);
	ours_ops.unload(comparer.side[side_ours].lib);
	debian_ops.unload(comparer.side[side_debian].lib);
	return differs;
}
