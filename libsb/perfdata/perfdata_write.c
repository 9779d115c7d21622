/* perfdata_write.c - the file around the records: header, event ids, attributes, features.
 *
 * Everything but the header's sizes and the features is written as it comes, under a temporary name
 * beside the path; until it is finished, that file reads as an interrupted recording.
 *   header | ids | attributes | records, AUX data | (offset, size) of each feature | features
 * Format: perf.data-file-format.txt.
 */
#include "perfdata/perfdata_write_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "perfdata/perfdata_internal.h"
#include "record/bytes.h"
#include "unfinished.h"

enum {
	ATTR_ENTRY_SIZE = WRITE_ATTR_SIZE + SB_SECTION_SIZE,
	STRING_UNIT = 64 /* perf pads strings to multiples of it */
};

static int out_error(struct sb_perfdata_writer *writer, int reason, const char *what, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, writer->path, writer->position, "%s: %s", what, strerror(reason));
}

int sb_writer_append(struct sb_perfdata_writer *writer, const void *bytes, size_t size, struct sb_error *err)
{
	if (!writer->failure && size && fwrite(bytes, 1, size, writer->out) != size)
		writer->failure = errno;
	if (writer->failure)
		return out_error(writer, writer->failure, "writing failed", err);
	writer->position += size;
	return 0;
}

void sb_writer_flush(struct sb_perfdata_writer *writer)
{
	if (!writer->failure && fflush(writer->out))
		writer->failure = errno;
}

static int append_u32(struct sb_perfdata_writer *writer, uint32_t value, struct sb_error *err)
{
	uint8_t bytes[4];

	store_u32(bytes, value);
	return sb_writer_append(writer, bytes, sizeof(bytes), err);
}

static int append_u64(struct sb_perfdata_writer *writer, uint64_t value, struct sb_error *err)
{
	uint8_t bytes[8];

	store_u64(bytes, value);
	return sb_writer_append(writer, bytes, sizeof(bytes), err);
}

static int append_string(struct sb_perfdata_writer *writer, const char *string, struct sb_error *err)
{
	static const char zeros[STRING_UNIT];
	size_t length = strlen(string);
	size_t padding = STRING_UNIT - length % STRING_UNIT; /* at least the terminating one */
	int status = append_u32(writer, (uint32_t)(length + padding), err);

	if (status == 0)
		status = sb_writer_append(writer, string, length, err);
	if (status == 0)
		status = sb_writer_append(writer, zeros, padding, err);
	return status;
}

/* The events. */

static int append_ids(struct sb_perfdata_writer *writer, const struct write_event *event,
                      struct sb_error *err)
{
	int status = 0;

	for (size_t i = 0; i < event->nids && status == 0; i++)
		status = append_u64(writer, event->id[i].id, err);
	return status;
}

/* Attributes, each with the section of its ids, which begin at @ids. */
static int append_attrs(struct sb_perfdata_writer *writer, uint64_t ids, struct sb_error *err)
{
	int status = 0;

	writer->attrs_begin = writer->position;
	for (size_t i = 0; i < writer->nevents && status == 0; i++) {
		const uint64_t size = 8 * (uint64_t)writer->event[i].nids;

		status = sb_writer_append(writer, writer->event[i].attr, WRITE_ATTR_SIZE, err);
		if (status == 0)
			status = append_u64(writer, ids, err);
		if (status == 0)
			status = append_u64(writer, size, err);
		ids += size;
	}
	return status;
}

/* Ids, then attributes. */
static int append_events(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	const uint64_t ids = writer->position;
	int status = 0;

	for (size_t i = 0; i < writer->nevents && status == 0; i++)
		status = append_ids(writer, &writer->event[i], err);
	writer->ids_written = writer->nids;
	return status == 0 ? append_attrs(writer, ids, err) : status;
}

/* Features. */

static int put_hostname(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return append_string(writer, writer->config.hostname, err);
}

