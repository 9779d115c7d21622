/* heap.c - see heap.h. The heap of glibc's main arena is made larger once, up to where a huge page begins and
 * some of them beyond: madvise(2) holds for what is there, not for what it grows by later. */
#include "heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	huge_page = 2 << 20,
	/* Few replays of some seconds need more; with 16, merging many shards takes half as much again. */
	npages = 8,
	threads_of_an_arena = 4,
	block_most = 1 << 20, /* larger ones are mapped one by one: they come and go */
	first_block = 256 << 10
};

void heap_use_huge_pages(unsigned int nthreads)
{
	const uintptr_t size = (uintptr_t)npages * huge_page;
	uintptr_t first, end, block;
	void *memory;

	mallopt(M_ARENA_MAX, 1 + (int)(nthreads / threads_of_an_arena));
	/* Set, it stays as it is, and so does what was freed at the heap's end. */
	mallopt(M_MMAP_THRESHOLD, 2 * huge_page);
	mallopt(M_TRIM_THRESHOLD, (int)size + 3 * huge_page);
	mallopt(M_TOP_PAD, (int)size + 2 * huge_page);
	memory = malloc(first_block);
	mallopt(M_TOP_PAD, block_most);
	block = (uintptr_t)memory;
	end = (uintptr_t)sbrk(0);
	/* Where something was written already, pages stay small. */
	first = (block + 2 * first_block + huge_page) / huge_page * huge_page;
	free(memory);
	/* Another malloc() may have its memory elsewhere. */
	if (memory && block < end && first + size <= end && end - block < size + 4 * huge_page &&
	    !madvise((void *)first, size, MADV_HUGEPAGE)) {
		/* Up to there, memory is never used, and never touched. */
		static void *volatile unused; /* or it would not be allocated */

		unused = malloc(first - block - 64);
		(void)unused;
	}
	mallopt(M_MMAP_THRESHOLD, block_most);
}
