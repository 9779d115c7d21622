/* tally_file.c - the file of a tally: see tally.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "count/tally.h"
#include "vector.h"

static const char magic[] = "sbtrace-tally\t1\t";

int tally_write(const struct tally *tally, struct output *output)
{
	const char *format = tally->by == tally_block
	                             ? "%s\t%" PRIx64 "\t%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\n"
	                             : "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n";
	int status = output_printf(output, "%s%s\n", magic, tally_by_name[tally->by]);

	for (size_t i = 0; i < tally->nrows && !status; i++) {
		const struct tally_row *row = &tally->row[i];

		output_printf(output, "%.3900s\t", row->file);
		output_printf(output, "%.3900s", row->name);
		status = output_printf(output, format, "", row->begin, row->end, row->count, row->calls);
	}
	return status;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

struct reader {
	struct tally *tally;
	const char *path;
	FILE *file;
	char *line; /* owned */
	size_t room;
	uint64_t number; /* of the line */
	struct sb_error *err;
};

static int complain(const struct reader *reader, const char *what)
{
	return sb_error_set(reader->err, -sbe_format, reader->path, UINT64_MAX, "line %" PRIu64 ": %s",
	                    reader->number, what);
}

static const char *keep(struct tally *tally, const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = pool_take(&tally->strings, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

/* The next column at *at, which moves behind it; NULL: there is none. */
static char *column(char **at)
{
	return *at ? strsep(at, "\t") : NULL;
}

static int number(char **at, int base, uint64_t *value)
{
	const char *text = column(at);
	char *end;

	if (!text || *text < '0' || *text > 'f')
		return -1;
	errno = 0;
	*value = strtoull(text, &end, base);
	return *end || errno ? -1 : 0;
}

static int read_row(struct reader *reader)
{
	struct tally *tally = reader->tally;
	const int base = tally->by == tally_block ? 16 : 10;
	char *at = reader->line, *file = column(&at), *name = column(&at);
	struct tally_row row;

	if (!file || !name || number(&at, base, &row.begin) || number(&at, base, &row.end) ||
	    number(&at, 10, &row.count) || number(&at, 10, &row.calls) || at)
		return complain(reader, "expected six columns: file, name, begin, end, count, calls");
	row.file = keep(tally, file);
	row.name = keep(tally, name);
	if (!row.file || !row.name ||
	    vector_reserve(&tally->row, &tally->room, tally->nrows, sizeof(*tally->row)))
		return sb_error_set(reader->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (tally->nrows && tally_compare(tally->by, &tally->row[tally->nrows - 1], &row) >= 0)
		return complain(reader, "rows are not in order");
	if (tally->by == tally_block && row.begin >= row.end)
		return complain(reader, "a block ends before it begins");
	tally->row[tally->nrows++] = row;
	return 0;
}

static bool next_line(struct reader *reader)
{
	const ssize_t size = getline(&reader->line, &reader->room, reader->file);

	if (size < 0)
		return false;
	if (size && reader->line[size - 1] == '\n')
		reader->line[size - 1] = '\0';
	reader->number++;
	return true;
}

static int read_kind(struct reader *reader)
{
	for (int by = 0; by < tally_bys; by++)
		if (!strcmp(reader->line + sizeof(magic) - 1, tally_by_name[by])) {
			reader->tally->by = (enum tally_by)by;
			return 0;
		}
	return complain(reader, "expected function, line or block");
}

static int read_rows(struct reader *reader)
{
	char begin[sizeof(magic) - 1];
	int status;

	/* Most recordings are larger than a line should be. */
	if (fread(begin, 1, sizeof(begin), reader->file) != sizeof(begin) ||
	    memcmp(begin, magic, sizeof(begin)) != 0)
		return 1;
	rewind(reader->file);
	if (!next_line(reader))
		return 1;
	status = read_kind(reader);
	while (!status && next_line(reader))
		status = read_row(reader);
	return status;
}

int tally_read(struct tally *tally, const char *path, struct sb_error *err)
{
	struct reader reader = {.tally = tally, .path = path, .file = fopen(path, "re"), .err = err};
	int status;

	*tally = (struct tally){0};
	if (!reader.file)
		return 1;
	status = read_rows(&reader);
	fclose(reader.file);
	free(reader.line);
	return status;
}
