/* sha256.c - see sha256.h. By nettle. */
#include "binary/sha256.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE = 256 << 10 };

void sha256_text(const uint8_t *digest, char text[65])
{
	for (size_t i = 0; i < SHA256_DIGEST_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

int sha256_of_file(int fd, char text[65])
{
	uint8_t *bytes = malloc(PIECE), digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx context;
	off_t at = 0;
	ssize_t n = -1;

	sha256_init(&context);
	while (bytes && (n = pread(fd, bytes, PIECE, at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		sha256_update(&context, (size_t)n, bytes);
		at += n;
	}
	free(bytes);
	if (n < 0)
		return -1;
	sha256_digest(&context, sizeof(digest), digest);
	sha256_text(digest, text);
	return 0;
}
