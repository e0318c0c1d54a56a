/*
 * fused_pad_conv: FusedPadConv2D and FusedResizeAndPadConv2D, which resize images bilinearly, pad
 * them by mirroring, and convolve them.
 *
 *     input [n, h, w, c], size [2], paddings [4, 2], filter -> [n, rows, columns, m]
 */
#include "runtime/kernels/array/pad.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/image/image_size.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/conv2d.h"
#include "runtime/kernels/plain/resize.h"

struct fused_pad_state {
    struct window_attrs conv;
    int offset; /* 1: REFLECT omits the edge; 0: SYMMETRIC repeats it */
    bool resizes, align_corners;
};

static struct status fused_pad_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct fused_pad_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes mode;
    TRY(node_attr_string(node, "mode", &mode));
    state->offset = bytes_equal(mode, bytes_of("REFLECT"));
    state->resizes = node->op->inputs_count == 4;
    if (state->resizes)
        TRY(node_attr_bool(node, "resize_align_corners", &state->align_corners));
    return window_attrs_read_images(node, &state->conv);
}

/* The sources of the rows or columns of the padded images. */
struct padded_lines {
    int64_t count; /* of the padded images */
    int64_t before, inner;
    struct resize_between *places; /* of the inner lines */
};

static struct status find_lines(struct kernel_context *k, int64_t in, int64_t inner, int64_t before,
                                int64_t all, struct padded_lines *out, struct tensor *memory)
{
    const struct fused_pad_state *state = kernel_state(k);
    struct shape shape = shape_of(inner * (int64_t)sizeof *out->places);
    TRY(kernel_scratch(k, DT_UINT8, &shape, memory));
    *out = (struct padded_lines){ all, before, inner, memory->data };
    if (state->resizes) {
        resize_places(in, inner, state->align_corners, false, out->places);
        return status_ok();
    }
    for (int64_t i = 0; i < inner; i++)
        out->places[i] = (struct resize_between){ i, i, 0 };
    return status_ok();
}

static double between(double a, double b, float weight)
{
    return a + (b - a) * (double)weight;
}

static void put_pixel(const struct tensor *x, int64_t image, const struct resize_between *row,
                      const struct resize_between *column, struct tensor *out, int64_t at)
{
    int64_t w = x->shape.dims[2], c = x->shape.dims[3];
    int64_t high = (image + row->low) * w, low = (image + row->high) * w;
    for (int64_t i = 0; i < c; i++) {
        double top = between(floating_element(x, (high + column->low) * c + i),
                             floating_element(x, (high + column->high) * c + i), column->weight);
        double bottom = between(floating_element(x, (low + column->low) * c + i),
                                floating_element(x, (low + column->high) * c + i), column->weight);
        floating_store(out, at + i, between(top, bottom, row->weight));
    }
}

static struct status fill_padded(struct kernel_context *k, const struct padded_lines *rows,
                                 const struct padded_lines *columns, struct tensor *out)
{
    const struct fused_pad_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t c = x->shape.dims[3], at = 0;
    for (int64_t n = 0; n < x->shape.dims[0]; n++)
        for (int64_t y = 0; y < rows->count; y++) {
            int64_t row = pads_mirrored(y, rows->before, rows->inner, state->offset);
            TRY(kernel_check(k));
            for (int64_t i = 0; i < columns->count; i++, at += c) {
                int64_t column = pads_mirrored(i, columns->before, columns->inner, state->offset);
                put_pixel(x, n * x->shape.dims[1], &rows->places[row], &columns->places[column],
                          out, at);
            }
        }
    return status_ok();
}

/* The shape of the resized images, and that of the padded ones in `pads`. */
static struct status find_shapes(struct kernel_context *k, struct shape *resized, struct pads *pads)
{
    const struct fused_pad_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *list = kernel_input(k, state->resizes ? 2 : 1);
    if (x->shape.rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(&x->shape));
    *resized = x->shape;
    if (state->resizes)
        TRY(image_out_size(k, &resized->dims[1], &resized->dims[2]));
    if (x->shape.dims[1] == 0 || x->shape.dims[2] == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input image must be of non-zero size");
    const struct shape *filter = &kernel_input(k, state->resizes ? 3 : 2)->shape;
    if (filter->rank == 4 && filter->dims[2] != x->shape.dims[3]) /* no groups */
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input and filter must have the same depth: %lld vs %lld",
                            (long long)x->shape.dims[3], (long long)filter->dims[2]);
    TRY(shape_check(resized->rank, resized->dims, resized));
    TRY(pads_read(k, resized, list, pads));
    if (pads->out.dims[0] != x->shape.dims[0] || pads->out.dims[3] != x->shape.dims[3])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Fused mirror padding only support spatial padding, not %s",
                            pads->out.dims[0] != x->shape.dims[0] ? "batches" : "channels");
    return pads_check_mirrored(pads, resized, state->offset);
}

static struct status fused_pad_compute(struct kernel_context *k)
{
    const struct fused_pad_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    const struct tensor *filter = kernel_input(k, state->resizes ? 3 : 2);
    struct tensor row_memory = { 0 }, column_memory = { 0 }, padded = { 0 };
    struct padded_lines rows, columns;
    struct shape resized;
    struct pads pads;
    struct status status;
    TRY(find_shapes(k, &resized, &pads));
    TRY_OR(done, find_lines(k, x->shape.dims[1], resized.dims[1], pads.before[1], pads.out.dims[1],
                            &rows, &row_memory));
    TRY_OR(done, find_lines(k, x->shape.dims[2], resized.dims[2], pads.before[2], pads.out.dims[2],
                            &columns, &column_memory));
    TRY_OR(done, kernel_scratch(k, x->dtype, &pads.out, &padded));
    TRY_OR(done, fill_padded(k, &rows, &columns, &padded));
    TRY_OR(done, conv_forward(k, &state->conv, &padded, filter));
done:
    tensor_release(&row_memory);
    tensor_release(&column_memory);
    tensor_release(&padded);
    return status;
}

#define FUSED_PAD(op)                                                                    \
    {                                                                                    \
        op, DTYPES_FLOATING, .prepare = fused_pad_prepare, .compute = fused_pad_compute, \
                             .costly = true                                              \
    }
static const struct kernel rows[] = {
    FUSED_PAD("FusedPadConv2D"),
    FUSED_PAD("FusedResizeAndPadConv2D"),
};
const struct kernel_table kernels_fused_pad_conv = { rows, COUNT(rows) };
