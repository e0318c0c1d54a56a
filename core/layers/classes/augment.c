/* augment: layers that randomly change the images of each training batch, and pass the images of
 * evaluations and requests unchanged. The formulas are Keras'. */
#include "layers/classes/augment.h"

#include <ctype.h>
#include <math.h>

#define PI 3.14159265358979323846

#define WHERE_IT_READS                                                                            \
    { "fill_mode", ARG_CHOICE, "reflect constant wrap nearest" },                                 \
        { "interpolation", ARG_CHOICE, "bilinear nearest" }, { "seed", ARG_NULL_OR_INT, "null" }, \
        { "fill_value", ARG_NUMBER, "0" }, DATA_FORMAT

struct endpoint augment_of_rows(struct builder *b, const char *op, struct endpoint x)
{
    const struct endpoint inputs[] = { x, build_const_int(b, 1) };

    return build(b, op, NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
}

struct endpoint augment_clip(struct builder *b, struct endpoint x, const double range[2])
{
    const struct endpoint inputs[] = { x, build_const_float(b, (float)range[0]),
                                       build_const_float(b, (float)range[1]) };

    return build(b, "ClipByValue", NULL, 3, inputs, NULL);
}

struct endpoint augment_move_range(struct builder *b, struct endpoint x, const double from[2],
                                   const double to[2])
{
    if (from[0] == to[0] && from[1] == to[1])
        return x;
    x = build_by_number(b, "Sub", x, from[0]);
    x = build_by_number(b, "RealDiv", x, from[1] - from[0]);
    return build_by_number(b, "AddV2", build_by_number(b, "Mul", x, to[1] - to[0]), to[0]);
}

/* ---- arguments ---- */

bool augment_range(struct layer_context *context, const struct layer *layer, const char *name,
                   double least, double range[2])
{
    const struct json_value *value = layer_arg(layer, name)->value;
    bool pair = value->kind == JSON_VALUE_LIST && value->count == 2;
    double a, b;

    if (!json_value_number(pair ? &value->members[0] : value, &a) ||
        !json_value_number(pair ? &value->members[1] : value, &b) || !isfinite(a) || !isfinite(b)) {
        layer_fail(context, layer, "argument '%s': expected a number, or a list of two", name);
        return false;
    }
    if (!pair)
        a = fmax(-fabs(b), least), b = fabs(b);
    range[0] = fmin(a, b);
    range[1] = fmax(a, b);
    return true;
}

bool augment_value_range(struct layer_context *context, const struct layer *layer, double range[2])
{
    if (!augment_range(context, layer, "value_range", -INFINITY, range))
        return false;
    if (!(range[1] > range[0]))
        layer_fail(context, layer, "argument 'value_range': it is empty");
    return range[1] > range[0];
}

bool augment_has_pixels(struct layer_context *context, const struct layer *layer, struct endpoint x)
{
    if (!layer_check_open(context, layer, x, 4, 3))
        return false;
    const struct shape *shape = endpoint_shape(x);
    if (shape->dims[1] == 0 || shape->dims[2] == 0)
        layer_fail(context, layer, "the input's shape %s has no pixels", shape_text(shape));
    return status_is_ok(context->builder.status);
}

bool augment_changes(struct layer_context *context, const struct layer *layer, struct endpoint x)
{
    return augment_has_pixels(context, layer, x) && context->mode == LAYERS_TRAIN;
}

#define SIDE_MAX (1 << 20)

bool augment_sides_fit(struct layer_context *context, const struct layer *layer, struct endpoint x)
{
    const int64_t *dims = endpoint_shape(x)->dims;

    if (dims[1] <= SIDE_MAX && dims[2] <= SIDE_MAX)
        return true;
    layer_refuse(context, layer, "images of more than %d pixels a side", SIDE_MAX);
    return false;
}

/* ---- numbers for each image ---- */

struct endpoint augment_seed(struct layer_context *context, const struct layer *layer)
{
    const struct arg_value *seed = layer_arg(layer, "seed");

