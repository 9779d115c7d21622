/* tools/tell.h - one line on stderr about an error or a warning: "sbtrace replay: FILE: offset 0x..: TEXT".
 */
#ifndef TOOLS_TELL_H
#define TOOLS_TELL_H

#include <sb/error.h>

/* @command: "sbtrace replay"; @severity: "" or "warning: ". */
void tell(const char *command, const char *severity, const struct sb_error *err);

/* What is no error, but should be known. */
void tell_note(const char *command, const char *text);

#endif
