/* kernel_text.h - the kernel's code over time.
 *
 * The kernel's addresses are divided into pieces once and for all: stretches that are never patched while the
 * recording runs, and between them what is: small areas (TEXT_POKE), BPF programs, modules. A piece of the
 * latter kind has several versions, each from some time on. So code at any time is found without going
 * through the times before it, and what was not patched is the same at all times.
 *
 * Where records were lost, nobody knows whether something was patched that is known to be patched at other
 * times: what stands there then is open. It is one of the contents that the piece has at some time, which are
 * listed behind its versions.
 *
 * The versions' bytes stand in a temporary file without a name. All is immutable: threads may share it.
 */
#ifndef SB_KERNEL_TEXT_H
#define SB_KERNEL_TEXT_H

#include <sb/binary.h>
#include <sb/kernel.h>

#include "binary/kernel_base.h"
#include "binary/kernel_patches.h"
#include "system/lost_time.h"

enum { KERNEL_CONTENTS_MAX = 8 }; /* of a piece; one that has more is never known where it is open */

struct kernel_version {
	uint64_t from;           /* first: sorted by it; perf clock, ns */
	struct sb_binary binary; /* size zero: nothing is there */
	int is_open;             /* nobody knows which one of the piece's contents is there */
	uint32_t usual;          /* what is there before and behind it, if both are the same; else
	                            KERNEL_CONTENTS_MAX */
};

struct kernel_piece {
	uint64_t begin, end;
	uint32_t first, nversions; /* in kernel_text.version; the first one is from the beginning on */
	uint32_t ncontents;        /* behind these; zero: no version is open, or nothing is known of any */
};

/* A piece is patched. */
struct kernel_change {
	uint64_t time;
	uint32_t piece;
};

struct kernel_text {
	struct kernel_piece *piece; /* owned, like all arrays; sorted, without overlaps */
	size_t npieces;
	struct kernel_version *version;
	size_t nversions;
	struct kernel_change *change; /* sorted by time */
	size_t nchanges;
	size_t nopen;            /* versions that are */
	struct kernel_base base; /* what is not patched */
	int patches;             /* the file of the versions; -1: none */
	char patches_path[32];
	uint64_t switch_ip; /* where the kernel changes from one thread to another; 0: not known */
};

/* What changes the code of a kernel. */
struct kernel_history {
	const struct kernel_body *body;
	size_t nbodies;
	const struct sb_text_poke *poke;
	size_t npokes;
	struct lost_times losses; /* of the records that pokes come from */
};

/* The code of @base, which is taken, also on failure, with what happened to it. Nothing of @history is needed
 * afterwards. Zero or a negative code. */
int kernel_text_init(struct kernel_text *text, struct kernel_base *base, const struct kernel_history *history,
                     struct sb_error *err);
void kernel_text_fini(struct kernel_text *text);

/* The piece that holds @ip; NULL: none does. */
const struct kernel_piece *kernel_text_find(const struct kernel_text *text, uint64_t ip);

/* How many changes there were up to @time. */
size_t kernel_text_changes(const struct kernel_text *text, uint64_t time);

/* What stands in @piece after the first @nchanges changes. */
const struct kernel_version *kernel_text_version(const struct kernel_text *text,
                                                 const struct kernel_piece *piece, size_t nchanges);

/* One of the contents of @piece, as if it were a version. */
static inline const struct kernel_version *kernel_text_content(const struct kernel_text *text,
                                                               const struct kernel_piece *piece,
                                                               uint32_t content)
{
	return &text->version[piece->first + piece->nversions + content];
}

#endif
