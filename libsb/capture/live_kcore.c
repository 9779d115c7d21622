/* live_kcore.c - see live_kcore.h. /proc/kcore is a core file of all memory of the kernel, proc(5); of it the
 * ranges that hold code are copied, each as a segment of its own.
 */
#include "capture/live_kcore.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/kernel_regions.h"
#include "capture/live_kernel.h"
#include "capture/shortage.h"
#include "system/arena.h"

enum { page = 4096, piece = 1 << 16 };

/* What is copied: [begin, end), sorted. */
struct ranges {
	struct kernel_region *range; /* owned; .offset in the copy */
	size_t count, capacity;
};

struct copy {
	const char *name; /* of kcore */
	int from, to;     /* -1: not open */
	struct kernel_regions regions;
	struct ranges wanted;
	struct sb_error *err;
};

static int fail(struct sb_error *err, const char *name, const char *what, int error)
{
	return sb_error_set(err, error == ENOMEM ? -sbe_nomem : -sbe_io, name, UINT64_MAX, "%s: %s", what,
	                    strerror(error));
}

static int refuse(const struct copy *copy, const char *why)
{
	return sb_error_set(copy->err, -sbe_unsupported, copy->name, UINT64_MAX,
	                    "the kernel's code cannot be copied (--kcore): %s", why);
}

/* ---- What to copy ----------------------------------------------------------------------------- */

static int add(struct ranges *ranges, uint64_t begin, uint64_t end)
{
	if (array_reserve(&ranges->range, &ranges->capacity, ranges->count, sizeof(*ranges->range)) < 0)
		return -sbe_nomem;
	ranges->range[ranges->count++] = (struct kernel_region){.begin = begin, .end = end};
	return 0;
}

static int want(void *context, uint64_t begin, uint64_t end)
{
	return add(context, begin & ~(uint64_t)(page - 1), (end + page - 1) & ~(uint64_t)(page - 1));
}

/* Modules lie close together: one range for those that touch. */
static void join(struct ranges *wanted)
{
	size_t kept = 0;

	for (size_t i = 0; i < wanted->count; ++i) {
		const struct kernel_region range = wanted->range[i];

		if (kept && range.begin <= wanted->range[kept - 1].end) {
			if (range.end > wanted->range[kept - 1].end)
				wanted->range[kept - 1].end = range.end;
			continue;
		}
		wanted->range[kept++] = range;
	}
	wanted->count = kept;
}

/* Where in kcore an address is, and how many bytes from there on; zero: nowhere. */
static uint64_t find(const struct kernel_regions *regions, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < regions->count; ++i) {
		const struct kernel_region *region = &regions->region[i];

		if (address >= region->begin && address < region->end) {
			*offset = region->offset + (address - region->begin);
			return region->end - address;
		}
	}
	return 0;
}

/* Of what is wanted, what kcore holds: a segment of zeros would say that there is such code. */
static int keep_held(struct copy *copy)
{
	struct ranges held = {0};
	int status = 0;

	for (size_t i = 0; i < copy->wanted.count && status == 0; ++i)
		for (size_t k = 0; k < copy->regions.count && status == 0; ++k) {
			const struct kernel_region *range = &copy->wanted.range[i];
			const struct kernel_region *region = &copy->regions.region[k];
			const uint64_t begin = range->begin > region->begin ? range->begin : region->begin;
			const uint64_t end = range->end < region->end ? range->end : region->end;

			if (begin < end)
				status = add(&held, begin, end);
		}
	free(copy->wanted.range);
	copy->wanted = held;
	return status;
}

