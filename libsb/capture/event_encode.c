/* event_encode.c - sb_event_encode(): the argument's rules, and whose event it is. */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "capture/event_internal.h"
#include "capture/event_result.h"

/* ---- Arguments -------------------------------------------------------------------------------- */

/* Of the first version. */
enum { first_codes_size = sizeof(struct sb_event_codes), first_perf_size = sizeof(struct sb_event_perf) };

/* What the caller knows and this library does not must not be wanted. */
static enum sb_event_errcode check_size(const void *arg, size_t size, size_t first, size_t known)
{
	const uint8_t *bytes = arg;

	if (size && size < first)
		return sb_event_too_small;
	for (size_t i = known; i < size; ++i)
		if (bytes[i])
			return sb_event_invalid;
	return sb_event_ok;
}

static int fail_size(enum sb_event_errcode code, size_t size, size_t known, struct sb_error *err)
{
	return event_fail(err, code, "the argument's size is %zu, and this library's %zu", size, known);
}

static int check_text(char *const *fstr, struct sb_error *err)
{
	return fstr && *fstr ? event_fail(err, sb_event_invalid, "*fstr must be NULL") : 0;
}

static int check_codes(const struct sb_event_codes *arg)
{
	const enum sb_event_errcode code = check_size(arg, arg->size, first_codes_size, sizeof(*arg));

	if (code != sb_event_ok)
		return fail_size(code, arg->size, sizeof(*arg), code == sb_event_too_small ? NULL : arg->err);
	if (arg->count < 0 || (!arg->codes && arg->count))
		return event_fail(arg->err, sb_event_invalid,
		                  "codes is %s, and count %d: without an array it must be 0",
		                  arg->codes ? "given" : "NULL", arg->count);
	return check_text(arg->fstr, arg->err);
}

static int check_perf(const struct sb_event_perf *arg)
{
	const enum sb_event_errcode code = check_size(arg, arg->size, first_perf_size, sizeof(*arg));

	if (code != sb_event_ok)
		return fail_size(code, arg->size, sizeof(*arg), code == sb_event_too_small ? NULL : arg->err);
	if (!arg->attr)
		return event_fail(arg->err, sb_event_invalid, "attr is NULL");
	return check_text(arg->fstr, arg->err);
}

void event_give_text(char **fstr, char *text)
{
	if (fstr)
		*fstr = text;
	else
		free(text);
}

int event_give_codes(struct sb_event_codes *arg, const uint64_t *codes, int count, int idx, char *text)
{
	uint64_t *room = arg->codes;
	int status = 0;

	if (room && arg->count < count)
		status = event_fail(arg->err, sb_event_too_small, "the event takes %d codes: room is for %d",
		                    count, arg->count);
	else if (!room && !(room = calloc((size_t)count, sizeof(*room))))
		status = event_fail(arg->err, sb_event_nomem, "out of memory");
	if (status < 0) {
		free(text);
		return status;
	}
	memcpy(room, codes, (size_t)count * sizeof(*room));
	arg->codes = room;
	arg->count = count;
	arg->idx = idx;
	event_give_text(arg->fstr, text);
	return 0;
}

/* ---- Events that are not libpfm4's -------------------------------------------------------------- */

static int give_codes(struct sb_event_codes *arg, const struct event_code *code, char *text)
{
	int count = sysfs_configs;

	while (count > 1 && !code->config[count - 1])
		count -= 1;
	return event_give_codes(arg, code->config, count, code->idx, text);
}

/* The kernel's struct grew: a caller who was compiled with an older one says so in attr->size. */
static int has_config3(const struct perf_event_attr *attr)
{
#ifdef PERF_ATTR_SIZE_VER8
	return attr->size >= PERF_ATTR_SIZE_VER8;
#else
	(void)attr;
	return 0;
#endif
}

static int give_perf(struct sb_event_perf *arg, const struct event_code *code, char *text,
                     const struct event_modifiers *modifiers, unsigned int privileges)
{
	struct perf_event_attr *attr = arg->attr;

	if (code->config[3] && !has_config3(attr)) {
		free(text);
		return event_fail(arg->err, sb_event_bad_attr,
		                  "the event needs config3, which attr (size %u) does not have", attr->size);
	}
	attr->type = code->type;
	attr->config = code->config[0];
	attr->config1 = code->config[1];
	attr->config2 = code->config[2];
#ifdef PERF_ATTR_SIZE_VER8
	if (has_config3(attr))
		attr->config3 = code->config[3];
#endif
	event_modifiers_apply(modifiers, privileges, attr, &arg->cpu);
	arg->flags = 0;
	arg->idx = code->idx;
	event_give_text(arg->fstr, text);
	return 0;
}

