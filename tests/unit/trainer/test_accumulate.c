#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/job/accumulate.h"

#define SIZE 3

/* Batch number b has the gradient b + 1, …, and the loss b. */
struct counting_source {
    struct gradient_source source;        /* first */
    uint64_t batch, begin, before, large; /* large: the batch, from 1, whose gradient is infinite */
    float gradient[SIZE], added;
    struct variable_gradient gradients[1];
    struct row_ids rows[8]; /* of the batches in turn, if the variable is by rows */
    int64_t ids[8][2];
    uint64_t asked;
    bool *destroyed;
};

static struct status step(struct gradient_source *base, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    struct counting_source *source = (struct counting_source *)base;

    (void)values;
    *loss = (float)source->batch++;
    float added = source->batch == source->large ? INFINITY : source->added;
    for (int i = 0; i < SIZE; i++)
        source->gradient[i] = (*loss + 1) * (float)(i + 1) + (i > 0 ? added : 0);
    source->gradients[0].values = source->gradient;
    *gradients = source->gradients;
    return status_ok();
}

static struct status seek(struct gradient_source *base, uint64_t begin, uint64_t global_step,
                          const struct row_place *place)
{
    struct counting_source *source = (struct counting_source *)base;

    source->begin = begin;
    source->batch = global_step;
    source->before = place->units;
    return status_ok();
}

static void destroy(struct gradient_source *base)
{
    *((struct counting_source *)base)->destroyed = true;
    free(base);
}

struct fixture {
    struct placement placement;
    struct counting_source *inner;
    bool destroyed;
};

static int start(void **state)
{
    const struct placed_variable w = {
        .name = "w", .dtype = DT_FLOAT, .shape = shape_of(SIZE), .trainable = true
    };
    struct fixture *fixture = zalloc(sizeof *fixture);

    placement_create(&w, 1, 1, 1 << 20, PLACE_BY_BYTES, &fixture->placement);
    fixture->inner = zalloc(sizeof *fixture->inner);
    fixture->inner->source = (struct gradient_source){ step, destroy, seek, NULL };
    fixture->inner->destroyed = &fixture->destroyed;
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    assert_true(fixture->destroyed);
    placement_finish(&fixture->placement);
    free(fixture);
    return 0;
}

static void gives_the_mean_of_several_batches(void **state)
{
    struct fixture *fixture = *state;
    const struct variable_gradient *gradients;
    struct gradient_source *source;
    float loss;

    source = accumulate_source(&fixture->inner->source, 4, 2, &fixture->placement);
    assert_true(status_is_ok(source->seek(source, 2, 5, &(struct row_place){ .units = 77 })));
    assert_int_equal(fixture->inner->begin, 8);
    assert_int_equal(fixture->inner->batch, 20);
    assert_int_equal(fixture->inner->before, 77);
    for (int t = 0; t < 2; t++) {
        assert_true(status_is_ok(source->step(source, NULL, &gradients, &loss)));
        float mean = 21.5f + 4 * (float)t;
        assert_true(loss == mean);
        for (int i = 0; i < SIZE; i++)
            assert_true(gradients[0].values[i] == (mean + 1) * (float)(i + 1) / 2);
    }
    source->destroy(source);
}

static void is_the_source_itself_for_one_batch(void **state)
{
    struct fixture *fixture = *state;
    struct gradient_source *source;

    source = accumulate_source(&fixture->inner->source, 1, 1, &fixture->placement);
    assert_ptr_equal(source, fixture->inner);
    source->destroy(source);
}

static void divides_by_the_present_scale_and_reports_an_overflow(void **state)
{
    struct fixture *fixture = *state;
    struct client_scaling scaling = { .scale = 8 };
    const struct variable_gradient *gradients;
    float loss;
    struct gradient_source *source =
        scaled_source(&fixture->inner->source, 1, &scaling, &fixture->placement);

    for (int t = 0; t < 2; t++, scaling.scale /= 4) {
        assert_true(status_is_ok(source->step(source, NULL, &gradients, &loss)));
        assert_false(scaling.overflowed);
        for (int i = 0; i < SIZE; i++)
            assert_true(gradients[0].values[i] ==
                        (float)(t + 1) * (float)(i + 1) / (t == 0 ? 8 : 2));
    }
    fixture->inner->added = INFINITY;
    assert_true(status_is_ok(source->step(source, NULL, &gradients, &loss)));
    assert_true(scaling.overflowed);
    fixture->inner->added = 0;
    assert_true(status_is_ok(source->step(source, NULL, &gradients, &loss)));
    assert_false(scaling.overflowed);
    fixture->inner->added = NAN;
    scaling.scale = FLT_MIN * 2;
    assert_true(status_is_ok(source->step(source, NULL, &gradients, &loss)));
    assert_true(scaling.overflowed);
    scaling.scale = FLT_MIN;
    assert_int_equal(source->step(source, NULL, &gradients, &loss).code, STATUS_OUT_OF_RANGE);
    source->destroy(source);
}

static void one_batch_that_overflows_is_an_overflow_of_the_step(void **state)
{
    struct fixture *fixture = *state;
    struct client_scaling scaling = { .scale = 4 };
    const struct variable_gradient *gradients;
    float loss;
    struct gradient_source *source =
        scaled_source(&fixture->inner->source, 3, &scaling, &fixture->placement);

    for (uint64_t large = 1; large <= 4; large++) { /* 4: none of these batches */
        fixture->inner->batch = 0;
        fixture->inner->large = large;
        assert_true(status_is_ok(source->step(source, NULL, &gradients, &loss)));
        assert_int_equal(scaling.overflowed, large < 4);
        assert_int_equal(fixture->inner->batch, 3);
    }
    for (int i = 0; i < SIZE; i++)
        assert_true(gradients[0].values[i] == 2 * (float)(i + 1) / 4);
    source->destroy(source);
}

