/*
 * xla_reduce: XlaReduce, XlaVariadicReduce and XlaReduceWindow, reductions by a function.
 *
 * A reduction halves the elements until one is left: each call of the function combines the two
 * halves of all that there is. XLA leaves the order open as well, so the function must be
 * associative and commutative. A window is reduced by as many calls as it has elements, each for
 * all windows.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/xla/lanes.h"
#include "runtime/kernels/xla/windows.h"

#define OPERANDS_MAX 16

/* ---- whole dimensions ---- */

struct fold_state {
    struct lanes lanes;
    int count, dims_count; /* of operands, each with an initial value; of reduced dimensions */
    int64_t dims[SHAPE_RANK_MAX];
};

static struct status reduce_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct fold_state *state = prepare_state(p, sizeof *state, NULL);
    state->count = node->inputs_count / 2;
    if (state->count > OPERANDS_MAX)
        return status_error(STATUS_UNIMPLEMENTED, "node '%s': more than %d operands", node->name,
                            OPERANDS_MAX);
    TRY(lanes_prepare(p, 0, state->count, &state->lanes));
    return node_attr_ints(node, "dimensions_to_reduce", SHAPE_RANK_MAX, state->dims,
                          &state->dims_count);
}

struct xla_reduction {
    struct strided order; /* of an operand: the reduced dimensions first */
    struct shape out;
    int64_t reduced, kept; /* elements */
};

static struct status find_reduction(const struct kernel_context *k, struct xla_reduction *out)
{
    const struct fold_state *state = kernel_state(k);
    const struct shape *shape = &kernel_input(k, 0)->shape;
    int64_t strides[SHAPE_RANK_MAX];
    bool reduced[SHAPE_RANK_MAX] = { false }, fits = true;
    for (int i = 1; i < state->count; i++)
        fits = fits && shape_equal(&kernel_input(k, i)->shape, shape);
    for (int i = 0; i < state->count; i++)
        fits = fits && kernel_input(k, state->count + i)->size == 1;
    for (int i = 0; fits && i < state->dims_count; i++) {
        fits = state->dims[i] >= 0 && state->dims[i] < shape->rank && !reduced[state->dims[i]];
        if (fits)
            reduced[state->dims[i]] = true;
    }
    if (!fits)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "dimensions_to_reduce, operands or initial values do not fit an "
                            "operand of shape %s",
                            shape_text(shape));
    *out = (struct xla_reduction){ .reduced = 1, .kept = 1 };
    dense_strides(shape, strides);
    for (int d = 0; d < shape->rank; d++)
        if (reduced[d]) {
            strided_append(&out->order, shape->dims[d], strides[d]);
            out->reduced *= shape->dims[d];
        }
    for (int d = 0; d < shape->rank; d++)
        if (!reduced[d]) {
            strided_append(&out->order, shape->dims[d], strides[d]);
            shape_append(&out->out, shape->dims[d]);
            out->kept *= shape->dims[d];
        }
    return status_ok();
}

/* x[0 .. half) = f(x[0 .. half), x[rest .. rest + half)) */
static struct status combine(struct kernel_context *k, struct tensor *x, int64_t half, int64_t rest)
{
    const struct fold_state *state = kernel_state(k);
    struct tensor args[2 * OPERANDS_MAX], results[OPERANDS_MAX];
    for (int i = 0; i < state->count; i++) {
        args[i] = lanes_view(&x[i], 0, half);
        args[state->count + i] = lanes_view(&x[i], rest, half);
    }
    TRY(lanes_run(k, &state->lanes, half, 2 * state->count, args, state->count, results));
    struct status status = status_ok();
    for (int i = 0; status_is_ok(status) && i < state->count; i++) {
        /* A result may be an argument, and lie where another result goes. */
        struct tensor copy;
        status = kernel_scratch(k, results[i].dtype, &results[i].shape, &copy);
        if (!status_is_ok(status))
            break;
        memcpy(copy.data, results[i].data, tensor_bytes(&copy));
        tensor_release(&results[i]);
        results[i] = copy;
    }
    for (int i = 0; status_is_ok(status) && i < state->count; i++)
        memcpy(x[i].data, results[i].data, tensor_bytes(&results[i]));
    tensors_release(state->count, results);
    return status;
}

