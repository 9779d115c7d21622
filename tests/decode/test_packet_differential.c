/* test_packet_differential.c - our packet decoder against Debian's libipt.so.2 (package libipt2).
 *
 * Both read the same bytes; after an error both go on one byte later. Every packet must agree in type,
 * size and content, every refusal in its code. Where they may differ is listed in may_differ(), with
 * the reason. Skipped where that library, or a recording, is not there.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <intel-pt.h>

/* Debian's library, in a namespace of its own. */
struct other {
	void *library;
	struct pt_packet_decoder *(*alloc)(const struct pt_config *config);
	void (*free)(struct pt_packet_decoder *decoder);
	int (*sync_forward)(struct pt_packet_decoder *decoder);
	int (*sync_set)(struct pt_packet_decoder *decoder, uint64_t offset);
	int (*get_offset)(const struct pt_packet_decoder *decoder, uint64_t *offset);
	int (*next)(struct pt_packet_decoder *decoder, struct pt_packet *packet, size_t size);
	struct pt_encoder *(*alloc_encoder)(const struct pt_config *config);
	void (*free_encoder)(struct pt_encoder *encoder);
	int (*encode)(struct pt_encoder *encoder, const struct pt_packet *packet);
	int (*cpu_errata)(struct pt_errata *errata, const struct pt_cpu *cpu);
};

static void find(const struct other *other, const char *name, void *function)
{
	void *symbol = dlsym(other->library, name);

	assert_non_null(symbol);
	memcpy(function, &symbol, sizeof(symbol));
}

static int load_other(void **state)
{
	struct other *other = calloc(1, sizeof(*other));

	*state = other;
	if (!other)
		return -1;
	other->library = dlmopen(LM_ID_NEWLM, "/usr/lib/x86_64-linux-gnu/libipt.so.2", RTLD_NOW);
	if (!other->library)
		return 0;
	find(other, "pt_pkt_alloc_decoder", &other->alloc);
	find(other, "pt_pkt_free_decoder", &other->free);
	find(other, "pt_pkt_sync_forward", &other->sync_forward);
	find(other, "pt_pkt_sync_set", &other->sync_set);
	find(other, "pt_pkt_get_offset", &other->get_offset);
	find(other, "pt_pkt_next", &other->next);
	find(other, "pt_alloc_encoder", &other->alloc_encoder);
	find(other, "pt_free_encoder", &other->free_encoder);
	find(other, "pt_enc_next", &other->encode);
	find(other, "pt_cpu_errata", &other->cpu_errata);
	return 0;
}

static int unload_other(void **state)
{
	struct other *other = *state;

	if (other && other->library)
		dlclose(other->library);
	free(other);
	return 0;
}

/* What is to be compared, and where we are. */
struct comparison {
	const struct other *other;
	const char *name;
	struct pt_config config;
	struct pt_packet_decoder *ours, *theirs;
	uint64_t packets, errors, excused;
};

static void begin_comparison(struct comparison *c, const struct other *other, const char *name,
                             uint8_t *bytes, size_t size)
{
	*c = (struct comparison){.other = other, .name = name};
	pt_config_init(&c->config);
	c->config.begin = bytes;
	c->config.end = bytes + size;
	c->config.errata.skz84 = 1; /* theirs treats it in the packet layer, too */
	c->ours = pt_pkt_alloc_decoder(&c->config);
	c->theirs = other->alloc(&c->config);
	assert_non_null(c->ours);
	assert_non_null(c->theirs);
}

static void end_comparison(struct comparison *c)
{
	pt_pkt_free_decoder(c->ours);
	c->other->free(c->theirs);
}

static int is_newer_opcode(const uint8_t *pos, const struct pt_config *config)
{
	return config->end - pos >= 2 && pos[0] == 0x02 && (pos[1] == 0x13 || pos[1] == 0x53);
}

/* Where 2.0.5 is known to differ:
 *  - CFE and EVD came after 2.0.5.
 *  - A CYC of ten bytes can hold up to 64 bits, which 2.0.5 writes but does not read.
 *  - The stray byte behind a corrupted TMA (SKZ84) may be cut off: 2.0.5 steps past the end. */
static int may_differ(const struct comparison *c, const uint8_t *pos, int ours,
                      const struct pt_packet *packet)
{
	if (is_newer_opcode(pos, &c->config))
		return 1;
	if (ours == -pte_eos && c->config.end - pos == 7 && pos[0] == 0x02 && pos[1] == 0x73)
		return 1;
	return ours >= 10 && packet->type == ppt_cyc;
}

/* Copies what 2.0.5 cannot know or has wrong:
 *  - MODE.Exec's IF bit came after 2.0.5.
 *  - PWRE's HW bit is bit 7 of its byte in the SDM, bit 3 in 2.0.5. */
