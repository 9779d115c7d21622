/* case.c - see case.h. */
#include "case.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *what, const char *path)
{
	fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
	return -1;
}

static void drop_section(struct case_section *section)
{
	if (section->bytes)
		munmap((void *)(uintptr_t)(section->bytes - section->offset),
		       (size_t)(section->offset + section->size));
	if (section->fd >= 0)
		close(section->fd);
}

void case_free(struct diff_case *c)
{
	for (size_t i = 0; i < c->nsections && !c->shared; ++i)
		drop_section(&c->section[i]);
	free(c->trace);
	free(c->truth);
	memset(c, 0, sizeof(*c));
}

int case_set_trace(struct diff_case *c, const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0)
		return failed("cannot read", path);
	c->size = (size_t)st.st_size;
	c->trace = malloc(c->size + 1);
	c->estimates = 1;
	if (!c->trace || fread(c->trace, 1, c->size, file) != c->size)
		return failed("cannot read", path);
	fclose(file);
	snprintf(c->name, sizeof(c->name), "%.*s", (int)sizeof(c->name) - 1, path);
	return 0;
}

/* Maps from the file's beginning, since offsets need not be aligned. */
static int map_section(struct case_section *section, int fd)
{
	struct stat st;
	void *memory;

	if (fstat(fd, &st) < 0 || section->offset >= (uint64_t)st.st_size)
		return failed("bad offset into", section->path);
	if (section->size > (uint64_t)st.st_size - section->offset)
		section->size = (uint64_t)st.st_size - section->offset;
	memory = mmap(NULL, (size_t)(section->offset + section->size), PROT_READ, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		return failed("cannot map", section->path);
	section->bytes = (const uint8_t *)memory + section->offset;
	return 0;
}

int case_add_file(struct diff_case *c, const char *path, uint64_t offset, uint64_t size, uint64_t vaddr)
{
	struct case_section *section = &c->section[c->nsections];
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;

	if (fd < 0 || c->nsections == case_max_sections || strlen(path) >= sizeof(section->path))
		return failed("cannot add", path);
	*section = (struct case_section){.offset = offset, .size = size, .vaddr = vaddr, .fd = -1};
	strcpy(section->path, path);
	status = map_section(section, fd);
	close(fd);
	if (!status)
		++c->nsections;
	return status;
}

int case_add_bytes(struct diff_case *c, const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	struct case_section *section = &c->section[c->nsections];
	int fd = memfd_create("code", MFD_CLOEXEC);

	if (fd < 0 || c->nsections == case_max_sections || write(fd, bytes, size) != (ssize_t)size)
		return failed("cannot write", "code");
	*section = (struct case_section){.size = size, .vaddr = vaddr, .fd = fd};
	snprintf(section->path, sizeof(section->path), "/proc/self/fd/%d", fd);
	if (map_section(section, fd) < 0)
		return -1;
	++c->nsections;
	return 0;
}

static const struct case_section *find_section(const struct diff_case *c, uint64_t vaddr)
{
	for (size_t i = c->nsections; i--;)
		if (vaddr - c->section[i].vaddr < c->section[i].size)
			return &c->section[i];
	return NULL;
}

size_t case_read(const struct diff_case *c, uint64_t vaddr, uint8_t *bytes, size_t size)
{
	size_t got = 0;

	for (; got < size; ++got) {
		const struct case_section *section = find_section(c, vaddr + got);

		if (!section)
			break;
		bytes[got] = section->bytes[vaddr + got - section->vaddr];
	}
	return got;
}

static int save_file(const char *dir, const char *name, const void *bytes, size_t size)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wb");
	if (!file)
		return failed("cannot write", path);
	if (fwrite(bytes, 1, size, file) != size) {
		fclose(file);
		return failed("cannot write", path);
	}
	fclose(file);
	return 0;
}

static void print_options(const struct diff_case *c)
{
	printf(" --cpu %u/%u/%u --errata 0x%x --cpuid %u:%u --mtc-freq %u --nom-freq %u --flags 0x%x",
	       c->family, c->model, c->stepping, c->errata, c->eax, c->ebx, c->mtc_freq, c->nom_freq,
	       c->flags);
	for (size_t i = 0; i < case_max_filters; ++i)
		if (c->filter[i].config)
			printf(" --filter %zu:%u:0x%" PRIx64 ":0x%" PRIx64, i, c->filter[i].config,
			       c->filter[i].a, c->filter[i].b);
	printf("\n");
}

int case_save(const struct diff_case *c, const char *dir)
{
	char name[32];

	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return failed("cannot make", dir);
	if (save_file(dir, "trace.pt", c->trace, c->size) < 0)
		return -1;
	printf("pt_diff --pt %s/trace.pt", dir);
	for (size_t i = 0; i < c->nsections; ++i) {
		snprintf(name, sizeof(name), "code%zu", i);
		if (save_file(dir, name, c->section[i].bytes, (size_t)c->section[i].size) < 0)
			return -1;
		printf(" --image %s/%s:0:0x%" PRIx64 ":0x%" PRIx64, dir, name, c->section[i].size,
		       c->section[i].vaddr);
	}
	print_options(c);
	return 0;
}
