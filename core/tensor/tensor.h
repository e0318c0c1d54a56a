/*
 * tensor: dtype, shape, and a counted buffer of elements.
 *
 * A `struct tensor` is a small value that is copied freely; what is shared and counted is its
 * buffer. A tensor with `buffer == NULL` borrows its data from whoever lives longer (a request's
 * body, an arena, a static array).
 *
 * Elements in memory: numbers as such, in host order; bool one byte of 0 or 1; half and bfloat16 as
 * uint16_t; complex as pairs; strings as `struct bytes` whose characters live in an arena that
 * outlives the tensor (the run's, the plan's) or, for variables and tables, in the buffer itself
 * (tensor_copy_deep); resource and variant as `struct object *`, counted: the buffer holds one
 * count per element and drops it when it is freed.
 *
 * Threads: counting is atomic; the elements are not guarded. Write only to what tensor_writable
 * allows.
 */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include <assert.h>
#include <stdatomic.h>

#include "base/bytes.h"
#include "base/status.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

struct arena;
struct budget;
struct tensor_pool;

struct tensor_buffer {
    _Atomic int references;
    uint32_t taken_in; /* the pool's time when it was last taken */
    size_t capacity;   /* bytes at data */
    void *data;        /* aligned to TENSOR_ALIGNMENT */
    int64_t
        object_count; /* elements of data that are `struct object *`, released with the buffer */
    struct tensor_pool *pool;   /* where it goes back to; NULL: the heap */
    struct tensor_buffer *next; /* in the pool's list of free buffers */
};

struct tensor {
    enum dtype dtype;
    struct shape shape;
    int64_t size; /* number of elements = shape_size(&shape) */
    void *data;
    struct tensor_buffer *buffer; /* NULL: data is borrowed */
};

#define TENSOR_ALIGNMENT 64

/* An element of a resource or variant tensor: counted, with a small table of functions. Embed it
 * first. */
struct object;
struct object_type {
    const char *name;                       /* "variable", "hash table", "tensor list" */
    void (*destroy)(struct object *object); /* at the last release */
};
struct object {
    const struct object_type *type;
    _Atomic int references;
};
static inline struct object *object_acquire(struct object *object)
{
    if (object != NULL)
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    return object;
}
void object_release(struct object *object); /* accepts NULL */

/**
 * Makes a tensor with a buffer of its own. Elements are not initialised, but strings, which are
 * empty, and objects, NULL. Owner   the caller; tensor_release Errors  RESOURCE_EXHAUSTED no
 * memory, or the size does not fit
 */
struct status tensor_create(enum dtype dtype, const struct shape *shape, struct tensor *out);

/* The same, with a buffer taken from `pool` (NULL: the heap) and given back there at the last
 * release. */
struct status tensor_create_pooled(struct tensor_pool *pool, enum dtype dtype,
                                   const struct shape *shape, struct tensor *out);

/* A string tensor with room for all characters behind its elements, at *characters: it depends on
 * nothing else. */
struct status tensor_create_strings(const struct shape *shape, size_t characters_size,
                                    struct tensor *out, char **characters);

/* A tensor over elements that somebody else owns. */
struct tensor tensor_borrow(enum dtype dtype, const struct shape *shape, const void *data);

/* Can its elements be read as what they are? Not at every address that a message has them at. */
bool tensor_is_aligned(const struct tensor *tensor);

/* One more owner of the same elements: what a pointer assignment is elsewhere. */
static inline struct tensor tensor_acquire(const struct tensor *tensor)
{
    if (tensor->buffer != NULL)
        atomic_fetch_add_explicit(&tensor->buffer->references, 1, memory_order_relaxed);
    return *tensor;
}

/* Gives up one owner and clears *tensor. Accepts a zeroed tensor. */
void tensor_release(struct tensor *tensor);

/* May its elements be overwritten: is its buffer counted, and has it this one owner? */
static inline bool tensor_writable(const struct tensor *tensor)
{
    return tensor->buffer != NULL &&
           atomic_load_explicit(&tensor->buffer->references, memory_order_acquire) == 1;
}

/* A copy whose strings live in its own buffer, so that it depends on nothing else. */
struct status tensor_copy_deep(const struct tensor *tensor, struct tensor *out);

/* The same elements under another shape of the same size (asserted). Shares the buffer: one more
 * owner. */
struct tensor tensor_reshape(const struct tensor *tensor, const struct shape *shape);

/* Rows [start, start + count) of dimension 0. Shares the buffer: one more owner. */
struct tensor tensor_rows(const struct tensor *tensor, int64_t start, int64_t count);

static inline size_t tensor_bytes(const struct tensor *tensor)
{
    return (size_t)tensor->size * dtype_size(tensor->dtype);
}

/* Typed access; the dtype is asserted. */
#define TENSOR_ACCESS(name, type, dt)                                    \
    static inline const type *tensor_##name(const struct tensor *tensor) \
    {                                                                    \
        assert(tensor->dtype == (dt));                                   \
        return tensor->data;                                             \
    }                                                                    \
    static inline type *tensor_##name##_mut(struct tensor *tensor)       \
    {                                                                    \
        assert(tensor->dtype == (dt));                                   \
        return tensor->data;                                             \
    }
TENSOR_ACCESS(floats, float, DT_FLOAT)
TENSOR_ACCESS(doubles, double, DT_DOUBLE)
TENSOR_ACCESS(int32s, int32_t, DT_INT32)
TENSOR_ACCESS(int64s, int64_t, DT_INT64)
TENSOR_ACCESS(bools, bool, DT_BOOL)
TENSOR_ACCESS(strings, struct bytes, DT_STRING)
TENSOR_ACCESS(resources, struct object *, DT_RESOURCE)
TENSOR_ACCESS(variants, struct object *, DT_VARIANT)
#undef TENSOR_ACCESS

/*
 * Element i of a tensor of any plain integer type (shapes, axes and indices come as several), read
 * and written at the size of that type. tensor_set_index keeps the low bits of a value that does
 * not fit. Another type is asserted; in release it reads as 0, and nothing is written.
 */
int64_t tensor_index(const struct tensor *tensor, int64_t i);
void tensor_set_index(struct tensor *tensor, int64_t i, int64_t value);

/*
 * A pool of buffers by size class, of one run (not thread-safe but for releases, which any thread
 * may do). Buffers are kept for the next run: after the first run of a shape nothing is allocated.
 */
struct tensor_pool *
tensor_pool_create(size_t limit_bytes); /* limit on what is handed out at once; 0 = none */
/* From the first buffer on: the pool takes its buffers from the budget, which outlives them, and
 * gives them back when it frees them. A buffer that is used again costs nothing. */
void tensor_pool_charge(struct tensor_pool *pool, struct budget *budget);
size_t tensor_pool_used(const struct tensor_pool *pool); /* bytes handed out now */
size_t tensor_pool_held(const struct tensor_pool *pool); /* and of free buffers */
void tensor_pool_trim(struct tensor_pool *pool);         /* gives free buffers back to the system */
/* After each run: if the pool holds much more than runs hand out at once, the buffers that the last
 * runs did not take go back to the system. */
void tensor_pool_settle(struct tensor_pool *pool);
void tensor_pool_destroy(struct tensor_pool *pool); /* buffers still out live on, on the heap */

#endif
