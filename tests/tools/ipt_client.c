/* ipt_client.c - a program as they were written for libipt 2.0: compiled with Debian's <intel-pt.h>, linked
 * with Debian's libipt.so.2, and then run on that library and on ours. What it prints must be the same.
 *
 *   ipt_client LAYER PROGRAM TRACE FAMILY MODEL STEPPING MTC EAX EBX NOMINAL
 *
 * LAYER is packets, encoder, query, insn, insn-callback, block or block-cached. PROGRAM is an ELF file that
 * ran where it was linked. Structs that the library fills lie in front of a page that nobody may touch.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <intel-pt.h>

#if LIBIPT_VERSION != 0x200
#error "this is to be compiled with the header of libipt 2.0"
#endif

struct client {
	struct pt_config config;
	const char *program;
	uint8_t *bytes;      /* of the program */
	struct pt_event *ev; /* guarded */
};

static void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0)
		exit(3);
	*size = (size_t)st.st_size;
	bytes = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		exit(3);
	close(fd);
	return bytes;
}

/* @size bytes, and not one more. */
static void *guarded(size_t size)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE))
		exit(3);
	return pages + 4096 - size;
}

static void print_result(const char *what, int status)
{
	printf("%s: %d %s\n", what, status, pt_errstr(pt_errcode(status)));
}

/* ---- Packets ---------------------------------------------------------------------------------- */

/* Payloads as numbers: those that count for the type. */
static void print_payload(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		printf(" %d %" PRIx64, packet->payload.ip.ipc, packet->payload.ip.ip);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		printf(" %u %" PRIx64, packet->payload.tnt.bit_size, packet->payload.tnt.payload);
		break;
	case ppt_mode:
		printf(" %x %d", (unsigned)packet->payload.mode.leaf,
		       packet->payload.mode.leaf == pt_mol_exec
		               ? (int)pt_get_exec_mode(&packet->payload.mode.bits.exec)
		               : packet->payload.mode.bits.tsx.intx + 2 * packet->payload.mode.bits.tsx.abrt);
		break;
	case ppt_tsc:
		printf(" %" PRIx64, packet->payload.tsc.tsc);
		break;
	case ppt_tma:
		printf(" %x %x", packet->payload.tma.ctc, packet->payload.tma.fc);
		break;
	case ppt_mtc:
		printf(" %x", packet->payload.mtc.ctc);
		break;
	case ppt_cyc:
		printf(" %" PRIx64, packet->payload.cyc.value);
		break;
	case ppt_cbr:
		printf(" %x", packet->payload.cbr.ratio);
		break;
	case ppt_pip:
		printf(" %" PRIx64 " %d", packet->payload.pip.cr3, packet->payload.pip.nr);
		break;
	case ppt_vmcs:
		printf(" %" PRIx64, packet->payload.vmcs.base);
		break;
	default:
		break;
	}
}

static void packets(struct client *client)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&client->config);
	struct pt_packet *packet = guarded(sizeof(*packet));
	uint64_t offset, sync;
	int status;

	print_result("sync", pt_pkt_sync_forward(decoder));
	while ((status = pt_pkt_next(decoder, packet, sizeof(*packet))) > 0) {
		pt_pkt_get_offset(decoder, &offset);
		printf("%" PRIx64 " %d %u", offset, packet->type, packet->size);
		print_payload(packet);
		putchar('\n');
	}
	print_result("end", status);
	while ((status = pt_pkt_sync_backward(decoder)) >= 0) {
		pt_pkt_get_sync_offset(decoder, &sync);
		printf("psb %" PRIx64 "\n", sync);
	}
	print_result("begin", status);
	print_result("set",
	             pt_pkt_sync_set(decoder, (uint64_t)(client->config.end - client->config.begin) + 1));
	pt_pkt_free_decoder(decoder);
}

