/* Values from Keras 3.15:
 *     layer = SpectralNormalization(Dense(3, use_bias=False), power_iterations=n)
 *     layer.kernel.assign(w), layer.vector_u.assign([u]), layer.normalized_weights()[1] */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tensor/spectral.h"
#include "support/test_group.h"

static const float w[12] = { 1, -2, .5f, .25f, 3, -1, 0, .5f, 2, -1.5f, 1, .75f };
static const float u[3] = { .1f, -.3f, .2f };

static const struct spectral_row {
    const char *label;
    uint32_t iterations;
    float expected[12];
} rows[] = {
    { "one step",
      1,
      { .2590715f, -.518143f, .12953575f, .064767875f, .77721453f, -.2590715f, 0, .12953575f,
        .518143f, -.38860726f, .2590715f, .19430363f } },
    { "four steps",
      4,
      { .25546235f, -.5109247f, .12773117f, .063865587f, .76638705f, -.25546235f, 0, .12773117f,
        .5109247f, -.38319352f, .25546235f, .19159676f } },
};

static void divides_as_keras_does(void **state)
{
    const struct spectral_row *row = *state;
    const struct shape matrix = shape_of(4, 3), image = shape_of(2, 2, 3);
    float got[12], same[12];

    spectral_divide(w, &matrix, u, row->iterations, got);
    for (int i = 0; i < 12; i++)
        assert_float_equal(got[i], row->expected[i], 5e-7);
    memcpy(same, w, sizeof w);
    spectral_divide(same, &image, u, row->iterations, same);
    assert_memory_equal(same, got, sizeof got);
}

static void leaves_zeros_as_they_are(void **state)
{
    const struct shape matrix = shape_of(4, 3);
    const float zeros[12] = { 0 };
    float got[12] = { 1 };

    (void)state;
    spectral_divide(zeros, &matrix, u, 1, got);
    assert_memory_equal(got, zeros, sizeof got);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(leaves_zeros_as_they_are),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, divides_as_keras_does);
    return test_group_run(&group, "spectral", NULL, NULL);
}
