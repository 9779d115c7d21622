/* score.c - how much of a known truth a replay gets right.
 *
 *   score TRUTH FLOW [DETAILS]
 *
 * Both have a line for each instruction, in the order of each CPU: "cpu pid tid [tsc] ip"; "-" is standard
 * input. In the truth, "~" before pid and tid is kernel code, which belongs to nobody, and "?" before the
 * line code that is in no file. Prints percentages of the truth, and what they are made of:
 *
 *   right: in its place; less what belongs to others
 *   other: given to a process or thread that ran less at that address of that CPU
 *   unsure: in its place, but the thread is -1: said not to be known
 *   missing: in the truth only
 *   displaced: in the flow only: made up, or not found in its place again behind a difference
 *   made up: more at an address of a CPU than ever ran there
 *
 * Places: both are walked in order. Where they part, the next instruction of the flow that has a place in the
 * truth is looked for, as near as possible; in loops, that may be another round. So what is other and made up
 * is counted, and not a question of place: too little is found that way, never too much. Two threads that run
 * the same code can hide each other's losses so; but of a CPU whose instructions are all there, each one is
 * in its place, and is other when it is another's there. DETAILS gets where: "cpu pid tid ip count" lines.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CPUS = 64,
	GRAM = 6,             /* so many instructions that agree are a place */
	WINDOW_MIN = 1 << 10, /* how far ahead a place is looked for, in either */
	WINDOW_MAX = 1 << 25
};

struct insn {
	uint64_t ip;
	int32_t pid, tid;
};

struct sequence {
	struct insn *insn;
	size_t count, capacity;
};

/* How often something ran: in the truth, less in the flow. */
struct tally {
	uint64_t ip;
	int32_t pid, tid;
	uint32_t cpu; /* one more than it; zero: free */
	int64_t count;
};

struct tallies {
	struct tally *tally;
	size_t slots, used;
};

struct result {
	uint64_t truth, placed, other, unsure, missing, displaced, made_up;
};

static struct sequence truth[CPUS], flow[CPUS];
static struct tallies by_address, by_thread, misplaced;

static void *enough(void *memory)
{
	if (!memory) {
		fputs("score: out of memory\n", stderr);
		exit(2);
	}
	return memory;
}

static int is_kernel(uint64_t ip)
{
	return ip >> 63 != 0;
}

/* ---- How often ---------------------------------------------------------------------------------- */

static struct tally *find_tally(const struct tallies *all, const struct tally *wanted)
{
	const uint64_t who = (uint64_t)(uint32_t)wanted->pid << 32 | (uint32_t)wanted->tid;
	const uint64_t key = (wanted->ip ^ who * 0xff51afd7ed558ccdull ^ wanted->cpu) * 0x9e3779b97f4a7c15ull;
	size_t i = (key ^ key >> 29) & (all->slots - 1);

	for (;; i = (i + 1) & (all->slots - 1)) {
		struct tally *tally = &all->tally[i];

		if (!tally->cpu || (tally->ip == wanted->ip && tally->pid == wanted->pid &&
		                    tally->tid == wanted->tid && tally->cpu == wanted->cpu))
			return tally;
	}
}

static void grow_tallies(struct tallies *all)
{
	const struct tallies old = *all;

	all->slots = old.slots ? 2 * old.slots : 1 << 16;
	all->tally = enough(calloc(all->slots, sizeof(*all->tally)));
	for (size_t i = 0; i < old.slots; ++i)
		if (old.tally[i].cpu)
			*find_tally(all, &old.tally[i]) = old.tally[i];
	free(old.tally);
}

static void add_to(struct tallies *all, const struct tally *what)
{
	struct tally *tally;

	if (4 * (all->used + 1) > 3 * all->slots)
		grow_tallies(all);
	tally = find_tally(all, what);
	if (!tally->cpu) {
		*tally = *what;
		tally->count = 0;
		all->used += 1;
	}
	tally->count += what->count;
}

/* The kernel's code is nobody's. */
static void count(const struct insn *insn, uint32_t cpu, int sign)
{
	struct tally tally = {.ip = insn->ip, .cpu = cpu + 1, .count = sign};

	add_to(&by_address, &tally);
	if (!is_kernel(insn->ip)) {
		tally.pid = insn->pid;
		tally.tid = insn->tid;
	}
	if (tally.tid >= 0)
		add_to(&by_thread, &tally);
}

