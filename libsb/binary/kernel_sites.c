/* kernel_sites.c - see kernel_sites.h. */
#include "binary/kernel_sites.h"

#include <string.h>

#include <sb/error.h>

#include "record/bytes.h"

enum { CALL = 0xe8, JUMP = 0xe9, RETURN = 0xc3, INT3 = 0xcc, HALF_LINE = 0x20, BRANCH_SIZE = 5 };

static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t clear_eax5[] = {0x66, 0x66, 0x48, 0x31,
                                     0xc0}; /* what returns zero, in place of its call */

struct patching {
	struct kernel_code *code;
	const struct kernel_state *state;
};

/* @entry: the table's, if it says more about the place. */
typedef void apply_site(const struct patching *patching, uint64_t site, const uint8_t *entry);

/* ---- What becomes of a place ------------------------------------------------------------------- */

static const uint8_t *code_at(const struct kernel_code *code, uint64_t address)
{
	return code->bytes + (address - code->begin);
}

static uint64_t branch_target(uint64_t address, const uint8_t *bytes)
{
	return address + BRANCH_SIZE + (uint64_t)(int64_t)load_i32(bytes + 1);
}

static void put_branch(struct kernel_code *code, uint64_t site, uint8_t opcode, uint64_t target)
{
	uint8_t bytes[BRANCH_SIZE] = {opcode};

	store_u32(bytes + 1, (uint32_t)(target - site - BRANCH_SIZE));
	kernel_code_put(code, site, bytes, sizeof(bytes));
}

static void apply_return(const struct patching *patching, uint64_t site, const uint8_t *entry)
{
	static const uint8_t plain[BRANCH_SIZE] = {RETURN, INT3, INT3, INT3, INT3};
	const struct kernel_state *state = patching->state;
	const int in_place = state->returns == returns_in_place ||
	                     (state->returns == returns_by_half_line && (site & HALF_LINE));

	(void)entry;
	if (state->returns == returns_unknown || *code_at(patching->code, site) != JUMP)
		kernel_code_forget(patching->code, site, BRANCH_SIZE);
	else if (in_place)
		kernel_code_put(patching->code, site, plain, sizeof(plain));
	else
		put_branch(patching->code, site, JUMP, state->return_thunk);
}

/* With a prefix, or conditional, it has six bytes. */
static void apply_indirect(const struct patching *patching, uint64_t site, const uint8_t *entry)
{
	const uint8_t first = *code_at(patching->code, site);

	(void)entry;
	if (!patching->state->keeps_indirect)
		kernel_code_forget(patching->code, site,
		                   first == CALL || first == JUMP ? BRANCH_SIZE : BRANCH_SIZE + 1);
}

/* Functions are not traced when the kernel boots, and when a module is loaded. */
static void apply_ftrace(const struct patching *patching, uint64_t site, const uint8_t *entry)
{
	(void)entry;
	if (patching->state->may_trace)
		kernel_code_forget(patching->code, site, sizeof(nop5));
	else
		kernel_code_put(patching->code, site, nop5, sizeof(nop5));
}

/* Whether the jump is taken depends on what the kernel did. */
static void apply_jump(const struct patching *patching, uint64_t site, const uint8_t *entry)
{
	const uint8_t *bytes = code_at(patching->code, site);
	const int is_short = bytes[0] == 0xeb || (bytes[0] == 0x66 && bytes[1] == 0x90);

	(void)entry;
	kernel_code_forget(patching->code, site, is_short ? 2 : BRANCH_SIZE);
}

/* What a call becomes whose trampoline leads there. */
static void put_static_call(const struct patching *patching, uint64_t site, uint64_t target)
{
	const struct kernel_state *state = patching->state;

	if (target == state->return_thunk)
		kernel_code_put(patching->code, site, nop5, sizeof(nop5));
	else if (target == state->static_return0)
		kernel_code_put(patching->code, site, clear_eax5, sizeof(clear_eax5));
	else
		put_branch(patching->code, site, CALL, target);
}

/* A static call is built as one of its trampoline, and becomes one of what that leads to. */
static void apply_static_call(const struct patching *patching, uint64_t site, const uint8_t *entry)
{
	const struct kernel_code *text = &patching->state->text;
	const uint8_t *bytes = code_at(patching->code, site);
	const uint64_t trampoline = branch_target(site, bytes);
	const int is_known = bytes[0] == CALL && !patching->code->unknown[site - patching->code->begin] &&
	                     kernel_code_has(text, trampoline, BRANCH_SIZE);
	const uint8_t *there = is_known ? code_at(text, trampoline) : NULL;

	(void)entry;
	if (there && there[0] == JUMP)
		put_static_call(patching, site, branch_target(trampoline, there));
	else if (there && there[0] == RETURN)
		kernel_code_put(patching->code, site, nop5, sizeof(nop5));
	else
		kernel_code_forget(patching->code, site, BRANCH_SIZE);
}

