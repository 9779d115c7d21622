/* config.c - see config.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Unknown packets: refused, skipped by some bytes, or answered with nonsense. */
static int answer_unknown(struct pt_packet_unknown *unknown, const struct pt_config *config,
                          const uint8_t *pos, void *context)
{
	const uint8_t answer = *(const uint8_t *)context;

	FUZZ_CHECK(pos >= config->begin && pos < config->end, "position outside of the trace");
	FUZZ_CHECK(unknown->packet == pos, "packet is not the position");
	unknown->priv = context;
	switch (answer >> 4) {
	case 1:
		return -pte_bad_packet;
	case 2:
		return 0;
	case 3:
		return INT32_MAX;
	case 4:
		return 1 + (answer & 15) + 250;
	case 5:
		return -(int)pte_nomem - (answer & 7); /* codes that no decoder ends or begins with */
	default:
		return 1 + (answer & 15);
	}
}

static void set_errata(struct pt_errata *errata, unsigned bits)
{
	errata->bdm70 = bits & 1;
	errata->bdm64 = bits >> 1 & 1;
	errata->skd007 = bits >> 2 & 1;
	errata->skd022 = bits >> 3 & 1;
	errata->skd010 = bits >> 4 & 1;
	errata->skl014 = bits >> 5 & 1;
	errata->apl12 = bits >> 6 & 1;
	errata->apl11 = bits >> 7 & 1;
	errata->skl168 = bits >> 8 & 1;
	errata->skz84 = bits >> 9 & 1;
}

/* Small numbers as they are; the largest stands for the largest of all. */
static uint32_t number(uint8_t byte)
{
	return byte == UINT8_MAX ? UINT32_MAX : byte;
}

static void set_filter(struct pt_conf_addr_filter *filter, uint8_t bits, uint64_t code)
{
	filter->config.addr_cfg = (bits & 3u) | (bits >> 2 & 3u) << 4 | (bits >> 4 & 15u) << 12;
	filter->addr0_a = code;
	filter->addr0_b = code + 0x7f;
	filter->addr1_a = code + 0x20;
	filter->addr1_b = code + 0x10;
	filter->addr3_a = 0;
	filter->addr3_b = UINT64_MAX;
}

void fuzz_config_init(struct fuzz_config *fc, struct fuzz_input *in, uint64_t code)
{
	struct pt_config *config = &fc->config;
	unsigned errata;

	memset(fc, 0, sizeof(*fc));
	memset(fc->bytes, 0xa5, sizeof(fc->bytes));
	pt_config_init(config);
	fc->flags = fuzz_u8(in);
	errata = fuzz_u8(in);
	set_errata(&config->errata, errata | (unsigned)fuzz_u8(in) << 8);
	config->mtc_freq = fuzz_u8(in);
	config->nom_freq = fuzz_u8(in);
	config->cpuid_0x15_eax = number(fuzz_u8(in));
	config->cpuid_0x15_ebx = number(fuzz_u8(in));
	set_filter(&config->addr_filter, fuzz_u8(in), code);
	fc->answer = fuzz_u8(in);
	if (fc->answer >> 4)
		config->decode.callback = answer_unknown;
	config->decode.context = &fc->answer;
	switch (fuzz_below(in, 8)) {
	case 1:
		config->size = sizeof(fc->bytes);
		break;
	case 2:
		config->size = offsetof(struct pt_config, decode);
		break;
	case 3:
		config->size = offsetof(struct pt_config, addr_filter);
		break;
	default:
		break;
	}
	in->pos += in->end - in->pos < 2 ? in->end - in->pos : 2; /* for later */
}

void fuzz_config_trace(struct fuzz_config *fc, struct fuzz_input *in, unsigned times)
{
	const size_t size = (size_t)(in->end - in->pos);

	fc->trace = malloc(size ? times * size : 1);
	FUZZ_CHECK(fc->trace, "no memory");
	for (unsigned i = 0; size && i < times; i++)
		memcpy(fc->trace + i * size, in->pos, size);
	in->pos = in->end;
	fc->config.begin = fc->trace;
	fc->config.end = fc->trace + times * size;
}

void fuzz_config_fini(struct fuzz_config *fc)
{
	free(fc->trace);
}

struct pt_config fuzz_config_for_blocks(const struct fuzz_config *fc)
{
	struct pt_config config = fc->config;

	config.size = config.size < sizeof(config) ? config.size : sizeof(config);
	config.flags.variant.block.end_on_call = !!(fc->flags & fuzz_end_on_call);
	config.flags.variant.block.end_on_jump = !!(fc->flags & fuzz_end_on_jump);
	config.flags.variant.block.enable_tick_events = !!(fc->flags & fuzz_ticks);
	config.flags.variant.block.keep_tcal_on_ovf = !!(fc->flags & fuzz_keep_tcal);
	config.flags.variant.block.enable_iflags_events = !!(fc->flags & fuzz_iflags);
	return config;
}

struct pt_config fuzz_config_for_insns(const struct fuzz_config *fc)
{
	struct pt_config config = fc->config;

	config.size = config.size < sizeof(config) ? config.size : sizeof(config);
	config.flags.variant.insn.enable_tick_events = !!(fc->flags & fuzz_ticks);
	config.flags.variant.insn.keep_tcal_on_ovf = !!(fc->flags & fuzz_keep_tcal);
	config.flags.variant.insn.enable_iflags_events = !!(fc->flags & fuzz_iflags);
	return config;
}

struct pt_config fuzz_config_for_events(const struct fuzz_config *fc)
{
	struct pt_config config = fc->config;

	config.size = config.size < sizeof(config) ? config.size : sizeof(config);
	config.flags.variant.event.keep_tcal_on_ovf = !!(fc->flags & fuzz_keep_tcal);
	config.flags.variant.event.enable_iflags_events = !!(fc->flags & fuzz_iflags);
	return config;
}
