#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"
#include "tensor/tensor_block.h"
#include "tensor/tensor_pool.h"

static bool holds_objects(enum dtype dtype)
{
    return dtype == DT_RESOURCE || dtype == DT_VARIANT;
}

/* Objects may lie in each other as deep as a loop has turns. One that ends within another waits
 * until that has ended: recursion would need a stack of that depth. */
void object_release(struct object *object)
{
    static _Thread_local struct object *waiting;
    static _Thread_local bool is_ending;
    if (object == NULL ||
        atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1)
        return;
    object->next = waiting;
    waiting = object;
    if (is_ending)
        return;
    is_ending = true;
    while (waiting != NULL) {
        object = waiting;
        waiting = object->next;
        object->type->destroy(object);
    }
    is_ending = false;
}

static struct status too_large(enum dtype dtype, const struct shape *shape)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a tensor of type %s and shape %s",
                        dtype_name(dtype), shape_text(shape));
}

/* The buffer has room for the elements and `extra` bytes more. Strings and objects start empty. */
static struct status create(struct tensor_pool *pool, struct tensor_block *block, enum dtype dtype,
                            const struct shape *shape, size_t extra, struct tensor *out)
{
    assert(dtype_size(dtype) != 0);
    int64_t size;
    size_t bytes, total;
    if (!shape_fits(shape, &size) ||
        __builtin_mul_overflow((size_t)size, dtype_size(dtype), &bytes) ||
        __builtin_add_overflow(bytes, extra, &total))
        return too_large(dtype, shape);

    struct tensor_buffer *buffer;
    struct status status = status_ok();
    if (pool != NULL)
        status = tensor_pool_take(pool, total, &buffer);
    else if (!tensor_block_take(block, total, &buffer))
        status = tensor_buffer_create(total, &buffer);
    if (!status_is_ok(status))
        return status_in(status, "tensor of type %s and shape %s", dtype_name(dtype),
                         shape_text(shape));

    /* The buffer may be larger than requested, and may come from the pool. */
    UNPOISON(buffer->data, buffer->capacity);
    POISON((char *)buffer->data + total, buffer->capacity - total);
    buffer->object_count = holds_objects(dtype) ? size : 0;
    if (buffer->object_count > 0 || dtype == DT_STRING)
        memset(buffer->data, 0, bytes);
    *out = (struct tensor){
        .dtype = dtype, .shape = *shape, .size = size, .data = buffer->data, .buffer = buffer
    };
    return status_ok();
}

struct status tensor_create(enum dtype dtype, const struct shape *shape, struct tensor *out)
{
    return create(NULL, NULL, dtype, shape, 0, out);
}

struct status tensor_create_in(struct tensor_block *block, enum dtype dtype,
                               const struct shape *shape, struct tensor *out)
{
    return create(NULL, block, dtype, shape, 0, out);
}

struct status tensor_create_pooled(struct tensor_pool *pool, enum dtype dtype,
                                   const struct shape *shape, struct tensor *out)
{
    return create(pool, NULL, dtype, shape, 0, out);
}

struct status tensor_create_strings(const struct shape *shape, size_t characters_size,
                                    struct tensor *out, char **characters)
{
    TRY(create(NULL, NULL, DT_STRING, shape, characters_size, out));
    *characters = (char *)(tensor_strings_mut(out) + out->size);
    return status_ok();
}

struct tensor tensor_borrow(enum dtype dtype, const struct shape *shape, const void *data)
{
    return (struct tensor){
        .dtype = dtype, .shape = *shape, .size = shape_size(shape), .data = (void *)data
    };
}

bool tensor_is_aligned(const struct tensor *tensor)
{
    size_t size = dtype_size(tensor->dtype); /* complex numbers are pairs */
    return size == 0 || (uintptr_t)tensor->data % (size > 8 ? 8 : size) == 0;
}

static void buffer_free(struct tensor_buffer *buffer)
{
    struct object **objects = buffer->data;
    for (int64_t i = 0; i < buffer->object_count; i++)
        object_release(objects[i]);
    buffer->object_count = 0;
    POISON(buffer->data, buffer->capacity);
    if (buffer->pool != NULL)
        tensor_pool_give(buffer);
    else if (buffer->block != NULL)
        tensor_block_give(buffer);
    else
        free(buffer);
}