/* The results, in the first elements of x. */
static struct status reduce(struct kernel_context *k, const struct xla_reduction *reduction,
                            struct tensor *x)
{
    const struct fold_state *state = kernel_state(k);
    int64_t rows = reduction->reduced, kept = reduction->kept;
    for (int64_t half; rows > 1; rows -= half) {
        half = rows / 2;
        TRY(combine(k, x, half * kept, (rows - half) * kept));
    }
    /* Combines the result with the initial values, which are placed after it: there is room for
     * them. */
    for (int i = 0; i < state->count; i++) {
        size_t bytes = dtype_size(x[i].dtype);
        repeat_element(at_bytes(x[i].data, kept, bytes), bytes,
                       kernel_input(k, state->count + i)->data, kept);
    }
    return combine(k, x, kept, kept);
}

static struct status read_operands(struct kernel_context *k, const struct xla_reduction *reduction,
                                   struct tensor *x)
{
    const struct fold_state *state = kernel_state(k);
    struct shape shape = shape_of(reduction->reduced < 2 ? 2 : reduction->reduced, reduction->kept);
    for (int i = 0; i < state->count; i++) {
        const struct tensor *input = kernel_input(k, i);
        TRY(kernel_scratch(k, input->dtype, &shape, &x[i]));
        strided_read(&reduction->order, dtype_size(input->dtype), input->data, x[i].data);
    }
    return status_ok();
}

static struct status reduce_operands(struct kernel_context *k,
                                     const struct xla_reduction *reduction,
                                     struct tensor *const *outs)
{
    const struct fold_state *state = kernel_state(k);
    struct tensor x[OPERANDS_MAX] = { 0 };
    struct status status = read_operands(k, reduction, x);
    if (status_is_ok(status))
        status = reduce(k, reduction, x);
    for (int i = 0; status_is_ok(status) && i < state->count; i++)
        memcpy(outs[i]->data, x[i].data, tensor_bytes(outs[i]));
    tensors_release(state->count, x);
    return status;
}

static struct status reduce_compute(struct kernel_context *k)
{
    const struct fold_state *state = kernel_state(k);
    struct tensor *outs[OPERANDS_MAX];
    struct xla_reduction reduction;
    TRY(find_reduction(k, &reduction));
    for (int i = 0; i < state->count; i++) {
        const struct tensor *init = kernel_input(k, state->count + i);
        TRY(kernel_output_typed(k, i, init->dtype, &reduction.out, &outs[i]));
        repeat_element(outs[i]->data, dtype_size(init->dtype), init->data, outs[i]->size);
    }
    if (reduction.reduced == 0 || reduction.kept == 0)
        return status_ok();
    return reduce_operands(k, &reduction, outs);
}

/* ---- windows ---- */

static struct status window_prepare(struct prepare_context *p)
{
    struct lanes *lanes = prepare_state(p, sizeof *lanes, NULL);
    return lanes_prepare(p, 0, 1, lanes);
}

/* The padded operand, which windows read, and which of its elements are the operand's. */
struct padded {
    struct tensor x, inside; /* inside: bool */
    bool changed;            /* by padding; otherwise all are inside */
};

/* Padding takes no part: it is not the initial value, which counts once. */
static void keep_inside(const struct tensor *made, const bool *inside, struct tensor *sums)
{
    size_t bytes = dtype_size(sums->dtype);
    for (int64_t i = 0; i < sums->size; i++)
        if (inside[i])
            memcpy(at_bytes(sums->data, i, bytes), at_bytes(made->data, i, bytes), bytes);
}

