/* Gradients of ops on images. Source: TensorFlow's image_grad.py, nn_grad.py and array_grad.py. */
#include "graph/gradients/emit.h"

static struct status resized(struct gradient_context *c, const char *op, struct endpoint last)
{
    const struct endpoint inputs[] = { dy(c), last };
    const struct attr attrs[] = { same_attr(c, "align_corners"), same_attr(c, "half_pixel_centers"),
                                  ATTR_END };

    return flow(c, 0, build(c->builder, op, NULL, 2, inputs, attrs));
}

struct status gradient_resize_bilinear(struct gradient_context *c)
{
    enum dtype dtype = endpoint_dtype(input(c, 0));

    if (!(DTYPES(dtype) & DTYPES_FLOATING))
        return status_ok(); /* an image of integers */
    return resized(c, "ResizeBilinearGrad", input(c, 0));
}

struct status gradient_resize_bicubic(struct gradient_context *c)
{
    enum dtype dtype = endpoint_dtype(input(c, 0));

    if (dtype != DT_FLOAT && dtype != DT_DOUBLE)
        return status_ok();
    return resized(c, "ResizeBicubicGrad", input(c, 0));
}

/* Height and width of the images. */
static struct endpoint image_size(struct gradient_context *c)
{
    const int32_t from = 1, count = 2;

    return build_slice(c->builder, NULL, unary(c, "Shape", input(c, 0)), 1, &from, &count);
}

struct status gradient_resize_nearest_neighbor(struct gradient_context *c)
{
    return resized(c, "ResizeNearestNeighborGrad", image_size(c));
}

struct status gradient_scale_and_translate(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), input(c, 0), input(c, 2), input(c, 3) };
    const struct attr attrs[] = { same_attr(c, "kernel_type"), same_attr(c, "antialias"),
                                  ATTR_END };

    if (endpoint_dtype(input(c, 0)) != DT_FLOAT)
        return gradient_none(c); /* TensorFlow's op for the gradient has only floats */
    return flow(c, 0, build(c->builder, "ScaleAndTranslateGrad", NULL, 4, inputs, attrs));
}

struct status gradient_crop_and_resize(struct gradient_context *c)
{
    enum dtype dtype = endpoint_dtype(input(c, 0));

    if (c->wanted[0] && (dtype == DT_FLOAT || dtype == DT_DOUBLE || dtype == DT_HALF)) {
        const struct endpoint inputs[] = { dy(c), input(c, 1), input(c, 2),
                                           shape_tensor(c, input(c, 0)) };
        const struct attr attrs[] = { attr_type("T", dtype), same_attr(c, "method"), ATTR_END };
        send(c, 0, build(c->builder, "CropAndResizeGradImage", NULL, 4, inputs, attrs));
    }
    if (c->wanted[1]) { /* as if the method were bilinear */
        const struct endpoint inputs[] = { dy(c), input(c, 0), input(c, 1), input(c, 2) };
        send(c, 1, build(c->builder, "CropAndResizeGradBoxes", NULL, 4, inputs, NULL));
    }
    return status_ok();
}

/* Transforms [n, 8] undone: the inverse of each matrix, over its last element. */
static struct endpoint inverse_transforms(struct gradient_context *c, struct endpoint transforms)
{
    static const int32_t square[] = { -1, 3, 3 }, rows[] = { -1, 9 };
    static const int32_t first[] = { 0, 0 }, last[] = { 0, 8 }, one[] = { -1, 1 },
                         eight[] = { -1, 8 };
    struct builder *b = c->builder;
    const struct endpoint parts[] = {
        transforms, unary(c, "OnesLike", build_slice(b, NULL, transforms, 2, first, one)),
        build_const_int(b, 1)
    };
    struct endpoint matrices = build(b, "ConcatV2", NULL, 3, parts, NULL);

    matrices = binary(c, "Reshape", matrices, build_const_ints(b, NULL, 3, square));
    matrices = binary(c, "Reshape", unary(c, "MatrixInverse", matrices),
                      build_const_ints(b, NULL, 2, rows));
    matrices = binary(c, "RealDiv", matrices, build_slice(b, NULL, matrices, 2, last, one));
    return build_slice(b, NULL, matrices, 2, first, eight);
}

