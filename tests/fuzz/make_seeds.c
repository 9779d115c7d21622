/* make_seeds.c - writes the seed corpus: make_seeds DIRECTORY.
 *
 * Traces come from pt_diff's generator: random programs, walked by an abstract CPU. Every third one has bytes
 * that are wrong. Packets of every type come from the encoder. The same seeds each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <intel-pt.h>

#include "../differential/generate.h"
#include "../differential/random.h"
#include "blocks_world.h"

enum { programs = 60, max_trace = 1200, max_seed = 4096 };

struct seed {
	uint8_t bytes[max_seed];
	size_t size;
};

static void put(struct seed *seed, const void *bytes, size_t size)
{
	if (size > max_seed - seed->size)
		size = max_seed - seed->size;
	memcpy(seed->bytes + seed->size, bytes, size);
	seed->size += size;
}

static void put8(struct seed *seed, uint64_t byte)
{
	const uint8_t value = (uint8_t)byte;

	put(seed, &value, 1);
}

static void put_random(struct seed *seed, struct random *random, size_t size)
{
	while (size--)
		put8(seed, random_next(random));
}

static void save(const char *directory, const char *target, const struct seed *seed, const char *kind,
                 unsigned number)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s-%u", directory, target, kind, number);
	file = fopen(path, "wb");
	if (!file || fwrite(seed->bytes, 1, seed->size, file) != seed->size || fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* The configuration that the case was made for; with a filter, all errata. */
static void put_config(struct seed *seed, const struct diff_case *c, unsigned flags, unsigned filter)
{
	put8(seed, flags);
	put8(seed, filter ? 255 : c->errata);
	put8(seed, filter ? 3 : c->errata >> 8);
	put8(seed, c->mtc_freq);
	put8(seed, c->nom_freq);
	put8(seed, c->eax);
	put8(seed, c->ebx > 255 ? 168 : c->ebx);
	put8(seed, filter);
	put8(seed, 0);
	put8(seed, 0);
	put8(seed, 0);
	put8(seed, 0);
}

static void put_trace(struct seed *seed, const struct diff_case *c, struct random *random, int mutate)
{
	const size_t begin = seed->size;

	put(seed, c->trace, c->size < max_trace ? c->size : max_trace);
	for (int i = 0; mutate && i < 3; i++)
		seed->bytes[begin + random_below(random, (uint32_t)(seed->size - begin))] ^=
		        (uint8_t)(1u << random_below(random, 8));
}

/* Which of the world's bases the case's code begins at, and where its code ends; negative: too large. */
static int find_code(const struct diff_case *c, uint64_t *base, uint64_t *end)
{
	uint64_t first = UINT64_MAX;

	*end = 0;
	for (size_t i = 0; i < c->nsections; i++) {
		if (c->section[i].vaddr < first)
			first = c->section[i].vaddr;
		if (c->section[i].vaddr + c->section[i].size > *end)
			*end = c->section[i].vaddr + c->section[i].size;
	}
	for (int i = 0; i < 16; i++) {
		uint8_t header[world_header] = {0};

		header[fuzz_config_bytes] = (uint8_t)i;
		*base = world_base(header, sizeof(header));
		if (first - *base < 64 && *end - *base <= max_code)
			return i;
	}
	return -1;
}

static void put_code(struct seed *seed, const struct diff_case *c, uint64_t base, uint64_t end)
{
	uint8_t code[max_code];

	memset(code, 0x90, sizeof(code));
	for (size_t i = 0; i < c->nsections; i++)
		memcpy(code + (c->section[i].vaddr - base), c->section[i].bytes, c->section[i].size);
	put(seed, code, end - base);
}

/* Returns whether the case is small enough. */
static int save_program(const char *directory, const struct diff_case *c, unsigned number)
{
	struct random random = {number};
	struct seed seed = {.size = 0};
	uint64_t base, end;
	const int layout = find_code(c, &base, &end);
	const unsigned ops = number % 4 ? 0 : 1 + random_below(&random, 20);

	if (layout < 0 || c->size < 100 || c->size > 2 * max_trace)
		return 0;
	put_config(&seed, c, number % 2 ? 0 : random_below(&random, 32),
	           number % 6 == 5 ? 1 + number % 16 : 0);
	put8(&seed, (unsigned)layout | (number % 3 ? 0 : random_below(&random, 16) << 4));
	put8(&seed, number % 5 ? 0 : random_next(&random));
	put8(&seed, ops ? client_is_mad : number % 7 ? 0 : random_below(&random, 4));
	put8(&seed, ops);
	put8(&seed, end - base);
	put8(&seed, (end - base) >> 8);
	put8(&seed, random_next(&random));
	put8(&seed, 0);
	put_random(&seed, &random, ops);
	put_code(&seed, c, base, end);
	put_trace(&seed, c, &random, number % 3 == 2);
	save(directory, "blocks", &seed, "program", number);

	if (number % 2)
		return 1;
	seed.size = 0;
	put8(&seed, 2);
	put_code(&seed, c, base, end);
	if (number % 10 == 0)
		save(directory, "insns", &seed, "program", number);
	seed.size = 0;
	put_config(&seed, c, random_below(&random, 8), 0);
	put8(&seed, ops);
	put_random(&seed, &random, ops);
	put_trace(&seed, c, &random, number % 3 == 2);
	save(directory, "events", &seed, "program", number);
	return 1;
}

static void save_programs(const char *directory)
{
	static struct diff_case c;
	unsigned saved = 0;

	for (uint64_t number = 1; saved < programs; number++) {
		generate(&c, number);
		saved += save_program(directory, &c, saved) != 0;
		case_free(&c);
	}
}

/* All types of packets, whatever their order: some of the encoder's input is refused. */
static void put_packets(struct seed *seed, struct random *random)
{
	uint8_t bytes[700];
	struct pt_encoder *encoder;
	struct pt_config config;
	uint64_t size = 0;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + sizeof(bytes);
	encoder = pt_alloc_encoder(&config);
	if (!encoder)
		exit(1);
	for (unsigned i = 0; i < 200; i++) {
		struct pt_packet packet;
		uint8_t *raw = (uint8_t *)&packet.payload;

		memset(&packet, 0, sizeof(packet));
		packet.type = (enum pt_packet_type)(i % (ppt_trig + 1));
		raw[0] = (uint8_t)random_below(random, 8);
		raw[8] = (uint8_t)random_next(random);
		raw[9] = (uint8_t)random_below(random, 20);
		pt_enc_next(encoder, &packet);
	}
	pt_enc_get_offset(encoder, &size);
	put(seed, bytes, size);
	pt_free_encoder(encoder);
}

static void save_packets(const char *directory)
{
	struct random random = {77};

	for (unsigned n = 0; n < 8; n++) {
		struct seed seed = {.size = 0};

		put_random(&seed, &random, n % 2 ? 3 : 0);
		while (seed.size < fuzz_config_bytes)
			put8(&seed, 0);
		put_packets(&seed, &random);
		save(directory, "packets", &seed, "types", n);
		seed.size = 0;
		put_random(&seed, &random, 250);
		save(directory, "encode", &seed, "random", n);
		for (unsigned i = 0; i < 250; i++)
			put8(&seed, random_below(&random, i % 3 ? 6 : 256));
		save(directory, "images", &seed, "steps", n);
		seed.size = 0;
		put8(&seed, n);
		put_random(&seed, &random, 200);
		save(directory, "insns", &seed, "random", n);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_seeds DIRECTORY\n");
		return 1;
	}
	mkdir(argv[1], 0777);
	save_programs(argv[1]);
	save_packets(argv[1]);
	return 0;
}
