/*
 * random_box: parts of an image at random: SampleDistortedBoundingBox, its second and its stateless
 * version, and RandomCrop. With TensorFlow's numbers if they have a seed.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_seeded.h"

/* ---- numbers ---- */

/* [0, count), without a bias. */
static int draw_below(struct philox_reader *random, int64_t count)
{
    uint32_t range = (uint32_t)count, word;
    if ((range & (range - 1)) == 0)
        return (int)(philox_next(random) & (range - 1));
    uint32_t rejected = UINT32_MAX % range + 1;
    do {
        word = philox_next(random);
    } while (word < rejected);
    return (int)(word % range);
}

/* ---- SampleDistortedBoundingBox ---- */

struct box_sampler {
    struct random_seeded seeded; /* not of the stateless op */
    bool use_image, is_stateless;
    float covered; /* NAN: an input */
    float aspects[2], areas[2];
    int64_t attempts;
};

/* Places of pixels, end exclusive. */
struct pixel_box {
    int x, y, x_end, y_end;
};

static struct status read_two(const struct node *node, const char *name, const char *words,
                              float out[2])
{
    const struct attr_value *list;
    TRY(node_attr_list_of(node, name, ATTR_FLOAT, &list));
    if (list->count != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "%s field must specify 2 dimensions", words);
    for (int i = 0; i < 2; i++)
        out[i] = list->elements[i].f;
    if (!(out[0] > 0 && out[1] > 0))
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be non-negative: [%g, %g]", words,
                            (double)out[0], (double)out[1]);
    return status_ok();
}

static struct status check_covered(float covered)
{
    if (covered >= 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "Min object covered must be non-negative: %g",
                        (double)covered);
}

static struct status sampler_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct box_sampler *state = prepare_state(p, sizeof *state, NULL);
    state->covered = NAN;
    state->is_stateless = strncmp(node->op_name, "Stateless", strlen("Stateless")) == 0;
    TRY(random_seeded_init(node, &state->seeded));
    if (node_attr(node, "min_object_covered") != NULL) {
        TRY(node_attr_float(node, "min_object_covered", &state->covered));
        TRY(check_covered(state->covered));
    }
    TRY(node_attr_bool(node, "use_image_if_no_bounding_boxes", &state->use_image));
    TRY(read_two(node, "aspect_ratio_range", "Aspect ratio range", state->aspects));
    TRY(read_two(node, "area_range", "Area range", state->areas));
    if (!(state->areas[0] <= 1 && state->areas[1] <= 1))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Area range must be less then or equal to 1.0: [%g, %g]",
                            (double)state->areas[0], (double)state->areas[1]);
    TRY(node_attr_int32(node, "max_attempts", &state->attempts));
    if (state->attempts <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Max attempts must be non-negative: %lld",
                            (long long)state->attempts);
    return status_ok();
}

static int rounded(float x)
{
    return (int)lrintf(x);
}

/* Draws a box of an area between `least` and `most`, as wide as `aspect` times its height.
 * False: no such box exists. */
static bool draw_box(const struct box_sampler *state, int width, int height, float aspect,
                     struct philox_reader *random, struct pixel_box *out)
{
    if (width <= 0 || height <= 0 || state->areas[0] > state->areas[1])
        return false;
    float least = state->areas[0] * (float)width * (float)height;
    float most = state->areas[1] * (float)width * (float)height;
    int h = rounded(sqrtf(least / aspect)), tallest = rounded(sqrtf(most / aspect));
    if (rounded((float)tallest * aspect) > width) {
        const float epsilon = 0.0000001f;
        tallest = (int)(((double)width + 0.5 - (double)epsilon) / (double)aspect);
        if (rounded((float)tallest * aspect) > width)
            tallest--;
    }
    tallest = tallest > height ? height : tallest;
    h = h > tallest ? tallest : h;
    if (h < tallest)
        h += draw_below(random, tallest - h + 1);
    int w = rounded((float)h * aspect);
    float area = (float)(w * h);
    if (area < least) { /* by rounding */
        w = rounded((float)++h * aspect);
        area = (float)(w * h);
    }
    if (area > most) {
        w = rounded((float)--h * aspect);
        area = (float)(w * h);
    }
    if (area < least || area > most || w > width || h > height || w <= 0 || h <= 0)
        return false;
    int y = h < height ? draw_below(random, height - h) : 0;
    int x = w < width ? draw_below(random, width - w) : 0;
    *out = (struct pixel_box){ x, y, x + w, y + h };
    return true;
}

