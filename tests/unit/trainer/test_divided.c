/* Variables that an update first divides by their largest singular value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tensor/spectral.h"
#include "small_cluster.h"
#include "support/status.h"

static const float first_w[SMALL_W] = { 1, -2, .5f, .25f, 3, -1, 0, .5f, 2, -1.5f, 1, .75f };
static const float first_u[SMALL_B] = { .1f, -.3f }, first_b[SMALL_B] = { 5, 6 };
static const void *const first[] = { first_w, first_u, first_b };

static void start(struct small_cluster *cluster, int ps_count, struct ps_client *chief)
{
    const struct placed_variable variables[] = {
        { .name = "w",
          .dtype = DT_FLOAT,
          .shape = shape_of(6, 2),
          .trainable = true,
          .power_iterations = 2 },
        { .name = "u", .dtype = DT_FLOAT, .shape = shape_of(1, 2), .averaged = true },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
    };

    small_start_placed(cluster, ps_count, variables, COUNT(variables), NULL, NULL, 0);
    small_client(cluster, 0, 1, chief);
    assert_ok(client_join(chief, false, 1000));
}

static void an_update_divides_before_it_applies_the_gradient(void **state)
{
    (void)state;
    const struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };
    const float next_u[] = { .6f, .8f }, last_u[] = { 7, 8 };
    const struct variable_gradient pushed[] = { { .values = ones },
                                                { .values = next_u },
                                                { .values = ones } },
                                   again[] = { { .values = ones },
                                               { .values = last_u },
                                               { .values = ones } };
    const struct shape shape = shape_of(6, 2);
    float want[SMALL_W];

    for (int ps_count = 1; ps_count <= 3; ps_count++) {
        struct small_cluster cluster;
        struct ps_client chief;
        start(&cluster, ps_count, &chief);
        assert_ok(client_create(&chief, &job, first));
        assert_ok(client_push(&chief, pushed, true));
        spectral_divide(first_w, &shape, first_u, 2, want); /* the vector from before the update */
        for (int i = 0; i < SMALL_W; i++)
            want[i] -= .5f;
        assert_memory_equal(chief.values[0], want, sizeof want);
        assert_memory_equal(chief.values[1], next_u, sizeof next_u);
        assert_ok(client_push(&chief, again, true));
        spectral_divide(want, &shape, next_u, 2, want);
        for (int i = 0; i < SMALL_W; i++)
            want[i] -= .5f;
        assert_memory_equal(chief.values[0], want, sizeof want);
        assert_memory_equal(chief.values[1], last_u, sizeof last_u);
        client_finish(&chief);
        small_stop(&cluster);
    }
}

static void a_divided_variable_is_whole_and_beside_its_vector(void **state)
{
    (void)state;
    struct placed_variable variables[] = {
        { .name = "a", .dtype = DT_FLOAT, .shape = shape_of(100, 4), .trainable = true },
        { .name = "w",
          .dtype = DT_FLOAT,
          .shape = shape_of(90, 4),
          .trainable = true,
          .power_iterations = 1 },
        { .name = "u", .dtype = DT_FLOAT, .shape = shape_of(1, 4), .averaged = true },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(4), .trainable = true },
    };

    for (int strategy = PLACE_BY_BYTES; strategy <= PLACE_WHOLE_IN_TURN; strategy++) {
        struct placement placement;
        placement_create(variables, 4, 3, 160, (enum placement_strategy)strategy, &placement);
        const struct placed_variable *w = &placement.variables[1];
        assert_int_equal(placement.variables[0].pieces_count, 10);
        assert_int_equal(w->pieces_count, 1);
        assert_int_equal(placement.pieces[w->first_piece].ps,
                         placement.pieces[w->first_piece + 1].ps);
        placement_finish(&placement);
    }
    struct placement plain, divided;
    placement_create(variables, 4, 1, 1 << 20, PLACE_BY_BYTES, &divided);
    variables[1].power_iterations = 2;
    placement_create(variables, 4, 1, 1 << 20, PLACE_BY_BYTES, &plain);
    assert_true(plain.hash != divided.hash);
    placement_finish(&plain);
    placement_finish(&divided);
    variables[1].shape = shape_of(1 << 27, 4);
    assert_int_equal(placed_variable_check(&variables[1]).code, STATUS_UNIMPLEMENTED);
}

static void what_cannot_be_divided_is_refused(void **state)
{
    (void)state;
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };
    struct small_cluster cluster;
    struct ps_client chief;

    start(&cluster, 1, &chief);
    struct placed_variable *variables = cluster.placement.variables;
    variables[0].power_iterations = SPECTRAL_ITERATIONS_MAX + 1;
    struct status status = client_create(&chief, &job, first);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "at most 1000 iterations"));
    variables[0].power_iterations = 1;
    variables[1].averaged = false;
    status = client_create(&chief, &job, first);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "the next piece must be its vector"));
    variables[1].averaged = true;
    variables[2].power_iterations = 1; /* it is the last one */
    status = client_create(&chief, &job, first);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    variables[2].power_iterations = 0;
    job.optimizer = "lamb";
    status = client_create(&chief, &job, first);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_non_null(strstr(status.message, "'lamb'"));
    client_finish(&chief);
    small_stop(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_divides_before_it_applies_the_gradient),
        cmocka_unit_test(a_divided_variable_is_whole_and_beside_its_vector),
        cmocka_unit_test(what_cannot_be_divided_is_refused),
    };
    return cmocka_run_group_tests_name("divided", tests, NULL, NULL);
}
