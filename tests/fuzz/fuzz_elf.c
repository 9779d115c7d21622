/* fuzz_elf.c - what an ELF file says about itself: any bytes, and any mapping of them.
 *
 * Six bytes choose the mapping, the rest is the file. Whatever the file says, answers are within bounds, are
 * the same when asked again, and the strict question is not answered more gladly than the other one. */
#include <string.h>

#include "binary/elf_file.h"
#include "support/check.h"
#include "support/input.h"
#include "support/memory_file.h"
#include "support/target.h"

static struct memory_file file;

static void check_build_id(void)
{
	uint8_t id[20], again[20];
	const int size = elf_file_build_id(file.fd, id);

	FUZZ_CHECK(size >= 0 && size <= 20, "a build-id of %d bytes", size);
	FUZZ_CHECK(elf_file_build_id(file.fd, again) == size && !memcmp(id, again, sizeof(id)),
	           "another build-id");
	for (int i = size; i < 20; i++)
		FUZZ_CHECK(!id[i], "byte %d behind a build-id of %d", i, size);
}

static void check_mapping(uint64_t offset, uint64_t size)
{
	uint64_t code = UINT64_MAX, whole = UINT64_MAX;
	char why[80] = "nothing";
	const int loose = elf_file_check_mapping(file.fd, offset, size, &code, why, sizeof(why));
	const int strict = elf_file_check_whole_segment(file.fd, offset, size, &whole, why, sizeof(why));

	FUZZ_CHECK(memchr(why, 0, sizeof(why)), "a reason without an end");
	FUZZ_CHECK(loose <= 0 && strict <= 0, "%d, %d", loose, strict);
	FUZZ_CHECK(strict < 0 || loose == 0, "a whole segment, but no mapping");
	if (loose == 0)
		FUZZ_CHECK(code <= size, "more code than was mapped");
	if (strict == 0)
		FUZZ_CHECK(code == whole, "another size of code");
}

static void check_debuglink(void)
{
	char name[32];
	uint32_t crc;

	memset(name, 'x', sizeof(name));
	if (!elf_file_debuglink(file.fd, name, sizeof(name), &crc))
		return;
	FUZZ_CHECK(memchr(name, 0, sizeof(name)), "a name without an end");
	FUZZ_CHECK(name[0] && !strchr(name, '/'), "a name that is none");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	uint64_t offset, mapped;

	if (!file.name[0])
		memory_file_open(&file);
	/* Pages mostly, as it is with mappings; now and then a number that is near the end of all. */
	offset = (uint64_t)fuzz_u8(&in) << 12;
	mapped = (uint64_t)fuzz_u8(&in) << 12;
	offset |= fuzz_u8(&in);
	mapped |= fuzz_u8(&in);
	if (fuzz_u8(&in) > 250)
		offset = -offset;
	if (fuzz_u8(&in) > 250)
		mapped = -mapped;
	memory_file_set(&file, in.pos, (size_t)(in.end - in.pos));
	check_build_id();
	check_mapping(offset, mapped);
	check_debuglink();
	FUZZ_CHECK(elf_file_is_debug_only(file.fd) >= 0, "neither yes nor no");
	return 0;
}
