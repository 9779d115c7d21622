/* interrupt.c - see interrupt.h. A handler has nothing but a global to write to. */
#include "interrupt.h"

static volatile sig_atomic_t came;

static void note(int number)
{
	came = number;
}

static const int signals[interrupt_signals] = {SIGINT, SIGTERM, SIGHUP};

void interrupt_watch(struct interrupt_watch *watch)
{
	const struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};

	for (int i = 0; i < interrupt_signals; i++) {
		sigaction(signals[i], NULL, &watch->before[i]);
		/* nohup(1) and shells without job control have some of them ignored; and who is watched
		 * already stays so, whichever thread watches again. */
		if (!came && watch->before[i].sa_handler != SIG_IGN && watch->before[i].sa_handler != note)
			sigaction(signals[i], &action, NULL);
	}
}

void interrupt_unwatch(const struct interrupt_watch *watch)
{
	for (int i = 0; i < interrupt_signals; i++)
		if (watch->before[i].sa_handler != note)
			sigaction(signals[i], &watch->before[i], NULL);
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
