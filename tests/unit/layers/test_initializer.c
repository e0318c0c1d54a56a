#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/arena.h"
#include "layers/layer.h"
#include "support/test_group.h"

/* An initializer as Keras prints it, and the statistics of its values for a [300, 200] kernel. */
static const struct row {
    const char *label, *json;
    double mean, deviation, low, high;
} rows[] = {
    { "zeros", "\"Zeros\"", 0, 0, 0, 0 },
    { "ones", "\"ones\"", 1, 0, 1, 1 },
    { "constant", "{\"class_name\": \"Constant\", \"config\": {\"value\": 0.25}}", .25, 0, .25,
      .25 },
    { "uniform", "\"RandomUniform\"", 0, .1 / 3.4641016, -.05, .05 },
    { "uniform, told",
      "{\"class_name\": \"RandomUniform\", \"config\": {\"minval\": 1, \"maxval\": 3}}", 2,
      2 / 3.4641016, 1, 3 },
    { "normal", "\"random_normal\"", 0, .05, -.3, .3 },
    { "truncated normal", "\"TruncatedNormal\"", 0, .05 * .8796256, -.1, .1 },
    /* fan-in 300, fan-out 200 */
    { "glorot uniform", "\"GlorotUniform\"", 0, .0632455, -.1095446, .1095446 },
    { "glorot normal", "\"glorot_normal\"", 0, .0632455, -.1438, .1438 },
    { "he normal", "\"HeNormal\"", 0, .0816497, -.1857, .1857 },
    { "he uniform", "\"HeUniform\"", 0, .0816497, -.1414214, .1414214 },
    { "lecun normal", "\"LecunNormal\"", 0, .0577350, -.1313, .1313 },
    { "lecun uniform", "\"LecunUniform\"", 0, .0577350, -.1, .1 },
    { "variance scaling",
      "{\"class_name\": \"VarianceScaling\", \"config\": {\"scale\": 2.0, \"mode\": \"fan_out\", "
      "\"distribution\": \"uniform\", \"seed\": 5}}",
      0, .1, -.1732051, .1732051 },
    { "orthogonal", "\"Orthogonal\"", 0, .0577350, -.4, .4 },
};

#define ROWS    300
#define COLUMNS 200

static struct initializer read(struct arena *arena, const char *json)
{
    const struct json_value *value;
    struct initializer initializer;

    assert_true(status_is_ok(json_value_read_strict(bytes_of(json), arena, &value)));
    assert_true(status_is_ok(initializer_read(value, arena, &initializer)));
    return initializer;
}

static void draws_its_distribution(void **state)
{
    const struct row *row = *state;
    const struct shape shape = shape_of(ROWS, COLUMNS);
    struct arena *arena = arena_create(0);
    struct initializer initializer = read(arena, row->json);
    float *values = arena_array(arena, sizeof *values, ROWS * COLUMNS);
    double sum = 0, squares = 0;

    initializer_fill(&initializer, &shape, 1, values);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double value = (double)values[i];
        sum += value;
        squares += value * value;
        assert_true(value >= row->low - 1e-6 && value <= row->high + 1e-6);
    }
    double mean = sum / (ROWS * COLUMNS);
    /* 60 000 draws: the mean must be within five standard errors, the deviation within 2 %. */
    assert_true(fabs(mean - row->mean) <= row->deviation / 45 + 1e-7);
    double deviation = sqrt(fmax(0, squares / (ROWS * COLUMNS) - mean * mean));
    assert_true(fabs(deviation - row->deviation) <= .02 * row->deviation + 1e-6);
    arena_destroy(arena);
}

static void the_seed_decides(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    const struct shape shape = shape_of(7);
    struct initializer any = read(arena, "\"GlorotUniform\"");
    struct initializer own =
        read(arena, "{\"class_name\": \"GlorotUniform\", \"config\": {\"seed\": 3}}");
    float a[7], b[7], c[7], d[7];

    initializer_fill(&any, &shape, 1, a);
    initializer_fill(&any, &shape, 1, b);
    assert_memory_equal(a, b, sizeof a);
    initializer_fill(&any, &shape, 2, b);
    assert_memory_not_equal(a, b, sizeof a);
    initializer_fill(&own, &shape, 1, c);
    initializer_fill(&own, &shape, 2, d);
    assert_memory_equal(c, d, sizeof c);
    arena_destroy(arena);
}

