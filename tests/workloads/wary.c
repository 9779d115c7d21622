/* wary.c - a program that looks at what a tracer might do to it: whether what it may not read or write is a fault
 * to its branches as well, and whether single steps show in its flags. Names another thread, too, and runs code out
 * of /dev/zero and of a file without a name. The exit status has a bit for each thing that is not as it ought to be.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, RET = 0xc3, FLAG_TF = 1 << 8 };

static sigjmp_buf behind_fault;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(behind_fault, 1);
}

static void nothing(void)
{
}

/* call *(place), which may not be read. */
static int call_through_guard(const char *guard)
{
	if (sigsetjmp(behind_fault, 1))
		return 0;
	__asm__ volatile("call *(%0)" ::"r"(guard)
	                 : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
	return 1;
}

/* A call whose return address goes where nothing may be written. */
static int call_onto_guard(const char *end_of_guard)
{
	if (sigsetjmp(behind_fault, 1))
		return 0;
	__asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; call *%1; mov %%rbx, %%rsp" ::"r"(end_of_guard),
	                 "r"(nothing)
	                 : "memory", "rbx", "rax", "rcx", "rdx");
	return 1;
}

static int is_stepped(void)
{
	uint64_t flags;

	__asm__ volatile("pushfq; popq %0; pushfq; popfq" : "=r"(flags)::"cc");
	return !!(flags & FLAG_TF);
}

static int run_out_of(int fd, int flags)
{
	uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);

	if (code == MAP_FAILED)
		return 1;
	code[0] = RET;
	((void (*)(void))(uintptr_t)code)();
	return 0;
}

static void *wait_for_end(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static int name_another(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;
	int failed;

	pthread_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, wait_for_end, &mutex))
		return 1;
	failed = pthread_setname_np(thread, "another") || pthread_setname_np(pthread_self(), "oneself");
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	return failed;
}

int main(void)
{
	static char own_stack[1 << 16];
	const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
	const struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
	char *guard = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int nameless = memfd_create("code", 0);
	void (*const function)(void) = nothing;

	if (guard == MAP_FAILED || nameless < 0 || ftruncate(nameless, PAGE))
		return 128;
	memcpy(guard, &function, sizeof(function));
	mprotect(guard, PAGE, PROT_NONE);
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	return call_through_guard(guard) | call_onto_guard(guard + PAGE) << 1 | is_stepped() << 2 |
	       run_out_of(open("/dev/zero", O_RDWR), MAP_PRIVATE) << 3 |
	       run_out_of(nameless, MAP_PRIVATE) << 4 | name_another() << 5;
}
