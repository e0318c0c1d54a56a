/*
 * Size classes: four to a power of two, so that at most a fifth of a buffer is unused. Up to 512
 * bytes they are 64 apart.
 *
 *     size      64 128 192 256 320 384 448 512 | 640 768 896 1024 | 1280 …
 *     class      1   2   3   4   5   6   7   8 |   9  10  11   12 |   13 …
 *
 * A run takes buffers in one thread, but any thread may release the last reference. So each class
 * has two lists: `back`, onto which any thread pushes, and `free`, which only the run uses. The run
 * empties `back` with one exchange. Because only one thread takes, there is no ABA problem and no
 * lock.
 */
#include "tensor/tensor_pool.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/memory.h"

#define CLASS_COUNT 178 /* up to 2^48 bytes, and LENT_CLASSES more */
#define STEP_LOG2   6

/* If a tensor has this many bytes or more and its class has no free buffer, the pool lends a larger
 * one, of up to eight times the size. The layers of an image model have many sizes: without
 * lending, the first run of InceptionResNetV2 allocates 33 MB, although it holds less than 10 MB at
 * once. Lending twice the size adds 5 MB to its peak that eight times the size does not. */
#define LENT_BYTES_MIN ((size_t)64 << 10)
#define LENT_CLASSES   12

#define SETTLED_BYTES   ((size_t)8 << 20) /* kept regardless of its use */
#define STALE_RUNS      16
#define PEAK_DECAY_LOG2 3

struct tensor_pool {
    size_t limit;
    bool hit_limit;       /* since tensor_pool_forget_limit */
    _Atomic size_t taken; /* bytes handed out since the start; only the run writes it */
    /*
     * Bytes returned since the start, in multiples of TENSOR_ALIGNMENT, plus 1 while the pool is
     * open. Closing subtracts the 1 and all bytes taken. The operation that brings it to 0, closing
     * or the return of the last buffer, frees the pool.
     */
    _Atomic size_t home;
    struct budget *budget;    /* NULL: none */
    size_t held;              /* bytes of all buffers; only the run writes it */
    size_t peak, recent_peak; /* most bytes out at once, in this run and in recent ones */
    uint32_t now;             /* number of runs so far */
    struct tensor_buffer *free[CLASS_COUNT];
    _Atomic(struct tensor_buffer *) back[CLASS_COUNT];
};

struct size_class {
    unsigned index;
    size_t capacity;
};

static struct size_class class_of(size_t size)
{
    if (size == 0)
        size = 1;
    int log2 = 63 - __builtin_clzll((unsigned long long)(size - 1) | 1);
    int shift = log2 - 2 > STEP_LOG2 ? log2 - 2 : STEP_LOG2;
    size_t steps = ((size - 1) >> shift) + 1;
    return (struct size_class){ (unsigned)(shift - STEP_LOG2) * 4 + (unsigned)steps,
                                steps << shift };
}

static struct status no_memory(size_t size)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a tensor of %zu bytes", size);
}

struct status tensor_buffer_create(size_t size_bytes, struct tensor_buffer **out)
{
    _Static_assert(sizeof(struct tensor_buffer) <= TENSOR_ALIGNMENT, "the data follows the header");
    if (size_bytes > memory_of_machine())
        return no_memory(size_bytes);
    size_t capacity = (size_bytes + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
    struct tensor_buffer *buffer = aligned_alloc(TENSOR_ALIGNMENT, TENSOR_ALIGNMENT + capacity);
    if (buffer == NULL)
        return no_memory(size_bytes);
    *buffer =
        (struct tensor_buffer){ .capacity = capacity, .data = (char *)buffer + TENSOR_ALIGNMENT };
    atomic_init(&buffer->references, 1);
    *out = buffer;
    return status_ok();
}

struct tensor_pool *tensor_pool_create(size_t limit_bytes)
{
    struct tensor_pool *pool = zalloc(sizeof *pool);
    pool->limit = limit_bytes;
    atomic_init(&pool->home, 1);
    return pool;
}

bool tensor_pool_hit_limit(const struct tensor_pool *pool)
{
    return pool->hit_limit;
}

void tensor_pool_forget_limit(struct tensor_pool *pool)
{
    pool->hit_limit = false;
}

size_t tensor_pool_used(const struct tensor_pool *pool)
{
    return atomic_load_explicit(&pool->taken, memory_order_relaxed) -
           (atomic_load_explicit(&pool->home, memory_order_relaxed) & ~(size_t)1);
}

size_t tensor_pool_held(const struct tensor_pool *pool)
{
    return pool->held;
}

void tensor_pool_charge(struct tensor_pool *pool, struct budget *budget)
{
    assert(pool->held == 0);
    pool->budget = budget;
}

/* The bytes of a buffer that the budget is charged for. */
static size_t cost_of(size_t capacity)
{
    return TENSOR_ALIGNMENT + capacity;
}

/* Must not be called while the pool may be closed, because the bytes then go to the budget without
 * changing `held`. */
static void buffer_return(struct tensor_pool *pool, struct tensor_buffer *buffer)
{
    if (pool->budget != NULL)
        budget_give(pool->budget, (int64_t)cost_of(buffer->capacity));
    free(buffer);
}

/* Puts returned buffers in front: they are most likely in the cache. */
static void collect(struct tensor_pool *pool, unsigned index)
{
    if (atomic_load_explicit(&pool->back[index], memory_order_relaxed) == NULL)
        return;
    struct tensor_buffer *first =
        atomic_exchange_explicit(&pool->back[index], NULL, memory_order_acquire);
    struct tensor_buffer *last = first;
    while (last->next != NULL)
        last = last->next;
    last->next = pool->free[index];
    pool->free[index] = first;
}

/* Frees the buffers that were not used for STALE_RUNS, or all free ones. */
static void free_buffers(struct tensor_pool *pool, bool all)
{
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        collect(pool, i);
        struct tensor_buffer **at = &pool->free[i];
        while (*at != NULL) {
            struct tensor_buffer *buffer = *at;
            if (!all && pool->now - buffer->taken_in < STALE_RUNS) {
                at = &buffer->next;
                continue;
            }
            *at = buffer->next;
            pool->held -= buffer->capacity;
            buffer_return(pool, buffer);
        }
    }
}

