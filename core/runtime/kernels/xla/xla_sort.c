/*
 * xla_sort: XlaVariadicSort sorts tensors along a dimension by a function that compares elements.
 *
 * The function compares many pairs in a call, so the order of comparisons must not depend on their
 * results: this is Batcher's merge exchange (Knuth, The Art of Computer Programming, 5.2.2,
 * algorithm M), with all lines side by side. Elements of which neither comes first keep their
 * order.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/xla/lanes.h"

#define OPERANDS_MAX 16

struct sort_state {
    struct lanes lanes;
    int count; /* of operands */
};

static struct status sort_prepare(struct prepare_context *p)
{
    struct sort_state *state = prepare_state(p, sizeof *state, NULL);
    state->count = prepare_node(p)->inputs_count - 1;
    if (state->count > OPERANDS_MAX)
        return status_error(STATUS_UNIMPLEMENTED, "node '%s': more than %d operands",
                            prepare_node(p)->name, OPERANDS_MAX);
    TRY(lanes_prepare(p, 0, 1, &state->lanes));
    state->lanes.compares = true;
    return status_ok();
}

struct sort {
    struct strided order;  /* of an operand: the dimension that is sorted first */
    int64_t length, lines; /* of a line; how many */
    struct tensor x[OPERANDS_MAX], a[OPERANDS_MAX], b[OPERANDS_MAX]; /* a, b: pairs to compare */
    struct tensor places; /* where each element was: int64 */
};

/* The pairs of a step: elements i and i + distance, for i with this bit as in `wanted`. */
struct sort_step {
    int64_t distance, bit, wanted;
};

static bool next_pair(const struct sort *sort, const struct sort_step *step, int64_t *i)
{
    while (*i < sort->length - step->distance && (*i & step->bit) != step->wanted)
        ++*i;
    return *i < sort->length - step->distance;
}

/* Copies the pairs of operand n, and returns how many elements each side has. */
static int64_t take_pairs(struct sort *sort, const struct sort_step *step, int n)
{
    size_t bytes = dtype_size(sort->x[n].dtype), line = bytes * (size_t)sort->lines;
    int64_t count = 0;
    for (int64_t i = 0; next_pair(sort, step, &i); i++, count++) {
        memcpy(at_bytes(sort->a[n].data, count, line), at_bytes(sort->x[n].data, i, line), line);
        memcpy(at_bytes(sort->b[n].data, count, line),
               at_bytes(sort->x[n].data, i + step->distance, line), line);
    }
    return count * sort->lines;
}

/* less[i]: does element i of `first` come before that of `second`? */
static struct status compare(struct kernel_context *k, const struct tensor *first,
                             const struct tensor *second, int64_t count, struct tensor *less)
{
    const struct sort_state *state = kernel_state(k);
    struct tensor args[2 * OPERANDS_MAX];
    for (int n = 0; n < state->count; n++) {
        args[2 * n] = lanes_view(&first[n], 0, count);
        args[2 * n + 1] = lanes_view(&second[n], 0, count);
    }
    return lanes_run(k, &state->lanes, count, 2 * state->count, args, 1, less);
}

static void swap_elements(struct tensor *x, int64_t i, int64_t j)
{
    size_t bytes = dtype_size(x->dtype);
    char room[16];
    memcpy(room, at_bytes(x->data, i, bytes), bytes);
    memcpy(at_bytes(x->data, i, bytes), at_bytes(x->data, j, bytes), bytes);
    memcpy(at_bytes(x->data, j, bytes), room, bytes);
}

/* Puts the pairs of a step in order: `before` and `after` say whether the first element of each
 * comes before the second, or after it. */
static void exchange(struct sort *sort, int count, const struct sort_step *step, const bool *before,
                     const bool *after)
{
    int64_t *places = tensor_int64s_mut(&sort->places), pair = 0;
    for (int64_t i = 0; next_pair(sort, step, &i); i++)
        for (int64_t line = 0; line < sort->lines; line++, pair++) {
            int64_t at = i * sort->lines + line, to = at + step->distance * sort->lines;
            if (!after[pair] && (before[pair] || places[at] < places[to]))
                continue;
            for (int n = 0; n < count; n++)
                swap_elements(&sort->x[n], at, to);
            swap_elements(&sort->places, at, to);
        }
}

