/* symbols.c - see sb/symbols.h: asks the sources in turn, and makes the names that are handed out. */
#include <sb/symbols.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "binary/perf_map.h"
#include "binary/dump_symbols.h"
#include "binary/elf_symbols.h"
#include "binary/resolver.h"
#include "binary/symbol_kernel.h"
#include "binary/symbols_internal.h"
#include "binary/text_file.h"
#include "system/string_table.h"

enum {
	NAME_MOST = 4096,      /* bytes of a name; what is behind them is cut off */
	DEMANGLED_MOST = 8192, /* a name that would be longer is left as it is */
	KERNEL_PID = -1
};

/* A file, whoever maps it. */
struct symbol_file {
	struct symbol_file *next; /* of the same slot */
	char *path;
	struct elf_symbols elf;
	struct dump_symbols dump; /* it is a jitdump */
};

/* What was announced for one process, or for the kernel. */
struct process_names {
	struct process_names *next; /* of the same slot */
	int32_t pid;
	struct symbol_ranges ranges; /* with times */
	struct symbol_ranges map;    /* of its perf map file, without */
	char *map_text;              /* owned */
	int map_tried;
};

enum { SLOTS = 1024, LATELY = 64 };

/* A mapping of a file that was asked for lately, and what was found for it. */
struct known_map {
	struct sb_map map;
	uint32_t scope;
	const char *dso; /* its name, among .strings; NULL: none was asked for */
	const struct sb_binary *binary;
	struct symbol_file *file; /* NULL: it is missing */
};

struct sb_symbols {
	pthread_mutex_t lock; /* for all of it: what was handed out does not change any more */
	struct sb_resolver *resolver;
	const struct sb_system *system; /* borrowed; tells who is in which container; NULL: nobody is */
	int no_demangle;
	char *kcore; /* owned; as options had it */
	struct symbol_file *file[SLOTS];
	struct symbol_file *lately[LATELY]; /* by where its name was when it was asked for; NULL: none */
	struct known_map map[LATELY];       /* by where it was */
	const char *kept;                   /* the .dso of the last one: that needs not be kept again */
	struct process_names *process[SLOTS];
	struct symbol_kernel kernel;
	struct string_table strings; /* all that is handed out */
	struct arena names;
};

static int no_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Life --------------------------------------------------------------------------------------- */

