/* event_modifier.c - see event_modifier.h. */
#include "capture/event_modifier.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "capture/event_error.h"

struct modifier_kind {
	char letter; /* 0: none */
	const char *name;
	uint64_t most;
	int ext;       /* of the perf interface */
	int has_value; /* a value must be given */
};

static const struct modifier_kind kinds[event_modifiers_count] = {
        [event_user] = {'u', "u", 1, 0, 0},
        [event_kernel] = {'k', "k", 1, 0, 0},
        [event_hypervisor] = {'h', "h", 1, 0, 0},
        [event_guest] = {'G', "mg", 1, 0, 0},
        [event_host] = {'H', "mh", 1, 0, 0},
        [event_precise] = {'p', "precise", 3, 1, 1},
        [event_pinned] = {'D', "pinned", 1, 1, 0},
        [event_exclusive] = {'e', "excl", 1, 1, 0},
        [event_period] = {0, "period", UINT64_MAX, 1, 1},
        [event_freq] = {0, "freq", UINT64_MAX, 1, 1},
        [event_cpu] = {0, "cpu", INT32_MAX, 1, 1},
};

static const uint32_t privilege_bits = 1u << event_user | 1u << event_kernel | 1u << event_hypervisor;

static int set(struct event_modifiers *modifiers, enum event_modifier which, uint64_t value, int ext,
               struct sb_error *err)
{
	const struct modifier_kind *kind = &kinds[which];

	if (kind->ext && !ext)
		return event_fail(err, sb_event_bad_attr, "%s is a modifier of the perf interface alone",
		                  kind->name);
	if (modifiers->said >> which & 1)
		return event_fail(err, sb_event_set_twice, "modifier %s is given twice", kind->name);
	if (value > kind->most)
		return event_fail(err, sb_event_bad_value, "modifier %s: %" PRIu64 ", at most %" PRIu64,
		                  kind->name, value, kind->most);
	modifiers->said |= 1u << which;
	modifiers->value[which] = value;
	return 0;
}

static int find_letter(char letter)
{
	int which = event_modifiers_count;

	while (which-- > 0)
		if (kinds[which].letter == letter)
			return which;
	return -1;
}

/* "uk", "upp": each letter by itself, but for p, which is counted. */
static int take_letters(struct event_modifiers *modifiers, const char *letters, int ext, struct sb_error *err)
{
	int status = 0;

	for (; *letters && status == 0; ++letters) {
		const int which = find_letter(*letters);
		uint64_t value = 1;

		if (which < 0)
			return event_fail(err, sb_event_bad_attr,
			                  "no modifier or sub-event %s (modifiers: u k h G H p D e, excl, "
			                  "pinned, precise=, period=, freq=, cpu=)",
			                  letters);
		while (which == event_precise && letters[1] == 'p') {
			value += 1;
			letters += 1;
		}
		status = set(modifiers, (enum event_modifier)which, value, ext, err);
	}
	return status;
}

static int take_value(struct event_modifiers *modifiers, enum event_modifier which, const char *text, int ext,
                      struct sb_error *err)
{
	const struct modifier_kind *kind = &kinds[which];
	char *end;
	uint64_t value = 1;

	if (!text && kind->has_value)
		return event_fail(err, sb_event_bad_value, "modifier %s needs a value: %s=N", kind->name,
		                  kind->name);
	if (text) {
		errno = 0;
		value = strtoull(text, &end, 0);
		if (errno || !*text || *end || *text == '-')
			return event_fail(err, sb_event_bad_value, "modifier %s=%s: not a number", kind->name,
			                  text);
	}
	return set(modifiers, which, value, ext, err);
}

int event_modifier_take(struct event_modifiers *modifiers, const struct event_term *term, int ext,
                        struct sb_error *err)
{
	for (int which = 0; which < event_modifiers_count; ++which)
		if (!strcmp(kinds[which].name, term->name))
			return take_value(modifiers, (enum event_modifier)which, term->value, ext, err);
	if (term->value)
		return event_fail(err, sb_event_bad_attr, "no modifier %s=", term->name);
	return take_letters(modifiers, term->name, ext, err);
}

static unsigned int is_set(const struct event_modifiers *modifiers, enum event_modifier which)
{
	return (modifiers->said >> which & 1) && modifiers->value[which] ? 1 : 0;
}

int event_modifiers_check(const struct event_modifiers *modifiers, struct sb_error *err)
{
	if (is_set(modifiers, event_period) && is_set(modifiers, event_freq))
		return event_fail(err, sb_event_combination,
		                  "period and freq: an event is sampled by one or the other");
	return 0;
}

/* The levels that were said, or @privileges; 0: neither. */
static unsigned int levels(const struct event_modifiers *modifiers, unsigned int privileges)
{
	unsigned int said = 0;

	if (!(modifiers->said & privilege_bits))
		return privileges;
	if (is_set(modifiers, event_user))
		said |= sb_event_user;
	if (is_set(modifiers, event_kernel))
		said |= sb_event_kernel;
	if (is_set(modifiers, event_hypervisor))
		said |= sb_event_hypervisor;
	return said;
}

void event_modifiers_apply(const struct event_modifiers *modifiers, unsigned int privileges,
                           struct perf_event_attr *attr, int *cpu)
{
	const unsigned int level = levels(modifiers, privileges);

	if (level || (modifiers->said & privilege_bits)) {
		attr->exclude_user = !(level & sb_event_user);
		attr->exclude_kernel = !(level & sb_event_kernel);
		attr->exclude_hv = !(level & sb_event_hypervisor);
	}
	/* One of the two leaves the other out. */
	if (is_set(modifiers, event_guest) != is_set(modifiers, event_host)) {
		attr->exclude_host = is_set(modifiers, event_guest) & 1;
		attr->exclude_guest = is_set(modifiers, event_host) & 1;
	}
	if (modifiers->said >> event_precise & 1)
		attr->precise_ip = modifiers->value[event_precise] & 3;
	if (modifiers->said >> event_pinned & 1)
		attr->pinned = modifiers->value[event_pinned] & 1;
	if (modifiers->said >> event_exclusive & 1)
		attr->exclusive = modifiers->value[event_exclusive] & 1;
	if (modifiers->said >> event_period & 1) {
		attr->sample_period = modifiers->value[event_period];
		attr->freq = 0;
	}
	if (modifiers->said >> event_freq & 1) {
		attr->sample_freq = modifiers->value[event_freq];
		attr->freq = 1;
	}
	*cpu = modifiers->said >> event_cpu & 1 ? (int)modifiers->value[event_cpu] : -1;
}

void event_modifiers_print(const struct event_modifiers *modifiers, unsigned int privileges, FILE *file)
{
	const unsigned int level = levels(modifiers, privileges);

	if (level || (modifiers->said & privilege_bits))
		fprintf(file, ":u=%d:k=%d:h=%d", (level & sb_event_user) != 0, (level & sb_event_kernel) != 0,
		        (level & sb_event_hypervisor) != 0);
	for (int which = event_guest; which < event_modifiers_count; ++which)
		if (modifiers->said >> which & 1)
			fprintf(file, ":%s=%" PRIu64, kinds[which].name, modifiers->value[which]);
}
