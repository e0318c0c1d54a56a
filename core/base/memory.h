/*
 * memory: how much memory this process may use, how much it does, and large blocks of it.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* The memory of the machine, or the limit of the control group or of the address space (ulimit -v)
 * if that is less. Read once. Threads: safe. */
size_t memory_of_machine(void);

/* A block for a table whose rows are read at random, aligned for vectors (64 bytes). A large one
 * takes huge pages where the system has them: one place of the processor's page cache then stands
 * for 2 MB and not 4 KB. Owner: free. NULL: no memory. Threads: safe. */
void *memory_of_table(size_t size_bytes);

/* Zeroed cache lines that hold nothing else, for what one thread writes often. Dies if there is no
 * memory. Owner: free. Threads: safe. */
void *memory_of_lines(size_t size_bytes);

/* A block with pages of its own, which go back to the system when it is freed: for large blocks
 * that live briefly, or among which others are freed. On the heap, they leave gaps. Zeroed. From
 * 2 MB on, it begins at a huge page and has them where the system does. NULL: no memory. Threads:
 * safe. */
void *memory_map(size_t size_bytes);
void memory_unmap(void *block, size_t size_bytes); /* accepts NULL */

/* The same, beginning at a huge page, but the system gives a page when it is first written: the
 * processor's cache then still has the zeros of it. Owner: memory_unmap. */
void *memory_reserve(size_t size_bytes);

/* The system makes no more huge pages in the block; those that it has stay. Otherwise it would fill
 * gaps that memory_drop makes: it joins pages of which some are unused. */
void memory_keep_gaps(void *block, size_t size_bytes);

/* Gives the whole pages in a part of such a block back. They read as zeros. Threads: safe. */
void memory_drop(void *data, size_t size_bytes);

/* Gives free memory of the heap back to the system. Takes up to some milliseconds: for use after
 * many megabytes were freed that are not wanted again soon. Threads: safe. */
void memory_give_back(void);

/* The memory that this process holds now: its resident set; 0: unknown. Threads: safe. */
size_t memory_in_use(void);

#endif
