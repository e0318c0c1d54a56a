/*
 * scale_translate: ScaleAndTranslate, which draws an image scaled and moved, and its gradient. Each
 * position of the output is a weighted sum of a span of positions of the image, in rows first and
 * columns then.
 */
#include <float.h>
#include <math.h>

#include "runtime/kernels/float_values.h"

/* ---- the kernels, by the distance from a position ---- */

static float lanczos(float radius, float x)
{
    const float pi = 3.14159265359f;
    if (x > radius)
        return 0;
    if (fabsf(x) <= 1e-3f)
        return 1;
    return radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}

static float lanczos1(float x)
{
    return lanczos(1, x);
}

static float lanczos3(float x)
{
    return lanczos(3, x);
}

static float lanczos5(float x)
{
    return lanczos(5, x);
}

static float gaussian(float x)
{
    const float radius = 1.5f, sigma = radius / 3;
    return x >= radius ? 0 : expf(-x * x / (2 * sigma * sigma));
}

static float box(float x)
{
    return x < 0.5f ? 1 : x == 0.5f ? 0.5f : 0;
}

static float triangle(float x)
{
    return x < 1 ? 1 - x : 0;
}

static float keys_cubic(float x)
{
    if (x >= 2)
        return 0;
    return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2 : (1.5f * x - 2.5f) * x * x + 1;
}

static float mitchell_cubic(float x)
{
    if (x >= 2)
        return 0;
    return x >= 1 ? ((-7.0f / 18 * x + 2) * x - 10.0f / 3) * x + 16.0f / 9
                  : (7.0f / 6 * x - 2) * x * x + 8.0f / 9;
}

static const struct sampler {
    const char *name;
    float (*weight)(float distance);
    float radius;
} samplers[] = {
    { "lanczos1", lanczos1, 1 },
    { "lanczos3", lanczos3, 3 },
    { "lanczos5", lanczos5, 5 },
    { "gaussian", gaussian, 1.5f },
    { "box", box, 1 },
    { "triangle", triangle, 1 },
    { "keyscubic", keys_cubic, 2 },
    { "mitchellcubic", mitchell_cubic, 2 },
};

struct scale_state {
    const struct sampler *sampler;
    bool antialias;
};

static struct status scale_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct scale_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes name;
    TRY(node_attr_bool(node, "antialias", &state->antialias));
    TRY(node_attr_string(node, "kernel_type", &name));
    for (size_t i = 0; i < COUNT(samplers) && state->sampler == NULL; i++)
        if (bytes_equal(name, bytes_of(samplers[i].name)))
            state->sampler = &samplers[i];
    if (state->sampler == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "Unrecognized kernel type: %.*s",
                            (int)name.size, name.data);
    return status_ok();
}

/* ---- spans ---- */

/* One dimension: position i of the output is Σ weights[i][j] · image[starts[i] + j]. */
struct spans {
    int64_t in, out, width;        /* width: the most positions of a span */
    struct tensor starts, weights; /* int64 [out], float [out, width] */
};

static void spans_release(struct spans *spans)
{
    tensor_release(&spans->starts);
    tensor_release(&spans->weights);
}

/* `x`, or the nearest index of `in` positions; NaN is 0. */
static int64_t index_in(float x, int64_t in)
{
    if (!(x > 0))
        return 0;
    return x < (float)(in - 1) ? (int64_t)x : in - 1;
}

/* The weights of the positions [start, end) around `at`, which add up to 1. */
static void weigh(const struct sampler *sampler, float at, float scale, int64_t start, int64_t end,
                  float *weights)
{
    float sum = 0;
    for (int64_t i = start; i < end; i++) {
        float distance = (float)i + 0.5f - at;
        weights[i - start] = sampler->weight(fabsf(distance * scale));
        sum += weights[i - start];
    }
    bool counts = fabsf(sum) >= 1000 * FLT_MIN;
    for (int64_t i = 0; i < end - start; i++)
        weights[i] = counts ? weights[i] * (1 / sum) : 0;
}