static void excuse_fields(struct pt_packet *theirs, const struct pt_packet *ours)
{
	if (ours->type == ppt_mode && ours->payload.mode.leaf == pt_mol_exec)
		theirs->payload.mode.bits.exec.iflag = ours->payload.mode.bits.exec.iflag;
	if (ours->type == ppt_pwre)
		theirs->payload.pwre.hw = ours->payload.pwre.hw;
}

/* One packet of both at @offset. Returns how far to go on. */
static uint64_t compare_packet(struct comparison *c, uint64_t offset)
{
	const uint8_t *pos = c->config.begin + offset;
	struct pt_packet ours, theirs;
	int our_size, their_size;

	memset(&ours, 0, sizeof(ours));
	memset(&theirs, 0, sizeof(theirs));
	our_size = pt_pkt_next(c->ours, &ours, sizeof(ours));
	their_size = c->other->next(c->theirs, &theirs, sizeof(theirs));
	if (may_differ(c, pos, our_size, &ours)) {
		c->excused++;
		return 0;
	}
	excuse_fields(&theirs, &ours);
	if (our_size != their_size || (our_size > 0 && memcmp(&ours, &theirs, sizeof(ours)) != 0))
		fail_msg("%s at %#llx: %02x %02x: ours %d, type %d; theirs %d, type %d", c->name,
		         (unsigned long long)offset, pos[0], c->config.end - pos > 1 ? pos[1] : 0, our_size,
		         ours.type, their_size, theirs.type);
	if (our_size < 0) {
		c->errors++;
		return 0;
	}
	c->packets++;
	return (uint64_t)our_size;
}

static void compare_all(struct comparison *c)
{
	uint64_t size = (uint64_t)(c->config.end - c->config.begin);
	uint64_t offset = 0, step = 0;

	while (offset < size) {
		if (!step) {
			assert_int_equal(pt_pkt_sync_set(c->ours, offset), 0);
			assert_int_equal(c->other->sync_set(c->theirs, offset), 0);
		}
		step = compare_packet(c, offset);
		offset += step ? step : 1;
	}
}

static void compare_sync(struct comparison *c)
{
	int ours, theirs;

	do {
		uint64_t our_offset = 0, their_offset = 0;

		ours = pt_pkt_sync_forward(c->ours);
		theirs = c->other->sync_forward(c->theirs);
		assert_int_equal(ours, theirs);
		pt_pkt_get_offset(c->ours, &our_offset);
		c->other->get_offset(c->theirs, &their_offset);
		assert_int_equal(our_offset, their_offset);
	} while (ours >= 0);
	assert_int_equal(ours, -pte_eos);
}

/* A private copy of a file that may be written to; the size is zero when it cannot be read. */
struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes map_copy(const char *path)
{
	struct bytes bytes = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	if (fd < 0)
		return bytes;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (data != MAP_FAILED)
			bytes = (struct bytes){.data = data, .size = (size_t)st.st_size};
	}
	close(fd);
	return bytes;
}

/* Calls @check for each trace of the corpus; returns their number. */
static size_t for_each_trace(const struct other *other,
                             void (*check)(const struct other *other, const char *name, struct bytes bytes))
{
	size_t count = 0;
	glob_t found;

	if (glob(CORPUS_DIR "/*/*.pt", 0, NULL, &found) != 0)
		return 0;
	if (glob(CORPUS_DIR "/*/pt.bin", GLOB_APPEND, NULL, &found) != 0)
		print_message("no hw-hello\n");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct bytes bytes = map_copy(found.gl_pathv[i]);

		if (!bytes.size)
			continue;
		check(other, found.gl_pathv[i], bytes);
		munmap(bytes.data, bytes.size);
		count++;
	}
	globfree(&found);
	return count;
}

static void skip_without(const struct other *other)
{
	if (!other->library) {
		print_message("no libipt.so.2 to compare with\n");
		skip();
	}
}

static void check_trace(const struct other *other, const char *name, struct bytes bytes)
{
	struct comparison c;

	begin_comparison(&c, other, name, bytes.data, bytes.size);
	compare_sync(&c);
	compare_all(&c);
	assert_true(c.packets > 0);
	assert_int_equal(c.excused, 0); /* nothing to excuse in a real trace */
	end_comparison(&c);
}

