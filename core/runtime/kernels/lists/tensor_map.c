/*
 * TensorMap: a scalar variant tensor that holds pairs of tensors. As with a TensorList
 * (tensor_list.h), an op that changes a map changes a copy if the map is shared. Keys are equal if
 * their types, shapes and bytes are. The pairs are in the order of insertion; TensorFlow's have no
 * order.
 */
#include "runtime/kernels/lists/tensor_map.h"

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/variant_sums.h"

struct map_pair {
    uint64_t hash; /* of the key */
    struct tensor key, value;
};

/* Keys are compared by their bytes, so they hold no objects. Values may, even other maps; a map
 * never holds itself, because an op that changes it makes another value. */
struct tensor_map {
    struct object object;
    int64_t count;
    struct map_pair *pairs;
    struct tensor pairs_of; /* the pooled buffer that holds them */
    struct tensor self;     /* the tensor that holds the map itself */
};

static void pair_release(struct map_pair *pair)
{
    tensor_release(&pair->key);
    tensor_release(&pair->value);
}

static void map_destroy(struct object *object)
{
    struct tensor_map *map = (struct tensor_map *)object;
    struct tensor self = map->self;
    for (int64_t i = 0; i < map->count; i++)
        pair_release(&map->pairs[i]);
    tensor_release(&map->pairs_of);
    tensor_release(&self); /* with it the map */
}

static const struct object_type tensor_map_type = { "tensorflow::TensorMap", map_destroy };

/* ---- the object ---- */

static struct status map_reserve(struct kernel_context *k, struct tensor_map *map, int64_t more)
{
    TRY(kernel_scratch_reserve(k, &map->pairs_of, map->count, more, sizeof *map->pairs));
    map->pairs = map->pairs_of.data;
    return status_ok();
}

static struct status map_create(struct kernel_context *k, struct tensor_map **out)
{
    struct shape size = shape_of((int64_t)sizeof(struct tensor_map));
    struct tensor self;
    TRY(kernel_scratch(k, DT_UINT8, &size, &self));
    *out = self.data;
    **out = (struct tensor_map){ .object = { .type = &tensor_map_type, .references = 1 },
                                 .self = self };
    return status_ok();
}

static struct status map_copy(struct kernel_context *k, const struct tensor_map *map,
                              struct tensor_map **out)
{
    struct tensor_map *copy;
    TRY(map_create(k, &copy));
    struct status status = map_reserve(k, copy, map->count);
    if (!status_is_ok(status)) {
        object_release(&copy->object);
        return status;
    }
    for (int64_t i = 0; i < map->count; i++)
        copy->pairs[i] = (struct map_pair){ .hash = map->pairs[i].hash,
                                            .key = tensor_acquire(&map->pairs[i].key),
                                            .value = tensor_acquire(&map->pairs[i].value) };
    copy->count = map->count;
    *out = copy;
    return status_ok();
}

/* ---- keys ---- */

static uint64_t hash_key(const struct tensor *key)
{
    if (key->dtype != DT_STRING)
        return bytes_hash((struct bytes){ key->data, key->size > 0 ? tensor_bytes(key) : 0 });
    uint64_t hash = 0;
    for (int64_t i = 0; i < key->size; i++)
        hash = hash * 31 + bytes_hash(tensor_strings(key)[i]);
    return hash;
}

/* Its place, or -1. */
static int64_t find_key(const struct tensor_map *map, const struct tensor *key, uint64_t hash)
{
    for (int64_t i = 0; i < map->count; i++)
        if (map->pairs[i].hash == hash && tensor_equal(&map->pairs[i].key, key))
            return i;
    return -1;
}

/* ---- inputs and outputs ---- */

static struct status map_at(struct kernel_context *k, int index, const struct tensor_map **out)
{
    const struct tensor *handle = kernel_input(k, index);
    if (handle->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Input map must be a scalar. Saw: %s",
                            shape_text(&handle->shape));
    const struct object *object = tensor_variants(handle)[0];
    if (object == NULL || object->type != &tensor_map_type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Input handle is not a map. Saw: '%s'",
                            object == NULL ? "<unknown>" : object->type->name);
    *out = (const struct tensor_map *)object;
    return status_ok();
}

static struct status map_input(struct kernel_context *k, const struct tensor_map **out)
{
    return map_at(k, 0, out);
}

