/* Padded batches, and windows: datasets whose elements are datasets. */
#include <string.h>

#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- PaddedBatch ---- */

struct padded_rows {
    struct tensors rows; /* of the elements, one after the other */
};

/* The inputs: the dataset, batch_size, then a shape and a value for each component. */
#define SHAPES_AT 2

static struct status check_padding(struct kernel_context *k, const struct run_dataset *dataset,
                                   int i)
{
    const struct tensor *shape = &dataset->inputs[SHAPES_AT + i],
                        *value = &dataset->inputs[SHAPES_AT + dataset->count + i];
    if (shape->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "All padded shapes must be vectors");
    TRY(kernel_check_rank(k, shape->size + 1));
    if (value->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "All padding values must be scalars");
    if (value->dtype != dataset->shape->dtypes[i] || value->dtype == DT_VARIANT ||
        value->dtype == DT_RESOURCE)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "a padding value of %s for component %d of %s",
                            dtype_name(value->dtype), i, dtype_name(dataset->shape->dtypes[i]));
    return status_ok();
}

static struct status padded_check(struct kernel_context *k, struct run_dataset *dataset)
{
    int last = dataset->inputs_count - 1;
    int64_t shapes;
    TRY(dataset_check_number(k, dataset, 1, "Batch size", 1));
    TRY(node_attr_int(dataset->shape->node, "N", &shapes));
    if (shapes != dataset->count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "%lld padded shapes for elements of %d tensors", (long long)shapes,
                            dataset->count);
    for (int i = 0; i < dataset->count; i++)
        TRY(check_padding(k, dataset, i));
    return last > SHAPES_AT + 2 * dataset->count - 1
               ? dataset_check_flag(k, dataset, last, "drop_remainder")
               : status_ok();
}

/* The ops of the first version keep what remains. */
static bool padded_drops(const struct run_dataset *dataset)
{
    int last = dataset->inputs_count - 1;
    return last > SHAPES_AT + 2 * dataset->count - 1 && dataset_flag(dataset, last);
}

static struct status grow_shape(struct kernel_context *k, const struct tensor *padded,
                                const struct tensor *row, int component, struct shape *shape)
{
    if (row->shape.rank != padded->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "All elements in a batch must have the same rank as the padded shape "
                            "for component%d: expected rank %lld but got element with rank %d",
                            component, (long long)padded->size, row->shape.rank);
    for (int i = 0; i < row->shape.rank; i++) {
        int64_t fixed = tensor_int64s(padded)[i], dim = row->shape.dims[i];
        if (fixed >= 0 && dim > fixed)
            return kernel_error(k, STATUS_DATA_LOSS,
                                "Attempted to pad to a smaller size than the input element.");
        if (dim > shape->dims[i + 1])
            shape->dims[i + 1] = dim;
    }
    return status_ok();
}

/* The shape of a batch: of a component, each dimension as its padded shape says, or the largest. */
static struct status padded_shape(struct kernel_context *k, const struct run_dataset *dataset,
                                  const struct tensors *rows, int component, struct shape *out)
{
    const struct tensor *padded = &dataset->inputs[SHAPES_AT + component];
    int width = dataset->count;
    *out = shape_of(rows->count / width);
    for (int64_t i = 0; i < padded->size; i++) {
        int64_t fixed = tensor_int64s(padded)[i];
        shape_append(out, fixed > 0 ? fixed : 0);
    }
    for (int64_t i = component; i < rows->count; i += width)
        TRY(grow_shape(k, padded, &rows->at[i], component, out));
    return status_ok();
}

/* Copies a tensor into the corner of row `index` of a batch. */
static void copy_corner(const struct tensor *from, struct tensor *batch, int64_t index)
{
    const int64_t *dims = from->shape.dims, *wide = batch->shape.dims + 1;
    int last = from->shape.rank - 1;
    int64_t run = last >= 0 ? dims[last] : 1, runs = run > 0 ? from->size / run : 0,
            row = batch->size / batch->shape.dims[0];
    size_t bytes = dtype_size(from->dtype);
    for (int64_t r = 0; r < runs; r++) {
        int64_t at = 0, rest = r, stride = last >= 0 ? wide[last] : 1;
        for (int d = last - 1; d >= 0; d--) {
            at += rest % dims[d] * stride;
            rest /= dims[d];
            stride *= wide[d];
        }
        copy_elements(from->dtype, (char *)batch->data + (size_t)(index * row + at) * bytes,
                      (const char *)from->data + (size_t)(r * run) * bytes, run);
    }
}

