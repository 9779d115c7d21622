/* vdso.h - the vdso of this process, as a file: for recordings of this machine that did not bring
 * theirs. */
#ifndef SB_VDSO_H
#define SB_VDSO_H

#include <stdint.h>

struct vdso {
	char *path;    /* of the temporary file, owned; NULL: not made (yet) */
	uint64_t size; /* 0: this process has none */
	int tried;
	char recorded_on[65]; /* the release of the recorded kernel; empty: not known */
};

/* Whether this machine's kernel is not the recorded one, as far as is known. */
int vdso_is_foreign(const struct vdso *vdso);

/* Makes the file at first use. Zero, or -1 when there is no vdso or no place for the file. */
int vdso_make(struct vdso *vdso);

/* Removes the file. */
void vdso_free(struct vdso *vdso);

#endif
