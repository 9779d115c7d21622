/* code_file.h - what is known of a file's code without running it: where functions begin, and instructions.
 */
#ifndef SB_CODE_FILE_H
#define SB_CODE_FILE_H

#include <sb/binary.h>

enum { CODE_SEGMENTS_MAX = 4, CODE_PAGE = 4096 };

struct code_segment {
	struct sb_elf_code code;
	uint8_t *insn; /* owned; a bit for each byte: an instruction begins there. NULL: not looked at yet */
};

/* A file that may stand somewhere. */
struct code_file {
	struct sb_map like; /* as it was mapped, or would be: name, inode, build-id; borrowed strings */
	char *path;         /* owned; of this machine */
	struct code_segment segment[CODE_SEGMENTS_MAX];
	size_t nsegments; /* 0: it has no code, or its functions are not known */
	/* Addresses where functions begin, by their place in a page; as the file is linked for. */
	uint64_t *start; /* owned */
	uint32_t *first; /* owned; of each place, and the end */
};

/* Reads the file at @path. Zero or -sbe_nomem. */
int code_file_read(struct code_file *file, const struct sb_map *like, const char *path);
void code_file_free(struct code_file *file);

/* Finds out where instructions begin: from the beginning of each function on, one after the other. Zero or
 * -sbe_nomem. */
int code_file_find_insns(struct code_file *file);

/* Whether an instruction begins at @offset from the beginning of a segment's code. */
static inline int code_segment_has_insn(const struct code_segment *segment, uint64_t offset)
{
	return offset < segment->code.size && (segment->insn[offset / 8] >> offset % 8 & 1);
}

/* The mapping of a segment when the file stands at @base. */
struct sb_map code_file_map(const struct code_file *file, size_t segment, uint64_t base);

#endif
