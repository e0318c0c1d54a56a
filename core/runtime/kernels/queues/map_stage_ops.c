/* map_stage_ops: MapStage, OrderedMapStage and the other ops on a staging map, which they find by
 * its name. */
#include <string.h>

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/queues/staging_map.h"
#include "runtime/kernels/state/variable.h"

#define INVALID(...) kernel_error(k, STATUS_INVALID_ARGUMENT, __VA_ARGS__)

struct map_making {
    struct staging_map_kind kind;
    struct bytes name;
};

static struct status make_map(void *argument, struct object **out)
{
    const struct map_making *making = argument;
    staging_map_create(&making->kind, making->name, out);
    return status_ok();
}

/* A map without a shared name belongs to its node. The first op that names it decides its limits,
 * and the first one that gives tensors decides how many a row has: those that take may declare
 * fewer. */
static struct status map_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct object **map = prepare_state(p, sizeof *map, NULL);
    struct map_making making = {
        { .is_ordered = strncmp(node->op_name, "Ordered", 7) == 0 },
        resource_name_attr(node, "shared_name"),
    };
    const struct attr_value *types;
    TRY(node_attr_int(node, "capacity", &making.kind.capacity));
    TRY(node_attr_int(node, "memory_limit", &making.kind.memory_limit));
    TRY(node_attr_list_of(node, "dtypes", ATTR_TYPE, &types));
    if (making.name.size == 0)
        making.name = bytes_of(arena_printf(prepare_arena(p), "%s", node->name));
    TRY(resources_find_or_create(prepare_resources(p), staging_map_type(making.kind.is_ordered),
                                 resource_name_attr(node, "container"), making.name, make_map,
                                 &making, map));
    if (node->inputs_count > 2) /* values */
        staging_map_set_width((struct staging_map *)*map, types->count);
    object_release(*map); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

static struct staging_map *map_of(const struct kernel_context *k)
{
    struct staging_map *const *map = kernel_state(k);
    return *map;
}

/* The key in input 0, and the indices in the next one, of `count` tensors. Without a key, the
 * indices are input 0. */
static struct status read_part(struct kernel_context *k, bool has_key, int count,
                               struct staged_part *out)
{
    const struct tensor *key = kernel_input(k, 0), *indices = kernel_input(k, has_key ? 1 : 0);
    if (has_key && key->size != 1)
        return INVALID("key must be one number, not of shape %s", shape_text(&key->shape));
    if (indices->size > 0 && indices->size != count)
        return INVALID("%lld indices for %d tensors", (long long)indices->size, count);
    *out = (struct staged_part){ .key = has_key ? tensor_int64s(key) : NULL,
                                 .indices = tensor_int32s(indices),
                                 .count = (int)indices->size };
    return status_ok();
}

#define VALUES_AT 2 /* of the inputs of an op that gives */

static struct status give_compute(struct kernel_context *k)
{
    struct staging_map *map = map_of(k);
    struct staged_part part;
    struct queue_rows rows = { 0 };
    TRY(read_part(k, true, kernel_inputs_count(k) - VALUES_AT, &part));
    TRY(queue_check_limit(k, VALUES_AT, staging_map_memory_limit(map)));
    TRY(queue_rows_copy(k, staging_map_bytes(map), false, VALUES_AT, -1, &rows));
    struct queue_row *row = rows.at[--rows.count];
    queue_rows_finish(&rows);
    return staging_map_give(k, map, &part, row);
}

static struct status take_part(struct kernel_context *k, bool has_key, bool keeps)
{
    struct staged_part part;
    struct queue_row *row;
    struct shape scalar = shape_scalar();
    struct tensor *out;
    int64_t key;
    int first = has_key ? 0 : 1;
    TRY(read_part(k, has_key, kernel_outputs_count(k) - first, &part));
    if (!has_key)
        TRY(kernel_output(k, 0, &scalar, &out));
    TRY(staging_map_take(k, map_of(k), &part, first, keeps, &key, &row));
    if (!has_key)
        tensor_int64s_mut(out)[0] = key;
    for (int i = 0; i < row->count; i++)
        kernel_output_set(k, first + i, tensor_acquire(&row->parts[i]));
    queue_row_destroy(row);
    return status_ok();
}

static struct status peek_compute(struct kernel_context *k)
{
    return take_part(k, true, true);
}

static struct status take_compute(struct kernel_context *k)
{
    return take_part(k, true, false);
}

static struct status take_any_compute(struct kernel_context *k)
{
    return take_part(k, false, false);
}

static struct status output_size(struct kernel_context *k, bool is_complete)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = (int32_t)staging_map_size(map_of(k), is_complete);
    return status_ok();
}

static struct status size_compute(struct kernel_context *k)
{
    return output_size(k, true);
}

static struct status incomplete_size_compute(struct kernel_context *k)
{
    return output_size(k, false);
}

static struct status clear_compute(struct kernel_context *k)
{
    staging_map_clear(map_of(k));
    return status_ok();
}

#define STAGING(op, function)                                                         \
    {                                                                                 \
        op, DTYPES_ALL, .prepare = map_prepare, .compute = (function), .costly = true \
    }
#define STAGING_MAP(prefix)                                                            \
    STAGING(prefix "MapStage", give_compute), STAGING(prefix "MapPeek", peek_compute), \
        STAGING(prefix "MapUnstage", take_compute),                                    \
        STAGING(prefix "MapUnstageNoKey", take_any_compute),                           \
        STAGING(prefix "MapSize", size_compute),                                       \
        STAGING(prefix "MapIncompleteSize", incomplete_size_compute),                  \
        STAGING(prefix "MapClear", clear_compute)
static const struct kernel rows[] = { STAGING_MAP(""), STAGING_MAP("Ordered") };
const struct kernel_table kernels_map_stage_ops = { rows, COUNT(rows) };
