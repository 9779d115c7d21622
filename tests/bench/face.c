/* face.c - see face.h: the image, and the packet, instruction and block decoders. The batch interface is in
 * face_run.c. */
#include "face.h"

#include "face_internal.h"

#include <stdio.h>
#include <string.h>

/* The peer's section cache has to hold all sections mapped, or it maps and unmaps them all the time. */
static const uint64_t cache_limit = UINT64_C(1) << 40;

void subject_init(struct subject *subject, const struct library *library, const struct input *input)
{
	struct pt_config *config = &subject->config;

	memset(subject, 0, sizeof(*subject));
	subject->library = library;
	subject->input = input;
	*config = input->config;
	config->begin = input->trace;
	config->end = input->trace + input->size;
	if (config->cpu.vendor == pcv_intel)
		(void)library->pt_cpu_errata(&config->errata, &config->cpu);
}

static int add_section(struct subject *subject, const struct input_section *section)
{
	const struct library *library = subject->library;
	int isid = library->pt_iscache_add_file(subject->cache, section->path, section->offset, section->size,
	                                        section->vaddr);

	return isid < 0 ? isid : library->pt_image_add_cached(subject->image, subject->cache, isid, NULL);
}

int subject_open_image(struct subject *subject)
{
	const struct library *library = subject->library;
	const struct input *input = subject->input;

	subject->cache = library->pt_iscache_alloc(NULL);
	subject->image = library->pt_image_alloc(NULL);
	if (!subject->cache || !subject->image)
		return -1;
	(void)library->pt_iscache_set_limit(subject->cache, cache_limit);
	for (size_t i = 0; i < input->nsections; ++i)
		if (add_section(subject, &input->section[i]) < 0) {
			fprintf(stderr, "bench: %s: %s cannot map %s\n", input->name, library->name,
			        input->section[i].path);
			return -1;
		}
	return 0;
}

void subject_close_image(struct subject *subject)
{
	subject->library->pt_image_free(subject->image);
	subject->library->pt_iscache_free(subject->cache);
	subject->image = NULL;
	subject->cache = NULL;
}

static int packet_open(struct subject *subject)
{
	subject->decoder.packet = subject->library->pt_pkt_alloc_decoder(&subject->config);
	return subject->decoder.packet ? 0 : -1;
}

/* Until the next error. Here and below, what is counted item by item is a variable of the function, which the
 * compiler keeps in registers: two numbers that are read from memory, added to and written back for each
 * packet take 2.5 ns, whatever the library does meanwhile. */
static int packet_segment(const struct subject *subject, struct tally *tally)
{
	__typeof__(&pt_pkt_next) next = subject->library->pt_pkt_next;
	struct pt_packet_decoder *decoder = subject->decoder.packet;
	uint64_t items = 0, sum = 0;
	struct pt_packet packet;
	int status;

	while ((status = next(decoder, &packet, sizeof(packet))) >= 0) {
		items++;
		sum += (uint64_t)packet.type;
	}
	tally->items += items;
	tally->sum += sum;
	return status;
}

static int packet_pass(struct subject *subject, struct tally *tally)
{
	const struct library *library = subject->library;
	struct pt_packet_decoder *decoder = subject->decoder.packet;
	int status = library->pt_pkt_sync_set(decoder, subject->input->first_psb);

	if (status < 0)
		return -1;
	while (status >= 0) {
		status = packet_segment(subject, tally);
		if (status != -pte_eos)
			status = library->pt_pkt_sync_forward(decoder);
	}
	return 0;
}

static void packet_close(struct subject *subject)
{
	subject->library->pt_pkt_free_decoder(subject->decoder.packet);
	subject->decoder.packet = NULL;
}

const struct face face_packet = {packet_open, packet_pass, packet_close};

static int insn_open(struct subject *subject)
{
	const struct library *library = subject->library;

	if (subject_open_image(subject) < 0)
		return -1;
	subject->decoder.insn = library->pt_insn_alloc_decoder(&subject->config);
	return subject->decoder.insn ? library->pt_insn_set_image(subject->decoder.insn, subject->image) : -1;
}

