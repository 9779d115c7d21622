/* folder.h - what files there are in a folder of the recorded machine, as far as roots have it.
 */
#ifndef SB_FOLDER_H
#define SB_FOLDER_H

#include <stddef.h>

struct sb_resolver;

/* The names in the folder @path ("/usr/bin/") of the roots that are no container's, each once, sorted. *name
 * and what it holds are to be freed. Roots of layers are not looked at. Zero or -sbe_nomem. */
int resolver_list_folder(const struct sb_resolver *resolver, const char *path, char ***name, size_t *count);

#endif
