/* kallsyms.h - /proc/kallsyms as it was on the recorded machine: lines of address, type, name and module;
 * proc(5). The copy may be compressed.
 */
#ifndef SB_KALLSYMS_H
#define SB_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>

struct kallsyms_line {
	uint64_t address;
	char *name;
	char *module; /* "[name]"; NULL: the kernel itself */
	char type;    /* as nm(1) has it: upper case is global */
};

/* The file as a whole, with a zero behind it; *text is to be freed. See text_file_read(). */
int kallsyms_read(const char *path, char **text, size_t *size, struct sb_error *err);

/* Takes the next line of [*rest, end) apart, in place: a text as kallsyms_read() has it. Zero: there is none.
 */
int kallsyms_next(char **rest, char *end, struct kallsyms_line *line);

/* A name that is looked for. */
struct kallsyms_name {
	const char *name;
	uint64_t address;
	int found; /* 0: not; 1: one address; 2: several, of which nobody knows which is meant */
	int global;
};

/* Finds names - those of @name, sorted by strcmp() -, global ones, or else those of modules, of which not
 * every kernel tells what is global. Zero or a negative code. */
int kallsyms_find_names(const char *path, struct kallsyms_name *name, size_t count);

/* All lines of a file, for who asks more often. Immutable. */
struct kallsyms_index {
	char *text;                 /* owned */
	struct kallsyms_line *line; /* owned; sorted by name */
	size_t count;
};

/* Zero or a negative code. */
int kallsyms_index_init(struct kallsyms_index *index, const char *path);
void kallsyms_index_fini(struct kallsyms_index *index); /* zeroed is fine */

/* The first line of that name; its equals follow, up to index->line + index->count. NULL: there is none. */
const struct kallsyms_line *kallsyms_index_lines(const struct kallsyms_index *index, const char *name);

/* The address of a name as kallsyms_find_names() finds it; zero: it is not there, or not certain. */
uint64_t kallsyms_index_find(const struct kallsyms_index *index, const char *name);

/* *address: that of the first symbol of the list @names (NULL ends it) that the file has; zero when it has
 * none, or says no addresses. Zero, or a negative code: it cannot be read, or has no symbols. @err may be
 * NULL. */
int kallsyms_find(const char *path, const char *const *names, uint64_t *address, struct sb_error *err);

#endif
