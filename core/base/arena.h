/*
 * arena: memory that is freed all at once. It belongs to the longest-lived object that uses it: a
 * servable, a request, a training step. Single allocations are never freed.
 *
 * Threads: not safe; one thread at a time. In AddressSanitizer builds the arena poisons memory that
 * it has not handed out.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct arena;
struct budget;

/* limit_bytes: of all reserves and allocations together; 0: no limit. */
struct arena *arena_create(size_t limit_bytes);

/* Charges the arena's blocks to the budget, which must outlive it. Call it before the first
 * allocation. Memory reused after arena_reset is not charged again. */
void arena_charge(struct arena *arena, struct budget *budget);

/* For small sizes that we choose: zeroed, aligned to 16. Ignores the limits of the arena and of the
 * budget, and dies if there is no memory. */
void *arena_alloc(struct arena *arena, size_t size_bytes);

/* For sizes that a peer or a file chooses: not zeroed, aligned to 64. RESOURCE_EXHAUSTED: over the
 * limit of the arena or of the budget, or no memory. */
struct status arena_reserve(struct arena *arena, size_t size_bytes, void **out);
/* From now on arena_reserve fails with CANCELLED if it needs a new block and *stop is set: work
 * that fills the arena ends when nobody waits for it any more. Any thread may set it. */
void arena_set_stop(struct arena *arena, const _Atomic bool *stop);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) \
    ((type *)arena_array((arena), sizeof(type), (size_t)(count)))
void *arena_array(struct arena *arena, size_t element_bytes, size_t count);
/* A list of `count` elements with room for one more: the list itself or a longer copy, because its
 * capacity doubles. It must begin empty and grow by one. */
#define ARENA_ROOM(arena, list, count) \
    ((__typeof__(list))arena_room((arena), (list), sizeof *(list), (size_t)(count)))
void *arena_room(struct arena *arena, void *list, size_t element_bytes, size_t count);

char *arena_strdup(struct arena *arena, const char *text);
/* Copies `size` bytes and appends a NUL. */
char *arena_memdup(struct arena *arena, const void *data, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

size_t arena_used(const struct arena *arena); /* bytes handed out since the last reset */
size_t arena_held(const struct arena *arena); /* bytes of all blocks */
void arena_reset(struct arena *arena);        /* forget the contents, keep the blocks */
/* Has arena_reserve failed because of the arena's own limit, since the last reset? */
bool arena_hit_limit(const struct arena *arena);
void arena_trim(struct arena *arena);    /* forget the contents, free the blocks */
void arena_destroy(struct arena *arena); /* accepts NULL */

/* The heap, for objects with a lifetime of their own: zeroed. They die if there is no memory.
 * Release with free(). */
void *zalloc(size_t size_bytes);
void *xrealloc(void *data, size_t size_bytes);
char *xstrdup(const char *text);

#endif
