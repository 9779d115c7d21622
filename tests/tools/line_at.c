/* line_at [OPTIONS] FILE: for each hexadecimal address on standard input, "ADDRESS FILE:LINE", or "ADDRESS
 * -": what libsb makes of a file that other tools look into, too.
 *
 *   -D DIR   a directory of build-ids
 *   -f       no addresses: all functions, "ADDRESS NAME FILE:LINE"
 *   -l       no addresses: all lines, "ADDRESS FILE:LINE" of the first address of each stretch
 *   -r DIR   addresses are the kernel's, in the recording in DIR; FILE is the root with its modules
 *   -v FILE  its vmlinux */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <sb/kernel.h>
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

/* The kernel's lines, where the recording has it. */
struct kernel {
	const char *recording, *vmlinux;
};

static int answer_kernel(struct sb_source_lines *lines, struct sb_error *err)
{
	struct sb_symbols_place place = {.pid = -1};
	struct sb_source_line line;

	while (scanf("%" SCNx64, &place.ip) == 1) {
		if (sb_source_lines_find(lines, &place, &line, err) < 0)
			return -1;
		if (line.low > place.ip || line.high <= place.ip)
			return sb_error_set(err, -sbe_format, NULL, UINT64_MAX,
			                    "0x%" PRIx64 " is out of its bounds", place.ip);
		printf("%" PRIx64, place.ip);
		put_place(line.file, line.line);
	}
	return 0;
}

static int ask_kernel(struct sb_source_lines *lines, const struct kernel *kernel, struct sb_error *err)
{
	struct sb_perfdata *perfdata = NULL;
	struct sb_system *system = NULL;
	int status = sb_perfdata_open(&perfdata, kernel->recording, err);

	if (status == 0)
		status = sb_system_build(&system, perfdata, err);
	if (status == 0 && kernel->vmlinux)
		status = sb_source_lines_add_vmlinux(lines, kernel->vmlinux,
		                                     sb_system_kernel_shift(system, kernel->vmlinux), err);
	if (status == 0)
		status = sb_source_lines_add_recording(lines, perfdata, system, NULL, err);
	if (status == 0)
		status = answer_kernel(lines, err);
	sb_system_free(system);
	sb_perfdata_close(perfdata);
	return status;
}

static int run(const struct sb_resolver_options *options, const struct sb_map *map,
               const struct sb_source_walk *walk, const struct kernel *kernel, struct sb_error *err)
{
	struct sb_resolver *resolver = NULL;
	struct sb_source_lines *lines = NULL;
	int status = sb_resolver_open(&resolver, options, err);

	if (status == 0)
		status = sb_source_lines_new(&lines, resolver, err);
	if (status == 0 && kernel->recording)
		status = ask_kernel(lines, kernel, err);
	else if (status == 0 && (walk->line || walk->function))
		status = sb_source_lines_walk(lines, map, walk, err);
	else if (status == 0)
		status = answer(lines, map, err);
	sb_source_lines_free(lines);
	sb_resolver_free(resolver);
	return status;
}

int main(int argc, char **argv)
{
	const char *build_id_dir = NULL, *root = NULL;
	struct kernel kernel = {0};
	struct sb_source_walk walk = {0};
	struct sb_map map = {.end = UINT64_MAX};
	struct sb_error err = {0};
	char text[1024];
	int letter;

	while ((letter = getopt(argc, argv, "D:flr:v:")) != -1) {
		if (letter == 'D')
			build_id_dir = optarg;
		else if (letter == 'f')
			walk.function = put_function;
		else if (letter == 'l')
			walk.line = put_line;
		else if (letter == 'r')
			kernel.recording = optarg;
		else if (letter == 'v')
			kernel.vmlinux = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	map.filename = root = argv[optind];
	if (run(&(struct sb_resolver_options){.size = sizeof(struct sb_resolver_options),
	                                      .root = &(struct sb_root){.layer = &root, .nlayers = 1},
	                                      .nroots = kernel.recording != NULL,
	                                      .no_host_root = kernel.recording != NULL,
	                                      .build_id_dir = &build_id_dir,
	                                      .nbuild_id_dirs = build_id_dir != NULL},
	        &map, &walk, &kernel, &err) == 0)
		return 0;
	fprintf(stderr, "line_at: %s\n", sb_error_string(&err, text, sizeof(text)));
	return 1;
}
