/* perfdata_read.c - opening and closing a recording.
 *
 * What kind of recording a path is, is decided here; all kinds end as record files, which cursor.c walks.
 */
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "perfdata/checkpoint_file.h"

void sb_perfdata_note_damage(struct sb_perfdata *perfdata, const struct sb_error *err)
{
	if (!perfdata->damage.code)
		perfdata->damage = *err;
}

void sb_record_file_set(struct record_file *file, uint64_t begin, uint64_t end)
{
	const uint64_t size = file->map.size;

	file->records = file->map.bytes;
	file->begin = file->data_begin = begin < size ? begin : size;
	file->end = file->data_end = end < size ? end : size;
}

static struct record_file *new_file(struct sb_perfdata *perfdata, struct sb_error *err)
{
	struct record_file *grown = sb_array_room(perfdata->file, perfdata->nfiles, sizeof(*grown));

	if (!grown) {
		sb_error_set(err, -sbe_nomem, perfdata->path, UINT64_MAX, "out of memory");
		return NULL;
	}
	perfdata->file = grown;
	memset(&grown[perfdata->nfiles], 0, sizeof(*grown));
	grown[perfdata->nfiles].cpu = -1;
	return &grown[perfdata->nfiles];
}

int sb_perfdata_take_record_file(struct sb_perfdata *perfdata, const struct mapped_file *map,
                                 struct sb_error *err)
{
	struct mapped_file owned = *map;
	struct record_file *file = new_file(perfdata, err);

	if (!file) {
		sb_mapped_file_close(&owned);
		return -sbe_nomem;
	}
	file->map = owned;
	sb_record_file_set(file, 0, owned.size);
	file->promised_end = file->end;
	perfdata->nfiles++;
	return 0;
}

int sb_perfdata_add_record_file(struct sb_perfdata *perfdata, const char *directory, const char *name,
                                int32_t cpu, struct sb_error *err)
{
	struct mapped_file map;
	int status = sb_mapped_file_open_in(&map, directory, name, err);

	if (status < 0)
		return status == -sbe_not_found ? 0 : status;
	status = sb_perfdata_take_record_file(perfdata, &map, err);
	if (status == 0)
		perfdata->file[perfdata->nfiles - 1].cpu = cpu;
	return status;
}

/* Inside a directory, the file must be a regular one. */
static int open_perf_data(struct sb_perfdata *perfdata, const char *path, int is_inside, struct sb_error *err)
{
	struct record_file *file = new_file(perfdata, err);
	int status;

	if (!file)
		return -sbe_nomem;
	status = is_inside ? sb_mapped_file_open(&file->map, path, err)
	                   : sb_mapped_file_open_any(&file->map, path, err);
	if (status < 0)
		return status;
	perfdata->nfiles = 1;
	return sb_perfdata_read_header(perfdata, err);
}

static int open_directory(struct sb_perfdata *perfdata, const char *path, struct sb_error *err)
{
	char *data = sb_path_join(path, "data");
	struct stat status;
	int result;

	if (!data)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	if (stat(data, &status) < 0) {
		result = sb_perfdata_read_raw(perfdata, path, err);
		if (result == 0)
			result = sb_perfdata_find_kcore(perfdata, path, err);
	} else {
		result = open_perf_data(perfdata, data, 1, err);
		if (result == 0)
			result = sb_perfdata_read_directory(perfdata, path, err);
	}
	free(data);
	return result;
}

/* A file of its own, or "data" in a directory. */
static int open_file(struct sb_perfdata *perfdata, const char *path, struct sb_error *err)
{
	int status = open_perf_data(perfdata, path, 0, err);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *directory;

	if (status < 0)
		return status;
	if (strcmp(name, "data") && perfdata->dir_format)
		return sb_error_set(err, -sbe_unsupported, perfdata->file->map.path, UINT64_MAX,
		                    "its records are spread over several files (perf record --threads), "
		                    "and it is not \"data\" in the directory that perf made of them");
	if (strcmp(name, "data"))
		return 0;
	directory = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	if (!directory)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	status = sb_perfdata_read_directory(perfdata, directory, err);
	free(directory);
	return status;
}