static int take_modifiers(const struct event_text *parts, enum sb_event_target target,
                          struct event_modifiers *modifiers, struct sb_error *err)
{
	int status = 0;

	*modifiers = (struct event_modifiers){0};
	for (size_t i = 0; i < parts->modifiers.count && status == 0; ++i)
		status = event_modifier_take(modifiers, &parts->modifiers.term[i],
		                             target == sb_event_target_perf_ext, err);
	return status < 0 ? status : event_modifiers_check(modifiers, err);
}

/* @text and what the modifiers say: the whole event. @text is freed. NULL: no memory. */
static char *whole_text(char *text, const struct event_modifiers *modifiers, unsigned int privileges)
{
	char *whole = NULL;
	size_t size;
	FILE *file = text ? open_memstream(&whole, &size) : NULL;

	if (file) {
		fputs(text, file);
		event_modifiers_print(modifiers, privileges, file);
		if (fclose(file)) {
			free(whole);
			whole = NULL;
		}
	}
	free(text);
	return whole;
}

static int encode_own(const struct event_text *parts, const struct event_code *code, char *text,
                      unsigned int privileges, enum sb_event_target target, void *arg, struct sb_error *err)
{
	struct event_modifiers modifiers;
	int status = take_modifiers(parts, target, &modifiers, err);

	if (status < 0) {
		free(text);
		return status;
	}
	text = whole_text(text, &modifiers, privileges);
	if (!text)
		return event_fail(err, sb_event_nomem, "out of memory");
	if (target == sb_event_target_none)
		return give_codes(arg, code, text);
	return give_perf(arg, code, text, &modifiers, privileges);
}

/* ---- Whose it is ------------------------------------------------------------------------------ */

static int encode(const char *str, unsigned int privileges, enum sb_event_target target, void *arg,
                  const char *sysfs, struct sb_error *err)
{
	const size_t size = event_text_first(str);
	struct event_text parts;
	struct event_code code;
	char *text = NULL;
	int status = event_text_parse(&parts, str, size, err);

	if (status < 0)
		return status;
	if (parts.pmu) {
		status = event_sysfs_encode(&parts, sysfs, &code, &text, err);
		if (status == 0)
			status = encode_own(&parts, &code, text, privileges, target, arg, err);
	} else if (event_software_encode(&parts.name, &code)) {
		status = encode_own(&parts, &code, strdup(parts.name), privileges, target, arg, err);
	} else {
		text = strndup(str, size);
		status = text ? event_pfm_encode(text, privileges, target, arg)
		              : event_fail(err, sb_event_nomem, "out of memory");
		free(text);
	}
	event_text_free(&parts);
	return status;
}

int sb_event_encode(const char *str, unsigned int privileges, enum sb_event_target target, void *arg)
{
	const unsigned int all = sb_event_kernel | sb_event_user | sb_event_hypervisor;
	const struct sb_event_codes *codes = arg;
	const struct sb_event_perf *perf = arg;
	int status;

	if (!str || !arg || (privileges & ~all))
		return -sb_event_invalid;
	switch (target) {
	case sb_event_target_none:
		status = check_codes(codes);
		return status < 0 ? status : encode(str, privileges, target, arg, codes->sysfs, codes->err);
	case sb_event_target_perf:
	case sb_event_target_perf_ext:
		status = check_perf(perf);
		return status < 0 ? status : encode(str, privileges, target, arg, perf->sysfs, perf->err);
	}
	return -sb_event_invalid;
}

int sb_event_find(int idx, struct sb_event_info *info)
{
	struct sb_event_info found = {.type = UINT32_MAX};
	int status = 0;

	if (!info || info->size < sizeof(info->size) || idx < 0)
		return -sb_event_not_found;
	if (idx & event_idx_sysfs)
		found.type = (uint32_t)idx & event_idx_mask;
	else if (idx & event_idx_software)
		status = event_software_find(idx, &found);
	else
		status = event_pfm_find(idx, &found);
	if (status < 0)
		return status;
	found.size = info->size;
	memcpy(info, &found, info->size < sizeof(found) ? info->size : sizeof(found));
	return 0;
}

int sb_event_list(const char *sysfs, sb_event_callback *callback, void *context)
{
	int status;

	if (!callback)
		return -sb_event_invalid;
	status = event_software_list(callback, context);
	if (status == 0)
		status = event_sysfs_list(sysfs, callback, context);
	return status == 0 ? event_pfm_list(callback, context) : status;
}