/* struct alt_instr: two offsets, features, and the length behind them. */
static void apply_alternative(const struct patching *patching, uint64_t site, const uint8_t *length)
{
	kernel_code_forget(patching->code, site, *length);
}

/* ---- Tables ------------------------------------------------------------------------------------ */

/* How a table's entries name their places. */
enum naming { naming_relative, naming_absolute };

static const struct table {
	const char *section;
	const char *begin, *end; /* symbols around it, where it has no section of its own */
	size_t entry_size;
	enum naming naming;
	size_t length_at; /* in an entry; 0: the place's length follows from what it is */
	size_t room;      /* the most that is looked at or changed */
	apply_site *apply;
} tables[] = {
        {".return_sites", NULL, NULL, 4, naming_relative, 0, BRANCH_SIZE, apply_return},
        {".retpoline_sites", NULL, NULL, 4, naming_relative, 0, BRANCH_SIZE, apply_indirect},
        {"__mcount_loc", "__start_mcount_loc", "__stop_mcount_loc", 8, naming_absolute, 0, BRANCH_SIZE,
         apply_ftrace},
        {"__jump_table", "__start___jump_table", "__stop___jump_table", 16, naming_relative, 0, 2,
         apply_jump},
        {".static_call_sites", "__start_static_call_sites", "__stop_static_call_sites", 8, naming_relative, 0,
         BRANCH_SIZE, apply_static_call},
        {".parainstructions", NULL, NULL, 16, naming_absolute, 9, 1, apply_alternative},
        {".altinstructions", NULL, NULL, 0, naming_relative, 10, 1, apply_alternative},
};

/* What a table is applied from. */
struct reading {
	const struct patching *patching;
	const struct site_source *source;
	struct table table;
	const uint8_t *bytes;
	uint64_t size;
};

static void apply_at(const struct reading *reading, uint64_t site, uint64_t entry)
{
	if (kernel_code_has(reading->patching->code, site, reading->table.room))
		reading->table.apply(reading->patching, site,
		                     reading->bytes + entry + reading->table.length_at);
}

/* ---- Tables of modules: relocations say where ------------------------------------------------------ */

static const uint8_t *section_bytes(const struct elf_image *image, const char *name, GElf_Shdr *header)
{
	return elf_image_section(image, name, header) ? elf_image_bytes(image, header) : NULL;
}

/* The relocations of the section of that name: *count of them. */
static const Elf64_Rela *relocations_of(const struct elf_image *image, const char *name, size_t *count)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header, target;

	*count = 0;
	while ((scn = elf_nextscn(image->elf, scn))) {
		const uint8_t *bytes;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA ||
		    !gelf_getshdr(elf_getscn(image->elf, header.sh_info), &target) ||
		    strcmp(elf_image_name(image, &target), name) != 0)
			continue;
		bytes = elf_image_bytes(image, &header);
		*count = bytes ? header.sh_size / sizeof(Elf64_Rela) : 0;
		return (const Elf64_Rela *)(const void *)bytes;
	}
	return NULL;
}

static Elf64_Rela relocation(const Elf64_Rela *rela, size_t index)
{
	Elf64_Rela copy;

	memcpy(&copy, (const char *)rela + index * sizeof(copy), sizeof(copy));
	return copy;
}

/* Each entry's first two fields are relocated. */
static int fits_relocations(const Elf64_Rela *rela, size_t count, uint64_t size, size_t entry_size)
{
	int fits = size % entry_size == 0;

	for (size_t i = 0; i < count && fits; ++i) {
		const uint64_t at = relocation(rela, i).r_offset % entry_size;

		fits = at == 0 || at == 4;
	}
	return fits;
}

static int apply_module_table(struct reading *reading, const Elf64_Rela *rela, size_t count)
{
	const struct table *table = &reading->table;

	for (size_t i = 0; i < count; ++i) {
		const Elf64_Rela one = relocation(rela, i);
		uint64_t site;

		if (one.r_offset % table->entry_size)
			continue;
		if (one.r_offset > reading->size || reading->size - one.r_offset < table->entry_size)
			return -sbe_format;
		site = reading->source->target(reading->source->context, &one);
		apply_at(reading, site, one.r_offset);
	}
	return 0;
}

/* ---- Tables of a linked file: they hold addresses -------------------------------------------------- */

