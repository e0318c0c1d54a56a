/* Values from Keras 3.15:
 *     w = np.array([[3, -4, 0], [4, 3, 0.1]], "float32"); keras.constraints.MaxNorm(2, 0)(w) … */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tensor/constraint.h"
#include "support/test_group.h"

static const struct constraint_row {
    const char *label;
    struct constraint constraint;
    struct shape shape;
    float values[12], expected[12];
} rows[] = {
    { "MaxNorm(2, axis=0)",
      { CONSTRAINT_NORM, 0, 2, 1, 1 },
      { 2, { 2, 3 } },
      { 3, -4, 0, 4, 3, 0.1f },
      { 1.20000005f, -1.60000002f, 0, 1.60000002f, 1.20000005f, 0.0999999046f } },
    { "MaxNorm(2, axis=1)",
      { CONSTRAINT_NORM, 0, 2, 1, 2 },
      { 2, { 2, 3 } },
      { 3, -4, 0, 4, 3, 0.1f },
      { 1.20000005f, -1.60000002f, 0, 1.59968007f, 1.19976008f, 0.0399920009f } },
    { "MinMaxNorm(1, 2, 0.5)",
      { CONSTRAINT_NORM, 1, 2, 0.5f, 1 },
      { 2, { 2, 3 } },
      { 3, -4, 0, 4, 3, 0.1f },
      { 2.0999999f, -2.79999995f, 0, 2.79999995f, 2.0999999f, 0.549999475f } },
    { "UnitNorm(axis=[0, 1])",
      { CONSTRAINT_NORM, 1, 1, 1, 3 },
      { 2, { 2, 3 } },
      { 3, -4, 0, 4, 3, 0.1f },
      { 0.424221635f, -0.565628886f, 0, 0.565628886f, 0.424221635f, 0.0141407214f } },
    { "NonNeg()",
      { CONSTRAINT_NON_NEGATIVE, 0, 0, 0, 0 },
      { 2, { 2, 3 } },
      { 3, -4, 0, 4, 3, 0.1f },
      { 3, 0, 0, 4, 3, 0.1f } },
    { "MaxNorm(2, axis=[0, 2])",
      { CONSTRAINT_NORM, 0, 2, 1, 5 },
      { 3, { 2, 2, 3 } },
      { -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5 },
      { -1.32517827f, -1.10431528f, -0.883452177f, -0.75f, -0.5f, -0.25f, 0, 0.220863044f,
        0.441726089f, 0.75f, 1, 1.25f } },
};

static void changes_values_as_keras_does(void **state)
{
    const struct constraint_row *row = *state;
    float values[12];

    memcpy(values, row->values, sizeof values);
    constraint_apply(&row->constraint, &row->shape, values);
    for (int i = 0; i < 12; i++)
        assert_float_equal(values[i], row->expected[i], 5e-7);
}

static void knows_which_norms_cross_rows(void **state)
{
    (void)state;
    assert_true(constraint_joins_rows(&rows[0].constraint));
    assert_false(constraint_joins_rows(&rows[1].constraint));
    assert_false(constraint_joins_rows(&rows[4].constraint));
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(knows_which_norms_cross_rows),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, changes_values_as_keras_does);
    return test_group_run(&group, "constraint", NULL, NULL);
}
