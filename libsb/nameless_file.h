/* nameless_file.h - temporary files that nobody else sees, and that nobody has to remove. */
#ifndef SB_NAMELESS_FILE_H
#define SB_NAMELESS_FILE_H

/* Opens one for reading and writing, in the directory that TMPDIR names; when it names none, in /var/tmp or
 * /tmp: on disk, where that is possible, as what is in it is not counted as memory there. Negative, with
 * errno set, when that fails. */
int nameless_file(void);

#endif
