#include "base/arena.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "base/poison.h"

#define BLOCK_MIN ((size_t)4096)
#define BLOCK_MAX ((size_t)256 * 1024)

/* An arena that holds this much gets further blocks of one huge page each. The graphs of a large
 * model fill tens of megabytes once, and each page of 4 KB costs a page fault. */
#define LARGE_ARENA ((size_t)4 << 20)
#define HUGE_BLOCK  ((size_t)2 << 20)
#define HUGE_DATA   (HUGE_BLOCK - sizeof(struct arena_block))
/* A larger piece has a block of its own, so that the rest of the current one is not given up. */
#define LARGE_PIECE (HUGE_DATA / 4)

struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    size_t used;
    bool is_mapped; /* by memory_reserve */
    _Alignas(64) char data[];
};

struct arena {
    struct arena_block *first, *current; /* a list; blocks after current are empty */
    struct arena_block *large;           /* a list of the blocks of large pieces; used 0: free */
    size_t limit, used, held, next_size;
    struct budget *budget;    /* NULL: none */
    const _Atomic bool *stop; /* NULL: none */
    bool hit_limit;           /* since the last reset */
};

static _Noreturn void die(size_t size)
{
    fprintf(stderr, "out of memory: %zu bytes\n", size);
    abort();
}

void *zalloc(size_t size_bytes)
{
    void *data = calloc(1, size_bytes ? size_bytes : 1);
    if (data == NULL)
        die(size_bytes);
    return data;
}

void *xrealloc(void *data, size_t size_bytes)
{
    void *grown = realloc(data, size_bytes ? size_bytes : 1);
    if (grown == NULL)
        die(size_bytes);
    return grown;
}

char *xstrdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(zalloc(size), text, size);
}

struct arena *arena_create(size_t limit_bytes)
{
    struct arena *arena = zalloc(sizeof *arena);
    arena->limit = limit_bytes;
    arena->next_size = BLOCK_MIN;
    return arena;
}

void arena_charge(struct arena *arena, struct budget *budget)
{
    assert(arena->first == NULL);
    arena->budget = budget;
}

void arena_set_stop(struct arena *arena, const _Atomic bool *stop)
{
    arena->stop = stop;
}

static struct status no_memory(size_t size)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes", size);
}

/* Sizes that we choose are charged even if that exceeds the limit of the budget. */
enum charge_policy { PAY_IF_THERE_IS, PAY_ANYWAY };

static struct status pay(struct budget *budget, size_t size, enum charge_policy payment)
{
    if (budget == NULL)
        return status_ok();
    if (payment == PAY_IF_THERE_IS)
        return budget_take(budget, (int64_t)size);
    budget_charge(budget, (int64_t)size);
    return status_ok();
}

/* A block of HUGE_DATA is a huge page, unless a sanitizer looks for pointers to what has leaked: it
 * only looks on the heap. */
static struct status block_create(struct arena *arena, size_t size, enum charge_policy payment,
                                  struct arena_block **out)
{
    if (size > INT64_MAX - sizeof(struct arena_block) - 64)
        return no_memory(size);
    bool is_mapped = size == HUGE_DATA && !POISON_WORKS;
    size_t total = (sizeof(struct arena_block) + size + 63) & ~(size_t)63;
    if (arena->stop != NULL && payment == PAY_IF_THERE_IS &&
        atomic_load_explicit(arena->stop, memory_order_relaxed))
        return status_error(STATUS_CANCELLED, "nobody wants it any more");
    TRY(pay(arena->budget, total, payment));
    struct arena_block *block = is_mapped ? memory_reserve(total) : aligned_alloc(64, total);
    if (block == NULL) {
        if (arena->budget != NULL)
            budget_give(arena->budget, (int64_t)total);
        return no_memory(size);
    }
    block->next = NULL;
    block->size = total - sizeof(struct arena_block);
    block->used = 0;
    block->is_mapped = is_mapped;
    POISON(block->data, block->size);
    arena->held += total;
    *out = block;
    return status_ok();
}

/* Takes the smallest block that is free and large enough, or a new one. Small pieces never take
 * such a block: after a reset, the same pieces find the same blocks. */
static struct status take_large(struct arena *arena, size_t size, enum charge_policy payment,
                                struct arena_block **out)
{
    struct arena_block *best = NULL;
    for (struct arena_block *block = arena->large; block != NULL; block = block->next)
        if (block->used == 0 && block->size >= size && (best == NULL || block->size < best->size))
            best = block;
    if (best == NULL) {
        TRY(block_create(arena, size, payment, &best));
        best->next = arena->large;
        arena->large = best;
    }
    *out = best;
    return status_ok();
}

