/*
 * xla_select_and_scatter: XlaSelectAndScatter, the gradient of XlaReduceWindow with a function that
 * chooses, such as the maximum. Each window chooses one of its elements by the function `select`,
 * and the function `scatter` combines the window's element of `source` with that place of the
 * result. Padding is never chosen.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/xla/lanes.h"
#include "runtime/kernels/xla/windows.h"

struct select_state {
    struct lanes select, scatter;
};

static struct status select_prepare(struct prepare_context *p)
{
    struct select_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(lanes_prepare(p, 0, 1, &state->select));
    state->select.compares = true;
    return lanes_prepare(p, 1, 1, &state->scatter);
}

/* A value for each window, and its place in the operand: -1 if it is padding, or none is chosen. */
struct picks {
    struct tensor x, places;
};

static struct status make_picks(struct kernel_context *k, const struct shape *shape,
                                struct picks *out)
{
    TRY(kernel_scratch(k, kernel_input(k, 0)->dtype, shape, &out->x));
    return kernel_scratch(k, DT_INT64, shape, &out->places);
}

static void release_picks(struct picks *picks)
{
    tensor_release(&picks->x);
    tensor_release(&picks->places);
}

/* The padded operand, and the places of its elements. */
static struct status pad(struct kernel_context *k, const struct xla_windows *windows,
                         struct picks *out)
{
    const struct tensor *x = kernel_input(k, 0);
    const int64_t none = -1;
    struct tensor all;
    TRY(make_picks(k, &windows->padded, out));
    TRY(kernel_scratch(k, DT_INT64, &x->shape, &all));
    for (int64_t i = 0; i < all.size; i++)
        tensor_int64s_mut(&all)[i] = i;
    padding_apply(x, kernel_input(k, 5)->data, &windows->padding, &out->x);
    padding_apply(&all, &none, &windows->padding, &out->places);
    tensor_release(&all);
    return status_ok();
}

/* Takes the element of each window that comes before the one that is chosen so far. */
static struct status choose(struct kernel_context *k, const struct picks *elements,
                            struct picks *chosen)
{
    const struct select_state *state = kernel_state(k);
    const int64_t *places = tensor_int64s(&elements->places);
    int64_t *best = tensor_int64s_mut(&chosen->places), count = chosen->places.size;
    const struct tensor args[] = { lanes_view(&chosen->x, 0, count),
                                   lanes_view(&elements->x, 0, count) };
    struct tensor keeps;
    TRY(lanes_run(k, &state->select, count, 2, args, 1, &keeps));
    for (int64_t i = 0; i < count; i++)
        if (places[i] >= 0 && (best[i] < 0 || !tensor_bools(&keeps)[i])) {
            best[i] = places[i];
            copy_element(&elements->x, i, &chosen->x, i);
        }
    tensor_release(&keeps);
    return status_ok();
}

static struct status choose_all(struct kernel_context *k, const struct xla_windows *windows,
                                const struct picks *padded, struct picks *elements,
                                struct picks *chosen)
{
    struct nest_walk walk = { 0 };
    size_t bytes = dtype_size(padded->x.dtype);
    const int64_t none = -1;
    repeat_element(chosen->places.data, sizeof none, &none, chosen->places.size);
    memset(chosen->x.data, 0, tensor_bytes(&chosen->x));
    do {
        int64_t first = walk.offsets[0];
        TRY(kernel_check(k));
        strided_read(&windows->places, bytes, at_bytes_const(padded->x.data, first, bytes),
                     elements->x.data);
        strided_read(&windows->places, sizeof(int64_t), tensor_int64s(&padded->places) + first,
                     elements->places.data);
        TRY(choose(k, elements, chosen));
    } while (nest_next(&windows->offsets, &walk));
    return status_ok();
}

/* The sources that wait for their turn, in order: `waiting` holds their numbers. Windows that chose
 * the same element have their turns one after the other. */
struct source_turns {
    struct tensor waiting, now; /* int64, for each source */
    struct tensor last;         /* int64, for each element of the result: its last turn */
    struct tensor old, new;     /* operands of a turn */
    int64_t waiting_count, now_count;
};

/* Moves the sources that have the next turn from `waiting` to `now`. */
static void take_turn(const int64_t *chosen, int64_t turn, struct source_turns *turns)
{
    int64_t *waiting = tensor_int64s_mut(&turns->waiting), *now = tensor_int64s_mut(&turns->now);
    int64_t *last = tensor_int64s_mut(&turns->last), left = 0;
    turns->now_count = 0;
    for (int64_t i = 0; i < turns->waiting_count; i++) {
        int64_t place = chosen[waiting[i]];
        if (last[place] == turn) {
            waiting[left++] = waiting[i];
        } else {
            last[place] = turn;
            now[turns->now_count++] = waiting[i];
        }
    }
    turns->waiting_count = left;
}