static int out_of_memory(const struct copy *copy)
{
	return sb_error_set(copy->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static int choose(struct copy *copy, const char *proc)
{
	const char *missing = NULL;
	uint64_t at = 0;
	int status = live_kernel_ranges(proc, want, &copy->wanted, &missing, copy->err);

	if (status == -sbe_nomem)
		return out_of_memory(copy);
	if (status < 0)
		return status;
	if (missing)
		return refuse(copy, missing);
	if (!copy->wanted.count || !find(&copy->regions, copy->wanted.range[0].begin, &at))
		return refuse(copy, "it does not hold what kallsyms says");
	if (array_sort(copy->wanted.range, copy->wanted.count, sizeof(*copy->wanted.range)) < 0)
		return out_of_memory(copy);
	join(&copy->wanted);
	if (keep_held(copy) < 0)
		return out_of_memory(copy);
	at = page * ((sizeof(Elf64_Ehdr) + copy->wanted.count * sizeof(Elf64_Phdr) + page - 1) / page);
	for (size_t i = 0; i < copy->wanted.count; ++i) {
		copy->wanted.range[i].offset = at;
		at += copy->wanted.range[i].end - copy->wanted.range[i].begin;
	}
	return 0;
}

/* ---- Copying ---------------------------------------------------------------------------------- */

static int put(const struct copy *copy, const void *bytes, size_t size, uint64_t offset)
{
	while (size) {
		const ssize_t done = pwrite(copy->to, bytes, size, (off_t)offset);

		if (done <= 0)
			return fail(copy->err, "kcore", "writing its copy failed", done < 0 ? errno : ENOSPC);
		bytes = (const char *)bytes + done;
		size -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

static int put_headers(const struct copy *copy)
{
	Elf64_Ehdr header = {
	        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	        .e_type = ET_CORE,
	        .e_machine = EM_X86_64,
	        .e_version = EV_CURRENT,
	        .e_phoff = sizeof(header),
	        .e_ehsize = sizeof(header),
	        .e_phentsize = sizeof(Elf64_Phdr),
	        .e_phnum = (Elf64_Half)copy->wanted.count};
	int status = put(copy, &header, sizeof(header), 0);

	for (size_t i = 0; i < copy->wanted.count && status == 0; ++i) {
		const struct kernel_region *range = &copy->wanted.range[i];
		const Elf64_Phdr segment = {.p_type = PT_LOAD,
		                            .p_flags = PF_R | PF_W | PF_X,
		                            .p_offset = range->offset,
		                            .p_vaddr = range->begin,
		                            .p_filesz = range->end - range->begin,
		                            .p_memsz = range->end - range->begin,
		                            .p_align = page};

		status = put(copy, &segment, sizeof(segment), sizeof(header) + i * sizeof(segment));
	}
	return status;
}

static int put_range(const struct copy *copy, const struct kernel_region *range)
{
	uint8_t bytes[piece];
	int status = 0;

	for (uint64_t at = range->begin; at < range->end && status == 0;) {
		uint64_t offset = 0, size = find(&copy->regions, at, &offset);
		ssize_t got;

		if (size > range->end - at)
			size = range->end - at;
		if (size > sizeof(bytes))
			size = sizeof(bytes);
		got = pread(copy->from, bytes, size, (off_t)offset);
		if (got <= 0)
			return fail(copy->err, copy->name, "reading it failed", got < 0 ? errno : ENODATA);
		status = put(copy, bytes, (size_t)got, range->offset + (at - range->begin));
		at += (uint64_t)got;
	}
	return status;
}

static int put_all(const struct copy *copy)
{
	int status = put_headers(copy);

	for (size_t i = 0; i < copy->wanted.count && status == 0; ++i)
		status = put_range(copy, &copy->wanted.range[i]);
	return status;
}

/* A file of proc, whose size nobody knows before. @may_lack: when it is not there, the copy is empty. */
static int copy_file(const char *proc, const char *directory, const char *name, int may_lack,
                     struct sb_error *err)
{
	char from[PATH_MAX], to[PATH_MAX], bytes[piece];
	FILE *in, *out;
	size_t size;
	int status = 0;

	snprintf(from, sizeof(from), "%s/%s", proc, name);
	snprintf(to, sizeof(to), "%s/%s", directory, name);
	in = fopen(from, "re");
	if (!in && (!may_lack || is_shortage(errno)))
		return fail(err, from, "it cannot be read", errno);
	out = fopen(to, "wxe");
	if (!out)
		status = fail(err, to, "it cannot be written", errno);
	while (in && status == 0 && (size = fread(bytes, 1, sizeof(bytes), in)))
		if (fwrite(bytes, 1, size, out) != size)
			status = fail(err, to, "writing it failed", errno);
	if (in && ferror(in) && status == 0)
		status = fail(err, from, "reading it failed", errno);
	if (in)
		fclose(in);
	if (out && fclose(out) && status == 0)
		status = fail(err, to, "writing it failed", errno);
	return status;
}

static int copy_code(const char *directory, const char *proc, const char *name, struct sb_error *err)
{
	struct copy copy = {.name = name, .from = open(name, O_RDONLY | O_CLOEXEC), .to = -1, .err = err};
	char path[PATH_MAX];
	int status;

	if (copy.from < 0)
		return refuse(&copy, errno == ENOENT ? "this kernel was built without it (PROC_KCORE)"
		                                     : strerror(errno));
	status = kernel_regions_read(&copy.regions, copy.from, name, 0, NULL);
	if (status == -sbe_nomem)
		status = out_of_memory(&copy);
	else if (status < 0)
		status = refuse(&copy, "it is no core file");
	else
		status = choose(&copy, proc);
	snprintf(path, sizeof(path), "%s/kcore", directory);
	if (status == 0) {
		copy.to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		status = copy.to < 0 ? fail(err, path, "it cannot be written", errno) : put_all(&copy);
	}
	if (copy.to >= 0)
		close(copy.to);
	close(copy.from);
	kernel_regions_free(&copy.regions);
	free(copy.wanted.range);
	return status;
}

int live_kcore_copy(const char *directory, const char *proc, struct sb_error *err)
{
	char name[PATH_MAX];
	int status;

	snprintf(name, sizeof(name), "%s/kcore", proc);
	if (mkdir(directory, 0700) < 0)
		return fail(err, directory, "it cannot be made", errno);
	status = copy_code(directory, proc, name, err);
	if (status == 0)
		status = copy_file(proc, directory, "kallsyms", 0, err);
	return status == 0 ? copy_file(proc, directory, "modules", 1, err) : status;
}
