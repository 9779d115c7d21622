/* random_stream.c - see random_stream.h. */
#include "support/random_stream.h"

#include <stdio.h>
#include <string.h>

static const char *pick(uint32_t *seed, const char *const *of, size_t count)
{
	return of[below(seed, (uint32_t)count)];
}

#define PICK(seed, array) pick(seed, array, sizeof(array) / sizeof(*(array)))

/* What may come while tracing is enabled, and leaves it so. */
static const char *const enabled_steps[] = {
        "tnt:1",
        "tnt:0101",
        "tnt:111111",
        "tnt64:010101010101010101010",
        "tip:401000",
        "tip:~1234",
        "tip:-",
        "tnt:10 tip:~1234",
        "fup:~1500 tip:402000",
        "fup:~1500 tip:-",
        "fup:~1600 pip:7000 exec:64 tip:ffffffff8000",
        "fup:~1600 vmcs:8000 pip:7000,1 tip:402100",
        "fup:~1600 pip:7000 vmcs:8000 exec:32 tip:402100",
        "exec:64 tip:403000",
        "pip:9000 exec:64 tip:403000",
        "pip:9000,1",
        "vmcs:a000",
        "tsx:1 fup:~1700",
        "tsx:0 fup:~1800",
        "tsx:0,1 fup:~1900 tip:~2000",
        "tsx:0,1 fup:~1900 exec:64 tip:~2000",
        "ptw:1234",
        "ptw:5678,1 fup:~1a00",
        "ptw:1,1 ptw:2,1 fup:~1a00",
        "exstop:0",
        "exstop:1 fup:~1b00",
        "mwait:1,2 pwre:2,1 exstop:1 fup:~1c00",
        "mwait:1,2 fup:~1c00 pwre:2,1,1 pwrx:1,3",
        "cbr:15",
        "mnt:77",
        "pad pad",
        "ovf fup:404000",
        "ovf cbr:8 mnt:5 fup:404000",
        "ovf ovf fup:405000",
        "psb fup:406000 exec:64 pip:b000 psbend",
        "psb fup:406000 psbend",
        "psb pip:b000 fup:~6100 vmcs:c000 tsx:1 cbr:9 mnt:3 psbend",
        "fup:~1d00 psb fup:406000 exec:64 psbend tip:407000",
};

/* What ends it. */
static const char *const disabling_steps[] = {
        "pgd:-",
        "pgd:407000",
        "fup:~1e00 pgd:-",
        "fup:~1e00 pip:d000 pgd:408000",
        "ovf",
        "ovf pip:e000",
        "ovf stop",
        "pip:d000 pgd:-",
        "pgd:~5000 stop",
        "ovf vmcs:f000",
        "ovf exstop:0",
        "tnt:11 pgd:-",
        "tsx:0,1 fup:~1f00 pgd:-",
};

/* What may come while it is disabled. */
static const char *const disabled_steps[] = {
        "cbr:b",
        "pip:2000",
        "vmcs:3000",
        "exstop:0",
        "pwre:1,0",
        "pwrx:1,1",
        "mnt:9",
        "pad",
        "tsx:0",
        "tsx:1",
        "ovf",
        "psb psbend",
        "psb cbr:7 pip:3000 psbend",
        "stop",
};

static const char *const enabling_steps[] = {"pge:409000", "exec:64 pge:40a000", "exec:32 cbr:6 pge:40b000"};

/* Time as it may be: TSC alone, or MTCs that follow the stream's first TSC and TMA. */
static void write_time(struct stream *stream, uint32_t *seed, uint32_t *mtc, int what)
{
	char text[64];

	if (!(what & with_mtc))
		snprintf(text, sizeof(text), "tsc:%x", 1000000 + (uint32_t)stream->size * 100);
	else if ((what & with_cyc) && below(seed, 2))
		snprintf(text, sizeof(text), "cyc:%x", below(seed, 200));
	else
		snprintf(text, sizeof(text), "mtc:%x", (*mtc += 1 + below(seed, 3)) & 0xff);
	stream_write(stream, text);
}

void random_stream(struct stream *stream, uint32_t *seed, int what)
{
	uint32_t steps = 10 + below(seed, 60), mtc = 0;
	int enabled = below(seed, 2) != 0;

	stream_clear(stream);
	stream_write(stream, "pad psb");
	if (what & with_mtc)
		stream_write(stream, "tsc:f0000 tma:1000,10");
	stream_write(stream, enabled ? "fup:400000 exec:64 cbr:10 psbend" : "exec:64 psbend");
	for (uint32_t i = 0; i < steps; ++i) {
		const int change = below(seed, 8) == 0;
		const char *step = enabled && change ? PICK(seed, disabling_steps)
		                   : enabled         ? PICK(seed, enabled_steps)
		                   : change          ? PICK(seed, enabling_steps)
		                                     : PICK(seed, disabled_steps);

		if ((what & with_mtc) && strstr(step, "ovf"))
			continue;
		stream_write(stream, step);
		enabled ^= change;
		if (below(seed, 3) == 0)
			write_time(stream, seed, &mtc, what);
	}
}
