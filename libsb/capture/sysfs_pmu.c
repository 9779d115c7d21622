/* sysfs_pmu.c - see sysfs_pmu.h. */
#include "capture/sysfs_pmu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/event_error.h"
#include "capture/shortage.h"

static const char devices[] = "bus/event_source/devices";

static int is_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

/* The file's first line. 1; 0: there is none, or not for us; or -errno, of a shortage. */
static int read_line(const char *path, char text[sysfs_text_most])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat;
	ssize_t size = -1;
	int error = 0;

	if (fd < 0)
		return is_shortage(errno) ? -errno : 0;
	errno = 0;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		size = read(fd, text, sysfs_text_most - 1);
	if (size < 0 && is_shortage(errno))
		error = errno;
	close(fd);
	if (size < 0)
		return -error;
	text[size] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 1;
}

int sysfs_pmu_text(const struct sysfs_pmu *pmu, const char *dir, const char *name, char text[sysfs_text_most])
{
	char path[PATH_MAX];
	const int size = snprintf(path, sizeof(path), "%s/%s/%s", pmu->dir, dir, name);

	return is_name(name) && size > 0 && (size_t)size < sizeof(path) ? read_line(path, text) : 0;
}

int sysfs_fail_short(int error, const struct sysfs_pmu *pmu, struct sb_error *err)
{
	return event_fail(err, sb_event_nomem, "%s cannot be read: %s", pmu->dir, strerror(error));
}

int sysfs_pmu_open(struct sysfs_pmu *pmu, const char *sysfs, const char *name, struct sb_error *err)
{
	const int size =
	        snprintf(pmu->dir, sizeof(pmu->dir), "%s/%s/%s", sysfs ? sysfs : "/sys", devices, name);
	char text[sysfs_text_most], *end;
	unsigned long type;
	int status;

	if (!is_name(name) || size < 0 || (size_t)size >= sizeof(pmu->dir))
		errno = ENOENT;
	else if (access(pmu->dir, F_OK) == 0)
		errno = 0;
	if (is_shortage(errno))
		return sysfs_fail_short(errno, pmu, err);
	if (errno)
		return event_fail(err, sb_event_not_found, "no PMU %s below %s/%s: see sbtrace events", name,
		                  sysfs ? sysfs : "/sys", devices);
	status = sysfs_pmu_text(pmu, ".", "type", text);
	if (status < 0)
		return sysfs_fail_short(-status, pmu, err);
	if (!status)
		return event_fail(err, sb_event_not_found, "%s/type cannot be read", pmu->dir);
	errno = 0;
	type = strtoul(text, &end, 10);
	if (errno || end == text || *end || type > UINT32_MAX)
		return event_fail(err, sb_event_not_found, "%s/type: a number is expected, not %s", pmu->dir,
		                  text);
	pmu->type = (uint32_t)type;
	return 0;
}

int sysfs_pmu_cap(const struct sysfs_pmu *pmu, const char *name, uint64_t *value, struct sb_error *err)
{
	char text[sysfs_text_most];
	const int status = sysfs_pmu_text(pmu, "caps", name, text);

	*value = status > 0 ? strtoull(text, NULL, 16) : 0;
	return status < 0 ? sysfs_fail_short(-status, pmu, err) : 0;
}

/* ---- Attributes ------------------------------------------------------------------------------- */

/* "0-7" or "21", as far as *text goes; moves it behind. Zero: it is none. */
static int take_range(const char **text, struct sysfs_format *format)
{
	char *end;
	const unsigned long first = strtoul(*text, &end, 10);
	unsigned long last = first;

	if (end == *text || format->nranges == sysfs_ranges_most)
		return 0;
	if (*end == '-') {
		const char *behind = end + 1;

		last = strtoul(behind, &end, 10);
		if (end == behind)
			return 0;
	}
	if (first > last || last > 63)
		return 0;
	format->range[format->nranges].first = (uint8_t)first;
	format->range[format->nranges++].last = (uint8_t)last;
	format->width += (unsigned int)(last - first + 1);
	*text = end;
	return 1;
}