/* The run frees its own spare buffers before the budget asks other requests. */
static struct status pay(struct tensor_pool *pool, size_t cost)
{
    if (pool->budget == NULL || budget_try(pool->budget, (int64_t)cost))
        return status_ok();
    free_buffers(pool, true);
    return budget_take(pool->budget, (int64_t)cost);
}

static struct status buffer_from_system(struct tensor_pool *pool, size_t capacity,
                                        struct tensor_buffer **out)
{
    TRY(pay(pool, cost_of(capacity)));
    struct status status = tensor_buffer_create(capacity, out);
    if (status_is_ok(status)) {
        (*out)->pool = pool;
        pool->held += capacity;
    } else if (pool->budget != NULL) {
        budget_give(pool->budget, (int64_t)cost_of(capacity));
    }
    return status;
}

static struct tensor_buffer *take_from(struct tensor_pool *pool, unsigned index)
{
    collect(pool, index);
    struct tensor_buffer *buffer = pool->free[index];
    if (buffer != NULL)
        pool->free[index] = buffer->next;
    return buffer;
}

/* NULL: there is none. */
static struct tensor_buffer *find_free(struct tensor_pool *pool, struct size_class class)
{
    struct tensor_buffer *buffer = take_from(pool, class.index);
    if (class.capacity < LENT_BYTES_MIN)
        return buffer;
    for (unsigned i = 1; buffer == NULL && i <= LENT_CLASSES; i++)
        buffer = take_from(pool, class.index + i);
    return buffer;
}

struct status tensor_pool_take(struct tensor_pool *pool, size_t size_bytes,
                               struct tensor_buffer **out)
{
    if (size_bytes > memory_of_machine())
        return no_memory(size_bytes);
    struct size_class class = class_of(size_bytes);
    size_t used = tensor_pool_used(pool);
    if (pool->limit != 0 && (used > pool->limit || class.capacity > pool->limit - used)) {
        pool->hit_limit = true;
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "a tensor of %zu bytes wanted, %zu of the limit of %zu are in use",
                            size_bytes, used, pool->limit);
    }

    struct tensor_buffer *buffer = find_free(pool, class);
    if (buffer != NULL) {
        buffer->next = NULL;
        atomic_store_explicit(&buffer->references, 1, memory_order_relaxed);
    } else {
        TRY(buffer_from_system(pool, class.capacity, &buffer));
    }
    buffer->taken_in = pool->now;
    buffer->counted = class.capacity;
    if (used + buffer->counted > pool->peak)
        pool->peak = used + buffer->counted;
    size_t taken = atomic_load_explicit(&pool->taken, memory_order_relaxed);
    atomic_store_explicit(&pool->taken, taken + buffer->counted, memory_order_relaxed);
    *out = buffer;
    return status_ok();
}

void tensor_pool_give(struct tensor_buffer *buffer)
{
    struct tensor_pool *pool = buffer->pool;
    /* not returned yet, so the pool lives until the addition below */
    size_t counted = buffer->counted;
    if ((atomic_load_explicit(&pool->home, memory_order_relaxed) & 1) == 0) {
        buffer_return(pool, buffer);
    } else {
        _Atomic(struct tensor_buffer *) *back = &pool->back[class_of(buffer->capacity).index];
        buffer->next = atomic_load_explicit(back, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(back, &buffer->next, buffer,
                                                      memory_order_release, memory_order_relaxed))
            ;
    }
    if (atomic_fetch_add_explicit(&pool->home, counted, memory_order_acq_rel) + counted == 0) {
        free_buffers(pool, true);
        free(pool);
    }
}

void tensor_pool_settle(struct tensor_pool *pool)
{
    size_t recent = pool->recent_peak;
    pool->recent_peak =
        pool->peak >= recent ? pool->peak : recent - ((recent - pool->peak) >> PEAK_DECAY_LOG2);
    pool->peak = tensor_pool_used(pool);
    pool->now++;
    if (pool->held > 2 * pool->recent_peak + SETTLED_BYTES)
        free_buffers(pool, false);
}

void tensor_pool_destroy(struct tensor_pool *pool)
{
    if (pool == NULL)
        return;
    free_buffers(pool, true);
    size_t out = atomic_load_explicit(&pool->taken, memory_order_relaxed) + 1;
    if (atomic_fetch_sub_explicit(&pool->home, out, memory_order_acq_rel) == out) {
        free_buffers(pool, true); /* a buffer may have been returned between the two lines above */
        free(pool);
    }
}
