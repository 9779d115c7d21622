/* resolve_fixture.h - a resolver with the roots "r1" and "r2", and a mapping of code to be found there.
 *
 * The file is this program itself, about which the kernel's loader gives independent truth
 * (dl_iterate_phdr).
 */
#ifndef TEST_RESOLVE_FIXTURE_H
#define TEST_RESOLVE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sb/binary.h>

#include "support/temp_dir.h"

enum { PAGE = 4096 };

/* This program, as it is loaded. */
struct self {
	uint64_t code_offset, code_size; /* of its code segment in the file, in pages */
	uint64_t file_size;
	uint8_t build_id[20];
	uint8_t build_id_size;
	uint8_t *bytes;
};

struct fixture {
	struct temp_dir dir;
	struct self self;
	struct sb_resolver *resolver;
	struct sb_map map;
};

static inline void read_note(struct self *self, const uint8_t *note, size_t size)
{
	ElfW(Nhdr) header;

	for (size_t at = 0; at + sizeof(header) <= size;) {
		memcpy(&header, note + at, sizeof(header));
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4) {
			self->build_id_size = (uint8_t)header.n_descsz;
			memcpy(self->build_id, note + at + sizeof(header) + 4, header.n_descsz);
			return;
		}
		at += sizeof(header) + ((header.n_namesz + 3) & ~3u) + ((header.n_descsz + 3) & ~3u);
	}
}

static inline int read_self(struct dl_phdr_info *info, size_t size, void *context)
{
	struct self *self = context;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; ++i) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
			self->code_offset = segment->p_offset & ~(uint64_t)(PAGE - 1);
			self->code_size =
			        ((segment->p_offset + segment->p_filesz + PAGE - 1) & ~(uint64_t)(PAGE - 1)) -
			        self->code_offset;
		}
		if (segment->p_type == PT_NOTE)
			read_note(self, (const uint8_t *)(info->dlpi_addr + segment->p_vaddr),
			          segment->p_memsz);
	}
	return 1; /* the first one is the program */
}

static inline void load_self(struct self *self)
{
	FILE *file = fopen("/proc/self/exe", "rb");

	assert_non_null(file);
	dl_iterate_phdr(read_self, self);
	fseek(file, 0, SEEK_END);
	self->file_size = (uint64_t)ftell(file);
	rewind(file);
	self->bytes = malloc(self->file_size);
	assert_int_equal(fread(self->bytes, 1, self->file_size, file), self->file_size);
	fclose(file);
	assert_true(self->code_size > PAGE);
}

static inline void make_dir(const struct fixture *fixture, const char *name)
{
	char *path = temp_dir_path(&fixture->dir, name);

	assert_int_equal(mkdir(path, 0777), 0);
	free(path);
}

static inline void write_file(const struct fixture *fixture, const char *name, size_t size)
{
	free(temp_dir_write(&fixture->dir, name, fixture->self.bytes, size));
}

static inline void make_link(const struct fixture *fixture, const char *target, const char *name)
{
	char *path = temp_dir_path(&fixture->dir, name);

	assert_int_equal(symlink(target, path), 0);
	free(path);
}

/* The roots "r1" and "r2", without the host. */
static inline void open_roots(struct fixture *fixture)
{
	char *roots[2] = {temp_dir_path(&fixture->dir, "r1"), temp_dir_path(&fixture->dir, "r2/")};
	struct sb_error err = {0};

	assert_int_equal(sb_resolver_new(&fixture->resolver, (const char *const *)roots, 2, 1, &err), 0);
	free(roots[0]);
	free(roots[1]);
}

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	temp_dir_make(&fixture->dir);
	make_dir(fixture, "r1");
	make_dir(fixture, "r2");
	load_self(&fixture->self);
	fixture->map =
	        (struct sb_map){.begin = 0x400000, .filename = "/prog", .pgoff = fixture->self.code_offset};
	fixture->map.end = fixture->map.begin + fixture->self.code_size;
	fixture->map.recorded_pgoff = fixture->map.pgoff;
	fixture->map.recorded_size = fixture->self.code_size;
	open_roots(fixture);
	*state = fixture;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	sb_resolver_free(fixture->resolver);
	temp_dir_remove(&fixture->dir);
	free(fixture->self.bytes);
	free(fixture);
	return 0;
}

static inline const struct sb_binary *find(struct fixture *fixture)
{
	const struct sb_binary *binary = NULL;
	struct sb_error err = {0};

	assert_int_equal(sb_resolver_find(fixture->resolver, &fixture->map, &binary, &err), 0);
	assert_non_null(binary);
	if (binary->missing == sb_gap_none)
		assert_non_null(binary->path);
	else
		assert_true(!binary->path && binary->detail[0]);
	return binary;
}

static inline void assert_missing(struct fixture *fixture, enum sb_gap_reason reason)
{
	assert_int_equal(find(fixture)->missing, reason);
}

static inline void assert_found(struct fixture *fixture, const char *name)
{
	const struct sb_binary *binary = find(fixture);
	char *path = temp_dir_path(&fixture->dir, name), *real = realpath(path, NULL);

	assert_int_equal(binary->missing, sb_gap_none);
	assert_string_equal(binary->path, real);
	assert_int_equal(binary->offset, fixture->map.pgoff);
	assert_true(binary->size <= fixture->map.end - fixture->map.begin);
	assert_true(binary->size + PAGE > fixture->map.end - fixture->map.begin);
	free(real);
	free(path);
}

#endif
