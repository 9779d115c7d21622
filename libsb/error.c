/* error.c - filling and printing struct sb_error. */
#include <sb/error.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void copy_file_name(struct sb_error *err, const char *file)
{
	size_t length = strlen(file);

	if (length < sizeof(err->file)) {
		memcpy(err->file, file, length + 1);
		return;
	}
	/* The end of a path says more than its beginning. */
	snprintf(err->file, sizeof(err->file), "...%s", file + length - (sizeof(err->file) - 4));
}

int sb_error_set(struct sb_error *err, int code, const char *file, uint64_t offset, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->offset = offset;
	err->file[0] = '\0';
	if (file)
		copy_file_name(err, file);
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

const char *sb_error_string(const struct sb_error *err, char *buffer, uint64_t size)
{
	if (err->file[0] && err->offset != UINT64_MAX)
		snprintf(buffer, size, "%s: offset 0x%" PRIx64 ": %s", err->file, err->offset, err->text);
	else if (err->file[0])
		snprintf(buffer, size, "%s: %s", err->file, err->text);
	else
		snprintf(buffer, size, "%s", err->text);
	return buffer;
}
