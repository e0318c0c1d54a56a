/*
 * queue_ops: QueueEnqueue, QueueDequeue and the other ops on queues. Their first versions, which
 * pass the queue as a reference, share the kernels of the second. queue_handles.c makes the queues.
 */
#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/queues/queue.h"
#include "runtime/kernels/state/variable.h"

#define INVALID(...) kernel_error(k, STATUS_INVALID_ARGUMENT, __VA_ARGS__)

static struct status input_queue(struct kernel_context *k, struct queue **out)
{
    const struct tensor *handle = kernel_input(k, 0);
    struct object *object = NULL;
    if (handle->dtype == DT_RESOURCE && handle->size == 1)
        object = ((struct object *const *)handle->data)[0];
    if (object == NULL || object->type != &queue_type)
        return INVALID("input 0 is not the handle of a queue");
    *out = (struct queue *)object;
    return status_ok();
}

/* TensorFlow knows no deadline of a single op either. */
static struct status timeout_prepare(struct prepare_context *p)
{
    int64_t timeout_ms;
    TRY(node_attr_int(prepare_node(p), "timeout_ms", &timeout_ms));
    return timeout_ms == -1 ? status_ok()
                            : status_error(STATUS_INVALID_ARGUMENT, "Timeout not supported yet.");
}

/* ---- enqueue ---- */

/* "resource, int32->float", as TensorFlow writes the types of a node. */
static const char *signature_text(struct kernel_context *k, const enum dtype *inputs,
                                  int inputs_count, const enum dtype *outputs, int outputs_count)
{
    struct arena *arena = kernel_arena(k);
    bool is_ref = kernel_node(k)->op->inputs[0].is_ref;
    return arena_printf(arena, "%s%s%s->%s", is_ref ? "string_ref" : "resource",
                        inputs_count > 0 ? ", " : "", queue_types_text(arena, inputs, inputs_count),
                        queue_types_text(arena, outputs, outputs_count));
}

static bool same_types(const enum dtype *a, int a_count, const enum dtype *b, int b_count)
{
    return a_count == b_count && memcmp(a, b, (size_t)a_count * sizeof *a) == 0;
}

static struct status check_inputs(struct kernel_context *k, const struct queue_kind *kind)
{
    int count = kernel_inputs_count(k) - 1;
    enum dtype *types = ARENA_ARRAY(kernel_arena(k), enum dtype, count + 1);
    for (int i = 0; i < count; i++)
        types[i] = kernel_input(k, i + 1)->dtype;
    if (same_types(types, count, kind->dtypes, kind->count))
        return status_ok();
    return INVALID("Signature mismatch, have: %s expected: %s",
                   signature_text(k, types, count, NULL, 0),
                   signature_text(k, kind->dtypes, kind->count, NULL, 0));
}

/* `batch`: the first dimension of each component counts rows; otherwise -1. */
static struct status check_part(struct kernel_context *k, const struct queue_kind *kind, int i,
                                int64_t batch)
{
    const struct shape *shape = &kernel_input(k, i + 1)->shape;
    struct shape wanted = shape_scalar();
    if (kind->shapes == NULL) {
        if (batch < 0 || (shape->rank > 0 && shape->dims[0] == batch))
            return status_ok();
        return INVALID("All input tensors must have the same size in the 0th dimension. Component "
                       "%d has %lld, and should have %lld",
                       i, (long long)(shape->rank > 0 ? shape->dims[0] : 1), (long long)batch);
    }
    TRY(kernel_check_rank(k, kind->shapes[i].rank + 1));
    if (batch >= 0)
        shape_append(&wanted, batch);
    for (int d = 0; d < kind->shapes[i].rank; d++)
        shape_append(&wanted, kind->shapes[i].dims[d]);
    if (shape_compatible(shape, &wanted))
        return status_ok();
    return INVALID("Shape mismatch in tuple component %d. Expected %s, got %s", i,
                   shape_text(&wanted), shape_text(shape));
}

static struct status check_parts(struct kernel_context *k, const struct queue *queue, int64_t batch)
{
    const struct queue_kind *kind = queue_kind(queue);
    for (int i = 0; i < kind->count; i++)
        TRY(check_part(k, kind, i, batch));
    return status_ok();
}