/* Where the bytes stand that were linked for @address, up to @end; NULL: nowhere. */
static const uint8_t *linked_bytes(const struct elf_image *image, uint64_t address, uint64_t end)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(image->elf, scn)))
		if (gelf_getshdr(scn, &header) && (header.sh_flags & SHF_ALLOC) &&
		    address >= header.sh_addr && end >= address && end - header.sh_addr <= header.sh_size) {
			const uint8_t *bytes = elf_image_bytes(image, &header);

			return bytes ? bytes + (address - header.sh_addr) : NULL;
		}
	return NULL;
}

/* Where the table was linked to. Zero: it is not there; or a negative code. */
static int find_linked_table(struct reading *reading, uint64_t *address)
{
	const struct site_source *source = reading->source;
	uint64_t begin, end;
	GElf_Shdr header;

	reading->bytes = section_bytes(source->image, reading->table.section, &header);
	if (reading->bytes) {
		*address = header.sh_addr;
		reading->size = header.sh_size;
		return 1;
	}
	if (!reading->table.begin)
		return 0;
	begin = source->symbol(source->context, reading->table.begin) - source->shift;
	end = source->symbol(source->context, reading->table.end) - source->shift;
	reading->bytes = linked_bytes(source->image, begin, end);
	*address = begin;
	reading->size = end - begin;
	return reading->bytes ? 1 : -sbe_not_found;
}

static uint64_t linked_site(const struct reading *reading, uint64_t address, uint64_t entry)
{
	const uint8_t *bytes = reading->bytes + entry;

	if (reading->table.naming == naming_absolute)
		return load_u64(bytes) + reading->source->shift;
	return address + entry + (uint64_t)(int64_t)load_i32(bytes) + reading->source->shift;
}

/* Whether each entry of .altinstructions leads to a replacement. */
static int fits_replacements(const struct reading *reading, uint64_t address, size_t entry_size)
{
	GElf_Shdr header;
	int fits = reading->size % entry_size == 0 &&
	           elf_image_section(reading->source->image, ".altinstr_replacement", &header);

	for (uint64_t i = 0; fits && i < reading->size; i += entry_size) {
		const uint64_t to = address + i + 4 + (uint64_t)(int64_t)load_i32(reading->bytes + i + 4);

		fits = to >= header.sh_addr && to - header.sh_addr <= header.sh_size;
	}
	return fits;
}

/* ---- Both ---------------------------------------------------------------------------------------- */

/* struct alt_instr grew: the features had 16 bits, a length of padding came and went. */
static const struct {
	size_t entry_size, length_at;
} alternatives[] = {{12, 10}, {14, 12}, {13, 10}};

static int apply_module_tables(struct reading *reading)
{
	GElf_Shdr header;
	size_t count, i = 0;
	const Elf64_Rela *rela = relocations_of(reading->source->image, reading->table.section, &count);

	reading->bytes = section_bytes(reading->source->image, reading->table.section, &header);
	if (!reading->bytes || !rela)
		return 0;
	reading->size = header.sh_size;
	if (reading->table.entry_size)
		return apply_module_table(reading, rela, count);
	while (i < 3 && !fits_relocations(rela, count, header.sh_size, alternatives[i].entry_size))
		i += 1;
	if (i == 3)
		return -sbe_format;
	reading->table.entry_size = alternatives[i].entry_size;
	reading->table.length_at = alternatives[i].length_at;
	return apply_module_table(reading, rela, count);
}

static int apply_linked_tables(struct reading *reading)
{
	uint64_t address;
	size_t i = 0;
	const int status = find_linked_table(reading, &address);

	if (status <= 0)
		return status;
	if (!reading->table.entry_size) {
		while (i < 3 && !fits_replacements(reading, address, alternatives[i].entry_size))
			i += 1;
		if (i == 3)
			return -sbe_format;
		reading->table.entry_size = alternatives[i].entry_size;
		reading->table.length_at = alternatives[i].length_at;
	}
	for (uint64_t entry = 0; reading->size - entry >= reading->table.entry_size;
	     entry += reading->table.entry_size)
		apply_at(reading, linked_site(reading, address, entry), entry);
	return 0;
}

int kernel_sites_apply(struct kernel_code *code, const struct site_source *source,
                       const struct kernel_state *state)
{
	const struct patching patching = {.code = code, .state = state};
	int status = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && status == 0; ++i) {
		struct reading reading = {.patching = &patching, .source = source, .table = tables[i]};

		status = source->target ? apply_module_tables(&reading) : apply_linked_tables(&reading);
	}
	return status;
}