/* Writes every packet of the trace again. */
static void encoder(struct client *client)
{
	struct pt_config config = client->config;
	size_t size = (size_t)(config.end - config.begin);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&client->config);
	struct pt_encoder *out;
	struct pt_packet packet;
	int status = 0;

	config.begin = calloc(1, size);
	config.end = config.begin + size;
	out = pt_alloc_encoder(&config);
	pt_pkt_sync_forward(decoder);
	while (status >= 0 && pt_pkt_next(decoder, &packet, sizeof(packet)) > 0) {
		status = pt_enc_next(out, &packet);
		printf("%d %d\n", packet.type, status);
	}
	printf("equal: %d\n", !memcmp(config.begin, client->config.begin, size));
	pt_free_encoder(out);
	pt_pkt_free_decoder(decoder);
	free(config.begin);
}

/* ---- Events ----------------------------------------------------------------------------------- */

/* An address if the event has it. */
static void print_ip(const struct pt_event *ev, uint64_t ip)
{
	if (ev->ip_suppressed)
		printf(" -");
	else
		printf(" %" PRIx64, ip);
}

static void print_event(const struct pt_event *ev)
{
	printf("event %d%s", ev->type, ev->status_update ? " update" : "");
	if (ev->has_tsc)
		printf(" @%" PRIx64 " %u %u", ev->tsc, ev->lost_mtc, ev->lost_cyc);
	switch (ev->type) {
	case ptev_enabled:
		print_ip(ev, ev->variant.enabled.ip);
		printf(" %d", ev->variant.enabled.resumed);
		break;
	case ptev_disabled:
		print_ip(ev, ev->variant.disabled.ip);
		break;
	case ptev_async_disabled:
		printf(" %" PRIx64, ev->variant.async_disabled.at);
		print_ip(ev, ev->variant.async_disabled.ip);
		break;
	case ptev_async_branch:
		printf(" %" PRIx64, ev->variant.async_branch.from);
		print_ip(ev, ev->variant.async_branch.to);
		break;
	case ptev_overflow:
		print_ip(ev, ev->variant.overflow.ip);
		break;
	case ptev_exec_mode:
		printf(" %d", ev->variant.exec_mode.mode);
		print_ip(ev, ev->variant.exec_mode.ip);
		break;
	case ptev_paging:
		printf(" %" PRIx64, ev->variant.paging.cr3);
		break;
	case ptev_cbr:
		printf(" %u", ev->variant.cbr.ratio);
		break;
	case ptev_tick:
		print_ip(ev, ev->variant.tick.ip);
		break;
	default:
		break;
	}
	putchar('\n');
}

/* Prints what is pending; returns the status after it. */
#define EVENTS(prefix, client, decoder, status)                                                              \
	do {                                                                                                 \
		while ((status) >= 0 && (status)&pts_event_pending) {                                        \
			memset((client)->ev, 0x5a, sizeof(*(client)->ev));                                   \
			(status) = prefix##_event(decoder, (client)->ev, sizeof(*(client)->ev));             \
			if ((status) >= 0)                                                                   \
				print_event((client)->ev);                                                   \
		}                                                                                            \
	} while (0)

/* ---- Query decoder ---------------------------------------------------------------------------- */

/* Takes whatever the trace answers: without the code, that is all there is to ask. */
static int ask(struct pt_query_decoder *decoder)
{
	uint64_t ip = 0;
	int taken, status = pt_qry_cond_branch(decoder, &taken);

	if (status >= 0) {
		printf("%d\n", taken);
		return status;
	}
	if (status != -pte_bad_query)
		return status;
	status = pt_qry_indirect_branch(decoder, &ip);
	if (status >= 0) {
		if (status & pts_ip_suppressed)
			printf("-\n");
		else
			printf("%" PRIx64 "\n", ip);
	}
	return status;
}

