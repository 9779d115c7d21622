/* live_bpf.c - see live_bpf.h; bpf(2), BPF_PROG_GET_NEXT_ID and BPF_OBJ_GET_INFO_BY_FD. A program is asked
 * about twice: how much there is to tell, then for all of it. The names of functions are those of kallsyms.
 */
#include "capture/live_bpf.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "binary/kallsyms.h"
#include "perfdata/perfdata_write_internal.h"
#include "capture/shortage.h"
#include "system/arena.h"

enum { functions_most = 1 << 16, code_most = 1 << 26, name_most = 512 };

/* Bits of a part's "arrays". */
enum { array_code = 1 << 0, array_addresses = 1 << 3, array_lengths = 1 << 4, array_tags = 1 << 8 };

/* A part's beginning. */
struct head {
	uint32_t info_size, data_size;
	uint64_t arrays;
};

/* One program, while it is read. */
struct program {
	struct bpf_prog_info info;
	uint8_t *data; /* code, addresses, tags, lengths; owned */
	size_t addresses_at, tags_at, lengths_at, size;
};

struct reading {
	struct live_bpf *bpf;
	struct sb_perfdata_writer *writer;
	const struct sb_write_sample *sample;
	struct kallsyms_index symbols; /* by name: of them those of BPF */
	int has_symbols;
	const char *proc;
	struct sb_error *err;
};

void live_bpf_init(struct live_bpf *bpf)
{
	*bpf = (struct live_bpf){0};
	key_table_init(&bpf->read, sizeof(uint32_t), 0);
	key_table_init(&bpf->told, sizeof(uint32_t), 0);
}

void live_bpf_fini(struct live_bpf *bpf)
{
	key_table_free(&bpf->read);
	key_table_free(&bpf->told);
	free(bpf->parts);
	*bpf = (struct live_bpf){0};
}

int live_bpf_loaded(struct live_bpf *bpf, uint32_t program)
{
	uint32_t number;

	bpf->pending = 1;
	return key_table_keep(&bpf->told, &program, &number) < 0 ? -sbe_nomem : 0;
}

