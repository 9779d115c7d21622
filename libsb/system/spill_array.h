/* spill_array.h - an array that only grows, and is kept in a temporary file without a name when it has become
 * large: memory then holds what of it was looked at lately, and the system may take even that.
 *
 * Rows stay an array: the file is mapped, shared, so that pages that are released go there and come back; but
 * for the last rows, which are written to it when there are enough of them. Where no file can be had, or has
 * no room left, the array stays in memory, or returns there.
 *
 * Who knows which rows will not be looked at puts them there instead, and gathers all in the end: nothing is
 * mapped until then, and rows in memory stay in the same few pages.
 */
#ifndef SB_SPILL_ARRAY_H
#define SB_SPILL_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed at first. */
struct spill_array {
	size_t mapped;   /* bytes of addresses, from the array's first row on; zero: it is on the heap */
	size_t filed;    /* those before are in the file, and come from there; those behind are in memory.
	                  * While it is not mapped: so many were put there */
	size_t released; /* those before were: see spill_array_pass() */
	int fd;          /* while it is mapped and may grow */
	int is_kept;     /* no file is to be had for it */
};

/* Up to that, an array is on the heap. */
enum { SPILL_FROM = 1 << 18 };

/* Makes room for @more elements: *@array has @count elements of @size bytes, and room for *@capacity. Zero or
 * -sbe_nomem; then it is as it was. */
int spill_array_reserve(struct spill_array *spill, void *array, size_t *capacity, size_t count, size_t more,
                        size_t size);

/* The other way to grow, which costs the least: of rows that nobody looks at any more, the array's first
 * ones, those that fill whole pages go to the file (a page has a whole number of rows). How many bytes went
 * there: they come before the array from then on, which the caller moves up. 0: none did, or can. */
size_t spill_array_put(struct spill_array *spill, const void *rows, size_t size);

/* Those that were put are rows of *@array again: the first ones, before the *@count that are in memory, which
 * then is the number of all. Zero or -sbe_nomem; then nothing has changed. */
int spill_array_gather(struct spill_array *spill, void *array, size_t *capacity, size_t *count, size_t size);

/* It does not grow any more, and has @used bytes: the rest of them goes to the file. */
void spill_array_seal(struct spill_array *spill, void *array, size_t used);

/* Who goes through @array from its beginning on is at byte @offset: what lies before is not in memory any
 * more, but for the last SPILL_WINDOW bytes. Begins anew when @offset is less than before. Cheap. */
enum { SPILL_WINDOW = 1 << 16 };
void spill_array_pass_far(struct spill_array *spill, const void *array, size_t offset);

static inline void spill_array_pass(struct spill_array *spill, const void *array, size_t offset)
{
	if (spill->mapped && offset - spill->released >= 2 * (size_t)SPILL_WINDOW)
		spill_array_pass_far(spill, array, offset);
}

/* None of it needs to be in memory. From any thread: it comes back where it is asked for. */
void spill_array_release(const struct spill_array *spill, const void *array);

/* Frees @array, and zeroes *@spill. */
void spill_array_free(struct spill_array *spill, void *array);

#endif
