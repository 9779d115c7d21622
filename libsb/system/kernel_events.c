/* kernel_events.c - see kernel_events.h. */
#include "system/kernel_events.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* While gathering, .to of what goes away again is this, and .from is when. */
enum { GONE = 0 };

static uint64_t end_of(uint64_t begin, uint64_t size)
{
	return size > UINT64_MAX - begin ? UINT64_MAX : begin + size;
}

static int add_map(struct kernel_events *events, struct string_table *names, const struct sb_record *record,
                   uint64_t time)
{
	const char *name;

	if (!record->u.mmap.is_kernel || record->u.mmap.is_guest || !record->u.mmap.len)
		return 0;
	name = string_table_keep(names, record->u.mmap.filename);
	if (!name ||
	    array_reserve(&events->map, &events->map_capacity, events->nmaps, sizeof(*events->map)) < 0)
		return -sbe_nomem;
	events->map[events->nmaps++] =
	        (struct sb_kernel_map){.time = time,
	                               .begin = record->u.mmap.addr,
	                               .end = end_of(record->u.mmap.addr, record->u.mmap.len),
	                               .pgoff = record->u.mmap.pgoff,
	                               .name = name};
	return 0;
}

static int add_poke(struct kernel_events *events, const struct sb_record *record, uint64_t time)
{
	if (array_reserve(&events->poke, &events->poke_capacity, events->npokes, sizeof(*events->poke)) < 0)
		return -sbe_nomem;
	events->poke[events->npokes++] = (struct sb_text_poke){.time = time,
	                                                       .addr = record->u.text_poke.addr,
	                                                       .old_len = record->u.text_poke.old_len,
	                                                       .new_len = record->u.text_poke.new_len,
	                                                       .old_bytes = record->u.text_poke.old_bytes,
	                                                       .new_bytes = record->u.text_poke.new_bytes};
	return 0;
}

static int add_symbol(struct kernel_events *events, struct string_table *names,
                      const struct sb_record *record, uint64_t time)
{
	const int gone = (record->u.ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0;
	const char *name = string_table_keep(names, record->u.ksymbol.name);

	if (!name || array_reserve(&events->symbol, &events->symbol_capacity, events->nsymbols,
	                           sizeof(*events->symbol)) < 0)
		return -sbe_nomem;
	events->symbol[events->nsymbols++] =
	        (struct sb_kernel_symbol){.from = time,
	                                  .to = gone ? GONE : UINT64_MAX,
	                                  .begin = record->u.ksymbol.addr,
	                                  .end = end_of(record->u.ksymbol.addr, record->u.ksymbol.len),
	                                  .name = name,
	                                  .type = record->u.ksymbol.ksym_type};
	return 0;
}

static int add_program(struct kernel_events *events, const struct sb_record *record, uint64_t time)
{
	struct sb_bpf_program *program;

	if (array_reserve(&events->program, &events->program_capacity, events->nprograms,
	                  sizeof(*events->program)) < 0)
		return -sbe_nomem;
	program = &events->program[events->nprograms++];
	*program = (struct sb_bpf_program){
	        .from = time,
	        .to = record->u.bpf_event.event_type == PERF_BPF_EVENT_PROG_UNLOAD ? GONE : UINT64_MAX,
	        .id = record->u.bpf_event.id};
	memcpy(program->tag, record->u.bpf_event.tag, sizeof(program->tag));
	return 0;
}

int kernel_events_record(struct kernel_events *events, struct string_table *names,
                         const struct sb_record *record, uint64_t time)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return add_map(events, names, record, time);
	case PERF_RECORD_TEXT_POKE:
		return add_poke(events, record, time);
	case PERF_RECORD_KSYMBOL:
		return add_symbol(events, names, record, time);
	case PERF_RECORD_BPF_EVENT:
		return add_program(events, record, time);
	default:
		return 0;
	}
}

/* ---- What goes away ends what came ------------------------------------------------------------- */

/* How symbols and programs begin. */
struct lifetime {
	uint64_t from, to;
};
_Static_assert(offsetof(struct sb_kernel_symbol, to) == offsetof(struct lifetime, to), "begins so");
_Static_assert(offsetof(struct sb_bpf_program, to) == offsetof(struct lifetime, to), "begins so");

struct keyed {
	uint64_t key; /* of what is the same thing */
	struct lifetime *life;
};

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->life < right->life ? -1 : left->life > right->life;
}

static uint64_t symbol_key(const void *element)
{
	return ((const struct sb_kernel_symbol *)element)->begin;
}

static uint64_t program_key(const void *element)
{
	return ((const struct sb_bpf_program *)element)->id;
}

/* Drops the elements that only said that something is gone. */
static size_t drop_gone(char *element, size_t count, size_t size)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; ++i) {
		if (((struct lifetime *)(void *)(element + i * size))->to == GONE)
			continue;
		if (kept != i)
			memcpy(element + kept * size, element + i * size, size);
		kept += 1;
	}
	return kept;
}

/* @array has *count elements of @size bytes that begin with a lifetime. Zero or -sbe_nomem. */
static int close_lifetimes(void *array, size_t *count, size_t size, uint64_t (*key)(const void *element))
{
	struct keyed *keyed;
	char *element = array;

	if (!*count)
		return 0;
	keyed = calloc(*count, sizeof(*keyed));
	if (!keyed || array_sort(array, *count, size) < 0) {
		free(keyed);
		return -sbe_nomem;
	}
	for (size_t i = 0; i < *count; ++i)
		keyed[i] = (struct keyed){.key = key(element + i * size),
		                          .life = (struct lifetime *)(void *)(element + i * size)};
	qsort(keyed, *count, sizeof(*keyed), compare_keyed);
	for (size_t i = 0; i + 1 < *count; ++i)
		if (keyed[i].key == keyed[i + 1].key && keyed[i].life->to != GONE)
			keyed[i].life->to = keyed[i + 1].life->from;
	free(keyed);
	*count = drop_gone(element, *count, size);
	return 0;
}

int kernel_events_seal(struct kernel_events *events)
{
	if (array_sort(events->map, events->nmaps, sizeof(*events->map)) < 0 ||
	    array_sort(events->poke, events->npokes, sizeof(*events->poke)) < 0)
		return -sbe_nomem;
	if (close_lifetimes(events->symbol, &events->nsymbols, sizeof(*events->symbol), symbol_key) < 0)
		return -sbe_nomem;
	return close_lifetimes(events->program, &events->nprograms, sizeof(*events->program), program_key);
}

void kernel_events_free(struct kernel_events *events)
{
	free(events->map);
	free(events->poke);
	free(events->symbol);
	free(events->program);
	memset(events, 0, sizeof(*events));
}