static int out_of_memory(const struct reading *reading)
{
	return sb_error_set(reading->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Asking the kernel ------------------------------------------------------------------------ */

static int call(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int ask(int fd, struct bpf_prog_info *info)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = (uintptr_t)info;
	return call(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* 1; 0: there is nothing to be had of it; -ENOMEM. */
static int get(int fd, struct program *program)
{
	struct bpf_prog_info counts, *info = &program->info;

	memset(&counts, 0, sizeof(counts));
	memset(program, 0, sizeof(*program));
	if (ask(fd, &counts) < 0 || !counts.jited_prog_len || counts.jited_prog_len > code_most ||
	    !counts.nr_jited_ksyms || counts.nr_jited_ksyms > functions_most ||
	    counts.nr_jited_ksyms != counts.nr_jited_func_lens)
		return 0;
	program->addresses_at = (counts.jited_prog_len + 7u) & ~(size_t)7;
	program->tags_at = program->addresses_at + 8 * (size_t)counts.nr_jited_ksyms;
	program->lengths_at = program->tags_at + BPF_TAG_SIZE * (size_t)counts.nr_jited_ksyms;
	program->size = (program->lengths_at + 4 * (size_t)counts.nr_jited_ksyms + 7) & ~(size_t)7;
	program->data = calloc(1, program->size);
	if (!program->data)
		return -ENOMEM;
	info->jited_prog_len = counts.jited_prog_len;
	info->jited_prog_insns = (uintptr_t)program->data;
	info->nr_jited_ksyms = info->nr_jited_func_lens = counts.nr_jited_ksyms;
	info->jited_ksyms = (uintptr_t)(program->data + program->addresses_at);
	info->jited_func_lens = (uintptr_t)(program->data + program->lengths_at);
	info->nr_prog_tags = counts.nr_jited_ksyms;
	info->prog_tags = (uintptr_t)(program->data + program->tags_at);
	/* Who may not see them is told zero addresses, or no code. */
	return ask(fd, info) == 0 && info->jited_prog_insns && info->jited_ksyms && info->jited_func_lens &&
	       info->jited_prog_len == counts.jited_prog_len && info->nr_jited_ksyms == counts.nr_jited_ksyms;
}

static uint64_t address_of(const struct program *program, uint32_t function)
{
	uint64_t address;

	memcpy(&address, program->data + program->addresses_at + 8 * (size_t)function, sizeof(address));
	return address;
}

static uint32_t length_of(const struct program *program, uint32_t function)
{
	uint32_t length;

	memcpy(&length, program->data + program->lengths_at + 4 * (size_t)function, sizeof(length));
	return length;
}

/* ---- Its part of the feature ------------------------------------------------------------------ */

static int keep(const struct reading *reading, const struct program *program)
{
	struct live_bpf *bpf = reading->bpf;
	struct bpf_prog_info info = program->info;
	const struct head head = {.info_size = sizeof(info),
	                          .data_size = (uint32_t)program->size,
	                          .arrays = array_code | array_addresses | array_lengths | array_tags};
	uint8_t *at;

	if (array_reserve_more(&bpf->parts, &bpf->capacity, bpf->size,
	                       sizeof(head) + sizeof(info) + program->size, 1) < 0)
		return out_of_memory(reading);
	/* Places in the data stand for pointers. */
	info.jited_prog_insns = 0;
	info.jited_ksyms = program->addresses_at;
	info.jited_func_lens = program->lengths_at;
	info.prog_tags = program->tags_at;
	/* Of what is not in the data there is nothing. */
	info.nr_map_ids = info.nr_func_info = info.nr_line_info = info.nr_jited_line_info = 0;
	info.nr_prog_tags = info.nr_jited_ksyms;
	info.btf_id = 0;
	at = bpf->parts + bpf->size;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), &info, sizeof(info));
	memcpy(at + sizeof(head) + sizeof(info), program->data, program->size);
	bpf->size += sizeof(head) + sizeof(info) + program->size;
	bpf->count += 1;
	return 0;
}

/* ---- Its records ------------------------------------------------------------------------------ */

/* The kernel's name of what is at @address; else one like it. */
static void name_function(struct reading *reading, const struct program *program, uint64_t address,
                          char name[name_most])
{
	const uint8_t *tag = program->info.tag;
	char path[PATH_MAX];
	int size;

	if (!reading->has_symbols) {
		snprintf(path, sizeof(path), "%s/kallsyms", reading->proc);
		reading->has_symbols = kallsyms_index_init(&reading->symbols, path) == 0 ? 1 : -1;
	}
	for (size_t i = 0; reading->has_symbols > 0 && i < reading->symbols.count; ++i)
		if (reading->symbols.line[i].address == address) {
			snprintf(name, name_most, "%s", reading->symbols.line[i].name);
			return;
		}
	size = snprintf(name, name_most, "bpf_prog_");
	for (size_t i = 0; i < sizeof(program->info.tag); ++i)
		size += snprintf(name + size, (size_t)(name_most - size), "%02x", tag[i]);
	if (program->info.name[0])
		snprintf(name + size, (size_t)(name_most - size), "_%s", program->info.name);
}

static int tell(struct reading *reading, const struct program *program)
{
	char name[name_most];
	int status = 0;

	for (uint32_t i = 0; i < program->info.nr_jited_ksyms && status == 0; ++i) {
		const uint64_t address = address_of(program, i);

		if (!(address >> 63))
			continue;
		name_function(reading, program, address, name);
		status = sb_write_ksymbol(reading->writer, reading->sample, address, length_of(program, i),
		                          name, reading->err);
	}
	return status == 0 ? sb_write_bpf_event(reading->writer, reading->sample, program->info.id,
	                                        program->info.tag, reading->err)
	                   : status;
}

static int read_program(struct reading *reading, uint32_t id)
{
	struct program program = {.data = NULL};
	union bpf_attr attr;
	uint32_t number;
	int fd, status = key_table_keep(&reading->bpf->read, &id, &number);

	if (status < 0)
		return out_of_memory(reading);
	if (!status)
		return 0;
	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	fd = call(BPF_PROG_GET_FD_BY_ID, &attr);
	if (fd < 0) /* gone, or not for us */
		return is_shortage(errno) ? fail_short(errno, "a BPF program", reading->err) : 0;
	status = get(fd, &program);
	close(fd);
	if (status < 0)
		status = out_of_memory(reading);
	if (status > 0) {
		status = keep(reading, &program);
		if (status == 0 && !key_table_find(&reading->bpf->told, &id, &number))
			status = tell(reading, &program);
	}
	free(program.data);
	return status;
}

int live_bpf_read(struct live_bpf *bpf, struct sb_perfdata_writer *writer,
                  const struct sb_write_sample *sample, const char *proc, struct sb_error *err)
{
	struct reading reading = {.bpf = bpf, .writer = writer, .sample = sample, .proc = proc, .err = err};
	union bpf_attr attr;
	int status = 0;

	bpf->pending = 0;
	memset(&attr, 0, sizeof(attr));
	while (status == 0 && call(BPF_PROG_GET_NEXT_ID, &attr) == 0) {
		const uint32_t id = attr.next_id;

		status = read_program(&reading, id);
		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
	}
	if (reading.has_symbols > 0)
		kallsyms_index_fini(&reading.symbols);
	writer->bpf_parts = bpf->parts;
	writer->bpf_size = bpf->size;
	writer->bpf_count = bpf->count;
	return status;
}
