/* program.c - see program.h.
 *
 * Each code section of the case is a section of its own in one assembler file, so that labels are known
 * everywhere; ld puts it where the case says. Sections of different address spaces may overlap.
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int complain(const char *what, const char *path)
{
	fprintf(stderr, "%s: %s\n", path, what);
	return -1;
}

static void path_in(const struct program *program, char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", program->directory, name);
}

/* Runs @argv in the program's directory. Zero, program_no_tools, or -1. */
static int run_tool(const struct program *program, char *const argv[])
{
	const pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return -1;
	if (!pid) {
		if (chdir(program->directory) == 0)
			execvp(argv[0], argv);
		_exit(errno == ENOENT ? 127 : 126);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return program_no_tools;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : complain("failed", argv[0]);
}

static int write_source(const struct program *program, const struct case_file *file)
{
	char path[96];
	FILE *out;

	path_in(program, path, sizeof(path), "code.s");
	out = fopen(path, "w");
	if (!out)
		return complain("cannot write", path);
	fprintf(out, "\t.intel_syntax noprefix\n");
	for (size_t i = 0; i < file->ncode; ++i) {
		const struct case_code *code = &file->code[i];

		fprintf(out, "\t.section .case%zu,\"ax\"\n\t.code%d\n", i, code->bits);
		for (size_t j = 0; j < code->lines.count; ++j)
			fprintf(out, "# %d \"%s\"\n%s\n", code->lines.line[j].number, file->path,
			        code->lines.line[j].text);
	}
	return fclose(out) ? complain("cannot write", path) : 0;
}

static int link_code(const struct program *program, const struct case_file *file)
{
	char start[case_max_code][64];
	char *argv[case_max_code + 16] = {
	        "ld", "--no-check-sections", "-z", "noexecstack", "-e", "0", "-o", "code.elf", "code.o"};
	size_t n = 9;

	for (size_t i = 0; i < file->ncode; ++i) {
		snprintf(start[i], sizeof(start[i]), "--section-start=.case%zu=0x%" PRIx64, i,
		         file->code[i].address);
		argv[n++] = start[i];
	}
	return run_tool(program, argv);
}

static int add_label(struct program *program, const char *name, uint64_t address)
{
	struct program_label *grown;
	size_t i = program->nlabels;

	grown = realloc(program->label, (program->nlabels + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	program->label = grown;
	for (; i && grown[i - 1].address > address; --i)
		grown[i] = grown[i - 1];
	grown[i] = (struct program_label){.name = strdup(name), .address = address};
	program->nlabels += 1;
	return 0;
}

static int read_labels(struct program *program, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	const Elf_Data *data = elf_getdata(scn, NULL);
	const size_t count = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;

	for (size_t i = 0; i < count; ++i) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym((Elf_Data *)(uintptr_t)data, (int)i, &sym))
			return -1;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (GELF_ST_TYPE(sym.st_info) != STT_NOTYPE || !name || !*name ||
		    sym.st_shndx >= SHN_LORESERVE || sym.st_shndx == SHN_UNDEF)
			continue;
		if (add_label(program, name, sym.st_value) < 0)
			return -1;
	}
	return 0;
}

static int read_section(struct program_section *section, Elf_Scn *scn)
{
	const Elf_Data *data = elf_getdata(scn, NULL);

	if (!data || !data->d_size)
		return 0;
	section->bytes = malloc(data->d_size);
	if (!section->bytes)
		return -1;
	memcpy(section->bytes, data->d_buf, data->d_size);
	section->size = data->d_size;
	return 0;
}

static int read_sections(struct program *program, Elf *elf)
{
	size_t names = 0;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return -1;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr shdr;
		const char *name;
		size_t index;

		if (!gelf_getshdr(scn, &shdr))
			return -1;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (shdr.sh_type == SHT_SYMTAB && read_labels(program, elf, scn, &shdr) < 0)
			return -1;
		if (!name || sscanf(name, ".case%zu", &index) != 1 || index >= program->nsections)
			continue;
		if (read_section(&program->section[index], scn) < 0)
			return -1;
	}
	return 0;
}

static int read_elf(struct program *program)
{
	char path[96];
	Elf *elf;
	int fd, status;

	path_in(program, path, sizeof(path), "code.elf");
	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return complain("cannot read", path);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	status = elf ? read_sections(program, elf) : -1;
	elf_end(elf);
	close(fd);
	return status < 0 ? complain("not as ld writes it", path) : 0;
}

static int write_bytes(struct program *program, size_t i)
{
	struct program_section *section = &program->section[i];
	char name[16];
	FILE *out;

	snprintf(name, sizeof(name), "section%zu", i);
	path_in(program, section->path, sizeof(section->path), name);
	out = fopen(section->path, "wb");
	if (!out)
		return complain("cannot write", section->path);
	if (section->size)
		fwrite(section->bytes, 1, section->size, out);
	return fclose(out) ? complain("cannot write", section->path) : 0;
}

