/*
 * memory: the limit of the memory that this process may use.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* The memory of the machine, or the limit of the control group or of the address space (ulimit -v)
 * if that is less. Read once. Threads: safe. */
size_t memory_of_machine(void);

#endif
