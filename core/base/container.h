/*
 * container: from a member to the enclosing struct.
 *
 *     static void on_flush(struct loop_task *task)
 *     {
 *         struct http2 *http2 = CONTAINER_OF(task, struct http2, flush);
 */
#ifndef BASE_CONTAINER_H
#define BASE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

/* The conditional is the type check: the compiler warns if `pointer` has another type than a
 * pointer to the member (const and void * pass). */
#define CONTAINER_OF(pointer, type, member) \
    ((type *)((uintptr_t)(1 ? (pointer) : &((type *)0)->member) - offsetof(type, member)))

#endif