static void query(struct client *client)
{
	struct pt_query_decoder *decoder = pt_qry_alloc_decoder(&client->config);
	uint64_t ip = 0;
	int status = pt_qry_sync_forward(decoder, &ip);

	print_result("sync", status < 0 ? status : 0);
	while (status >= 0) {
		EVENTS(pt_qry, client, decoder, status);
		if (status >= 0)
			status = ask(decoder);
	}
	print_result("end", status);
	pt_qry_free_decoder(decoder);
}

/* ---- Traced code ------------------------------------------------------------------------------ */

static const Elf64_Phdr *segment(const struct client *client, unsigned i)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)client->bytes;

	return i < elf->e_phnum ? (const Elf64_Phdr *)(client->bytes + elf->e_phoff) + i : NULL;
}

static void add_files(const struct client *client, struct pt_image *image)
{
	const Elf64_Phdr *phdr;

	for (unsigned i = 0; (phdr = segment(client, i)); i++) {
		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X)
			print_result("add", pt_image_add_file(image, client->program, phdr->p_offset,
			                                      phdr->p_filesz, NULL, phdr->p_vaddr));
	}
}

static struct pt_image *cached_image(const struct client *client, struct pt_image_section_cache *iscache)
{
	struct pt_image *image = pt_image_alloc("cached");
	const Elf64_Phdr *phdr;
	uint8_t four[4];

	for (unsigned i = 0; (phdr = segment(client, i)); i++) {
		int isid;

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X))
			continue;
		isid = pt_iscache_add_file(iscache, client->program, phdr->p_offset, phdr->p_filesz,
		                           phdr->p_vaddr);
		print_result("isid", isid);
		print_result("read", pt_iscache_read(iscache, four, sizeof(four), isid, phdr->p_vaddr));
		print_result("add", pt_image_add_cached(image, iscache, isid, NULL));
	}
	printf("%s %s\n", pt_image_name(image), pt_iscache_name(iscache));
	return image;
}

static int read_memory(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const struct client *client = context;
	const Elf64_Phdr *phdr;

	(void)asid;
	for (unsigned i = 0; (phdr = segment(client, i)); i++) {
		uint64_t offset = ip - phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD || offset >= phdr->p_filesz)
			continue;
		if (size > phdr->p_filesz - offset)
			size = phdr->p_filesz - offset;
		memcpy(buffer, client->bytes + phdr->p_offset + offset, size);
		return (int)size;
	}
	return -pte_nomap;
}

/* ---- Instructions and blocks ------------------------------------------------------------------ */

static void print_insn(const struct pt_insn *insn)
{
	printf("%" PRIx64 " %d %d %d ", insn->ip, insn->mode, insn->iclass, insn->isid);
	for (unsigned i = 0; i < insn->size; i++)
		printf("%02x", insn->raw[i]);
	printf("%s%s\n", insn->speculative ? " speculative" : "", insn->truncated ? " truncated" : "");
}

static void instructions(struct client *client, int by_callback)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&client->config);
	struct pt_insn *insn = guarded(sizeof(*insn));
	uint32_t cbr = 0;
	int status;

	if (by_callback)
		pt_image_set_callback(pt_insn_get_image(decoder), read_memory, client);
	else
		add_files(client, pt_insn_get_image(decoder));
	for (status = pt_insn_sync_forward(decoder); status >= 0;) {
		EVENTS(pt_insn, client, decoder, status);
		if (status < 0)
			break;
		memset(insn, 0x5a, sizeof(*insn));
		status = pt_insn_next(decoder, insn, sizeof(*insn));
		if (status >= 0)
			print_insn(insn);
	}
	print_result("end", status);
	print_result("cbr", pt_insn_core_bus_ratio(decoder, &cbr));
	printf("%u\n", cbr);
	pt_insn_free_decoder(decoder);
}

