/* time.c - see time.h. */
#include "event/time.h"

#include <string.h>

#include "packet/packet_form.h"
#include "packet/timing_pairs.h"

/* An MTC's payload is 8 bits of CTC from bit mtc_freq on; TMA has the low 16 bits of CTC. */
enum { mtc_bits = 8, tma_ctc_bits = 16 };

void pt_time_init(struct pt_time *time)
{
	memset(time, 0, sizeof(*time));
}

/* value * num / den without overflow. */
static uint64_t scale(uint64_t value, uint64_t num, uint64_t den)
{
	return value / den * num + value % den * num / den;
}

static int can_use_ctc(const struct pt_config *config)
{
	return config->cpuid_0x15_eax && config->cpuid_0x15_ebx;
}

/* scale(), @den being a power of two: that of most processors is 2. */
static uint64_t scale_binary(uint64_t value, uint64_t num, uint32_t den)
{
	const int shift = __builtin_ctz(den);

	return (value >> shift) * num + ((value & (den - 1)) * num >> shift);
}

static uint64_t ctc_to_tsc(uint64_t ctc, const struct pt_config *config)
{
	const uint32_t num = config->cpuid_0x15_ebx, den = config->cpuid_0x15_eax;

	return den & (den - 1) ? scale(ctc, num, den) : scale_binary(ctc, num, den);
}

void pt_time_overflow(struct pt_time *time, int keep_tcal)
{
	time->have_tma = 0;
	time->next = 0;
	time->have_mtc = 0;
	time->anchor = time->tsc;
	time->ctc = 0;
	time->cyc = 0;
	if (!keep_tcal)
		time->ratio = 0;
}

void pt_time_update_tsc(struct pt_time *time, uint64_t tsc)
{
	time->tsc = tsc;
	time->stamp = tsc;
	time->have_stamp = 1;
	time->anchor = tsc;
	time->ctc = 0;
	time->cyc = 0;
	time->have_tsc = 1;
	time->have_tma = 0;
	time->next = 0;
	time->have_mtc = 0;
	time->lost_mtc = 0;
	time->lost_cyc = 0;
}

void pt_time_update_cbr(struct pt_time *time, uint8_t cbr, const struct pt_config *config)
{
	time->cbr = cbr;
	time->have_cbr = 1;
	time->ratio = cbr && config->nom_freq ? ((uint64_t)config->nom_freq << pt_ratio_shift) / cbr : 0;
	/* Cycles so far had another length: go on from the estimate. */
	time->anchor = time->tsc;
	time->cyc = 0;
}

void pt_time_psb(struct pt_time *time, const struct pt_config *config)
{
	time->cyc_lost = config->errata.skl168;
}

/* The time of the next MTC, which has not come yet; its distance must be known. */
static uint64_t next_mtc(const struct pt_time *time, const struct pt_config *config)
{
	return time->base + ctc_to_tsc(time->ctc + (1ull << config->mtc_freq), config);
}

int pt_time_update_tma(struct pt_time *time, uint16_t ctc, uint16_t fc, const struct pt_config *config)
{
	uint32_t low = config->mtc_freq < tma_ctc_bits ? (1u << config->mtc_freq) - 1 : 0xffff;

	if (!time->have_stamp)
		return -pte_bad_context;
	time->have_stamp = 0;
	if (!can_use_ctc(config))
		return 0;
	/* The TSC packet's time lies fc ticks after the CTC edge that TMA names; MTCs come at edges at
	 * which the low bits are zero. */
	time->base = time->stamp - fc - ctc_to_tsc(ctc & low, config);
	time->ctc = 0;
	time->last_ctc = (uint8_t)(ctc >> (config->mtc_freq < tma_ctc_bits ? config->mtc_freq : 15));
	time->ctc_mask = 0xff;
	if (config->mtc_freq + mtc_bits > tma_ctc_bits)
		time->ctc_mask =
		        config->mtc_freq < tma_ctc_bits ? (1u << (tma_ctc_bits - config->mtc_freq)) - 1 : 0;
	time->have_tma = 1;
	time->have_mtc = 0;
	time->next = config->mtc_freq < 32 ? next_mtc(time, config) : 0;
	return 0;
}

/* Without TSC packets, time is relative: it begins at the first MTC. */
static void begin_at_mtc(struct pt_time *time, uint8_t ctc)
{
	time->base = time->tsc;
	time->ctc = 0;
	time->last_ctc = ctc;
	time->ctc_mask = 0xff;
	time->have_tma = 1;
}

/* The last MTC was at @tsc. Cycles from one to the next calibrate the cycle's length better than CBR does:
 * @calibrates, whether there was none in between. */
