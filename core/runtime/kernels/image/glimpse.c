/*
 * glimpse: ExtractGlimpse and ExtractGlimpseV2, a window of each image at an offset of its own.
 *
 *     input [n, h, w, c], size [2], offsets [n, 2] (y, x) -> [n, size 0, size 1, c]
 *
 * Pixels outside of the image are noise, in the range of the image's.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/philox_fill.h"

enum noise { NOISE_UNIFORM, NOISE_GAUSSIAN, NOISE_ZERO };

struct glimpse_state {
    bool normalized, centered;
    bool first_version; /* an offset is always that of the window's centre */
    enum noise noise;
};

static struct status glimpse_prepare(struct prepare_context *p)
{
    static const char *const names[] = { "uniform", "gaussian", "zero" };
    const struct node *node = prepare_node(p);
    struct glimpse_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes noise;
    bool uniform;
    TRY(node_attr_bool(node, "normalized", &state->normalized));
    TRY(node_attr_bool(node, "centered", &state->centered));
    TRY(node_attr_bool(node, "uniform_noise", &uniform));
    TRY(node_attr_string(node, "noise", &noise));
    state->first_version = strcmp(node->op_name, "ExtractGlimpse") == 0;
    if (uniform && noise.size > 0 && !bytes_equal(noise, bytes_of("uniform")))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The uniform_noise and noise could not be specified at the same time");
    state->noise = uniform ? NOISE_UNIFORM : NOISE_GAUSSIAN;
    int found = BYTES_FIND(noise, names);
    if (found >= 0)
        state->noise = (enum noise)found;
    else if (noise.size > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The noise could only be uniform, gaussian, or zero, got%.*s",
                            (int)noise.size, noise.data);
    return status_ok();
}

static struct status glimpse_shape(const struct kernel_context *k, struct shape *out)
{
    const struct tensor *x = kernel_input(k, 0), *size = kernel_input(k, 1);
    const struct tensor *offsets = kernel_input(k, 2);
    if (x->shape.rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input must be 4-dimensional (batch_size, height, width, depth)%s",
                            shape_text(&x->shape));
    if (size->shape.rank != 1 || size->size != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input must be a vector of size 2 (height, width)%s",
                            shape_text(&size->shape));
    if (offsets->shape.rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be a matrix%s",
                            shape_text(&offsets->shape));
    if (offsets->shape.dims[0] != x->shape.dims[0])
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "first dimension should be batch%s",
                            shape_text(&offsets->shape));
    if (offsets->shape.dims[1] != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "second dimension should be of size 2 (y,x)%s",
                            shape_text(&offsets->shape));
    *out = x->shape;
    out->dims[1] = tensor_index(size, 0);
    out->dims[2] = tensor_index(size, 1);
    return shape_check(out->rank, out->dims, out);
}

/* ---- where ---- */

/* One dimension: `size` places from `from` of the image become those from `to` of the window. */
struct overlap {
    int64_t from, to, size;
    bool whole; /* the window lies inside */
};

static int64_t first_place(const struct glimpse_state *state, float offset, int64_t image,
                           int64_t window)
{
    const float far = 0x1p40f; /* outside of any image, and sums fit */
    if (state->normalized)
        offset *= (float)image;
    if (state->centered && (state->normalized || state->first_version))
        offset /= 2.0f;
    if (state->centered)
        offset += (float)image / 2.0f;
    if (state->first_version || (state->normalized && state->centered))
        offset -= (float)window / 2.0f;
    return (int64_t)(offset > far ? far : offset > -far ? offset : -far);
}

static struct overlap find_overlap(const struct glimpse_state *state, float offset, int64_t image,
                                   int64_t window)
{
    int64_t first = first_place(state, offset, image, window);
    struct overlap overlap = { .from = first, .size = window, .whole = true };
    if (first < 0) {
        overlap = (struct overlap){ .size = window + first > 0 ? window + first : 0 };
        overlap.to = window - overlap.size;
    } else if (first + window >= image) {
        overlap.size = image - first > 0 ? image - first : 0;
        overlap.whole = false;
    }
    if (overlap.size > image)
        overlap.size = image;
    return overlap;
}

