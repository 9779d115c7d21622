/* checkpoint_file.c - see checkpoint_file.h. */
#include "perfdata/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata/perfdata_internal.h"

static const char magic[8] = {'S', 'B', 'C', 'H', 'K', 'P', 'T', '\n'};

/* By kind. */
static const uint32_t row_sizes[checkpoint_kinds] = {
        [checkpoint_recording] = sizeof(struct checkpoint_recording),
        [checkpoint_records] = 1,
        [checkpoint_origins] = sizeof(struct unpacked_origin),
        [checkpoint_zeros] = 1,
        [checkpoint_cpus] = sizeof(struct checkpoint_cpu),
        [checkpoint_scheds] = CHECKPOINT_SCHED_SIZE,
        [checkpoint_sched_sums] = sizeof(uint64_t),
        [checkpoint_seen] = CHECKPOINT_SEEN_SIZE,
        [checkpoint_flags] = CHECKPOINT_FLAG_SIZE,
        [checkpoint_lost] = CHECKPOINT_LOST_SIZE,
        [checkpoint_thread_flags] = CHECKPOINT_FLAG_SIZE,
};

/* ---- Writing ------------------------------------------------------------------------------------ */

static void put(struct checkpoint_writer *writer, const void *bytes, uint64_t size)
{
	if (!writer->status && size)
		writer->status = writer->put(writer->context, bytes, size);
	writer->written += size;
}

static void align(struct checkpoint_writer *writer)
{
	static const uint8_t zeros[CHECKPOINT_ALIGN];

	put(writer, zeros, (CHECKPOINT_ALIGN - writer->written % CHECKPOINT_ALIGN) % CHECKPOINT_ALIGN);
}

static void end_table(struct checkpoint_writer *writer)
{
	struct checkpoint_table *table = writer->ntables ? &writer->table[writer->ntables - 1] : NULL;

	if (table && table->kind != checkpoint_scheds)
		table->sum = checkpoint_sum_end(&writer->sum);
	align(writer);
}

void checkpoint_table_begin(struct checkpoint_writer *writer, enum checkpoint_kind kind)
{
	end_table(writer);
	writer->table[writer->ntables++] = (struct checkpoint_table){
	        .kind = kind, .row_size = row_sizes[kind], .offset = writer->written};
	writer->sum = checkpoint_sum_begin();
}

void checkpoint_table_put(struct checkpoint_writer *writer, const void *rows, uint64_t count)
{
	struct checkpoint_table *table = &writer->table[writer->ntables - 1];

	table->count += count;
	if (table->kind != checkpoint_scheds)
		checkpoint_sum_add(&writer->sum, rows, count * table->row_size);
	put(writer, rows, count * table->row_size);
}

int checkpoint_finish(struct checkpoint_writer *writer, uint64_t *sum)
{
	struct checkpoint_end end = {.version = CHECKPOINT_VERSION, .ntables = writer->ntables};
	const uint64_t size = writer->ntables * sizeof(writer->table[0]);

	end_table(writer);
	memcpy(end.magic, magic, sizeof(magic));
	*sum = end.sum = checkpoint_sum_of(writer->table, size);
	put(writer, writer->table, size);
	end.size = writer->written + sizeof(end);
	put(writer, &end, sizeof(end));
	return writer->status;
}

/* ---- Reading ------------------------------------------------------------------------------------ */

struct sb_checkpoint {
	struct mapped_file map;
	struct {
		const void *rows;
		uint64_t count;
	} table[checkpoint_kinds];
	_Atomic int *spoilt; /* owned: to be found by whoever only reads */
};

static int wrong(const struct sb_checkpoint *checkpoint, uint64_t offset, const char *what,
                 struct sb_error *err)
{
	return sb_error_set(err, -sbe_format, checkpoint->map.path, offset, "no checkpoint: %s", what);
}

static int take_table(struct sb_checkpoint *checkpoint, const struct checkpoint_table *table, uint64_t room,
                      struct sb_error *err)
{
	const uint8_t *rows;

	if (table->kind >= checkpoint_kinds || checkpoint->table[table->kind].rows ||
	    table->row_size != row_sizes[table->kind] || table->offset % CHECKPOINT_ALIGN ||
	    table->offset > room || table->count > (room - table->offset) / table->row_size)
		return wrong(checkpoint, table->offset,
		             "a table is not of a known kind, or ends behind its end", err);
	rows = checkpoint->map.bytes + table->offset;
	if (table->kind != checkpoint_scheds &&
	    checkpoint_sum_of(rows, table->count * table->row_size) != table->sum)
		return wrong(checkpoint, table->offset, "a table is damaged: its sum is another one", err);
	checkpoint->table[table->kind].rows = rows;
	checkpoint->table[table->kind].count = table->count;
	return 0;
}