/* ---- Reading ------------------------------------------------------------------------------------ */

/* The fields of @line, which are changed into strings; how many there are. */
static int fields(char *line, char *field[5])
{
	int n = 0;

	line += *line == '?';
	for (char *token = strtok(line, "\t\n"); token && n < 5; token = strtok(NULL, "\t\n"))
		field[n++] = token;
	return n;
}

static void load(const char *path, struct sequence *sequences, int sign)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	char line[256], *field[5];

	if (!file) {
		perror(path);
		exit(2);
	}
	while (fgets(line, sizeof(line), file)) {
		const int n = fields(line, field);
		const unsigned long cpu = n >= 4 ? strtoul(field[0], NULL, 10) : CPUS;
		struct sequence *all = &sequences[cpu < CPUS ? cpu : 0];
		struct insn *insn;

		if (cpu >= CPUS)
			continue;
		if (all->count == all->capacity) {
			all->capacity = all->capacity ? 2 * all->capacity : 1 << 16;
			all->insn = enough(reallocarray(all->insn, all->capacity, sizeof(*all->insn)));
		}
		insn = &all->insn[all->count++];
		insn->ip = strtoull(field[n - 1], NULL, 16);
		insn->pid = atoi(field[1] + (field[1][0] == '~'));
		insn->tid = atoi(field[2] + (field[2][0] == '~'));
		count(insn, (uint32_t)cpu, sign);
	}
	if (file != stdin)
		fclose(file);
}

/* ---- Places ------------------------------------------------------------------------------------- */

/* Where in a CPU's truth each gram is: chains, in order. */
struct places {
	const struct sequence *of;
	uint32_t *head, *next; /* one more than a place; zero: none */
	size_t mask;
};

static size_t hash_gram(const struct insn *insn, size_t mask)
{
	uint64_t hash = 0;

	for (int i = 0; i < GRAM; ++i)
		hash = (hash ^ insn[i].ip) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 31;
	return hash & mask;
}

static void index_places(struct places *places, const struct sequence *of)
{
	const size_t count = of->count >= GRAM ? of->count - GRAM + 1 : 0;

	places->of = of;
	places->mask = 1 << 16;
	while (places->mask < count)
		places->mask *= 2;
	places->head = enough(calloc(places->mask, sizeof(*places->head)));
	places->next = enough(calloc(count + 1, sizeof(*places->next)));
	places->mask -= 1;
	for (size_t i = count; i-- > 0;) {
		uint32_t *head = &places->head[hash_gram(&of->insn[i], places->mask)];

		places->next[i] = *head;
		*head = (uint32_t)i + 1;
	}
}

static int agree(const struct insn *a, const struct insn *b)
{
	for (int i = 0; i < GRAM; ++i)
		if (a[i].ip != b[i].ip)
			return 0;
	return 1;
}

/* The first place from @from to @end at which the truth goes on as @insn; SIZE_MAX: there is none. Those
 * before
 * @from are not asked for any more. */
static size_t first_place(struct places *places, const struct insn *insn, size_t from, size_t end)
{
	uint32_t *head = &places->head[hash_gram(insn, places->mask)];

	while (*head && *head - 1 < from)
		*head = places->next[*head - 1];
	for (uint32_t at = *head; at && at - 1 < end; at = places->next[at - 1])
		if (agree(&places->of->insn[at - 1], insn))
			return at - 1;
	return SIZE_MAX;
}

/* Behind a difference at @i and @j: where both go on, as close as possible. Returns whether they do. */
static int find_place(struct places *places, const struct sequence *of, size_t *i, size_t *j)
{
	for (size_t window = WINDOW_MIN; window <= WINDOW_MAX; window *= 8) {
		for (size_t n = 0; n < window && *j + n + GRAM <= of->count; ++n) {
			const size_t place = first_place(places, &of->insn[*j + n], *i, *i + window);

			if (place == SIZE_MAX)
				continue;
			*i = place;
			*j += n;
			return 1;
		}
	}
	return 0;
}

/* ---- Comparing ---------------------------------------------------------------------------------- */

