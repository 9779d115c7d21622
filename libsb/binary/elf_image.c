/* elf_image.c - see elf_image.h. ELF through libelf, xz through liblzma; .gnu_debugdata as the GDB
 * manual describes it ("MiniDebugInfo"). */
#include "binary/elf_image.h"

#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sb/error.h>

enum {
	UNPACK_FIRST = 1 << 20,
	UNPACK_MAX = 128 << 20,       /* bytes that are unpacked */
	UNPACK_MEMORY_MAX = 80 << 20, /* for the unpacking itself: xz -9 takes 65 MiB */
};

static int read_elf(struct elf_image *image)
{
	if (elf_version(EV_CURRENT) == EV_NONE || image->size < EI_NIDENT)
		return -sbe_format;
	image->elf = elf_memory((char *)image->bytes, image->size);
	return image->elf && elf_kind(image->elf) == ELF_K_ELF ? 0 : -sbe_format;
}

static void find_names(struct elf_image *image)
{
	size_t number;
	GElf_Shdr section;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(image->elf, &number) == 0)
		scn = elf_getscn(image->elf, number);
	if (!scn || !gelf_getshdr(scn, &section))
		return;
	image->names = (const char *)elf_image_bytes(image, &section);
	image->names_size = section.sh_size;
	if (image->names && image->names[image->names_size - 1])
		image->names = NULL;
}

static int keep_if_elf(struct elf_image *image)
{
	int status = read_elf(image);

	if (status < 0)
		elf_image_close(image);
	else
		find_names(image);
	return status;
}

int elf_image_map(struct elf_image *image, int fd)
{
	struct stat status;
	void *bytes;

	*image = (struct elf_image){0};
	if (fstat(fd, &status) < 0 || status.st_size <= 0)
		return -sbe_format;
	/* libelf may write to it. */
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
	             0);
	if (bytes == MAP_FAILED)
		return -sbe_nomem;
	*image = (struct elf_image){.bytes = bytes, .size = (size_t)status.st_size, .is_mapped = 1};
	return keep_if_elf(image);
}

int elf_image_open(struct elf_image *image, const char *path)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int status;

	*image = (struct elf_image){0};
	if (fd < 0)
		return -sbe_not_found;
	status = elf_image_map(image, fd);
	close(fd);
	return status;
}

void elf_image_close(struct elf_image *image)
{
	if (image->elf)
		elf_end(image->elf);
	if (image->is_mapped)
		munmap(image->bytes, image->size);
	else
		free(image->bytes);
	*image = (struct elf_image){0};
}

/* ---- Sections --------------------------------------------------------------------------------- */

const uint8_t *elf_image_bytes(const struct elf_image *image, const GElf_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED) || !section->sh_size ||
	    section->sh_offset > image->size || section->sh_size > image->size - section->sh_offset)
		return NULL;
	return image->bytes + section->sh_offset;
}

const char *elf_image_name(const struct elf_image *image, const GElf_Shdr *section)
{
	return image->names && section->sh_name < image->names_size ? image->names + section->sh_name : "";
}

int elf_image_section(const struct elf_image *image, const char *name, GElf_Shdr *section)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(image->elf, scn)))
		if (gelf_getshdr(scn, section) && strcmp(elf_image_name(image, section), name) == 0)
			return 1;
	return 0;
}

/* The bytes of the section of that name, or NULL. */
static const uint8_t *find_bytes(const struct elf_image *image, const char *name, size_t *size)
{
	GElf_Shdr section;

	if (!elf_image_section(image, name, &section))
		return NULL;
	*size = section.sh_size;
	return elf_image_bytes(image, &section);
}

/* ---- .gnu_debugdata ---------------------------------------------------------------------------- */

static int make_room(struct elf_image *image, lzma_stream *stream)
{
	const size_t used = image->size - stream->avail_out;
	const size_t size = image->size ? 2 * image->size : UNPACK_FIRST;
	uint8_t *bytes;

	if (size > UNPACK_MAX)
		return -sbe_format;
	bytes = realloc(image->bytes, size);
	if (!bytes)
		return -sbe_nomem;
	image->bytes = bytes;
	image->size = size;
	stream->next_out = bytes + used;
	stream->avail_out = size - used;
	return 0;
}

static int unpack(struct elf_image *image, lzma_stream *stream)
{
	lzma_ret result = LZMA_OK;
	int status = 0;

	while (result == LZMA_OK && status == 0) {
		if (!stream->avail_out)
			status = make_room(image, stream);
		if (status == 0)
			result = lzma_code(stream, LZMA_FINISH);
	}
	image->size -= stream->avail_out;
	if (status < 0)
		return status;
	return result == LZMA_STREAM_END ? 0 : result == LZMA_MEM_ERROR ? -sbe_nomem : -sbe_format;
}

int elf_image_unpack_debugdata(struct elf_image *image, const struct elf_image *outer)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t size;
	const uint8_t *packed = find_bytes(outer, ".gnu_debugdata", &size);
	int status;

	*image = (struct elf_image){0};
	if (!packed)
		return -sbe_not_found;
	if (lzma_stream_decoder(&stream, UNPACK_MEMORY_MAX, 0) != LZMA_OK)
		return -sbe_nomem;
	stream.next_in = packed;
	stream.avail_in = size;
	status = unpack(image, &stream);
	lzma_end(&stream);
	if (status < 0) {
		elf_image_close(image);
		return status;
	}
	return keep_if_elf(image);
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
	if (alignment < 2 || (alignment & (alignment - 1)) || value > UINT64_MAX - alignment)
		return value;
	return (value + alignment - 1) & ~(alignment - 1);
}

int elf_image_place(const struct elf_image *image, const GElf_Shdr *section, uint64_t *next, uint64_t *begin)
{
	const uint64_t code = SHF_EXECINSTR | SHF_ALLOC;

	if ((section->sh_flags & code) != code ||
	    strncmp(elf_image_name(image, section), ".init", strlen(".init")) == 0)
		return 0;
	*begin = align_up(*next, section->sh_addralign);
	*next = *begin + section->sh_size;
	return 1;
}