static int assemble(struct program *program, const struct case_file *file)
{
	static char *const as[] = {"as", "--64", "-o", "code.o", "code.s", NULL};
	int status;

	strcpy(program->directory, "/tmp/sbtrace-case-XXXXXX");
	if (!mkdtemp(program->directory)) {
		program->directory[0] = '\0';
		return complain("cannot make a directory", "/tmp");
	}
	if (write_source(program, file) < 0)
		return -1;
	status = run_tool(program, as);
	if (status)
		return status;
	status = link_code(program, file);
	if (status)
		return status;
	return read_elf(program);
}

int program_make(struct program *program, const struct case_file *file)
{
	int status;

	memset(program, 0, sizeof(*program));
	if (!file->ncode)
		return 0;
	program->nsections = file->ncode;
	for (size_t i = 0; i < file->ncode; ++i) {
		program->section[i].address = file->code[i].address;
		program->section[i].bits = file->code[i].bits;
		program->section[i].asid = file->code[i].asid;
	}
	status = assemble(program, file);
	for (size_t i = 0; !status && i < program->nsections; ++i)
		status = write_bytes(program, i);
	return status;
}

void program_free(struct program *program)
{
	static const char *const names[] = {"code.s", "code.o", "code.elf"};
	char path[96];

	for (size_t i = 0; i < program->nsections; ++i) {
		free(program->section[i].bytes);
		if (program->section[i].path[0])
			remove(program->section[i].path);
	}
	for (size_t i = 0; i < program->nlabels; ++i)
		free(program->label[i].name);
	free(program->label);
	if (!program->directory[0])
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i) {
		path_in(program, path, sizeof(path), names[i]);
		remove(path);
	}
	rmdir(program->directory);
}

int program_value(const struct program *program, const char *word, uint64_t *value)
{
	const size_t size = strcspn(word, "+");
	uint64_t base = 0;
	char *end;

	*value = strtoull(word, &end, 0);
	if (end != word && !*end)
		return 0;
	for (size_t i = 0; i < program->nlabels; ++i) {
		if (strlen(program->label[i].name) != size || strncmp(program->label[i].name, word, size))
			continue;
		base = program->label[i].address;
		*value = base;
		if (!word[size])
			return 0;
		*value = base + strtoull(word + size + 1, &end, 0);
		return *end || end == word + size + 1 ? -1 : 0;
	}
	return -1;
}

static int in_section(const struct program *program, uint64_t label, uint64_t address)
{
	for (size_t i = 0; i < program->nsections; ++i) {
		const struct program_section *section = &program->section[i];

		if (label - section->address < section->size && address - section->address < section->size)
			return 1;
	}
	return 0;
}

void program_print_address(FILE *out, const struct program *program, uint64_t address)
{
	const struct program_label *best = NULL;

	for (size_t i = 0; i < program->nlabels && program->label[i].address <= address; ++i) {
		if (!best || program->label[i].address != best->address)
			best = &program->label[i];
	}
	if (best && best->address == address)
		fprintf(out, "%s", best->name);
	else if (best && in_section(program, best->address, address))
		fprintf(out, "%s+%" PRIu64, best->name, address - best->address);
	else
		fprintf(out, "%#" PRIx64, address);
}

static int asid_matches(const struct pt_asid *of_section, const struct pt_asid *asid)
{
	return (of_section->cr3 == pt_asid_no_cr3 || asid->cr3 == pt_asid_no_cr3 ||
	        of_section->cr3 == asid->cr3) &&
	       (of_section->vmcs == pt_asid_no_vmcs || asid->vmcs == pt_asid_no_vmcs ||
	        of_section->vmcs == asid->vmcs);
}

static int contains(const struct program_section *section, uint64_t address)
{
	return address - section->address < section->size;
}

/* A section hides those before it whose address space matches its own; among the others, the first counts. */
static const struct program_section *section_at(const struct program *program, const struct pt_asid *asid,
                                                uint64_t address)
{
	for (size_t i = 0; i < program->nsections; ++i) {
		const struct program_section *section = &program->section[i];
		size_t later = i + 1;

		if (!contains(section, address) || !asid_matches(&section->asid, asid))
			continue;
		while (later < program->nsections &&
		       (!contains(&program->section[later], address) ||
		        !asid_matches(&program->section[later].asid, &section->asid)))
			later += 1;
		if (later == program->nsections)
			return section;
	}
	return NULL;
}

size_t program_read(const struct program *program, const struct pt_asid *asid, uint64_t address,
                    uint8_t *buffer, size_t size)
{
	size_t n = 0;

	while (n < size) {
		const struct program_section *section = section_at(program, asid, address + n);

		if (!section)
			break;
		buffer[n] = section->bytes[address + n - section->address];
		n += 1;
	}
	return n;
}
