#include "plan_fixture.h"
#include "support/test_group.h"

#include "support/tensor_row.h"

/*
 * Tests whether a plan reports independent rows. If it does, each row alone must give the same
 * result as in the batch. x and y are [?,4], with three rows each.
 */
#define ROWS 3

struct row {
    const char *label;
    struct endpoint (*build)(struct endpoint x, struct endpoint y);
    bool independent;
};

static struct endpoint ramp(struct shape shape)
{
    int64_t size = shape_size(&shape);
    float *values = ARENA_ARRAY(arena, float, size);
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((i * 5) % 7) - 2;
    return const_floats(NULL, shape, values);
}

static struct endpoint ints(int count, const int32_t *values)
{
    return build_const_ints(&b, NULL, count, values);
}
#define INTS(...) \
    ints((int)(sizeof((int32_t[]){ __VA_ARGS__ }) / 4), (const int32_t[]){ __VA_ARGS__ })

static struct endpoint dense(struct endpoint x, struct endpoint y)
{
    struct endpoint sum = build_binary(&b, "AddV2", NULL, x, y);
    return build_unary(&b, "Softmax", NULL,
                       build_binary(&b, "MatMul", NULL, sum, ramp(shape_of(4, 3))));
}

static struct endpoint transposed_matmul(struct endpoint x, struct endpoint y)
{
    return build(&b, "MatMul", NULL, 2, (struct endpoint[]){ x, y },
                 (struct attr[]){ attr_bool("transpose_a", true), ATTR_END });
}

static struct endpoint product_of_rows(struct endpoint x, struct endpoint y)
{
    return build(&b, "MatMul", NULL, 2, (struct endpoint[]){ x, y },
                 (struct attr[]){ attr_bool("transpose_b", true), ATTR_END });
}

static struct endpoint sum_over(struct endpoint x, int32_t axis)
{
    return build_binary(&b, "Sum", NULL, x, INTS(axis));
}

static struct endpoint sum_of_a_row(struct endpoint x, struct endpoint y)
{
    (void)y;
    return sum_over(x, -1);
}

static struct endpoint sum_of_all_rows(struct endpoint x, struct endpoint y)
{
    return build_binary(&b, "Sub", NULL, y, sum_over(x, 0));
}

static struct endpoint sum_from_the_end(struct endpoint x, struct endpoint y)
{
    return build_binary(&b, "Sub", NULL, y, sum_over(x, -2));
}

static struct endpoint constant_per_row(struct endpoint x, struct endpoint y)
{
    (void)y;
    return build_binary(&b, "AddV2", NULL, x, ramp(shape_of(3, 1)));
}

static struct endpoint constant_of_higher_rank(struct endpoint x, struct endpoint y)
{
    (void)y;
    return build_binary(&b, "AddV2", NULL, x, ramp(shape_of(1, 3, 4)));
}

static struct endpoint constant_for_all_rows(struct endpoint x, struct endpoint y)
{
    (void)y;
    return build_binary(&b, "Mul", NULL, ramp(shape_of(1, 4)), x);
}

static struct endpoint rows_of_two_ranks(struct endpoint x, struct endpoint y)
{
    return build_binary(&b, "AddV2", NULL, x, sum_over(y, 1)); /* [n,4] + [n]: along dimension 1 */
}

static struct endpoint reshape_const(struct endpoint x, struct endpoint y, int32_t a, int32_t c)
{
    (void)y;
    return build_binary(&b, "Reshape", NULL, x, INTS(a, c));
}

static struct endpoint reshape_to_the_same(struct endpoint x, struct endpoint y)
{
    return reshape_const(x, y, -1, 4);
}

static struct endpoint reshape_to_more_rows(struct endpoint x, struct endpoint y)
{
    return reshape_const(x, y, -1, 2);
}

static struct endpoint reshape_across_rows(struct endpoint x, struct endpoint y)
{
    return reshape_const(x, y, 4, -1);
}

static struct endpoint count_of(struct endpoint x, int32_t at)
{
    return build(
        &b, "StridedSlice", NULL, 4,
        (struct endpoint[]){ build_unary(&b, "Shape", NULL, x), INTS(at), INTS(at + 1), INTS(1) },
        (struct attr[]){ attr_int("shrink_axis_mask", 1), ATTR_END });
}