static int take_tables(struct sb_checkpoint *checkpoint, uint64_t sum, struct sb_error *err)
{
	const uint64_t size = checkpoint->map.size;
	struct checkpoint_table table[checkpoint_kinds];
	struct checkpoint_end end;
	uint64_t at;
	int status = 0;

	if (size < sizeof(end))
		return wrong(checkpoint, size, "it is too short", err);
	memcpy(&end, checkpoint->map.bytes + size - sizeof(end), sizeof(end));
	if (memcmp(end.magic, magic, sizeof(magic)) != 0 || end.size != size)
		return wrong(checkpoint, size - sizeof(end), "its end is none, or was cut", err);
	if (end.version != CHECKPOINT_VERSION || end.ntables > checkpoint_kinds ||
	    end.ntables * sizeof(table[0]) > size - sizeof(end))
		return wrong(checkpoint, size - sizeof(end), "it is of another version", err);
	at = size - sizeof(end) - end.ntables * sizeof(table[0]);
	memcpy(table, checkpoint->map.bytes + at, end.ntables * sizeof(table[0]));
	if (checkpoint_sum_of(table, end.ntables * sizeof(table[0])) != end.sum)
		return wrong(checkpoint, at, "the list of its tables is damaged: its sum is another one",
		             err);
	if (end.sum != sum)
		return sb_error_set(err, -sbe_mismatch, checkpoint->map.path, UINT64_MAX,
		                    "it is another checkpoint: expected one with the sum %016" PRIx64
		                    ", found %016" PRIx64,
		                    sum, end.sum);
	for (uint32_t i = 0; i < end.ntables && status == 0; ++i)
		status = take_table(checkpoint, &table[i], at, err);
	return status;
}

static int map_part(struct mapped_file *map, int fd, uint64_t offset, uint64_t size, struct sb_error *err)
{
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, map->path, UINT64_MAX,
		                    "cannot be opened: %s", strerror(errno));
	if (!size || offset > (uint64_t)st.st_size || size > (uint64_t)st.st_size - offset)
		return sb_error_set(err, -sbe_truncated, map->path, (uint64_t)st.st_size,
		                    "expected %" PRIu64 " bytes of a checkpoint from 0x%" PRIx64 " on", size,
		                    offset);
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, (off_t)offset);
	if (bytes == MAP_FAILED)
		return sb_error_set(err, -sbe_io, map->path, offset, "cannot be mapped: %s", strerror(errno));
	map->bytes = bytes;
	map->size = size;
	return 0;
}

int sb_checkpoint_open(struct sb_checkpoint **result, const char *path, uint64_t offset, uint64_t size,
                       uint64_t sum, struct sb_error *err)
{
	struct sb_checkpoint *checkpoint;
	int fd, status;

	if (!result || !path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_checkpoint_open: an argument is NULL");
	checkpoint = calloc(1, sizeof(*checkpoint));
	if (checkpoint) {
		checkpoint->map.path = strdup(path);
		checkpoint->spoilt = calloc(1, sizeof(*checkpoint->spoilt));
	}
	if (!checkpoint || !checkpoint->map.path || !checkpoint->spoilt) {
		sb_checkpoint_close(checkpoint);
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	status = map_part(&checkpoint->map, fd, offset, size, err);
	if (fd >= 0)
		close(fd);
	if (status == 0)
		status = take_tables(checkpoint, sum, err);
	if (status < 0) {
		sb_checkpoint_close(checkpoint);
		return status;
	}
	*result = checkpoint;
	return 0;
}

void sb_checkpoint_close(struct sb_checkpoint *checkpoint)
{
	if (!checkpoint)
		return;
	sb_mapped_file_close(&checkpoint->map);
	free(checkpoint->spoilt);
	free(checkpoint);
}

const void *checkpoint_rows(const struct sb_checkpoint *checkpoint, enum checkpoint_kind kind,
                            uint64_t *count)
{
	*count = checkpoint->table[kind].count;
	return *count ? checkpoint->table[kind].rows : NULL;
}

const char *checkpoint_path(const struct sb_checkpoint *checkpoint)
{
	return checkpoint->map.path;
}

void checkpoint_spoil(const struct sb_checkpoint *checkpoint)
{
	atomic_store(checkpoint->spoilt, 1);
}

int checkpoint_failure(const struct sb_checkpoint *checkpoint, struct sb_error *err)
{
	return atomic_load(checkpoint->spoilt)
	               ? wrong(checkpoint, UINT64_MAX, "who ran on a CPU is damaged: its sum is another one",
	                       err)
	               : 0;
}
