/* symbol_table.h - symbols sorted so that an address finds its own in O(log n).
 *
 * Filled once, in any order, with overlaps and aliases; then sealed, which lays the symbols out as segments
 * that do not overlap; immutable afterwards, but for the names that their owner has made.
 */
#ifndef SB_SYMBOL_TABLE_H
#define SB_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* A name as it is handed out. */
struct symbol_name {
	const char *name, *mangled;
};

/* As it is in a file, until somebody asks for it. */
struct lazy_name {
	const char *raw;                /* not owned; NULL: none */
	const struct symbol_name *made; /* NULL: not yet */
};

/* From the best one on; the numbers are what is compared. */
enum symbol_binding { symbol_global, symbol_weak, symbol_local };

struct table_symbol {
	uint64_t begin; /* first: what is sorted by */
	uint64_t end;   /* exclusive; begin: not known */
	uint64_t limit; /* when the end is not known: it is not above this */
	struct lazy_name name;
	uint8_t binding;  /* enum symbol_binding */
	uint8_t is_label; /* not said to be a function */
	uint8_t is_plt;   /* the entry of a procedure linkage table for the function of that name */
	uint16_t owner;   /* for who owns the table: what it belongs to */
};

/* From begin to the next segment's. */
struct table_segment {
	uint64_t begin;  /* first: what is searched by */
	uint32_t symbol; /* or NO_SYMBOL */
};

#define NO_SYMBOL UINT32_MAX

struct symbol_table {
	struct table_symbol *symbol; /* owned; sorted by begin once sealed */
	size_t nsymbols, symbol_capacity;
	struct table_segment *segment; /* owned; sorted */
	size_t nsegments, segment_capacity;
};

/* Zero or -sbe_nomem. Empty symbols that end before they begin are ignored. */
int symbol_table_add(struct symbol_table *table, const struct table_symbol *symbol);
int symbol_table_seal(struct symbol_table *table);
void symbol_table_fini(struct symbol_table *table);

/* The symbol at @address, or NULL, and around it in which addresses [*low, *high) this is the answer. */
struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *low,
                                       uint64_t *high);

#endif
