/* tell.c - see tell.h. */
#include "tell.h"

#include <stdio.h>

/* Names in it come from recordings: a terminal must not obey them. */
static void put_safely(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stderr);
	fputc('\n', stderr);
}

void tell(const char *command, const char *severity, const struct sb_error *err)
{
	char text[sizeof(err->file) + sizeof(err->text) + 64];

	fprintf(stderr, "%s: %s", command, severity);
	put_safely(sb_error_string(err, text, sizeof(text)));
}

void tell_note(const char *command, const char *text)
{
	fprintf(stderr, "%s: note: ", command);
	put_safely(text);
}
