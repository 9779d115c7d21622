/* sleeper.h - processes that do nothing but wait to be killed. */
#ifndef TEST_SLEEPER_H
#define TEST_SLEEPER_H

#include <sys/types.h>

/* It also ends with the thread that starts it, should the test fail. */
pid_t start_sleeper(void);
/* Kills it, and waits for its end. */
void end_sleeper(pid_t pid);

#endif