/* The instructions of the trace, by address, for comparison. */
static uint64_t *all_instructions(struct client *client, struct pt_image *image, size_t *count)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&client->config);
	struct pt_insn insn;
	uint64_t *ip = NULL;
	int status;

	*count = 0;
	pt_insn_set_image(decoder, image);
	for (status = pt_insn_sync_forward(decoder); status >= 0;) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_insn_event(decoder, client->ev, sizeof(*client->ev));
		if (status >= 0)
			status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status < 0)
			break;
		if (*count % 4096 == 0)
			ip = realloc(ip, (*count + 4096) * sizeof(*ip));
		ip[(*count)++] = insn.ip;
	}
	pt_insn_free_decoder(decoder);
	return ip;
}

/* Where blocks are cut is not laid down. That they are, one after the other, the instructions that the
 * instruction decoder gives, and between which two of them events come, is. */
static void blocks(struct client *client, struct pt_image *image)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&client->config);
	struct pt_block *block = guarded(sizeof(*block));
	size_t count, done = 0;
	uint64_t *ip = all_instructions(client, image, &count);
	int status;

	pt_blk_set_image(decoder, image);
	for (status = pt_blk_sync_forward(decoder); status >= 0;) {
		if (status & pts_event_pending)
			printf("%zu\n", done);
		EVENTS(pt_blk, client, decoder, status);
		if (status < 0)
			break;
		memset(block, 0, sizeof(*block));
		status = pt_blk_next(decoder, block, sizeof(*block));
		if (!block->ninsn)
			continue;
		if (done + block->ninsn > count || ip[done] != block->ip ||
		    ip[done + block->ninsn - 1] != block->end_ip || block->mode != ptem_64bit)
			printf("block %zu of %" PRIx64 " to %" PRIx64 ", %u instructions\n", done, block->ip,
			       block->end_ip, block->ninsn);
		done += block->ninsn;
	}
	print_result("end", status);
	printf("%zu of %zu\n", done, count);
	pt_blk_free_decoder(decoder);
	free(ip);
}

static void uncached_blocks(struct client *client)
{
	struct pt_image *image = pt_image_alloc(NULL);

	add_files(client, image);
	blocks(client, image);
	pt_image_free(image);
}

static void cached_blocks(struct client *client)
{
	struct pt_image_section_cache *iscache = pt_iscache_alloc("sections");
	struct pt_image *image = cached_image(client, iscache);

	blocks(client, image);
	print_result("remove", pt_image_remove_by_filename(image, client->program, NULL));
	pt_image_free(image);
	pt_iscache_free(iscache);
}

static void configure(struct client *client, char **argv)
{
	struct pt_config *config = &client->config;
	size_t size;

	client->program = argv[2];
	client->bytes = map_file(argv[2], &size);
	client->ev = guarded(sizeof(*client->ev));
	pt_config_init(config);
	config->begin = map_file(argv[3], &size);
	config->end = config->begin + size;
	config->cpu.vendor = pcv_intel;
	config->cpu.family = (uint16_t)atoi(argv[4]);
	config->cpu.model = (uint8_t)atoi(argv[5]);
	config->cpu.stepping = (uint8_t)atoi(argv[6]);
	config->mtc_freq = (uint8_t)atoi(argv[7]);
	config->cpuid_0x15_eax = (uint32_t)atoi(argv[8]);
	config->cpuid_0x15_ebx = (uint32_t)atoi(argv[9]);
	config->nom_freq = (uint8_t)atoi(argv[10]);
	print_result("errata", pt_cpu_errata(&config->errata, &config->cpu));
}

int main(int argc, char **argv)
{
	struct client client;

	if (argc != 11)
		return 2;
	configure(&client, argv);
	if (!strcmp(argv[1], "packets"))
		packets(&client);
	else if (!strcmp(argv[1], "encoder"))
		encoder(&client);
	else if (!strcmp(argv[1], "query"))
		query(&client);
	else if (!strncmp(argv[1], "insn", 4))
		instructions(&client, !strcmp(argv[1], "insn-callback"));
	else if (!strcmp(argv[1], "block"))
		uncached_blocks(&client);
	else if (!strcmp(argv[1], "block-cached"))
		cached_blocks(&client);
	else
		return 2;
	return 0;
}