static struct status run_turn(struct kernel_context *k, const int64_t *chosen,
                              struct source_turns *turns, struct tensor *out)
{
    const struct select_state *state = kernel_state(k);
    const int64_t *now = tensor_int64s(&turns->now), count = turns->now_count;
    for (int64_t i = 0; i < count; i++) {
        copy_element(out, chosen[now[i]], &turns->old, i);
        copy_element(kernel_input(k, 4), now[i], &turns->new, i);
    }
    const struct tensor args[] = { lanes_view(&turns->old, 0, count),
                                   lanes_view(&turns->new, 0, count) };
    struct tensor made;
    TRY(lanes_run(k, &state->scatter, count, 2, args, 1, &made));
    for (int64_t i = 0; i < count; i++)
        copy_element(&made, i, out, chosen[now[i]]);
    tensor_release(&made);
    return status_ok();
}

static struct status make_turns(struct kernel_context *k, const struct picks *chosen,
                                const struct tensor *out, struct source_turns *turns)
{
    const int64_t *places = tensor_int64s(&chosen->places);
    TRY(kernel_scratch(k, DT_INT64, &chosen->places.shape, &turns->waiting));
    TRY(kernel_scratch(k, DT_INT64, &chosen->places.shape, &turns->now));
    TRY(kernel_scratch(k, DT_INT64, &out->shape, &turns->last));
    TRY(kernel_scratch(k, out->dtype, &chosen->places.shape, &turns->old));
    TRY(kernel_scratch(k, out->dtype, &chosen->places.shape, &turns->new));
    memset(turns->last.data, 0, tensor_bytes(&turns->last));
    for (int64_t i = 0; i < chosen->places.size; i++)
        if (places[i] >= 0)
            tensor_int64s_mut(&turns->waiting)[turns->waiting_count++] = i;
    return status_ok();
}

static struct status scatter(struct kernel_context *k, const struct picks *chosen,
                             struct tensor *out)
{
    struct source_turns turns = { 0 };
    struct status status = make_turns(k, chosen, out, &turns);
    for (int64_t turn = 1; status_is_ok(status) && turns.waiting_count > 0; turn++) {
        take_turn(tensor_int64s(&chosen->places), turn, &turns);
        status = run_turn(k, tensor_int64s(&chosen->places), &turns, out);
        if (status_is_ok(status))
            status = kernel_check(k);
    }
    tensor_release(&turns.waiting);
    tensor_release(&turns.now);
    tensor_release(&turns.last);
    tensor_release(&turns.old);
    tensor_release(&turns.new);
    return status;
}

static struct status select_compute(struct kernel_context *k)
{
    static const struct window_inputs inputs = { 1, 2, -1, -1, 3 };
    const struct tensor *source = kernel_input(k, 4), *init;
    struct picks padded = { 0 }, elements = { 0 }, chosen = { 0 };
    struct xla_windows windows;
    struct tensor *out;
    TRY(kernel_scalar(k, 5, "init_value", &init));
    TRY(xla_windows_find(k, &inputs, &windows));
    if (!shape_equal(&source->shape, &windows.out))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "source has shape %s, but there are windows of %s",
                            shape_text(&source->shape), shape_text(&windows.out));
    TRY(kernel_output(k, 0, &kernel_input(k, 0)->shape, &out));
    repeat_element(out->data, dtype_size(out->dtype), init->data, out->size);
    if (source->size == 0 || out->size == 0)
        return status_ok();
    struct status status = pad(k, &windows, &padded);
    if (status_is_ok(status))
        status = make_picks(k, &windows.out, &elements);
    if (status_is_ok(status))
        status = make_picks(k, &windows.out, &chosen);
    if (status_is_ok(status))
        status = choose_all(k, &windows, &padded, &elements, &chosen);
    if (status_is_ok(status))
        status = scatter(k, &chosen, out);
    release_picks(&padded);
    release_picks(&elements);
    release_picks(&chosen);
    return status;
}

static const struct kernel rows[] = {
    { "XlaSelectAndScatter", DTYPES_REAL | DTYPES_COMPLEX, .prepare = select_prepare,
      .compute = select_compute, .costly = true },
};
const struct kernel_table kernels_xla_select_and_scatter = { rows, COUNT(rows) };