    return layer_seed(context, seed->is_null ? 0 : seed->integer);
}

struct endpoint augment_draw(struct layer_context *context, const struct layer *layer,
                             struct endpoint x, const double range[2])
{
    struct builder *b = &context->builder;
    const int32_t begin[4] = { 0 }, size[] = { -1, 1, 1, 1 };
    struct endpoint shape = build_unary(b, "Shape", NULL, build_slice(b, NULL, x, 4, begin, size));
    struct endpoint unit =
        build_binary(b, "StatelessRandomUniform", NULL, shape, augment_seed(context, layer));

    return build_by_number(b, "AddV2", build_by_number(b, "Mul", unit, range[1] - range[0]),
                           range[0]);
}

struct endpoint augment_side(struct builder *b, struct endpoint x, int dim)
{
    return build_cast(b, NULL, build_size(b, x, dim), DT_FLOAT);
}

struct endpoint augment_places(struct layer_context *context, struct shape shape, double first)
{
    int64_t count = shape_size(&shape);
    float *places = ARENA_ARRAY(context->arena, float, count);

    for (int64_t i = 0; i < count; i++)
        places[i] = (float)(first + (double)i);
    const struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, places);
    return build_const(&context->builder, NULL, &tensor);
}

struct endpoint augment_bell(struct layer_context *context, struct endpoint places,
                             struct endpoint sigma, struct endpoint inside)
{
    struct builder *b = &context->builder;
    struct endpoint x =
        build_unary(b, "Square", NULL, build_binary(b, "RealDiv", NULL, places, sigma));
    struct endpoint y = build_unary(b, "Exp", NULL, build_by_number(b, "Mul", x, -0.5));

    if (inside.node != NULL)
        y = build_binary(b, "Mul", NULL, y, build_cast(b, NULL, inside, DT_FLOAT));
    return build_binary(b, "RealDiv", NULL, y,
                        build_binary(b, "Sum", NULL, y, build_const_int(b, 0)));
}

struct endpoint augment_draw_span(struct layer_context *context, const struct layer *layer,
                                  struct endpoint x, int dim, struct endpoint share)
{
    static const double unit[] = { 0, 1 };
    struct builder *b = &context->builder;
    struct endpoint size = augment_side(b, x, dim);
    int32_t along[] = { 1, 1, 1, 1 };

    along[dim] = -1;
    const struct endpoint range[] = { build_const_float(b, 0), size, build_const_float(b, 1) };
    struct endpoint place =
        build_binary(b, "Reshape", NULL, build(b, "Range", NULL, 3, range, NULL),
                     build_const_ints(b, NULL, 4, along));
    struct endpoint length = build_binary(b, "Mul", NULL, share, size);
    struct endpoint room = build_binary(b, "Sub", NULL, size, length);
    struct endpoint begin =
        build_binary(b, "Mul", NULL, augment_draw(context, layer, x, unit), room);
    struct endpoint end = build_binary(b, "AddV2", NULL, begin, length);
    return build_binary(b, "LogicalAnd", NULL, build_binary(b, "GreaterEqual", NULL, place, begin),
                        build_binary(b, "Less", NULL, place, end));
}

/* augment_draw as [batch, 1], for a matrix per image. */
static struct endpoint draw_column(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x, const double range[2])
{
    static const int32_t column[] = { -1, 1 };
    struct builder *b = &context->builder;

    return build_binary(b, "Reshape", NULL, augment_draw(context, layer, x, range),
                        build_const_ints(b, NULL, 2, column));
}

/* ---- moving pixels ---- */

/* Output pixel (x, y) reads the input at (a0 x + a1 y + a2, b0 x + b1 y + b2), both divided by
 * c0 x + c1 y + 1. */
struct image_map {
    struct endpoint a0, a1, a2, b0, b1, b2; /* [batch, 1] */
    struct endpoint c0, c1;                 /* null nodes: 0 */
};

struct attr attr_upper(struct layer_context *context, const struct layer *layer, const char *name)
{
    char *text = arena_strdup(context->arena, layer_arg(layer, name)->text);

