/* dump_symbols.h - the names of the code in a jitdump, by where the code stands in it. */
#ifndef SB_DUMP_SYMBOLS_H
#define SB_DUMP_SYMBOLS_H

#include "binary/symbol_table.h"

struct dump_symbols {
	struct symbol_table table; /* by offset in the file; names point into bytes */
	uint8_t *bytes;            /* mapped */
	size_t size;
};

/* Reads the dump behind @fd, which is not needed any more afterwards; @path is what it is called. What cannot
 * be read has no names. Zero or -sbe_nomem; to be ended by dump_symbols_fini() in any case. */
int dump_symbols_load(struct dump_symbols *symbols, int fd, const char *path);
void dump_symbols_fini(struct dump_symbols *symbols);

#endif
