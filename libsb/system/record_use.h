/* record_use.h - which records say something to the model. */
#ifndef SB_RECORD_USE_H
#define SB_RECORD_USE_H

#include <sb/record.h>

int record_says_something(const struct sb_record *record);

#endif
