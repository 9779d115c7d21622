/* recording.c - see recording.h. Records: perf_event_open(2), PERF_RECORD_MMAP2. */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mmap2 {
	uint32_t type;
	uint16_t misc, size;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff, dev, ino, generation;
	uint32_t prot, flags;
	char filename[];
};

enum { record_mmap2 = 10 };

static void add_mapping(struct diff_case *c, const uint8_t *bytes, uint16_t size, const char *root)
{
	struct mmap2 header;
	char path[256];
	int length;

	if (size <= sizeof(header))
		return;
	memcpy(&header, bytes, sizeof(header));
	length = snprintf(path, sizeof(path), "%s/%.*s", root, (int)(size - sizeof(header)),
	                  (const char *)bytes + sizeof(header));
	if (length < (int)sizeof(path) && !access(path, R_OK) && c->nsections < case_max_sections)
		(void)case_add_file(c, path, header.pgoff, header.len, header.addr);
}

int recording_add(struct diff_case *c, const char *pevent, const char *root)
{
	FILE *file = fopen(pevent, "rb");
	uint8_t record[65536];
	uint32_t type;
	uint16_t size;

	if (!file) {
		perror(pevent);
		return -1;
	}
	while (fread(record, 1, 8, file) == 8) {
		memcpy(&type, record, sizeof(type));
		memcpy(&size, record + 6, sizeof(size));
		if (size < 8 || fread(record + 8, 1, (size_t)size - 8, file) != (size_t)size - 8)
			break;
		if (type == record_mmap2)
			add_mapping(c, record, size, root);
	}
	fclose(file);
	return 0;
}
