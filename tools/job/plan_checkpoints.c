/* plan_checkpoints.c - see plan_checkpoints.h. */
#include "job/plan_checkpoints.h"

#include <errno.h>

#include "output.h"

static int put(void *context, const void *bytes, size_t size)
{
	struct plan_checkpoints *file = context;

	file->written += size;
	return output_write(file->output, bytes, size) ? -sbe_io : 0;
}

static int align(struct plan_checkpoints *file)
{
	static const char zeros[checkpoint_align];
	const uint64_t over = file->written % checkpoint_align;

	return over ? put(file, zeros, checkpoint_align - over) : 0;
}

static int cannot_write(const struct plan_checkpoints *file, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, file->path, UINT64_MAX, "cannot be written: %s",
	                    output_reason(file->output));
}

int plan_checkpoints_add(struct plan_checkpoints *file, const struct job_session *opened,
                         struct job_checkpoint *checkpoint, struct sb_error *err)
{
	uint64_t sum = 0;
	int code = 0;

	*checkpoint = (struct job_checkpoint){0};
	if (!file->path)
		return 0;
	if (!file->output)
		code = output_open(&file->output, file->path, err);
	if (code)
		return code;
	if (align(file))
		return cannot_write(file, err);
	checkpoint->offset = file->written;
	code = sb_checkpoint_write(opened->perfdata, sb_session_system(opened->session), put, file, &sum,
	                           err);
	if (code < 0)
		return err->code ? code : cannot_write(file, err);
	checkpoint->sum = sum;
	checkpoint->bytes = file->written - checkpoint->offset;
	return 0;
}

int plan_checkpoints_commit(struct plan_checkpoints *file, struct sb_error *err)
{
	if (!file->output || !file->written)
		return 0;
	return output_commit(file->output, err);
}

void plan_checkpoints_close(struct plan_checkpoints *file)
{
	output_close(file->output);
	file->output = NULL;
}
