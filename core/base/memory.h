/*
 * memory: how much of it this process can have.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* Bytes of the machine's memory, or of the control group's limit if that is less. Read once.
 * Threads: safe. */
size_t memory_of_machine(void);

#endif