static float area_of(const struct pixel_box *box)
{
    return (float)((int64_t)(box->x_end - box->x) * (box->y_end - box->y));
}

static float common_area(const struct pixel_box *a, const struct pixel_box *b)
{
    struct pixel_box both = { a->x > b->x ? a->x : b->x, a->y > b->y ? a->y : b->y,
                              a->x_end < b->x_end ? a->x_end : b->x_end,
                              a->y_end < b->y_end ? a->y_end : b->y_end };
    return both.x > both.x_end || both.y > both.y_end ? 0 : area_of(&both);
}

/* Box i of input 1, or the whole image. */
static struct pixel_box object_box(const struct kernel_context *k, int64_t i, int width, int height)
{
    const struct tensor *boxes = kernel_input(k, 1);
    if (boxes->size == 0)
        return (struct pixel_box){ 0, 0, width, height };
    const float *box = tensor_floats(boxes) + 4 * i;
    return (struct pixel_box){ (int)(box[1] * (float)width), (int)(box[0] * (float)height),
                               (int)(box[3] * (float)width), (int)(box[2] * (float)height) };
}

/* Does the box hold enough of one of the objects? */
static bool covers(const struct kernel_context *k, const struct pixel_box *box, float covered,
                   int width, int height)
{
    int64_t count = kernel_input(k, 1)->size / 4;
    if (area_of(box) < 1)
        return false;
    for (int64_t i = 0; i < (count > 0 ? count : 1); i++) {
        struct pixel_box object = object_box(k, i, width, height);
        float area = area_of(&object);
        if (area >= 1 && common_area(box, &object) / area >= covered)
            return true;
    }
    return false;
}

static struct status check_sampler(const struct kernel_context *k, int *height, int *width)
{
    const struct box_sampler *state = kernel_state(k);
    const struct tensor *size = kernel_input(k, 0), *boxes = kernel_input(k, 1);
    if (size->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image_size must be 1-dimensional%s",
                            shape_text(&size->shape));
    if (size->size != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image_size must contain 3 elements%s",
                            shape_text(&size->shape));
    int64_t h = tensor_index(size, 0), w = tensor_index(size, 1);
    if (h < 0 || h >= INT32_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image height cannot be >= int32 max");
    if (w < 0 || w >= INT32_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image width cannot be >= int32 max");
    /* areas are products of ints */
    if (h > 0 && w > INT32_MAX / h)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "an image of %lld by %lld pixels",
                            (long long)h, (long long)w);
    if (boxes->shape.rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input boxes must be 3-dimensional [batch, num_boxes, coords]: %s",
                            shape_text(&boxes->shape));
    if (boxes->shape.dims[2] != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "bounding boxes must have shape [4] or [*, 4], got %s",
                            shape_text(&boxes->shape));
    for (int64_t i = 0; i < boxes->size; i++)
        if (!(tensor_floats(boxes)[i] >= 0 && tensor_floats(boxes)[i] <= 1))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "All bounding box coordinates must be in [0.0, 1.0]: %g",
                                (double)tensor_floats(boxes)[i]);
    if (boxes->size == 0 && !state->use_image)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "No bounding boxes provided as input. One must enable "
                            "use_image_if_no_bounding_boxes if you wish to not provide any "
                            "bounding boxes.");
    *height = (int)h;
    *width = (int)w;
    return status_ok();
}

/* begin, size, and the box in parts of the image */
static struct status put_box(struct kernel_context *k, const struct pixel_box *box, int height,
                             int width)
{
    struct shape three = shape_of(3), one = shape_of(1, 1, 4);
    struct tensor *begin, *size, *boxes;
    TRY(kernel_output(k, 0, &three, &begin));
    TRY(kernel_output(k, 1, &three, &size));
    TRY(kernel_output(k, 2, &one, &boxes));
    const int64_t first[] = { box->y, box->x, 0 };
    const int64_t extent[] = { box->y_end - box->y, box->x_end - box->x, -1 };
    for (int i = 0; i < 3; i++) {
        tensor_set_index(begin, i, first[i]);
        tensor_set_index(size, i, extent[i]);
    }
    float *part = tensor_floats_mut(boxes);
    part[0] = (float)box->y / (float)height;
    part[1] = (float)box->x / (float)width;
    part[2] = (float)box->y_end / (float)height;
    part[3] = (float)box->x_end / (float)width;
    return status_ok();
}

