/* sideband_trace.c - see sideband_trace.h. Packets as in the Intel SDM, vol. 3, ch. "Intel Processor Trace".
 */
#include "sideband_trace.h"

#include <stdlib.h>
#include <string.h>

enum { psb_distance = 4096, rounds = 4, room_for_step = 128 };

const uint8_t sideband_code[] = {
        0x90, 0x90, /* nop, twice */
        0x74, 0x02, /* jz +2, not taken */
        0x90, 0x90, /* nop, twice */
        0xff, 0xe0, /* jmp *%rax, back to the start */
};
const size_t sideband_code_size = sizeof(sideband_code);

static int has_room(struct sideband_trace *trace)
{
	uint8_t *bytes;

	if (trace->capacity - trace->size >= room_for_step)
		return 1;
	bytes = realloc(trace->bytes, 2 * trace->capacity + room_for_step);
	if (!bytes) {
		trace->failed = 1;
		return 0;
	}
	trace->bytes = bytes;
	trace->capacity = 2 * trace->capacity + room_for_step;
	return 1;
}

static void put(struct sideband_trace *trace, const void *bytes, size_t size)
{
	memcpy(trace->bytes + trace->size, bytes, size);
	trace->size += size;
}

static void put_number(struct sideband_trace *trace, uint8_t header, uint64_t number, unsigned size)
{
	uint8_t bytes[9] = {header};

	for (unsigned i = 0; i < size; ++i)
		bytes[1 + i] = (uint8_t)(number >> 8 * i);
	put(trace, bytes, 1 + size);
}

static void put_tsc(struct sideband_trace *trace, uint64_t time)
{
	put_number(trace, 0x19, sb_clock_ns_to_tsc(trace->clock, time), 7);
}

void sideband_trace_psb(struct sideband_trace *trace, uint64_t time)
{
	static const uint8_t psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

	if (!has_room(trace))
		return;
	trace->psb = trace->size;
	put(trace, psb, sizeof(psb));
	put_tsc(trace, time);
	put(trace, "\x99\x01", 2); /* MODE.Exec: 64 bits */
	put(trace, "\x02\x23", 2); /* PSBEND */
}

void sideband_trace_run(struct sideband_trace *trace, uint64_t time, uint64_t ip)
{
	if (trace->size - trace->psb >= psb_distance)
		sideband_trace_psb(trace, time);
	if (!has_room(trace))
		return;
	put_tsc(trace, time);
	put_number(trace, 0xd1, ip, 8); /* TIP.PGE */
	for (unsigned i = 0; i < rounds; ++i) {
		put(trace, "\x04", 1);                   /* TNT: not taken */
		put_number(trace, 0x2d, ip & 0xffff, 2); /* TIP */
	}
	put(trace, "\x04\x01", 2); /* TNT, TIP.PGD */
}

void sideband_trace_free(struct sideband_trace *trace)
{
	free(trace->bytes);
}
