/* Bucketize: how many boundaries are at most x. */
#include "runtime/kernels/elementwise.h"

struct bucket_state {
    int count;
    float *boundaries;
};

static struct status bucket_prepare(struct prepare_context *p)
{
    struct bucket_state *state = prepare_state(p, sizeof *state, NULL);
    const struct attr_value *list;
    TRY(node_attr_list(prepare_node(p), "boundaries", &list));
    state->count = list->count;
    state->boundaries = ARENA_ARRAY(prepare_arena(p), float, list->count + 1);
    for (int i = 0; i < list->count; i++) {
        state->boundaries[i] = list->elements[i].f;
        if (i > 0 && !(state->boundaries[i - 1] <= state->boundaries[i]))
            return status_error(STATUS_INVALID_ARGUMENT, "Expected sorted boundaries");
    }
    return status_ok();
}

/* The element as it is when TensorFlow compares it with a float: an integer becomes one. */
static double comparable(const struct tensor *x, int64_t i)
{
    if (x->dtype == DT_INT32)
        return (float)tensor_int32s(x)[i];
    if (x->dtype == DT_INT64)
        return (float)tensor_int64s(x)[i];
    return real_element(x, i);
}

static struct status bucket_compute(struct kernel_context *k)
{
    const struct bucket_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        double value = comparable(x, i);
        int low = 0, high = state->count;
        while (low < high) {
            int middle = (low + high) / 2;
            if (value < (double)state->boundaries[middle])
                high = middle;
            else
                low = middle + 1;
        }
        tensor_int32s_mut(out)[i] = low;
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Bucketize", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64),
      .prepare = bucket_prepare, .compute = bucket_compute },
};
const struct kernel_table kernels_bucketize = { rows, COUNT(rows) };
