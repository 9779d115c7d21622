/* mutate.c - see mutate.h. */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

#include "pt_writer.h"

/* Replaces @old bytes at @at by @size bytes. */
static void replace(struct diff_case *c, size_t at, size_t old, const uint8_t *bytes, size_t size)
{
	uint8_t *trace = malloc(c->size - old + size + 1);

	if (!trace)
		abort();
	memcpy(trace, c->trace, at);
	if (size)
		memcpy(trace + at, bytes, size);
	memcpy(trace + at + size, c->trace + at + old, c->size - at - old);
	free(c->trace);
	c->trace = trace;
	c->size += size - old;
}

static size_t somewhere(const struct diff_case *c, struct random *random)
{
	return random_below(random, (uint32_t)c->size);
}

static size_t some_size(const struct diff_case *c, struct random *random, size_t at, uint32_t limit)
{
	size_t size = 1 + random_below(random, limit);

	return size < c->size - at ? size : c->size - at;
}

static void flip_bit(struct diff_case *c, struct random *random)
{
	c->trace[somewhere(c, random)] ^= (uint8_t)(1u << random_below(random, 8));
}

static void set_byte(struct diff_case *c, struct random *random)
{
	c->trace[somewhere(c, random)] = (uint8_t)random_next(random);
}

static void delete_bytes(struct diff_case *c, struct random *random)
{
	size_t at = somewhere(c, random);

	replace(c, at, some_size(c, random, at, 16), NULL, 0);
}

static void duplicate_bytes(struct diff_case *c, struct random *random)
{
	size_t from = somewhere(c, random), size = some_size(c, random, from, 64);
	uint8_t bytes[64];

	memcpy(bytes, c->trace + from, size);
	replace(c, somewhere(c, random), 0, bytes, size);
}

static void insert_bytes(struct diff_case *c, struct random *random)
{
	uint8_t bytes[16];
	size_t size = 1 + random_below(random, sizeof(bytes));

	for (size_t i = 0; i < size; ++i)
		bytes[i] = (uint8_t)random_next(random);
	replace(c, somewhere(c, random), 0, bytes, size);
}

static void truncate_trace(struct diff_case *c, struct random *random)
{
	if (c->size > 1)
		c->size = 1 + random_below(random, (uint32_t)c->size - 1);
}

/* Any packet, with an address that is mostly one of the trace's code. */
static void write_packet(struct pt_writer *writer, const struct diff_case *c, struct random *random)
{
	static const enum ip_packet types[] = {ip_tip, ip_pge, ip_pgd, ip_fup};
	const struct case_section *section =
	        c->nsections ? &c->section[random_below(random, (uint32_t)c->nsections)] : NULL;
	uint64_t ip = section ? section->vaddr + random_below(random, (uint32_t)section->size)
	                      : random_next(random);
	uint32_t kind = random_below(random, 20);

	switch (kind) {
	case 0:
		pt_psb(writer);
		break;
	case 1:
		pt_psbend(writer);
		break;
	case 2:
		pt_ovf(writer);
		break;
	case 3:
		pt_mode_exec(writer, 1 + (int)random_below(random, 3));
		break;
	case 4:
		pt_mode_tsx(writer, random_hit(random, 500), random_hit(random, 300));
		break;
	case 5:
		pt_pip(writer, random_next(random) & 0xffffff000, random_hit(random, 200));
		break;
	case 6:
		pt_vmcs(writer, random_next(random) & 0xffffff000);
		break;
	case 7:
		pt_stop(writer);
		break;
	case 8:
		pt_exstop(writer, random_hit(random, 500));
		break;
	case 9:
		pt_mwait(writer, 1, 1);
		break;
	case 10:
		pt_ptw(writer, 1, random_hit(random, 500), random_hit(random, 500));
		break;
	case 11:
		pt_ip_suppressed(writer, types[random_below(random, 4)]);
		break;
	case 12:
		pt_tma(writer, (uint16_t)random_next(random), (uint16_t)random_below(random, 512));
		break;
	case 13:
		pt_mtc(writer, (uint8_t)random_next(random));
		break;
	case 14:
		for (uint32_t n = 1 + random_below(random, 8); n--;)
			pt_branch(writer, random_hit(random, 500));
		pt_flush(writer);
		break;
	default:
		pt_ip(writer, types[random_below(random, 4)], ip);
		break;
	}
}

