/* unfinished.h - files and directories that take their place when they are whole: until then, NAME is called
 * NAME.tmp.XXXXXX, and whoever writes it holds a lock (flock(2)) on it. So what was left by somebody who was
 * killed can be told from what somebody is just writing, and whoever begins the next NAME removes it.
 */
#ifndef SB_UNFINISHED_H
#define SB_UNFINISHED_H

/* What @path means for what is to be there in the end: where links lead to, to be freed; so that they stay
 * links. NULL, with errno set: EINVAL where something else than a regular file is, which must never be
 * replaced (a device, a pipe, a directory), ENOENT for a link that leads nowhere, and for no name. */
char *unfinished_place(const char *path);

/* Makes the file, or the directory, that is to become @path: a descriptor, locked as long as it is open, and
 * in *temporary its name, to be freed. Negative, with errno set, when that fails; then *temporary is NULL. */
int unfinished_file(const char *path, char **temporary);
int unfinished_directory(const char *path, char **temporary);

/* Gives a file without a name (O_TMPFILE) such a name, and locks it: from there it can be renamed over what
 * has the name @path. Zero, or negative, with errno set; then *temporary is NULL. */
int unfinished_give_name(int fd, const char *path, char **temporary);

/* The directory @temporary, which must be whole, becomes @path. Zero, or negative, with errno set. */
int unfinished_rename_directory(int fd, const char *temporary, const char *path);
/* Removes the directory, with all that is in it. */
void unfinished_remove_directory(int fd, const char *temporary);

/* Removes what others have left that was to become @path: files that begin with @magic (a text), or are
 * empty (NULL: no files), and directories. Only the caller's own, and none that is being written. @removed,
 * unless NULL, is called with the name of each. */
void unfinished_clear(const char *path, const char *magic, void (*removed)(void *context, const char *name),
                      void *context);

#endif
