/* sysfs_tree.h - the PMUs of another machine, as its sysfs had them. */
#ifndef TEST_SYSFS_TREE_H
#define TEST_SYSFS_TREE_H

#include "support/temp_dir.h"

/* Makes the files that @list tells of, such as tests/data/sysfs/skylake, below sys in @dir: what stands for
 * /sys. Its path, to be freed. */
char *sysfs_tree_make(const struct temp_dir *dir, const char *list);

#endif