/* Takes the current block, the next empty one that has room for aligned memory, or a new one. */
static struct status take_small(struct arena *arena, size_t size, size_t align,
                                enum charge_policy payment, struct arena_block **out)
{
    struct arena_block *block = arena->current;
    while (block != NULL) {
        size_t at = (block->used + align - 1) & ~(align - 1);
        if (at <= block->size && size <= block->size - at) {
            arena->current = *out = block;
            return status_ok();
        }
        if (block->next == NULL || block->next->used != 0)
            break;
        block = block->next;
    }

    size_t want = arena->held >= LARGE_ARENA ? HUGE_DATA : arena->next_size;
    TRY(block_create(arena, size > want ? size : want, payment, &block));
    if (arena->next_size < BLOCK_MAX)
        arena->next_size *= 2;
    if (arena->current == NULL) {
        block->next = arena->first;
        arena->first = block;
    } else {
        block->next = arena->current->next;
        arena->current->next = block;
    }
    arena->current = *out = block;
    return status_ok();
}

static struct status take(struct arena *arena, size_t size, size_t align,
                          enum charge_policy payment, void **out)
{
    struct arena_block *block = NULL; /* GCC 12 does not see that an error returns */
    TRY(size > LARGE_PIECE ? take_large(arena, size, payment, &block)
                           : take_small(arena, size, align, payment, &block));
    size_t at = (block->used + align - 1) & ~(align - 1);
    block->used = at + size;
    arena->used += size;
    UNPOISON(block->data + at, size);
    *out = block->data + at;
    return status_ok();
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    void *data;
    if (!status_is_ok(take(arena, size_bytes, 16, PAY_ANYWAY, &data)))
        die(size_bytes);
    return memset(data, 0, size_bytes);
}

void *arena_array(struct arena *arena, size_t element_bytes, size_t count)
{
    size_t size;
    if (__builtin_mul_overflow(element_bytes, count, &size))
        die(SIZE_MAX);
    return arena_alloc(arena, size);
}

void *arena_room(struct arena *arena, void *list, size_t element_bytes, size_t count)
{
    if ((count & (count - 1)) != 0) /* neither 0 nor a power of two: not full */
        return list;
    void *longer = arena_array(arena, element_bytes, count > 0 ? 2 * count : 1);
    if (count > 0)
        memcpy(longer, list, count * element_bytes);
    return longer;
}

struct status arena_reserve(struct arena *arena, size_t size_bytes, void **out)
{
    if (arena->limit != 0 &&
        (arena->used > arena->limit || size_bytes > arena->limit - arena->used)) {
        arena->hit_limit = true;
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "%zu bytes wanted, %zu of the limit of %zu are in use", size_bytes,
                            arena->used, arena->limit);
    }
    return take(arena, size_bytes, 64, PAY_IF_THERE_IS, out);
}

char *arena_memdup(struct arena *arena, const void *data, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_memdup(arena, text, strlen(text));
}

/* Longer texts are formatted twice. libquadmath, which OpenBLAS brings, hooks into printf and makes
 * each call several times as slow. */
#define SHORT_TEXT 256

char *arena_printf(struct arena *arena, const char *format, ...)
{
    char small[SHORT_TEXT];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    if (size < SHORT_TEXT)
        return arena_memdup(arena, small, (size_t)(size < 0 ? 0 : size));
    char *text = arena_alloc(arena, (size_t)size + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)size + 1, format, arguments);
    va_end(arguments);
    return text;
}

size_t arena_used(const struct arena *arena)
{
    return arena->used;
}

size_t arena_held(const struct arena *arena)
{
    return arena->held;
}

static void empty_blocks(struct arena_block *blocks)
{
    for (struct arena_block *block = blocks; block != NULL; block = block->next) {
        POISON(block->data, block->size);
        block->used = 0;
    }
}

void arena_reset(struct arena *arena)
{
    empty_blocks(arena->first);
    empty_blocks(arena->large);
    arena->current = arena->first;
    arena->used = 0;
    arena->hit_limit = false;
}

bool arena_hit_limit(const struct arena *arena)
{
    return arena->hit_limit;
}

static void free_blocks(struct arena_block *blocks)
{
    for (struct arena_block *block = blocks, *next; block != NULL; block = next) {
        next = block->next;
        UNPOISON(block->data, block->size);
        if (block->is_mapped)
            memory_unmap(block, HUGE_BLOCK);
        else
            free(block);
    }
}

void arena_trim(struct arena *arena)
{
    free_blocks(arena->first);
    free_blocks(arena->large);
    if (arena->budget != NULL && arena->held > 0)
        budget_give(arena->budget, (int64_t)arena->held);
    arena->first = arena->current = arena->large = NULL;
    arena->used = arena->held = 0;
    arena->next_size = BLOCK_MIN;
}

void arena_destroy(struct arena *arena)
{
    if (arena == NULL)
        return;
    arena_trim(arena);
    free(arena);
}