static struct status give(struct kernel_context *k, struct queue *queue, int64_t batch)
{
    struct queue_rows rows = { 0 };
    TRY(queue_rows_copy(k, queue_bytes(queue), queue_kind(queue)->policy->has_priorities, 1, batch,
                        &rows));
    return queue_give(k, queue, &rows);
}

static struct status enqueue_compute(struct kernel_context *k)
{
    struct queue *queue;
    TRY(input_queue(k, &queue));
    TRY(check_inputs(k, queue_kind(queue)));
    TRY(check_parts(k, queue, -1));
    return give(k, queue, -1);
}

static struct status enqueue_many_compute(struct kernel_context *k)
{
    const struct tensor *first = kernel_input(k, 1);
    struct queue *queue;
    TRY(input_queue(k, &queue));
    TRY(check_inputs(k, queue_kind(queue)));
    if (first->shape.rank < 1)
        return INVALID("EnqueueMany requires tensors of rank 1 or more, not a scalar");
    TRY(check_parts(k, queue, first->shape.dims[0]));
    return give(k, queue, first->shape.dims[0]);
}

/* ---- dequeue ---- */

static struct status check_outputs(struct kernel_context *k, const struct queue_kind *kind)
{
    static const enum dtype of_n = DT_INT32;
    int count = kernel_outputs_count(k), inputs = kernel_inputs_count(k) - 1;
    enum dtype *types = ARENA_ARRAY(kernel_arena(k), enum dtype, count + 1);
    for (int i = 0; i < count; i++)
        types[i] = kernel_node(k)->outputs[i].dtype;
    if (same_types(types, count, kind->dtypes, kind->count))
        return status_ok();
    return INVALID("Signature mismatch, have: %s expected: %s",
                   signature_text(k, &of_n, inputs, types, count),
                   signature_text(k, &of_n, inputs, kind->dtypes, kind->count));
}

static struct status dequeue_compute(struct kernel_context *k)
{
    struct queue_rows rows = { 0 };
    struct queue *queue;
    TRY(input_queue(k, &queue));
    TRY(check_outputs(k, queue_kind(queue)));
    struct status status = queue_take(k, queue, TAKE_ONE, 1, &rows);
    for (int i = 0; i < kernel_outputs_count(k) && status_is_ok(status); i++) {
        kernel_output_set(k, i, rows.at[0]->parts[i]);
        rows.at[0]->parts[i] = (struct tensor){ 0 };
    }
    queue_rows_finish(&rows);
    return status;
}

/* A dimension of a component; if its kind leaves it open, the largest of all rows. */
static int64_t batch_dim(const struct queue_kind *kind, const struct queue_rows *rows, int part,
                         int d)
{
    int64_t dim = kind->shapes[part].dims[d];
    if (dim >= 0)
        return dim;
    dim = 0;
    for (int64_t i = 0; i < rows->count; i++)
        if (rows->at[i]->parts[part].shape.dims[d] > dim)
            dim = rows->at[i]->parts[part].shape.dims[d];
    return dim;
}

static struct status batch_output(struct kernel_context *k, const struct queue_kind *kind,
                                  const struct queue_rows *rows, int part, struct tensor **out)
{
    struct shape shape = shape_of(rows->count);
    TRY(kernel_check_rank(k, kind->shapes[part].rank + 1));
    for (int d = 0; d < kind->shapes[part].rank; d++)
        shape_append(&shape, batch_dim(kind, rows, part, d));
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return kernel_output(k, part, &shape, out);
}

/* Copies a row to the beginning of row `at` of `out`; the rest of that row stays unchanged. */
static void copy_padded(const struct tensor *row, struct tensor *out, int64_t at)
{
    size_t element = dtype_size(out->dtype);
    int rank = row->shape.rank;
    int64_t run = rank > 0 ? row->shape.dims[rank - 1] : 1;
    int64_t runs = run > 0 ? row->size / run : 0;
    for (int64_t i = 0; i < runs; i++) {
        int64_t rest = i, to = 0, scale = rank > 0 ? out->shape.dims[rank] : 1;
        for (int d = rank - 2; d >= 0; d--) {
            to += rest % row->shape.dims[d] * scale;
            rest /= row->shape.dims[d];
            scale *= out->shape.dims[d + 1];
        }
        to += at * shape_inner(&out->shape, 0);
        memcpy((char *)out->data + (size_t)to * element,
               (const char *)row->data + (size_t)(i * run) * element, (size_t)run * element);
    }
}