/* ---- noise ---- */

struct pixel_range {
    float least, most, mean, deviation;
};

/* The range of every `step`th element of x. */
static struct pixel_range find_pixel_range(const float *x, int64_t count, int64_t step)
{
    struct pixel_range range = { .least = INFINITY, .most = -INFINITY };
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i += step) {
        range.least = fminf(range.least, x[i]);
        range.most = fmaxf(range.most, x[i]);
        sum += (double)x[i];
    }
    double elements = (double)((count + step - 1) / step), mean = sum / elements;
    for (int64_t i = 0; i < count; i += step)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    range.mean = (float)mean;
    range.deviation = (float)sqrt(squares / elements);
    return range;
}

/* `out` holds numbers of the distribution, which become noise. */
static void shape_noise(enum noise noise, const float *image, int64_t pixels, int64_t channels,
                        float *out, int64_t count)
{
    for (int64_t c = 0; c < channels; c++) {
        bool uniform = noise == NOISE_UNIFORM; /* of all channels together */
        struct pixel_range of = uniform
                                    ? find_pixel_range(image, pixels * channels, 1)
                                    : find_pixel_range(image + c, pixels * channels - c, channels);
        for (int64_t i = c; i < count; i += channels) {
            float value = uniform ? of.least + out[i] * (of.most - of.least)
                                  : of.mean + out[i] * of.deviation;
            out[i] = fmaxf(fminf(value, of.most), of.least);
        }
    }
}

static void fill_noise(struct kernel_context *k, const float *image, int64_t pixels,
                       int64_t channels, float *out, int64_t count)
{
    const struct glimpse_state *state = kernel_state(k);
    struct draw draw = { .distribution = state->noise == NOISE_UNIFORM ? UNIFORM : NORMAL,
                         .dtype = DT_FLOAT };
    if (state->noise == NOISE_ZERO || pixels == 0) {
        memset(out, 0, (size_t)count * sizeof *out);
        return;
    }
    philox_fill(philox_of_key(kernel_random_seed(k), 0, 0), &draw, 0, out, count);
    shape_noise(state->noise, image, pixels, channels, out, count);
}

static struct status glimpse_compute(struct kernel_context *k)
{
    const struct glimpse_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct shape shape;
    struct tensor *out;
    TRY(glimpse_shape(k, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    int64_t h = x->shape.dims[1], w = x->shape.dims[2], c = x->shape.dims[3];
    int64_t in_count = h * w * c, out_count = shape.dims[1] * shape.dims[2] * c;
    for (int64_t n = 0; out->size > 0 && n < shape.dims[0]; n++) {
        const float *offset = tensor_floats(kernel_input(k, 2)) + 2 * n;
        const float *image = tensor_floats(x) + n * in_count;
        float *window = tensor_floats_mut(out) + n * out_count;
        struct overlap rows = find_overlap(state, offset[0], h, shape.dims[1]);
        struct overlap columns = find_overlap(state, offset[1], w, shape.dims[2]);
        TRY(kernel_check(k));
        if (!rows.whole || !columns.whole)
            fill_noise(k, image, h * w, c, window, out_count);
        for (int64_t y = 0; columns.size > 0 && y < rows.size; y++)
            memcpy(window + ((rows.to + y) * shape.dims[2] + columns.to) * c,
                   image + ((rows.from + y) * w + columns.from) * c,
                   (size_t)(columns.size * c) * sizeof *image);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "ExtractGlimpse", DTYPES_ALL, .prepare = glimpse_prepare, .compute = glimpse_compute },
    { "ExtractGlimpseV2", DTYPES_ALL, .prepare = glimpse_prepare, .compute = glimpse_compute },
};
const struct kernel_table kernels_glimpse = { rows, COUNT(rows) };