static int put_osrelease(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return append_string(writer, writer->config.osrelease, err);
}

static int put_version(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return append_string(writer, "sbtrace", err);
}

static int put_arch(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return append_string(writer, "x86_64", err);
}

static int put_nrcpus(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status = append_u32(writer, writer->config.ncpus, err); /* available */

	return status == 0 ? append_u32(writer, writer->config.ncpus, err) : status; /* online */
}

static int put_cpudesc(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return append_string(writer, writer->config.cpudesc, err);
}

static int put_cpuid(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return append_string(writer, writer->cpuid, err);
}

/* One argument: the caller has the line, not its words. */
static int put_cmdline(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status = append_u32(writer, 1, err);

	return status == 0 ? append_string(writer, writer->config.cmdline, err) : status;
}

static int put_event_desc(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status = append_u32(writer, (uint32_t)writer->nevents, err);

	if (status == 0)
		status = append_u32(writer, WRITE_ATTR_SIZE, err);
	for (size_t i = 0; i < writer->nevents && status == 0; i++) {
		const struct write_event *event = &writer->event[i];

		status = sb_writer_append(writer, event->attr, WRITE_ATTR_SIZE, err);
		if (status == 0)
			status = append_u32(writer, (uint32_t)event->nids, err);
		if (status == 0)
			status = append_string(writer, event->name, err);
		if (status == 0)
			status = append_ids(writer, event, err);
	}
	return status;
}

static int put_pmu_mappings(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status = append_u32(writer, (uint32_t)writer->npmus, err);

	for (size_t i = 0; i < writer->npmus && status == 0; i++) {
		status = append_u32(writer, writer->pmu[i].type, err);
		if (status == 0)
			status = append_string(writer, writer->pmu[i].name, err);
	}
	return status;
}

static int put_auxtrace(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status = append_u64(writer, writer->naux, err);
	size_t i;

	for (i = 0; i < writer->naux && status == 0; i++) {
		status = append_u64(writer, writer->aux[i].offset, err);
		if (status == 0)
			status = append_u64(writer, writer->aux[i].size, err);
	}
	return status;
}

static int put_build_ids(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return sb_writer_append(writer, writer->build_ids, writer->build_ids_size, err);
}

static int put_bpf(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	const int status = append_u32(writer, writer->bpf_count, err);

	return status == 0 ? sb_writer_append(writer, writer->bpf_parts, writer->bpf_size, err) : status;
}

/* In ascending order, as their sections must be. */
static const struct feature_writer {
	enum sb_feature feature;
	int (*put)(struct sb_perfdata_writer *writer, struct sb_error *err);
} features[] = {
        {SB_FEATURE_BUILD_ID, put_build_ids},
        {SB_FEATURE_HOSTNAME, put_hostname},
        {SB_FEATURE_OSRELEASE, put_osrelease},
        {SB_FEATURE_VERSION, put_version},
        {SB_FEATURE_ARCH, put_arch},
        {SB_FEATURE_NRCPUS, put_nrcpus},
        {SB_FEATURE_CPUDESC, put_cpudesc},
        {SB_FEATURE_CPUID, put_cpuid},
        {SB_FEATURE_CMDLINE, put_cmdline},
        {SB_FEATURE_EVENT_DESC, put_event_desc},
        {SB_FEATURE_PMU_MAPPINGS, put_pmu_mappings},
        {SB_FEATURE_AUXTRACE, put_auxtrace},
        {SB_FEATURE_BPF_PROG_INFO, put_bpf},
};

enum { NFEATURES = sizeof(features) / sizeof(features[0]) };

static int has_feature(const struct sb_perfdata_writer *writer, enum sb_feature feature)
{
	if (feature == SB_FEATURE_BUILD_ID)
		return writer->build_ids_size != 0;
	if (feature == SB_FEATURE_BPF_PROG_INFO)
		return writer->bpf_count != 0;
	return feature != SB_FEATURE_AUXTRACE || writer->role[write_event_pt] >= 0;
}

