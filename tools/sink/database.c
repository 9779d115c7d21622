/* database.c - see database.h. */
#include "sink/database.h"

#include <errno.h>
#include <sys/stat.h>

enum { rows_at_once = 20000 };

static int failed(struct database *database)
{
	return output_fail(database->output, EIO,
	                   database->file ? sqlite3_errmsg(database->file) : "SQLite: out of memory");
}

/* What it grew by is written; a limit may say that this was too much. */
static int count_growth(struct database *database)
{
	const uint64_t before = database->size;
	struct stat st;

	if (fstat(database->output->fd, &st))
		return output_fail(database->output, errno, "");
	database->size = (uint64_t)st.st_size;
	return output_count(database->output, database->size > before ? database->size - before : 0);
}

int database_open(struct database *database, struct output *output)
{
	const char *path = output->temporary ? output->temporary : output->path;

	*database = (struct database){.output = output};
	if (sqlite3_open_v2(path, &database->file, SQLITE_OPEN_READWRITE, "unix-none") == SQLITE_OK &&
	    !database_run(database,
	                  "PRAGMA page_size = 8192; PRAGMA cache_size = -2000; PRAGMA journal_mode = OFF;"
	                  "PRAGMA synchronous = OFF; PRAGMA secure_delete = ON; BEGIN"))
		return 0;
	failed(database);
	database_close(database);
	return -1;
}

int database_run(struct database *database, const char *sql)
{
	return sqlite3_exec(database->file, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(database);
}

int database_prepare(struct database *database, sqlite3_stmt **statement, const char *sql)
{
	return sqlite3_prepare_v3(database->file, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) ==
	                       SQLITE_OK
	               ? 0
	               : failed(database);
}

static int commit(struct database *database, const char *sql)
{
	database->waiting = 0;
	return database_run(database, sql) || count_growth(database) ? -1 : 0;
}

static int bind(sqlite3_stmt *statement, int at, const struct database_value *value)
{
	if (!value->is_text)
		return sqlite3_bind_int64(statement, at, value->number);
	return value->text ? sqlite3_bind_text(statement, at, value->text, -1, SQLITE_STATIC)
	                   : sqlite3_bind_null(statement, at);
}

int database_insert(struct database *database, sqlite3_stmt *statement, const struct database_value *value,
                    size_t count)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < count && code == SQLITE_OK; i++)
		code = bind(statement, (int)i + 1, &value[i]);
	if (code == SQLITE_OK && sqlite3_step(statement) != SQLITE_DONE)
		code = SQLITE_ERROR;
	/* The texts are the caller's: they are let go. */
	if (sqlite3_reset(statement) != SQLITE_OK || sqlite3_clear_bindings(statement) != SQLITE_OK ||
	    code != SQLITE_OK)
		return failed(database);
	return ++database->waiting < rows_at_once ? 0 : commit(database, "COMMIT; BEGIN");
}

int database_finish(struct database *database)
{
	if (commit(database, "COMMIT"))
		return -1;
	if (sqlite3_close(database->file) != SQLITE_OK)
		return failed(database);
	database->file = NULL;
	return count_growth(database);
}

void database_close(struct database *database)
{
	sqlite3_close(database->file);
	database->file = NULL;
}
