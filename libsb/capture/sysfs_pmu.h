/* sysfs_pmu.h - a PMU as sysfs describes it: /sys/bus/event_source/devices/PMU.
 *
 * format/ATTRIBUTE holds which bits of which member of struct perf_event_attr an attribute is
 * ("config:0-7,32"), events/NAME the attributes that an event stands for ("event=0x3c,umask=?"), caps/ what
 * the hardware can do (Linux, Documentation/ABI/testing/sysfs-bus-event_source-devices-*).
 */
#ifndef SB_SYSFS_PMU_H
#define SB_SYSFS_PMU_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>

enum { sysfs_configs = 4, sysfs_ranges_most = 8, sysfs_text_most = 1024 };

struct sysfs_pmu {
	char dir[PATH_MAX];
	uint32_t type;
};

/* An attribute: the bits that it is made of, the lowest first. */
struct sysfs_format {
	unsigned int config;
	struct {
		uint8_t first, last;
	} range[sysfs_ranges_most];
	unsigned int nranges, width;
};

/* @sysfs NULL: /sys. Zero or a negative enum sb_event_errcode. */
int sysfs_pmu_open(struct sysfs_pmu *pmu, const char *sysfs, const char *name, struct sb_error *err);

/* The text of the file DIR/NAME of the PMU without the newline. 1; 0: there is none; or -errno, of a shortage
 * (shortage.h). */
int sysfs_pmu_text(const struct sysfs_pmu *pmu, const char *dir, const char *name,
                   char text[sysfs_text_most]);
/* A number of caps/; hexadecimal, zero when there is none. Zero or a negative enum sb_event_errcode. */
int sysfs_pmu_cap(const struct sysfs_pmu *pmu, const char *name, uint64_t *value, struct sb_error *err);
/* We are short of memory, or files. */
int sysfs_fail_short(int error, const struct sysfs_pmu *pmu, struct sb_error *err);

/* 1; 0: there is no such attribute; or a negative code: it is not understood, or cannot be read. */
int sysfs_pmu_format(const struct sysfs_pmu *pmu, const char *name, struct sysfs_format *format,
                     struct sb_error *err);

/* The attribute's value in @config, or sets it, whose higher bits do not count. */
uint64_t sysfs_format_get(const struct sysfs_format *format, const uint64_t config[sysfs_configs]);
void sysfs_format_put(const struct sysfs_format *format, uint64_t config[sysfs_configs], uint64_t value);
/* Whether the attribute can have it. */
int sysfs_format_fits(const struct sysfs_format *format, uint64_t value);

/* The names in DIR of the PMU, or of all PMUs when @pmu is NULL, in order of the alphabet; to be freed with
 * sysfs_names_free(). Their number; 0 also when there is no such directory; or -errno, of a shortage. */
int sysfs_names(const struct sysfs_pmu *pmu, const char *dir, const char *sysfs, char ***names);
void sysfs_names_free(char **names, int count);

#endif
