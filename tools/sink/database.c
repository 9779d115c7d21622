/* database.c - see database.h. */
#include "sink/database.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { rows_at_once = 20000 };

static int failed(struct database *database)
{
	return output_fail(database->output, EIO,
	                   database->file ? database->sqlite.errmsg(database->file)
	                                  : "SQLite: out of memory");
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

/* The library stays until the process ends. */
static int load(struct database *database)
{
	void *const library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
#define WANTED(name) {"sqlite3_" #name, &database->sqlite.name},
	        DATABASE_FUNCTIONS(WANTED)
#undef WANTED
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *const found = library ? dlsym(library, wanted[i].name) : NULL;

		if (!found)
			return output_fail(database->output, ELIBACC, dlerror());
		memcpy(wanted[i].to, &found, sizeof(found));
	}
	return 0;
}

int database_open(struct database *database, struct output *output)
{
	const char *path = output->temporary ? output->temporary : output->path;
	struct stat st;

	*database = (struct database){.output = output};
	/* It is read while it is written. */
	if (fstat(output->fd, &st) || !S_ISREG(st.st_mode))
		return output_fail(output, EINVAL, "expected a regular file");
	if (load(database))
		return -1;
	/* Nobody asks how much memory it has; if it was in use before, it counts that, and is slower. */
	database->sqlite.config(SQLITE_CONFIG_MEMSTATUS, 0);
	/* One thread at a time has the database. */
	if (database->sqlite.open_v2(path, &database->file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
	                             "unix-none") == SQLITE_OK &&
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
	return database->sqlite.exec(database->file, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
	                                                                                 : failed(database);
}

int database_prepare(struct database *database, sqlite3_stmt **statement, const char *sql)
{
	return database->sqlite.prepare_v3(database->file, sql, -1, SQLITE_PREPARE_PERSISTENT, statement,
	                                   NULL) == SQLITE_OK
	               ? 0
	               : failed(database);
}

static int commit(struct database *database, const char *sql)
{
	database->waiting = 0;
	return database_run(database, sql) || count_growth(database) ? -1 : 0;
}

static int bind(struct database *database, sqlite3_stmt *statement, int at,
                const struct database_value *value)
{
	if (!value->is_text)
		return database->sqlite.bind_int64(statement, at, value->number);
	return value->text ? database->sqlite.bind_text(statement, at, value->text, -1, SQLITE_STATIC)
	                   : database->sqlite.bind_null(statement, at);
}

void database_finalize(struct database *database, sqlite3_stmt *statement)
{
	if (statement)
		database->sqlite.finalize(statement);
}

int database_insert(struct database *database, sqlite3_stmt *statement, const struct database_value *value,
                    size_t count)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < count && code == SQLITE_OK; i++)
		code = bind(database, statement, (int)i + 1, &value[i]);
	if (code == SQLITE_OK && database->sqlite.step(statement) != SQLITE_DONE)
		code = SQLITE_ERROR;
	/* The texts are the caller's, and stay bound: nobody looks at them before others are. */
	if (database->sqlite.reset(statement) != SQLITE_OK || code != SQLITE_OK)
		return failed(database);
	return ++database->waiting < rows_at_once ? 0 : commit(database, "COMMIT; BEGIN");
}

int database_finish(struct database *database)
{
	if (commit(database, "COMMIT"))
		return -1;
	if (database->sqlite.close(database->file) != SQLITE_OK)
		return failed(database);
	database->file = NULL;
	return count_growth(database);
}

void database_close(struct database *database)
{
	if (database->file)
		database->sqlite.close(database->file);
	database->file = NULL;
}
