/* tell.c - see tell.h. */
#include "tell.h"

#include <stdio.h>

void tell(const char *command, const char *severity, const struct sb_error *err)
{
	char text[sizeof(err->file) + sizeof(err->text) + 64];

	sb_error_string(err, text, sizeof(text));
	/* Names in it come from recordings: a terminal must not obey them. */
	for (char *at = text; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	fprintf(stderr, "%s: %s%s\n", command, severity, text);
}
