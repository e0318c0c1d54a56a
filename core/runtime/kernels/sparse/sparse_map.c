/*
 * sparse_map: AddSparseToTensorsMap, AddManySparseToTensorsMap and TakeManySparseFromTensorsMap. A
 * map keeps sparse tensors for later runs, or for later ops of a run; each has a number.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sparse/sparse_stack.h"
#include "runtime/kernels/state/variable.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

/* A sparse tensor of the map: deep copies. */
struct kept_sparse {
    int64_t number; /* the key */
    size_t bytes;
    struct sparse_parts parts;
};

struct sparse_map {
    struct object object;
    char *name;
    pthread_mutex_t lock; /* of all that follows */
    struct map map;       /* number -> struct kept_sparse */
    int64_t next;
    size_t bytes;
};

static void kept_destroy(struct kept_sparse *kept)
{
    sparse_parts_finish(&kept->parts);
    free(kept);
}

static void sparse_map_destroy(struct object *object)
{
    struct sparse_map *map = (struct sparse_map *)object;
    for (size_t i = 0; i < map->map.count; i++)
        if (map->map.entries[i].key.data != NULL)
            kept_destroy(map->map.entries[i].value);
    map_finish(&map->map);
    pthread_mutex_destroy(&map->lock);
    free(map->name);
    free(map);
}

static const struct object_type sparse_map_type = { "map of sparse tensors", sparse_map_destroy };

static struct status sparse_map_create(void *argument, struct object **out)
{
    const struct bytes *name = argument;
    struct sparse_map *map = zalloc(sizeof *map);
    map->object = (struct object){ .type = &sparse_map_type, .references = 1 };
    map->name = zalloc(name->size + 1);
    if (name->size > 0)
        memcpy(map->name, name->data, name->size);
    pthread_mutex_init(&map->lock, NULL);
    *out = &map->object;
    return status_ok();
}

/* A map without a shared name belongs to its node. */
static struct status map_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct object **map = prepare_state(p, sizeof *map, NULL);
    struct bytes name = resource_name_attr(node, "shared_name");
    if (name.size == 0)
        name = bytes_of(node->name);
    TRY(resources_find_or_create(prepare_resources(p), &sparse_map_type,
                                 resource_name_attr(node, "container"), name, sparse_map_create,
                                 &name, map));
    object_release(*map); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

static struct sparse_map *map_of(const struct kernel_context *k)
{
    struct sparse_map *const *map = kernel_state(k);
    return *map;
}

/* ---- adding ---- */

static size_t parts_bytes(const struct sparse_parts *parts)
{
    return sizeof(struct kept_sparse) + sizeof(struct map_entry) +
           3 * sizeof(struct tensor_buffer) + tensor_content_bytes(&parts->indices) +
           tensor_content_bytes(&parts->values) + tensor_content_bytes(&parts->shape);
}

static struct status copy_parts(const struct sparse_parts *from, struct sparse_parts *out)
{
    TRY(tensor_copy_deep(&from->indices, &out->indices));
    TRY(tensor_copy_deep(&from->values, &out->values));
    return tensor_copy_deep(&from->shape, &out->shape);
}

static struct status keep(struct kernel_context *k, struct sparse_map *map,
                          struct kept_sparse *kept)
{
    pthread_mutex_lock(&map->lock);
    struct status status = kernel_table_may_grow(k, map->bytes, kept->bytes);
    if (status_is_ok(status)) {
        kernel_table_grew(k, kept->bytes);
        map->bytes += kept->bytes;
        kept->number = map->next++;
        map_put(&map->map, (struct bytes){ (const char *)&kept->number, sizeof kept->number },
                kept);
    }
    pthread_mutex_unlock(&map->lock);
    return status;
}

/* Keeps a copy of the parts, and returns its index. */
static struct status add_parts(struct kernel_context *k, const struct sparse_parts *parts,
                               int64_t *number)
{
    TRY(kernel_keep(k, &parts->indices, NULL));
    TRY(kernel_keep(k, &parts->values, NULL));
    struct kept_sparse *kept = zalloc(sizeof *kept);
    kept->bytes = parts_bytes(parts);
    struct status status = copy_parts(parts, &kept->parts);
    if (status_is_ok(status))
        status = keep(k, map_of(k), kept);
    if (status_is_ok(status))
        *number = kept->number;
    else
        kept_destroy(kept);
    return status;
}

