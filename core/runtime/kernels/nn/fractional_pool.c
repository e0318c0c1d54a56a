/*
 * fractional_pool: FractionalAvgPool and FractionalMaxPool, whose windows have two sizes in a
 * random order that makes the image smaller by a ratio that is not whole (Graham, 2014), and their
 * gradients. With a seed, the windows are TensorFlow's.
 */
#include <math.h>
#include <string.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/fractional.h"
#include "runtime/kernels/plain/philox_fill.h"
#include "runtime/kernels/random/random_seeded.h"

/* ---- the borders of windows ---- */

struct fractional {
    struct random_seeded seeded;
    _Atomic uint64_t key; /* of a node that has no seed and draws the same windows in every run */
    float ratio[2];       /* of rows and columns */
    bool is_max, pseudo_random, overlapping, deterministic;
};

static struct status check_ratios(const struct node *node, struct fractional *state)
{
    const struct attr_value *list = node_attr(node, "pooling_ratio");
    if (list == NULL || list->count != 4 || list->element_kind != ATTR_FLOAT)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "pooling_ratio field must specify 4 dimensions");
    for (int64_t i = 0; i < 4; i++)
        if (!(list->elements[i].f >= 1))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "pooling_ratio cannot be smaller than 1, got: %g",
                                (double)list->elements[i].f);
    if (list->elements[0].f != 1 || list->elements[3].f != 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "Fractional %s pooling is not yet supported on the batch nor channel "
                            "dimension.",
                            state->is_max ? "max" : "average");
    state->ratio[0] = list->elements[1].f;
    state->ratio[1] = list->elements[2].f;
    return status_ok();
}

static struct status pool_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct fractional *state = prepare_state(p, sizeof *state, NULL);
    state->is_max = strcmp(node->op_name, "FractionalMaxPool") == 0;
    TRY(check_ratios(node, state));
    TRY(node_attr_bool(node, "pseudo_random", &state->pseudo_random));
    TRY(node_attr_bool(node, "overlapping", &state->overlapping));
    TRY(node_attr_bool(node, "deterministic", &state->deterministic));
    TRY(random_seeded_init(node, &state->seeded));
    if (!state->deterministic && (state->seeded.seed != 0 || state->seeded.seed2 != 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Both seed and seed2 should be 0 if deterministic is false.");
    return status_ok();
}

/* The stream that the windows of a run are drawn from. */
static struct philox find_stream(struct kernel_context *k, struct fractional *state)
{
    if (!state->deterministic)
        return philox_of_key(kernel_random_seed(k), 0, 0);
    if (state->seeded.seed != 0 || state->seeded.seed2 != 0)
        return philox_of_key(state->seeded.seed, 0, state->seeded.seed2);
    uint64_t key = atomic_load(&state->key), fresh = kernel_random_seed(k) | 1;
    if (key == 0 && atomic_compare_exchange_strong(&state->key, &key, fresh))
        key = fresh;
    return philox_of_key(key, 0, 0);
}

/* The borders ceil(α (i + u)) of windows of α = in / out elements, for one random u in [0, 1) that
 * is lowered until the first and the last window are neither longer nor shorter than others. */
static void draw_regular(struct philox_reader *reader, int64_t in, int64_t out, int64_t *borders)
{
    double alpha = (double)in / (double)out;
    double size = (double)(in / out);
    double first = (size + 2) / alpha - 1;
    double last = ((double)in + 1 - size) / alpha - ((double)out - 1);
    uint32_t high = philox_next(reader), low = philox_next(reader);
    double u = philox_double(high, low) * fmin(first, last);
    borders[0] = 0;
    for (int64_t i = 1; i < out; i++)
        borders[i] = (int64_t)ceil(alpha * ((double)i + u)) - 1;
    borders[out] = in;
}

/* Puts the longer windows at random positions. */
static void draw_shuffled(struct philox_reader *reader, int64_t in, int64_t out, int64_t *borders)
{
    int64_t *sizes = borders + 1;
    for (int64_t i = 0; i < out; i++)
        sizes[i] = in / out + (i < in % out);
    for (int64_t i = 0; i + 1 < out; i++) {
        int64_t other = i + philox_next(reader) % (uint32_t)(out - i), size = sizes[i];
        sizes[i] = sizes[other];
        sizes[other] = size;
    }
    borders[0] = 0;
    for (int64_t i = 1; i <= out; i++)
        borders[i] += borders[i - 1];
}

/* Draws the borders of one axis, and moves the stream on as far as TensorFlow does. */
static void draw_borders(const struct fractional *state, struct philox *stream, int64_t in,
                         int64_t out, int64_t *borders)
{
    struct philox_reader reader = { .philox = *stream };
    uint64_t words = state->pseudo_random ? 2 : (uint64_t)out;
    if (state->pseudo_random)
        draw_regular(&reader, in, out, borders);
    else
        draw_shuffled(&reader, in, out, borders);
    *stream = philox_skip(*stream, (words + 3) / 4);
}

/* ---- pooling ---- */

static struct status pool_cells(struct kernel_context *k, const struct fractional_cells *cells,
                                enum dtype dtype, enum fractional_kind kind)
{
    for (int64_t image = 0; image < cells->images; image++)
        for (int64_t row = 0; row < cells->out[0]; row++) {
            TRY(kernel_check(k));
            fractional_row(cells, dtype, kind, image, row);
        }
    return status_ok();
}

/* TensorFlow takes no empty image. */
static struct status check_image(const struct kernel_context *k, const struct fractional *state)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    if (shape->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "tensor_in must be 4-dimensional");
    for (int d = 0; d < 4; d++) {
        float ratio = d == 1 || d == 2 ? state->ratio[d - 1] : 1;
        if ((float)shape->dims[d] < ratio)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Pooling ratio is higher than input dimension size for dimension "
                                "%d. Input dim size: %lld pooling ratio: %g",
                                d, (long long)shape->dims[d], (double)ratio);
        if (shape->dims[d] > INT32_MAX)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension %d, %lld, is too large", d,
                                (long long)shape->dims[d]);
    }
    return status_ok();
}

