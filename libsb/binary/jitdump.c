/* jitdump.c - see jitdump.h. All numbers have the byte order of the machine that ran the code, which here is
 * x86: little-endian. */
#include "binary/jitdump.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "binary/code_history.h"
#include "record/bytes.h"
#include "system/arena.h"

enum {
	HEADER_SIZE = 40,
	PREFIX_SIZE = 16, /* of each record: type, size, time */
	LOAD_SIZE = 56,   /* with the prefix, without name and code */
	MOVE_SIZE = 64,
	MAGIC_SWAPPED = 0x4454694a,
};

struct reader {
	struct jitdump *dump;
	const uint8_t *bytes;
	uint64_t size;
	const char *file;
	struct sb_error *err;
};

/* ---- The header ------------------------------------------------------------------------------- */

static int check_header(const struct reader *reader, uint32_t header_size)
{
	const uint32_t version = load_u32(reader->bytes + 4), machine = load_u32(reader->bytes + 12);
	const uint64_t flags = load_u64(reader->bytes + 32);

	if (version != JITDUMP_VERSION)
		return sb_error_set(reader->err, -sbe_unsupported, reader->file, 4,
		                    "expected version 1 of jitdump, found %" PRIu32, version);
	if (header_size < HEADER_SIZE || header_size > reader->size)
		return sb_error_set(reader->err, -sbe_format, reader->file, 8,
		                    "expected a header of %d bytes up to the file's %" PRIu64
		                    ", found %" PRIu32,
		                    HEADER_SIZE, reader->size, header_size);
	if (machine != EM_X86_64 && machine != EM_386)
		return sb_error_set(reader->err, -sbe_unsupported, reader->file, 12,
		                    "expected code of x86 (ELF machine 62 or 3), found machine %" PRIu32,
		                    machine);
	if (flags & ~(uint64_t)JITDUMP_ARCH_TIMESTAMP)
		return sb_error_set(reader->err, -sbe_unsupported, reader->file, 32,
		                    "expected no flag but 0x1, found 0x%" PRIx64, flags);
	return 0;
}

/* Returns the offset of the first record, or a negative code. */
static int64_t read_header(struct reader *reader)
{
	const uint32_t magic = reader->size < 4 ? 0 : load_u32(reader->bytes);
	uint32_t header_size;
	int status;

	if (magic == MAGIC_SWAPPED)
		return sb_error_set(reader->err, -sbe_unsupported, reader->file, 0,
		                    "a jitdump of a machine with the other byte order");
	if (reader->size >= 4 && magic != JITDUMP_MAGIC)
		return sb_error_set(reader->err, -sbe_format, reader->file, 0,
		                    "expected the magic number of jitdump, 0x%x, found 0x%" PRIx32,
		                    JITDUMP_MAGIC, magic);
	if (reader->size < HEADER_SIZE)
		return sb_error_set(reader->err, -sbe_truncated, reader->file, reader->size,
		                    "expected a jitdump header of %d bytes, found %" PRIu64, HEADER_SIZE,
		                    reader->size);
	header_size = load_u32(reader->bytes + 8);
	status = check_header(reader, header_size);
	if (status < 0)
		return status;
	reader->dump->pid = load_i32(reader->bytes + 20);
	reader->dump->timestamp = load_u64(reader->bytes + 24);
	reader->dump->flags = load_u64(reader->bytes + 32);
	return header_size;
}

/* ---- Records ---------------------------------------------------------------------------------- */

static int add_code(struct reader *reader, const struct jitdump_code *code)
{
	struct jitdump *dump = reader->dump;

	if (array_reserve(&dump->code, &dump->capacity, dump->ncodes, sizeof(*code)) < 0)
		return sb_error_set(reader->err, -sbe_nomem, reader->file, UINT64_MAX, "out of memory");
	dump->code[dump->ncodes++] = *code;
	return 0;
}

static int wrong_range(const struct reader *reader, uint64_t offset, uint64_t begin, uint64_t size)
{
	return sb_error_set(reader->err, -sbe_format, reader->file, offset,
	                    "expected code in the address space, found 0x%" PRIx64 " bytes at 0x%" PRIx64,
	                    size, begin);
}

/* The name stands behind the numbers, the code at the record's end: that is where perf takes it from when
 * there is something between them. */
