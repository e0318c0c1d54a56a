/*
 * table_handles: the ops that make lookup tables: HashTable, MutableHashTable, and those whose keys
 * or values are tensors: MutableHashTableOfTensors, MutableDenseHashTable. A table lives as long as
 * the servable, but an Anonymous one as long as its handle, which never outlives the run.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/state/hash_table.h"
#include "runtime/kernels/state/variable.h"

struct making {
    struct hash_table_kind kind;
    struct bytes container, name;
    int64_t buckets;
    float load;
};

/* A table without a shared name belongs to its node. */
static struct status read_names(struct prepare_context *p, struct making *making)
{
    const struct node *node = prepare_node(p);
    making->container = resource_name_attr(node, "container");
    making->name = resource_name_attr(node, "shared_name");
    if (making->name.size == 0)
        making->name = bytes_of(arena_printf(prepare_arena(p), "%s", node->name));
    return status_ok();
}

static struct status read_kind(struct prepare_context *p, struct making *making)
{
    const struct node *node = prepare_node(p);
    const struct shape *shape;
    making->kind.is_mutable = strstr(node->op_name, "Mutable") != NULL;
    making->kind.is_anonymous = strncmp(node->op_name, "Anonymous", strlen("Anonymous")) == 0;
    making->kind.key_shape = making->kind.value_shape = shape_scalar();
    TRY(node_attr_type(node, "key_dtype", &making->kind.key));
    TRY(node_attr_type(node, "value_dtype", &making->kind.value));
    if (op_attr_find(node->op, "value_shape") == NULL)
        return status_ok();
    TRY(node_attr_shape(node, "value_shape", &shape));
    if (!shape_is_known(shape))
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): value_shape %s is not known",
                            node->name, node->op_name, shape_text(shape));
    making->kind.value_shape = *shape;
    if (strstr(node->op_name, "OfTensors") != NULL && shape->rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Default value must be a vector, got shape %s",
                            shape_text(shape));
    return status_ok();
}

static struct status make(void *argument, struct object **out)
{
    return hash_table_create(argument, out);
}

static struct status find_or_make(struct resources *resources, const struct making *making,
                                  struct object **out)
{
    struct hash_table_kind kind = making->kind;
    TRY(resources_find_or_create(resources, &hash_table_type, making->container, making->name, make,
                                 &kind, out));
    const struct hash_table_kind *found = hash_table_kind((const struct hash_table *)*out);
    if (found->key == kind.key && found->value == kind.value &&
        found->is_mutable == kind.is_mutable && shape_equal(&found->key_shape, &kind.key_shape) &&
        shape_equal(&found->value_shape, &kind.value_shape))
        return status_ok();
    object_release(*out);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Conflicting key/value dtypes %s->%s with %s-%s for table %.*s",
                        dtype_name(kind.key), dtype_name(kind.value), dtype_name(found->key),
                        dtype_name(found->value), (int)making->name.size, making->name.data);
}

/* Takes over the reference. */
static struct status give_handle(struct kernel_context *k, struct object *table)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    struct status status = kernel_output_typed(k, 0, DT_RESOURCE, &scalar, &out);
    if (status_is_ok(status))
        tensor_resources_mut(out)[0] = table;
    else
        object_release(table);
    return status;
}

/* ---- tables of scalars and of vectors ---- */

static struct status named_prepare(struct prepare_context *p)
{
    struct object **table = prepare_state(p, sizeof *table, NULL);
    struct making making = { .buckets = 0 };
    TRY(read_names(p, &making));
    TRY(read_kind(p, &making));
    TRY(find_or_make(prepare_resources(p), &making, table));
    object_release(*table); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

static struct status named_compute(struct kernel_context *k)
{
    struct object *const *table = kernel_state(k);
    return give_handle(k, object_acquire(*table));
}

static struct status anonymous_prepare(struct prepare_context *p)
{
    struct making *making = prepare_state(p, sizeof *making, NULL);
    return read_kind(p, making);
}

static struct status anonymous_compute(struct kernel_context *k)
{
    const struct making *making = kernel_state(k);
    struct object *table;
    TRY(hash_table_create(&making->kind, &table));
    return give_handle(k, table);
}

/* ---- dense tables: two inputs say which keys no entry has, and their shape ---- */

static struct status dense_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct making *making = prepare_state(p, sizeof *making, NULL);
    TRY(read_names(p, making));
    TRY(read_kind(p, making));
    TRY(node_attr_int(node, "initial_num_buckets", &making->buckets));
    TRY(node_attr_float(node, "max_load_factor", &making->load));
    if (making->kind.value_shape.rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Empty value must be a scalar or a vector, got shape %s",
                            shape_text(&making->kind.value_shape));
    if (making->buckets < 4 || (making->buckets & (making->buckets - 1)) != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of buckets must be at least 4 and a power of 2, got: %lld",
                            (long long)making->buckets);
    if (!(making->load > 0 && making->load < 1))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "max_load_factor must be between 0 and 1, got: %g",
                            (double)making->load);
    return status_ok();
}

static struct status read_reserved(struct kernel_context *k, struct hash_table_kind *kind)
{
    kind->empty_key = kernel_input(k, 0);
    kind->key_shape = kind->empty_key->shape;
    if (kind->key_shape.rank > 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Empty key must be a scalar or a vector, got shape %s",
                            shape_text(&kind->key_shape));
    if (kind->empty_key->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Empty key must have elements, got shape %s",
                            shape_text(&kind->key_shape));
    if (kernel_inputs_count(k) < 2)
        return status_ok();
    kind->deleted_key = kernel_input(k, 1);
    if (!shape_equal(&kind->deleted_key->shape, &kind->key_shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Empty and deleted keys must have same shape, got shapes: %s and %s",
                            shape_text(&kind->key_shape), shape_text(&kind->deleted_key->shape));
    if (tensor_equal(kind->empty_key, kind->deleted_key))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Empty and deleted keys cannot be equal");
    return status_ok();
}

static struct status dense_compute(struct kernel_context *k)
{
    struct making making = *(const struct making *)kernel_state(k);
    struct object *table;
    TRY(read_reserved(k, &making.kind));
    if (making.kind.is_anonymous)
        TRY(hash_table_create(&making.kind, &table));
    else
        TRY(find_or_make(kernel_resources(k), &making, &table));
    return give_handle(k, table);
}

#define NAMED(op)                                                                        \
    {                                                                                    \
        op, DTYPES_ALL, .prepare = named_prepare, .compute = named_compute, .once = true \
    }
#define ANONYMOUS(op)                                                              \
    {                                                                              \
        op, DTYPES_ALL, .prepare = anonymous_prepare, .compute = anonymous_compute \
    }
#define DENSE(op)                                                          \
    {                                                                      \
        op, DTYPES_ALL, .prepare = dense_prepare, .compute = dense_compute \
    }
static const struct kernel rows[] = {
    NAMED("HashTable"),
    NAMED("HashTableV2"),
    NAMED("MutableHashTable"),
    NAMED("MutableHashTableV2"),
    NAMED("MutableHashTableOfTensors"),
    NAMED("MutableHashTableOfTensorsV2"),
    ANONYMOUS("AnonymousHashTable"),
    ANONYMOUS("AnonymousMutableHashTable"),
    ANONYMOUS("AnonymousMutableHashTableOfTensors"),
    DENSE("MutableDenseHashTable"),
    DENSE("MutableDenseHashTableV2"),
    DENSE("AnonymousMutableDenseHashTable"),
};
const struct kernel_table kernels_table_handles = { rows, COUNT(rows) };