static struct endpoint reshape_by_shape(struct endpoint x, struct endpoint y)
{
    struct endpoint parts[] = { count_of(y, 0), build_const_int(&b, 2), build_const_int(&b, 2) };
    return build_binary(&b, "Reshape", NULL, x, build(&b, "Pack", NULL, 3, parts, NULL));
}

static struct endpoint reshape_by_another_dimension(struct endpoint x, struct endpoint y)
{
    struct endpoint parts[] = { count_of(y, 1), build_const_int(&b, -1) };
    return build_binary(&b, "Reshape", NULL, x, build(&b, "Pack", NULL, 2, parts, NULL));
}

/* x as one box a row, y as the scores of four classes. */
static struct endpoint detections(struct endpoint x, struct endpoint y, int32_t boxes)
{
    struct endpoint inputs[] = { build_binary(&b, "Reshape", NULL, x, INTS(-1, boxes, 1, 4)),
                                 build_binary(&b, "Reshape", NULL, y, INTS(-1, boxes, 4)),
                                 build_const_int(&b, 2),
                                 build_const_int(&b, 3),
                                 build_const_float(&b, 0.5f),
                                 build_const_float(&b, 0) };
    return build(&b, "CombinedNonMaxSuppression", NULL, 6, inputs, NULL);
}

static struct endpoint detections_of_a_row(struct endpoint x, struct endpoint y)
{
    return detections(x, y, 1);
}

static struct endpoint detections_of_all_rows(struct endpoint x, struct endpoint y)
{
    return build_binary(&b, "AddV2", NULL, x, sum_over(detections(y, y, ROWS), 1));
}

/* Keras' Dense on more than two dimensions flattens them into rows and reshapes them back. */
static struct endpoint there_and_back(struct endpoint x, struct endpoint y)
{
    struct endpoint shape = build_unary(&b, "Shape", NULL, x);
    struct endpoint all = build_binary(&b, "Prod", NULL, shape, INTS(0));
    struct endpoint parts[] = { all, build_const_int(&b, 1) };
    struct endpoint line =
        build_binary(&b, "Reshape", NULL, x, build(&b, "Pack", NULL, 2, parts, NULL));
    struct endpoint scaled = build_binary(&b, "MatMul", NULL, line, ramp(shape_of(1, 1)));
    return build_binary(&b, "Reshape", NULL, scaled, build_unary(&b, "Shape", NULL, y));
}

static struct endpoint laid_in_a_line(struct endpoint x, struct endpoint y)
{
    (void)y;
    struct endpoint all =
        build_binary(&b, "Prod", NULL, build_unary(&b, "Shape", NULL, x), INTS(0));
    return build_binary(&b, "Reshape", NULL, x, build(&b, "Pack", NULL, 1, &all, NULL));
}

static struct endpoint joined(struct endpoint x, struct endpoint y, int32_t axis)
{
    struct endpoint parts[] = { x, y, build_const_int(&b, axis) };
    return build(&b, "ConcatV2", NULL, 3, parts, NULL);
}

static struct endpoint joined_columns(struct endpoint x, struct endpoint y)
{
    return joined(x, y, -1);
}

/* Images of 2 × 2 pixels, and what moves them. */
static struct endpoint moved(struct endpoint x, struct endpoint transforms)
{
    struct endpoint inputs[] = { build_binary(&b, "Reshape", NULL, x, INTS(-1, 2, 2, 1)),
                                 transforms, INTS(2, 3) };
    return build(&b, "ImageProjectiveTransformV2", NULL, 3, inputs,
                 (struct attr[]){ attr_text("interpolation", "BILINEAR"), ATTR_END });
}

static struct endpoint moved_each_its_way(struct endpoint x, struct endpoint y)
{
    return moved(x, joined(x, y, -1));
}

static struct endpoint moved_the_same_way(struct endpoint x, struct endpoint y)
{
    (void)y;
    return moved(x, ramp(shape_of(1, 8)));
}

static struct endpoint moved_by_constants(struct endpoint x, struct endpoint y)
{
    (void)y;
    return moved(x, ramp(shape_of(ROWS, 8)));
}

static struct endpoint joined_rows(struct endpoint x, struct endpoint y)
{
    return joined(x, y, 0);
}

