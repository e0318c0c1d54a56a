#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/kernels/nn/conv2d_layouts.h"
#include "support/test_group.h"

static const float values[2];

static struct conv2d_onednn_spec spec = { .height = 3,
                                          .width = 3,
                                          .channels = 16,
                                          .filters = 32,
                                          .groups = 1,
                                          .strides = { 1, 1 },
                                          .dilations = { 1, 1 },
                                          .filter = &values[0],
                                          .bias = &values[0],
                                          .activation = CONV_RELU };
static struct conv2d_piece piece = { .size = { .batch = 1,
                                               .height = 7,
                                               .width = 7,
                                               .out_height = 7,
                                               .out_width = 7,
                                               .before = { 1, 1 },
                                               .after = { 1, 1 } },
                                     .filters = 32 };

/* A number that decides; changed, the convolution is another one. */
struct row {
    const char *label;
    int64_t *number;
};

static const struct row rows[] = {
    { "height", &spec.height },
    { "width", &spec.width },
    { "channels", &spec.channels },
    { "groups", &spec.groups },
    { "stride of rows", &spec.strides[0] },
    { "stride of columns", &spec.strides[1] },
    { "dilation of rows", &spec.dilations[0] },
    { "dilation of columns", &spec.dilations[1] },
    { "filters of the piece", &piece.filters },
    { "batch", &piece.size.batch },
    { "height of the image", &piece.size.height },
    { "width of the image", &piece.size.width },
    { "height of the result", &piece.size.out_height },
    { "width of the result", &piece.size.out_width },
    { "rows before", &piece.size.before[0] },
    { "columns before", &piece.size.before[1] },
    { "rows after", &piece.size.after[0] },
    { "columns after", &piece.size.after[1] },
};

static int keep(void **state)
{
    struct conv2d_layout layout = { .is_made = true, .is_fast = true };
    layout.filter.ndims = 4;
    conv2d_layout_keep(&spec, &piece, &layout);
    (void)state;
    return 0;
}

static bool is_found(void)
{
    struct conv2d_layout layout;
    return conv2d_layout_find(&spec, &piece, &layout);
}

static void finds_what_was_kept(void **state)
{
    struct conv2d_layout layout;
    assert_true(conv2d_layout_find(&spec, &piece, &layout));
    assert_true(layout.is_made);
    assert_true(layout.is_fast);
    assert_false(layout.is_even);
    assert_int_equal(layout.filter.ndims, 4);
    (void)state;
}

static void does_not_find_another(void **state)
{
    const struct row *row = *state;
    ++*row->number;
    assert_false(is_found());
    --*row->number;
    assert_true(is_found());
}

static void tells_activations_apart(void **state)
{
    spec.activation = CONV_LEAKY_RELU;
    assert_false(is_found());
    keep(state);
    spec.alpha = 0.5F;
    assert_false(is_found());
    spec.alpha = 0;
    spec.activation = CONV_RELU;
    assert_true(is_found());
}

static void asks_whether_there_is_a_bias_not_which(void **state)
{
    spec.bias = &values[1];
    assert_true(is_found());
    spec.bias = NULL;
    assert_false(is_found());
    spec.bias = &values[0];
    (void)state;
}

static void does_not_ask_for_the_filter_or_the_place_of_a_piece(void **state)
{
    spec.filter = &values[1];
    spec.filters = 64; /* of which the piece computes 32 */
    piece.first = 32;
    assert_true(is_found());
    spec.filter = &values[0];
    spec.filters = 32;
    piece.first = 0;
    (void)state;
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(finds_what_was_kept),
        cmocka_unit_test(tells_activations_apart),
        cmocka_unit_test(asks_whether_there_is_a_bias_not_which),
        cmocka_unit_test(does_not_ask_for_the_filter_or_the_place_of_a_piece),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, does_not_find_another);
    return test_group_run(&group, "conv2d_layouts", keep, NULL);
}