int sb_symbols_new(struct sb_symbols **result, struct sb_resolver *resolver,
                   const struct sb_symbols_options *options, struct sb_error *err)
{
	struct sb_symbols_options given = {0};
	struct sb_symbols *symbols;
	uint64_t seed = 0;

	if (!result || !resolver || (options && options->size < sizeof(options->size)))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_symbols_new: no resolver");
	if (options)
		memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
	symbols = calloc(1, sizeof(*symbols));
	if (symbols && given.kcore)
		symbols->kcore = strdup(given.kcore);
	if (symbols && ((given.kcore && !symbols->kcore) || pthread_mutex_init(&symbols->lock, NULL))) {
		free(symbols->kcore);
		free(symbols);
		symbols = NULL;
	}
	if (!symbols)
		return no_memory(err);
	/* Without it, names may collide: slower, not wrong. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = (uintptr_t)symbols;
	string_table_init(&symbols->strings, seed);
	symbols->resolver = resolver;
	symbols->no_demangle = given.no_demangle;
	*result = symbols;
	return 0;
}

static void free_files(struct symbol_file *file)
{
	while (file) {
		struct symbol_file *next = file->next;

		elf_symbols_fini(&file->elf);
		dump_symbols_fini(&file->dump);
		free(file->path);
		free(file);
		file = next;
	}
}

static void free_processes(struct process_names *process)
{
	while (process) {
		struct process_names *next = process->next;

		symbol_ranges_fini(&process->ranges);
		symbol_ranges_fini(&process->map);
		free(process->map_text);
		free(process);
		process = next;
	}
}

void sb_symbols_free(struct sb_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < SLOTS; ++i) {
		free_files(symbols->file[i]);
		free_processes(symbols->process[i]);
	}
	symbol_kernel_fini(&symbols->kernel);
	string_table_free(&symbols->strings);
	arena_free(&symbols->names);
	free(symbols->kcore);
	pthread_mutex_destroy(&symbols->lock);
	free(symbols);
}

/* ---- Names ------------------------------------------------------------------------------------ */

/* Makes the name that is handed out from the first @length bytes, and what comes behind them. */
static int make_name(struct sb_symbols *symbols, struct lazy_name *name, size_t length, const char *behind)
{
	char raw[NAME_MOST + 8], readable[DEMANGLED_MOST];
	struct symbol_name *made = arena_alloc(&symbols->names, sizeof(*made));

	if (!made)
		return -sbe_nomem;
	snprintf(raw, sizeof(raw), "%.*s", (int)length, name->raw);
	if (symbols->no_demangle || !sb_demangle(raw, readable, sizeof(readable) - strlen(behind)))
		strcpy(readable, raw);
	made->mangled = string_table_keep(&symbols->strings, strcat(raw, behind));
	made->name = string_table_keep(&symbols->strings, strcat(readable, behind));
	if (!made->mangled || !made->name)
		return -sbe_nomem;
	name->made = made;
	return 0;
}

static int hand_out(struct sb_symbol *symbol, const struct lazy_name *name, uint64_t begin)
{
	symbol->name = name->made->name;
	symbol->mangled = name->made->mangled;
	symbol->begin = begin;
	return 0;
}

/* The symbol of a table, which begins at @begin where it was executed. */
static int take_table_symbol(struct sb_symbols *symbols, struct sb_symbol *symbol, struct table_symbol *found,
                             uint64_t begin)
{
	/* "memcpy@@GLIBC_2.14" without its version. */
	const size_t length = 1 + strcspn(found->name.raw + 1, "@");

	if (!found->name.made && make_name(symbols, &found->name, length < NAME_MOST ? length : NAME_MOST - 1,
	                                   found->is_plt ? "@plt" : "") < 0)
		return -sbe_nomem;
	return hand_out(symbol, &found->name, begin);
}

static int take_range(struct sb_symbols *symbols, struct sb_symbol *symbol, struct range_entry *found)
{
	if (!found->name.made &&
	    make_name(symbols, &found->name, strnlen(found->name.raw, NAME_MOST - 1), "") < 0)
		return -sbe_nomem;
	if (found->dso)
		symbol->dso = found->dso;
	return hand_out(symbol, &found->name, found->begin);
}

/* ---- Processes -------------------------------------------------------------------------------- */

static struct process_names **process_slot(struct sb_symbols *symbols, int32_t pid)
{
	struct process_names **slot = &symbols->process[((uint32_t)pid * 0x9e3779b1u) >> 22];

	while (*slot && (*slot)->pid != pid)
		slot = &(*slot)->next;
	return slot;
}

static struct process_names *get_process(struct sb_symbols *symbols, int32_t pid)
{
	struct process_names **slot = process_slot(symbols, pid);

	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	if (*slot)
		(*slot)->pid = pid;
	return *slot;
}

/* A file as the recorded machine called it: where it is, or NULL. */
static int find_file(struct sb_symbols *symbols, const char *name, const struct sb_binary **binary)
{
	const struct sb_map whole = {.end = UINT64_MAX, .filename = name};
	int status = sb_resolver_find(symbols->resolver, &whole, binary, NULL);

	if (status == 0 && (*binary)->missing)
		*binary = NULL;
	return status;
}

static int load_map(struct sb_symbols *symbols, struct process_names *process)
{
	const struct sb_binary *binary;
	char name[64];
	const char *dso;
	size_t size;
	int status;

	process->map_tried = 1;
	snprintf(name, sizeof(name), PERF_MAP_NAME, process->pid);
	dso = string_table_keep(&symbols->strings, name);
	status = dso ? find_file(symbols, name, &binary) : -sbe_nomem;
	if (status < 0 || !binary)
		return status;
	status = text_file_read(binary->path, PERF_MAP_MOST, &process->map_text, &size, NULL);
	if (status == 0)
		status = perf_map_parse(process->map_text, dso, &process->map);
	return status == -sbe_nomem ? status : 0;
}

/* ---- Files ------------------------------------------------------------------------------------ */

static struct symbol_file **file_slot(struct sb_symbols *symbols, const char *path)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	struct symbol_file **slot;

	for (const char *c = path; *c; ++c)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3ull;
	slot = &symbols->file[(hash ^ hash >> 32) % SLOTS];
	while (*slot && strcmp((*slot)->path, path) != 0)
		slot = &(*slot)->next;
	return slot;
}

