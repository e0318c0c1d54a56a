/*
 * stage_ops: Stage, Unstage and the other ops on a staging area: a queue of rows of any shape,
 * which they find by its name.
 */
#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/queues/queue.h"
#include "runtime/kernels/state/variable.h"

#define INVALID(...) kernel_error(k, STATUS_INVALID_ARGUMENT, __VA_ARGS__)

struct area_making {
    struct queue_kind kind;
    struct bytes name;
};

static struct status make_area(void *argument, struct object **out)
{
    const struct area_making *making = argument;
    queue_create(&making->kind, making->name, out);
    return status_ok();
}

/* An area without a shared name belongs to its node. The first op that names it decides its
 * limits. */
static struct status area_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct object **area = prepare_state(p, sizeof *area, NULL);
    struct area_making making = { { .policy = queue_policy_find("StagingArea") },
                                  resource_name_attr(node, "shared_name") };
    TRY(node_attr_int(node, "capacity", &making.kind.capacity));
    TRY(node_attr_int(node, "memory_limit", &making.kind.memory_limit));
    if (making.kind.capacity == 0)
        making.kind.capacity = INT32_MAX;
    if (making.name.size == 0)
        making.name = bytes_of(arena_printf(prepare_arena(p), "%s", node->name));
    TRY(resources_find_or_create(prepare_resources(p), making.kind.policy->type,
                                 resource_name_attr(node, "container"), making.name, make_area,
                                 &making, area));
    object_release(*area); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

static struct queue *area_of(const struct kernel_context *k)
{
    struct queue *const *area = kernel_state(k);
    return *area;
}

static struct status stage_compute(struct kernel_context *k)
{
    struct queue *area = area_of(k);
    struct queue_rows rows = { 0 };
    TRY(queue_check_limit(k, 0, queue_kind(area)->memory_limit));
    TRY(queue_rows_copy(k, queue_bytes(area), false, 0, -1, &rows));
    return queue_give(k, area, &rows);
}

/* Gives the outputs a row's tensors, shared with the row. */
static struct status output_row(struct kernel_context *k, const struct queue_row *row)
{
    int count = kernel_outputs_count(k);
    if (row->count != count)
        return INVALID("Mismatch stage/unstage: %d vs. %d", row->count, count);
    for (int i = 0; i < count; i++) {
        enum dtype wanted = kernel_node(k)->outputs[i].dtype;
        if (row->parts[i].dtype != wanted)
            return INVALID("component %d of a row is of type %s, not %s", i,
                           dtype_name(row->parts[i].dtype), dtype_name(wanted));
    }
    for (int i = 0; i < count; i++)
        kernel_output_set(k, i, tensor_acquire(&row->parts[i]));
    return status_ok();
}

static struct status unstage_compute(struct kernel_context *k)
{
    struct queue_rows rows = { 0 };
    struct status status = queue_take(k, area_of(k), TAKE_ONE, 1, &rows);
    if (status_is_ok(status))
        status = output_row(k, rows.at[0]);
    queue_rows_finish(&rows);
    return status;
}

static struct status peek_compute(struct kernel_context *k)
{
    const struct tensor *index = kernel_input(k, 0);
    struct queue_row *row;
    if (index->size != 1)
        return INVALID("index must be scalar");
    if (tensor_index(index, 0) < 0)
        return INVALID("index must be at least 0, not %lld", (long long)tensor_index(index, 0));
    TRY(queue_peek(k, area_of(k), tensor_index(index, 0), &row));
    struct status status = output_row(k, row);
    queue_row_destroy(row);
    return status;
}

static struct status size_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = (int32_t)queue_size(area_of(k));
    return status_ok();
}

static struct status clear_compute(struct kernel_context *k)
{
    queue_clear(area_of(k));
    return status_ok();
}

#define AREA(op, ...)                                                        \
    {                                                                        \
        op, DTYPES_ALL, .prepare = area_prepare, .costly = true, __VA_ARGS__ \
    }
static const struct kernel rows[] = {
    AREA("Stage", .compute = stage_compute),      AREA("Unstage", .compute = unstage_compute),
    AREA("StagePeek", .compute = peek_compute),   AREA("StageSize", .compute = size_compute),
    AREA("StageClear", .compute = clear_compute),
};
const struct kernel_table kernels_stage_ops = { rows, COUNT(rows) };
