/* sig.c - signals: raised, sent to a system call that sleeps, by a timer to computing code, from a
 * fault, ended by longjmp; on another stack; and one that nobody waits for. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t count;
static sigjmp_buf back;

static void handler(int signal)
{
	(void)signal;
	count++;
}

static void leave(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static void catch (int signal, void (*function)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = function;
	action.sa_flags = flags;
	sigaction(signal, &action, NULL);
}

static void other_stack(void)
{
	stack_t stack = {.ss_size = 65536};

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	catch (SIGUSR2, handler, SA_ONSTACK);
	raise(SIGUSR2);
}

static void fault(void)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	catch (SIGSEGV, leave, 0);
	if (!sigsetjmp(back, 1))
		*(volatile char *)page = 1;
}

static void alarms(void)
{
	struct itimerval soon = {{0, 0}, {0, 20000}};
	volatile unsigned long x = 1;

	catch (SIGALRM, handler, SA_RESTART);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (int before = count; before == count;)
		x = x * 3 + 1;
}

/* The child pokes the parent, which waits for it: the system call begins anew, or not. */
static void poke(int flags)
{
	pid_t parent = getpid(), child;

	catch (SIGUSR1, handler, flags);
	child = fork();
	if (!child) {
		for (int i = 0; i < 3; i++) {
			usleep(3000);
			kill(parent, SIGUSR1);
			kill(parent, SIGWINCH);
		}
		_exit(0);
	}
	while (waitpid(child, NULL, 0) != child)
		count += 10;
}

int main(void)
{
	catch (SIGUSR1, handler, 0);
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	other_stack();
	fault();
	alarms();
	poke(SA_RESTART);
	poke(0);
	printf("%d\n", count > 0);
	fflush(stdout);
	raise(SIGTERM);
	return 0;
}