bool tensor_equal(const struct tensor *a, const struct tensor *b)
{
    if (a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
        return false;
    if (a->size == 0)
        return true;
    if (a->dtype != DT_STRING)
        return memcmp(a->data, b->data, tensor_bytes(a)) == 0;
    for (int64_t i = 0; i < a->size; i++)
        if (!bytes_equal(tensor_strings(a)[i], tensor_strings(b)[i]))
            return false;
    return true;
}

void tensor_release(struct tensor *tensor)
{
    struct tensor_buffer *buffer = tensor->buffer;
    /* Leaves dims, which rank 0 makes irrelevant: clearing all 136 bytes would dominate the
     * cost. */
    tensor->dtype = DT_INVALID;
    tensor->shape.rank = 0;
    tensor->size = 0;
    tensor->data = NULL;
    tensor->buffer = NULL;
    if (buffer == NULL)
        return;
    /* The only owner need not decrement: no other owner exists that could acquire. */
    if (atomic_load_explicit(&buffer->references, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) == 1)
        buffer_free(buffer);
}

void tensors_release(int64_t count, struct tensor *tensors)
{
    for (int64_t i = 0; i < count; i++)
        tensor_release(&tensors[i]);
}

static struct status copy_strings(const struct tensor *tensor, struct tensor *out)
{
    const struct bytes *from = tensor_strings(tensor);
    size_t characters = 0;
    for (int64_t i = 0; i < tensor->size; i++)
        characters += from[i].size;
    char *at;
    TRY(tensor_create_strings(&tensor->shape, characters, out, &at));
    struct bytes *to = tensor_strings_mut(out);
    for (int64_t i = 0; i < tensor->size; i++) {
        if (from[i].size > 0)
            memcpy(at, from[i].data, from[i].size);
        to[i] = (struct bytes){ at, from[i].size };
        at += from[i].size;
    }
    return status_ok();
}

struct status tensor_copy_deep(const struct tensor *tensor, struct tensor *out)
{
    if (tensor->dtype == DT_STRING)
        return copy_strings(tensor, out);
    TRY(create(NULL, NULL, tensor->dtype, &tensor->shape, 0, out));
    if (tensor->size > 0)
        memcpy(out->data, tensor->data, tensor_bytes(tensor));
    if (holds_objects(tensor->dtype)) {
        struct object **objects = out->data;
        for (int64_t i = 0; i < out->size; i++)
            object_acquire(objects[i]);
    }
    return status_ok();
}

int64_t tensor_index(const struct tensor *tensor, int64_t i)
{
    assert(i >= 0);
    assert(i < tensor->size);
    switch (tensor->dtype) {
    case DT_INT32:
        return tensor_int32s(tensor)[i];
    case DT_INT64:
    case DT_UINT64:
        return ((const int64_t *)tensor->data)[i];
    case DT_INT16:
        return ((const int16_t *)tensor->data)[i];
    case DT_UINT16:
        return ((const uint16_t *)tensor->data)[i];
    case DT_INT8:
    case DT_INT4: /* one per byte in memory */
    case DT_INT2:
        return ((const int8_t *)tensor->data)[i];
    case DT_UINT8:
    case DT_UINT4:
    case DT_UINT2:
        return ((const uint8_t *)tensor->data)[i];
    case DT_UINT32:
        return ((const uint32_t *)tensor->data)[i];
    default:
        assert(!"an integer type");
        return 0;
    }
}

void tensor_set_index(struct tensor *tensor, int64_t i, int64_t value)
{
    assert(i >= 0);
    assert(i < tensor->size);
    switch (tensor->dtype) {
    case DT_INT32:
    case DT_UINT32:
        ((uint32_t *)tensor->data)[i] = (uint32_t)value;
        break;
    case DT_INT64:
    case DT_UINT64:
        ((int64_t *)tensor->data)[i] = value;
        break;
    case DT_INT16:
    case DT_UINT16:
        ((uint16_t *)tensor->data)[i] = (uint16_t)value;
        break;
    case DT_INT8:
    case DT_UINT8:
    case DT_INT4:
    case DT_UINT4:
    case DT_INT2:
    case DT_UINT2:
        ((uint8_t *)tensor->data)[i] = (uint8_t)value;
        break;
    default:
        assert(!"an integer type");
    }
}