static struct status pool_compute(struct kernel_context *k)
{
    /* Only the key, which is atomic, changes in a run. */
    struct fractional *state = (struct fractional *)kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    TRY(check_image(k, state));
    struct shape shape = x->shape;
    struct fractional_cells cells = { .images = shape.dims[0],
                                      .depth = shape.dims[3],
                                      .overlapping = state->overlapping };
    struct philox stream = find_stream(k, state);
    struct tensor *out, *borders;
    for (int d = 0; d < 2; d++) {
        cells.in[d] = shape.dims[d + 1];
        cells.out[d] = shape.dims[d + 1] = (int64_t)floorf((float)cells.in[d] / state->ratio[d]);
        struct shape vector = shape_of(cells.out[d] + 1);
        TRY(kernel_output(k, d + 1, &vector, &borders));
        draw_borders(state, &stream, cells.in[d], cells.out[d], tensor_int64s_mut(borders));
        cells.borders[d] = tensor_int64s(borders);
    }
    TRY(kernel_output(k, 0, &shape, &out));
    cells.x = x->data;
    cells.y = out->data;
    return pool_cells(k, &cells, x->dtype, state->is_max ? FRACTIONAL_MAX : FRACTIONAL_MEAN);
}

/* ---- gradients ---- */

static struct status gradient_prepare(struct prepare_context *p)
{
    bool *overlapping = prepare_state(p, sizeof *overlapping, NULL);
    return node_attr_bool(prepare_node(p), "overlapping", overlapping);
}

/* Reads the borders of an axis, which are an input. Those beyond the image are clipped later.
 * Since they must not decrease, the windows have no more pixels than twice the image, however
 * many there are. */
static struct status read_borders(struct kernel_context *k, int input, const char *name, int axis,
                                  struct fractional_cells *cells)
{
    const struct tensor *borders = kernel_input(k, input);
    if (borders->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be a vector, received shape %s",
                            name, shape_text(&borders->shape));
    if (borders->size <= cells->out[axis])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "%s must have at least %lld elements, but got %lld", name,
                            (long long)cells->out[axis] + 1, (long long)borders->size);
    for (int64_t i = 0; i < borders->size; i++)
        if (tensor_int64s(borders)[i] < (i == 0 ? 0 : tensor_int64s(borders)[i - 1]))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "%s must not be negative or fall, got %lld", name,
                                (long long)tensor_int64s(borders)[i]);
    cells->borders[axis] = tensor_int64s(borders);
    return status_ok();
}