static struct status batch_part(struct kernel_context *k, const struct queue_kind *kind,
                                const struct queue_rows *rows, int part)
{
    struct tensor *out;
    TRY(batch_output(k, kind, rows, part, &out));
    if (kind->policy->pads && out->dtype != DT_STRING && out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < rows->count; i++)
        copy_padded(&rows->at[i]->parts[part], out, i);
    return out->dtype == DT_STRING ? kernel_keep_strings(k, out) : status_ok();
}

static struct status dequeue_many(struct kernel_context *k, enum queue_taking taking)
{
    const struct tensor *wanted = kernel_input(k, 1);
    struct queue_rows rows = { 0 };
    struct queue *queue;
    TRY(input_queue(k, &queue));
    const struct queue_kind *kind = queue_kind(queue);
    if (wanted->size < 1)
        return INVALID("n must be a number, not of shape %s", shape_text(&wanted->shape));
    int64_t count = tensor_index(wanted, 0);
    if (count < 0)
        return INVALID("Dequeue%sOp requested %lld < 0 elements",
                       taking == TAKE_UP_TO ? "UpTo" : "Many", (long long)count);
    TRY(check_outputs(k, kind));
    if (kind->shapes == NULL)
        return INVALID("%s's DequeueMany and DequeueUpTo require the components to have specified "
                       "shapes.",
                       kind->policy->name);
    struct status status = queue_take(k, queue, taking, count, &rows);
    for (int i = 0; i < kind->count && status_is_ok(status); i++)
        status = batch_part(k, kind, &rows, i);
    queue_rows_finish(&rows);
    return status;
}

static struct status dequeue_many_compute(struct kernel_context *k)
{
    return dequeue_many(k, TAKE_MANY);
}

static struct status dequeue_up_to_compute(struct kernel_context *k)
{
    return dequeue_many(k, TAKE_UP_TO);
}

/* ---- the rest ---- */

static struct status close_prepare(struct prepare_context *p)
{
    bool *cancels = prepare_state(p, sizeof *cancels, NULL);
    return node_attr_bool(prepare_node(p), "cancel_pending_enqueues", cancels);
}

static struct status close_compute(struct kernel_context *k)
{
    const bool *cancels = kernel_state(k);
    struct queue *queue;
    TRY(input_queue(k, &queue));
    return queue_close(k, queue, *cancels);
}

static struct status is_closed_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct queue *queue;
    struct tensor *out;
    TRY(input_queue(k, &queue));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_bools_mut(out)[0] = queue_is_closed(queue);
    return status_ok();
}

static struct status size_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct queue *queue;
    struct tensor *out;
    TRY(input_queue(k, &queue));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = (int32_t)queue_size(queue);
    return status_ok();
}

#define BOTH(name, ...)                    \
    { name, DTYPES_ALL, __VA_ARGS__ },     \
    {                                      \
        name "V2", DTYPES_ALL, __VA_ARGS__ \
    }
#define WAITS .prepare = timeout_prepare, .costly = true
static const struct kernel rows[] = {
    BOTH("QueueEnqueue", WAITS, .compute = enqueue_compute),
    BOTH("QueueEnqueueMany", WAITS, .compute = enqueue_many_compute),
    BOTH("QueueDequeue", WAITS, .compute = dequeue_compute),
    BOTH("QueueDequeueMany", WAITS, .compute = dequeue_many_compute),
    BOTH("QueueDequeueUpTo", WAITS, .compute = dequeue_up_to_compute),
    BOTH("QueueClose", .prepare = close_prepare, .compute = close_compute, .costly = true),
    BOTH("QueueIsClosed", .compute = is_closed_compute),
    BOTH("QueueSize", .compute = size_compute),
};
const struct kernel_table kernels_queue_ops = { rows, COUNT(rows) };
