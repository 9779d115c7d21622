/* exec_map_file.h - the file that a process has mapped, its build-id, and the record that tells of both.
 *
 * A path alone does not say which file it was: another process has another root, and programs are built anew
 * between the recording and its replay. The build-id does.
 */
#ifndef SB_CAPTURE_EXEC_MAP_FILE_H
#define SB_CAPTURE_EXEC_MAP_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include <sb/perfdata_write.h>

#include "capture/exec_maps.h"

struct file_id {
	uint8_t size, id[20]; /* size 0: it has none, or cannot be read */
};

/* The mapped file itself, whatever has its name now: a descriptor, or -1, and errno. */
int exec_map_open(pid_t pid, const struct exec_map *map);

/* Of the file as it is now. Mappings without a file have none. Zero, or -errno of a shortage (shortage.h). */
int exec_map_build_id(pid_t pid, const struct exec_map *map, struct file_id *id);

/* An MMAP2 record of it; with the build-id, if there is one, in the place of device and inode. A NULL @sample
 * is of before the recording. */
int exec_map_write(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, pid_t pid,
                   pid_t tid, const struct exec_map *map, const struct file_id *id, struct sb_error *err);

#endif
