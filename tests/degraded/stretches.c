/* stretches.c - whether each stretch of a flow ran just so.
 *
 *   stretches TRUTH FLOW
 *
 * TRUTH has a line for each instruction, in the order of each CPU, as score.c reads it. FLOW is what
 * "--sink jsonl --with flow=block" writes. What a CPU is told to have executed between two gaps has to be in
 * the truth in one piece, and the pieces in that order: nothing in between is left out or made up, and all is
 * by whom it is said to be, unless that is -1. So instructions that are missing elsewhere cannot hide others
 * that never ran, as they can where only counts are compared (score.c).
 *
 * Each stretch is looked for at its earliest place behind the one before: where there is such a place for
 * all, these are some. Prints those that have none, and in the end how many stretches there are, how many of
 * them ran nowhere ("made-up"), and how many were somebody else's ("other"). Exit status 1 if there are any.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS = 64, LINE_MAX_SIZE = 1 << 16 };

struct insn {
	uint64_t ip;
	int32_t pid, tid;
	uint32_t next; /* the next one with the same hash, plus one */
};

struct block {
	uint64_t ip, end_ip;
	int32_t pid, tid;
	uint32_t ninsn;
};

struct cpu {
	struct insn *insn; /* the truth */
	size_t ninsn, insn_capacity;
	uint32_t *first;     /* by hash, plus one */
	size_t at;           /* behind the stretch before */
	struct block *block; /* the present stretch */
	size_t nblocks, block_capacity;
	size_t line; /* where it begins */
};

struct totals {
	uint64_t stretches, insns, made_up, other;
};

enum { HASH_BITS = 20 };

static struct cpu cpus[CPUS];
static struct totals totals;

static void *enough(void *memory)
{
	if (!memory) {
		fputs("stretches: out of memory\n", stderr);
		exit(2);
	}
	return memory;
}

static void *grown(void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? 2 * *capacity : 1024;
	return enough(realloc(array, *capacity * size));
}

/* ---- The truth ---------------------------------------------------------------------------------- */

static size_t hash(uint64_t ip)
{
	return (size_t)(ip * 0x9e3779b97f4a7c15ull >> (64 - HASH_BITS));
}

static void take_insn(char *line)
{
	char *field[5], *rest = NULL;
	size_t count = 0;
	struct cpu *cpu;

	line += strspn(line, "?");
	for (char *word = strtok_r(line, " \t\n", &rest); word && count < 5;
	     word = strtok_r(NULL, " \t\n", &rest))
		field[count++] = word;
	if (count < 4 || strtoul(field[0], NULL, 10) >= CPUS)
		return;
	cpu = &cpus[strtoul(field[0], NULL, 10)];
	cpu->insn = grown(cpu->insn, cpu->ninsn, &cpu->insn_capacity, sizeof(*cpu->insn));
	cpu->insn[cpu->ninsn++] = (struct insn){.ip = strtoull(field[count - 1], NULL, 16),
	                                        .pid = atoi(field[1] + strspn(field[1], "~")),
	                                        .tid = atoi(field[2] + strspn(field[2], "~"))};
}

static void index_truth(struct cpu *cpu)
{
	cpu->first = enough(calloc((size_t)1 << HASH_BITS, sizeof(*cpu->first)));
	for (size_t i = cpu->ninsn; i-- > 0;) {
		uint32_t *const first = &cpu->first[hash(cpu->insn[i].ip)];

		cpu->insn[i].next = *first;
		*first = (uint32_t)i + 1;
	}
}

/* ---- One stretch -------------------------------------------------------------------------------- */

static int is_whose(const struct block *block, const struct insn *insn)
{
	return block->tid == -1 || block->ip >> 63 || (insn->pid == block->pid && insn->tid == block->tid);
}

/* Whether the stretch is in the truth at @at; *length: how many of its instructions. */
static int fits(const struct cpu *cpu, size_t at, int by_whom, size_t *length)
{
	const size_t begin = at;

	for (size_t i = 0; i < cpu->nblocks; ++i) {
		const struct block *const block = &cpu->block[i];

		*length = at - begin;
		if (!block->ninsn || at + block->ninsn > cpu->ninsn || cpu->insn[at].ip != block->ip ||
		    cpu->insn[at + block->ninsn - 1].ip != block->end_ip ||
		    (by_whom && !is_whose(block, &cpu->insn[at])))
			return 0;
		at += block->ninsn;
	}
	*length = at - begin;
	return 1;
}

