/* tools/real_path.h - which file a name is, though it may not be there yet. All are to be freed. */
#ifndef TOOLS_REAL_PATH_H
#define TOOLS_REAL_PATH_H

/* The directory of @file, with the slash. */
char *directory_of(const char *file);

/* The path without links, dots and such, of what may not be there yet; NULL: not even its directory is, or
 * there is no memory. */
char *real_path(const char *file);

#endif