static inline void stand_at_mtc(struct pt_time *time, uint64_t tsc, int calibrates)
{
	if (calibrates && time->cyc && time->anchor < tsc && !time->cyc_lost)
		time->ratio = ((tsc - time->anchor) << pt_ratio_shift) / time->cyc;
	time->have_mtc = 1;
	time->cyc_lost = 0;
	time->lost_cyc = 0;
	time->anchor = tsc;
	time->cyc = 0;
	pt_time_advance(time, tsc);
}

void pt_time_due_mtc(struct pt_time *time, const struct pt_config *config)
{
	stand_at_mtc(time, time->next, 1);
	time->last_ctc += 1;
	time->ctc += 1ull << config->mtc_freq;
	time->next = next_mtc(time, config);
}

void pt_time_update_mtc(struct pt_time *time, uint8_t ctc, const struct pt_config *config)
{
	uint64_t delta;

	if (!can_use_ctc(config) || (time->have_tsc && !time->have_tma)) {
		time->lost_mtc += 1;
		return;
	}
	if (!time->have_tma)
		begin_at_mtc(time, ctc);
	delta = (uint64_t)((ctc - time->last_ctc) & (int)time->ctc_mask);
	if (config->mtc_freq < 32)
		time->ctc += delta << config->mtc_freq;
	time->last_ctc = ctc;
	time->ctc_mask = 0xff;
	stand_at_mtc(time, time->base + ctc_to_tsc(time->ctc, config), time->have_mtc && delta == 1);
	time->next = config->mtc_freq < 32 ? next_mtc(time, config) : 0;
}

void pt_time_update_cyc(struct pt_time *time, uint64_t cycles, const struct pt_config *config)
{
	pt_time_pass_cyc(time, cycles, config);
}

/* MTCs in a row, each one tick behind the one before, and cycles between two of them. */
struct mtc_row {
	const uint8_t *end; /* behind the last MTC */
	uint64_t count;
	uint64_t counted; /* the last of them that had cycles before it, counted from one */
	uint64_t cyc;     /* and how many */
};

/* Of this many bits, none of what follows overflows. */
enum { ctc_bits = 44, ratio_bits = 16, tsc_bits = 61 };

/* Whether all that counts of MTCs in a row is the last one: each is later than the one before, and no
 * estimate reaches beyond the next. */
static int last_mtc_counts(const struct pt_time *time, const struct pt_config *config)
{
	const uint32_t num = config->cpuid_0x15_ebx, den = config->cpuid_0x15_eax;

	return can_use_ctc(config) && num >= den && !(num >> ratio_bits) && config->mtc_freq < 32 &&
	       time->have_tma && time->have_mtc && !(time->ctc >> (ctc_bits - 1)) &&
	       !((time->base | time->tsc) >> tsc_bits);
}

enum { ctc_shift = 24 };

/* Pairs, but for their cycles, with MTCs from @ctc on. */
static inline pt_timing_half expected_from(uint8_t ctc)
{
	const pt_timing_half from_zero = {0, 1, 2, 3};

	return (from_zero + ctc) << ctc_shift | pt_timing_pair_bits;
}

/* In what those at @pos differ from @expected; their cycles always do. */
static inline pt_timing_half differ(const uint8_t *pos, pt_timing_half expected)
{
	return pt_timing_half_at(pos) ^ expected;
}

/* Behind as many of them as there are at @pos, the first MTC being @ctc. */
static const uint8_t *skip_expected(const uint8_t *pos, const uint8_t *end, uint8_t ctc)
{
	enum { half_size = pt_timing_pairs_size / 2, half_ctc = pt_timing_pairs_count / 2 << ctc_shift };
	const pt_timing_half none = {0}, mask = none + (pt_timing_pair_mask | UINT32_C(0xff) << ctc_shift);
	pt_timing_half first = expected_from(ctc), second = first + half_ctc;
	uint32_t count = pt_timing_pairs_count;

	/* Twice as many at once, as long as there are. */
	while (end - pos >= 2 * pt_timing_pairs_size &&
	       pt_timing_are_zero((differ(pos, first) | differ(pos + half_size, second) |
	                           differ(pos + 2 * half_size, first + 2 * half_ctc) |
	                           differ(pos + 3 * half_size, second + 2 * half_ctc)) &
	                          mask)) {
		first += 4 * half_ctc;
		second += 4 * half_ctc;
		pos += 2 * pt_timing_pairs_size;
	}
	while (count == pt_timing_pairs_count && end - pos >= pt_timing_pairs_size) {
		count = pt_timing_count((pt_timing_half)((differ(pos, first) & mask) == none),
		                        (pt_timing_half)((differ(pos + half_size, second) & mask) == none));
		first += 2 * half_ctc;
		second += 2 * half_ctc;
		pos += count * pt_timing_pair_size;
	}
	return pos;
}