static int open_path(struct sb_perfdata *perfdata, const char *path, struct sb_error *err)
{
	struct stat status;
	int result;

	if (strcmp(path, "-") && stat(path, &status) < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX, "%s",
		                    strerror(errno));
	if (strcmp(path, "-") && S_ISDIR(status.st_mode))
		result = open_directory(perfdata, path, err);
	else
		result = open_file(perfdata, path, err);
	return result < 0 ? result : sb_perfdata_index(perfdata, err);
}

static int new_recording(struct sb_perfdata **perfdata, const char *path, struct sb_error *err)
{
	*perfdata = calloc(1, sizeof(**perfdata));
	if (*perfdata)
		(*perfdata)->path = strdup(path);
	if (*perfdata && (*perfdata)->path)
		return 0;
	free(*perfdata);
	*perfdata = NULL;
	return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
}

/* It is open, or @status says why not. */
static int opened(struct sb_perfdata **perfdata, int status)
{
	build_ids_seal(&(*perfdata)->build_ids);
	if (status < 0) {
		sb_perfdata_close(*perfdata);
		*perfdata = NULL;
	}
	return status;
}

int sb_perfdata_open(struct sb_perfdata **perfdata, const char *path, struct sb_error *err)
{
	return sb_perfdata_open_at(perfdata, path, NULL, err);
}