static struct endpoint zeros_for_each_row(struct endpoint x, struct endpoint y)
{
    struct endpoint parts[] = { count_of(y, 0), build_const_int(&b, 4) };
    struct endpoint zeros = build_binary(&b, "Fill", NULL, build(&b, "Pack", NULL, 2, parts, NULL),
                                         const_floats(NULL, shape_scalar(), VALUES(0.5f)));
    return build_binary(&b, "AddV2", NULL, x, zeros);
}

static struct endpoint the_number_of_rows(struct endpoint x, struct endpoint y)
{
    return build_binary(&b, "Mul", NULL, x, build_cast(&b, NULL, count_of(y, 0), DT_FLOAT));
}

static struct endpoint transposed(struct endpoint x, struct endpoint y)
{
    return build_binary(&b, "MatMul", NULL, y, build_binary(&b, "Transpose", NULL, x, INTS(1, 0)));
}

static struct endpoint first_rows(struct endpoint x, struct endpoint y)
{
    (void)y;
    return build(&b, "StridedSlice", NULL, 4, (struct endpoint[]){ x, INTS(0), INTS(2), INTS(1) },
                 NULL);
}

static struct endpoint first_columns(struct endpoint x, struct endpoint y)
{
    (void)y;
    return build(&b, "StridedSlice", NULL, 4,
                 (struct endpoint[]){ x, INTS(0, 1), INTS(0, 3), INTS(1, 1) },
                 (struct attr[]){ attr_int("begin_mask", 1), attr_int("end_mask", 1), ATTR_END });
}

/* The masks say nothing about dimension 0 of the shape, which is its only one. */
static struct endpoint reshape_by_another_dimension_masked(struct endpoint x, struct endpoint y)
{
    const struct endpoint inputs[] = { build_unary(&b, "Shape", NULL, y), INTS(1), INTS(2),
                                       INTS(1) };
    struct endpoint columns =
        build(&b, "StridedSlice", NULL, 4, inputs,
              (struct attr[]){ attr_int("begin_mask", 2), attr_int("end_mask", 2), ATTR_END });
    const struct endpoint parts[] = { columns, INTS(-1), build_const_int(&b, 0) };
    return build_binary(&b, "Reshape", NULL, x, build(&b, "ConcatV2", NULL, 3, parts, NULL));
}

/* An element is at its begin, whatever the mask says. */
static struct endpoint reshape_by_a_masked_element(struct endpoint x, struct endpoint y)
{
    const struct endpoint inputs[] = { build_unary(&b, "Shape", NULL, y), INTS(1), INTS(2),
                                       INTS(1) };
    struct endpoint columns = build(
        &b, "StridedSlice", NULL, 4, inputs,
        (struct attr[]){ attr_int("begin_mask", 1), attr_int("shrink_axis_mask", 1), ATTR_END });
    const struct endpoint parts[] = { columns, build_const_int(&b, -1) };
    return build_binary(&b, "Reshape", NULL, x, build(&b, "Pack", NULL, 2, parts, NULL));
}

/* Half of the size of a dimension. */
static struct endpoint half_of(struct endpoint x, int32_t axis)
{
    return build_binary(&b, "FloorDiv", NULL, count_of(x, axis), build_const_int(&b, 2));
}

static struct endpoint packed(int count, const struct endpoint *parts)
{
    return build(&b, "Pack", NULL, count, parts, NULL);
}

static struct endpoint cut(struct endpoint x, struct endpoint row, struct endpoint column,
                           struct endpoint width)
{
    const struct endpoint inputs[] = { x, packed(2, (const struct endpoint[]){ row, column }),
                                       packed(2, (const struct endpoint[]){ build_const_int(&b, -1),
                                                                            width }) };

    return build(&b, "Slice", NULL, 3, inputs, NULL);
}

static struct endpoint cut_in_the_middle(struct endpoint x, struct endpoint y)
{
    return cut(x, build_const_int(&b, 0), half_of(y, 1), half_of(y, 1));
}

static struct endpoint cut_at_a_row(struct endpoint x, struct endpoint y)
{
    return cut(x, half_of(y, 1), half_of(y, 1), half_of(y, 1));
}

static struct endpoint cut_by_the_rows(struct endpoint x, struct endpoint y)
{
    return cut(x, build_const_int(&b, 0), half_of(y, 0), half_of(y, 0));
}

static struct endpoint padded(struct endpoint x, struct endpoint above, struct endpoint left)
{
    struct endpoint zero = build_const_int(&b, 0);
    const struct endpoint margins[] = { above, zero, left, left };

