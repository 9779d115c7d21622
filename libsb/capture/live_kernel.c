/* live_kernel.c - see live_kernel.h. The kernel's code goes from _text (or _stext) to _etext of kallsyms,
 * which are zero for who may not know; a module's is where /proc/modules says. Build-ids are ELF notes that
 * sysfs holds.
 */
#include "capture/live_kernel.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "binary/kallsyms.h"
#include "capture/shortage.h"

enum { notes_most = 4096 };

/* The GNU build-id among the ELF notes of a file. Its size, 0: none. Negative: we are short of memory, or
 * files. */
static int read_note(const char *path, uint8_t id[20])
{
	uint8_t bytes[notes_most];
	FILE *file = fopen(path, "re");
	const size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	Elf64_Nhdr note;

	if (!file)
		return is_shortage(errno) ? -errno : 0;
	fclose(file);
	for (size_t at = 0; at + sizeof(note) <= size;) {
		size_t name, text;

		memcpy(&note, bytes + at, sizeof(note));
		name = at + sizeof(note);
		if (note.n_namesz > notes_most || note.n_descsz > notes_most)
			break;
		text = name + ((note.n_namesz + 3) & ~(size_t)3);
		at = text + ((note.n_descsz + 3) & ~(size_t)3);
		if (at > size)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(bytes + name, "GNU", 4) &&
		    note.n_descsz && note.n_descsz <= 20) {
			memcpy(id, bytes + text, note.n_descsz);
			return (int)note.n_descsz;
		}
	}
	return 0;
}

static int write_map(struct sb_perfdata_writer *writer, uint64_t begin, uint64_t end, uint64_t pgoff,
                     const char *name, const char *notes, struct sb_error *err)
{
	struct sb_write_mmap2 map = {.pid = -1,
	                             .addr = begin,
	                             .len = end - begin,
	                             .pgoff = pgoff,
	                             .prot = PROT_READ | PROT_EXEC,
	                             .flags = MAP_PRIVATE,
	                             .filename = name,
	                             .is_kernel = 1};

	const int size = read_note(notes, map.build_id);

	if (size < 0)
		return fail_short(-size, notes, err);
	map.build_id_size = (uint8_t)size;
	return sb_write_mmap2(writer, NULL, &map, err);
}

/* Where the kernel's code is: zero; 1: it cannot be known, and *missing says why; or an error. */
static int find_text(const char *proc, uint64_t *begin, uint64_t *end, const char **missing,
                     struct sb_error *err)
{
	struct kallsyms_name name[] = {{.name = "_etext"}, {.name = "_stext"}, {.name = "_text"}};
	const struct kallsyms_name *first;
	char path[PATH_MAX];
	int status;

	snprintf(path, sizeof(path), "%s/kallsyms", proc);
	errno = 0;
	status = kallsyms_find_names(path, name, sizeof(name) / sizeof(name[0]));
	if (status < 0 && (status == -sbe_nomem || is_shortage(errno)))
		return fail_short(status == -sbe_nomem ? ENOMEM : errno, path, err);
	if (status < 0) {
		*missing = "there is no kallsyms: where the kernel's code is remains unknown";
		return 1;
	}
	first = name[2].found == 1 ? &name[2] : &name[1];
	if (first->found != 1 || !first->address || name[0].address <= first->address) {
		*missing =
		        "kallsyms hides addresses (kptr_restrict): where the kernel's code is remains unknown";
		return 1;
	}
	*begin = first->address;
	*end = name[0].address;
	return 0;
}

struct module {
	char name[128];
	uint64_t begin, end;
};

/* "NAME SIZE USES BY STATE ADDRESS". Ends when the callback returns something else than zero. */
static int each_module(const char *proc, int (*take)(void *context, const struct module *module),
                       void *context, struct sb_error *err)
{
	char path[PATH_MAX], line[1024];
	struct module module;
	uint64_t size;
	int status = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/modules", proc);
	file = fopen(path, "re");
	if (!file) /* a kernel without */
		return is_shortage(errno) ? fail_short(errno, path, err) : 0;
	while (status == 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%127s %" SCNu64 " %*s %*s %*s %" SCNx64, module.name, &size,
		           &module.begin) != 3 ||
		    !module.begin || !size || size > UINT64_MAX - module.begin)
			continue;
		module.end = module.begin + size;
		status = take(context, &module);
	}
	fclose(file);
	return status;
}

/* ---- Records ---------------------------------------------------------------------------------- */

struct writing {
	struct sb_perfdata_writer *writer;
	const char *sysfs;
	struct sb_error *err;
};

static int write_module(void *context, const struct module *module)
{
	const struct writing *writing = context;
	char name[192], notes[PATH_MAX];

	snprintf(name, sizeof(name), "[%s]", module->name);
	snprintf(notes, sizeof(notes), "%s/module/%s/notes/.note.gnu.build-id", writing->sysfs, module->name);
	return write_map(writing->writer, module->begin, module->end, 0, name, notes, writing->err);
}

int live_kernel_write(struct sb_perfdata_writer *writer, const char *proc, const char *sysfs,
                      const char **missing, struct sb_error *err)
{
	struct writing writing = {writer, sysfs, err};
	char notes[PATH_MAX];
	uint64_t begin, end;
	int status;

	*missing = NULL;
	snprintf(notes, sizeof(notes), "%s/kernel/notes", sysfs);
	status = find_text(proc, &begin, &end, missing, err);
	if (status == 0)
		status = write_map(writer, begin, end, begin, "[kernel.kallsyms]_text", notes, err);
	return status >= 0 ? each_module(proc, write_module, &writing, err) : status;
}

/* ---- Ranges ----------------------------------------------------------------------------------- */

struct taking {
	int (*take)(void *context, uint64_t begin, uint64_t end);
	void *context;
};

static int take_module(void *context, const struct module *module)
{
	const struct taking *taking = context;

	return taking->take(taking->context, module->begin, module->end);
}

int live_kernel_ranges(const char *proc, int (*take)(void *context, uint64_t begin, uint64_t end),
                       void *context, const char **missing, struct sb_error *err)
{
	struct taking taking = {take, context};
	uint64_t begin, end;
	int status;

	*missing = NULL;
	status = find_text(proc, &begin, &end, missing, err);
	if (status)
		return status < 0 ? status : 0;
	status = take(context, begin, end);
	return status == 0 ? each_module(proc, take_module, &taking, err) : status;
}