static struct status sampler_stream(struct kernel_context *k, struct philox *out)
{
    const struct box_sampler *state = kernel_state(k);
    if (state->is_stateless)
        return random_seeds(k, 3, out);
    *out = random_seeded_take(k, &state->seeded, (uint64_t)state->attempts);
    return status_ok();
}

static struct status sampler_compute(struct kernel_context *k)
{
    const struct box_sampler *state = kernel_state(k);
    struct philox_reader random = { 0 };
    float covered = state->covered;
    int height = 0, width = 0;
    TRY(check_sampler(k, &height, &width));
    if (isnan(covered)) {
        if (kernel_input(k, 2)->shape.rank != 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "min_object_covered must be 0-D, not %s",
                                shape_text(&kernel_input(k, 2)->shape));
        covered = tensor_floats(kernel_input(k, 2))[0];
        TRY(check_covered(covered));
    }
    TRY(sampler_stream(k, &random.philox));
    struct pixel_box box = { 0, 0, width, height }, drawn;
    for (int64_t i = 0; i < state->attempts; i++) {
        float aspect =
            philox_float(philox_next(&random)) * (state->aspects[1] - state->aspects[0]) +
            state->aspects[0];
        TRY(kernel_check(k));
        if (draw_box(state, width, height, aspect, &random, &drawn) &&
            covers(k, &drawn, covered, width, height)) {
            box = drawn;
            break;
        }
    }
    return put_box(k, &box, height, width);
}

/* ---- RandomCrop ---- */

static struct status crop_shape(const struct kernel_context *k, struct shape *out)
{
    static const char *const names[] = { "height", "width" };
    const struct tensor *x = kernel_input(k, 0), *size = kernel_input(k, 1);
    if (x->shape.rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be 3-dimensional%s",
                            shape_text(&x->shape));
    if (size->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "shape_t must be 1-dimensional%s",
                            shape_text(&size->shape));
    if (size->size != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "shape_t must have two elements%s",
                            shape_text(&size->shape));
    *out = x->shape;
    for (int i = 1; i >= 0; i--) {
        out->dims[i] = tensor_index(size, i);
        if (out->dims[i] > x->shape.dims[i])
            return kernel_error(k, STATUS_FAILED_PRECONDITION,
                                "%s must be >= target_%s: %s = %lld, target_%s = %lld", names[i],
                                names[i], names[i], (long long)x->shape.dims[i], names[i],
                                (long long)out->dims[i]);
    }
    return shape_check(out->rank, out->dims, out);
}

static struct status crop_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct philox_reader random = { 0 };
    struct shape shape;
    struct tensor *out;
    int64_t first[2] = { 0 };
    TRY(crop_shape(k, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    random.philox = random_seeded_take(k, kernel_state(k), 1);
    for (int i = 1; i >= 0; i--)
        if (x->shape.dims[i] > shape.dims[i])
            first[i] =
                (int64_t)(philox_next(&random) % (uint64_t)(x->shape.dims[i] - shape.dims[i] + 1));
    size_t each = dtype_size(x->dtype);
    int64_t run = shape.dims[1] * shape.dims[2];
    for (int64_t y = 0; run > 0 && y < shape.dims[0]; y++)
        memcpy(at_bytes(out->data, y * run, each),
               at_bytes_const(x->data,
                              ((first[0] + y) * x->shape.dims[1] + first[1]) * shape.dims[2], each),
               (size_t)run * each);
    return status_ok();
}

#define SAMPLER(op)                                                                            \
    {                                                                                          \
        op, DTYPES_ALL, .prepare = sampler_prepare, .compute = sampler_compute, .costly = true \
    }
static const struct kernel rows[] = {
    SAMPLER("SampleDistortedBoundingBox"),
    SAMPLER("SampleDistortedBoundingBoxV2"),
    SAMPLER("StatelessSampleDistortedBoundingBox"),
    { "RandomCrop", DTYPES_ALL, .prepare = random_seeded_prepare, .compute = crop_compute },
};
const struct kernel_table kernels_random_box = { rows, COUNT(rows) };