int sb_perfdata_open_at(struct sb_perfdata **perfdata, const char *path,
                        const struct sb_checkpoint *checkpoint, struct sb_error *err)
{
	int status;

	if (!perfdata || !path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_perfdata_open: an argument is NULL");
	status = new_recording(perfdata, path, err);
	if (status < 0)
		return status;
	(*perfdata)->checkpoint = checkpoint;
	return opened(perfdata, open_path(*perfdata, path, err));
}

static int open_store(struct sb_perfdata *perfdata, const struct sb_store *store, struct sb_error *err)
{
	struct record_file *file = new_file(perfdata, err);
	int status;

	if (!file)
		return -sbe_nomem;
	perfdata->fetched = fetched_new(store);
	if (!perfdata->fetched)
		return sb_error_set(err, -sbe_nomem, store->name, UINT64_MAX, "out of memory");
	status = fetched_sideband(store, perfdata->checkpoint != NULL, &file->map, err);
	if (status < 0)
		return status;
	perfdata->nfiles = 1;
	status = sb_perfdata_read_header(perfdata, err);
	if (status == 0 && perfdata->dir_format)
		status = sb_error_set(err, -sbe_unsupported, store->name, UINT64_MAX,
		                      "its records are spread over several files (perf record --threads), "
		                      "which is not fetched by range");
	return status < 0 ? status : sb_perfdata_index(perfdata, err);
}

int sb_perfdata_open_store(struct sb_perfdata **perfdata, const struct sb_store *store, struct sb_error *err)
{
	return sb_perfdata_open_store_at(perfdata, store, NULL, err);
}

int sb_perfdata_open_store_at(struct sb_perfdata **perfdata, const struct sb_store *store,
                              const struct sb_checkpoint *checkpoint, struct sb_error *err)
{
	int status;

	if (!perfdata || !store || store->size < sizeof(*store) || !store->name || !store->read)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_perfdata_open_store: an argument is missing");
	status = new_recording(perfdata, store->name, err);
	if (status < 0)
		return status;
	(*perfdata)->checkpoint = checkpoint;
	return opened(perfdata, open_store(*perfdata, store, err));
}

int sb_perfdata_failure(const struct sb_perfdata *perfdata, struct sb_error *err)
{
	struct sb_fetched *fetched = perfdata->fetched;
	int code = perfdata->checkpoint ? checkpoint_failure(perfdata->checkpoint, err) : 0;

	if (!fetched || code)
		return code;
	pthread_mutex_lock(&fetched->lock);
	code = fetched->failure.code;
	if (code && err)
		*err = fetched->failure;
	pthread_mutex_unlock(&fetched->lock);
	return code;
}

void sb_perfdata_close(struct sb_perfdata *perfdata)
{
	size_t i;

	if (!perfdata)
		return;
	checkpoint_leave_records(perfdata);
	for (i = 0; i < perfdata->nfiles; i++) {
		sb_mapped_file_close(&perfdata->file[i].map);
		sb_unpacked_free(perfdata->file[i].unpacked);
	}
	for (i = 0; i < perfdata->ntraces; i++)
		sb_mapped_file_close(&perfdata->trace[i]);
	fetched_free(perfdata->fetched);
	build_ids_free(&perfdata->build_ids);
	bpf_images_free(&perfdata->bpf_images);
	free(perfdata->file);
	free(perfdata->trace);
	free(perfdata->attr);
	free(perfdata->id);
	free(perfdata->chunk);
	free(perfdata->stream);
	tracing_data_free(&perfdata->tracepoints);
	free(perfdata->kcore_dir);
	free(perfdata->path);
	free(perfdata);
}

int sb_perfdata_build_id(const struct sb_perfdata *perfdata, const char *filename, uint8_t id[20])
{
	return build_ids_find(&perfdata->build_ids, filename, id);
}

const struct sb_bpf_image *sb_perfdata_bpf_images(const struct sb_perfdata *perfdata, size_t *count)
{
	*count = perfdata->bpf_images.count;
	return perfdata->bpf_images.image;
}

const char *sb_perfdata_path(const struct sb_perfdata *perfdata)
{
	return perfdata->path;
}

uint64_t perfdata_written(const struct sb_perfdata *perfdata)
{
	uint64_t written = perfdata->nfiles ? 0 : UINT64_MAX;

	for (uint32_t i = 0; i < perfdata->nfiles; ++i)
		if (perfdata->file[i].map.written > written)
			written = perfdata->file[i].map.written;
	return written;
}

const char *sb_perfdata_osrelease(const struct sb_perfdata *perfdata)
{
	return perfdata->osrelease[0] ? perfdata->osrelease : NULL;
}

const char *sb_perfdata_kcore_dir(const struct sb_perfdata *perfdata)
{
	return perfdata->kcore_dir;
}

const struct sb_perfdata_info *sb_perfdata_info(const struct sb_perfdata *perfdata)
{
	return &perfdata->info;
}

void sb_perfdata_trust_tsc_alone(struct sb_perfdata *perfdata)
{
	struct sb_perfdata_info *info = &perfdata->info;

	info->pt_mtc = info->pt_cyc = 0;
	info->pt_mtc_freq = 0;
	/* Without these, nobody can tell how long a tick or a cycle is. */
	info->tsc_ctc_num = info->tsc_ctc_den = 0;
	info->max_nonturbo_ratio = 0;
}

const struct sb_aux_stream *sb_perfdata_streams(const struct sb_perfdata *perfdata, size_t *count)
{
	*count = perfdata->nstreams;
	return perfdata->stream;
}

/* Letting go of pages interrupts the processors of all threads, and takes with it what others read beside
 * them: so it waits until what was read, with the pages around it that Linux maps along with one that is
 * touched, is worth that. Then all goes, and what is still looked at comes back. What is small stays. */
static void release_part(struct mapped_file *map, const uint8_t *begin, const uint8_t *end)
{
	enum { MAPPED_ALONG = 1 << 16, WORTH_IT = 1 << 21 };
	const uintptr_t first = (uintptr_t)map->bytes;
	uintptr_t from = (uintptr_t)begin, to = (uintptr_t)end;

	if (map->size <= WORTH_IT || from < first || to < from || to - first > map->size)
		return;
	from = from / MAPPED_ALONG * MAPPED_ALONG;
	to = (to + MAPPED_ALONG - 1) / MAPPED_ALONG * MAPPED_ALONG;
	if (atomic_fetch_add_explicit(&map->passed, to - from, memory_order_relaxed) + (to - from) < WORTH_IT)
		return;
	atomic_store_explicit(&map->passed, 0, memory_order_relaxed);
	sb_mapped_file_release(map, 0, map->size);
}

void sb_perfdata_release(const struct sb_perfdata *perfdata, const uint8_t *begin, const uint8_t *end)
{
	for (uint32_t i = 0; i < perfdata->nfiles; ++i) {
		release_part(&perfdata->file[i].map, begin, end);
		if (perfdata->file[i].unpacked)
			release_part(&perfdata->file[i].unpacked->map, begin, end);
	}
	for (size_t i = 0; i < perfdata->ntraces; ++i)
		release_part(&perfdata->trace[i], begin, end);
}

const struct sb_error *sb_perfdata_damage(const struct sb_perfdata *perfdata)
{
	return perfdata->damage.code ? &perfdata->damage : NULL;
}