static struct status find_cells(struct kernel_context *k, const struct shape *in,
                                const struct shape *out, int input, struct fractional_cells *cells)
{
    static const char *const names[] = { "row_pooling_sequence", "col_pooling_sequence" };
    if (out->dims[0] != in->dims[0] || out->dims[3] != in->dims[3])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "a gradient of shape %s does not belong to images of shape %s",
                            shape_text(out), shape_text(in));
    *cells = (struct fractional_cells){ .images = in->dims[0],
                                        .depth = in->dims[3],
                                        .overlapping = *(const bool *)kernel_state(k) };
    for (int d = 0; d < 2; d++) {
        cells->in[d] = in->dims[d + 1];
        cells->out[d] = out->dims[d + 1];
        TRY(read_borders(k, input + d, names[d], d, cells));
    }
    return status_ok();
}

static struct status mean_gradient_compute(struct kernel_context *k)
{
    const struct tensor *dims = kernel_input(k, 0), *dy = kernel_input(k, 1);
    struct fractional_cells cells;
    struct tensor *out, sums;
    if (dims->shape.rank != 1 || dims->size != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "original input tensor shape must be1-dimensional and 4 elements");
    if (dy->shape.rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "out_backprop must be 4-dimensional, got shape %s",
                            shape_text(&dy->shape));
    struct shape shape;
    TRY(shape_check(4, tensor_int64s(dims), &shape));
    TRY(find_cells(k, &shape, &dy->shape, 2, &cells));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    TRY(kernel_scratch(k, DT_DOUBLE, &shape, &sums));
    memset(sums.data, 0, tensor_bytes(&sums));
    cells.x = dy->data;
    cells.y = sums.data;
    struct status status = pool_cells(k, &cells, dy->dtype, FRACTIONAL_SPREAD);
    fractional_narrow(dy->dtype, tensor_doubles(&sums), out->size, out->data);
    tensor_release(&sums);
    return status;
}

static struct status max_gradient_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1), *dy = kernel_input(k, 2);
    struct fractional_cells cells;
    struct tensor *out, again, places;
    if (x->shape.rank != 4 || y->shape.rank != 4 || !shape_equal(&y->shape, &dy->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "orig_input should be a tensor of rank 4, got %s with outputs %s and "
                            "gradients %s",
                            shape_text(&x->shape), shape_text(&y->shape), shape_text(&dy->shape));
    TRY(find_cells(k, &x->shape, &y->shape, 3, &cells));
    TRY(kernel_output(k, 0, &x->shape, &out));
    memset(out->data, 0, tensor_bytes(out));
    if (y->size == 0) /* without depth, there may be any number of images and windows */
        return status_ok();
    TRY(kernel_scratch(k, DT_INT64, &y->shape, &places));
    struct status status = kernel_scratch(k, x->dtype, &y->shape, &again);
    if (status_is_ok(status)) {
        memset(places.data, 0xff, tensor_bytes(&places)); /* all -1 */
        cells.x = x->data;
        cells.y = again.data;
        cells.places = tensor_int64s_mut(&places);
        status = pool_cells(k, &cells, x->dtype, FRACTIONAL_PLACES);
        if (status_is_ok(status) &&
            !fractional_add(x->dtype, dy->data, tensor_int64s(&places), dy->size, out->data))
            status = kernel_error(k, STATUS_INVALID_ARGUMENT, "a window has no pixel");
        if (status_is_ok(status) && memcmp(again.data, y->data, tensor_bytes(y)) != 0)
            status = kernel_error(k, STATUS_INVALID_ARGUMENT,
                                  "tensor_out_dup is not the same as tensor_out");
        tensor_release(&again);
    }
    tensor_release(&places);
    return status;
}

#define DTYPES_POOLED (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "FractionalAvgPool", DTYPES_POOLED, .prepare = pool_prepare, .compute = pool_compute },
    { "FractionalMaxPool", DTYPES_POOLED, .prepare = pool_prepare, .compute = pool_compute },
    { "FractionalAvgPoolGrad", DTYPES_POOLED, .prepare = gradient_prepare,
      .compute = mean_gradient_compute },
    { "FractionalMaxPoolGrad", DTYPES_POOLED, .prepare = gradient_prepare,
      .compute = max_gradient_compute },
};
const struct kernel_table kernels_fractional_pool = { rows, COUNT(rows) };
