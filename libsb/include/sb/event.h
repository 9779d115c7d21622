/* sb/event.h - what the kernel shall count or trace: from a string to what perf_event_open(2) takes.
 *
 * An event is a name with attributes and modifiers, in one of two forms:
 *
 *   PMU/ATTRIBUTE[=VALUE],.../MODIFIERS     a PMU that sysfs describes: intel_pt/tsc,mtc=1,mtc_period=3/uk
 *   [PMU::]EVENT[:SUB-EVENT][:MODIFIER[=VALUE]]...   cs:u, skl::INST_RETIRED:ANY_P:k=1
 *
 * Attributes of the first form are those in the PMU's format/ directory, its events/ (which stand for several
 * attributes), and config, config1, config2, config3; without a value an attribute is 1. For intel_pt, what
 * is not said is as perf record has it: tsc, and mtc and a psb_period as the hardware has them, pt and
 * branch. Of the second form, generic software events are built in; all else is known to libpfm4, see
 * libpfm(3).
 *
 * Modifiers: u, k, h, privilege levels, any of them together ("uk"); G, H, in guests, or the host alone; and
 * for sb_event_target_perf_ext p, pp, ppp or precise=N, D or pinned, e or excl, period=N, freq=N, cpu=N.
 * They stand behind a colon each, or, as letters, behind the second slash.
 *
 * Threads may encode at the same time.
 */
#ifndef SB_EVENT_H
#define SB_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>
#include <sb/export.h>

struct perf_event_attr; /* <linux/perf_event.h> */

/* What may be wrong with a string, or an argument; functions return them negative. */
enum sb_event_errcode {
	sb_event_ok,
	sb_event_too_small,   /* the argument, or its array, is too small */
	sb_event_invalid,     /* an impossible argument, or several events where one is meant */
	sb_event_nomem,       /* out of memory, or of files to open */
	sb_event_not_found,   /* no such PMU or event */
	sb_event_bad_attr,    /* no such attribute, sub-event or modifier */
	sb_event_bad_value,   /* not a value that it may have */
	sb_event_set_twice,   /* an attribute or modifier is given twice */
	sb_event_missing,     /* the event needs a sub-event, or an attribute */
	sb_event_combination, /* features that exclude each other */
	sb_event_errcodes
};
sb_export const char *sb_event_strerror(int code); /* of a negative code, or zero */

/* Privilege levels. */
enum sb_event_privilege {
	sb_event_kernel = 1 << 0,
	sb_event_user = 1 << 3,
	sb_event_hypervisor = 1 << 4,
};

enum sb_event_target {
	sb_event_target_none,     /* @arg: struct sb_event_codes */
	sb_event_target_perf,     /* @arg: struct sb_event_perf; modifiers of the hardware alone */
	sb_event_target_perf_ext, /* the same; also what only the perf interface has: period, freq, ... */
};

/* Arguments are zeroed, then filled in. Later versions may have more members; who was compiled with an
 * earlier one passes its size. What is beyond the members known here must be zero. */

/* Raw codes: what goes into the PMU's registers, for PMUs of sysfs config, config1, ... */
struct sb_event_codes {
	uint64_t *codes; /* NULL, and @count 0: allocated, for the caller to free(3); else room for @count */
	char **fstr;     /* *fstr is NULL: becomes the whole event string, to free(3). NULL: not wanted */
	size_t size;     /* sizeof(struct sb_event_codes); 0: that of the first version */
	int count;       /* out: how many codes there are */
	int idx;         /* out: see sb_event_find() */
	const char *sysfs;    /* where sysfs is; NULL: /sys */
	struct sb_error *err; /* says in words what is wrong; may be NULL */
};

/* For perf_event_open(2). */
struct sb_event_perf {
	struct perf_event_attr *attr; /* type, config..., exclude_*, and what modifiers say are set in it */
	char **fstr;                  /* as above */
	size_t size;                  /* sizeof(struct sb_event_perf); 0: that of the first version */
	int idx;                      /* out */
	int cpu;                      /* out: cpu=N, or -1 */
	int flags;                    /* out: for perf_event_open(2); 0 */
	int reserved;
	const char *sysfs;
	struct sb_error *err;
};

/* Encodes the first event of the comma-separated list @str. @privileges: enum sb_event_privilege, which count
 * when @str names none; 0: then they stay as they are in *attr. Zero, or a negative enum sb_event_errcode:
 * nothing was changed then. */
sb_export int sb_event_encode(const char *str, unsigned int privileges, enum sb_event_target target,
                              void *arg);

/* What an idx is of. Strings last until the process ends, but for those of PMUs of sysfs, which the caller
 * has: NULL there. */
struct sb_event_info {
	size_t size;       /* sizeof(struct sb_event_info) */
	const char *pmu;   /* "software", "skl"; NULL */
	const char *event; /* its name; NULL */
	const char *about; /* one line; NULL */
	uint32_t type;     /* of the PMU, in struct perf_event_attr; UINT32_MAX: not known */
};
/* Zero, or -sb_event_not_found. */
sb_export int sb_event_find(int idx, struct sb_event_info *info);

/* ---- What there is ------------------------------------------------------------------------------ */

/* Calls back for each event: those that are built in, those of libpfm4's PMUs on this machine, and those of
 * PMUs that sysfs describes, of which the attributes are told, too: @name is a string that can be encoded, or
 * "PMU/ATTRIBUTE=/" with @about saying of which bits it is. A value that is not zero ends it and is returned;
 * else zero, or negative. */
typedef int sb_event_callback(void *context, const char *pmu, const char *name, const char *about);
sb_export int sb_event_list(const char *sysfs, sb_event_callback *callback, void *context);

#endif
