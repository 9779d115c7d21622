/* survey_folder.h - all files that stand where mapped files did: one of them may have been mapped without a
 * record.
 */
#ifndef SB_SURVEY_FOLDER_H
#define SB_SURVEY_FOLDER_H

#include "replay/code_file.h"

enum { SURVEY_FOLDERS_MAX = 32 };

/* Part of a name. */
struct survey_folder {
	const char *name; /* borrowed; "/usr/bin/ls" */
	size_t length;    /* of its folder: 9 */
};

/* Those of @nfiles files, the first SURVEY_FOLDERS_MAX. Returns how many. */
size_t survey_folders(const struct code_file *file, size_t nfiles,
                      struct survey_folder folder[SURVEY_FOLDERS_MAX]);

struct survey_files {
	struct code_file *file; /* owned */
	size_t count, capacity;
	char **name; /* owned: of the files */
	size_t nnames, name_capacity;
	int left_out; /* there were too many: what is not here may be the one */
};

/* All in these folders of the roots that are nobody's alone, each file once; without some where there are
 * too many. Zero or -sbe_nomem. */
int survey_files_read(struct survey_files *files, struct sb_resolver *resolver,
                      const struct survey_folder *folder, size_t nfolders);
/* Only their names stay. */
void survey_files_drop(struct survey_files *files);
void survey_files_free(struct survey_files *files);

#endif