    return build_binary(&b, "Pad", NULL, x,
                        build_binary(&b, "Reshape", NULL, packed(4, margins), INTS(2, 2)));
}

static struct endpoint padded_columns(struct endpoint x, struct endpoint y)
{
    return padded(x, build_const_int(&b, 0), half_of(y, 1));
}

static struct endpoint padded_rows(struct endpoint x, struct endpoint y)
{
    return padded(x, half_of(y, 1), build_const_int(&b, 0));
}

/* The list of sizes is of counts and of a list as long as the plan knows. */
static struct endpoint reshape_by_joined_lists(struct endpoint x, struct endpoint y)
{
    const struct endpoint lists[] = { build_expand_dims(&b, count_of(y, 0), 0),
                                      build_expand_dims(&b, count_of(y, 1), 0), INTS(1),
                                      build_const_int(&b, 0) };

    return build_binary(&b, "Reshape", NULL, x, build(&b, "ConcatV2", NULL, 4, lists, NULL));
}

/* A product that mixes two rows. */
static struct endpoint pairs_of_rows(struct endpoint x, struct endpoint y)
{
    struct endpoint rows = build_cast(&b, NULL, count_of(y, 0), DT_FLOAT);
    struct endpoint half = build_cast(&b, NULL, build_by_number(&b, "RealDiv", rows, 2), DT_INT32);
    struct endpoint pairs =
        build_binary(&b, "Reshape", NULL, x,
                     packed(2, (const struct endpoint[]){ half, build_const_int(&b, 8) }));

    return build_binary(&b, "Reshape", NULL,
                        build_binary(&b, "MatMul", NULL, pairs, ramp(shape_of(8, 8))),
                        build_unary(&b, "Shape", NULL, y));
}

/* The place where the part of a shape ends is a list without elements: the run refuses it. */
static struct endpoint part_without_an_end(struct endpoint x, struct endpoint y)
{
    const struct endpoint inputs[] = { build_unary(&b, "Shape", NULL, y), INTS(0),
                                       build_unary(&b, "ZerosLike", NULL, ints(0, NULL)), INTS(1) };

    return build_binary(&b, "Reshape", NULL, x, build(&b, "StridedSlice", NULL, 4, inputs, NULL));
}

static struct endpoint rows_turned_round(struct endpoint x, struct endpoint y)
{
    (void)y;
    return build_binary(&b, "ReverseV2", NULL, x, INTS(0));
}

static struct endpoint rolled(struct endpoint x, int32_t by, int32_t axis)
{
    return build(&b, "Roll", NULL, 3, (struct endpoint[]){ x, INTS(by), INTS(axis) }, NULL);
}

static struct endpoint rows_rolled(struct endpoint x, struct endpoint y)
{
    (void)y;
    return rolled(x, 1, 0);
}

static struct endpoint columns_rolled(struct endpoint x, struct endpoint y)
{
    (void)y;
    return rolled(x, 1, -1);
}

static struct endpoint einsum(const char *equation, struct endpoint x, struct endpoint y)
{
    return build(&b, "Einsum", NULL, 2, (struct endpoint[]){ x, y },
                 (struct attr[]){ attr_text("equation", equation), ATTR_END });
}

static struct endpoint einsum_of_weights(struct endpoint x, struct endpoint y)
{
    (void)y;
    return einsum("ab,bcd->acd", x, ramp(shape_of(4, 2, 3)));
}

static struct endpoint einsum_of_weights_in_front(struct endpoint x, struct endpoint y)
{
    (void)y;
    return einsum("bc,ab->ac", ramp(shape_of(4, 2)), x);
}

static struct endpoint einsum_of_two_with_rows(struct endpoint x, struct endpoint y)
{
    return einsum("ab,ac->abc", x, y);
}

static struct endpoint einsum_of_an_ellipsis(struct endpoint x, struct endpoint y)
{
    (void)y;
    return einsum("...b,bc->...c", x, ramp(shape_of(4, 2)));
}

static struct endpoint einsum_of_two_ellipses(struct endpoint x, struct endpoint y)
{
    return einsum("...,...->...", x, y);
}

static struct endpoint einsum_of_an_ellipsis_as_long(struct endpoint x, struct endpoint y)
{
    (void)y;
    return einsum("...b,...b->...", x, ramp(shape_of(3, 4)));
}

