/* tools/job/account_value.h - a session's account as JSON: what a run record keeps of it. */
#ifndef TOOLS_JOB_ACCOUNT_VALUE_H
#define TOOLS_JOB_ACCOUNT_VALUE_H

#include <jansson.h>

#include <sb/replay.h>

json_t *account_value(const struct sb_account *account);

#endif