static int rewrite(struct sb_perfdata_writer *writer, uint64_t offset, const void *bytes, size_t size,
                   struct sb_error *err)
{
	if (fseeko(writer->out, (off_t)offset, SEEK_SET) < 0 || fwrite(bytes, 1, size, writer->out) != size)
		return out_error(writer, errno, "completing it failed", err);
	return 0;
}

/* The features, and in front of them where each one is, which is known only afterwards. */
static int append_features(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	uint8_t sections[NFEATURES * SB_SECTION_SIZE] = {0}, *section = sections;
	uint64_t begin = writer->position;
	size_t size = 0;
	int i, status;

	for (i = 0; i < NFEATURES; i++)
		size += has_feature(writer, features[i].feature) ? SB_SECTION_SIZE : 0;
	status = sb_writer_append(writer, sections, size, err);
	for (i = 0; i < NFEATURES && status == 0; i++) {
		uint64_t offset = writer->position;

		if (!has_feature(writer, features[i].feature))
			continue;
		status = features[i].put(writer, err);
		store_u64(section, offset);
		store_u64(section + 8, writer->position - offset);
		section += SB_SECTION_SIZE;
	}
	return status == 0 ? rewrite(writer, begin, sections, size, err) : status;
}

/* @data_size 0: not finished. */
static void compose_header(const struct sb_perfdata_writer *writer, uint64_t data_size, uint8_t *header)
{
	int i;

	memset(header, 0, SB_HEADER_SIZE);
	memcpy(header, SB_HEADER_MAGIC, 8);
	store_u64(header + 8, SB_HEADER_SIZE);
	store_u64(header + 16, ATTR_ENTRY_SIZE);
	store_u64(header + 24, writer->attrs_begin);
	store_u64(header + 32, (uint64_t)writer->nevents * ATTR_ENTRY_SIZE);
	store_u64(header + 40, writer->data_begin);
	store_u64(header + 48, data_size);
	for (i = 0; i < NFEATURES; i++)
		if (has_feature(writer, features[i].feature))
			header[SB_HEADER_FEATURES + features[i].feature / 8] |=
			        (uint8_t)(1 << features[i].feature % 8);
}

/* Opening and finishing. */

static void free_writer(struct sb_perfdata_writer *writer)
{
	free((void *)(uintptr_t)writer->config.cpudesc);
	free((void *)(uintptr_t)writer->config.hostname);
	free((void *)(uintptr_t)writer->config.osrelease);
	free((void *)(uintptr_t)writer->config.cmdline);
	free(writer->path);
	free(writer->temporary);
	free(writer->kept);
	free(writer->stream_offset);
	sb_writer_free_events(writer);
	free(writer->aux);
	free(writer);
}

/* A nameless file can be renamed over what is there from a temporary name. */
static int give_name(struct sb_perfdata_writer *writer)
{
	return writer->temporary
	               ? 0
	               : unfinished_give_name(fileno(writer->out), writer->path, &writer->temporary);
}

/* As much as there is room for of what came until the records ended; and not one byte more. */
static int keep_records(struct sb_perfdata_writer *writer)
{
	const int fd = fileno(writer->out);
	struct stat info;

	(void)fflush(writer->out);
	__fpurge(writer->out);
	if (!writer->data_end)
		return 0;
	if (fstat(fd, &info) < 0 ||
	    pwrite(fd, writer->header, sizeof(writer->header), 0) != (ssize_t)sizeof(writer->header))
		return -1;
	return (uint64_t)info.st_size > writer->data_end ? ftruncate(fd, (off_t)writer->data_end) : 0;
}

char *sb_writer_keep(struct sb_perfdata_writer *writer)
{
	char **name = NULL, *result = NULL;

	if (keep_records(writer) == 0 && give_name(writer) == 0) {
		name = &writer->temporary;
		if (!writer->is_in_place && rename(writer->temporary, writer->kept) == 0)
			name = &writer->kept;
		result = *name;
		*name = NULL;
	}
	fclose(writer->out);
	free_writer(writer);
	return result;
}