static void recordings_read_the_same(void **state)
{
	const struct other *other = *state;

	skip_without(other);
	if (!for_each_trace(other, check_trace))
		skip();
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Pieces of a recording with some bytes overwritten. */
static void check_mutated(const struct other *other, const char *name, struct bytes bytes)
{
	uint32_t seed = 88172645;

	for (int round = 0; round < 100; round++) {
		uint8_t piece[2048];
		size_t size = bytes.size < sizeof(piece) ? bytes.size : sizeof(piece);
		size_t flaws = 1 + next_random(&seed) % 64;
		struct comparison c;

		memcpy(piece, bytes.data + next_random(&seed) % (bytes.size - size + 1), size);
		for (size_t i = 0; i < flaws; i++)
			piece[next_random(&seed) % size] = (uint8_t)next_random(&seed);
		begin_comparison(&c, other, name, piece, size);
		compare_sync(&c);
		compare_all(&c);
		end_comparison(&c);
	}
}

static void damaged_recordings_read_the_same(void **state)
{
	const struct other *other = *state;

	skip_without(other);
	if (!for_each_trace(other, check_mutated))
		skip();
}

/* Random bytes with many opcodes among them. */
static void random_bytes_read_the_same(void **state)
{
	static const uint8_t second[] = {0x82, 0xa3, 0x43, 0xf3, 0x23, 0x03, 0x73, 0x83,
	                                 0xc8, 0xc3, 0x62, 0xe2, 0xc2, 0x22, 0xa2, 0x12,
	                                 0x32, 0x52, 0x92, 0xb2, 0xf2, 0x13, 0x53, 0x88};
	const struct other *other = *state;
	uint64_t packets = 0, errors = 0, excused = 0;
	uint32_t seed = 362436069;

	skip_without(other);
	for (int round = 0; round < 4000; round++) {
		uint8_t bytes[256];
		size_t size = 1 + next_random(&seed) % sizeof(bytes);
		struct comparison c;

		for (size_t i = 0; i < size; i++) {
			bytes[i] = (uint8_t)next_random(&seed);
			if (i && next_random(&seed) % 4 == 0) {
				bytes[i - 1] = 0x02;
				bytes[i] = second[next_random(&seed) % sizeof(second)];
			}
		}
		begin_comparison(&c, other, "random bytes", bytes, size);
		compare_all(&c);
		packets += c.packets;
		errors += c.errors;
		excused += c.excused;
		end_comparison(&c);
	}
	print_message("%llu packets, %llu errors, %llu excused\n", (unsigned long long)packets,
	              (unsigned long long)errors, (unsigned long long)excused);
	assert_true(packets > 100000 && errors > 1000 && excused < packets / 10);
}

/* What theirs reads, both write alike. */
static void packets_are_written_the_same(void **state)
{
	const struct other *other = *state;
	uint32_t seed = 521288629;
	int written = 0;

	skip_without(other);
	for (int round = 0; round < 200000; round++) {
		uint8_t bytes[16], ours[16] = {0}, theirs[16] = {0};
		struct pt_packet packet = {0};
		struct comparison c;
		struct pt_encoder *encoder;
		int size;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)next_random(&seed);
		if (next_random(&seed) % 2)
			bytes[0] = 0x02;
		begin_comparison(&c, other, "random packet", bytes, sizeof(bytes));
		other->sync_set(c.theirs, 0);
		size = other->next(c.theirs, &packet, sizeof(packet));
		end_comparison(&c);
		if (size < 0 || packet.type == ppt_pwre || packet.type == ppt_invalid)
			continue; /* PWRE: see excuse_fields() */

		c.config.begin = ours;
		c.config.end = ours + sizeof(ours);
		encoder = pt_alloc_encoder(&c.config);
		size = pt_enc_next(encoder, &packet);
		pt_free_encoder(encoder);

		c.config.begin = theirs;
		c.config.end = theirs + sizeof(theirs);
		encoder = other->alloc_encoder(&c.config);
		assert_int_equal(other->encode(encoder, &packet), size);
		other->free_encoder(encoder);
		assert_memory_equal(ours, theirs, sizeof(ours));
		written++;
	}
	assert_true(written > 50000);
}

/* Processors that 2.0.5 knows, but for those that master moved to another group. */
static void errata_are_the_same(void **state)
{
	const struct other *other = *state;
	int known = 0;

	skip_without(other);
	for (unsigned model = 0; model < 256; model++) {
		struct pt_cpu cpu = {.vendor = pcv_intel, .family = 6, .model = (uint8_t)model};
		struct pt_errata ours, theirs;

		memset(&theirs, 0, sizeof(theirs));
		if (other->cpu_errata(&theirs, &cpu) < 0)
			continue;
		assert_int_equal(pt_cpu_errata(&ours, &cpu), 0);
		known++;
		if (model == 0x8f) /* moved */
			continue;
		if (theirs.skl014 && !ours.skl014 && ours.apl11) /* 0x97 group: skl014 dropped */
			theirs.skl014 = 0;
		if (memcmp(&ours, &theirs, sizeof(ours)) != 0) {
			uint32_t a, b;

			memcpy(&a, &ours, sizeof(a));
			memcpy(&b, &theirs, sizeof(b));
			fail_msg("model %u: ours %#x, theirs %#x", model, a, b);
		}
	}
	assert_true(known > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(recordings_read_the_same),
	        cmocka_unit_test(damaged_recordings_read_the_same),
	        cmocka_unit_test(random_bytes_read_the_same),
	        cmocka_unit_test(packets_are_written_the_same),
	        cmocka_unit_test(errata_are_the_same),
	};

	return cmocka_run_group_tests(tests, load_other, unload_other);
}
