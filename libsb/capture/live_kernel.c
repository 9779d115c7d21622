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

enum { notes_most = 4096 };

/* The GNU build-id among the ELF notes of a file. Its size, 0: none. */
static uint8_t read_note(const char *path, uint8_t id[20])
{
	uint8_t bytes[notes_most];
	FILE *file = fopen(path, "re");
	const size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	Elf64_Nhdr note;

	if (file)
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
			return (uint8_t)note.n_descsz;
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

	map.build_id_size = read_note(notes, map.build_id);
	return sb_write_mmap2(writer, NULL, &map, err);
}

static int write_text(struct sb_perfdata_writer *writer, const char *proc, const char *sysfs,
                      const char **missing, struct sb_error *err)
{
	struct kallsyms_name name[] = {{.name = "_etext"}, {.name = "_stext"}, {.name = "_text"}};
	char path[PATH_MAX], notes[PATH_MAX];
	const struct kallsyms_name *begin;

	snprintf(path, sizeof(path), "%s/kallsyms", proc);
	if (kallsyms_find_names(path, name, sizeof(name) / sizeof(name[0])) < 0) {
		*missing = "there is no kallsyms: where the kernel's code is remains unknown";
		return 0;
	}
	begin = name[2].found == 1 ? &name[2] : &name[1];
	if (begin->found != 1 || !begin->address || name[0].address <= begin->address) {
		*missing =
		        "kallsyms hides addresses (kptr_restrict): where the kernel's code is remains unknown";
		return 0;
	}
	snprintf(notes, sizeof(notes), "%s/kernel/notes", sysfs);
	return write_map(writer, begin->address, name[0].address, begin->address, "[kernel.kallsyms]_text",
	                 notes, err);
}

/* "NAME SIZE USES BY STATE ADDRESS". */
static int write_modules(struct sb_perfdata_writer *writer, const char *proc, const char *sysfs,
                         struct sb_error *err)
{
	char path[PATH_MAX], line[1024], word[128], name[192], notes[PATH_MAX];
	uint64_t size, address;
	int status = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/modules", proc);
	file = fopen(path, "re");
	if (!file)
		return 0; /* a kernel without */
	while (status == 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%127s %" SCNu64 " %*s %*s %*s %" SCNx64, word, &size, &address) != 3 ||
		    !address || !size)
			continue;
		snprintf(name, sizeof(name), "[%s]", word);
		snprintf(notes, sizeof(notes), "%s/module/%s/notes/.note.gnu.build-id", sysfs, word);
		status = write_map(writer, address, address + size, 0, name, notes, err);
	}
	fclose(file);
	return status;
}

int live_kernel_write(struct sb_perfdata_writer *writer, const char *proc, const char *sysfs,
                      const char **missing, struct sb_error *err)
{
	int status;

	*missing = NULL;
	status = write_text(writer, proc, sysfs, missing, err);
	return status == 0 ? write_modules(writer, proc, sysfs, err) : status;
}
