/* ReverseSequence: reverses the first seq_lengths[b] elements of each sequence. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct sequence_state {
    int64_t sequence, batch;
};

static struct status sequence_prepare(struct prepare_context *p)
{
    struct sequence_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_int32(prepare_node(p), "seq_dim", &state->sequence));
    return node_attr_int32(prepare_node(p), "batch_dim", &state->batch);
}

static struct status sequence_compute(struct kernel_context *k)
{
    const struct sequence_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *lengths = kernel_input(k, 1);
    struct tensor *out;
    int rank = x->shape.rank;
    int64_t s = state->sequence, b = state->batch;
    if (s < 0 || b < 0 || s >= rank || b >= rank || s == b)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "batch_dim (%lld) and seq_dim (%lld) must be different dimensions of an "
            "input of rank %d",
            (long long)b, (long long)s, rank);
    if (lengths->shape.rank != 1 || lengths->size != x->shape.dims[b])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Length of seq_lengths != input.dims(%lld), (%lld vs. %lld)",
                            (long long)b, (long long)lengths->size, (long long)x->shape.dims[b]);
    for (int64_t i = 0; i < lengths->size; i++) {
        int64_t length = tensor_index(lengths, i);
        if (length < 0 || length > x->shape.dims[s])
            return status_error(STATUS_INVALID_ARGUMENT,
                                length < 0 ? "seq_lens(%lld) < 0"
                                           : "seq_lens(%lld) > input.dims(%lld)",
                                (long long)i, (long long)s);
    }
    TRY(kernel_output(k, 0, &x->shape, &out));
    int64_t inner = shape_inner(&x->shape, (int)(s > b ? s : b));
    int64_t s_step = shape_inner(&x->shape, (int)s), b_step = shape_inner(&x->shape, (int)b);
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < x->size; i += inner) {
        int64_t at = i / s_step % x->shape.dims[s];
        int64_t length = tensor_index(lengths, i / b_step % x->shape.dims[b]);
        int64_t from = at < length ? i + (length - 1 - 2 * at) * s_step : i;
        memcpy(at_bytes(out->data, i, size), at_bytes_const(x->data, from, size),
               (size_t)inner * size);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "ReverseSequence", DTYPES_MOVED, "T", .prepare = sequence_prepare,
      .compute = sequence_compute },
};
const struct kernel_table kernels_reverse_sequence = { rows, COUNT(rows) };
