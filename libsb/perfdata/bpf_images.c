/* bpf_images.c - see bpf_images.h. */
#include "perfdata/bpf_images.h"

#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/perfdata_internal.h"
#include "record/bytes.h"

enum { HEADER_SIZE = 16, FUNCTIONS_MAX = 1 << 16 };

/* Bits of "arrays". */
enum { JITED_INSNS = 0, JITED_KSYMS = 3, JITED_FUNC_LENS = 4 };

/* One program's part of the feature. */
struct part {
	const uint8_t *info, *data;
	uint32_t info_len, data_len;
	uint64_t arrays;
};

static const char *read_part(struct part *part, const uint8_t *bytes, uint64_t size)
{
	if (size < HEADER_SIZE)
		return "a BPF program's header is cut";
	part->info_len = load_u32(bytes);
	part->data_len = load_u32(bytes + 4);
	part->arrays = load_u64(bytes + 8);
	if ((uint64_t)part->info_len + part->data_len > size - HEADER_SIZE)
		return "a BPF program is longer than what is there";
	part->info = bytes + HEADER_SIZE;
	part->data = part->info + part->info_len;
	return NULL;
}

/* An array of @count elements of @size bytes, whose offset stands at @field of the structure: NULL when it
 * does not lie in the data. */
static const uint8_t *array_at(const struct part *part, size_t field, uint64_t count, size_t size)
{
	const uint64_t offset = load_u64(part->info + field);

	if (offset > part->data_len || count > (part->data_len - offset) / size)
		return NULL;
	return part->data + offset;
}

static int add(struct bpf_image_table *table, const struct part *part, const struct sb_bpf_image *where)
{
	struct sb_bpf_image *image = sb_array_room(table->image, table->count, sizeof(*image));

	if (!image)
		return -1;
	table->image = image;
	image += table->count++;
	*image = *where;
	image->program = load_u32(part->info + offsetof(struct bpf_prog_info, id));
	memcpy(image->tag, part->info + offsetof(struct bpf_prog_info, tag), sizeof(image->tag));
	memcpy(image->name, part->info + offsetof(struct bpf_prog_info, name), sizeof(image->name) - 1);
	image->name[sizeof(image->name) - 1] = '\0';
	return 0;
}

/* The functions of a program stand one after the other in its code. */
static const char *read_functions(struct bpf_image_table *table, const struct part *part, uint32_t count)
{
	const uint32_t size = load_u32(part->info + offsetof(struct bpf_prog_info, jited_prog_len));
	const uint8_t *code = array_at(part, offsetof(struct bpf_prog_info, jited_prog_insns), size, 1);
	const uint8_t *address = array_at(part, offsetof(struct bpf_prog_info, jited_ksyms), count, 8);
	const uint8_t *length = array_at(part, offsetof(struct bpf_prog_info, jited_func_lens), count, 4);
	uint32_t at = 0;

	if (!code || !address || !length)
		return "an array of a BPF program lies outside of its data";
	for (uint32_t i = 0; i < count; ++i) {
		const struct sb_bpf_image image = {.begin = load_u64(address + 8 * (size_t)i),
		                                   .size = load_u32(length + 4 * (size_t)i),
		                                   .bytes = code + at,
		                                   .function = i};

		if (image.size > size - at)
			return "the functions of a BPF program are longer than its code";
		at += (uint32_t)image.size;
		if (!image.size || !(image.begin >> 63) || image.size > UINT64_MAX - image.begin)
			continue;
		if (add(table, part, &image) < 0)
			return "out of memory";
	}
	return NULL;
}

static const char *read_program(struct bpf_image_table *table, const struct part *part)
{
	const uint64_t needed = 1u << JITED_INSNS | 1u << JITED_KSYMS | 1u << JITED_FUNC_LENS;
	uint32_t count;

	/* Older kernels told no addresses, and none tells them to everybody. */
	if (part->info_len < offsetof(struct bpf_prog_info, btf_id) || (part->arrays & needed) != needed)
		return NULL;
	count = load_u32(part->info + offsetof(struct bpf_prog_info, nr_jited_ksyms));
	if (count != load_u32(part->info + offsetof(struct bpf_prog_info, nr_jited_func_lens)))
		return "a BPF program has not as many addresses as functions";
	if (count > FUNCTIONS_MAX)
		return "a BPF program has more than 65536 functions";
	return read_functions(table, part, count);
}

const char *bpf_images_read(struct bpf_image_table *table, const uint8_t *bytes, uint64_t size)
{
	uint32_t count = size < 4 ? 0 : load_u32(bytes);
	const char *wrong = size < 4 ? "the number of BPF programs is missing" : NULL;
	uint64_t at = 4;

	for (; count && !wrong; --count) {
		struct part part;

		wrong = read_part(&part, bytes + at, size - at);
		if (!wrong)
			wrong = read_program(table, &part);
		if (!wrong)
			at += HEADER_SIZE + (uint64_t)part.info_len + part.data_len;
	}
	return wrong;
}

void bpf_images_free(struct bpf_image_table *table)
{
	free(table->image);
	*table = (struct bpf_image_table){0};
}