static struct status spans_fill(struct kernel_context *k, const struct scale_state *state,
                                float scale, float move, struct spans *spans)
{
    float inverse = (float)(1.0 / (double)scale), offset = -inverse * move;
    float wide = state->antialias ? fmaxf(inverse, 1) : 1;
    float reach = state->sampler->radius * wide;
    int64_t *starts = tensor_int64s_mut(&spans->starts);
    memset(spans->weights.data, 0, tensor_bytes(&spans->weights));
    for (int64_t i = 0; i < spans->out; i++) {
        TRY(kernel_check(k));
        float at = ((float)i + 0.5f) * inverse + offset;
        starts[i] = 0;
        if (at < 0 || at > (float)spans->in)
            continue;
        int64_t start = index_in(ceilf(at - reach - 0.5f), spans->in);
        int64_t end = index_in(floorf(at + reach - 0.5f), spans->in) + 1;
        if (end - start > spans->width)
            return kernel_error(k, STATUS_INTERNAL, "Span is too large: %lld vs %lld.",
                                (long long)(end - start), (long long)spans->width);
        starts[i] = start;
        weigh(state->sampler, at, 1 / wide, start, end,
              tensor_floats_mut(&spans->weights) + i * spans->width);
    }
    return status_ok();
}

static struct status spans_make(struct kernel_context *k, int64_t in, int64_t out, float scale,
                                float move, struct spans *spans)
{
    const struct scale_state *state = kernel_state(k);
    float inverse = (float)(1.0 / (double)scale);
    float reach = state->sampler->radius * (state->antialias ? fmaxf(inverse, 1) : 1);
    double width = 2 * ceil((double)reach) + 1;
    *spans = (struct spans){ .in = in, .out = out };
    spans->width = width < (double)in ? (int64_t)width : in;
    struct shape line = shape_of(out), all = shape_of(out, spans->width);
    TRY(shape_check(2, all.dims, &all));
    TRY(kernel_scratch(k, DT_INT64, &line, &spans->starts));
    struct status status = kernel_scratch(k, DT_FLOAT, &all, &spans->weights);
    if (status_is_ok(status))
        status = spans_fill(k, state, scale, move, spans);
    if (!status_is_ok(status))
        spans_release(spans);
    return status;
}

/* The positions of span i: those beyond the image have no weight. */
static int64_t span_count(const struct spans *spans, int64_t start)
{
    return spans->in - start < spans->width ? spans->in - start : spans->width;
}

static void add_scaled(const float *x, float weight, float *sum, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        sum[i] += x[i] * weight;
}

/* out [spans->out, size] = the spans' sums of x [spans->in, size], of span `i` alone */
static void gather_span(const struct spans *spans, int64_t i, const float *x, int64_t size,
                        float *out)
{
    int64_t start = tensor_int64s(&spans->starts)[i];
    const float *weights = tensor_floats(&spans->weights) + i * spans->width;
    for (int64_t j = 0; j < span_count(spans, start); j++)
        add_scaled(x + (start + j) * size, weights[j], out, size);
}

/* The reverse: adds dy [size], the gradient of span i, to dx [spans->in, size]. */
static void scatter_span(const struct spans *spans, int64_t i, const float *dy, int64_t size,
                         float *dx)
{
    int64_t start = tensor_int64s(&spans->starts)[i];
    const float *weights = tensor_floats(&spans->weights) + i * spans->width;
    for (int64_t j = 0; j < span_count(spans, start); j++)
        if (weights[j] != 0)
            add_scaled(dy, weights[j], dx + (start + j) * size, size);
}

/* ---- the ops ---- */

struct scale_size {
    int64_t n, c;
    struct spans rows, columns;
    struct tensor line; /* a row between the two passes: [columns.in, c] */
};

static struct status two_numbers(struct kernel_context *k, int index, float out[2])
{
    const struct tensor *x = kernel_input(k, index);
    if (x->shape.rank != 1 || x->size != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            x->shape.rank != 1 ? "t must be 1-dimensional%s"
                                               : "t must have two elements%s",
                            shape_text(&x->shape));
    memcpy(out, x->data, 2 * sizeof *out);
    return status_ok();
}

static void size_release(struct scale_size *size)
{
    spans_release(&size->rows);
    spans_release(&size->columns);
    tensor_release(&size->line);
}

/* From images of shape `x` to a height and a width, by inputs 2 and 3. */
static struct status size_make(struct kernel_context *k, const struct shape *x, int64_t height,
                               int64_t width, struct scale_size *out)
{
    float scale[2], move[2];
    struct status status;
    TRY(two_numbers(k, 2, scale));
    TRY(two_numbers(k, 3, move));
    if (!(scale[0] > 0) || !(scale[1] > 0))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Scale must be greater than zero.");
    *out = (struct scale_size){ .n = x->dims[0], .c = x->dims[3] };
    struct shape line = shape_of(x->dims[2], x->dims[3]);
    TRY(kernel_scratch(k, DT_FLOAT, &line, &out->line));
    TRY_OR(fail, spans_make(k, x->dims[1], height, scale[0], move[0], &out->rows));
    TRY_OR(fail, spans_make(k, x->dims[2], width, scale[1], move[1], &out->columns));
    return status_ok();
fail:
    size_release(out);
    return status;
}

