/* Gradient of RGBToHSV. Source: TensorFlow's image_grad.py. */
#include "graph/gradients/emit.h"

#define COLOURS 3

/* Of each pixel: its three colours, and which of them is the greatest and the least. If two are
 * equal, the order is red, green, blue. A mask is 1 or 0; `above` is 1 for a greatest colour that
 * is above 0. */
struct hsv_pixels {
    struct endpoint colours[COLOURS];
    struct endpoint greatest[COLOURS], least[COLOURS], positive[COLOURS], above[COLOURS];
    struct endpoint saturation, value;
};

static struct endpoint add(struct gradient_context *c, struct endpoint x, struct endpoint y)
{
    return binary(c, "AddV2", x, y);
}

/* 1 / x, and 0 at 0 */
static struct endpoint reciprocal(struct gradient_context *c, struct endpoint x)
{
    return binary(c, "DivNoNan", number(c, x, 1), x);
}

static void unpack_channels(struct gradient_context *c, struct endpoint x, struct endpoint *out)
{
    struct node *node = build_node(
        c->builder, "Unpack", NULL, 1, &x, 0, NULL,
        (const struct attr[]){ attr_int("num", COLOURS), attr_int("axis", -1), ATTR_END });

    for (int i = 0; i < COLOURS; i++)
        out[i] = (struct endpoint){ node, i };
}

static struct endpoint pack_channels(struct gradient_context *c, const struct endpoint *channels)
{
    return build(c->builder, "Pack", NULL, COLOURS, channels,
                 (const struct attr[]){ attr_int("axis", -1), ATTR_END });
}

/* A comparison of colour i with both others, as 1 or 0. */
static struct endpoint compare(struct gradient_context *c, const struct endpoint *x, int i,
                               const char *with_next, const char *with_previous)
{
    struct endpoint next = binary(c, with_next, x[i], x[(i + 1) % COLOURS]);
    struct endpoint previous = binary(c, with_previous, x[i], x[(i + 2) % COLOURS]);

    return as_type(c, binary(c, "LogicalAnd", next, previous), endpoint_dtype(x[i]));
}

static void describe_pixels(struct gradient_context *c, struct hsv_pixels *out)
{
    /* Of red, green and blue, with the next and with the previous colour. */
    static const char *const greatest[][2] = { { "GreaterEqual", "GreaterEqual" },
                                               { "GreaterEqual", "Greater" },
                                               { "Greater", "Greater" } };
    static const char *const least[][2] = { { "Less", "Less" },
                                            { "Less", "LessEqual" },
                                            { "LessEqual", "LessEqual" } };
    struct endpoint hsv[COLOURS], *x = out->colours;

    unpack_channels(c, input(c, 0), x);
    unpack_channels(c, output(c), hsv);
    out->saturation = hsv[1];
    out->value = hsv[2];
    for (int i = 0; i < COLOURS; i++) {
        struct endpoint positive = binary(c, "Greater", x[i], number(c, x[i], 0));
        out->greatest[i] = compare(c, x, i, greatest[i][0], greatest[i][1]);
        out->least[i] = compare(c, x, i, least[i][0], least[i][1]);
        out->positive[i] = as_type(c, positive, endpoint_dtype(x[i]));
        out->above[i] = mul(c, out->positive[i], out->greatest[i]);
    }
}

/* Of the saturation, 1 - least / greatest, by colour i. */
static struct endpoint of_saturation(struct gradient_context *c, const struct hsv_pixels *p, int i)
{
    int next = (i + 1) % COLOURS, previous = (i + 2) % COLOURS;
    struct endpoint least = add(c, mul(c, p->least[next], p->colours[next]),
                                mul(c, p->least[previous], p->colours[previous]));
    struct endpoint greatest = add(c, mul(c, p->greatest[next], p->colours[next]),
                                   mul(c, p->greatest[previous], p->colours[previous]));
    struct endpoint as_greatest =
        mul(c, mul(c, p->greatest[i], least), reciprocal(c, unary(c, "Square", p->colours[i])));
    struct endpoint as_least = mul(c, p->least[i], reciprocal(c, greatest));

    return mul(c, p->positive[i], sub(c, as_greatest, as_least));
}

/* Of the hue by colour i, if it is the least one: the difference of its neighbours, of which one is
 * the greatest, over the square of the range. */
static struct endpoint hue_as_least(struct gradient_context *c, const struct hsv_pixels *p, int i,
                                    int greatest, struct endpoint neighbours)
{
    struct endpoint range = sub(c, p->colours[i], p->colours[greatest]);

    return mul(c, mul(c, p->above[greatest], p->least[i]),
               mul(c, neighbours, reciprocal(c, unary(c, "Square", range))));
}

/* Of the hue by colour i, if it is between the other two: 1 over their difference. */
static struct endpoint hue_as_middle(struct gradient_context *c, const struct hsv_pixels *p,
                                     int greatest, int least)
{
    struct endpoint range = sub(c, p->colours[greatest], p->colours[least]);

    return mul(c, mul(c, p->above[greatest], p->least[least]), reciprocal(c, range));
}

/* Six times the gradient of the hue, which goes around the circle once in six steps. */
static struct endpoint of_hue(struct gradient_context *c, const struct hsv_pixels *p, int i)
{
    int next = (i + 1) % COLOURS, previous = (i + 2) % COLOURS;
    struct endpoint neighbours = sub(c, p->colours[previous], p->colours[next]);
    struct endpoint chroma = mul(c, reciprocal(c, unary(c, "Square", p->saturation)),
                                 reciprocal(c, unary(c, "Square", p->value)));
    const struct endpoint terms[] = {
        mul(c, mul(c, p->above[i], neighbours), chroma),
        hue_as_least(c, p, i, next, neighbours),
        hue_as_least(c, p, i, previous, neighbours),
        hue_as_middle(c, p, previous, next),
        unary(c, "Neg", hue_as_middle(c, p, next, previous)),
    };

    return build(c->builder, "AddN", NULL, (int)COUNT(terms), terms, NULL);
}

struct status gradient_rgb_to_hsv(struct gradient_context *c)
{
    struct endpoint given[COLOURS], found[COLOURS];
    struct hsv_pixels p;

    describe_pixels(c, &p);
    unpack_channels(c, dy(c), given);
    struct endpoint of_circle = mul(c, given[0], number(c, given[0], 1.0 / 6));
    for (int i = 0; i < COLOURS; i++) {
        const struct endpoint terms[] = { mul(c, of_circle, of_hue(c, &p, i)),
                                          mul(c, given[1], of_saturation(c, &p, i)),
                                          mul(c, given[2], p.greatest[i]) };
        found[i] = build(c->builder, "AddN", NULL, 3, terms, NULL);
    }
    return flow(c, 0, pack_channels(c, found));
}