static struct endpoint einsum_of_an_ellipsis_behind(struct endpoint x, struct endpoint y)
{
    (void)y;
    return einsum("...b,bc->c...", x, ramp(shape_of(4, 2)));
}

static struct endpoint einsum_of_rows_with_rows(struct endpoint x, struct endpoint y)
{
    return einsum("ab,cb->ac", x, y);
}

static struct endpoint einsum_over_the_rows(struct endpoint x, struct endpoint y)
{
    return einsum("ab,ac->bc", x, y);
}

static struct endpoint einsum_of_a_constant_per_row(struct endpoint x, struct endpoint y)
{
    (void)y;
    return einsum("ab,ac->abc", x, ramp(shape_of(3, 2)));
}

static struct endpoint einsum_with_the_rows_twice(struct endpoint x, struct endpoint y)
{
    (void)y;
    return einsum("ab,bc->aac", x, ramp(shape_of(4, 2)));
}

static struct endpoint one_that_no_rule_knows(struct endpoint x, struct endpoint y)
{
    (void)y;
    return build_binary(&b, "Cumsum", NULL, x, build_const_int(&b, 1));
}

/* The model's pieces are `<unk>` and `1`; its number is a constant besides. */
static struct endpoint numbers_of_pieces(struct endpoint x, struct endpoint y)
{
    (void)y;
    struct endpoint model =
        build(&b, "SentencepieceOp", NULL, 0, NULL,
              (struct attr[]){ attr_text("model", "\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x03\x0a\x01"
                                                  "1"),
                               ATTR_END });
    struct endpoint whole = build_cast(&b, NULL, x, DT_INT32);
    struct endpoint texts = build_unary(&b, "AsString", NULL, whole);
    struct endpoint ids = build_binary(&b, "SentencepieceStringToIdOp", NULL, model, texts);
    struct endpoint size = build_unary(&b, "SentencepieceVocabSizeOp", NULL, model);
    return build_cast(&b, NULL, build_binary(&b, "AddV2", NULL, ids, size), DT_FLOAT);
}

static struct endpoint bits_of_texts(struct endpoint x, struct endpoint y)
{
    (void)y;
    struct endpoint texts = build_unary(&b, "AsString", NULL, sum_over(x, 1));
    return build(&b, "TFText>Utf8Binarize", NULL, 1, &texts,
                 (struct attr[]){ attr_int("word_length", 3), attr_int("bits_per_char", 4),
                                  attr_int("replacement_char", 1), ATTR_END });
}

static const struct row rows[] = {
    { "a dense layer", dense, true },
    { "a product along the rows", transposed_matmul, false },
    { "a product of rows with rows", product_of_rows, false },
    { "a sum within a row", sum_of_a_row, true },
    { "a sum of all rows", sum_of_all_rows, false },
    { "a sum of all rows, counted from the end", sum_from_the_end, false },
    { "a constant for all rows", constant_for_all_rows, true },
    { "a constant per row", constant_per_row, false },
    { "a constant of a higher rank", constant_of_higher_rank, false },
    { "rows of two ranks", rows_of_two_ranks, false },
    { "a reshape to the same rows", reshape_to_the_same, true },
    { "a reshape to more rows", reshape_to_more_rows, false },
    { "a reshape across rows", reshape_across_rows, false },
    { "a reshape by the number of rows", reshape_by_shape, true },
    { "a reshape by another dimension", reshape_by_another_dimension, false },
    { "a reshape by another dimension, with masks of none", reshape_by_another_dimension_masked,
      false },
    { "a reshape by an element of the shape, with a mask", reshape_by_a_masked_element, false },
    { "a reshape by joined lists of sizes", reshape_by_joined_lists, true },
    { "a reshape by half of the number of rows", pairs_of_rows, false },
    { "a reshape by a part of a shape without an end", part_without_an_end, false },
    { "columns cut in the middle", cut_in_the_middle, true },
    { "rows cut at a place", cut_at_a_row, false },
    { "columns cut by the number of rows", cut_by_the_rows, false },
    { "columns padded", padded_columns, true },
    { "rows padded", padded_rows, false },
    { "detections of a row", detections_of_a_row, true },
    { "detections of all rows", detections_of_all_rows, false },
    { "rows laid in a line and taken back", there_and_back, true },
    { "rows laid in a line", laid_in_a_line, false },
    { "columns joined", joined_columns, true },
    { "rows joined", joined_rows, false },
    { "images moved, each its way", moved_each_its_way, true },
    { "images moved the same way", moved_the_same_way, true },
    { "images moved by constants", moved_by_constants, false },
    { "zeros for each row", zeros_for_each_row, true },
    { "the number of rows as a value", the_number_of_rows, false },
    { "a transpose", transposed, false },
    { "the first rows", first_rows, false },
    { "the first columns", first_columns, true },
    { "rows turned round", rows_turned_round, false },
    { "rows rolled", rows_rolled, false },
    { "columns rolled", columns_rolled, true },
    { "an einsum of weights", einsum_of_weights, true },
    { "an einsum of weights, in front", einsum_of_weights_in_front, true },
    { "an einsum of two with rows", einsum_of_two_with_rows, true },
    { "an einsum of an ellipsis", einsum_of_an_ellipsis, true },
    { "an einsum of two ellipses", einsum_of_two_ellipses, true },
    { "an einsum of an ellipsis and a constant as long", einsum_of_an_ellipsis_as_long, false },
    { "an einsum that moves its ellipsis", einsum_of_an_ellipsis_behind, false },
    { "an einsum of rows with rows", einsum_of_rows_with_rows, false },
    { "an einsum over the rows", einsum_over_the_rows, false },
    { "an einsum of a constant per row", einsum_of_a_constant_per_row, false },
    { "an einsum with the rows twice", einsum_with_the_rows_twice, false },
    { "the numbers of pieces", numbers_of_pieces, true },
    { "the bits of texts", bits_of_texts, true },
    { "an op without a rule", one_that_no_rule_knows, false },
};

