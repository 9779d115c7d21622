/* checkpoint.c - see sb/checkpoint.h: what is written of a recording and its system. */
#include <sb/checkpoint.h>

#include "perfdata/checkpoint_file.h"
#include "system/schedule_image.h"
#include "system/system.h"

int sb_checkpoint_write(const struct sb_perfdata *perfdata, const struct sb_system *system,
                        sb_checkpoint_put *put, void *context, uint64_t *sum, struct sb_error *err)
{
	struct checkpoint_writer writer = {.put = put, .context = context};
	uint64_t nrecords, nskipped;
	int status;

	if (!perfdata || !system || !put || !sum)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_checkpoint_write: no recording");
	if (sb_system_damage(system) || !checkpoint_is_possible(perfdata))
		return 0;
	nrecords = sb_system_nrecords(system, &nskipped);
	status = checkpoint_write_records(&writer, perfdata, nrecords, nskipped, err);
	if (status < 0)
		return status;
	schedule_write(system_schedule(system), &writer);
	status = checkpoint_finish(&writer, sum);
	if (status == -sbe_nomem)
		return sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	return status < 0 ? status : 1;
}