static struct status stack_padded(struct kernel_context *k, const struct run_dataset *dataset,
                                  const struct tensors *rows, int component, struct tensor *out)
{
    const struct tensor *value = &dataset->inputs[SHAPES_AT + dataset->count + component];
    struct shape shape;
    int64_t size;
    TRY(padded_shape(k, dataset, rows, component, &shape));
    if (!shape_fits(&shape, &size))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "a padded batch of shape %s",
                            shape_text(&shape));
    TRY(kernel_scratch(k, value->dtype, &shape, out));
    repeat_element(out->data, dtype_size(value->dtype), value->data, out->size);
    for (int64_t i = 0; i < shape.dims[0]; i++)
        copy_corner(&rows->at[i * dataset->count + component], out, i);
    return status_ok();
}

static struct status padded_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct tensors *rows = &((struct padded_rows *)iterator->state)->rows;
    tensors_clear(rows); /* of a call that failed */
    TRY(iterator_collect(k, iterator, rows, dataset_number(dataset, 1), end));
    *end = rows->count == 0 ||
           (padded_drops(dataset) && rows->count / dataset->count < dataset_number(dataset, 1));
    struct status status = status_ok();
    for (int i = 0; !*end && i < dataset->count; i++) {
        status = stack_padded(k, dataset, rows, i, &element[i]);
        if (!status_is_ok(status)) {
            tensors_release(i, element);
            break;
        }
    }
    tensors_clear(rows);
    return status;
}

static void padded_finish(struct iterator *iterator)
{
    tensors_finish(&((struct padded_rows *)iterator->state)->rows);
}

static int64_t padded_cardinality(const struct run_dataset *dataset)
{
    return dataset_count_batches(dataset, dataset_number(dataset, 1), padded_drops(dataset));
}

/* ---- the dataset of a window: its inputs are the elements ---- */

static struct status held_next(struct kernel_context *k, struct iterator *iterator,
                               struct tensor *element, bool *end)
{
    (void)k;
    const struct run_dataset *dataset = iterator->dataset;
    int *at = iterator->state;
    *end = *at >= dataset->inputs_count;
    if (*end)
        return status_ok();
    tensors_acquire(dataset->count, dataset->inputs + *at, element);
    *at += dataset->count;
    return status_ok();
}

static const struct dataset_kind held_kind = { .next = held_next, .iterator_bytes = sizeof(int) };
static const struct dataset_shape held_shape = { .kind = &held_kind };

struct status dataset_hold(struct kernel_context *k, int width, struct tensors *elements,
                           struct tensor *out)
{
    struct run_dataset *made;
    if (elements->count > INT32_MAX / 2)
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "a window of %lld elements",
                            (long long)(elements->count / width));
    int count = (int)elements->count;
    elements->count = 0;
    TRY(dataset_create(k, &held_shape, count, elements->at, &made));
    made->count = width;
    made->cardinality = count / width;
    return dataset_box(k, made, out);
}

/* ---- Window, and SlidingWindow, whose elements are batches ---- */

struct dataset_window {
    struct tensors buffer; /* elements, one after the other */
    bool input_ended;
};

/* Its drop_remainder is an attribute, not an input. */
static bool is_sliding(const struct run_dataset *dataset)
{
    return dataset->inputs_count == 4;
}

static struct status window_check(struct kernel_context *k, struct run_dataset *dataset)
{
    bool sliding = is_sliding(dataset);
    TRY(dataset_check_number(k, dataset, 1, "Window size", 1));
    TRY(dataset_check_number(k, dataset, 2, "Window shift", 1));
    TRY(dataset_check_number(k, dataset, 3, sliding ? "window_stride" : "Window stride", 1));
    return sliding ? status_ok() : dataset_check_flag(k, dataset, 4, "drop_remainder");
}

static bool window_drops(const struct run_dataset *dataset)
{
    bool drops = true;
    if (!is_sliding(dataset))
        return dataset_flag(dataset, 4);
    status_ignore(node_attr_bool(dataset->shape->node, "drop_remainder", &drops));
    return drops;
}

