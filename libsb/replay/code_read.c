/* code_read.c - see sb/code.h. Sections are those that the decoders use. */
#include <sb/code.h>

#include <stdlib.h>

#include "replay/image_build.h"
#include "replay/kernel_image.h"
#include "replay/session.h"

enum { PARTS_MAX = 64 };

struct sb_code {
	struct session_code source;
	struct image_builder images;
	struct kernel_image kernel;
};

int sb_code_new(struct sb_code **result, const struct sb_session *session, struct sb_error *err)
{
	struct sb_code *code;

	if (!result || !session)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_code_new: no session");
	code = calloc(1, sizeof(*code));
	if (!code)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	code->source = session_code(session);
	if (kernel_image_init(&code->kernel, code->source.kernel, code->source.sections) < 0 ||
	    image_builder_init(&code->images, code->source.resolver, code->source.sections,
	                       sb_system_nepochs(code->source.system), PARTS_MAX, NULL) < 0) {
		sb_code_free(code);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	code->images.system = code->source.system;
	code->images.lost = code->source.lost;
	*result = code;
	return 0;
}

void sb_code_free(struct sb_code *code)
{
	if (!code)
		return;
	image_builder_fini(&code->images);
	kernel_image_fini(&code->kernel);
	free(code);
}

static int read_kernel(struct sb_code *code, const struct sb_code_place *place, uint8_t *buffer, size_t size)
{
	const uint64_t time = sb_clock_tsc_to_ns(code->source.clock, place->tsc);
	const int isid = kernel_image_section(&code->kernel, place->ip, time);

	return isid <= 0 ? isid : pt_iscache_read(code->source.sections, buffer, size, isid, place->ip);
}

static int read_user(struct sb_code *code, const struct sb_code_place *place, uint8_t *buffer, size_t size)
{
	const int isid = place->epoch ? image_builder_section(&code->images, place->epoch, place->ip) : 0;

	return isid <= 0 ? isid : pt_iscache_read(code->source.sections, buffer, size, isid, place->ip);
}

int sb_code_read(struct sb_code *code, const struct sb_code_place *place, uint8_t *buffer, size_t size)
{
	int count;

	if (!code || !place || !buffer || !size)
		return -sbe_invalid;
	count = place->ip >> 63 ? read_kernel(code, place, buffer, size)
	                        : read_user(code, place, buffer, size);
	/* What cannot be read is not known. */
	return count == -pte_nomem ? -sbe_nomem : count < 0 ? 0 : count;
}
