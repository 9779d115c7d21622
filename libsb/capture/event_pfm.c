/* event_pfm.c - named hardware events, which libpfm4 knows; its messages are codes alone.
 *
 * The library is loaded when the first event is asked for: its tables are 2 MB of addresses, which the loader
 * would set right each time a program starts that only replays.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture/event_internal.h"
#include "capture/event_result.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_ready;

/* Its functions, as its header declares them. */
static struct {
	__typeof__(pfm_initialize) *initialize;
	__typeof__(pfm_strerror) *strerror;
	__typeof__(pfm_get_os_event_encoding) *get_os_event_encoding;
	__typeof__(pfm_get_event_info) *get_event_info;
	__typeof__(pfm_get_event_next) *get_event_next;
	__typeof__(pfm_get_pmu_info) *get_pmu_info;
} pfm;

static int find_functions(void *library)
{
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
	        {"pfm_initialize", &pfm.initialize},
	        {"pfm_strerror", &pfm.strerror},
	        {"pfm_get_os_event_encoding", &pfm.get_os_event_encoding},
	        {"pfm_get_event_info", &pfm.get_event_info},
	        {"pfm_get_event_next", &pfm.get_event_next},
	        {"pfm_get_pmu_info", &pfm.get_pmu_info},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); ++i) {
		void *const found = dlsym(library, wanted[i].name);

		if (!found)
			return 0;
		memcpy(wanted[i].to, &found, sizeof(found));
	}
	return 1;
}

/* It stays until the process ends: names that were handed out are its. */
static void initialise(void)
{
	void *const library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);

	is_ready = library && find_functions(library) && pfm.initialize() == PFM_SUCCESS;
}

static int failed(int code, const char *text, struct sb_error *err)
{
	static const struct {
		int pfm;
		enum sb_event_errcode code;
	} codes[] = {
	        {PFM_ERR_INVAL, sb_event_invalid},      {PFM_ERR_NOTFOUND, sb_event_not_found},
	        {PFM_ERR_NOMEM, sb_event_nomem},        {PFM_ERR_ATTR, sb_event_bad_attr},
	        {PFM_ERR_ATTR_VAL, sb_event_bad_value}, {PFM_ERR_ATTR_SET, sb_event_set_twice},
	        {PFM_ERR_UMASK, sb_event_missing},      {PFM_ERR_FEATCOMB, sb_event_combination},
	        {PFM_ERR_TOOSMALL, sb_event_too_small},
	};

	if (!is_ready)
		return event_fail(err, sb_event_not_found,
		                  "%s: libpfm.so.4, which knows the names of events, is not there", text);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); ++i)
		if (codes[i].pfm == code)
			return event_fail(err, codes[i].code, "%s: %s (libpfm4)", text, pfm.strerror(code));
	return event_fail(err, sb_event_not_found, "%s: %s (libpfm4)", text, pfm.strerror(code));
}

static int encode(const char *text, unsigned int privileges, pfm_os_t os, void *arg, struct sb_error *err)
{
	int code = PFM_ERR_NOTSUPP;

	pthread_once(&once, initialise);
	pthread_mutex_lock(&lock);
	if (is_ready)
		code = pfm.get_os_event_encoding(text, (int)privileges, os, arg);
	pthread_mutex_unlock(&lock);
	return code == PFM_SUCCESS ? 0 : failed(code, text, err);
}

static int encode_codes(const char *text, unsigned int privileges, struct sb_event_codes *arg)
{
	char *whole = NULL;
	pfm_pmu_encode_arg_t raw = {.size = sizeof(raw), .fstr = &whole};
	int status = encode(text, privileges, PFM_OS_NONE, &raw, arg->err);

	if (status == 0)
		status = event_give_codes(arg, raw.codes, raw.count, raw.idx, whole);
	free(raw.codes);
	return status;
}

/* Whether levels are named by the event: then it is the same whichever are asked for. */
static int names_levels(const char *text, pfm_os_t os, const struct perf_event_attr *attr)
{
	struct perf_event_attr all = {.size = sizeof(all)};
	pfm_perf_encode_arg_t perf = {.size = sizeof(perf), .attr = &all};
	const unsigned int levels = sb_event_user | sb_event_kernel | sb_event_hypervisor;

	return encode(text, levels, os, &perf, NULL) < 0 ||
	       (all.exclude_user == attr->exclude_user && all.exclude_kernel == attr->exclude_kernel &&
	        all.exclude_hv == attr->exclude_hv);
}