static int insn_events(const struct subject *subject, int status)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending))
		status = subject->library->pt_insn_event(subject->decoder.insn, &event,
		                                         subject->library->event_size);
	return status;
}

/* Until the next error. */
static int insn_segment(const struct subject *subject, int status, struct tally *tally)
{
	const struct library *library = subject->library;
	uint64_t items = 0, sum = 0;
	struct pt_insn insn;

	while (status >= 0) {
		if (status & pts_event_pending)
			status = insn_events(subject, status);
		if (status < 0)
			break;
		insn.iclass = ptic_unknown;
		status = library->pt_insn_next(subject->decoder.insn, &insn, sizeof(insn));
		if (status >= 0 || insn.iclass != ptic_unknown) {
			items++;
			sum += insn.ip;
		}
	}
	tally->items += items;
	tally->sum += sum;
	return status;
}

static int insn_pass(struct subject *subject, struct tally *tally)
{
	const struct library *library = subject->library;
	int status = library->pt_insn_sync_set(subject->decoder.insn, subject->input->first_psb);

	if (status < 0)
		return -1;
	while (status >= 0) {
		status = insn_segment(subject, status, tally);
		if (status != -pte_eos)
			status = library->pt_insn_sync_forward(subject->decoder.insn);
	}
	tally->insns = tally->items;
	return 0;
}

static void insn_close(struct subject *subject)
{
	subject->library->pt_insn_free_decoder(subject->decoder.insn);
	subject->decoder.insn = NULL;
	subject_close_image(subject);
}

const struct face face_insn = {insn_open, insn_pass, insn_close};

int block_open(struct subject *subject)
{
	const struct library *library = subject->library;

	if (subject_open_image(subject) < 0)
		return -1;
	subject->decoder.block = library->pt_blk_alloc_decoder(&subject->config);
	return subject->decoder.block ? library->pt_blk_set_image(subject->decoder.block, subject->image)
	                              : -1;
}

int block_events(const struct subject *subject, int status)
{
	struct pt_event event;

	while (status >= 0 && (status & pts_event_pending))
		status = subject->library->pt_blk_event(subject->decoder.block, &event,
		                                        subject->library->event_size);
	return status;
}

/* To the other image and back, in turns. */
static void swap_image(struct subject *subject)
{
	struct pt_image *image = subject->image;

	subject->image = subject->other_image;
	subject->other_image = image;
	(void)subject->library->pt_blk_set_image(subject->decoder.block, subject->image);
}

static int block_segment(struct subject *subject, int status, struct tally *tally)
{
	const struct library *library = subject->library;
	unsigned until_swap = subject->swap_every;
	uint64_t items = 0, insns = 0;
	struct pt_block block;

	while (status >= 0) {
		if (status & pts_event_pending)
			status = block_events(subject, status);
		if (status < 0)
			break;
		block.ninsn = 0;
		status = library->pt_blk_next(subject->decoder.block, &block, sizeof(block));
		if (block.ninsn) {
			items++;
			insns += block.ninsn;
		}
		if (status >= 0 && until_swap && !--until_swap) {
			until_swap = subject->swap_every;
			swap_image(subject);
		}
	}
	tally->items += items;
	tally->insns += insns;
	return status;
}

static int block_pass(struct subject *subject, struct tally *tally)
{
	const struct library *library = subject->library;
	int status = library->pt_blk_sync_set(subject->decoder.block, subject->input->first_psb);

	if (status < 0)
		return -1;
	while (status >= 0) {
		status = block_segment(subject, status, tally);
		if (status != -pte_eos)
			status = library->pt_blk_sync_forward(subject->decoder.block);
	}
	return 0;
}

void block_close(struct subject *subject)
{
	subject->library->pt_blk_free_decoder(subject->decoder.block);
	subject->decoder.block = NULL;
	subject_close_image(subject);
}

const struct face face_block = {block_open, block_pass, block_close};
