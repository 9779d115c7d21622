/* tracee_path.c - decodes the paths of an address space: from an address to the next branch whose
 * outcome depends on data. */
#include "tracee_mm_internal.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_INSNS = 192, INSN_MAX = 15 };

struct path_builder {
	struct tracee_mm *mm;
	pid_t tid;
	int jumped;             /* a direct transfer was followed: addresses may come back */
	struct code_path *path; /* with room for PATH_MAX_INSNS */
};

/* The program's bytes at @ip, from pages whose code stays. */
static size_t fetch(struct path_builder *builder, uint64_t ip, uint8_t *bytes)
{
	size_t size = 0;

	while (size < INSN_MAX) {
		const struct exec_map *map = exec_maps_find(&builder->mm->maps, ip + size);
		const struct code_page *page;
		size_t at = (ip + size) % CODE_PAGE, n = CODE_PAGE - at;

		if (!map || exec_map_volatile(map))
			break;
		page = mm_load_page(builder->mm, builder->tid, ip + size);
		if (!page)
			break;
		if (n > INSN_MAX - size)
			n = INSN_MAX - size;
		memcpy(bytes + size, page->bytes + at, n);
		size += n;
	}
	return size;
}

static int known(const struct path_builder *builder, uint64_t ip)
{
	for (uint32_t i = 0; i < builder->path->ninsns; i++) {
		if (builder->path->insn[i].ip == ip)
			return 1;
	}
	return 0;
}

/* Marks the inside of an instruction as no place for breakpoints; a breakpoint that is there
 * already makes the path one to be stepped. */
static void mark_body(struct path_builder *builder, const struct traced_insn *insn)
{
	for (uint64_t address = insn->ip + 1; address < insn->ip + insn->length; address++) {
		struct code_page *page = mm_find_page(builder->mm, address);

		if (!page)
			continue;
		bit_set(page->body, address % CODE_PAGE);
		if (bit_get(page->planted, address % CODE_PAGE))
			builder->path->careful = 1;
	}
}

/* RDTSC is told the clock of the recording, which has to be up to date: it is a path of its own. Not in the
 * vdso, where the kernel's clocks are computed from the processor's counter. */
static int reads_counter(const struct path_builder *builder, uint64_t ip)
{
	const struct exec_map *map = exec_maps_find(&builder->mm->maps, ip);

	return builder->path->branch.rule == br_counter && (!map || strcmp(map->name, "[vdso]") != 0);
}

static enum path_end end_of_rule(uint8_t rule)
{
	switch (rule) {
	case br_syscall:
		return path_syscall;
	case br_step:
	case br_counter:
	case br_pushf:
		return path_step;
	default:
		return path_branch;
	}
}

static void build(struct path_builder *builder)
{
	struct code_path *path = builder->path;
	uint64_t ip = path->start;

	path->end = path_cut;
	while (path->ninsns < PATH_MAX_INSNS) {
		struct traced_insn *insn = &path->insn[path->ninsns];
		uint8_t bytes[INSN_MAX];
		size_t size;

		if (builder->jumped && known(builder, ip))
			break;
		size = fetch(builder, ip, bytes);
		if (!size || traced_insn_decode(insn, &path->branch, ip, bytes, size))
			break;
		if (reads_counter(builder, ip)) {
			if (path->ninsns)
				break;
		} else if (path->branch.rule == br_counter) {
			path->branch.rule = br_none;
		}
		mark_body(builder, insn);
		path->ninsns++;
		if (path->branch.rule != br_none) {
			path->end = (uint8_t)end_of_rule(path->branch.rule);
			return;
		}
		ip += insn->length;
		if (insn->kind == ik_jump || insn->kind == ik_call) {
			ip = path->branch.target;
			builder->jumped = 1;
		}
	}
	path->end_ip = ip;
	if (!path->ninsns)
		path->end = path_blind;
}

/* One instruction of code that may change, or that cannot be read at all. */
static void build_fleeting(struct path_builder *builder)
{
	struct code_path *path = builder->path;
	uint8_t bytes[INSN_MAX];
	size_t size = mm_read_code(builder->tid, path->start, bytes, INSN_MAX); /* as it is at this moment */

	path->fleeting = 1;
	path->end = path_blind;
	if (!size || traced_insn_decode(&path->insn[0], &path->branch, path->start, bytes, size))
		return;
	path->ninsns = 1;
	path->end = path->branch.rule == br_syscall ? path_syscall : path_step;
}

/* Keeps the finished path; returns what to use. */
static struct code_path *keep(struct tracee_mm *mm, struct code_path *path)
{
	struct code_path *small = realloc(path, sizeof(*path) + path->ninsns * sizeof(*path->insn));

	if (small)
		path = small;
	if (path->fleeting) {
		free(mm->fleeting);
		mm->fleeting = path;
	} else if (mm_add_path(mm, path)) {
		free(path);
		return NULL;
	}
	return path;
}

int tracee_mm_path(struct tracee_mm *mm, pid_t tid, uint64_t ip, const struct code_path **path,
                   struct sb_error *err)
{
	struct path_builder builder = {mm, tid, 0, mm_find_path(mm, ip)};

	if (!builder.path) {
		builder.path =
		        calloc(1, sizeof(*builder.path) + PATH_MAX_INSNS * sizeof(*builder.path->insn));
		if (!builder.path)
			return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
		builder.path->start = ip;
		build(&builder);
		if (builder.path->end == path_blind)
			build_fleeting(&builder);
		builder.path = keep(mm, builder.path);
		if (!builder.path)
			return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	*path = builder.path;
	return 0;
}
