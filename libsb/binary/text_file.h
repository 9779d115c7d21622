/* text_file.h - a text file as a whole, for who puts zeros behind its words. */
#ifndef SB_TEXT_FILE_H
#define SB_TEXT_FILE_H

#include <stddef.h>

#include <sb/error.h>

/* A regular file of at most @most bytes, with a zero behind it; *text is to be freed. Zero; -sbe_not_found,
 * -sbe_io, -sbe_format: it is larger; -sbe_nomem. */
int text_file_read(const char *path, size_t most, char **text, size_t *size, struct sb_error *err);
/* The same of an open file, which stays open; @path is for the error's text. */
int text_file_read_fd(int fd, const char *path, size_t most, char **text, size_t *size, struct sb_error *err);

#endif