static struct status add_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1),
                        *shape = kernel_input(k, 2);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(sparse_parts_check(k));
    if (indices->shape.dims[0] != values->size)
        return INVALID("indices and values rows (indexing dimension) must match. (indices = "
                       "%" PRId64 ", values = %" PRId64 ")",
                       indices->shape.dims[0], values->size);
    if (indices->shape.dims[1] != shape->size)
        return INVALID("Order length must be SparseTensor rank.");
    TRY(kernel_output(k, 0, &scalar, &out));
    struct sparse_parts parts = { *indices, *values, *shape };
    return add_parts(k, &parts, tensor_int64s_mut(out));
}

struct row_adder {
    struct kernel_context *context;
    int64_t *numbers;
    bool adds_empty; /* only rows without values; otherwise only those with some */
    int64_t left;    /* rows that are not added yet */
};

static struct status add_row(void *argument, int64_t row, const struct sparse_parts *parts)
{
    struct row_adder *adder = argument;
    if ((parts->values.size == 0) != adder->adds_empty)
        return status_ok();
    adder->left--;
    return add_parts(adder->context, parts, &adder->numbers[row]);
}

/* As in TensorFlow, rows without values have the numbers after those of all others. */
static struct status add_rows(struct kernel_context *k, const struct sparse_input *sparse,
                              struct tensor *out)
{
    struct row_adder adder = { k, tensor_int64s_mut(out), .left = out->size };
    TRY(sparse_rows_each(k, sparse, add_row, &adder));
    adder.adds_empty = true;
    return adder.left > 0 ? sparse_rows_each(k, sparse, add_row, &adder) : status_ok();
}

static struct status add_many_compute(struct kernel_context *k)
{
    struct sparse_input sparse;
    struct tensor *out;
    TRY(sparse_parts_check(k));
    if (kernel_input(k, 2)->size < 2)
        return INVALID("Rank of input SparseTensor should be > 1, but saw rank: %" PRId64,
                       kernel_input(k, 2)->size);
    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    TRY(sparse_input_check_order(&sparse));
    struct shape numbers = shape_of(sparse.sizes[0]);
    TRY(kernel_output(k, 0, &numbers, &out));
    return add_rows(k, &sparse, out);
}

/* ---- taking ---- */

/* Moves the sparse tensor of a number out of the map. */
static struct status take(struct kernel_context *k, int64_t number, struct sparse_parts *out)
{
    struct sparse_map *map = map_of(k);
    pthread_mutex_lock(&map->lock);
    struct kept_sparse *kept =
        map_remove(&map->map, (struct bytes){ (const char *)&number, sizeof number });
    if (kept != NULL)
        map->bytes -= kept->bytes;
    pthread_mutex_unlock(&map->lock);
    if (kept == NULL)
        return INVALID("Unable to find SparseTensor: %" PRId64 " in map: %s", number, map->name);
    kernel_table_shrank(k, kept->bytes);
    *out = kept->parts;
    free(kept);
    return status_ok();
}

static struct status take_all(struct kernel_context *k, struct sparse_stack *stack)
{
    const int64_t *numbers = tensor_int64s(kernel_input(k, 0));
    for (int64_t i = 0; i < stack->count; i++)
        TRY(take(k, numbers[i], &stack->items[i]));
    for (int64_t i = 0; i < stack->count; i++) {
        enum dtype dtype = stack->items[i].values.dtype;
        if (dtype != stack->dtype)
            return INVALID("Requested SparseTensor of type %s but SparseTensor[%" PRId64
                           "].values.dtype() == %s",
                           dtype_name(stack->dtype), i, dtype_name(dtype));
        TRY(sparse_stack_add(stack, i, "rank", 1));
    }
    return sparse_stack_output(k, stack);
}

static struct status take_many_compute(struct kernel_context *k)
{
    const struct tensor *numbers = kernel_input(k, 0);
    struct sparse_stack stack = { .count = numbers->size, .outer = 1 };
    if (numbers->shape.rank != 1)
        return INVALID("sparse_handles should be a vector but received shape %s",
                       shape_text(&numbers->shape));
    if (numbers->size == 0)
        return INVALID("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    TRY(node_attr_type(kernel_node(k), "dtype", &stack.dtype));
    TRY(sparse_stack_create(k, &stack));
    struct status status = take_all(k, &stack);
    sparse_stack_finish(&stack);
    return status;
}

#define ON_MAP(op, type_attr, function)                                          \
    {                                                                            \
        op, DTYPES_MOVED, type_attr, .prepare = map_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    ON_MAP("AddSparseToTensorsMap", "T", add_compute),
    ON_MAP("AddManySparseToTensorsMap", "T", add_many_compute),
    ON_MAP("TakeManySparseFromTensorsMap", "dtype", take_many_compute),
};
const struct kernel_table kernels_sparse_map = { rows, COUNT(rows) };
