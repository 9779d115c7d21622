/* replay_main.c - runs a target's inputs without libFuzzer: the files given, and all files in the directories
 * given. What fails is named on standard error just before. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "target.h"

static unsigned long replayed;

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0, room = 0, got;

	if (!file) {
		perror(path);
		return 1;
	}
	do {
		uint8_t *more;

		room = room ? 2 * room : 4096;
		more = realloc(data, room);
		if (!more)
			abort();
		data = more;
		got = fread(data + size, 1, room - size, file);
		size += got;
	} while (got);
	fclose(file);
	fprintf(stderr, "%s\n", path);
	/* of exactly the right size, so that a read beyond it is seen */
	data = realloc(data, size ? size : 1);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	replayed++;
	return 0;
}

static int replay(const char *path);

static int replay_directory(const char *path)
{
	struct dirent **entry;
	int n = scandir(path, &entry, NULL, alphasort), failed = 0;
	char name[4096];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.')
			failed |= replay(name);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	return failed;
}

static int replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0; /* a directory that has no inputs yet */
	return S_ISDIR(st.st_mode) ? replay_directory(path) : replay_file(path);
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%lu inputs\n", replayed);
	return failed || !replayed;
}