static void compare(const struct sequence *expected, const struct sequence *given, struct result *result)
{
	struct places places;
	size_t i = 0, j = 0;

	index_places(&places, expected);
	while (i < expected->count && j < given->count) {
		const size_t i0 = i, j0 = j;

		if (expected->insn[i].ip == given->insn[j].ip) {
			result->placed += 1;
			result->unsure += !is_kernel(given->insn[j].ip) && given->insn[j].tid < 0;
			i += 1;
			j += 1;
			continue;
		}
		if (!find_place(&places, given, &i, &j))
			break;
		result->missing += i - i0;
		result->displaced += j - j0;
	}
	result->missing += expected->count - i;
	result->displaced += given->count - j;
	result->truth += expected->count;
	free(places.head);
	free(places.next);
}

static int is_whole(const struct sequence *expected, const struct sequence *given)
{
	if (expected->count != given->count)
		return 0;
	for (size_t i = 0; i < expected->count; ++i)
		if (expected->insn[i].ip != given->insn[i].ip)
			return 0;
	return 1;
}

/* Where a thread is not known, its process still may be. */
static int is_others(const struct insn *expected, const struct insn *given)
{
	if (is_kernel(given->ip) || given->pid < 0)
		return 0;
	return expected->pid != given->pid || (given->tid >= 0 && expected->tid != given->tid);
}

static void count_misplaced(const struct sequence *expected, const struct sequence *given, uint32_t cpu)
{
	for (size_t i = 0; i < given->count; ++i) {
		const struct insn *insn = &given->insn[i];
		const struct tally tally = {
		        .ip = insn->ip, .pid = insn->pid, .tid = insn->tid, .cpu = cpu + 1, .count = -1};

		if (is_others(&expected->insn[i], insn))
			add_to(&misplaced, &tally);
	}
}

/* More than there should be. */
static uint64_t surplus(const struct tallies *all, FILE *details)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < all->slots; ++i) {
		const struct tally *tally = &all->tally[i];

		if (!tally->cpu || tally->count >= 0)
			continue;
		sum += (uint64_t)-tally->count;
		if (details)
			fprintf(details, "%" PRIu32 "\t%" PRId32 "\t%" PRId32 "\t%" PRIx64 "\t%" PRId64 "\n",
			        tally->cpu - 1, tally->pid, tally->tid, tally->ip, -tally->count);
	}
	return sum;
}

/* Rounding makes neither 100 of what is not all, nor 0 of what is there. */
static double percent(uint64_t part, const struct result *result)
{
	const double percent = result->truth ? 100.0 * (double)part / (double)result->truth : 0;

	if (!part || part == result->truth)
		return percent;
	return percent < 0.0001 ? 0.0001 : percent > 99.9999 && part < result->truth ? 99.9999 : percent;
}

int main(int argc, char **argv)
{
	struct result result = {0};
	FILE *details = NULL;
	uint64_t right, nmisplaced;

	if (argc < 3 || argc > 4) {
		fputs("usage: score TRUTH FLOW [DETAILS]\n", stderr);
		return 2;
	}
	grow_tallies(&by_address);
	grow_tallies(&by_thread);
	grow_tallies(&misplaced);
	load(argv[1], truth, 1);
	load(argv[2], flow, -1);
	if (argc == 4)
		details = enough(fopen(argv[3], "w"));
	for (int cpu = 0; cpu < CPUS; ++cpu) {
		compare(&truth[cpu], &flow[cpu], &result);
		if (is_whole(&truth[cpu], &flow[cpu]))
			count_misplaced(&truth[cpu], &flow[cpu], (uint32_t)cpu);
		free(truth[cpu].insn);
		free(flow[cpu].insn);
	}
	result.made_up = surplus(&by_address, NULL);
	result.other = surplus(&by_thread, NULL);
	result.other -= result.other < result.made_up ? result.other : result.made_up;
	nmisplaced = surplus(&misplaced, NULL);
	if (details)
		surplus(nmisplaced > result.other ? &misplaced : &by_thread, details);
	if (result.other < nmisplaced)
		result.other = nmisplaced;
	right = result.placed - result.unsure;
	right -= right < result.other ? right : result.other;
	if (details)
		fclose(details);
	free(by_address.tally);
	free(by_thread.tally);
	free(misplaced.tally);
	printf("right %.4f other %.4f unsure %.4f missing %.4f displaced %.4f made-up %.4f of %" PRIu64
	       " (%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ")\n",
	       percent(right, &result), percent(result.other, &result), percent(result.unsure, &result),
	       percent(result.missing, &result), percent(result.displaced, &result),
	       percent(result.made_up, &result), result.truth, right, result.other, result.unsure,
	       result.missing, result.displaced, result.made_up);
	return 0;
}