    for (char *at = text; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return attr_text(name, text);
}

static struct endpoint move_pixels(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x, const struct image_map *m,
                                   struct attr fill_mode)
{
    struct builder *b = &context->builder;
    const int64_t sides[] = { SIZE_OF(1), SIZE_OF(2) };
    struct endpoint zero = build_unary(b, "ZerosLike", NULL, m->a0);
    const struct endpoint parts[] = { m->a0,
                                      m->a1,
                                      m->a2,
                                      m->b0,
                                      m->b1,
                                      m->b2,
                                      m->c0.node != NULL ? m->c0 : zero,
                                      m->c1.node != NULL ? m->c1 : zero,
                                      build_const_int(b, 1) };
    const struct endpoint inputs[] = {
        x, build(b, "ConcatV2", NULL, 9, parts, NULL), build_sizes(b, x, 2, sides),
        build_const_float(b, (float)layer_arg(layer, "fill_value")->number)
    };
    const struct attr attrs[] = { attr_upper(context, layer, "interpolation"), fill_mode,
                                  ATTR_END };

    return build(b, "ImageProjectiveTransformV3", NULL, 4, inputs, attrs);
}

/* The position of the last pixel. */
static struct endpoint last(struct builder *b, struct endpoint x, int dimension)
{
    return build_by_number(b, "Sub", augment_side(b, x, dimension), 1);
}

static struct endpoint middle(struct builder *b, struct endpoint x, int dimension)
{
    return build_by_number(b, "Mul", last(b, x, dimension), 0.5);
}

/* The pixels of a translation by this share of a side. */
static struct endpoint back_by(struct builder *b, struct endpoint x, int dimension,
                               struct endpoint share)
{
    return build_binary(b, "Mul", NULL, share,
                        build_unary(b, "Neg", NULL, augment_side(b, x, dimension)));
}

static const struct layer_arg random_translation_args[] = {
    { "height_factor", ARG_VALUE, REQUIRED },
    { "width_factor", ARG_VALUE, REQUIRED },
    WHERE_IT_READS,
};

static struct endpoint random_translation_build(struct layer_context *context,
                                                const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    double height[2], width[2];

    if (!augment_range(context, layer, "height_factor", -1, height) ||
        !augment_range(context, layer, "width_factor", -1, width) ||
        !augment_changes(context, layer, x))
        return x;
    struct endpoint down = draw_column(context, layer, x, height);
    struct endpoint right = draw_column(context, layer, x, width);
    struct endpoint zero = build_unary(b, "ZerosLike", NULL, down);
    struct endpoint one = build_unary(b, "OnesLike", NULL, down);
    const struct image_map m = {
        .a0 = one,
        .a1 = zero,
        .a2 = back_by(b, x, 2, right),
        .b0 = zero,
        .b1 = one,
        .b2 = back_by(b, x, 1, down),
    };
    return move_pixels(context, layer, x, &m, attr_upper(context, layer, "fill_mode"));
}
FLOAT_LAYER_CLASS(random_translation, "RandomTranslation", random_translation_args,
                  random_translation_build);

static const struct layer_arg random_zoom_args[] = {
    { "height_factor", ARG_VALUE, REQUIRED },
    { "width_factor", ARG_NULL_OR_VALUE, "null" }, /* null: as the height */
    WHERE_IT_READS,
};

static struct endpoint random_zoom_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    struct builder *b = &context->builder;
    bool same = json_value_is_null(layer_arg(layer, "width_factor")->value);
    double height[2], width[2];