static void orthogonal_columns_are_orthonormal(void **state)
{
    (void)state;
    const struct initializer orthogonal = { .kind = INITIALIZER_ORTHOGONAL, .a = 2 };
    const struct shape shape = shape_of(3, 2, 4); /* 6 rows, 4 columns */
    float m[24];

    initializer_fill(&orthogonal, &shape, 1, m);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            float dot = 0;
            for (int r = 0; r < 6; r++)
                dot += m[r * 4 + i] * m[r * 4 + j];
            assert_float_equal(dot, (i == j ? 4.0F : 0.0F), 1e-5);
        }
}

static void the_identity_has_its_gain_on_the_diagonal(void **state)
{
    (void)state;
    const struct initializer identity = { .kind = INITIALIZER_IDENTITY, .a = 3 };
    const struct shape shape = shape_of(2, 3);
    const float want[] = { 3, 0, 0, 0, 3, 0 };
    float m[6];

    initializer_fill(&identity, &shape, 1, m);
    assert_memory_equal(m, want, sizeof m);
}

/* A value of Constant for a variable [2, 3]; Keras multiplies it with an array of ones. */
static const struct array_row {
    const char *label, *value;
    float wanted[6];
    bool fits;
} arrays[] = {
    { "whole", "[[1, 2, 3], [4, 5, 6]]", { 1, 2, 3, 4, 5, 6 }, true },
    { "one row", "[1, 2, 3]", { 1, 2, 3, 1, 2, 3 }, true },
    { "one column", "[[1.5], [2]]", { 1.5F, 1.5F, 1.5F, 2, 2, 2 }, true },
    { "one number in lists", "[[7]]", { 7, 7, 7, 7, 7, 7 }, true },
    { "NumPy's",
      "{\"class_name\": \"__numpy__\", \"config\": {\"value\": [1, 2, 3], \"dtype\": \"float32\"}}",
      { 1, 2, 3, 1, 2, 3 },
      true },
    { "too few", "[1, 2]", { 0 }, false },
    { "another rank", "[[[1, 2, 3]]]", { 0 }, false },
    { "none", "[]", { 0 }, false },
};

static void an_array_is_broadcast(void **state)
{
    const struct array_row *row = *state;
    const struct shape shape = shape_of(2, 3);
    struct arena *arena = arena_create(0);
    const char *json = arena_printf(
        arena, "{\"class_name\": \"Constant\", \"config\": {\"value\": %s}}", row->value);
    struct initializer initializer = read(arena, json);
    float whole[6], second[3];

    assert_int_equal(initializer_fits(&initializer, &shape), row->fits);
    assert_false(initializer_is_zero(&initializer));
    if (row->fits) {
        initializer_fill(&initializer, &shape, 1, whole);
        assert_memory_equal(whole, row->wanted, sizeof whole);
        initializer_fill_rows(&initializer, &shape, 1, 1, 1, second);
        assert_memory_equal(second, row->wanted + 3, sizeof second);
    }
    arena_destroy(arena);
}

/* Keras' values of shape [4, 1, 3]. */
static const struct {
    const char *config;
    float values[12];
} waves[] = {
    { "{\"side\": \"real\", \"window\": \"hann\", \"scaling\": \"spectrum\"}",
      { 0, 0, 0, .5F, 0, -.5F, .5F, -.5F, .5F, 0, 0, 0 } },
    { "{\"side\": \"imag\", \"window\": \"hamming\", \"periodic\": true}",
      { 0, 0, 0, 0, -.4283017F, 0, 0, 0, 0, 0, .4283017F, 0 } },
    { "{\"side\": \"imag\", \"window\": null}", { 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0 } },
};

static void waves_are_those_of_keras(void **state)
{
    (void)state;
    const struct shape shape = shape_of(4, 1, 3);

    for (size_t i = 0; i < COUNT(waves); i++) {
        struct arena *arena = arena_create(0);
        const char *json =
            arena_printf(arena, "{\"class_name\": \"STFT\", \"config\": %s}", waves[i].config);
        struct initializer initializer = read(arena, json);
        float got[12];

        initializer_fill(&initializer, &shape, 1, got);
        for (size_t k = 0; k < COUNT(got); k++) /* Keras computes angles in float */
            assert_float_equal(got[k], waves[i].values[k], 1e-6);
        arena_destroy(arena);
    }
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(orthogonal_columns_are_orthonormal),
        cmocka_unit_test(the_identity_has_its_gain_on_the_diagonal),
        cmocka_unit_test(waves_are_those_of_keras),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, draws_its_distribution);
    ADD_ROWS(&group, arrays, label, an_array_is_broadcast);
    return test_group_run(&group, "initializer", NULL, NULL);
}