static int read_load(struct reader *reader, uint64_t offset, uint32_t size)
{
	const uint8_t *record = reader->bytes + offset;
	const uint64_t begin = load_u64(record + 32), code_size = load_u64(record + 40);
	struct jitdump_code code = {.from = load_u64(record + 8),
	                            .begin = begin,
	                            .end = begin + code_size,
	                            .code_index = load_u64(record + 48),
	                            .pid = load_i32(record + 16),
	                            .tid = load_i32(record + 20),
	                            .name = (const char *)record + LOAD_SIZE};
	const char *end = memchr(code.name, '\0', size - LOAD_SIZE);
	uint64_t left;

	if (!end)
		return sb_error_set(reader->err, -sbe_format, reader->file, offset + LOAD_SIZE,
		                    "expected a name that ends with a zero byte within the record");
	left = size - LOAD_SIZE - (uint64_t)(end - code.name) - 1;
	if (code_size > left)
		return sb_error_set(reader->err, -sbe_format, reader->file, offset + 40,
		                    "expected at most %" PRIu64
		                    " bytes of code, all that is behind the name, found %" PRIu64,
		                    left, code_size);
	if (code_size > UINT64_MAX - begin)
		return wrong_range(reader, offset + 32, begin, code_size);
	code.offset = offset + size - code_size;
	return code_size ? add_code(reader, &code) : 0;
}

static int read_move(struct reader *reader, uint64_t offset, uint32_t size)
{
	const uint8_t *record = reader->bytes + offset;
	const uint64_t begin = load_u64(record + 40), code_size = load_u64(record + 48);
	const struct jitdump_code code = {.from = load_u64(record + 8),
	                                  .begin = begin,
	                                  .end = begin + code_size,
	                                  .offset = JITDUMP_NO_BYTES,
	                                  .code_index = load_u64(record + 56),
	                                  .moved_from = load_u64(record + 32),
	                                  .pid = load_i32(record + 16),
	                                  .tid = load_i32(record + 20),
	                                  .is_moved = 1,
	                                  .name = ""};

	(void)size;
	if (code_size > UINT64_MAX - begin)
		return wrong_range(reader, offset + 40, begin, code_size);
	return code_size ? add_code(reader, &code) : 0;
}

static int read_close(struct reader *reader, uint64_t offset, uint32_t size)
{
	(void)offset, (void)size;
	reader->dump->closed = 1;
	return 0;
}

/* Those that say something about code; what is not here is passed over. */
static const struct record_row {
	uint32_t type;
	const char *name;
	uint32_t least; /* bytes */
	int (*read)(struct reader *reader, uint64_t offset, uint32_t size);
} rows[] = {
        {jitdump_load, "LOAD", LOAD_SIZE + 1, read_load},
        {jitdump_move, "MOVE", MOVE_SIZE, read_move},
        {jitdump_close, "CLOSE", PREFIX_SIZE, read_close},
};

static const struct record_row *row_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

/* The record at @offset, all of which is there. */
static int read_record(struct reader *reader, uint64_t offset, uint32_t size)
{
	const uint32_t type = load_u32(reader->bytes + offset);
	const struct record_row *row = row_of(type);

	if (size < (row ? row->least : PREFIX_SIZE))
		return sb_error_set(reader->err, -sbe_format, reader->file, offset + 4,
		                    "expected a record (%s, type %" PRIu32 ") of at least %" PRIu32
		                    " bytes, found %" PRIu32,
		                    row ? row->name : "not used", type, row ? row->least : PREFIX_SIZE, size);
	return row ? row->read(reader, offset, size) : 0;
}

/* The bytes from @offset on are no whole record. @before: the time of the last one that is. */
static void note_truncation(const struct reader *reader, uint64_t offset, uint64_t before)
{
	const int has_time = reader->size - offset >= PREFIX_SIZE;

	reader->dump->truncated_at = offset;
	reader->dump->known_to = has_time ? load_u64(reader->bytes + offset + 8) : before;
}

static int read_records(struct reader *reader, uint64_t offset)
{
	uint64_t time = reader->dump->timestamp;

	while (offset < reader->size && !reader->dump->closed) {
		const uint64_t left = reader->size - offset;
		const uint32_t size = left < PREFIX_SIZE ? 0 : load_u32(reader->bytes + offset + 4);
		int status;

		if (left < PREFIX_SIZE || size > left) {
			note_truncation(reader, offset, time);
			return 0;
		}
		status = read_record(reader, offset, size);
		if (status < 0)
			return status;
		time = load_u64(reader->bytes + offset + 8);
		offset += size;
	}
	return 0;
}

int jitdump_read(struct jitdump *dump, const uint8_t *bytes, uint64_t size, const char *file,
                 struct sb_error *err)
{
	struct reader reader = {.dump = dump, .bytes = bytes, .size = size, .file = file, .err = err};
	int64_t first;
	int status;

	memset(dump, 0, sizeof(*dump));
	first = read_header(&reader);
	status = first < 0 ? (int)first : read_records(&reader, (uint64_t)first);
	if (status == 0 && code_history(dump->code, dump->ncodes) < 0)
		status = sb_error_set(err, -sbe_nomem, file, UINT64_MAX, "out of memory");
	if (status < 0)
		jitdump_free(dump);
	return status;
}

void jitdump_free(struct jitdump *dump)
{
	free(dump->code);
	memset(dump, 0, sizeof(*dump));
}
