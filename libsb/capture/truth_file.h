/* truth_file.h - "cpu pid tid tsc ip" lines: every instruction that a decoder has to find. */
#ifndef SB_CAPTURE_TRUTH_FILE_H
#define SB_CAPTURE_TRUTH_FILE_H

#include <stdint.h>

#include <sb/error.h>

struct truth_file;

int truth_file_open(struct truth_file **file, const char *path, struct sb_error *err);
/* Failures show when it is closed. */
void truth_file_add(struct truth_file *file, uint32_t cpu, int32_t pid, int32_t tid, uint64_t tsc,
                    uint64_t ip);
/* NULL is fine. */
int truth_file_close(struct truth_file *file, struct sb_error *err);

#endif
