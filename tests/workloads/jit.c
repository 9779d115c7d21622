/* jit.c - a just-in-time compiler: jit DIRECTORY [rdtsc | clock] [none]. Makes code, runs it, moves it,
 * overwrites it, forks; and writes a jitdump into DIRECTORY, with times of RDTSC or of CLOCK_MONOTONIC.
 * "none": it does not say what it does. Each piece of code computes a number that is known, so that the
 * program sees for itself whether what ran was what it had made.
 *
 * Format: tools/perf/Documentation/jitdump-specification.txt in the Linux sources. */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ARENA = 1 << 16, PIECE_MAX = 256 };

struct header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

struct prefix {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct load {
	struct prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

struct move {
	struct prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

/* A piece of code: int (*)(int n). */
struct piece {
	uint8_t *at;
	uint8_t bytes[PIECE_MAX];
	size_t size;
	uint64_t index;
	unsigned int variant;
};

static const char *directory;
static int use_clock, is_silent, is_late, dump = -1;
static uint8_t pending[1 << 16]; /* of the dump */
static size_t npending;
static uint8_t *arena;
static uint64_t last_index;
static uint32_t process; /* whose dump is open */
static unsigned int failures;

/* ---- The dump ---- */

static uint64_t now(void)
{
	struct timespec time;

	if (!use_clock)
		return __rdtsc();
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void write_out(void)
{
	if (npending && write(dump, pending, npending) != (ssize_t)npending)
		exit(2);
	npending = 0;
}

static void say(const void *bytes, size_t size)
{
	if (is_silent || size > sizeof(pending) - npending)
		return;
	memcpy(pending + npending, bytes, size);
	npending += size;
	if (!is_late)
		write_out();
}

static void open_dump(void)
{
	struct header header = {0x4a695444, 1,       sizeof(header), EM_X86_64,
	                        0,          process, now(),          use_clock ? 0 : 1};
	char path[4096];

	header.pid = process = (uint32_t)getpid();
	if (is_silent)
		return;
	snprintf(path, sizeof(path), "%s/jit-%d.dump", directory, (int)process);
	dump = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
	if (dump < 0) {
		perror(path);
		exit(2);
	}
	say(&header, sizeof(header));
	/* How the tools find it. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		exit(2);
}

static void say_loaded(const struct piece *piece)
{
	struct load record = {{0, 0, now()},        process,     process,     (uintptr_t)piece->at,
	                      (uintptr_t)piece->at, piece->size, piece->index};
	uint8_t bytes[sizeof(record) + 32 + PIECE_MAX];
	int name = snprintf((char *)bytes + sizeof(record), 32, "piece%u", piece->variant) + 1;

	record.prefix.total_size = (uint32_t)(sizeof(record) + (size_t)name + piece->size);
	memcpy(bytes, &record, sizeof(record));
	memcpy(bytes + sizeof(record) + name, piece->bytes, piece->size);
	say(bytes, record.prefix.total_size);
}

static void say_moved(const struct piece *piece, const uint8_t *from)
{
	struct move record = {
	        {1, sizeof(record), now()}, process,     process,     (uintptr_t)piece->at, (uintptr_t)from,
	        (uintptr_t)piece->at,       piece->size, piece->index};

	say(&record, sizeof(record));
}

static void say_closed(void)
{
	struct prefix record = {3, sizeof(record), now()};

	say(&record, sizeof(record));
	write_out();
}

/* ---- Code ---- */

static void emit(struct piece *piece, const void *bytes, size_t size)
{
	memcpy(piece->bytes + piece->size, bytes, size);
	piece->size += size;
}

/* int f(int n) { int sum = variant; do { sum += variant % 100; if (n & 1) sum += 3; } while (--n); return
 * sum; } with more or less that does nothing, and with the branch over the addition this way or the other. */
static void compile(struct piece *piece, unsigned int variant)
{
	const uint8_t begin[] = {0xb8, (uint8_t)variant, (uint8_t)(variant >> 8), 0,
	                         0};                                 /* mov eax, variant */
	const uint8_t add[] = {0x83, 0xc0, (uint8_t)(variant % 100), /* add eax, variant % 100 */
	                       0x40, 0xf6, 0xc7,
	                       0x01};                                            /* test dil, 1 */
	const uint8_t if_odd[] = {0x74, 0x03, 0x83, 0xc0, 0x03};                 /* jz over add eax, 3 */
	const uint8_t unless_odd[] = {0x75, 0x02, 0xeb, 0x03, 0x83, 0xc0, 0x03}; /* jnz to it; jmp over it */
	size_t loop;
	uint8_t again[4] = {0xff, 0xcf, 0x75, 0}; /* dec edi; jnz loop */

	piece->size = 0;
	piece->variant = variant;
	piece->index = ++last_index;
	emit(piece, begin, sizeof(begin));
	for (unsigned int i = 0; i < variant % 17; i++)
		emit(piece, "\x90", 1);
	loop = piece->size;
	emit(piece, add, sizeof(add));
	if (variant & 1)
		emit(piece, if_odd, sizeof(if_odd));
	else
		emit(piece, unless_odd, sizeof(unless_odd));
	for (unsigned int i = 0; i < variant % 5; i++)
		emit(piece, "\x66\x90", 2);
	again[3] = (uint8_t)(loop - (piece->size + sizeof(again)));
	emit(piece, again, sizeof(again));
	emit(piece, "\xc3", 1);
}

static int expected(unsigned int variant, int n)
{
	return (int)(variant & 0xffff) + n * (int)(variant % 100) + 3 * ((n + 1) / 2);
}

/* As much time as any compiler takes. */
static void take_time(void)
{
	__asm__ volatile(".rept 600\n\tnop\n\t.endr");
}

/* Says what it does, then does it. */
static void place(struct piece *piece, uint8_t *at)
{
	take_time();
	piece->at = at;
	say_loaded(piece);
	memcpy(at, piece->bytes, piece->size);
	take_time();
}

static void run(const struct piece *piece, int n)
{
	int (*function)(int);

	memcpy(&function, &piece->at, sizeof(function));
	if (function(n) != expected(piece->variant, n))
		failures++;
}

/* ---- What a runtime does ---- */

/* Many pieces, none where another one was. */
static void load_many(void)
{
	struct piece piece[40];

	for (unsigned int i = 0; i < 40; i++) {
		compile(&piece[i], 100 + i);
		place(&piece[i], arena + 64 * i);
		run(&piece[i], 1 + (int)(i % 3));
	}
	for (unsigned int i = 0; i < 80; i++)
		run(&piece[i * 7 % 40], 2);
}

/* One place, again and again: other code of other size. */
static void overwrite(void)
{
	struct piece piece;

	for (unsigned int i = 0; i < 30; i++) {
		compile(&piece, 1000 + 13 * i);
		place(&piece, arena + 0x2000);
		run(&piece, 3 + (int)(i % 4));
	}
}

/* New code in the middle, and at the end, of what was there. */
static void overwrite_parts(void)
{
	struct piece old, middle, end;

	for (unsigned int i = 0; i < 10; i++) {
		compile(&old, 2016 + 17 * i); /* long */
		place(&old, arena + 0x3000);
		run(&old, 4);
		compile(&middle, 3000 + i);
		place(&middle, arena + 0x3000 + old.size / 2);
		run(&middle, 2);
		compile(&end, 4000 + i);
		place(&end, arena + 0x3000 + old.size / 2 + middle.size - 1);
		run(&end, 3);
	}
}

/* To another place, and to one that overlaps it; the old place is used again. */
static void move_about(void)
{
	struct piece piece, other;

	compile(&piece, 5013);
	place(&piece, arena + 0x4000);
	run(&piece, 2);
	for (unsigned int i = 1; i <= 20; i++) {
		uint8_t *from = piece.at;

		take_time();
		piece.at += i % 2 ? 0x100 : 16;
		say_moved(&piece, from);
		memmove(piece.at, from, piece.size);
		take_time();
		run(&piece, 1 + (int)(i % 3));
		if (i % 2) {
			compile(&other, 6000 + 7 * i);
			place(&other, from);
			run(&other, 2);
		}
	}
}

/* Memory that is either writable or executable. */
static void write_or_execute(void)
{
	uint8_t *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct piece piece[8];

	for (unsigned int i = 0; i < 16; i++) {
		compile(&piece[i % 8], 7000 + 3 * i);
		mprotect(memory, 8192, PROT_READ | PROT_WRITE);
		place(&piece[i % 8], memory + 128 * (i % 8));
		mprotect(memory, 8192, PROT_READ | PROT_EXEC);
		for (unsigned int k = 0; k <= i && k < 8; k++)
			run(&piece[k], 2);
	}
}

static void *run_piece(void *piece)
{
	run(piece, 3);
	return NULL;
}

/* Threads run code that was made for them, in one place. */
static void threads(void)
{
	struct piece piece;
	pthread_t thread;

	for (unsigned int i = 0; i < 6; i++) {
		compile(&piece, 9000 + 11 * i);
		place(&piece, arena + 0x7000);
		if (pthread_create(&thread, NULL, run_piece, &piece))
			exit(2);
		pthread_join(thread, NULL);
	}
}

/* A child that has its parent's code, and makes its own where the parent does the same. */
static void forks(void)
{
	struct piece piece, own;
	pid_t child;
	int status;

	compile(&piece, 8001);
	place(&piece, arena + 0x6000);
	run(&piece, 2);
	write_out();
	child = fork();
	compile(&own, child ? 8102 : 8203);
	if (!child) {
		run(&piece, 3);
		open_dump();
		place(&own, arena + 0x6000);
		run(&own, 4);
		place(&own, arena + 0x6800);
		run(&own, 1);
		say_closed();
		_exit(failures ? 1 : 0);
	}
	place(&own, arena + 0x6000);
	run(&own, 2);
	place(&own, arena + 0x6800);
	run(&own, 2);
	if (waitpid(child, &status, 0) != child || status)
		failures++;
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		use_clock |= !strcmp(argv[i], "clock");
		is_silent |= !strcmp(argv[i], "none");
		is_late |= !strcmp(argv[i], "late");
	}
	if (argc < 2)
		return 2;
	directory = argv[1];
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		return 2;
	open_dump();
	load_many();
	overwrite();
	overwrite_parts();
	move_about();
	write_or_execute();
	threads();
	forks();
	say_closed();
	printf("%u pieces, %u wrong\n", (unsigned int)last_index, failures);
	return failures ? 1 : 0;
}
