#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "support/status.h"
#include "trainer/job/clip.h"

#define COUNT_A 11 /* more than the loops take at a time */

/* Three variables that are trained, the last one by rows, and one that is not. */
static struct placement placement;
static float a[COUNT_A], b[2], rows[4];
static const int64_t row_numbers[] = { 1, 4 };
static const struct variable_gradient gradients[] = {
    { .values = a }, { 0 }, { .values = b }, { .values = rows, .rows = { row_numbers, 2 } }
};

static struct status fixed_step(struct gradient_source *source, const void *const *values,
                                const struct variable_gradient **out, float *loss)
{
    (void)source;
    (void)values;
    *out = gradients;
    *loss = .5f;
    return status_ok();
}

static int destroyed;
static uint64_t sought;

static void note_destroy(struct gradient_source *source)
{
    (void)source;
    destroyed++;
}

static struct status note_seek(struct gradient_source *source, uint64_t begin, uint64_t step,
                               const struct row_place *place)
{
    (void)source;
    sought = place->units * 10000 + begin * 100 + step;
    return status_ok();
}

static struct gradient_source fixed = { .step = fixed_step,
                                        .destroy = note_destroy,
                                        .seek = note_seek };

static int setup(void **state)
{
    (void)state;
    struct placed_variable variables[] = {
        { .name = "a", .dtype = DT_FLOAT, .shape = shape_of(COUNT_A), .trainable = true },
        { .name = "c", .dtype = DT_INT64, .shape = shape_of(3) },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
        { .name = "d",
          .dtype = DT_FLOAT,
          .shape = shape_of(6, 2),
          .trainable = true,
          .by_rows = true },
    };

    for (int i = 0; i < COUNT_A; i++)
        a[i] = i == 0 ? 3 : i == COUNT_A - 1 ? -4 : 0; /* norm 5 */
    b[0] = .6f;                                        /* norm 1 */
    b[1] = -.8f;
    for (int i = 0; i < 4; i++)
        rows[i] = (float)(i - 1) * sqrtf(2); /* norm sqrt(12) */
    return placement_create(variables, 4, 1, 1 << 20, PLACE_BY_BYTES, &placement), 0;
}

static int teardown(void **state)
{
    (void)state;
    placement_finish(&placement);
    return 0;
}

/* Clips; each element of `a` is then `scale_a` times what it was, of `b` likewise. */
static void assert_scaled(struct clip clip, float scale_a, float scale_b, float scale_rows)
{
    struct gradient_source *source = clip_source(&fixed, &clip, &placement);
    const struct variable_gradient *got;
    float loss;

    for (int repeat = 0; repeat < 2; repeat++) {
        assert_ok(source->step(source, NULL, &got, &loss));
        assert_true(loss == .5f);
        for (int i = 0; i < COUNT_A; i++)
            assert_true(fabsf(got[0].values[i] - a[i] * scale_a) < 1e-6f);
        for (int i = 0; i < 2; i++)
            assert_true(fabsf(got[2].values[i] - b[i] * scale_b) < 1e-6f);
        for (int i = 0; i < 4; i++)
            assert_true(fabsf(got[3].values[i] - rows[i] * scale_rows) < 1e-6f);
        assert_ptr_equal(got[3].rows.ids, row_numbers);
        assert_int_equal(got[3].rows.count, 2);
    }
    source->destroy(source);
}

static void a_norm_is_of_each_variable(void **state)
{
    (void)state;
    assert_scaled((struct clip){ CLIP_NORM, 2 }, .4f, 1, 2 / sqrtf(12));
    assert_scaled((struct clip){ CLIP_NORM, .5f }, .1f, .5f, .5f / sqrtf(12));
    assert_scaled((struct clip){ CLIP_NORM, 5 }, 1, 1, 1);
}

static void a_global_norm_is_of_all(void **state)
{
    (void)state;
    float norm = sqrtf(38); /* 25 + 1 + 12 */

    assert_scaled((struct clip){ CLIP_GLOBAL_NORM, 2 }, 2 / norm, 2 / norm, 2 / norm);
    assert_scaled((struct clip){ CLIP_GLOBAL_NORM, 7 }, 1, 1, 1);
}

static void values_are_clamped(void **state)
{
    (void)state;
    struct gradient_source *source =
        clip_source(&fixed, &(struct clip){ CLIP_VALUE, .7f }, &placement);
    const struct variable_gradient *got;
    float loss;

    a[5] = NAN;
    assert_ok(source->step(source, NULL, &got, &loss));
    assert_true(got[0].values[0] == .7f && got[0].values[1] == 0 &&
                got[0].values[COUNT_A - 1] == -.7f);
    assert_true(got[2].values[0] == .6f && got[2].values[1] == -.7f);
    assert_true(isnan(got[0].values[5]));
    assert_true(a[0] == 3); /* the inner source's gradients stay as they are */
    source->destroy(source);
}

static void a_gradient_that_is_not_finite_does_not_become_a_number(void **state)
{
    (void)state;
    const enum clip_kind kinds[] = { CLIP_NORM, CLIP_GLOBAL_NORM };
    const struct variable_gradient *got;
    float loss;

    a[5] = INFINITY;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct gradient_source *source =
            clip_source(&fixed, &(struct clip){ kinds[i], 1 }, &placement);
        assert_ok(source->step(source, NULL, &got, &loss));
        assert_true(isnan(got[0].values[5]));
        source->destroy(source);
    }
}

static void seek_and_destroy_reach_the_inner_source(void **state)
{
    (void)state;
    destroyed = 0;
    struct gradient_source *source =
        clip_source(&fixed, &(struct clip){ CLIP_NORM, 1 }, &placement);
    assert_ok(source->seek(source, 3, 7, &(struct row_place){ .units = 2 }));
    assert_int_equal(sought, 20307);
    source->destroy(source);
    assert_int_equal(destroyed, 1);
}

static void nothing_to_clip_is_the_inner_source(void **state)
{
    (void)state;
    assert_ptr_equal(clip_source(&fixed, &(struct clip){ 0 }, &placement), &fixed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_norm_is_of_each_variable),
        TEST(a_global_norm_is_of_all),
        TEST(values_are_clamped),
        TEST(a_gradient_that_is_not_finite_does_not_become_a_number),
        TEST(seek_and_destroy_reach_the_inner_source),
        TEST(nothing_to_clip_is_the_inner_source),
    };
    return cmocka_run_group_tests_name("clip", tests, NULL, NULL);
}
