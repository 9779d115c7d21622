/* file_fit.h - is a file that was found the one that was recorded? */
#ifndef SB_FILE_FIT_H
#define SB_FILE_FIT_H

#include "binary/answer.h"
#include "binary/rooted_open.h"

/* What has to be right besides a recorded build-id. */
enum fit {
	fit_mapping, /* the file could have been mapped like that */
	fit_exactly, /* it is ELF, and a loader would have mapped it just so */
	fit_vdso,    /* an image of memory */
};

/* Fills in @answer and takes the file's path when it fits; else says why not. Returns whether it fits. */
int file_take(struct answer *answer, struct rooted_file *file, enum fit fit);

/* Whether a file is the one that was recorded, by device and inode. */
int is_recorded_inode(const struct sb_map *map, const struct rooted_file *file);

/* When something had been done at the latest, ns since 1970, that was done @ago ns before the last record of
 * a recording that was written by @written (UINT64_MAX: not known). Files' times are those of the last tick,
 * and clocks may run apart by a thousandth. */
uint64_t done_until(uint64_t written, uint64_t ago);

/* Why there is no file. */
void answer_say(struct answer *answer, enum sb_gap_reason missing, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* "0123abcd..." or "none". */
const char *build_id_text(const uint8_t *id, int size, char text[41]);

#endif
