/* tools/sink/database.h - an SQLite database as an output: rows in the order in which they come.
 *
 * SQLite writes the file itself, under the output's temporary name; the output's lock keeps others out, so
 * SQLite takes none. The same rows give the same bytes: what is not used of a page is zero. Memory is
 * bounded: pages go to the file as they come, without a journal, for what is not finished is thrown away.
 * Whatever fails makes the output broken, with SQLite's words.
 *
 * The library is loaded when a database is wanted: with the one for mathematics, which it brings along, that
 * takes as long as a twentieth of a short replay.
 */
#ifndef TOOLS_SINK_DATABASE_H
#define TOOLS_SINK_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "output.h"

/* Those of SQLite's functions that are used. */
#define DATABASE_FUNCTIONS(X)                                                                                \
	X(bind_int64)                                                                                        \
	X(bind_null)                                                                                         \
	X(bind_text)                                                                                         \
	X(close)                                                                                             \
	X(config)                                                                                            \
	X(errmsg)                                                                                            \
	X(exec)                                                                                              \
	X(finalize)                                                                                          \
	X(open_v2)                                                                                           \
	X(prepare_v3)                                                                                        \
	X(reset)                                                                                             \
	X(step)

struct database_functions {
#define DATABASE_FUNCTION(name) __typeof__(sqlite3_##name) *name;
	DATABASE_FUNCTIONS(DATABASE_FUNCTION)
#undef DATABASE_FUNCTION
};

struct database {
	struct output *output;
	struct database_functions sqlite;
	sqlite3 *file;    /* owned */
	uint64_t waiting; /* rows since the last commit */
	uint64_t size;    /* of the file, as it was counted */
};

/* Of a column. */
struct database_value {
	bool is_text;
	int64_t number;
	const char *text; /* borrowed; NULL: null */
};

static inline struct database_value database_number(uint64_t number)
{
	return (struct database_value){.number = (int64_t)number};
}

static inline struct database_value database_text(const char *text)
{
	return (struct database_value){.is_text = true, .text = text};
}

/* All return zero, or negative: the output is broken. */
int database_open(struct database *database, struct output *output);
int database_run(struct database *database, const char *sql);
int database_prepare(struct database *database, sqlite3_stmt **statement, const char *sql);
/* NULL is fine. */
void database_finalize(struct database *database, sqlite3_stmt *statement);
/* The statement's next row: the values of its @count parameters. */
int database_insert(struct database *database, sqlite3_stmt *statement, const struct database_value *value,
                    size_t count);
/* Whatever was inserted is in the file, and the file is closed; statements must be finalized before. */
int database_finish(struct database *database);
/* Closes it as it is; may be done twice, and to a database that is all zero. */
void database_close(struct database *database);

#endif