static struct status draw(struct kernel_context *k, struct scale_size *size, const float *images,
                          float *out)
{
    int64_t row = size->columns.in * size->c;
    float *line = tensor_floats_mut(&size->line);
    for (int64_t n = 0; n < size->n; n++, images += size->rows.in * row)
        for (int64_t y = 0; y < size->rows.out; y++) {
            TRY(kernel_check(k));
            memset(line, 0, tensor_bytes(&size->line));
            gather_span(&size->rows, y, images, row, line);
            for (int64_t x = 0; x < size->columns.out; x++, out += size->c)
                gather_span(&size->columns, x, line, size->c, out);
        }
    return status_ok();
}

static struct status check_image(struct kernel_context *k, const struct shape *x, const char *name,
                                 const char *sizes)
{
    if (x->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be 4-dimensional%s", name,
                            shape_text(x));
    if (x->dims[1] >= INT32_MAX || x->dims[2] >= INT32_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s sizes must be between 0 and max int32",
                            sizes);
    return status_ok();
}

static struct status scale_out_size(struct kernel_context *k, int64_t *height, int64_t *width)
{
    const struct tensor *size = kernel_input(k, 1);
    if (size->shape.rank != 1 || size->size != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            size->shape.rank != 1 ? "output_shape_t must be 1-dimensional%s"
                                                  : "output_shape_t must have two elements%s",
                            shape_text(&size->shape));
    *height = tensor_int32s(size)[0];
    *width = tensor_int32s(size)[1];
    if (*height <= 0 || *width <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "output dimensions must be positive");
    return status_ok();
}

static struct status scale_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    const int64_t *dims = x->shape.dims;
    struct scale_size size;
    struct tensor *out, images;
    int64_t height = 0, width = 0;
    TRY(check_image(k, &x->shape, "input", "input"));
    TRY(scale_out_size(k, &height, &width));
    if (dims[3] <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image must have at least one channel");
    if (dims[1] <= 0 || dims[2] <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input image must be of non-zero size");
    struct shape shape = shape_of(dims[0], height, width, dims[3]);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(size_make(k, &x->shape, height, width, &size));
    struct status status = kernel_output(k, 0, &shape, &out);
    if (status_is_ok(status) && out->size > 0)
        status = float_values(k, x, &images);
    if (status_is_ok(status) && out->size > 0) {
        memset(out->data, 0, tensor_bytes(out));
        status = draw(k, &size, tensor_floats(&images), tensor_floats_mut(out));
        tensor_release(&images);
    }
    size_release(&size);
    return status;
}

static struct status draw_back(struct kernel_context *k, struct scale_size *size, const float *dy,
                               float *dx)
{
    int64_t row = size->columns.in * size->c;
    float *line = tensor_floats_mut(&size->line);
    for (int64_t n = 0; n < size->n; n++, dx += size->rows.in * row)
        for (int64_t y = 0; y < size->rows.out; y++) {
            TRY(kernel_check(k));
            memset(line, 0, tensor_bytes(&size->line));
            for (int64_t x = 0; x < size->columns.out; x++, dy += size->c)
                scatter_span(&size->columns, x, dy, size->c, line);
            scatter_span(&size->rows, y, line, row, dx);
        }
    return status_ok();
}

/* Inputs: the gradient, and the image whose height and width the result has. */
static struct status scale_grad_compute(struct kernel_context *k)
{
    const struct tensor *dy = kernel_input(k, 0), *x = kernel_input(k, 1);
    struct scale_size size;
    struct tensor *out;
    TRY(check_image(k, &dy->shape, "input_grad", "input"));
    TRY(check_image(k, &x->shape, "original_image", "original"));
    const int64_t *grad = dy->shape.dims, *image = x->shape.dims;
    struct shape shape = shape_of(grad[0], image[1], image[2], grad[3]);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(size_make(k, &shape, grad[1], grad[2], &size));
    struct status status = kernel_output(k, 0, &shape, &out);
    if (status_is_ok(status) && out->size > 0) {
        memset(out->data, 0, tensor_bytes(out));
        status = draw_back(k, &size, tensor_floats(dy), tensor_floats_mut(out));
    }
    size_release(&size);
    return status;
}

static const struct kernel rows[] = {
    { "ScaleAndTranslate", DTYPES_REAL, .prepare = scale_prepare, .compute = scale_compute,
      .costly = true },
    { "ScaleAndTranslateGrad", DTYPES(DT_FLOAT), .prepare = scale_prepare,
      .compute = scale_grad_compute, .costly = true },
};
const struct kernel_table kernels_scale_translate = { rows, COUNT(rows) };