/* Of the pairs from @begin to the row's end, the last one that has cycles. */
static void count_last(struct mtc_row *row, const uint8_t *begin)
{
	uint64_t count = row->count;

	for (const uint8_t *pos = row->end; pos != begin; --count) {
		pos -= pt_timing_pair_size;
		if (pt_packet_cyc_2(pos)) {
			row->counted = count;
			row->cyc = pt_packet_cyc_2(pos);
			return;
		}
	}
}

/* Goes over the pairs at @pos, behind the row so far, the last MTC before the row having been @ctc. Returns
 * where they end. */
static const uint8_t *pass_pairs(struct mtc_row *row, const uint8_t *pos, const uint8_t *end, uint8_t ctc)
{
	const uint8_t *const begin = pos;

	pos = skip_expected(pos, end, (uint8_t)(ctc + row->count + 1));
	if (pos == begin)
		return pos;
	row->count += (uint64_t)(pos - begin) / pt_timing_pair_size;
	row->end = pos;
	count_last(row, begin);
	return pos;
}

static struct mtc_row find_row(const uint8_t *pos, const uint8_t *end, uint8_t ctc)
{
	struct mtc_row row = {.end = pos};
	uint64_t cyc = 0;

	pos = pass_pairs(&row, pos, end, ctc);
	while (end - pos >= pt_packet_form_room) {
		if (*pos == pt_packet_mtc) {
			if (pos[1] != (uint8_t)(ctc + row.count + 1))
				break;
			row.count++;
			if (cyc) {
				row.counted = row.count;
				row.cyc = cyc;
				cyc = 0;
			}
			pos += 2;
			row.end = pos;
		} else if (pt_packet_is_cyc_2(pos)) {
			cyc += pt_packet_cyc_2(pos);
			pos += 2;
		} else if (pt_packet_forms[*pos].type == ppt_cyc && pt_packet_forms[*pos].size) {
			cyc += pt_packet_forms[*pos].word[0];
			pos += 1;
		} else if (!*pos) {
			pos = pt_packet_skip_pads(pos, end);
			if (!cyc)
				pos = pass_pairs(&row, pos, end, ctc);
		} else {
			break;
		}
	}
	return row;
}

/* The time of the MTC at @ctc: by ctc_to_tsc(), but that nothing can overflow here. */
static inline uint64_t mtc_at(const struct pt_time *time, uint64_t ctc, const struct pt_config *config)
{
	const uint64_t product = ctc * config->cpuid_0x15_ebx;
	const uint32_t den = config->cpuid_0x15_eax;

	return time->base + (den & (den - 1) ? product / den : product >> __builtin_ctz(den));
}

const uint8_t *pt_time_skip(struct pt_time *time, const uint8_t *pos, const struct pt_config *config,
                            const uint8_t **last)
{
	struct mtc_row row;
	uint64_t tsc, tick, counted;

	if (!last_mtc_counts(time, config))
		return pos;
	row = find_row(pos, config->end, time->last_ctc);
	if (!row.count || row.count > 1ull << (ctc_bits - 1) >> config->mtc_freq)
		return pos;
	tick = 1ull << config->mtc_freq;
	counted = time->ctc + row.counted * tick;
	time->ctc += row.count * tick;
	tsc = mtc_at(time, time->ctc, config);
	if (row.counted)
		time->ratio = ((mtc_at(time, counted, config) - mtc_at(time, counted - tick, config))
		               << pt_ratio_shift) /
		              row.cyc;
	time->last_ctc = (uint8_t)(time->last_ctc + row.count);
	time->lost_cyc = 0;
	time->anchor = tsc;
	time->cyc = 0;
	time->next = mtc_at(time, time->ctc + tick, config);
	pt_time_advance(time, tsc);
	*last = row.end - 2;
	return row.end;
}

int pt_time_update(struct pt_time *time, const struct pt_packet *packet, const struct pt_config *config)
{
	int status;

	switch (packet->type) {
	case ppt_tsc:
		pt_time_update_tsc(time, packet->payload.tsc.tsc);
		return 1;
	case ppt_tma:
		status = pt_time_update_tma(time, packet->payload.tma.ctc, packet->payload.tma.fc, config);
		return status < 0 ? status : 1;
	case ppt_mtc:
		pt_time_update_mtc(time, packet->payload.mtc.ctc, config);
		return 1;
	case ppt_cyc:
		pt_time_update_cyc(time, packet->payload.cyc.value, config);
		return 1;
	case ppt_cbr:
		pt_time_update_cbr(time, packet->payload.cbr.ratio, config);
		return 1;
	default:
		return 0;
	}
}

int pt_time_query(const struct pt_time *time, uint64_t *tsc, uint32_t *lost_mtc, uint32_t *lost_cyc)
{
	*tsc = time->tsc;
	if (lost_mtc)
		*lost_mtc = time->lost_mtc;
	if (lost_cyc)
		*lost_cyc = time->lost_cyc;
	return time->have_tsc ? 0 : -pte_no_time;
}
