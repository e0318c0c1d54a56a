/*
 * memory: the memory limit of this process, its current use, and large blocks.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* The memory of the machine, or the limit of the control group or of the address space (ulimit -v)
 * if that is less. Read once. Threads: safe. */
size_t memory_of_machine(void);

/* A block for a table with random access, aligned for vectors (64 bytes). A large one uses huge
 * pages where the system has them, so that one TLB entry covers 2 MB instead of 4 KB. Owner:
 * free. NULL: no memory. Threads: safe. */
void *memory_alloc_table(size_t size_bytes);

/* Zeroed cache lines without other data, for variables that one thread writes often. Dies if
 * there is no memory. Owner: free. Threads: safe. */
void *memory_alloc_lines(size_t size_bytes);

/* A block with its own pages, which return to the system when it is freed: for large blocks that
 * are short-lived, or that would leave gaps on the heap. Zeroed. From 2 MB on, it begins at a
 * huge page and uses them where the system does. NULL: no memory. Threads: safe. */
void *memory_map(size_t size_bytes);
void memory_unmap(void *block, size_t size_bytes); /* accepts NULL */

/* The same, beginning at a huge page, but the system provides each page when it is first
 * written: the zeros of it are then still in the processor's cache. Owner: memory_unmap. */
void *memory_reserve(size_t size_bytes);

/* Changes the size of a block with its own pages, from old_bytes; NULL: makes one. The pages move
 * to another address if they must, and nothing is copied. New ones are zero, and are provided when
 * they are first written. NULL: no memory, and the block is as before. Owner: memory_unmap.
 * Threads: safe. */
void *memory_resize(void *block, size_t old_bytes, size_t new_bytes);

/* Keeps the system from making more huge pages in the block; existing ones stay. Otherwise it
 * would fill gaps that memory_drop makes, because it merges partly unused pages. */
void memory_forbid_huge_pages(void *block, size_t size_bytes);

/* Returns the whole pages in a part of such a block to the system. They read as zeros. Threads:
 * safe. */
void memory_drop(void *data, size_t size_bytes);

/* Returns free memory of the heap to the system. Takes up to some milliseconds: for use after
 * many megabytes were freed that are not needed again soon. Threads: safe. */
void memory_trim(void);

/* Keeps up to 64 MiB of free memory at the end of the heap, and puts blocks of up to 32 MiB there:
 * for a process that allocates and frees large buffers for each request. By default, glibc comes to
 * these values only after a block of 32 MiB was freed. Until then, the heap shrinks and grows with
 * each request, and the system clears its pages each time. */
void memory_keep_freed(void);

/* The current resident set of this process; 0: unknown. Threads: safe. */
size_t memory_in_use(void);

#endif
