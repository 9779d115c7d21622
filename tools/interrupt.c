/* interrupt.c - see interrupt.h. A handler has nothing but a global to write to. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int number)
{
	came = number;
}

void interrupt_watch(void)
{
	const struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* nohup(1) and shells without job control have some of them ignored. */
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int interrupt_came(void)
{
	return came;
}

void interrupt_end(void)
{
	if (!came)
		return;
	signal(came, SIG_DFL);
	raise(came);
}
