/* sha256.h - what tells contents apart that have no build-id. */
#ifndef SB_SHA256_H
#define SB_SHA256_H

#include <stdint.h>

/* Of all bytes of a regular file, in hexadecimal; the offset stays. Zero or -1 with errno. */
int sha256_of_file(int fd, char text[65]);

/* The 32 bytes of a sum, in hexadecimal. */
void sha256_text(const uint8_t *digest, char text[65]);

#endif
