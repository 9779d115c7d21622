/* event_result.h - handing over what was found out, by the rules of the arguments. */
#ifndef SB_EVENT_RESULT_H
#define SB_EVENT_RESULT_H

#include <sb/event.h>

/* @text is given away, or freed when nobody wants it. */
void event_give_text(char **fstr, char *text);

/* Into the caller's array, or a new one. @text is given away. Zero or a negative enum sb_event_errcode. */
int event_give_codes(struct sb_event_codes *arg, const uint64_t *codes, int count, int idx, char *text);

#endif