/* The map in input 0, writable: the same map if nothing else uses it, otherwise a copy. Owner:
 * the caller. */
static struct status map_take(struct kernel_context *k, struct tensor_map **out)
{
    const struct tensor_map *map = NULL;
    TRY(map_input(k, &map));
    struct tensor handle = kernel_take_input(k, 0);
    struct object *object = tensor_variants_mut(&handle)[0];
    struct status status = status_ok();
    if (tensor_writable(&handle) &&
        atomic_load_explicit(&object->references, memory_order_acquire) == 1)
        *out = (struct tensor_map *)object_acquire(object);
    else
        status = map_copy(k, map, out);
    tensor_release(&handle);
    return status;
}

/* Takes over the map. */
static struct status map_output(struct kernel_context *k, struct tensor_map *map)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    struct status status = kernel_output(k, 0, &scalar, &out);
    if (status_is_ok(status))
        tensor_variants_mut(out)[0] = &map->object;
    else
        object_release(&map->object);
    return status;
}

/* ---- the ops ---- */

static struct status empty_compute(struct kernel_context *k)
{
    struct tensor_map *map = NULL;
    TRY(map_create(k, &map));
    return map_output(k, map);
}

static struct status size_compute(struct kernel_context *k)
{
    const struct tensor_map *map = NULL;
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(map_input(k, &map));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = (int32_t)map->count;
    return status_ok();
}

static struct status has_key_compute(struct kernel_context *k)
{
    const struct tensor_map *map = NULL;
    const struct tensor *key = kernel_input(k, 1);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(map_input(k, &map));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_bools_mut(out)[0] = find_key(map, key, hash_key(key)) >= 0;
    return status_ok();
}

static struct status lookup_compute(struct kernel_context *k)
{
    const struct tensor_map *map = NULL;
    const struct tensor *key = kernel_input(k, 1);
    TRY(map_input(k, &map));
    int64_t at = find_key(map, key, hash_key(key));
    if (at < 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to lookup non-existent key. Could not find key");
    const struct tensor *value = &map->pairs[at].value;
    enum dtype wanted = kernel_node(k)->outputs[0].dtype;
    if (value->dtype != wanted)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "the value is %s, not %s",
                            dtype_name(value->dtype), dtype_name(wanted));
    kernel_output_set(k, 0, tensor_acquire(value));
    return status_ok();
}

/* Takes over the pair, unless there is no room. */
static struct status add_pair(struct kernel_context *k, struct tensor_map *map,
                              const struct map_pair *pair)
{
    TRY(map_reserve(k, map, 1));
    map->pairs[map->count++] = *pair;
    return status_ok();
}

static struct status insert_compute(struct kernel_context *k)
{
    const struct tensor *key = kernel_input(k, 1);
    uint64_t hash = hash_key(key);
    struct tensor_map *map = NULL;
    TRY(map_take(k, &map));
    int64_t at = find_key(map, key, hash);
    if (at >= 0) {
        tensor_release(&map->pairs[at].value);
        map->pairs[at].value = kernel_take_input(k, 2);
        return map_output(k, map);
    }
    struct map_pair pair = { .hash = hash,
                             .key = kernel_take_input(k, 1),
                             .value = kernel_take_input(k, 2) };
    struct status status = add_pair(k, map, &pair);
    if (status_is_ok(status))
        return map_output(k, map);
    pair_release(&pair);
    object_release(&map->object);
    return status;
}

