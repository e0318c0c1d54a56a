/*
 * xla_broadcast_helper: XlaBroadcastHelper gives the operand of fewer dimensions the rank of the
 * other one: broadcast_dims says where its dimensions go, and the others become 1.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/quantized_numbers.h"

/* As many ascending dimensions of a tensor of `rank` as the smaller operand has. */
static struct status read_places(const struct kernel_context *k, int count, int rank, int *places)
{
    const struct tensor *dims = kernel_input(k, 2);
    if (dims->size != count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "broadcast_dims must have size equal to the smaller argument rank; "
                            "broadcast_dims has %lld elements, argument shapes: %s and %s",
                            (long long)dims->size, shape_text(&kernel_input(k, 0)->shape),
                            shape_text(&kernel_input(k, 1)->shape));
    for (int i = 0; i < count; i++) {
        int64_t place = tensor_index(dims, i);
        if (place < 0 || place >= rank)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Invalid broadcast dimension (%lld); argument shapes: %s and %s",
                                (long long)place, shape_text(&kernel_input(k, 0)->shape),
                                shape_text(&kernel_input(k, 1)->shape));
        places[i] = (int)place;
        if (i > 0 && place <= places[i - 1])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Duplicate or nonmonotonic dimension in broadcast_dims: %lld "
                                "after %d",
                                (long long)place, places[i - 1]);
    }
    return status_ok();
}

static void output_spread(struct kernel_context *k, int index, int rank, const int *places)
{
    struct tensor tensor = kernel_take_input(k, index);
    struct shape shape = shape_scalar();
    for (int d = 0, next = 0; d < rank; d++)
        shape_append(&shape,
                     next < tensor.shape.rank && places[next] == d ? tensor.shape.dims[next++] : 1);
    tensor.shape = shape;
    kernel_output_set(k, index, tensor);
}

static struct status broadcast_helper_compute(struct kernel_context *k)
{
    int ranks[2] = { kernel_input(k, 0)->shape.rank, kernel_input(k, 1)->shape.rank };
    int smaller = ranks[1] < ranks[0] ? 1 : 0, places[SHAPE_RANK_MAX];
    TRY(kernel_vector(k, 2, "broadcast_dims"));
    bool is_plain = kernel_input(k, 2)->size == 0;
    if (is_plain && ranks[0] != ranks[1] && ranks[smaller] != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "If broadcast_dims is empty, both arguments must have equal rank; "
                            "argument shapes, or at least one argument must be a scalar: %s and %s",
                            shape_text(&kernel_input(k, 0)->shape),
                            shape_text(&kernel_input(k, 1)->shape));
    if (!is_plain)
        TRY(read_places(k, ranks[smaller], ranks[1 - smaller], places));
    for (int i = 0; i < 2; i++)
        if (is_plain || i != smaller)
            kernel_output_set(k, i, kernel_take_input(k, i));
        else
            output_spread(k, i, ranks[1 - smaller], places);
    return status_ok();
}

static const struct kernel rows[] = {
    { "XlaBroadcastHelper", DTYPES_REAL | DTYPES_COMPLEX | DTYPES_QUANTIZED,
      .compute = broadcast_helper_compute },
};
const struct kernel_table kernels_xla_broadcast_helper = { rows, COUNT(rows) };
