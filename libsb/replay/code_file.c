/* code_file.c - see code_file.h. */
#include "replay/code_file.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/elf_functions.h"

enum { CODE_MAX = 1 << 27 }; /* bytes of a segment that are looked at */

/* ---- Functions -------------------------------------------------------------------------------- */

/* By place in the page; stable counting sort. */
static void sort_by_place(struct code_file *file, const uint64_t *start, size_t count)
{
	uint32_t *const end = file->first + 1;

	for (size_t i = 0; i < count; ++i)
		end[start[i] % CODE_PAGE] += 1;
	for (size_t i = 1; i < CODE_PAGE; ++i)
		end[i] += end[i - 1];
	for (size_t i = count; i-- > 0;)
		file->start[--end[start[i] % CODE_PAGE]] = start[i];
	memmove(file->first, end, CODE_PAGE * sizeof(*end));
	file->first[CODE_PAGE] = (uint32_t)count;
}

static int take_functions(struct code_file *file, const struct elf_functions *functions)
{
	file->start = calloc(functions->count + 1, sizeof(*file->start));
	file->first = calloc(CODE_PAGE + 1, sizeof(*file->first));
	if (!file->start || !file->first)
		return -sbe_nomem;
	sort_by_place(file, functions->start, functions->count);
	return 0;
}

int code_file_read(struct code_file *file, const struct sb_map *like, const char *path)
{
	struct sb_elf_code code[CODE_SEGMENTS_MAX];
	const int ncode = sb_elf_code(path, code, CODE_SEGMENTS_MAX, NULL);
	struct elf_functions functions;
	int status;

	*file = (struct code_file){.like = *like};
	if (ncode <= 0)
		return ncode == -sbe_nomem ? -sbe_nomem : 0;
	file->path = strdup(path);
	if (!file->path || elf_functions_read(&functions, path) < 0)
		return -sbe_nomem;
	/* That the entry point is a function's beginning, too, makes it count twice: it is rarer. */
	if (functions.start && functions.entry)
		functions.start[functions.count++] = functions.entry;
	status = functions.count ? take_functions(file, &functions) : 0;
	elf_functions_free(&functions);
	for (int i = 0; i < ncode && status == 0 && file->start; ++i) {
		if (code[i].size > CODE_MAX)
			continue;
		file->segment[file->nsegments++].code = code[i];
	}
	return status;
}

void code_file_free(struct code_file *file)
{
	for (size_t i = 0; i < file->nsegments; ++i)
		free(file->segment[i].insn);
	free(file->path);
	free(file->start);
	free(file->first);
	*file = (struct code_file){0};
}

struct sb_map code_file_map(const struct code_file *file, size_t segment, uint64_t base)
{
	const struct sb_elf_code *code = &file->segment[segment].code;
	const uint64_t lead = code->address % CODE_PAGE;
	struct sb_map map = file->like;

	map.begin = base + code->address - lead;
	map.end = map.begin + (lead + code->size + CODE_PAGE - 1) / CODE_PAGE * CODE_PAGE;
	map.pgoff = code->offset - lead;
	map.recorded_pgoff = map.pgoff;
	map.recorded_size = map.end - map.begin;
	return map;
}

/* ---- Instructions ------------------------------------------------------------------------------- */

/* From @offset on, until what was found before. */
static void walk(struct code_segment *segment, const ZydisDecoder *decoder, const uint8_t *bytes,
                 uint64_t offset)
{
	while (offset < segment->code.size && !code_segment_has_insn(segment, offset)) {
		ZydisDecodedInstruction insn;

		segment->insn[offset / 8] |= (uint8_t)(1 << offset % 8);
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes + offset,
		                                                segment->code.size - offset, &insn)))
			return;
		offset += insn.length;
	}
}

static void walk_functions(const struct code_file *file, struct code_segment *segment, const uint8_t *bytes)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	for (uint32_t i = 0; i < file->first[CODE_PAGE]; ++i)
		walk(segment, &decoder, bytes, file->start[i] - segment->code.address);
}

static int read_bytes(const struct code_file *file, const struct code_segment *segment, uint8_t *bytes)
{
	const int fd = open(file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return 0;
	size = pread(fd, bytes, segment->code.size, (off_t)segment->code.offset);
	close(fd);
	return size == (ssize_t)segment->code.size;
}

int code_file_find_insns(struct code_file *file)
{
	for (size_t i = 0; i < file->nsegments; ++i) {
		struct code_segment *segment = &file->segment[i];
		uint8_t *bytes;

		if (segment->insn)
			continue;
		segment->insn = calloc(segment->code.size / 8 + 1, 1);
		bytes = malloc(segment->code.size + 1);
		if (!segment->insn || !bytes) {
			free(bytes);
			return -sbe_nomem;
		}
		if (read_bytes(file, segment, bytes))
			walk_functions(file, segment, bytes);
		free(bytes);
	}
	return 0;
}
