/* heap.h - the memory of a process that may live for some forty milliseconds. */
#ifndef SBTRACE_HEAP_H
#define SBTRACE_HEAP_H

/* Lets malloc() take its first megabytes from huge pages of 2 MiB, where the kernel has them on demand: page
 * faults for 4 KiB each are a tenth of the time that a short replay takes. @nthreads are going to share them:
 * they ask for memory now and then, so a few have one arena, where each of its own had small pages. To be
 * called before other threads begin. What nobody touches takes no memory; where it cannot be, all is as
 * before. */
void heap_use_huge_pages(unsigned int nthreads);

#endif
