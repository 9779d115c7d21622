/* event_error.c - see event_error.h. */
#include "capture/event_error.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const texts[sb_event_errcodes] = {
        [sb_event_ok] = "no error",
        [sb_event_too_small] = "the argument is too small",
        [sb_event_invalid] = "invalid argument, or more than one event",
        [sb_event_nomem] = "out of memory",
        [sb_event_not_found] = "event not found",
        [sb_event_bad_attr] = "invalid attribute",
        [sb_event_bad_value] = "invalid value of an attribute",
        [sb_event_set_twice] = "attribute set twice",
        [sb_event_missing] = "sub-event missing",
        [sb_event_combination] = "features that exclude each other",
};

const char *sb_event_strerror(int code)
{
	return code <= 0 && code > -sb_event_errcodes ? texts[-code] : "unknown error";
}

static int general_code(enum sb_event_errcode code)
{
	if (code == sb_event_nomem)
		return -sbe_nomem;
	return code == sb_event_not_found ? -sbe_not_found : -sbe_invalid;
}

int event_fail(struct sb_error *err, enum sb_event_errcode code, const char *format, ...)
{
	char text[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sb_error_set(err, general_code(code), NULL, UINT64_MAX, "%s", text);
	return -(int)code;
}
