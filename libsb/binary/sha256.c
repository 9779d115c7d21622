/* sha256.c - see sha256.h. By nettle. */
#include "binary/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sb/binary.h>

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

int sb_file_sha256(const char *path, char text[65], struct sb_error *err)
{
	/* A pipe of that name shall not keep us waiting. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int code = 0;

	if (fd < 0 || fstat(fd, &st))
		code = sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be opened: %s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		code = sb_error_set(err, -sbe_io, path, UINT64_MAX, "expected a regular file");
	else if (sha256_of_file(fd, text))
		code = sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be read: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return code;
}
