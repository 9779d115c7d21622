/* event_error.h - what is wrong with an event, as a code and in words. */
#ifndef SB_EVENT_ERROR_H
#define SB_EVENT_ERROR_H

#include <sb/event.h>

/* Fills @err (may be NULL); returns @code negative. */
int event_fail(struct sb_error *err, enum sb_event_errcode code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#endif
