/* mutate_packets.c - libFuzzer's hook for inputs that end in a trace: every other mutation moves whole
 * packets (removes, doubles, swaps, inserts), so that what follows them stays readable. */
#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

#include "check.h"
#include "target.h"

enum { max_packets = 4096, max_packet_size = 16 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

struct packets {
	uint8_t *data;                   /* the whole input */
	uint16_t begin[max_packets + 1]; /* of each packet, and the end of the last */
	uint32_t count;
	size_t size, max_size;
	uint64_t random;
};

static uint64_t next_random(struct packets *p)
{
	p->random += 0x9e3779b97f4a7c15;
	uint64_t x = p->random;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint32_t below(struct packets *p, uint32_t n)
{
	return n ? (uint32_t)(next_random(p) % n) : 0;
}

/* Where packets begin; a byte that begins none is one of its own. */
static void find_packets(struct packets *p, size_t begin)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;

	pt_config_init(&config);
	config.begin = p->data + begin;
	config.end = p->data + p->size;
	decoder = pt_pkt_alloc_decoder(&config);
	FUZZ_CHECK(decoder, "no decoder");
	p->count = 0;
	while (begin < p->size && p->count < max_packets) {
		struct pt_packet packet;
		int size = -pte_eos;

		p->begin[p->count++] = (uint16_t)begin;
		if (pt_pkt_sync_set(decoder, (uint64_t)(p->data + begin - config.begin)) == 0)
			size = pt_pkt_next(decoder, &packet, sizeof(packet));
		begin += size > 0 ? (size_t)size : 1;
	}
	p->begin[p->count] = (uint16_t)begin;
	pt_pkt_free_decoder(decoder);
}

/* Puts @n bytes in place of those at [at, end). Returns whether there is room. */
static int replace(struct packets *p, size_t at, size_t end, const uint8_t *bytes, size_t n)
{
	if (p->size - (end - at) + n > p->max_size)
		return 0;
	memmove(p->data + at + n, p->data + end, p->size - end);
	memcpy(p->data + at, bytes, n);
	p->size += n;
	p->size -= end - at;
	return 1;
}

static uint32_t run_length(struct packets *p, uint32_t first)
{
	const uint32_t left = p->count - first, n = below(p, 4) ? 1 : 1 + below(p, 16);

	return n < left ? n : left;
}

static int remove_packets(struct packets *p)
{
	uint32_t first = below(p, p->count);

	return replace(p, p->begin[first], p->begin[first + run_length(p, first)], p->data, 0);
}

static int copy_packets(struct packets *p)
{
	const uint32_t from = below(p, p->count), to = below(p, p->count + 1), n = run_length(p, from);
	const size_t size = (size_t)(p->begin[from + n] - p->begin[from]);
	uint8_t *copy = malloc(size);
	int done;

	FUZZ_CHECK(copy, "no memory");
	memcpy(copy, p->data + p->begin[from], size);
	done = replace(p, p->begin[to], p->begin[to], copy, size);
	free(copy);
	return done;
}

static int swap_packets(struct packets *p)
{
	const uint32_t first = below(p, p->count - 1);
	const size_t a = p->begin[first], b = p->begin[first + 1], end = p->begin[first + 2];
	uint8_t copy[512];

	if (p->count < 2 || b - a > sizeof(copy))
		return 0;
	memcpy(copy, p->data + a, b - a);
	memmove(p->data + a, p->data + b, end - b);
	memcpy(p->data + a + (end - b), copy, b - a);
	return 1;
}

static void random_ip(struct packets *p, struct pt_packet_ip *ip)
{
	static const uint8_t compression[] = {pt_ipc_suppressed, pt_ipc_update_16, pt_ipc_update_16,
	                                      pt_ipc_update_32,  pt_ipc_sext_48,   pt_ipc_sext_48,
	                                      pt_ipc_update_48,  pt_ipc_full};

	ip->ipc = compression[below(p, sizeof(compression))];
	ip->ip = fuzz_code_address(p->data, p->size) + below(p, below(p, 2) ? 32 : 256);
}

static void random_mode(struct packets *p, struct pt_packet_mode *mode)
{
	if (below(p, 2)) {
		mode->leaf = pt_mol_tsx;
		mode->bits.tsx.intx = below(p, 2) & 1;
		mode->bits.tsx.abrt = !below(p, 3);
	} else {
		mode->leaf = pt_mol_exec;
		mode->bits.exec.csl = below(p, 4) != 0;
		mode->bits.exec.csd = !below(p, 3);
		mode->bits.exec.iflag = below(p, 2) & 1;
	}
}

static void random_payload(struct packets *p, struct pt_packet *packet)
{
	uint8_t *raw = (uint8_t *)&packet->payload;
	uint8_t bits;

	switch (packet->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		random_ip(p, &packet->payload.ip);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		bits = (uint8_t)(1 + below(p, packet->type == ppt_tnt_8 ? 6 : 47));
		packet->payload.tnt.bit_size = bits;
		packet->payload.tnt.payload = (next_random(p) | next_random(p)) & ((1ull << bits) - 1);
		break;
	case ppt_mode:
		random_mode(p, &packet->payload.mode);
		break;
	case ppt_cfe:
		packet->payload.cfe = (struct pt_packet_cfe){(enum pt_cfe_type)below(p, 16),
		                                             (uint8_t)below(p, 256), below(p, 4) != 0};
		break;
	case ppt_evd:
		packet->payload.evd = (struct pt_packet_evd){(enum pt_evd_type)below(p, 3), next_random(p)};
		break;
	case ppt_tsc:
		packet->payload.tsc.tsc = 0x100000 + below(p, 0x10000);
		break;
	case ppt_cyc:
		packet->payload.cyc.value = below(p, below(p, 2) ? 32 : 100000);
		break;
	default:
		/* small numbers in the first two bytes suit every other packet */
		raw[0] = (uint8_t)below(p, below(p, 2) ? 4 : 256);
		raw[2] = (uint8_t)below(p, 4);
		break;
	}
}

static int insert_packet(struct packets *p)
{
	/* What the flow hangs on comes more often. */
	static const uint8_t types[] = {ppt_tnt_8,   ppt_tnt_8,   ppt_tip,   ppt_tip,    ppt_fup,    ppt_fup,
	                                ppt_tip_pge, ppt_tip_pgd, ppt_mode,  ppt_pip,    ppt_vmcs,   ppt_cbr,
	                                ppt_tsc,     ppt_tma,     ppt_mtc,   ppt_cyc,    ppt_stop,   ppt_ovf,
	                                ppt_mnt,     ppt_exstop,  ppt_mwait, ppt_pwre,   ppt_pwrx,   ppt_ptw,
	                                ppt_cfe,     ppt_evd,     ppt_psb,   ppt_psbend, ppt_tnt_64, ppt_pad,
	                                ppt_tip_pge, ppt_tip_pgd, ppt_mode};
	struct pt_packet packet;
	struct pt_encoder *encoder;
	struct pt_config config;
	uint8_t bytes[max_packet_size];
	const uint32_t to = below(p, p->count + 1);
	int size;

	memset(&packet, 0, sizeof(packet));
	packet.type = (enum pt_packet_type)types[below(p, sizeof(types))];
	random_payload(p, &packet);
	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + sizeof(bytes);
	encoder = pt_alloc_encoder(&config);
	FUZZ_CHECK(encoder, "no encoder");
	size = pt_enc_next(encoder, &packet);
	pt_free_encoder(encoder);
	return size > 0 && replace(p, p->begin[to], p->begin[to], bytes, (size_t)size);
}

static int mutate_packets(struct packets *p)
{
	if (!p->count || below(p, 3) == 0)
		return insert_packet(p);
	switch (below(p, 3)) {
	case 0:
		return remove_packets(p);
	case 1:
		return copy_packets(p);
	default:
		return swap_packets(p);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	struct packets p = {.data = data, .size = size, .max_size = max_size, .random = seed};
	const size_t begin = fuzz_trace_begin(data, size);

	if (below(&p, 2) || size > UINT16_MAX || max_size > UINT16_MAX)
		return LLVMFuzzerMutate(data, size, max_size);
	for (uint32_t i = 1 + below(&p, 4); i; i--) {
		find_packets(&p, begin < p.size ? begin : p.size);
		if (!mutate_packets(&p))
			return LLVMFuzzerMutate(data, p.size, max_size);
	}
	return p.size;
}