void sb_perfdata_writer_abort(struct sb_perfdata_writer *writer)
{
	if (!writer)
		return;
	if (writer->out) {
		if (writer->temporary)
			unlink(writer->temporary);
		fclose(writer->out);
	}
	free_writer(writer);
}

static int check_config(const struct sb_perfdata_write_config *config, const char *path, struct sb_error *err)
{
	uint32_t most;

	if (config->size != sizeof(*config))
		return sb_error_set(err, -sbe_invalid, path, UINT64_MAX,
		                    "the writer's configuration has %zu bytes; %zu are expected",
		                    config->size, sizeof(*config));
	/* All ids are in one record. */
	most = config->cgroups ? WRITE_CPUS_MAX_CGROUPS : WRITE_CPUS_MAX;
	if (!config->ncpus || config->ncpus > most)
		return sb_error_set(err, -sbe_invalid, path, UINT64_MAX,
		                    "%" PRIu32 " CPUs; 1 to %" PRIu32 " can be written", config->ncpus, most);
	return 0;
}

static int set_path(struct sb_perfdata_writer *writer, const char *path, struct sb_error *err)
{
	writer->path = unfinished_place(path);
	if (writer->path && asprintf(&writer->kept, "%s.interrupted", writer->path) >= 0)
		return 0;
	if (writer->path)
		writer->kept = NULL;
	if (writer->path || errno == ENOMEM)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "a recording cannot be written there: %s",
	                    errno == EINVAL ? "it is no regular file" : strerror(errno));
}

/* Own copies of what the caller passed; what is NULL becomes a default. */
static int copy_config(struct sb_perfdata_writer *writer, const char *path,
                       const struct sb_perfdata_write_config *config, struct sb_error *err)
{
	struct sb_perfdata_write_config *own = &writer->config;
	struct utsname host;

	if (uname(&host) < 0)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "uname: %s", strerror(errno));
	*own = *config;
	own->cpudesc = strdup(config->cpudesc ? config->cpudesc : "unknown");
	own->hostname = strdup(config->hostname ? config->hostname : host.nodename);
	own->osrelease = strdup(config->osrelease ? config->osrelease : host.release);
	own->cmdline = strdup(config->cmdline ? config->cmdline : "");
	snprintf(writer->cpuid, sizeof(writer->cpuid), "GenuineIntel,%u,%u,%u", config->family, config->model,
	         config->stepping);
	writer->stream_offset = calloc(config->ncpus, sizeof(*writer->stream_offset));
	if (!own->cpudesc || !own->hostname || !own->osrelease || !own->cmdline || !writer->stream_offset)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	return set_path(writer, path, err);
}

/* A file without a name in the directory of its path: nothing is left of it, should nobody come to finish it.
 * Not every file system has such files. */
static int open_nameless(const struct sb_perfdata_writer *writer)
{
	const char *slash = strrchr(writer->path, '/');
	char *directory = slash ? strndup(writer->path, (size_t)(slash - writer->path) + 1) : strdup(".");
	int fd = -1;

	if (directory)
		fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	free(directory);
	return fd;
}