    if (!augment_range(context, layer, "height_factor", -1, height) ||
        (!same && !augment_range(context, layer, "width_factor", -1, width)) ||
        !augment_changes(context, layer, x))
        return x;
    struct endpoint tall = build_by_number(b, "AddV2", draw_column(context, layer, x, height), 1);
    struct endpoint wide =
        same ? tall : build_by_number(b, "AddV2", draw_column(context, layer, x, width), 1);
    struct endpoint zero = build_unary(b, "ZerosLike", NULL, tall);
    struct endpoint one = build_const_float(b, 1);
    const struct image_map m = {
        .a0 = wide,
        .a1 = zero,
        .a2 =
            build_binary(b, "Mul", NULL, build_binary(b, "Sub", NULL, one, wide), middle(b, x, 2)),
        .b0 = zero,
        .b1 = tall,
        .b2 =
            build_binary(b, "Mul", NULL, build_binary(b, "Sub", NULL, one, tall), middle(b, x, 1)),
    };
    return move_pixels(context, layer, x, &m, attr_upper(context, layer, "fill_mode"));
}
FLOAT_LAYER_CLASS(random_zoom, "RandomZoom", random_zoom_args, random_zoom_build);

static const struct layer_arg random_rotation_args[] = {
    { "factor", ARG_VALUE, REQUIRED }, /* of a turn */
    WHERE_IT_READS,
};

/* p - (x u + y v): keeps the center fixed. */
static struct endpoint around(struct builder *b, struct endpoint p, struct endpoint x,
                              struct endpoint u, struct endpoint y, struct endpoint v)
{
    struct endpoint moved = build_binary(b, "AddV2", NULL, build_binary(b, "Mul", NULL, u, x),
                                         build_binary(b, "Mul", NULL, v, y));

    return build_binary(b, "Sub", NULL, p, moved);
}

static struct endpoint random_rotation_build(struct layer_context *context,
                                             const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    double turns[2];

    if (!augment_range(context, layer, "factor", -1, turns) || !augment_changes(context, layer, x))
        return x;
    struct endpoint angle =
        build_by_number(b, "Mul", draw_column(context, layer, x, turns), 2 * PI);
    struct endpoint cosine = build_unary(b, "Cos", NULL, angle);
    struct endpoint sine = build_unary(b, "Sin", NULL, angle);
    struct endpoint minus = build_unary(b, "Neg", NULL, sine);
    struct endpoint cx = middle(b, x, 2), cy = middle(b, x, 1);
    const struct image_map m = { .a0 = cosine,
                                 .a1 = minus,
                                 .a2 = around(b, cx, cx, cosine, cy, minus),
                                 .b0 = sine,
                                 .b1 = cosine,
                                 .b2 = around(b, cy, cx, sine, cy, cosine) };
    return move_pixels(context, layer, x, &m, attr_upper(context, layer, "fill_mode"));
}
FLOAT_LAYER_CLASS(random_rotation, "RandomRotation", random_rotation_args, random_rotation_build);

static const struct layer_arg random_shear_args[] = {
    { "x_factor", ARG_VALUE, "0" },
    { "y_factor", ARG_VALUE, "0" },
    WHERE_IT_READS,
};

/* Half of the images are sheared in the opposite direction. */
static struct endpoint random_shear_build(struct layer_context *context, const struct layer *layer,
                                          struct endpoint x)
{
    static const double unit[] = { 0, 1 };
    struct builder *b = &context->builder;
    double across[2], down[2];

    if (!augment_range(context, layer, "x_factor", -1, across) ||
        !augment_range(context, layer, "y_factor", -1, down) || !augment_changes(context, layer, x))
        return x;
    struct endpoint side = draw_column(context, layer, x, unit);
    struct endpoint sign = build_by_number(
        b, "Mul", build_unary(b, "Sign", NULL, build_by_number(b, "Sub", side, 0.5)), -1);
    struct endpoint v = build_binary(b, "Mul", NULL, draw_column(context, layer, x, down), sign);
    struct endpoint u = build_binary(b, "Mul", NULL, draw_column(context, layer, x, across), sign);
    struct endpoint zero = build_unary(b, "ZerosLike", NULL, u);
    struct endpoint one = build_unary(b, "OnesLike", NULL, u);
    const struct image_map m = { .a0 = one, .a1 = u, .a2 = zero, .b0 = v, .b1 = one, .b2 = zero };
    return move_pixels(context, layer, x, &m, attr_upper(context, layer, "fill_mode"));
}
FLOAT_LAYER_CLASS(random_shear, "RandomShear", random_shear_args, random_shear_build);