static struct symbol_file *new_file(const char *path)
{
	struct symbol_file *file = calloc(1, sizeof(*file));

	if (file)
		file->path = strdup(path);
	if (file && !file->path) {
		free(file);
		return NULL;
	}
	return file;
}

/* What a separate debug file is looked for with. */
struct debug_search {
	struct sb_resolver *resolver;
	const struct sb_binary *binary;
};

static int find_debug(void *context, struct elf_image *debug)
{
	const struct debug_search *search = context;
	const char *path;
	int status;

	if (sb_resolver_find_debug(search->resolver, search->binary, &path, NULL) < 0 || !path)
		return -sbe_not_found;
	status = elf_image_open(debug, path);
	return status == -sbe_format ? -sbe_not_found : status;
}

static int load_elf(struct sb_symbols *symbols, struct symbol_file *file, int fd,
                    const struct sb_binary *binary)
{
	struct debug_search search = {symbols->resolver, binary};
	const struct elf_symbols_options options = {.find_debug = find_debug, .context = &search};

	return elf_symbols_load(&file->elf, fd, &options);
}

/* What cannot be read has no symbols. @binary: of ELF files; NULL: a jitdump. */
static int load_file(struct sb_symbols *symbols, struct symbol_file *file, const struct sb_binary *binary)
{
	const int fd = open(file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return 0;
	status =
	        binary ? load_elf(symbols, file, fd, binary) : dump_symbols_load(&file->dump, fd, file->path);
	close(fd);
	return status == -sbe_nomem ? status : 0;
}

static int get_file(struct sb_symbols *symbols, const char *path, const struct sb_binary *binary,
                    struct symbol_file **file)
{
	struct symbol_file **lately = &symbols->lately[(uintptr_t)path / 16 % LATELY], **slot, *loaded;
	int status;

	*file = *lately;
	if (*file && !strcmp((*file)->path, path))
		return 0;
	slot = file_slot(symbols, path);
	loaded = *file = *lately = *slot;
	if (loaded)
		return 0;
	loaded = new_file(path);
	if (!loaded)
		return -sbe_nomem;
	status = load_file(symbols, loaded, binary);
	if (status < 0) {
		free_files(loaded);
		return status;
	}
	*file = *lately = *slot = loaded;
	return 0;
}

/* ---- Finding ---------------------------------------------------------------------------------- */

/* @at is known as @ip elsewhere: what holds in [low, high) around it holds there, too. */
static void narrow_around(struct symbol_bounds *bounds, uint64_t ip, uint64_t at, uint64_t low, uint64_t high)
{
	symbol_bounds_narrow(bounds, at - low < ip ? ip - (at - low) : 0,
	                     high - at < UINT64_MAX - ip ? ip + (high - at) : UINT64_MAX);
}

/* The byte that @file is linked to have at @address is at @ip. */
static int find_linked(struct sb_symbols *symbols, struct symbol_file *file, uint64_t address, uint64_t ip,
                       struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	uint64_t low, high;
	struct table_symbol *found = elf_symbols_find(&file->elf, address, &low, &high);

	narrow_around(bounds, ip, address, low, high);
	return found ? take_table_symbol(symbols, symbol, found, ip - (address - found->begin)) : 0;
}

/* The byte at @offset of @file is at @ip. */
static int find_offset(struct sb_symbols *symbols, struct symbol_file *file, uint64_t offset, uint64_t ip,
                       struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	uint64_t address, low, high;

	if (!elf_codes_address(&file->elf.codes, offset, &address, &low, &high)) {
		symbol_bounds_narrow(bounds, ip, ip + 1);
		return 0;
	}
	narrow_around(bounds, ip, offset, low, high);
	return find_linked(symbols, file, address, ip, symbol, bounds);
}

static struct known_map *slot_of_map(struct sb_symbols *symbols, const struct sb_map *map)
{
	return &symbols->map[((uintptr_t)map * 0x9e3779b97f4a7c15u >> 32) % LATELY];
}

static int is_known(const struct known_map *known, const struct sb_map *map)
{
	return known->dso && !memcmp(&known->map, map, sizeof(*map)) && !strcmp(known->dso, map->filename);
}

static int get_to_know(struct sb_symbols *symbols, struct known_map *known, const struct sb_map *map,
                       uint32_t scope)
{
	int status = sb_resolver_find_in(symbols->resolver, scope, map, &known->binary, NULL);

	known->dso = NULL;
	known->file = NULL;
	if (status < 0)
		return -sbe_nomem;
	if (!known->binary->missing)
		status = get_file(symbols, known->binary->path, known->binary, &known->file);
	if (status < 0)
		return status;
	/* With what is between its members. */
	memcpy(&known->map, map, sizeof(*map));
	known->scope = scope;
	known->dso = string_table_keep(&symbols->strings, map->filename);
	return known->dso ? 0 : -sbe_nomem;
}

/* Many functions of a mapping are asked for, one after the other. Positive: it is none of a file. */
static int find_in_map(struct sb_symbols *symbols, const struct sb_map *map, uint64_t ip,
                       struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	const uint32_t scope = sb_map_scope(symbols->resolver, symbols->system, map);
	struct known_map *known = slot_of_map(symbols, map);
	int status = 0;

	if (!is_known(known, map) || known->scope != scope) {
		if (sb_map_is_anonymous(map->filename))
			return 1;
		status = get_to_know(symbols, known, map, scope);
	}
	if (status < 0)
		return status;
	symbol->dso = symbols->kept = known->dso;
	if (!known->file)
		return 0;
	return find_offset(symbols, known->file, known->binary->offset + (ip - map->begin), ip, symbol,
	                   bounds);
}

/* In what was announced for @pid. */
static int find_in_ranges(struct sb_symbols *symbols, int32_t pid, const struct sb_symbols_place *place,
                          struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	struct process_names *process = *process_slot(symbols, pid);
	struct range_entry *found;
	int status;

	if (!process)
		return 0;
	status = symbol_ranges_find(&process->ranges, place->ip, place->time, &found, bounds);
	return status == 0 && found ? take_range(symbols, symbol, found) : status;
}

static int find_in_perf_map(struct sb_symbols *symbols, const struct sb_symbols_place *place,
                            struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	struct process_names *process = place->pid > 0 ? get_process(symbols, place->pid) : NULL;
	struct range_entry *found;
	int status = 0;

	if (!process)
		return place->pid > 0 ? -sbe_nomem : 0;
	if (!process->map_tried)
		status = load_map(symbols, process);
	if (status == 0)
		status = symbol_ranges_find(&process->map, place->ip, 0, &found, bounds);
	return status == 0 && found ? take_range(symbols, symbol, found) : status;
}

/* In code that the process made, of which the model says where it is in the jitdump. */
static int find_in_dump(struct sb_symbols *symbols, const struct sb_map *code, uint64_t ip,
                        struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	const uint64_t offset = code->pgoff + (ip - code->begin);
	struct table_symbol *found;
	struct symbol_file *file;
	uint64_t low, high;
	int status;

	if (code->origin != sb_map_jit)
		return 0;
	status = get_file(symbols, code->filename, NULL, &file);
	if (status < 0)
		return status;
	found = symbol_table_find(&file->dump.table, offset, &low, &high);
	narrow_around(bounds, ip, offset, low, high);
	return found ? take_table_symbol(symbols, symbol, found, ip - (offset - found->begin)) : 0;
}

/* What a jitdump is called, wherever it is on this machine. */
static const char *dump_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The code that a process made which holds @ip; NULL: none does. */
static const struct sb_map *code_at(const struct sb_epoch *epoch, uint64_t ip, struct symbol_bounds *bounds)
{
	const struct sb_epoch made = {.root = epoch->code};
	const struct sb_map *code = sb_epoch_map(&made, ip);

	if (code && code->begin <= ip) {
		symbol_bounds_narrow(bounds, code->begin, code->end);
		return code;
	}
	/* What lies before @ip is not looked for. */
	if (epoch->code)
		symbol_bounds_narrow(bounds, ip, code ? code->begin : UINT64_MAX);
	return NULL;
}

/* The recorded mapping that holds @ip; NULL: none does. */
static const struct sb_map *map_at(const struct sb_epoch *epoch, uint64_t ip, struct symbol_bounds *bounds)
{
	const struct sb_map *map = sb_epoch_map(epoch, ip);

	if (map && map->begin <= ip) {
		symbol_bounds_narrow(bounds, map->begin, map->end);
		return map;
	}
	symbol_bounds_narrow(bounds, ip, map ? map->begin : UINT64_MAX);
	return NULL;
}

static int find_user(struct sb_symbols *symbols, const struct sb_symbols_place *place,
                     struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	const struct sb_map *code = place->epoch ? code_at(place->epoch, place->ip, bounds) : NULL;
	const struct sb_map *map = place->epoch && !code ? map_at(place->epoch, place->ip, bounds) : code;
	int status;

	if (map)
		symbol->dso = code ? dump_name(code->filename) : map->filename;
	status = find_in_ranges(symbols, place->pid, place, symbol, bounds);
	if (status == 0 && !symbol->name && code)
		status = find_in_dump(symbols, code, place->ip, symbol, bounds);
	if (status < 0 || symbol->name)
		return status;
	status = map && !code ? find_in_map(symbols, map, place->ip, symbol, bounds) : 1;
	return status > 0 ? find_in_perf_map(symbols, place, symbol, bounds) : status;
}

static int find_kernel(struct sb_symbols *symbols, const struct sb_symbols_place *place,
                       struct sb_symbol *symbol, struct symbol_bounds *bounds)
{
	struct table_symbol *found;
	int status;

	status = find_in_ranges(symbols, KERNEL_PID, place, symbol, bounds);
	if (status < 0 || symbol->name)
		return status;
	status = symbol_kernel_find(&symbols->kernel, place->ip, &found, &symbol->dso, bounds);
	if (status < 0 || !found)
		return status;
	return take_table_symbol(symbols, symbol, found, found->begin);
}

/* What is handed out must last, and know its bounds. */
static int finish(struct sb_symbols *symbols, struct sb_symbol *symbol, const struct symbol_bounds *bounds)
{
	symbol->low = bounds->low;
	symbol->high = bounds->high;
	symbol->from = bounds->from;
	symbol->to = bounds->to;
	if (!symbol->dso || symbol->dso == symbols->kept)
		return 0;
	symbol->dso = string_table_keep(&symbols->strings, symbol->dso);
	return symbol->dso ? 0 : -sbe_nomem;
}

static int find(struct sb_symbols *symbols, const struct sb_symbols_place *place, struct sb_symbol *symbol)
{
	/* Whatever is found, or nothing: it holds for processes, or for the kernel. */
	const uint64_t half = (uint64_t)1 << 63;
	struct symbol_bounds bounds = {.high = UINT64_MAX, .to = UINT64_MAX};
	int status;

	*symbol = (struct sb_symbol){0};
	symbol_bounds_narrow(&bounds, place->ip & half, place->ip & half ? UINT64_MAX : half);
	if (is_kernel_address(place->ip))
		status = find_kernel(symbols, place, symbol, &bounds);
	else
		status = find_user(symbols, place, symbol, &bounds);
	return status < 0 ? status : finish(symbols, symbol, &bounds);
}

int sb_symbols_find(struct sb_symbols *symbols, const struct sb_symbols_place *place,
                    struct sb_symbol *symbol, struct sb_error *err)
{
	int status;

	if (!symbols || !place || !symbol)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_symbols_find: no place");
	pthread_mutex_lock(&symbols->lock);
	status = find(symbols, place, symbol);
	pthread_mutex_unlock(&symbols->lock);
	return status < 0 ? no_memory(err) : 0;
}

static int find_in_file(struct sb_symbols *symbols, const char *path, uint64_t address,
                        enum sb_symbols_address kind, struct sb_symbol *symbol)
{
	struct symbol_bounds bounds = {.high = UINT64_MAX, .to = UINT64_MAX};
	const struct sb_binary *binary;
	struct symbol_file *file;
	int status = find_file(symbols, path, &binary);

	*symbol = (struct sb_symbol){.dso = path};
	if (status == 0 && !binary)
		return -sbe_not_found;
	if (status == 0)
		status = get_file(symbols, binary->path, binary, &file);
	if (status == 0 && kind == sb_address_linked)
		status = find_linked(symbols, file, address, address, symbol, &bounds);
	else if (status == 0)
		status = find_offset(symbols, file, address, address, symbol, &bounds);
	return status < 0 ? status : finish(symbols, symbol, &bounds);
}

int sb_symbols_find_in_file(struct sb_symbols *symbols, const char *path, uint64_t address,
                            enum sb_symbols_address kind, struct sb_symbol *symbol, struct sb_error *err)
{
	int status;

	if (!symbols || !path || !symbol)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_symbols_find_in_file: no file");
	pthread_mutex_lock(&symbols->lock);
	status = find_in_file(symbols, path, address, kind, symbol);
	pthread_mutex_unlock(&symbols->lock);
	if (status == -sbe_not_found)
		return sb_error_set(err, status, path, UINT64_MAX, "cannot be found below the roots");
	return status < 0 ? no_memory(err) : 0;
}

/* ---- Sources ---------------------------------------------------------------------------------- */

void symbols_set_system(struct sb_symbols *symbols, const struct sb_system *system)
{
	pthread_mutex_lock(&symbols->lock);
	symbols->system = system;
	pthread_mutex_unlock(&symbols->lock);
}

int symbols_add_modules(struct sb_symbols *symbols, const struct sb_perfdata *perfdata, struct sb_error *err)
{
	int status;

	pthread_mutex_lock(&symbols->lock);
	status = symbol_kernel_add_modules(&symbols->kernel, perfdata, symbols->system, symbols->resolver,
	                                   symbols->kcore);
	pthread_mutex_unlock(&symbols->lock);
	return status < 0 ? no_memory(err) : 0;
}

const struct sb_resolver *symbols_resolver(const struct sb_symbols *symbols)
{
	return symbols->resolver;
}

static int add_range(struct sb_symbols *symbols, const struct sb_symbol_range *range)
{
	struct process_names *process = get_process(symbols, range->pid);
	struct range_entry entry = {
	        .from = range->from, .to = range->to, .begin = range->begin, .end = range->end};
	char name[NAME_MOST];

	if (!process)
		return -sbe_nomem;
	if (range->name) {
		snprintf(name, sizeof(name), "%s", range->name);
		entry.name.raw = string_table_keep(&symbols->strings, name);
	}
	if (range->dso) {
		snprintf(name, sizeof(name), "%s", range->dso);
		entry.dso = string_table_keep(&symbols->strings, name);
	}
	if ((range->name && !entry.name.raw) || (range->dso && !entry.dso))
		return -sbe_nomem;
	return symbol_ranges_add(&process->ranges, &entry);
}

int sb_symbols_add_range(struct sb_symbols *symbols, const struct sb_symbol_range *range,
                         struct sb_error *err)
{
	int status;

	if (!symbols || !range)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_symbols_add_range: no range");
	pthread_mutex_lock(&symbols->lock);
	status = add_range(symbols, range);
	pthread_mutex_unlock(&symbols->lock);
	return status < 0 ? no_memory(err) : 0;
}

int sb_symbols_add_kallsyms(struct sb_symbols *symbols, const char *path, struct sb_error *err)
{
	int status;

	if (!symbols || !path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_symbols_add_kallsyms: no path");
	pthread_mutex_lock(&symbols->lock);
	status = symbol_kernel_add_kallsyms(&symbols->kernel, path, err);
	pthread_mutex_unlock(&symbols->lock);
	return status;
}

static int add_kernel_file(struct sb_symbols *symbols, const char *path, const char *dso, uint64_t offset,
                           uint64_t module_base, struct sb_error *err)
{
	int status;

	if (!symbols || !path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_symbols: no path");
	pthread_mutex_lock(&symbols->lock);
	status = symbol_kernel_add_file(&symbols->kernel, path, dso, offset, module_base, err);
	pthread_mutex_unlock(&symbols->lock);
	return status;
}

int sb_symbols_add_vmlinux(struct sb_symbols *symbols, const char *path, uint64_t offset,
                           struct sb_error *err)
{
	return add_kernel_file(symbols, path, "[kernel.vmlinux]", offset, 0, err);
}

int sb_symbols_add_module(struct sb_symbols *symbols, const char *path, const char *name, uint64_t base,
                          struct sb_error *err)
{
	char dso[80];

	snprintf(dso, sizeof(dso), "[%.70s]", name ? name : "");
	return add_kernel_file(symbols, path, dso, 0, base, err);
}
