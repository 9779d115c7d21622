/* line_at [OPTIONS] FILE: for each hexadecimal address on standard input, "ADDRESS FILE:LINE", or "ADDRESS
 * -": what libsb makes of a file that other tools look into, too.
 *
 *   -D DIR   a directory of build-ids
 *   -f       no addresses: all functions, "ADDRESS NAME FILE:LINE"
 *   -l       no addresses: all lines, "ADDRESS FILE:LINE" of the first address of each stretch */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <sb/source_lines.h>

static int put_place(const char *file, uint32_t line)
{
	if (file)
		printf(" %s:%" PRIu32 "\n", file, line);
	else
		puts(" -");
	return 0;
}

static int put_line(void *context, const struct sb_source_line *line)
{
	(void)context;
	printf("%" PRIx64, line->low);
	return put_place(line->file, line->line);
}

static int put_function(void *context, const struct sb_source_function *function)
{
	(void)context;
	printf("%" PRIx64 " %s", function->entry, function->name);
	return put_place(function->file, function->line);
}

static int answer(struct sb_source_lines *lines, const struct sb_map *map, struct sb_error *err)
{
	struct sb_source_line line;
	uint64_t address;

	while (scanf("%" SCNx64, &address) == 1) {
		if (sb_source_lines_find_linked(lines, map, address, &line, err) < 0)
			return -1;
		if (line.low > address || line.high <= address)
			return sb_error_set(err, -sbe_format, NULL, UINT64_MAX,
			                    "0x%" PRIx64 " is out of its bounds", address);
		printf("%" PRIx64, address);
		put_place(line.file, line.line);
	}
	return 0;
}

static int run(const struct sb_resolver_options *options, const struct sb_map *map,
               const struct sb_source_walk *walk, struct sb_error *err)
{
	struct sb_resolver *resolver = NULL;
	struct sb_source_lines *lines = NULL;
	int status = sb_resolver_open(&resolver, options, err);

	if (status == 0)
		status = sb_source_lines_new(&lines, resolver, err);
	if (status == 0 && (walk->line || walk->function))
		status = sb_source_lines_walk(lines, map, walk, err);
	else if (status == 0)
		status = answer(lines, map, err);
	sb_source_lines_free(lines);
	sb_resolver_free(resolver);
	return status;
}

int main(int argc, char **argv)
{
	const char *build_id_dir = NULL;
	struct sb_source_walk walk = {0};
	struct sb_map map = {.end = UINT64_MAX};
	struct sb_error err = {0};
	char text[1024];
	int letter;

	while ((letter = getopt(argc, argv, "D:fl")) != -1) {
		if (letter == 'D')
			build_id_dir = optarg;
		else if (letter == 'f')
			walk.function = put_function;
		else if (letter == 'l')
			walk.line = put_line;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	map.filename = argv[optind];
	if (run(&(struct sb_resolver_options){.size = sizeof(struct sb_resolver_options),
	                                      .build_id_dir = &build_id_dir,
	                                      .nbuild_id_dirs = build_id_dir != NULL},
	        &map, &walk, &err) == 0)
		return 0;
	fprintf(stderr, "line_at: %s\n", sb_error_string(&err, text, sizeof(text)));
	return 1;
}