/* The gradient's pixels moved back, beyond which it is 0. */
struct status gradient_projective(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), inverse_transforms(c, input(c, 1)), image_size(c),
                                       build_const_float(c->builder, 0) };
    const struct attr attrs[] = { same_attr(c, "interpolation"), same_attr(c, "fill_mode"),
                                  ATTR_END };

    return flow(c, 0, build(c->builder, "ImageProjectiveTransformV3", NULL, 4, inputs, attrs));
}

struct status gradient_lrn(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), input(c, 0), output(c) };
    const struct attr attrs[] = { same_attr(c, "depth_radius"), same_attr(c, "bias"),
                                  same_attr(c, "alpha"), same_attr(c, "beta"), ATTR_END };

    return flow(c, 0, build(c->builder, "LRNGrad", NULL, 3, inputs, attrs));
}

static struct status mirrored(struct gradient_context *c, const char *op)
{
    const struct endpoint inputs[] = { dy(c), input(c, 1) };
    const struct attr attrs[] = { same_attr(c, "mode"), ATTR_END };

    return flow(c, 0, build(c->builder, op, NULL, 2, inputs, attrs));
}

struct status gradient_mirror_pad(struct gradient_context *c)
{
    return mirrored(c, "MirrorPadGrad");
}

struct status gradient_mirror_pad_grad(struct gradient_context *c)
{
    return mirrored(c, "MirrorPad");
}

/* ---- patches: each pixel gets the gradients of its copies ---- */

/* For each element of a patch, the number of its pixel in the image; -1: padding. */
static struct endpoint pixels_of_patches(struct gradient_context *c, struct endpoint pixels,
                                         struct endpoint image)
{
    static const int32_t flat[] = { -1 };
    struct builder *b = c->builder;
    const struct attr attrs[] = { same_attr(c, "ksizes"), same_attr(c, "strides"),
                                  same_attr(c, "padding"),
                                  same_attr(c, "rates"), /* last: an op of volumes has none */
                                  ATTR_END };
    struct endpoint numbers = binary(c, "AddV2", build_range(b, pixels), build_const_int(b, 1));
    numbers = binary(c, "Reshape", numbers, image);
    struct endpoint patches = build(b, c->node->op_name, NULL, 1, &numbers, attrs);
    patches = binary(c, "Reshape", patches, build_const_ints(b, NULL, 1, flat));
    return binary(c, "Sub", patches, build_const_int(b, 1));
}

/* Patches [batch, h, w, kh·kw·channels] become [h·w·kh·kw, batch, channels], and the sums of
 * pixels [height·width, batch, channels] become images; volumes have three sides. */
static struct status patches(struct gradient_context *c, int32_t sides_count)
{
    static const int32_t swap[] = { 1, 0, 2 }, open[] = { -1 }, ones[] = { 1 };
    static const int32_t first = 0, middle = 1, one = 1;
    const int32_t last = sides_count + 1;
    struct builder *b = c->builder;
    struct endpoint dims = shape_tensor(c, input(c, 0)), axis = build_const_int(b, 0);
    struct endpoint sides = build_slice(b, NULL, dims, 1, &middle, &sides_count);
    struct endpoint pixels = binary(c, "Prod", sides, axis);
    const struct endpoint image[] = { build_const_ints(b, NULL, 1, ones), sides,
                                      build_const_ints(b, NULL, 1, ones), axis };
    const struct endpoint columns[] = { build_slice(b, NULL, dims, 1, &first, &one),
                                        build_const_ints(b, NULL, 1, open),
                                        build_slice(b, NULL, dims, 1, &last, &one), axis };
    struct endpoint rows = binary(
        c, "Transpose", binary(c, "Reshape", dy(c), build(b, "ConcatV2", NULL, 4, columns, NULL)),
        build_const_ints(b, NULL, 3, swap));
    struct endpoint places =
        pixels_of_patches(c, pixels, build(b, "ConcatV2", NULL, 4, image, NULL));
    const struct endpoint inputs[] = { rows, places, pixels };
    struct endpoint sums = build(b, "UnsortedSegmentSum", NULL, 3, inputs, NULL);
    sums = binary(c, "Transpose", sums, build_const_ints(b, NULL, 3, swap));
    return flow(c, 0, reshape_like(c, sums, input(c, 0)));
}

struct status gradient_extract_image_patches(struct gradient_context *c)
{
    return patches(c, 2);
}

struct status gradient_extract_volume_patches(struct gradient_context *c)
{
    return patches(c, 3);
}