static void check_rows(const struct plan *plan)
{
    float values[2][ROWS * 4];
    for (int i = 0; i < ROWS * 4; i++) {
        values[0][i] = (float)((i * 3) % 11) - 5;
        values[1][i] = (float)((i * 5) % 7);
    }
    struct tensor feeds[] = { floats(shape_of(ROWS, 4), values[0]),
                              floats(shape_of(ROWS, 4), values[1]) };
    struct tensor batch, alone;
    assert_true(plan_rows_fit(plan, feeds));
    assert_ok(plan_run(plan, run, feeds, &batch));
    assert_int_equal(batch.shape.dims[0], ROWS);
    int64_t size = batch.size / ROWS;
    for (int64_t r = 0; r < ROWS; r++) {
        struct tensor row[] = { tensor_row(&feeds[0], r), tensor_row(&feeds[1], r) };
        assert_ok(plan_run(plan, run, row, &alone));
        assert_int_equal(alone.size, size);
        for (int64_t i = 0; i < size; i++)
            assert_float_equal(tensor_floats(&alone)[i], tensor_floats(&batch)[r * size + i],
                               1e-5f);
        tensor_release(&alone);
    }
    tensor_release(&batch);
}

static void says_what_is_true_of_its_rows(void **state)
{
    const struct row *row = *state;
    setup(NULL);
    struct endpoint feeds[] = { build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 4)),
                                build_placeholder(&b, "y", DT_FLOAT, shape_of(-1, 4)) };
    struct endpoint fetch = row->build(feeds[0], feeds[1]);
    struct plan *plan = plan_of(2, feeds, 1, &fetch, NULL);
    assert_int_equal(plan_rows_independent(plan), row->independent);
    assert_int_equal(plan_cost_is_predictable(plan), row->independent);
    if (row->independent)
        check_rows(plan);
    plan_destroy(plan);
    teardown(NULL);
}

static void feeds_of_another_shape_do_not_fit(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 4));
    struct endpoint y = build_unary(&b, "Softmax", NULL, x);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    float values[8] = { 0 };
    struct tensor line = floats(shape_of(4), values), wide = floats(shape_of(1, 8), values);
    struct tensor right = floats(shape_of(2, 4), values);
    assert_true(plan_rows_independent(plan));
    assert_false(plan_rows_fit(plan, &line));
    assert_false(plan_rows_fit(plan, &wide));
    assert_true(plan_rows_fit(plan, &right));
    plan_destroy(plan);
}

int main(void)
{
    static const struct CMUnitTest plain[] = { TEST(feeds_of_another_shape_do_not_fit) };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, says_what_is_true_of_its_rows);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "rows", NULL, NULL);
}
