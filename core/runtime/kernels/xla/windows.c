#include "runtime/kernels/xla/windows.h"

#include "runtime/kernels/xla/dimension_numbers.h"

static struct status read_dilations(const struct kernel_context *k, int input, const char *name,
                                    int rank, int64_t *out)
{
    if (input >= 0)
        return dimension_values(k, input, name, rank, 1, out);
    for (int d = 0; d < rank; d++)
        out[d] = 1;
    return status_ok();
}

struct status xla_windows_find(const struct kernel_context *k, const struct window_inputs *inputs,
                               struct xla_windows *out)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    int64_t sizes[SHAPE_RANK_MAX], steps[SHAPE_RANK_MAX], dilations[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX];
    int rank = shape->rank;
    *out = (struct xla_windows){ 0 };
    TRY(dimension_values(k, inputs->sizes, "window_dimensions", rank, 1, sizes));
    TRY(dimension_values(k, inputs->steps, "window_strides", rank, 1, steps));
    TRY(read_dilations(k, inputs->base_dilations, "base_dilations", rank, out->padding.interior));
    TRY(read_dilations(k, inputs->window_dilations, "window_dilations", rank, dilations));
    TRY(padding_pairs(k, inputs->padding, rank, out->padding.low, out->padding.high));
    for (int d = 0; d < rank; d++)
        out->padding.interior[d]--;
    TRY(padding_shape(k, shape, &out->padding, &out->padded));
    dense_strides(&out->padded, strides);
    for (int d = 0; d < rank; d++) {
        int64_t span = (sizes[d] - 1) * dilations[d] + 1; /* both below 2^31 */
        int64_t room = out->padded.dims[d] - span;
        shape_append(&out->out, room < 0 ? 0 : room / steps[d] + 1);
        strided_append(&out->places, out->out.dims[d], stride_of_steps(strides[d], steps[d]));
        nest_append(&out->offsets, sizes[d], stride_of_steps(strides[d], dilations[d]), 0, 0);
    }
    return status_ok();
}
