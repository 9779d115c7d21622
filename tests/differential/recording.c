/* recording.c - see recording.h. Records: perf_event_open(2), PERF_RECORD_MMAP2; the file and its records of
 * trace: tools/perf/Documentation/perf.data-file-format.txt. */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record_header {
	uint32_t type;
	uint16_t misc, size;
};

struct mmap2 {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff, dev, ino, generation;
	uint32_t prot, flags;
	char filename[];
};

/* A piece of one CPU's trace follows it. */
struct auxtrace {
	uint64_t size, offset, reference;
	uint32_t idx, tid, cpu, reserved;
};

enum { record_mmap2 = 10, record_auxtrace = 71 };

struct reader {
	FILE *file;
	struct diff_case *c;
	const char *root;
	unsigned cpu;
};

static void add_mapping(struct reader *reader, const uint8_t *bytes, size_t size)
{
	struct mmap2 mapping;
	char path[256];
	int length;

	if (size <= sizeof(mapping))
		return;
	memcpy(&mapping, bytes, sizeof(mapping));
	length = snprintf(path, sizeof(path), "%s/%.*s", reader->root, (int)(size - sizeof(mapping)),
	                  (const char *)bytes + sizeof(mapping));
	if (length < (int)sizeof(path) && !access(path, R_OK) && reader->c->nsections < case_max_sections)
		(void)case_add_file(reader->c, path, mapping.pgoff, mapping.len, mapping.addr);
}

static int add_trace(struct reader *reader, const uint8_t *bytes, size_t size)
{
	struct diff_case *c = reader->c;
	struct auxtrace piece;

	if (size < sizeof(piece))
		return -1;
	memcpy(&piece, bytes, sizeof(piece));
	if (piece.cpu != reader->cpu)
		return fseek(reader->file, (long)piece.size, SEEK_CUR);
	c->trace = realloc(c->trace, c->size + piece.size + 1);
	if (!c->trace || fread(c->trace + c->size, 1, piece.size, reader->file) != piece.size)
		return -1;
	c->size += piece.size;
	return 0;
}

/* Up to @end in the file. */
static void read_records(struct reader *reader, long end)
{
	static uint8_t bytes[65536];
	struct record_header header;

	while (ftell(reader->file) < end &&
	       fread(&header, 1, sizeof(header), reader->file) == sizeof(header)) {
		size_t size = header.size - sizeof(header);

		if (header.size < sizeof(header) || fread(bytes, 1, size, reader->file) != size)
			return;
		if (header.type == record_mmap2)
			add_mapping(reader, bytes, size);
		if (header.type == record_auxtrace && add_trace(reader, bytes, size) < 0)
			return;
	}
}

int recording_add(struct diff_case *c, const char *pevent, const char *root)
{
	struct reader reader = {fopen(pevent, "rb"), c, root, 0};

	if (!reader.file) {
		perror(pevent);
		return -1;
	}
	read_records(&reader, 0x7fffffff);
	fclose(reader.file);
	return 0;
}

int recording_open(struct diff_case *c, const char *perf_data, const char *root, unsigned cpu)
{
	struct reader reader = {fopen(perf_data, "rb"), c, root, cpu};
	uint64_t header[8];

	if (!reader.file || fread(header, 1, sizeof(header), reader.file) != sizeof(header)) {
		perror(perf_data);
		return -1;
	}
	/* magic, size, size of an attribute, then attributes and data as offset and size */
	fseek(reader.file, (long)header[5], SEEK_SET);
	read_records(&reader, (long)(header[5] + header[6]));
	fclose(reader.file);
	c->estimates = 1;
	snprintf(c->name, sizeof(c->name), "%.100s CPU %u", perf_data, cpu);
	return c->trace ? 0 : -1;
}
