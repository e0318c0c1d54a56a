/* draw_boxes: DrawBoundingBoxes and DrawBoundingBoxesV2, which draw the edges of boxes. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* yellow, blue, red, lime, purple, olive, maroon, navy blue, aqua, fuchsia */
static const float default_colours[][4] = {
    { 1, 1, 0, 1 },       { 0, 0, 1, 1 },       { 1, 0, 0, 1 },    { 0, 1, 0, 1 },
    { 0.5f, 0, 0.5f, 1 }, { 0.5f, 0.5f, 0, 1 }, { 0.5f, 0, 0, 1 }, { 0, 0, 0.5f, 1 },
    { 0, 1, 1, 1 },       { 1, 0, 1, 1 },
};

struct box_canvas {
    int64_t height, width, depth;
    struct tensor *out;
    int64_t start; /* of the image, in elements */
};

/* A colour of `depth` numbers for box i. */
static const float *colour_of(struct kernel_context *k, int64_t i, int64_t depth)
{
    static const float white = 1;
    const struct tensor *colours = kernel_inputs_count(k) == 3 ? kernel_input(k, 2) : NULL;
    if (colours != NULL && colours->size > 0)
        return tensor_floats(colours) + i % colours->shape.dims[0] * colours->shape.dims[1];
    return depth == 1 ? &white : default_colours[i % (int64_t)COUNT(default_colours)];
}

static void paint(const struct box_canvas *canvas, int64_t y, int64_t x, const float *colour)
{
    int64_t at = canvas->start + (y * canvas->width + x) * canvas->depth;
    if (canvas->out->dtype == DT_FLOAT)
        memcpy(tensor_floats_mut(canvas->out) + at, colour, (size_t)canvas->depth * sizeof *colour);
    else
        half_block_store(canvas->out->dtype, colour, (uint16_t *)canvas->out->data + at,
                         canvas->depth);
}

/* A position in [0, 1] as a pixel, cut towards 0; far outside for what does not fit. */
static int64_t pixel_of(float at, int64_t size)
{
    const float far = 1e15f;
    float place = at * (float)(size - 1);
    return place > far ? (int64_t)far : place > -far ? (int64_t)place : -(int64_t)far;
}

static int64_t within(int64_t at, int64_t size)
{
    return at < 0 ? 0 : at < size ? at : size - 1;
}

/* Edges outside the image are not drawn. */
static void draw_box(const struct box_canvas *canvas, const float *box, const float *colour)
{
    int64_t height = canvas->height, width = canvas->width;
    int64_t top = pixel_of(box[0], height), bottom = pixel_of(box[2], height);
    int64_t left = pixel_of(box[1], width), right = pixel_of(box[3], width);
    if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0)
        return;
    for (int64_t x = within(left, width); x <= within(right, width); x++) {
        if (top >= 0)
            paint(canvas, top, x, colour);
        if (bottom < height)
            paint(canvas, bottom, x, colour);
    }
    for (int64_t y = within(top, height); y <= within(bottom, height); y++) {
        if (left >= 0)
            paint(canvas, y, left, colour);
        if (right < width)
            paint(canvas, y, right, colour);
    }
}

static struct status check_shapes(struct kernel_context *k)
{
    const struct shape *images = &kernel_input(k, 0)->shape, *boxes = &kernel_input(k, 1)->shape;
    if (images->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "The rank of the images should be 4");
    if (boxes->rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "The rank of the boxes tensor should be 3");
    if (images->dims[0] != boxes->dims[0])
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "The batch sizes should be the same");
    int64_t depth = images->dims[3];
    if (depth != 1 && depth != 3 && depth != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
    if (boxes->dims[2] != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The size of the third dimension of the box must be 4. Received: %lld",
                            (long long)boxes->dims[2]);
    if (kernel_inputs_count(k) < 3)
        return status_ok();
    const struct shape *colours = &kernel_input(k, 2)->shape;
    if (colours->rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "colors must be a 2-D matrix%s",
                            shape_text(colours));
    if (colours->dims[1] < depth)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "colors must have equal or more channels than the image provided: %s",
                            shape_text(colours));
    return status_ok();
}

static struct status draw_compute(struct kernel_context *k)
{
    const struct tensor *images = kernel_input(k, 0), *boxes = kernel_input(k, 1);
    const int64_t *dims = images->shape.dims;
    struct tensor *out;
    TRY(check_shapes(k));
    TRY(kernel_output(k, 0, &images->shape, &out));
    if (out->size == 0)
        return status_ok();
    memcpy(out->data, images->data, tensor_bytes(images));
    int64_t count = boxes->shape.dims[1];
    for (int64_t i = 0; i < dims[0] * count; i++) {
        TRY(kernel_check(k));
        const struct box_canvas canvas = { dims[1], dims[2], dims[3], out,
                                           i / count * dims[1] * dims[2] * dims[3] };
        draw_box(&canvas, tensor_floats(boxes) + 4 * i, colour_of(k, i % count, dims[3]));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "DrawBoundingBoxes", DTYPES(DT_FLOAT) | DTYPES(DT_HALF), .compute = draw_compute },
    { "DrawBoundingBoxesV2", DTYPES(DT_FLOAT) | DTYPES(DT_HALF), .compute = draw_compute },
};
const struct kernel_table kernels_draw_boxes = { rows, COUNT(rows) };
