/* elf_plt.c - the entries of procedure linkage tables, and which function each one is for.
 *
 * An entry jumps through a slot of the global offset table, which a relocation fills with the address of the
 * function: the jump is read, its slot is looked up among the relocations. That holds for all layouts (lazy,
 * .plt.sec of IBT, .plt.got). Formats: System V psABI for x86-64 and i386, "Procedure Linkage Table".
 */
#include "binary/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "bisect.h"
#include "system/arena.h"

enum {
	ENTRY_DEFAULT = 16,
	ENTRY_MIN = 8,
	ENTRY_MAX = 64,
	JUMP_MAX = 8, /* the jump begins within so many bytes of an entry */
};

/* What fills a slot: a symbol, or for IRELATIVE the function at an address. */
struct slot {
	uint64_t address; /* first: what is sorted by */
	const char *name; /* NULL: of the function at @target */
	uint64_t target;
};

struct slots {
	struct slot *slot; /* owned */
	size_t count, capacity;
	uint64_t got; /* what i386 code addresses slots by */
	int machine;
};

/* What sections hold together is no more than there is, unless somebody wants to keep us busy. */
static int is_too_much(const struct elf_image *image, const GElf_Shdr *section, uint64_t *sum)
{
	*sum += section->sh_size;
	return *sum > image->size;
}

/* ---- Relocations ------------------------------------------------------------------------------ */

/* Whether a relocation fills a slot: 1; 2: with what the function at its addend returns. */
static int fills_slot(int machine, uint64_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ? 1
		       : type == R_X86_64_IRELATIVE                            ? 2
		                                                               : 0;
	return type == R_386_JMP_SLOT || type == R_386_GLOB_DAT;
}

/* The symbols that relocations are about. */
struct names {
	Elf_Data *symbols;
	const char *text;
	size_t size;
};

static const char *name_of(const struct names *names, uint64_t index)
{
	GElf_Sym symbol;

	if (!index || index > INT32_MAX || !names->symbols ||
	    !gelf_getsym(names->symbols, (int)index, &symbol) || symbol.st_name >= names->size)
		return NULL;
	return names->text[symbol.st_name] ? names->text + symbol.st_name : NULL;
}

static struct names names_of(const struct elf_image *image, size_t number)
{
	struct names names = {0};
	Elf_Scn *scn = elf_getscn(image->elf, number), *text;
	GElf_Shdr section;

	if (!scn || !gelf_getshdr(scn, &section) ||
	    (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) ||
	    !elf_image_bytes(image, &section))
		return names;
	text = elf_getscn(image->elf, section.sh_link);
	names.symbols = elf_getdata(scn, NULL);
	if (!text || !gelf_getshdr(text, &section))
		return (struct names){0};
	names.text = (const char *)elf_image_bytes(image, &section);
	names.size = section.sh_size;
	if (!names.text || names.text[names.size - 1])
		return (struct names){0};
	return names;
}

static int add_slot(struct slots *slots, const struct slot *slot)
{
	if (array_reserve(&slots->slot, &slots->capacity, slots->count, sizeof(*slot)) < 0)
		return -sbe_nomem;
	slots->slot[slots->count++] = *slot;
	return 0;
}

static int add_relocation(struct slots *slots, const struct names *names, const GElf_Rela *relocation)
{
	struct slot slot = {.address = relocation->r_offset};
	const int how = fills_slot(slots->machine, GELF_R_TYPE(relocation->r_info));

	if (!how)
		return 0;
	if (how == 1)
		slot.name = name_of(names, GELF_R_SYM(relocation->r_info));
	else
		slot.target = (uint64_t)relocation->r_addend;
	return slot.name || slot.target ? add_slot(slots, &slot) : 0;
}

static int read_relocations(struct slots *slots, const struct elf_image *image, Elf_Scn *scn,
                            const GElf_Shdr *section)
{
	const struct names names = names_of(image, section->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL);
	int status = 0;

	for (int i = 0; data && status == 0; ++i) {
		GElf_Rela relocation = {0};
		GElf_Rel without;

		if (section->sh_type == SHT_REL) {
			if (!gelf_getrel(data, i, &without))
				break;
			relocation.r_offset = without.r_offset;
			relocation.r_info = without.r_info;
		} else if (!gelf_getrela(data, i, &relocation)) {
			break;
		}
		status = add_relocation(slots, &names, &relocation);
	}
	return status;
}

static int is_relocations(const GElf_Shdr *section)
{
	return (section->sh_type == SHT_REL || section->sh_type == SHT_RELA) &&
	       (section->sh_flags & SHF_ALLOC);
}

