/*
 * memory: how much of it this process can have.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* Bytes of the machine's memory, or of the limit of the control group or of address space (ulimit
 * -v) if that is less. Read once. Threads: safe. */
size_t memory_of_machine(void);

#endif
