/* old_recording.c - see old_recording.h. */
#include "old_recording.h"

#include <sys/stat.h>
#include <unistd.h>

const char old_recording_name[] = "perf.data";

static const char older[] = "perf.data.old";

void old_recording_keep(bool *due)
{
	struct stat st;

	if (*due && !lstat(old_recording_name, &st) && S_ISREG(st.st_mode)) {
		unlink(older);
		/* Where links cannot be made, it is replaced like a file of any other name. */
		(void)!link(old_recording_name, older);
	}
	*due = false;
}
