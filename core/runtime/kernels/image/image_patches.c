/*
 * image_patches: ExtractImagePatches, which lays the pixels under each position of a window in a
 * row, as a convolution would see them.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct patch_line {
    int64_t size, stride, rate;
    int64_t in, out, before; /* of one image; before: padding */
};

struct patches_state {
    struct patch_line rows, columns; /* without the size of the image */
    bool same;
};

/* The numbers for rows and columns of an attribute; those for images and channels must be 1. */
static struct status read_pair(const struct node *node, const char *name, int64_t *rows,
                               int64_t *columns)
{
    int64_t values[4];
    int count;
    TRY(node_attr_ints(node, name, 4, values, &count));
    if (count != 4 || values[0] != 1 || values[3] != 1)
        return status_error(STATUS_UNIMPLEMENTED, "Only support %s across space.", name);
    if (values[1] < 1 || values[2] < 1)
        return status_error(STATUS_OUT_OF_RANGE, "%s is out of range.", name);
    *rows = values[1];
    *columns = values[2];
    return status_ok();
}

static struct status patches_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct patches_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes padding;
    TRY(read_pair(node, "ksizes", &state->rows.size, &state->columns.size));
    TRY(read_pair(node, "strides", &state->rows.stride, &state->columns.stride));
    TRY(read_pair(node, "rates", &state->rows.rate, &state->columns.rate));
    TRY(node_attr_string(node, "padding", &padding));
    state->same = bytes_equal(padding, bytes_of("SAME"));
    return status_ok();
}

static struct status slide(struct patch_line *line, int64_t in, bool same)
{
    int64_t reach = line->size + (line->size - 1) * (line->rate - 1), spare = in - reach;
    line->in = in;
    if (same)
        line->out = in / line->stride + (in % line->stride != 0);
    else
        line->out = spare < 0 ? (spare + line->stride) / line->stride : spare / line->stride + 1;
    if (line->out < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Computed output size would be negative: %lld [input_size: %lld, "
                            "effective_filter_size: %lld, stride: %lld]",
                            (long long)line->out, (long long)in, (long long)reach,
                            (long long)line->stride);
    int64_t padding = same && line->out > 0 ? (line->out - 1) * line->stride - in + reach : 0;
    line->before = padding > 0 ? padding / 2 : 0;
    return status_ok();
}

/* One window: rows of pixels, zeros outside the image. `pixel`: bytes. */
static char *copy_patch(const struct patch_line *rows, const struct patch_line *columns,
                        size_t pixel, const char *image, int64_t i, int64_t j, char *out)
{
    for (int64_t r = 0; r < rows->size; r++)
        for (int64_t c = 0; c < columns->size; c++, out += pixel) {
            int64_t y = i * rows->stride + r * rows->rate - rows->before;
            int64_t x = j * columns->stride + c * columns->rate - columns->before;
            if (y < 0 || y >= rows->in || x < 0 || x >= columns->in)
                memset(out, 0, pixel);
            else
                memcpy(out, image + (size_t)(y * columns->in + x) * pixel, pixel);
        }
    return out;
}

static struct status patches_compute(struct kernel_context *k)
{
    const struct patches_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct patch_line rows = state->rows, columns = state->columns;
    const int64_t *dims = x->shape.dims;
    struct tensor *out;
    if (x->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(&x->shape));
    TRY(slide(&rows, dims[1], state->same));
    TRY(slide(&columns, dims[2], state->same));
    /* the factors are below 2^31 each: no overflow before shape_check sees the dimensions */
    struct shape patch = shape_of(rows.size, columns.size, dims[3]), shape;
    TRY(shape_check(3, patch.dims, &patch));
    shape = shape_of(dims[0], rows.out, columns.out, shape_size(&patch));
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    size_t pixel = (size_t)dims[3] * dtype_size(x->dtype);
    char *to = out->data;
    for (int64_t n = 0; n < dims[0]; n++)
        for (int64_t i = 0; i < rows.out; i++) {
            TRY(kernel_check(k));
            for (int64_t j = 0; j < columns.out; j++)
                to = copy_patch(&rows, &columns, pixel,
                                at_bytes_const(x->data, n * dims[1] * dims[2], pixel), i, j, to);
        }
    return status_ok();
}

#define DTYPES_PATCHES (DTYPES_REAL | DTYPES(DT_COMPLEX64) | DTYPES(DT_COMPLEX128))
static const struct kernel rows[] = {
    { "ExtractImagePatches", DTYPES_PATCHES, .prepare = patches_prepare, .compute = patches_compute,
      .costly = true },
};
const struct kernel_table kernels_image_patches = { rows, COUNT(rows) };