/* In a directory that nobody looks into yet. */
static int open_in_place(struct sb_perfdata_writer *writer)
{
	writer->temporary = strdup(writer->path);
	return writer->temporary ? open(writer->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
}

static int open_file(struct sb_perfdata_writer *writer)
{
	int fd;

	if (writer->is_in_place)
		return open_in_place(writer);
	fd = writer->is_nameless ? open_nameless(writer) : -1;
	if (fd >= 0)
		return fd;
	unfinished_clear(writer->path, SB_HEADER_MAGIC, NULL, NULL);
	return unfinished_file(writer->path, &writer->temporary);
}

static int create_file(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	const int fd = open_file(writer);

	if (fd < 0)
		return sb_error_set(err, -sbe_io, writer->path, UINT64_MAX, "creating %s.tmp.* failed: %s",
		                    writer->path, strerror(errno));
	writer->out = fdopen(fd, "w");
	if (!writer->out) {
		close(fd);
		if (writer->temporary)
			unlink(writer->temporary);
		return sb_error_set(err, -sbe_nomem, writer->path, UINT64_MAX, "out of memory");
	}
	setvbuf(writer->out, writer->buffer, _IOFBF, sizeof(writer->buffer));
	return 0;
}

int sb_writer_create(struct sb_perfdata_writer **result, const char *path,
                     const struct sb_perfdata_write_config *config, struct sb_error *err)
{
	struct sb_perfdata_writer *writer = calloc(1, sizeof(*writer));
	int status;

	*result = NULL;
	if (!writer)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	for (int kind = 0; kind < write_events; kind++)
		writer->role[kind] = -1;
	status = copy_config(writer, path, config, err);
	if (status < 0)
		sb_perfdata_writer_abort(writer);
	else
		*result = writer;
	return status;
}

int sb_writer_begin(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status = create_file(writer, err);

	if (status == 0)
		status = sb_writer_append(writer, writer->header, sizeof(writer->header), err);
	if (status == 0)
		status = append_events(writer, err);
	if (status < 0)
		return status;
	writer->data_begin = writer->position;
	compose_header(writer, 0, writer->header);
	status = rewrite(writer, 0, writer->header, sizeof(writer->header), err);
	if (status == 0 && fseeko(writer->out, 0, SEEK_END) < 0)
		status = out_error(writer, errno, "writing failed", err);
	return status;
}

int sb_perfdata_writer_open(struct sb_perfdata_writer **result, const char *path,
                            const struct sb_perfdata_write_config *config, struct sb_error *err)
{
	struct sb_perfdata_writer *writer;
	int status;

	if (!result || !path || !config)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_perfdata_writer_open: an argument is NULL");
	*result = NULL;
	status = check_config(config, path, err);
	if (status == 0)
		status = sb_writer_create(&writer, path, config, err);
	if (status < 0)
		return status;
	writer->is_nameless = 1;
	status = sb_writer_add_software(writer, err);
	if (status == 0)
		status = sb_writer_begin(writer, err);
	if (status == 0)
		status = sb_writer_put_preamble(writer, err);
	if (status < 0)
		sb_perfdata_writer_abort(writer);
	else
		*result = writer;
	return status;
}

/* Events of CPUs that came later have identifiers that are not in front of the records. */
static int complete_ids(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return writer->ids_written == writer->nids ? 0 : append_events(writer, err);
}

int sb_writer_complete(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	uint64_t data_size = writer->position - writer->data_begin;
	uint8_t header[SB_HEADER_SIZE];
	int status;

	writer->data_end = writer->position;
	status = append_features(writer, err);
	if (status == 0 && fseeko(writer->out, 0, SEEK_END) < 0)
		status = out_error(writer, errno, "writing failed", err);
	if (status == 0)
		status = complete_ids(writer, err);
	if (status < 0)
		return status;
	compose_header(writer, data_size, header);
	status = rewrite(writer, 0, header, sizeof(header), err);
	if (status == 0 && fflush(writer->out))
		status = out_error(writer, errno, "writing failed", err);
	if (status == 0 && (give_name(writer) < 0 || rename(writer->temporary, writer->path) < 0))
		status = out_error(writer, errno, "renaming to it failed", err);
	return status;
}

int sb_writer_close(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status = 0;

	if (fclose(writer->out))
		status = out_error(writer, errno, "closing it failed", err);
	free_writer(writer);
	return status;
}

int sb_perfdata_writer_finish(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	const int status = sb_writer_complete(writer, err);

	if (status < 0) {
		sb_perfdata_writer_abort(writer);
		return status;
	}
	return sb_writer_close(writer, err);
}