/* ---- RandomPerspective ---- */

static const struct layer_arg random_perspective_args[] = {
    { "factor", ARG_VALUE, "1.0" }, /* the share of the images */
    { "scale", ARG_NUMBER, "1.0" },
    { "interpolation", ARG_CHOICE, "bilinear nearest" },
    { "fill_value", ARG_NUMBER, "0" },
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

/* The factor by which a corner's position is stretched. */
static struct endpoint draw_stretch(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x, double scale)
{
    const double range[] = { 1 - scale / 2, 1 + scale / 2 };

    return draw_column(context, layer, x, range);
}

/* The corner (0, 0) stays. With w and h the positions of the last pixels, (w, 0) moves to (w
 * right, 0), (0, h) to (0, h down), and (w, h) to (w across, h along). Keras solves eight linear
 * equations; most of their coefficients are 0. */
static struct image_map perspective(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x, double scale)
{
    struct builder *b = &context->builder;
    struct endpoint right = draw_stretch(context, layer, x, scale),
                    down = draw_stretch(context, layer, x, scale),
                    across = draw_stretch(context, layer, x, scale),
                    along = draw_stretch(context, layer, x, scale);
    struct endpoint p = build_unary(b, "Reciprocal", NULL, right),
                    q = build_unary(b, "Reciprocal", NULL, down);
    struct endpoint one = build_const_float(b, 1);
    struct endpoint zero = build_unary(b, "ZerosLike", NULL, p);
    /* c0 w = (q along - 1) / across, and c1 h = (p across - 1) / along */
    struct endpoint c0 = build_binary(
        b, "RealDiv", NULL,
        build_binary(b, "Sub", NULL, build_binary(b, "Mul", NULL, q, along), one), across);
    struct endpoint c1 = build_binary(
        b, "RealDiv", NULL,
        build_binary(b, "Sub", NULL, build_binary(b, "Mul", NULL, p, across), one), along);

    return (struct image_map){ .a0 = build_binary(b, "AddV2", NULL, c0, p),
                               .a1 = zero,
                               .a2 = zero,
                               .b0 = zero,
                               .b1 = build_binary(b, "AddV2", NULL, c1, q),
                               .b2 = zero,
                               .c0 = build_binary(b, "RealDiv", NULL, c0, last(b, x, 2)),
                               .c1 = build_binary(b, "RealDiv", NULL, c1, last(b, x, 1)) };
}

static struct endpoint random_perspective_build(struct layer_context *context,
                                                const struct layer *layer, struct endpoint x)
{
    static const double unit[] = { 0, 1 };
    struct builder *b = &context->builder;
    double share[2], scale = layer_arg(layer, "scale")->number;

    if (!augment_range(context, layer, "factor", 0, share))
        return x;
    if (!(scale >= 0 && scale <= 1)) {
        layer_fail(context, layer, "argument 'scale' is %g, expected 0 to 1", scale);
        return x;
    }
    if (!augment_changes(context, layer, x))
        return x;
    if (endpoint_shape(x)->dims[1] == 1 || endpoint_shape(x)->dims[2] == 1) {
        layer_fail(context, layer,
                   "the input's shape %s: expected 2 pixels or more in each row and column",
                   shape_text(endpoint_shape(x)));
        return x;
    }
    struct endpoint probability = augment_draw(context, layer, x, share);
    struct endpoint moves =
        build_binary(b, "Less", NULL, augment_draw(context, layer, x, unit), probability);
    const struct image_map m = perspective(context, layer, x, scale);
    struct endpoint moved = move_pixels(context, layer, x, &m, attr_text("fill_mode", "CONSTANT"));
    return build_select(b, moves, moved, x);
}
FLOAT_LAYER_CLASS(random_perspective, "RandomPerspective", random_perspective_args,
                  random_perspective_build);