/* Takes out of a whole string what it says of levels: none of them. */
static void forget_levels(char *whole)
{
	static const char *const levels[] = {":u=0", ":k=0", ":h=0"};

	for (size_t i = 0; whole && i < sizeof(levels) / sizeof(levels[0]); ++i) {
		const size_t size = strlen(levels[i]);
		char *at = strstr(whole, levels[i]);

		if (at)
			memmove(at, at + size, strlen(at + size) + 1);
	}
}

static int encode_perf(const char *text, unsigned int privileges, pfm_os_t os, struct sb_event_perf *arg)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	char *whole = NULL;
	pfm_perf_encode_arg_t perf = {.size = sizeof(perf), .attr = &attr, .fstr = &whole};
	const int status = encode(text, privileges, os, &perf, arg->err);
	int keeps_levels;

	if (status < 0)
		return status;
	keeps_levels = !privileges && !names_levels(text, os, &attr);
	if (keeps_levels)
		forget_levels(whole);
	arg->attr->type = attr.type;
	arg->attr->config = attr.config;
	arg->attr->config1 = attr.config1;
	arg->attr->config2 = attr.config2;
	if (!keeps_levels) {
		arg->attr->exclude_user = attr.exclude_user;
		arg->attr->exclude_kernel = attr.exclude_kernel;
		arg->attr->exclude_hv = attr.exclude_hv;
	}
	arg->attr->exclude_guest = attr.exclude_guest;
	arg->attr->exclude_host = attr.exclude_host;
	if (os == PFM_OS_PERF_EVENT_EXT) {
		arg->attr->precise_ip = attr.precise_ip;
		arg->attr->pinned = attr.pinned;
		arg->attr->exclusive = attr.exclusive;
		if (attr.sample_period) {
			arg->attr->sample_period = attr.sample_period;
			arg->attr->freq = attr.freq;
		}
	}
	arg->idx = perf.idx;
	arg->cpu = perf.cpu;
	arg->flags = perf.flags;
	event_give_text(arg->fstr, whole);
	return 0;
}

int event_pfm_encode(const char *text, unsigned int privileges, enum sb_event_target target, void *arg)
{
	if (target == sb_event_target_none)
		return encode_codes(text, privileges, arg);
	return encode_perf(text, privileges,
	                   target == sb_event_target_perf ? PFM_OS_PERF_EVENT : PFM_OS_PERF_EVENT_EXT, arg);
}

/* ---- What there is ------------------------------------------------------------------------------ */

static int get_info(int idx, pfm_event_info_t *event, pfm_pmu_info_t *pmu)
{
	int code;

	*event = (pfm_event_info_t){.size = sizeof(*event)};
	*pmu = (pfm_pmu_info_t){.size = sizeof(*pmu)};
	pthread_once(&once, initialise);
	if (!is_ready)
		return 0;
	pthread_mutex_lock(&lock);
	code = pfm.get_event_info(idx, PFM_OS_PERF_EVENT, event);
	if (code == PFM_SUCCESS)
		code = pfm.get_pmu_info(event->pmu, pmu);
	pthread_mutex_unlock(&lock);
	return code == PFM_SUCCESS;
}

int event_pfm_find(int idx, struct sb_event_info *info)
{
	pfm_event_info_t event;
	pfm_pmu_info_t pmu;

	if (!get_info(idx, &event, &pmu))
		return -sb_event_not_found;
	info->pmu = pmu.name;
	info->event = event.name;
	info->about = event.desc;
	info->type = UINT32_MAX;
	return 0;
}

static int list_pmu(const pfm_pmu_info_t *pmu, sb_event_callback *callback, void *context)
{
	int status = 0;

	for (int idx = pmu->first_event; idx >= 0 && status == 0; idx = pfm.get_event_next(idx)) {
		pfm_event_info_t event;
		pfm_pmu_info_t same;
		char name[256];

		if (!get_info(idx, &event, &same))
			break;
		snprintf(name, sizeof(name), "%s::%s", pmu->name, event.name);
		status = callback(context, pmu->name, name, event.desc);
	}
	return status;
}

int event_pfm_list(sb_event_callback *callback, void *context)
{
	int status = 0;

	pthread_once(&once, initialise);
	for (int i = 0; is_ready && i < PFM_PMU_MAX && status == 0; ++i) {
		pfm_pmu_info_t pmu = {.size = sizeof(pmu)};

		if (pfm.get_pmu_info((pfm_pmu_t)i, &pmu) == PFM_SUCCESS && pmu.is_present)
			status = list_pmu(&pmu, callback, context);
	}
	return status;
}
