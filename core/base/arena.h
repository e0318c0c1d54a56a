/*
 * arena: memory that is forgotten all at once. It belongs to the thing that lives longest and needs
 * it: a servable, a request, a training step. No free inside a lifetime. Not thread-safe: one
 * thread at a time. In AddressSanitizer builds the arena poisons what it has not handed out.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct arena;
struct budget;

/* limit_bytes: what all reserves and allocations together may cost; 0 = no limit. Dies on
 * exhaustion. */
struct arena *arena_create(size_t limit_bytes);

/* From the first block on, which must not have been allocated yet: the arena takes its blocks from
 * the budget, which outlives it, and gives them back when it frees them. Memory that is reused
 * after arena_reset costs nothing. */
void arena_charge(struct arena *arena, struct budget *budget);

/* Small, our size: zeroed, aligned to 16, dies on exhaustion (and ignores the limit and whether the
 * budget has so much). */
void *arena_alloc(struct arena *arena, size_t size_bytes);

/* The same for a stranger's size: not zeroed, aligned to 64; RESOURCE_EXHAUSTED over the limit,
 * over the budget, or without memory. */
struct status arena_reserve(struct arena *arena, size_t size_bytes, void **out);
/* From now on arena_reserve fails with CANCELLED when it needs a new block and *stop is set: work
 * that fills the arena ends when nobody wants it. Any thread may set it. */
void arena_set_stop(struct arena *arena, const _Atomic bool *stop);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) \
    ((type *)arena_array((arena), sizeof(type), (size_t)(count)))
void *arena_array(struct arena *arena, size_t element_bytes, size_t count);

char *arena_strdup(struct arena *arena, const char *text);
/* Copies `size` bytes and puts a NUL behind them. */
char *arena_memdup(struct arena *arena, const void *data, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

size_t arena_used(const struct arena *arena); /* bytes handed out since the last reset */
size_t arena_held(const struct arena *arena); /* bytes of all blocks */
void arena_reset(struct arena *arena);        /* forget the contents, keep the blocks */
void arena_trim(struct arena *arena);         /* forget the contents, free the blocks */
void arena_destroy(struct arena *arena);      /* accepts NULL */

/* The heap, for objects with a lifetime of their own: zeroed, die on exhaustion. Released with
 * free(). */
void *zalloc(size_t size_bytes);
void *xrealloc(void *data, size_t size_bytes);
char *xstrdup(const char *text);

#endif
