/* program.c - see program.h. */
#include "program.h"

#include <string.h>

enum { in16 = 1, in32 = 2, in64 = 4, in_all = 7 };

struct template
{
	uint8_t modes; /* where the bytes are this instruction */
	uint8_t what;
	uint8_t rel;    /* size of the relative target that follows, as it is outside 16-bit mode */
	uint8_t weight; /* how often */
	uint8_t size;
	const char *bytes;
};

#define T(modes, what, rel, weight, bytes)                                                                   \
	{                                                                                                    \
		modes, what, rel, weight, sizeof(bytes) - 1, bytes                                           \
	}

static const struct template templates[] = {
        T(in_all, what_other, 0, 60, "\x90"),
        T(in_all, what_other, 0, 60, "\x89\xd8"),
        T(in64, what_other, 0, 60, "\x48\x89\xd8"),
        T(in32 | in16, what_other, 0, 20, "\x40"),
        T(in32 | in64, what_other, 0, 20, "\x0f\x1f\x44\x00\x00"),
        T(in32 | in64, what_other, 0, 20, "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
        T(in32 | in64, what_other, 0, 20, "\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"),
        T(in64, what_other, 0, 20, "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),
        T(in64, what_other, 0, 10, "\xc4\xe2\x79\x18\x00"),
        T(in64, what_other, 0, 10, "\x62\xf1\x7c\x48\x10\x00"),
        T(in32 | in64, what_other, 0, 10, "\xc5\xf8\x77"),
        T(in_all, what_other, 0, 20, "\xf3\xa4"),
        T(in_all, what_other, 0, 10, "\xf2\xae"),
        T(in64, what_other, 0, 10, "\xf0\x48\x0f\xc7\x08"),
        T(in_all, what_other, 0, 5, "\x0f\xa2"),
        T(in_all, what_other, 0, 5, "\x0f\x30"),
        T(in_all, what_other, 0, 5, "\xf4"),
        T(in_all, what_other, 0, 5, "\x0f\x0b"),
        T(in64, what_other, 0, 5, "\x66\x0f\x3a\x0f\xc1\x08"),
        T(in_all, what_other, 0, 5, "\xc6\xf8\x01"),
        T(in_all, what_jcc, 1, 60, "\x74"),
        T(in_all, what_jcc, 4, 60, "\x0f\x85"),
        T(in_all, what_jcc, 1, 10, "\xe2"),
        T(in_all, what_jcc, 1, 10, "\xe3"),
        T(in32 | in64, what_jcc, 4, 10, "\x2e\x0f\x84"),
        T(in_all, what_jmp, 1, 10, "\xeb"),
        T(in_all, what_jmp, 4, 10, "\xe9"),
        T(in32 | in64, what_jmp, 4, 3, "\xf2\xe9"),
        T(in_all, what_call, 4, 40, "\xe8"),
        T(in_all, what_jmp_indirect, 0, 5, "\xff\xe0"),
        T(in64, what_jmp_indirect, 0, 5, "\x41\xff\xe3"),
        T(in32 | in64, what_jmp_indirect, 0, 5, "\xff\x25\x00\x00\x00\x00"),
        T(in_all, what_call_indirect, 0, 10, "\xff\xd0"),
        T(in32 | in64, what_call_indirect, 0, 5, "\xff\x15\x00\x00\x00\x00"),
        T(in_all, what_ret, 0, 5, "\xc3"),
        T(in_all, what_ret, 0, 3, "\xc2\x08\x00"),
        T(in_all, what_ret, 0, 3, "\xf2\xc3"),
        T(in64, what_far, 0, 4, "\x0f\x05"),
        T(in_all, what_far, 0, 3, "\xcd\x80"),
        T(in_all, what_far, 0, 2, "\xcc"),
        T(in_all, what_far, 0, 2, "\xf1"),
        T(in_all, what_far, 0, 2, "\x0f\x34"),
        T(in_all, what_far, 0, 2, "\xff\x18"),
        T(in_all, what_far, 0, 2, "\xff\x28"),
        T(in32, what_far, 0, 2, "\x9a\x00\x10\x00\x00\x08\x00"),
        T(in32, what_far, 0, 2, "\xea\x00\x10\x00\x00\x08\x00"),
        T(in_all, what_far, 0, 2, "\x0f\x01\xc1"),
        T(in_all, what_far, 0, 2, "\x0f\x01\xc2"),
        T(in_all, what_far, 0, 2, "\x0f\x01\xc3"),
        T(in_all, what_far_ret, 0, 3, "\xcf"),
        T(in64, what_far_ret, 0, 3, "\x48\xcf"),
        T(in64, what_far_ret, 0, 3, "\x48\x0f\x07"),
        T(in_all, what_far_ret, 0, 2, "\xcb"),
        T(in_all, what_far_ret, 0, 2, "\xca\x08\x00"),
        T(in_all, what_far_ret, 0, 2, "\x0f\x35"),
        T(in_all, what_mov_cr3, 0, 5, "\x0f\x22\xd8"),
        T(in_all, what_vmptrld, 0, 5, "\x0f\xc7\x30"),
        T(in_all, what_ptwrite, 0, 8, "\xf3\x0f\xae\xe0"),
        T(in64, what_ptwrite, 0, 8, "\xf3\x48\x0f\xae\xe0"),
        T(in_all, what_xbegin, 4, 8, "\xc7\xf8"),
        T(in_all, what_xend, 0, 8, "\x0f\x01\xd5"),
        T(in_all, what_mwait, 0, 4, "\x0f\x01\xc9"),
};

enum { ntemplates = sizeof(templates) / sizeof(templates[0]) };

static const struct template *choose(struct random *random, unsigned mode)
{
	for (;;) {
		const struct template *t = &templates[random_below(random, ntemplates)];

		if (t->modes & 1u << (mode - 1) && random_below(random, 60) < t->weight)
			return t;
	}
}

/* Where execution never falls through. */
static int ends(const struct template *t)
{
	return t->what == what_ret || t->what == what_jmp_indirect || t->what == what_far_ret;
}

static void add_insn(struct program *program, const struct template *t, int unit, int target)
{
	struct program_insn *insn = &program->insn[program->ninsns++];

	*insn = (struct program_insn){.what = t->what,
	                              .mode = program->unit[unit].mode,
	                              .unit = (uint8_t)unit,
	                              .rel = t->rel,
	                              .target = target};
	memcpy(insn->bytes, t->bytes, t->size);
	if (insn->rel == 4 && insn->mode == 1)
		insn->rel = 2;
	insn->size = (uint8_t)(t->size + insn->rel);
}

/* Targets inside the function by index; calls name a function as -1 - index, until all are there. Jumps
 * mostly go forward, so that loops have a TNT bit in them. */
static int choose_target(struct program *program, struct random *random, const struct template *t, int first,
                         int end)
{
	int here = program->ninsns;

	if (t->what == what_call)
		return random_hit(random, 50) ? here + 1
		                              : -1 - (int)random_below(random, program_max_functions);
	if (t->rel == 4 && t->what != what_xbegin && random_hit(random, 100))
		return -1 - (int)random_below(random, program_max_functions);
	if (t->what == what_jmp || t->what == what_xbegin)
		return here + 1 + (int)random_below(random, (uint32_t)(end - here - 1));
	if (random_hit(random, 300) && t->rel == 1)
		return here - (int)random_below(random, (uint32_t)(here - first > 6 ? 6 : here - first + 1));
	return first + (int)random_below(random, (uint32_t)(end - first));
}

static void add_function(struct program *program, struct random *random, int unit)
{
	int first = program->ninsns, end = first + 4 + (int)random_below(random, 30);
	const struct template *t;

	program->function[program->nfunctions++] = (struct program_function){first, unit};
	while (program->ninsns < end - 1) {
		t = choose(random, program->unit[unit].mode);
		if (t->rel)
			add_insn(program, t, unit, choose_target(program, random, t, first, end));
		else if (!ends(t) || random_hit(random, 200))
			add_insn(program, t, unit, 0);
	}
	do
		t = choose(random, program->unit[unit].mode);
	while (!ends(t) || (t->what != what_ret && random_hit(random, 700)));
	add_insn(program, t, unit, 0);
}

static uint64_t choose_base(struct random *random, unsigned mode, int unit)
{
	static const uint64_t bases[] = {0x400000, 0x7fff12340000, 0xffffffff81000000, 0x100000000,
	                                 0x55d5a0000000};

	if (mode == 1)
		return 0x1000 + 0x3000ull * (unsigned)unit;
	if (mode == 2)
		return 0x8040000 + 0x100000ull * (unsigned)unit;
	return bases[random_below(random, 5)] + 0x10000ull * (unsigned)unit + random_below(random, 64);
}

static void add_unit(struct program *program, struct random *random)
{
	int unit = program->nunits++, functions = 1 + (int)random_below(random, 5);
	unsigned mode = random_hit(random, 700) ? 3 : 1 + random_below(random, 3);

	program->unit[unit] =
	        (struct program_unit){choose_base(random, mode, unit), (uint8_t)mode, program->ninsns, 0};
	while (functions--)
		add_function(program, random, unit);
	program->unit[unit].end = program->ninsns;
}

/* Calls go to functions of their own unit. */
static void resolve_calls(struct program *program)
{
	for (int i = 0; i < program->ninsns; ++i) {
		struct program_insn *insn = &program->insn[i];
		int candidate[program_max_functions], count = 0;

		if (insn->target >= 0)
			continue;
		for (int f = 0; f < program->nfunctions; ++f)
			if (program->function[f].unit == insn->unit)
				candidate[count++] = program->function[f].first;
		insn->target = candidate[(-1 - insn->target) % count];
	}
}

static int64_t distance(const struct program *program, const struct program_insn *insn)
{
	return (int64_t)(program->insn[insn->target].ip - (insn->ip + insn->size));
}

/* The near form of a short branch that does not reach; one that has none becomes a JE. */
static void make_near(struct program_insn *insn)
{
	if (insn->bytes[0] == 0xeb) {
		insn->bytes[0] = 0xe9;
	} else {
		insn->bytes[0] = 0x0f;
		insn->bytes[1] = 0x84;
	}
	insn->rel = insn->mode == 1 ? 2 : 4;
	insn->size = (uint8_t)((insn->bytes[0] == 0xe9 ? 1 : 2) + insn->rel);
}

/* Places everything; true when all short branches reach. */
static int lay_out(struct program *program)
{
	int fits = 1;

	for (int u = 0; u < program->nunits; ++u) {
		uint64_t ip = program->unit[u].base;

		for (int i = program->unit[u].first; i < program->unit[u].end; ++i) {
			program->insn[i].ip = ip;
			ip += program->insn[i].size;
		}
	}
	for (int i = 0; i < program->ninsns; ++i) {
		struct program_insn *insn = &program->insn[i];

		if (insn->rel != 1 || (distance(program, insn) >= -128 && distance(program, insn) < 128))
			continue;
		make_near(insn);
		fits = 0;
	}
	return fits;
}

void program_make(struct program *program, struct random *random)
{
	int units = 1 + (int)random_below(random, 3);

	memset(program, 0, sizeof(*program));
	while (units--)
		add_unit(program, random);
	resolve_calls(program);
	while (!lay_out(program))
		continue;
	for (int i = 0; i < program->ninsns; ++i) {
		struct program_insn *insn = &program->insn[i];
		int64_t rel = distance(program, insn);

		memcpy(insn->bytes + insn->size - insn->rel, &rel, insn->rel);
	}
}

void program_add(const struct program *program, struct diff_case *c, struct random *random)
{
	for (int u = 0; u < program->nunits; ++u) {
		const struct program_unit *unit = &program->unit[u];
		uint8_t bytes[program_max_insns * 15];
		size_t size = 0, from = 0;

		for (int i = unit->first; i < unit->end; ++i) {
			memcpy(bytes + size, program->insn[i].bytes, program->insn[i].size);
			size += program->insn[i].size;
		}
		while (from < size) {
			size_t part = random_hit(random, 500)
			                      ? size - from
			                      : 1 + random_below(random, (uint32_t)(size - from));

			(void)case_add_bytes(c, bytes + from, part, unit->base + from);
			from += part;
		}
	}
}
