/* symbol_at [OPTIONS] FILE: for each hexadecimal address on standard input, "ADDRESS SYMBOL+0xOFFSET", or
 * "ADDRESS -": what libsb makes of a file that other tools look into, too.
 *
 *   -D DIR        a directory of build-ids
 *   -R DIR        the root, without this machine's; FILE is below it
 *   -m            names as they are, not demangled
 *   -o            addresses are offsets in FILE
 *   -k            FILE is a copy of /proc/kallsyms
 *   -v OFFSET     FILE is a vmlinux that was moved by so much
 *   -M NAME,BASE  FILE is the kernel module of that name, at that address
 *   -p            FILE is ignored: the lines hold names, which are demangled */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/symbols.h>

struct arguments {
	const char *root, *build_id_dir, *module, *path;
	int no_demangle, offsets, kallsyms, vmlinux, demangle;
	uint64_t offset;
};

static int fail(const struct sb_error *err)
{
	char text[1024];

	fprintf(stderr, "symbol_at: %s\n", sb_error_string(err, text, sizeof(text)));
	return 1;
}

static int open_symbols(const struct arguments *arguments, struct sb_resolver **resolver,
                        struct sb_symbols **symbols, struct sb_error *err)
{
	const struct sb_root root = {.layer = &arguments->root, .nlayers = 1};
	const struct sb_resolver_options where = {.size = sizeof(where),
	                                          .root = &root,
	                                          .nroots = arguments->root != NULL,
	                                          .no_host_root = arguments->root != NULL,
	                                          .build_id_dir = &arguments->build_id_dir,
	                                          .nbuild_id_dirs = arguments->build_id_dir != NULL};
	const struct sb_symbols_options options = {.size = sizeof(options),
	                                           .no_demangle = arguments->no_demangle};
	int status = sb_resolver_open(resolver, &where, err);
	char name[64] = "";
	uint64_t base = 0;

	if (status == 0)
		status = sb_symbols_new(symbols, *resolver, &options, err);
	if (status < 0)
		return status;
	if (arguments->kallsyms)
		return sb_symbols_add_kallsyms(*symbols, arguments->path, err);
	if (arguments->vmlinux)
		return sb_symbols_add_vmlinux(*symbols, arguments->path, arguments->offset, err);
	if (!arguments->module)
		return 0;
	if (sscanf(arguments->module, "%63[^,],%" SCNx64, name, &base) != 2)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "expected NAME,BASE");
	return sb_symbols_add_module(*symbols, arguments->path, name, base, err);
}

static int find(const struct arguments *arguments, struct sb_symbols *symbols, uint64_t address,
                struct sb_symbol *symbol, struct sb_error *err)
{
	const struct sb_symbols_place place = {.pid = -1, .ip = address};

	if (arguments->kallsyms || arguments->vmlinux || arguments->module)
		return sb_symbols_find(symbols, &place, symbol, err);
	return sb_symbols_find_in_file(symbols, arguments->path, address,
	                               arguments->offsets ? sb_address_offset : sb_address_linked, symbol,
	                               err);
}

static int answer(const struct arguments *arguments, struct sb_symbols *symbols, struct sb_error *err)
{
	struct sb_symbol symbol;
	uint64_t address;

	while (scanf("%" SCNx64, &address) == 1) {
		if (find(arguments, symbols, address, &symbol, err) < 0)
			return -1;
		if (symbol.low > address || symbol.high <= address)
			return sb_error_set(err, -sbe_format, NULL, UINT64_MAX,
			                    "0x%" PRIx64 " is out of its bounds", address);
		if (symbol.name)
			printf("%" PRIx64 " %s+0x%" PRIx64 "\n", address, symbol.name,
			       address - symbol.begin);
		else
			printf("%" PRIx64 " -\n", address);
	}
	return 0;
}

static int demangle_lines(void)
{
	static char line[1 << 16], readable[1 << 16];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		puts(sb_demangle(line, readable, sizeof(readable)) ? readable : line);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct sb_resolver *resolver = NULL;
	struct sb_symbols *symbols = NULL;
	struct sb_error err = {0};
	int letter, status;

	while ((letter = getopt(argc, argv, "D:R:mokv:M:p")) != -1) {
		switch (letter) {
		case 'D':
			arguments.build_id_dir = optarg;
			break;
		case 'R':
			arguments.root = optarg;
			break;
		case 'm':
			arguments.no_demangle = 1;
			break;
		case 'o':
			arguments.offsets = 1;
			break;
		case 'k':
			arguments.kallsyms = 1;
			break;
		case 'v':
			arguments.vmlinux = 1;
			arguments.offset = strtoull(optarg, NULL, 0);
			break;
		case 'M':
			arguments.module = optarg;
			break;
		case 'p':
			arguments.demangle = 1;
			break;
		default:
			return 2;
		}
	}
	if (arguments.demangle)
		return demangle_lines();
	if (optind + 1 != argc)
		return 2;
	arguments.path = argv[optind];
	status = open_symbols(&arguments, &resolver, &symbols, &err);
	if (status == 0)
		status = answer(&arguments, symbols, &err);
	sb_symbols_free(symbols);
	sb_resolver_free(resolver);
	return status < 0 ? fail(&err) : 0;
}