static void insert_packet(struct diff_case *c, struct random *random)
{
	struct pt_writer writer = {.random = random, .last_unknown = 1};

	write_packet(&writer, c, random);
	replace(c, somewhere(c, random), 0, writer.bytes, writer.size);
	free(writer.bytes);
}

/* Bytes of the packet at @at, as far as that can be told; at least one. */
static size_t packet_size(const struct diff_case *c, size_t at)
{
	static const uint8_t ip_sizes[] = {1, 3, 5, 7, 7, 1, 9, 1};
	static const uint8_t extended[][2] = {{0xa3, 8},  {0x43, 8},  {0x03, 4}, {0x73, 7}, {0xc8, 7},
	                                      {0xc3, 11}, {0xc2, 10}, {0x22, 4}, {0xa2, 7}, {0x82, 16}};
	uint8_t byte = c->trace[at], low = byte & 0x1f;

	if (byte == 0x19)
		return 8;
	if (byte == 0x59 || byte == 0x99)
		return 2;
	if (low == ip_tip || low == ip_pge || low == ip_pgd || low == ip_fup)
		return ip_sizes[byte >> 5];
	if (byte != 0x02 || at + 1 >= c->size)
		return 1;
	for (size_t i = 0; i < sizeof(extended) / sizeof(extended[0]); ++i)
		if (extended[i][0] == c->trace[at + 1])
			return extended[i][1];
	return 2;
}

/* Deletes or repeats one packet, or has it change places with the next one. */
static void change_packet(struct diff_case *c, struct random *random)
{
	size_t target = somewhere(c, random), at = 0, size, next;
	uint8_t bytes[64];

	while ((size = packet_size(c, at)) + at <= target)
		at += size;
	if (at + size >= c->size)
		return;
	next = packet_size(c, at + size);
	if (at + size + next > c->size)
		return;
	memcpy(bytes, c->trace + at + size, next);
	memcpy(bytes + next, c->trace + at, size);
	switch (random_below(random, 3)) {
	case 0:
		replace(c, at, size, NULL, 0);
		break;
	case 1:
		replace(c, at, 0, bytes + next, size);
		break;
	default:
		replace(c, at, size + next, bytes, size + next);
		break;
	}
}

void mutate(struct diff_case *c, struct random *random)
{
	static void (*const changes[])(struct diff_case * c, struct random * random) = {
	        flip_bit,      set_byte,      delete_bytes,  duplicate_bytes, insert_bytes,  truncate_trace,
	        insert_packet, insert_packet, change_packet, change_packet,   change_packet,
	};
	uint32_t count = 1 + random_below(random, 3);

	free(c->truth);
	c->truth = NULL;
	c->ntruth = 0;
	c->estimates = c->damaged = 1;
	while (count-- && c->size > 1)
		changes[random_below(random, sizeof(changes) / sizeof(changes[0]))](c, random);
}

void mutate_cut(struct diff_case *c, struct random *random, size_t size)
{
	static const uint8_t psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	size_t from = somewhere(c, random);
	const uint8_t *found = memmem(c->trace + from, c->size - from, psb, sizeof(psb));

	if (!found)
		found = memmem(c->trace, c->size, psb, sizeof(psb));
	from = found ? (size_t)(found - c->trace) : 0;
	if (size > c->size - from)
		size = c->size - from;
	memmove(c->trace, c->trace + from, size);
	c->size = size;
}
