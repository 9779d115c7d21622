/* report_aside.c - see report_aside.h. */
#include "sink/report_aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <sb/error.h>

/* Where TMPDIR says, or on disk; as what nobody else sees, or at least under a name that is gone at once. */
static FILE *open_file(void)
{
	const char *wanted = secure_getenv("TMPDIR");
	const int fd = open(wanted && *wanted ? wanted : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? tmpfile() : fdopen(fd, "w+e");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

static int fail(struct report_aside *aside)
{
	aside->failed = 1;
	return -1;
}

static int put(struct report_aside *aside, const void *bytes, size_t size)
{
	return fwrite(bytes, size, 1, aside->file) == 1 ? 0 : fail(aside);
}

static int get(struct report_aside *aside, void *bytes, size_t size)
{
	if (fread(bytes, size, 1, aside->file) == 1)
		return 0;
	if (feof(aside->file)) /* which is not its end */
		errno = EIO;
	return -sbe_io;
}

int report_aside_begin(struct report_aside *aside, uint32_t nrows)
{
	if (aside->failed)
		return -1;
	if (!aside->file)
		aside->file = open_file();
	return aside->file ? put(aside, &nrows, sizeof(nrows)) : fail(aside);
}

int report_aside_row(struct report_aside *aside, const struct report_row *row)
{
	return put(aside, row, sizeof(*row));
}

int report_aside_end(struct report_aside *aside)
{
	if (fflush(aside->file))
		return fail(aside);
	aside->nrounds++;
	return 0;
}

void report_aside_rewind(struct report_aside *aside)
{
	if (aside->file)
		rewind(aside->file);
}

int report_aside_next(struct report_aside *aside, uint32_t *nrows)
{
	return get(aside, nrows, sizeof(*nrows));
}

int report_aside_read(struct report_aside *aside, struct report_row *row)
{
	return get(aside, row, sizeof(*row));
}

void report_aside_free(struct report_aside *aside)
{
	if (aside->file)
		fclose(aside->file);
	*aside = (struct report_aside){0};
}
