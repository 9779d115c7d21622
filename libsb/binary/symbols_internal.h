/* symbols_internal.h - what the sources of symbols share. */
#ifndef SB_SYMBOLS_INTERNAL_H
#define SB_SYMBOLS_INTERNAL_H

#include <sb/symbols.h>

/* @system, which is kept, tells in which container a process was that mapped a file. */
void symbols_set_system(struct sb_symbols *symbols, const struct sb_system *system);

/* The modules that @perfdata and that system name. */
int symbols_add_modules(struct sb_symbols *symbols, const struct sb_perfdata *perfdata, struct sb_error *err);

/* Where files are found. */
const struct sb_resolver *symbols_resolver(const struct sb_symbols *symbols);

#endif
