/* ctc: connectionist temporal classification. The output has logits for each step, with class 0
 * as the blank; the labels are lists of classes, shorter than the steps. Source: ctc() in
 * keras/src/losses/losses.py. */
#include "layers/losses/loss_class.h"

/* Moves the steps first, and class 0 after the others, because CTCLoss takes the last class as
 * the blank. [steps, batch, classes] */
static struct endpoint steps_first(struct builder *b, struct endpoint x)
{
    static const int32_t begin[] = { 0, 0, 0 }, after[] = { 0, 0, 1 }, first[] = { -1, -1, 1 },
                         rest[] = { -1, -1, -1 }, order[] = { 1, 0, 2 };
    const struct endpoint parts[] = { build_slice(b, NULL, x, 3, after, rest),
                                      build_slice(b, NULL, x, 3, begin, first),
                                      build_const_int(b, 2) };

    return build_binary(b, "Transpose", NULL, build(b, "ConcatV2", NULL, 3, parts, NULL),
                        build_const_ints(b, NULL, 3, order));
}

/* The number of steps, for each row. */
static struct endpoint lengths(struct builder *b, struct endpoint x)
{
    static const int32_t zero[] = { 0 }, one[] = { 1 };
    struct endpoint shape = build_unary(b, "Shape", NULL, x);
    const struct endpoint steps[] = { shape, build_const_int(b, 1), build_const_int(b, 0) };

    return build_binary(b, "Fill", NULL, build_slice(b, NULL, shape, 1, zero, one),
                        build(b, "GatherV2", NULL, 3, steps, NULL));
}

/* The losses of non-empty lists, given as classes [batch, longest] padded with 0. */
static struct endpoint losses_of_lists(struct builder *b, struct endpoint output,
                                       struct endpoint classes)
{
    struct endpoint zero = build_const_int(b, 0), one = build_const_int(b, 1);
    struct endpoint places =
        build_unary(b, "Where", NULL, build_binary(b, "NotEqual", NULL, classes, zero));
    struct endpoint values = build_binary(b, "GatherNd", NULL, classes, places);
    const struct endpoint inputs[] = { steps_first(b, output), places,
                                       build_binary(b, "Sub", NULL, values, one),
                                       lengths(b, output) };

    return build(b, "CTCLoss", "ctc", 4, inputs, NULL);
}

/* The loss of an empty list: every step must be the blank. */
static struct endpoint losses_of_blanks(struct builder *b, struct endpoint output)
{
    static const int32_t begin[] = { 0, 0, 0 }, first[] = { -1, -1, 1 }, axes[] = { 1, 2 };
    struct endpoint logs =
        build_slice(b, NULL, build_unary(b, "LogSoftmax", NULL, output), 3, begin, first);

    return build_unary(b, "Neg", NULL,
                       build_binary(b, "Sum", NULL, logs, build_const_ints(b, NULL, 2, axes)));
}

/* Puts class 1 into empty lists, which CTCLoss refuses. */
static struct endpoint fill_empty(struct builder *b, struct endpoint classes, struct endpoint empty)
{
    static const int32_t begin[] = { 0, 0 }, after[] = { 0, 1 }, column[] = { -1, 1 },
                         rest[] = { -1, -1 };
    struct endpoint ones = build_expand_dims(b, empty, 1);

    ones = build_cast(b, NULL, ones, DT_INT32);
    const struct endpoint parts[] = {
        build_binary(b, "Maximum", NULL, build_slice(b, NULL, classes, 2, begin, column), ones),
        build_slice(b, NULL, classes, 2, after, rest), build_const_int(b, 1)
    };
    return build(b, "ConcatV2", NULL, 3, parts, NULL);
}

struct endpoint loss_ctc(struct loss_context *c)
{
    struct builder *b = c->builder;
    struct endpoint used = build_binary(b, "NotEqual", NULL, c->classes, build_const_int(b, 0));
    struct endpoint any = build_binary(b, "Any", NULL, used, build_const_int(b, 1));
    struct endpoint empty = build_unary(b, "LogicalNot", NULL, any);
    struct endpoint of_blanks = losses_of_blanks(b, c->output);
    struct endpoint of_lists = losses_of_lists(b, c->output, fill_empty(b, c->classes, empty));

    return build_select(b, empty, of_blanks, of_lists);
}
