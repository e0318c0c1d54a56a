/*
 * tensor: dtype, shape, and a counted buffer of elements.
 *
 * A `struct tensor` is a small value that is copied freely; its buffer is shared and counted. A
 * tensor with `buffer == NULL` borrows its data from something that lives longer (a request's body,
 * an arena, a static array).
 *
 * Elements in memory: numbers in host order; bool as one byte, 0 or 1; half and bfloat16 as
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

struct budget;
struct tensor_pool;

struct tensor_buffer {
    _Atomic int references;
    uint32_t taken_in;          /* the pool's time when it was last handed out */
    size_t capacity;            /* bytes at data */
    size_t counted;             /* bytes of it that the pool counts as used */
    void *data;                 /* aligned to TENSOR_ALIGNMENT */
    int64_t object_count;       /* elements that are `struct object *`, released with the buffer */
    struct tensor_pool *pool;   /* where the last release returns it; NULL: the heap, or block */
    struct tensor_block *block; /* that it is a part of; NULL: none */
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

/* An element of a resource or variant tensor: reference counted, with a small table of
 * functions. Embed it as the first member. */
struct object;
struct object_type {
    const char *name;                       /* "variable", "hash table", "tensor list" */
    void (*destroy)(struct object *object); /* at the last release */
};
struct object {
    const struct object_type *type;
    _Atomic int references;
    struct object *next; /* of objects whose destruction waits for another's */
};
static inline struct object *object_acquire(struct object *object)
{
    if (object != NULL)
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
    return object;
}
void object_release(struct object *object); /* accepts NULL */

/**
 * Makes a tensor with a buffer of its own. Strings start empty and objects NULL; other elements are
 * not initialised.
 *
 * Owner   the caller: tensor_release
 * Errors  RESOURCE_EXHAUSTED no memory, or the size does not fit 64 bits
 */
struct status tensor_create(enum dtype dtype, const struct shape *shape, struct tensor *out);

/* The same with a buffer of `pool` (NULL: the heap), which the last release returns to it. */
struct status tensor_create_pooled(struct tensor_pool *pool, enum dtype dtype,
                                   const struct shape *shape, struct tensor *out);

/* The same in `block` (tensor_block.h) if that has room, otherwise on the heap. */
struct status tensor_create_in(struct tensor_block *block, enum dtype dtype,
                               const struct shape *shape, struct tensor *out);

/* Makes a string tensor with room for its characters, at *characters, in the same buffer: it
 * depends on nothing else. */
struct status tensor_create_strings(const struct shape *shape, size_t characters_size,
                                    struct tensor *out, char **characters);

/* Makes a tensor of elements that something else owns. */
struct tensor tensor_borrow(enum dtype dtype, const struct shape *shape, const void *data);

/* Is the data aligned for its type? In a message it may begin at any address. */
bool tensor_is_aligned(const struct tensor *tensor);

/* Adds an owner of the same elements. */
static inline struct tensor tensor_acquire(const struct tensor *tensor)
{
    if (tensor->buffer != NULL)
        atomic_fetch_add_explicit(&tensor->buffer->references, 1, memory_order_relaxed);
    return *tensor;
}

/* Releases one reference and clears *tensor. Accepts a zeroed tensor. */
void tensor_release(struct tensor *tensor);
void tensors_release(int64_t count, struct tensor *tensors); /* each of them */

/* May the elements be overwritten? True if the tensor is the only owner of its buffer. */
static inline bool tensor_writable(const struct tensor *tensor)
{
    return tensor->buffer != NULL &&
           atomic_load_explicit(&tensor->buffer->references, memory_order_acquire) == 1;
}

/* A copy whose strings live in its own buffer, so that it depends on nothing else. */
struct status tensor_copy_deep(const struct tensor *tensor, struct tensor *out);

/* The same dtype, shape and elements, numbers by their bytes. Not for objects. */
bool tensor_equal(const struct tensor *a, const struct tensor *b);

static inline size_t tensor_bytes(const struct tensor *tensor)
{
    return (size_t)tensor->size * dtype_size(tensor->dtype);
}

/* The same, and the characters of strings. */
static inline size_t tensor_content_bytes(const struct tensor *tensor)
{
    size_t bytes = tensor_bytes(tensor);
    for (int64_t i = 0; tensor->dtype == DT_STRING && i < tensor->size; i++)
        bytes += ((const struct bytes *)tensor->data)[i].size;
    return bytes;
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
 * Element i of a tensor of any plain integer type: shapes, axes and indices have several types.
 * tensor_set_index keeps the low bits of a value that does not fit. Other types are asserted; in a
 * release build they read as 0, and nothing is written.
 */
int64_t tensor_index(const struct tensor *tensor, int64_t i);
void tensor_set_index(struct tensor *tensor, int64_t i, int64_t value);

/*
 * A pool of buffers by size class, for one run. It keeps buffers for the next run: after the first
 * run of a shape nothing is allocated. Any thread may release buffers; everything else belongs to
 * the thread of the run. limit_bytes: of all buffers handed out at once; 0: no limit.
 */
struct tensor_pool *tensor_pool_create(size_t limit_bytes);
/* Charges the pool's buffers to the budget, which must outlive them. Call it before the first
 * buffer. A buffer that is used again costs nothing. */
void tensor_pool_charge(struct tensor_pool *pool, struct budget *budget);
size_t tensor_pool_used(const struct tensor_pool *pool); /* bytes handed out at the moment */
/* Has tensor_pool_take failed because of the pool's own limit, since the last call of
 * tensor_pool_forget_limit? */
bool tensor_pool_hit_limit(const struct tensor_pool *pool);
void tensor_pool_forget_limit(struct tensor_pool *pool);
size_t tensor_pool_held(const struct tensor_pool *pool); /* those and the bytes of free buffers */
/* Call it after each run: if the pool holds much more than runs hand out at once, it frees the
 * buffers that the last runs did not use. */
void tensor_pool_settle(struct tensor_pool *pool);
void tensor_pool_destroy(struct tensor_pool *pool); /* buffers that are still in use stay valid */

#endif