static int read_slots(struct slots *slots, const struct elf_image *image)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	int status = 0;

	while (status == 0 && (scn = elf_nextscn(image->elf, scn))) {
		GElf_Shdr section;

		if (!gelf_getshdr(scn, &section) || !is_relocations(&section) ||
		    !elf_image_bytes(image, &section))
			continue;
		if (is_too_much(image, &section, &sum))
			break;
		status = read_relocations(slots, image, scn, &section);
	}
	return status == 0 ? array_sort(slots->slot, slots->count, sizeof(*slots->slot)) : status;
}

static const struct slot *find_slot(const struct slots *slots, uint64_t address)
{
	struct bisect at = {.high = slots->count};

	while (bisect_more(&at))
		bisect_go(&at, slots->slot[at.middle].address < address);
	return at.low < slots->count && slots->slot[at.low].address == address ? &slots->slot[at.low] : NULL;
}

/* ---- Entries ---------------------------------------------------------------------------------- */

/* The slot that the indirect jump in the entry at @code, which stands at @address, goes through. */
static const struct slot *slot_of_entry(const struct slots *slots, const uint8_t *code, size_t size,
                                        uint64_t address)
{
	for (size_t i = 0; i < JUMP_MAX && i + 6 <= size; ++i) {
		int32_t displacement;

		if (code[i] != 0xff || (code[i + 1] != 0x25 && code[i + 1] != 0xa3))
			continue;
		memcpy(&displacement, code + i + 2, sizeof(displacement));
		if (slots->machine == EM_X86_64)
			return code[i + 1] == 0x25
			               ? find_slot(slots, address + i + 6 + (uint64_t)(int64_t)displacement)
			               : NULL;
		return find_slot(slots, (uint32_t)displacement + (code[i + 1] == 0xa3 ? slots->got : 0));
	}
	return NULL;
}

/* Of the function that is chosen at run time. */
static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	uint64_t low, high;
	const struct table_symbol *symbol = symbol_table_find(table, address, &low, &high);

	return symbol && symbol->begin == address ? symbol->name.raw : NULL;
}

static int add_entry(struct elf_symbols *symbols, const struct slot *slot, uint64_t begin, uint64_t size)
{
	const char *name = slot->name ? slot->name : name_at(&symbols->table, slot->target);
	const struct table_symbol entry = {
	        .begin = begin, .end = begin + size, .name.raw = name, .is_plt = 1};

	return name ? symbol_table_add(&symbols->plt, &entry) : 0;
}

static int read_entries(struct elf_symbols *symbols, const struct slots *slots, const GElf_Shdr *section,
                        const uint8_t *code)
{
	const size_t step = section->sh_entsize >= ENTRY_MIN && section->sh_entsize <= ENTRY_MAX
	                            ? section->sh_entsize
	                            : ENTRY_DEFAULT;
	int status = 0;

	for (uint64_t at = 0; at < section->sh_size && status == 0; at += step) {
		const uint64_t left = section->sh_size - at, size = left < step ? left : step;
		const struct slot *slot = slot_of_entry(slots, code + at, size, section->sh_addr + at);

		if (slot)
			status = add_entry(symbols, slot, section->sh_addr + at, size);
	}
	return status;
}

static int read_tables(struct elf_symbols *symbols, const struct elf_image *image, const struct slots *slots)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	int status = 0;

	while (status == 0 && (scn = elf_nextscn(image->elf, scn))) {
		const uint8_t *code;
		GElf_Shdr section;

		if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_PROGBITS ||
		    strncmp(elf_image_name(image, &section), ".plt", 4) != 0)
			continue;
		code = elf_image_bytes(image, &section);
		if (code && is_too_much(image, &section, &sum))
			break;
		if (code)
			status = read_entries(symbols, slots, &section, code);
	}
	return status;
}

/* What i386 code addresses slots by. */
static uint64_t address_of_got(const struct elf_image *image)
{
	GElf_Shdr section;

	if (elf_image_section(image, ".got.plt", &section) || elf_image_section(image, ".got", &section))
		return section.sh_addr;
	return 0;
}

int elf_symbols_read_plt(struct elf_symbols *symbols, const struct elf_image *image)
{
	struct slots slots = {0};
	GElf_Ehdr header;
	int status;

	if (!gelf_getehdr(image->elf, &header) ||
	    (header.e_machine != EM_X86_64 && header.e_machine != EM_386) || header.e_type == ET_REL)
		return 0;
	slots.machine = header.e_machine;
	slots.got = address_of_got(image);
	status = read_slots(&slots, image);
	if (status == 0)
		status = read_tables(symbols, image, &slots);
	free(slots.slot);
	return status < 0 ? status : symbol_table_seal(&symbols->plt);
}