static struct status run_step(struct kernel_context *k, struct sort *sort,
                              const struct sort_step *step)
{
    const struct sort_state *state = kernel_state(k);
    struct tensor before, after;
    int64_t pairs = 0;
    for (int n = 0; n < state->count; n++)
        pairs = take_pairs(sort, step, n);
    if (pairs == 0)
        return status_ok();
    TRY(compare(k, sort->a, sort->b, pairs, &before));
    struct status status = compare(k, sort->b, sort->a, pairs, &after);
    if (status_is_ok(status)) {
        exchange(sort, state->count, step, tensor_bools(&before), tensor_bools(&after));
        tensor_release(&after);
    }
    tensor_release(&before);
    return status;
}

static struct status merge_exchange(struct kernel_context *k, struct sort *sort)
{
    int64_t top = 1;
    while (top * 2 < sort->length)
        top *= 2;
    for (int64_t p = top; p > 0; p /= 2) {
        struct sort_step step = { p, p, 0 };
        TRY(run_step(k, sort, &step));
        for (int64_t q = top; q != p; q /= 2) {
            step = (struct sort_step){ q - p, p, p };
            TRY(run_step(k, sort, &step));
        }
    }
    return status_ok();
}

static struct status sort_lines(struct kernel_context *k, struct sort *sort)
{
    const struct sort_state *state = kernel_state(k);
    struct shape all = shape_of(sort->length * sort->lines);
    TRY(kernel_scratch(k, DT_INT64, &all, &sort->places));
    for (int64_t i = 0; i < sort->places.size; i++)
        tensor_int64s_mut(&sort->places)[i] = i / sort->lines;
    for (int n = 0; n < state->count; n++) {
        const struct tensor *x = kernel_input(k, n);
        TRY(kernel_scratch(k, x->dtype, &all, &sort->x[n]));
        TRY(kernel_scratch(k, x->dtype, &all, &sort->a[n]));
        TRY(kernel_scratch(k, x->dtype, &all, &sort->b[n]));
        strided_read(&sort->order, dtype_size(x->dtype), x->data, sort->x[n].data);
    }
    return merge_exchange(k, sort);
}

static struct status find_lines(struct kernel_context *k, struct sort *sort)
{
    const struct sort_state *state = kernel_state(k);
    const struct shape *shape = &kernel_input(k, 0)->shape;
    int64_t strides[SHAPE_RANK_MAX];
    int dimension;
    for (int n = 1; n < state->count; n++)
        if (!shape_equal(&kernel_input(k, n)->shape, shape))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "operands of different shapes: %s and %s", shape_text(shape),
                                shape_text(&kernel_input(k, n)->shape));
    TRY(kernel_axis(k, state->count, shape->rank, &dimension));
    dense_strides(shape, strides);
    sort->length = shape->dims[dimension];
    sort->lines = 1;
    strided_append(&sort->order, sort->length, strides[dimension]);
    for (int d = 0; d < shape->rank; d++)
        if (d != dimension) {
            strided_append(&sort->order, shape->dims[d], strides[d]);
            sort->lines *= shape->dims[d];
        }
    return status_ok();
}

static struct status sort_compute(struct kernel_context *k)
{
    const struct sort_state *state = kernel_state(k);
    struct sort sort = { 0 };
    struct tensor *out;
    TRY(find_lines(k, &sort));
    struct status status = status_ok();
    bool empty = sort.length == 0 || sort.lines == 0;
    if (!empty)
        status = sort_lines(k, &sort);
    for (int n = 0; status_is_ok(status) && n < state->count; n++) {
        const struct tensor *x = kernel_input(k, n);
        status = kernel_output_typed(k, n, x->dtype, &x->shape, &out);
        if (status_is_ok(status) && !empty)
            strided_write(&sort.order, dtype_size(x->dtype), sort.x[n].data, out->data);
    }
    tensors_release(state->count, sort.x);
    tensors_release(state->count, sort.a);
    tensors_release(state->count, sort.b);
    tensor_release(&sort.places);
    return status;
}

static const struct kernel rows[] = {
    { "XlaVariadicSort", DTYPES_ALL, .prepare = sort_prepare, .compute = sort_compute,
      .costly = true },
};
const struct kernel_table kernels_xla_sort = { rows, COUNT(rows) };