/* The elements that a window reaches over. */
static int64_t window_reach(const struct run_dataset *dataset)
{
    int64_t reach;
    if (__builtin_mul_overflow(dataset_number(dataset, 1) - 1, dataset_number(dataset, 3),
                               &reach) ||
        reach == INT64_MAX)
        return INT64_MAX;
    return reach + 1;
}

/* Moves on by `shift` elements: drops those in the buffer, and skips the others in the input. */
static struct status shift_window(struct kernel_context *k, struct iterator *iterator,
                                  struct dataset_window *window)
{
    int width = iterator->dataset->count;
    struct tensors *buffer = &window->buffer;
    int64_t shift = dataset_number(iterator->dataset, 2), count = buffer->count / width;
    int64_t dropped = shift < count ? shift : count;
    tensors_release(dropped * width, buffer->at);
    buffer->count -= dropped * width;
    if (buffer->count > 0)
        memmove(buffer->at, buffer->at + dropped * width,
                (size_t)buffer->count * sizeof *buffer->at);
    for (int64_t i = count; i < shift && !window->input_ended; i++) {
        TRY(iterator_pull(k, iterator, &window->input_ended));
        if (!window->input_ended)
            tensors_release(width, iterator->element);
    }
    return status_ok();
}

/* A component of the window: a dataset, or a batch. */
static struct status make_component(struct kernel_context *k, const struct run_dataset *dataset,
                                    const struct tensors *buffer, int component, struct tensor *out)
{
    int64_t stride = dataset_number(dataset, 3), reach = buffer->count / dataset->count,
            count = 1 + (reach - 1) / stride, step = count > 1 ? stride * dataset->count : 0;
    struct tensors held = { 0 };
    if (is_sliding(dataset))
        return tensors_stack(k, count, buffer->at + component, step, component, out);
    TRY(tensors_reserve(k, &held, count));
    for (int64_t i = 0; i < count; i++)
        held.at[i] = tensor_acquire(&buffer->at[i * step + component]);
    held.count = count;
    struct status status = dataset_hold(k, 1, &held, out);
    tensors_finish(&held);
    return status;
}

static struct status window_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct dataset_window *window = iterator->state;
    struct tensors *buffer = &window->buffer;
    int64_t reach = window_reach(dataset), have = buffer->count / dataset->count;
    if (!window->input_ended)
        TRY(iterator_collect(k, iterator, buffer, reach - have, &window->input_ended));
    have = buffer->count / dataset->count;
    *end = have == 0 || (have < reach && window_drops(dataset));
    for (int i = 0; !*end && i < dataset->count; i++) {
        struct status status = make_component(k, dataset, buffer, i, &element[i]);
        if (!status_is_ok(status)) {
            tensors_release(i, element);
            return status;
        }
    }
    if (*end)
        return status_ok();
    struct status status = shift_window(k, iterator, window);
    if (!status_is_ok(status))
        tensors_release(dataset->count, element);
    return status;
}

static void window_finish(struct iterator *iterator)
{
    tensors_finish(&((struct dataset_window *)iterator->state)->buffer);
}

static int64_t window_cardinality(const struct run_dataset *dataset)
{
    int64_t count = dataset_input(dataset, 0)->cardinality, shift = dataset_number(dataset, 2),
            reach = window_reach(dataset);
    if (count < 0)
        return count;
    if (!window_drops(dataset))
        return count / shift + (count % shift > 0);
    if (is_sliding(dataset))
        return count / shift; /* more than there are, as TensorFlow says it */
    return count < reach ? 0 : (count - reach) / shift + 1;
}

#define PADDED(name)                                                                      \
    DATASET(name, padded_check, padded_next, .finish = padded_finish, .same_width = true, \
            .iterator_bytes = sizeof(struct padded_rows), .cardinality = padded_cardinality)
#define WINDOW(name)                                                                      \
    DATASET(name, window_check, window_next, .finish = window_finish, .same_width = true, \
            .iterator_bytes = sizeof(struct dataset_window), .cardinality = window_cardinality)
static const struct kernel rows[] = {
    PADDED("PaddedBatchDataset"),
    PADDED("PaddedBatchDatasetV2"),
    WINDOW("WindowDataset"),
    WINDOW("SlidingWindowDataset"),
};
const struct kernel_table kernels_dataset_windows = { rows, COUNT(rows) };
