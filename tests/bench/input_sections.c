/* input_sections.c - a made-up trace that goes round through the sections of N files.
 *
 * Each visit runs three blocks: two conditional branches, and an indirect jump to the next section's start.
 * The trace is as a CPU writes it: a TNT packet and a TIP per visit, IPs compressed.
 */
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { file_size = 4096, room_per_visit = 8, room_for_start = 64 };

static const uint64_t first_vaddr = 0x10000000, section_distance = 0x10000;

static const uint8_t code[] = {
        0x90, 0x90, 0x90, /* nop, three times */
        0x74, 0x02,       /* jz +2, not taken */
        0x90, 0x90,       /* nop, twice */
        0x75, 0x02,       /* jnz +2, taken */
        0x90, 0x90,       /* skipped */
        0x48, 0x89, 0xc0, /* mov %rax, %rax */
        0xff, 0xe0,       /* jmp *%rax */
};

static int write_file(const char *path)
{
	uint8_t bytes[file_size] = {0};
	FILE *file;
	int status = -1;

	if (!access(path, R_OK))
		return 0;
	file = fopen(path, "wb");
	memcpy(bytes, code, sizeof(code));
	if (file) {
		status = fwrite(bytes, 1, sizeof(bytes), file) == sizeof(bytes) ? 0 : -1;
		status |= fclose(file);
	}
	if (status)
		perror(path);
	return status;
}

static int add_sections(struct input *input, const char *dir, unsigned nsections)
{
	for (unsigned i = 0; i < nsections; ++i) {
		char path[512];

		snprintf(path, sizeof(path), "%.480s/code-%u", dir, i);
		if (write_file(path) < 0 ||
		    input_add_section(input, path, 0, file_size, first_vaddr + i * section_distance) < 0)
			return -1;
	}
	return 0;
}

static int write_ip(struct pt_encoder *encoder, enum pt_packet_type type, uint64_t ip, uint64_t *last_ip)
{
	struct pt_packet packet = {.type = type};

	packet.payload.ip.ipc = *last_ip >> 16 == ip >> 16   ? pt_ipc_update_16
	                        : *last_ip >> 32 == ip >> 32 ? pt_ipc_update_32
	                                                     : pt_ipc_sext_48;
	packet.payload.ip.ip = packet.payload.ip.ipc == pt_ipc_update_16   ? ip & 0xffff
	                       : packet.payload.ip.ipc == pt_ipc_update_32 ? ip & 0xffffffff
	                                                                   : ip;
	*last_ip = ip;
	return pt_enc_next(encoder, &packet);
}

static int write_plain(struct pt_encoder *encoder, enum pt_packet_type type)
{
	struct pt_packet packet = {.type = type};

	if (type == ppt_mode) {
		packet.payload.mode.leaf = pt_mol_exec;
		packet.payload.mode.bits.exec.csl = 1;
	}
	return pt_enc_next(encoder, &packet);
}

static int write_trace(struct pt_encoder *encoder, unsigned nsections, unsigned visits)
{
	struct pt_packet outcomes = {.type = ppt_tnt_8, .payload.tnt = {2, 1 /* not taken, taken */}};
	struct pt_packet end = {.type = ppt_tip_pgd, .payload.ip.ipc = pt_ipc_suppressed};
	uint64_t last_ip = 0;
	int status = write_plain(encoder, ppt_psb);

	if (status >= 0)
		status = write_plain(encoder, ppt_psbend);
	if (status >= 0)
		status = write_plain(encoder, ppt_mode);
	if (status >= 0)
		status = write_ip(encoder, ppt_tip_pge, first_vaddr, &last_ip);
	for (unsigned visit = 1; visit <= visits && status >= 0; ++visit) {
		status = pt_enc_next(encoder, &outcomes);
		if (status >= 0 && visit < visits)
			status = write_ip(encoder, ppt_tip,
			                  first_vaddr + visit % nsections * section_distance, &last_ip);
	}
	return status < 0 ? status : pt_enc_next(encoder, &end);
}

int input_sections(struct input *input, const char *dir, unsigned nsections, unsigned visits)
{
	struct pt_config *config = &input->config;
	struct pt_encoder *encoder;
	int status;

	memset(input, 0, sizeof(*input));
	snprintf(input->name, sizeof(input->name), "%u section%s", nsections, nsections > 1 ? "s" : "");
	pt_config_init(config);
	input->size = room_for_start + (size_t)visits * room_per_visit;
	input->trace = calloc(input->size, 1); /* what is left are PAD packets */
	if (!input->trace)
		return -1;
	config->begin = input->trace;
	config->end = input->trace + input->size;
	encoder = pt_alloc_encoder(config);
	if (!encoder)
		return -1;
	status = write_trace(encoder, nsections, visits);
	if (status >= 0) {
		uint64_t size;

		status = pt_enc_get_offset(encoder, &size);
		input->size = size;
	}
	pt_free_encoder(encoder);
	if (status < 0) {
		fprintf(stderr, "bench: %s: %s\n", input->name, pt_errstr(pt_errcode(status)));
		return -1;
	}
	return add_sections(input, dir, nsections);
}