/* sums = f(sums, x), for each element of the windows. `elements` and `inside` have room for one of
 * each window. */
static struct status fold_windows(struct kernel_context *k, const struct xla_windows *window,
                                  const struct padded *padded, struct padded *elements,
                                  struct tensor *sums)
{
    struct nest_walk walk = { 0 };
    size_t bytes = dtype_size(sums->dtype);
    do {
        int64_t first = walk.offsets[0];
        struct tensor made;
        strided_read(&window->places, bytes, at_bytes_const(padded->x.data, first, bytes),
                     elements->x.data);
        const struct tensor args[] = { *sums, elements->x };
        TRY(lanes_run(k, kernel_state(k), sums->size, 2, args, 1, &made));
        if (padded->changed) {
            strided_read(&window->places, 1, tensor_bools(&padded->inside) + first,
                         elements->inside.data);
            keep_inside(&made, tensor_bools(&elements->inside), sums);
        } else {
            memcpy(sums->data, made.data, tensor_bytes(sums));
        }
        tensor_release(&made);
    } while (nest_next(&window->offsets, &walk));
    return status_ok();
}

static struct status make_padded(struct kernel_context *k, const struct shape *shape, bool changed,
                                 struct padded *out)
{
    out->changed = changed;
    TRY(kernel_scratch(k, kernel_input(k, 0)->dtype, shape, &out->x));
    return changed ? kernel_scratch(k, DT_BOOL, shape, &out->inside) : status_ok();
}

static struct status pad(struct kernel_context *k, const struct xla_windows *window,
                         struct padded *out)
{
    const struct tensor *x = kernel_input(k, 0);
    static const bool no = false, yes = true;
    struct tensor all;
    padding_apply(x, kernel_input(k, 1)->data, &window->padding, &out->x);
    if (!out->changed)
        return status_ok();
    TRY(kernel_scratch(k, DT_BOOL, &x->shape, &all));
    repeat_element(all.data, 1, &yes, all.size);
    padding_apply(&all, &no, &window->padding, &out->inside);
    tensor_release(&all);
    return status_ok();
}

static struct status window_compute(struct kernel_context *k)
{
    static const struct window_inputs inputs = { 2, 3, 4, 5, 6 };
    const struct tensor *init;
    struct padded padded = { 0 }, elements = { 0 };
    struct xla_windows window;
    struct tensor *out, sums;
    TRY(kernel_scalar(k, 1, "init_value", &init));
    TRY(xla_windows_find(k, &inputs, &window));
    TRY(kernel_output(k, 0, &window.out, &out));
    if (out->size == 0)
        return status_ok();
    repeat_element(out->data, dtype_size(out->dtype), init->data, out->size);
    sums = lanes_view(out, 0, out->size);
    bool changed = padding_changes(&window.padding, window.padded.rank);
    struct status status = make_padded(k, &window.padded, changed, &padded);
    if (status_is_ok(status))
        status = make_padded(k, &sums.shape, changed, &elements);
    if (status_is_ok(status))
        status = pad(k, &window, &padded);
    if (status_is_ok(status))
        status = fold_windows(k, &window, &padded, &elements, &sums);
    tensor_release(&padded.x);
    tensor_release(&padded.inside);
    tensor_release(&elements.x);
    tensor_release(&elements.inside);
    return status;
}

static const struct kernel rows[] = {
    { "XlaReduce", DTYPES_LANES, .prepare = reduce_prepare, .compute = reduce_compute,
      .costly = true },
    { "XlaVariadicReduce", DTYPES_LANES, .prepare = reduce_prepare, .compute = reduce_compute,
      .costly = true },
    { "XlaVariadicReduceV2", DTYPES_ALL, .prepare = reduce_prepare, .compute = reduce_compute,
      .costly = true },
    { "XlaReduceWindow", DTYPES_LANES, .prepare = window_prepare, .compute = window_compute,
      .costly = true },
};
const struct kernel_table kernels_xla_reduce = { rows, COUNT(rows) };