/* The earliest place; *longest: how many instructions fit where most do. */
static int find(const struct cpu *cpu, int by_whom, size_t *place, size_t *longest)
{
	uint32_t next = cpu->first ? cpu->first[hash(cpu->block[0].ip)] : 0;

	*longest = 0;
	for (; next; next = cpu->insn[next - 1].next) {
		size_t length = 0;

		if (next - 1 < cpu->at)
			continue;
		if (fits(cpu, next - 1, by_whom, &length)) {
			*place = next - 1 + length;
			return 1;
		}
		if (length > *longest)
			*longest = length;
	}
	return 0;
}

static void tell(const struct cpu *cpu, const char *what, size_t ninsn, size_t longest)
{
	printf("%s: cpu %zu, line %zu: %zu instructions from %" PRIx64
	       " on, said to be %d/%d's, of which %zu are in the "
	       "truth behind %zu\n",
	       what, (size_t)(cpu - cpus), cpu->line, ninsn, cpu->block[0].ip, cpu->block[0].pid,
	       cpu->block[0].tid, longest, cpu->at);
}

static void end_stretch(struct cpu *cpu)
{
	size_t place = cpu->at, longest, any, ninsn = 0;
	int is_there;

	if (!cpu->nblocks)
		return;
	for (size_t i = 0; i < cpu->nblocks; ++i)
		ninsn += cpu->block[i].ninsn;
	totals.stretches += 1;
	totals.insns += ninsn;
	if (!find(cpu, 1, &place, &longest)) {
		is_there = find(cpu, 0, &place, &any);
		tell(cpu, is_there ? "other" : "made-up", ninsn, is_there ? longest : any);
		totals.other += is_there != 0;
		totals.made_up += !is_there;
	}
	cpu->at = place;
	cpu->nblocks = 0;
}

/* ---- The flow ----------------------------------------------------------------------------------- */

/* What stands behind @key, which has its quotes and colon; NULL: it has no such member. */
static const char *member(const char *line, const char *key)
{
	const char *const found = strstr(line, key);

	return found ? found + strlen(key) : NULL;
}

static long number(const char *line, const char *key)
{
	const char *const text = member(line, key);

	return text ? strtol(text, NULL, 10) : -1;
}

static uint64_t address(const char *line, const char *key)
{
	const char *const text = member(line, key);

	return text ? strtoull(text, NULL, 16) : 0;
}

static void take_block(struct cpu *cpu, const char *line, size_t nline)
{
	if (!cpu->nblocks)
		cpu->line = nline;
	cpu->block = grown(cpu->block, cpu->nblocks, &cpu->block_capacity, sizeof(*cpu->block));
	cpu->block[cpu->nblocks++] = (struct block){.ip = address(line, "\"ip\":\""),
	                                            .end_ip = address(line, "\"end_ip\":\""),
	                                            .pid = (int32_t)number(line, "\"pid\":"),
	                                            .tid = (int32_t)number(line, "\"tid\":"),
	                                            .ninsn = (uint32_t)number(line, "\"instructions\":")};
}

static void take_flow(const char *line, size_t nline)
{
	const long cpu = number(line, "\"cpu\":");
	const int is_gap = !strncmp(line, "{\"type\":\"gap\"", 13);

	if (!strncmp(line, "{\"type\":\"block\"", 15) && cpu >= 0 && cpu < CPUS)
		take_block(&cpus[cpu], line, nline);
	/* A gap of a stream that is nobody's may be on any CPU. */
	for (long i = 0; i < CPUS && is_gap; ++i)
		if (cpu < 0 || i == cpu)
			end_stretch(&cpus[i]);
}

static void read_lines(const char *name, void (*take)(char *line, size_t nline))
{
	static char line[LINE_MAX_SIZE];
	FILE *const file = strcmp(name, "-") ? fopen(name, "r") : stdin;

	if (!file) {
		perror(name);
		exit(2);
	}
	for (size_t nline = 1; fgets(line, sizeof(line), file); ++nline)
		take(line, nline);
	if (file != stdin)
		fclose(file);
}

static void truth_line(char *line, size_t nline)
{
	(void)nline;
	take_insn(line);
}

static void flow_line(char *line, size_t nline)
{
	take_flow(line, nline);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: stretches TRUTH FLOW\n", stderr);
		return 2;
	}
	read_lines(argv[1], truth_line);
	for (int i = 0; i < CPUS; ++i)
		if (cpus[i].ninsn)
			index_truth(&cpus[i]);
	read_lines(argv[2], flow_line);
	for (int i = 0; i < CPUS; ++i)
		end_stretch(&cpus[i]);
	printf("%" PRIu64 " stretches of %" PRIu64 " instructions: %" PRIu64 " made-up, %" PRIu64 " other\n",
	       totals.stretches, totals.insns, totals.made_up, totals.other);
	return totals.made_up || totals.other;
}
