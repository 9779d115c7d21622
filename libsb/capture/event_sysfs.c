/* event_sysfs.c - events of PMUs that sysfs describes: PMU/ATTRIBUTE=VALUE,EVENT,.../.
 *
 * Attributes come in this order, whatever theirs in the string: the PMU's defaults; config, config1, ...,
 * each in place of all of it; what events stand for; attributes by name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/event_internal.h"
#include "capture/event_pt.h"

struct encoding {
	struct sysfs_pmu pmu;
	const char *name;
	uint64_t config[sysfs_configs];
	struct sb_error *err;
};

static int take_number(const struct encoding *encoding, const struct event_term *term, uint64_t *value)
{
	char *end;

	*value = 1;
	if (!term->value)
		return 0;
	errno = 0;
	*value = strtoull(term->value, &end, 0);
	if (!errno && *term->value && !*end && *term->value != '-')
		return 0;
	return event_fail(encoding->err, sb_event_bad_value, "%s/%s=%s/: not a number", encoding->name,
	                  term->name, term->value);
}

/* "config", "config1", ...: its number, or -1. */
static int config_index(const char *name)
{
	static const char *const names[sysfs_configs] = {"config", "config1", "config2", "config3"};

	for (int i = 0; i < sysfs_configs; ++i)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

static int take_config(struct encoding *encoding, const struct event_term *term)
{
	const int index = config_index(term->name);

	return index < 0 ? 0 : take_number(encoding, term, &encoding->config[index]);
}

/* 1: it was an attribute; 0: there is none of that name. */
static int take_attribute(struct encoding *encoding, const struct event_term *term)
{
	struct sysfs_format format;
	uint64_t value;
	int status = sysfs_pmu_format(&encoding->pmu, term->name, &format, encoding->err);

	if (status <= 0)
		return status;
	status = take_number(encoding, term, &value);
	if (status < 0)
		return status;
	if (!sysfs_format_fits(&format, value))
		return event_fail(encoding->err, sb_event_bad_value,
		                  "%s/%s=0x%" PRIx64 "/: the attribute has %u bits", encoding->name,
		                  term->name, value, format.width);
	sysfs_format_put(&format, encoding->config, value);
	return 1;
}

static const struct event_term *find_term(const struct event_terms *terms, const char *name)
{
	for (size_t i = 0; i < terms->count; ++i)
		if (!strcmp(terms->term[i].name, name))
			return &terms->term[i];
	return NULL;
}

/* What an event stands for; "core=?" is for the string to say. */
static int take_parts(struct encoding *encoding, const char *event, const struct event_terms *parts,
                      const struct event_terms *said)
{
	for (size_t i = 0; i < parts->count; ++i) {
		const struct event_term *part = &parts->term[i];
		int status;

		if (part->value && !strcmp(part->value, "?")) {
			if (!find_term(said, part->name))
				return event_fail(encoding->err, sb_event_missing,
				                  "%s/%s/ needs a value: %s/%s,%s=N/", encoding->name, event,
				                  encoding->name, event, part->name);
			continue;
		}
		status = config_index(part->name) < 0 ? take_attribute(encoding, part)
		                                      : take_config(encoding, part);
		if (status < 0)
			return status;
		if (status == 0 && config_index(part->name) < 0)
			return event_fail(encoding->err, sb_event_bad_attr,
			                  "%s/events/%s: there is no attribute %s", encoding->pmu.dir, event,
			                  part->name);
	}
	return 0;
}

/* 1: it is an event; 0: there is none of that name. */
static int take_event(struct encoding *encoding, const struct event_term *term,
                      const struct event_terms *said)
{
	char text[sysfs_text_most];
	struct event_terms parts;
	int status;

	status = sysfs_pmu_text(&encoding->pmu, "events", term->name, text);
	if (status <= 0)
		return status < 0 ? sysfs_fail_short(-status, &encoding->pmu, encoding->err) : 0;
	if (term->value)
		return event_fail(encoding->err, sb_event_bad_value, "%s/%s=%s/: an event has no value",
		                  encoding->name, term->name, term->value);
	status = event_terms_split(&parts, text, ",", encoding->err);
	if (status == 0)
		status = take_parts(encoding, term->name, &parts, said);
	return status < 0 ? status : 1;
}

static int refuse(const struct encoding *encoding, const char *name)
{
	char known[200] = "", **names;
	const int count = sysfs_names(&encoding->pmu, "format", NULL, &names);
	size_t size = 0;

	if (count < 0)
		return sysfs_fail_short(-count, &encoding->pmu, encoding->err);
	for (int i = 0; i < count && size < sizeof(known); ++i)
		size += (size_t)snprintf(known + size, sizeof(known) - size, " %s", names[i]);
	sysfs_names_free(names, count);
	return event_fail(encoding->err, sb_event_bad_attr, "%s has no attribute or event %s; it has:%s",
	                  encoding->name, name, known);
}

/* What is neither a word of config nor an attribute is an event. */
static int take_if_event(struct encoding *encoding, const struct event_term *term,
                         const struct event_terms *terms)
{
	struct sysfs_format format;
	int status;

	if (config_index(term->name) >= 0)
		return 0;
	status = sysfs_pmu_format(&encoding->pmu, term->name, &format, encoding->err);
	if (status == 0) {
		status = take_event(encoding, term, terms);
		if (status == 0)
			status = refuse(encoding, term->name);
	}
	return status;
}

static int take_all(struct encoding *encoding, const struct event_terms *terms)
{
	int status = 0;

	for (size_t i = 0; i < terms->count && status >= 0; ++i) {
		if (find_term(terms, terms->term[i].name) != &terms->term[i])
			return event_fail(encoding->err, sb_event_set_twice, "%s/%s/ is set twice",
			                  encoding->name, terms->term[i].name);
		status = take_config(encoding, &terms->term[i]);
	}
	for (size_t i = 0; i < terms->count && status >= 0; ++i)
		status = take_if_event(encoding, &terms->term[i], terms);
	for (size_t i = 0; i < terms->count && status >= 0; ++i)
		status = take_attribute(encoding, &terms->term[i]);
	return status < 0 ? status : 0;
}

/* All attributes, also those that are zero; config itself where they do not make it up. */
static int print_all(const struct encoding *encoding, char **text)
{
	char **names;
	const int count = sysfs_names(&encoding->pmu, "format", NULL, &names);
	uint64_t covered[sysfs_configs] = {0};
	size_t size, printed = 0;
	FILE *file = count < 0 ? NULL : open_memstream(text, &size);

	if (!file) {
		sysfs_names_free(names, count);
		return event_fail(encoding->err, sb_event_nomem, "out of memory");
	}
	fprintf(file, "%s/", encoding->name);
	for (int i = 0; i < count; ++i) {
		struct sysfs_format format;
		uint64_t value;

		/* One that cannot be understood, or read now, is told as bits of config. */
		if (sysfs_pmu_format(&encoding->pmu, names[i], &format, NULL) <= 0)
			continue;
		value = sysfs_format_get(&format, encoding->config);
		sysfs_format_put(&format, covered, value);
		fprintf(file, value > 9 ? "%s%s=0x%" PRIx64 : "%s%s=%" PRIx64, printed++ ? "," : "", names[i],
		        value);
	}
	for (int i = 0; i < sysfs_configs; ++i)
		if (covered[i] != encoding->config[i])
			fprintf(file, i ? "%sconfig%d=0x%" PRIx64 : "%sconfig%.0d=0x%" PRIx64,
			        printed++ ? "," : "", i, encoding->config[i]);
	fputc('/', file);
	sysfs_names_free(names, count);
	return fclose(file) ? event_fail(encoding->err, sb_event_nomem, "out of memory") : 0;
}

int event_sysfs_encode(const struct event_text *parts, const char *sysfs, struct event_code *code,
                       char **text, struct sb_error *err)
{
	struct encoding encoding = {.name = parts->pmu, .err = err};
	int status = sysfs_pmu_open(&encoding.pmu, sysfs, parts->pmu, err);

	if (status == 0 && event_pt_is(parts->pmu))
		status = event_pt_defaults(&encoding.pmu, encoding.config, err);
	else if (status == 0 && !parts->attributes.count)
		status = event_fail(err, sb_event_missing, "%s// names no event, and no attribute",
		                    parts->pmu);
	if (status == 0)
		status = take_all(&encoding, &parts->attributes);
	if (status == 0 && event_pt_is(parts->pmu))
		status = event_pt_check(&encoding.pmu, encoding.config, err);
	if (status == 0)
		status = print_all(&encoding, text);
	if (status < 0)
		return status;
	*code = (struct event_code){.type = encoding.pmu.type,
	                            .idx = event_idx_sysfs | (int)(encoding.pmu.type & event_idx_mask)};
	memcpy(code->config, encoding.config, sizeof(code->config));
	return 0;
}

/* ---- Listing ---------------------------------------------------------------------------------- */

static int list_dir(const struct sysfs_pmu *pmu, const char *name, const char *dir, const char *form,
                    sb_event_callback *callback, void *context)
{
	char **names;
	const int count = sysfs_names(pmu, dir, NULL, &names);
	int status = count < 0 ? -sb_event_nomem : 0;

	for (int i = 0; i < count && status == 0; ++i) {
		char text[sysfs_text_most], event[512];
		int known = 0;
		/* cycles.scale and cycles.unit are about the event cycles. */
		const char *dot = strrchr(names[i], '.');

		if (!dot || (strcmp(dot, ".scale") != 0 && strcmp(dot, ".unit") != 0 &&
		             strcmp(dot, ".per-pkg") != 0 && strcmp(dot, ".snapshot") != 0))
			known = sysfs_pmu_text(pmu, dir, names[i], text);
		if (known < 0)
			status = -sb_event_nomem;
		if (known <= 0)
			continue;
		snprintf(event, sizeof(event), form, name, names[i]);
		status = callback(context, name, event, text);
	}
	sysfs_names_free(names, count);
	return status;
}

int event_sysfs_list(const char *sysfs, sb_event_callback *callback, void *context)
{
	char **names;
	const int count = sysfs_names(NULL, NULL, sysfs, &names);
	int status = count < 0 ? -sb_event_nomem : 0;

	for (int i = 0; i < count && status == 0; ++i) {
		struct sysfs_pmu pmu;

		status = sysfs_pmu_open(&pmu, sysfs, names[i], NULL);
		if (status == -sb_event_not_found) {
			status = 0;
			continue;
		}
		if (status < 0)
			break;
		status = list_dir(&pmu, names[i], "events", "%s/%s/", callback, context);
		if (status == 0)
			status = list_dir(&pmu, names[i], "format", "%s/%s=/", callback, context);
	}
	sysfs_names_free(names, count);
	return status;
}