/* ---- rows ---- */

/* Batch number b needs the keys b - 9 and 5, of two floats each, and b + 1 times the sum of both
 * rows' values is the gradient of each element. */
static struct status need_keys(struct gradient_source *base, const struct row_ids **rows)
{
    struct counting_source *source = (struct counting_source *)base;
    int slot = (int)(source->asked % 8);

    source->ids[slot][0] = (int64_t)source->asked++ - 9;
    source->ids[slot][1] = 5;
    source->rows[slot] = (struct row_ids){ source->ids[slot], 2 };
    *rows = &source->rows[slot];
    return status_ok();
}

static struct status step_of_keys(struct gradient_source *base, const void *const *values,
                                  const struct variable_gradient **gradients, float *loss)
{
    static float gradient[4];
    struct counting_source *source = (struct counting_source *)base;
    const float *given = values[0];

    source->gradients[0] =
        (struct variable_gradient){ .values = gradient, .rows = source->rows[source->batch % 8] };
    *loss = (float)source->batch++;
    for (int i = 0; i < 4; i++)
        gradient[i] = (*loss + 1) * (given[i % 2] + given[2 + i % 2]);
    *gradients = source->gradients;
    return status_ok();
}

static void a_step_needs_the_rows_of_all_its_batches(void **state)
{
    struct fixture *fixture = *state;
    const struct placed_variable table = {
        .name = "t", .dtype = DT_FLOAT, .shape = shape_of(-1, 2), .by_keys = true, .trainable = true
    };
    const struct variable_gradient *gradients;
    const struct row_ids *rows;
    struct gradient_source *source;
    float loss, values[8];
    const void *given[] = { values };

    placement_finish(&fixture->placement);
    placement_create(&table, 1, 1, 1 << 20, PLACE_BY_BYTES, &fixture->placement);
    fixture->inner->source = (struct gradient_source){ step_of_keys, destroy, NULL, need_keys };
    source = accumulate_source(&fixture->inner->source, 3, 1, &fixture->placement);
    assert_true(status_is_ok(source->need_rows(source, &rows)));
    for (int t = 0; t < 2; t++) {
        int64_t wanted[] = { 3 * t - 9, 3 * t - 8, 3 * t - 7, 5 };
        assert_int_equal(rows[0].count, 4);
        assert_memory_equal(rows[0].ids, wanted, sizeof wanted);
        for (int i = 0; i < 8; i++)
            values[i] = (float)(i / 2 + 1); /* row i has i + 1 */
        assert_true(status_is_ok(source->step(source, given, &gradients, &loss)));
        assert_true(status_is_ok(source->need_rows(source, &rows))); /* while these are in use */
        assert_int_equal(gradients[0].rows.count, 4);
        assert_memory_equal(gradients[0].rows.ids, wanted, sizeof wanted);
        float shared = 0;
        for (int i = 0; i < 3; i++) {
            float own = (float)(3 * t + i + 1) * (float)(i + 1 + 4);
            assert_true(gradients[0].values[2 * i] == own / 3);
            assert_true(gradients[0].values[2 * i + 1] == own / 3);
            shared += own;
        }
        assert_true(gradients[0].values[6] == shared / 3);
        assert_true(gradients[0].values[7] == shared / 3);
        assert_true(loss == (float)(3 * t + 1));
    }
    source->destroy(source);
}

/* ---- moving averages ---- */

static void an_average_moves_as_by_each_batch(void **state)
{
    struct fixture *fixture = *state;
    const double momentums[] = { .9, .5, 0, 1 };
    const struct variable_gradient *gradients;
    float loss;

    for (size_t i = 0; i < COUNT(momentums); i++) {
        double momentum = momentums[i], average = 10, step_momentum = pow(momentum, 3);
        fixture->placement.variables[0].trainable = false;
        fixture->placement.variables[0].averaged = true;
        fixture->placement.variables[0].momentum = momentum;
        struct counting_source *inner = zalloc(sizeof *inner);
        *inner = (struct counting_source){ .source = { step, destroy, seek, NULL },
                                           .destroyed = &fixture->destroyed };
        struct gradient_source *source =
            accumulate_source(&inner->source, 3, 1, &fixture->placement);
        assert_true(status_is_ok(source->step(source, NULL, &gradients, &loss)));
        for (int batch = 0; batch < 3; batch++)
            average = average * momentum + (batch + 1) * (1 - momentum);
        double moved = 10 * step_momentum + (double)gradients[0].values[0] * (1 - step_momentum);
        assert_true(fabs(moved - average) < 1e-5); /* of floats */
        source->destroy(source);
    }
    destroy(&fixture->inner->source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_the_mean_of_several_batches, start, stop),
        cmocka_unit_test_setup_teardown(is_the_source_itself_for_one_batch, start, stop),
        cmocka_unit_test_setup_teardown(one_batch_that_overflows_is_an_overflow_of_the_step, start,
                                        stop),
        cmocka_unit_test_setup_teardown(divides_by_the_present_scale_and_reports_an_overflow, start,
                                        stop),
        cmocka_unit_test_setup_teardown(a_step_needs_the_rows_of_all_its_batches, start, stop),
        cmocka_unit_test_setup_teardown(an_average_moves_as_by_each_batch, start, stop),
    };

    return cmocka_run_group_tests_name("accumulate", tests, NULL, NULL);
}