/* "config1:0-7,32-35". */
static int parse_format(const char *text, struct sysfs_format *format)
{
	static const char config[] = "config";

	*format = (struct sysfs_format){0};
	if (strncmp(text, config, strlen(config)))
		return 0;
	text += strlen(config);
	if (*text >= '1' && *text < '0' + sysfs_configs)
		format->config = (unsigned int)(*text++ - '0');
	if (*text++ != ':')
		return 0;
	while (take_range(&text, format))
		if (*text++ != ',')
			return !text[-1] && format->width <= 64;
	return 0;
}

int sysfs_pmu_format(const struct sysfs_pmu *pmu, const char *name, struct sysfs_format *format,
                     struct sb_error *err)
{
	char text[sysfs_text_most];
	const int status = sysfs_pmu_text(pmu, "format", name, text);

	if (status <= 0)
		return status < 0 ? sysfs_fail_short(-status, pmu, err) : 0;
	if (!parse_format(text, format))
		return event_fail(err, sb_event_bad_attr,
		                  "%s/format/%s: bits of config to config%d are expected, not %s", pmu->dir,
		                  name, sysfs_configs - 1, text);
	return 1;
}

static uint64_t low_bits(unsigned int count)
{
	return count < 64 ? (1ull << count) - 1 : UINT64_MAX;
}

uint64_t sysfs_format_get(const struct sysfs_format *format, const uint64_t config[sysfs_configs])
{
	uint64_t value = 0;
	unsigned int at = 0;

	for (unsigned int i = 0; i < format->nranges; ++i) {
		const unsigned int width = format->range[i].last - format->range[i].first + 1u;

		value |= (config[format->config] >> format->range[i].first & low_bits(width)) << at;
		at += width;
	}
	return value;
}

void sysfs_format_put(const struct sysfs_format *format, uint64_t config[sysfs_configs], uint64_t value)
{
	uint64_t *word = &config[format->config];

	for (unsigned int i = 0; i < format->nranges; ++i) {
		const unsigned int first = format->range[i].first;
		const unsigned int width = format->range[i].last - first + 1u;

		*word &= ~(low_bits(width) << first);
		*word |= (value & low_bits(width)) << first;
		value = width < 64 ? value >> width : 0;
	}
}

int sysfs_format_fits(const struct sysfs_format *format, uint64_t value)
{
	return (value & ~low_bits(format->width)) == 0;
}

/* ---- Names ------------------------------------------------------------------------------------ */

static int is_listed(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int sysfs_names(const struct sysfs_pmu *pmu, const char *dir, const char *sysfs, char ***names)
{
	struct dirent **entry = NULL;
	char path[PATH_MAX];
	int count, kept = 0, error;

	if (pmu)
		snprintf(path, sizeof(path), "%.*s/%s", (int)sizeof(path) / 2, pmu->dir, dir);
	else
		snprintf(path, sizeof(path), "%.*s/%s", (int)sizeof(path) / 2, sysfs ? sysfs : "/sys",
		         devices);
	*names = NULL;
	count = scandir(path, &entry, is_listed, alphasort);
	if (count < 0)
		return is_shortage(errno) ? -errno : 0;
	*names = calloc((size_t)count + 1, sizeof(**names));
	error = *names ? 0 : ENOMEM;
	for (int i = 0; i < count; ++i) {
		char *name = error ? NULL : strdup(entry[i]->d_name);

		if (name)
			(*names)[kept++] = name;
		else
			error = ENOMEM;
		free(entry[i]);
	}
	free(entry);
	if (!error)
		return kept;
	sysfs_names_free(*names, kept);
	*names = NULL;
	return -error;
}

void sysfs_names_free(char **names, int count)
{
	for (int i = 0; i < count; ++i)
		free(names[i]);
	free(names);
}