static struct status erase_compute(struct kernel_context *k)
{
    const struct tensor *key = kernel_input(k, 1);
    const struct tensor_map *given = NULL;
    struct tensor_map *map = NULL;
    TRY(map_input(k, &given));
    int64_t at = find_key(given, key, hash_key(key));
    if (at < 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to erase non-existent item. Could not find key");
    TRY(map_take(k, &map));
    pair_release(&map->pairs[at]);
    map->count--;
    memmove(map->pairs + at, map->pairs + at + 1, (size_t)(map->count - at) * sizeof *map->pairs);
    return map_output(k, map);
}

static struct status check_keys(struct kernel_context *k, const struct tensor_map *map)
{
    const struct tensor *first = &map->pairs[0].key;
    for (int64_t i = 0; i < map->count; i++) {
        const struct tensor *key = &map->pairs[i].key;
        if (key->dtype != kernel_node(k)->outputs[0].dtype)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Key does not match requested dtype.");
        if (!shape_equal(&key->shape, &first->shape))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Keys must all have the same shape.");
    }
    return kernel_check_rank(k, first->shape.rank + 1);
}

static struct status stack_keys_compute(struct kernel_context *k)
{
    const struct tensor_map *map = NULL;
    struct shape stacked = { .rank = 0 }, shape;
    struct tensor *out;
    TRY(map_input(k, &map));
    if (map->count == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "TensorMapStackKeys cannot be called on empty map.");
    TRY(check_keys(k, map));
    const struct tensor *first = &map->pairs[0].key;
    shape_append(&stacked, map->count);
    for (int d = 0; d < first->shape.rank; d++)
        shape_append(&stacked, first->shape.dims[d]);
    TRY(shape_check(stacked.rank, stacked.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    size_t row = (size_t)first->size * dtype_size(first->dtype);
    for (int64_t i = 0; i < map->count && first->size > 0; i++)
        copy_elements(out->dtype, (char *)out->data + (size_t)i * row, map->pairs[i].key.data,
                      first->size);
    return status_ok();
}

/* ---- AddN and ZerosLike ---- */

bool tensor_map_is_input(const struct kernel_context *k)
{
    const struct tensor *handle = kernel_input(k, 0);
    const struct object *object = handle->size == 1 ? tensor_variants(handle)[0] : NULL;
    return object != NULL && object->type == &tensor_map_type;
}

static struct status take_pair_along(struct kernel_context *k, struct tensor_map *map,
                                     const struct map_pair *pair)
{
    struct map_pair copy = { .hash = pair->hash,
                             .key = tensor_acquire(&pair->key),
                             .value = tensor_acquire(&pair->value) };
    struct status status = add_pair(k, map, &copy);
    if (!status_is_ok(status))
        pair_release(&copy);
    return status;
}

/* TensorFlow adds the later value first, which its error texts show. */
static struct status sum_pair(struct kernel_context *k, struct tensor_map *map,
                              const struct map_pair *pair)
{
    int64_t at = find_key(map, &pair->key, pair->hash);
    if (at < 0)
        return take_pair_along(k, map, pair);
    struct tensor sum = tensor_acquire(&pair->value);
    struct status status = variant_part_add(k, &sum, &map->pairs[at].value);
    if (!status_is_ok(status)) {
        tensor_release(&sum);
        return status;
    }
    tensor_release(&map->pairs[at].value);
    map->pairs[at].value = sum;
    return status_ok();
}

static struct status add_map(struct kernel_context *k, struct tensor_map *map,
                             const struct tensor_map *other)
{
    for (int64_t i = 0; i < other->count; i++) {
        TRY(kernel_check(k));
        TRY(sum_pair(k, map, &other->pairs[i]));
    }
    return status_ok();
}

struct status tensor_map_add_n(struct kernel_context *k)
{
    struct tensor_map *mine = NULL;
    TRY(map_take(k, &mine));
    for (int i = 1; i < kernel_inputs_count(k); i++) {
        const struct tensor_map *other = NULL;
        struct status status = map_at(k, i, &other);
        if (status_is_ok(status))
            status = add_map(k, mine, other);
        if (!status_is_ok(status)) {
            object_release(&mine->object);
            return status;
        }
    }
    return map_output(k, mine);
}

struct status tensor_map_zeros_like(struct kernel_context *k)
{
    return empty_compute(k);
}

static const struct kernel rows[] = {
    { "EmptyTensorMap", DTYPES_ALL, .compute = empty_compute },
    { "TensorMapSize", DTYPES_ALL, .compute = size_compute },
    { "TensorMapHasKey", DTYPES_MOVED, "key_dtype", .compute = has_key_compute },
    { "TensorMapLookup", DTYPES_MOVED, "key_dtype", .compute = lookup_compute },
    { "TensorMapInsert", DTYPES_MOVED, "key_dtype", .compute = insert_compute },
    { "TensorMapErase", DTYPES_MOVED, "key_dtype", .compute = erase_compute },
    { "TensorMapStackKeys", DTYPES_MOVED, "key_dtype", .compute = stack_keys_compute },
};
const struct kernel_table kernels_tensor_map = { rows, COUNT(rows) };
