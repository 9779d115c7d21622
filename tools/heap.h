/* heap.h - the memory of a process that lives for some forty milliseconds. */
#ifndef SBTRACE_HEAP_H
#define SBTRACE_HEAP_H

/* Lets malloc() take its first megabytes from huge pages, where the kernel has them on demand: a page fault
 * for each 4 KiB is a tenth of the time that a shard takes. To be called before other threads begin. What
 * nobody touches takes no memory; where it cannot be, all is as before. */
void heap_use_huge_pages(void);

#endif
