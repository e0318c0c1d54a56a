/* The equations of Einsum: what is read, and what is refused before anything runs. Values are
 * compared with TensorFlow's by tests/golden/kernels/einsum.rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "graph/einsum.h"
#include "support/test_group.h"

struct refusal {
    const char *equation;
    int inputs_count;
    const char *text; /* a part of the message */
};

/* TensorFlow's shape function refuses these, too. */
static const struct refusal refusals[] = {
    { "ij", 1, "exactly one '->'" },
    { "", 1, "exactly one '->'" },
    { "i->j->i", 1, "exactly one '->'" },
    { "i->->", 1, "exactly one '->'" },
    { "a,b,c->abc", 3, "but got: 3" },
    { "a,b,c->abc", 2, "but got: 3" },
    { "a,b->ab", 1, "Expected 2 inputs but got: 1" },
    { "a->a", 2, "Expected 1 inputs but got: 2" },
    { "i->ij", 1, "label 'j'" },
    { "->i", 1, "label 'i'" },
    { "i->i,", 1, "label ','" },
    { "i.->i", 1, "i." },
    { "i..j->ij", 1, "i..j" },
    { "....->...", 1, "...." },
    { "...i...->i", 1, "...i..." },
    { "i->i..", 1, "i.." },
};

static void refuses_what_tensorflow_refuses(void **state)
{
    const struct refusal *refusal = *state;
    struct einsum_equation einsum;
    struct status status =
        einsum_parse(bytes_of(refusal->equation), refusal->inputs_count, &einsum);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, refusal->text));
}

static void refuses_more_labels_than_a_tensor_has_dimensions(void **state)
{
    (void)state;
    char equation[1000];
    struct einsum_equation einsum;
    memset(equation, 'a', sizeof equation);
    memcpy(equation + 500, "->", 2);
    assert_int_equal(einsum_parse((struct bytes){ equation, sizeof equation }, 1, &einsum).code,
                     STATUS_INVALID_ARGUMENT);
}

static void takes_any_character_for_a_label(void **state)
{
    (void)state;
    struct einsum_equation einsum;
    struct einsum_binding axes;
    const struct shape shape = shape_of(2, 3, 4);
    const struct shape *shapes[] = { &shape };
    assert_int_equal(einsum_parse(bytes_of(" \xFF-->- \xFF"), 1, &einsum).code, STATUS_OK);
    assert_int_equal(einsum_bind(&einsum, shapes, &axes).code, STATUS_OK);
    assert_string_equal(shape_text(&axes.output), "[4,2,3]");
}

static void keeps_unknown_dimensions(void **state)
{
    (void)state;
    struct einsum_equation einsum;
    struct einsum_binding axes;
    const struct shape a = shape_of(-1, 3, -1), b = shape_of(-1, 5);
    const struct shape *shapes[] = { &a, &b };
    assert_int_equal(einsum_parse(bytes_of("...ij,jk->...ik"), 2, &einsum).code, STATUS_OK);
    assert_int_equal(einsum_bind(&einsum, shapes, &axes).code, STATUS_OK);
    assert_string_equal(shape_text(&axes.output), "[?,3,5]");
}

/* A declared shape may be of any size. A sanitizer sees an overflow. */
static void takes_shapes_of_more_elements_than_can_be_counted(void **state)
{
    (void)state;
    const int64_t large = (int64_t)1 << 40;
    struct einsum_equation einsum;
    struct einsum_binding axes;
    const struct shape a = shape_of(large, large, 2), b = shape_of(2, 3);
    const struct shape *shapes[] = { &a, &b };
    assert_int_equal(einsum_parse(bytes_of("abc,cd->d"), 2, &einsum).code, STATUS_OK);
    assert_int_equal(einsum_bind(&einsum, shapes, &axes).code, STATUS_OK);
    assert_string_equal(shape_text(&axes.output), "[3]");
}

static void refuses_an_output_of_too_many_dimensions(void **state)
{
    (void)state;
    struct einsum_equation einsum;
    struct einsum_binding axes;
    const struct shape a = shape_of(1, 1, 1, 1, 1, 1, 1), *shapes[] = { &a, &a };
    assert_int_equal(einsum_parse(bytes_of("abcdefg,hijklmn->abcdefghijklmn"), 2, &einsum).code,
                     STATUS_OK);
    assert_int_equal(einsum_bind(&einsum, shapes, &axes).code, STATUS_UNIMPLEMENTED);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(refuses_more_labels_than_a_tensor_has_dimensions),
        cmocka_unit_test(takes_any_character_for_a_label),
        cmocka_unit_test(keeps_unknown_dimensions),
        cmocka_unit_test(takes_shapes_of_more_elements_than_can_be_counted),
        cmocka_unit_test(refuses_an_output_of_too_many_dimensions),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, refusals, equation, refuses_what_tensorflow_refuses);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "einsum", NULL, NULL);
}
