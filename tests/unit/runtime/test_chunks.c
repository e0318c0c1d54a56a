/* Batches that run in chunks of rows. */
#include "plan_fixture.h"

#include <string.h>

enum { EDGE = 600, ROWS = 5, CHUNKS = 3 }; /* a row has 1.4 MB, so chunks have two rows */

struct counter {
    struct run_profile profile;
    int steps;
};

static void count_step(struct run_profile *profile, const struct node *node, int64_t took_ns)
{
    (void)node, (void)took_ns;
    ((struct counter *)profile)->steps++;
}

/* Two results: -x, and for each row the sum of its columns plus a number of another feed. */
static struct plan *make_plan(void)
{
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, EDGE, EDGE));
    struct endpoint number = build_placeholder(&b, "number", DT_FLOAT, shape_of(-1, 1));
    struct endpoint axis = build_const_int(&b, 1);
    struct endpoint fetches[] = { build_unary(&b, "Neg", NULL, x),
                                  build_binary(&b, "AddV2", NULL,
                                               build_binary(&b, "Sum", NULL, x, axis), number) };
    return plan_of(2, (struct endpoint[]){ x, number }, 2, fetches, NULL);
}

static float value_at(int64_t i)
{
    return (float)(i * 7 % 1013) / 16;
}

static struct tensor make_x(int64_t rows)
{
    struct shape shape = shape_of(rows, EDGE, EDGE);
    struct tensor x;
    assert_ok(tensor_create(DT_FLOAT, &shape, &x));
    for (int64_t i = 0; i < x.size; i++)
        tensor_floats_mut(&x)[i] = value_at(i);
    return x;
}

static void check_results(const struct tensor *out, int64_t rows)
{
    assert_int_equal(out[0].size, rows * EDGE * EDGE);
    assert_int_equal(out[1].size, rows * EDGE);
    for (int64_t i = 0; i < out[0].size; i++)
        if (tensor_floats(&out[0])[i] != -value_at(i))
            fail_msg("element %lld of the first result", (long long)i);
    for (int64_t i = 0; i < out[1].size; i++) {
        float sum = 0;
        for (int64_t j = 0; j < EDGE; j++)
            sum += value_at((i / EDGE * EDGE + j) * EDGE + i % EDGE);
        assert_float_equal(tensor_floats(&out[1])[i], sum + (float)(i / EDGE), 0.1);
    }
}

static int steps_of_a_run(const struct plan *plan, int64_t rows)
{
    static const float numbers[ROWS] = { 0, 1, 2, 3, 4 };
    struct counter counter = { .profile.step = count_step };
    struct tensor feeds[] = { make_x(rows), floats(shape_of(rows, 1), numbers) }, out[2];
    run_set_profile(run, &counter.profile);
    assert_ok(plan_run(plan, run, feeds, out));
    run_set_profile(run, NULL);
    check_results(out, rows);
    tensors_release(2, out);
    tensor_release(&feeds[0]);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    return counter.steps;
}

static void a_long_batch_runs_in_chunks(void **state)
{
    (void)state;
    struct plan *plan = make_plan();
    int steps = plan_steps_count(plan);
    assert_int_equal(steps_of_a_run(plan, 2), steps);
    assert_int_equal(steps_of_a_run(plan, ROWS), CHUNKS * steps);
    plan_destroy(plan);
}

static void a_failure_leaves_nothing_behind(void **state)
{
    (void)state;
    static const float numbers[ROWS];
    struct plan *plan = make_plan();
    struct run *small = run_create((size_t)12 << 20); /* the first result has 7 MB */
    struct tensor feeds[] = { make_x(ROWS), floats(shape_of(ROWS, 1), numbers) }, out[2];
    run_set_deadline(small, 1);
    assert_int_equal(plan_run(plan, small, feeds, out).code, STATUS_DEADLINE_EXCEEDED);
    run_set_deadline(small, 0);
    assert_ok(plan_run(plan, small, feeds, out));
    tensor_release(&out[0]);
    tensor_release(&out[1]);
    struct run *smaller = run_create((size_t)6 << 20);
    assert_int_equal(plan_run(plan, smaller, feeds, out).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(tensor_pool_used(run_pool(small)), 0);
    assert_int_equal(tensor_pool_used(run_pool(smaller)), 0);
    feeds[1] = floats(shape_of(ROWS - 1, 1), numbers); /* not as many rows: runs whole, and fails */
    assert_int_equal(plan_run(plan, run, feeds, out).code, STATUS_INVALID_ARGUMENT);
    tensor_release(&feeds[0]);
    run_destroy(small);
    run_destroy(smaller);
    plan_destroy(plan);
}

/* They cost a client nothing to send, in any number. */
static void rows_without_elements_run_together(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, -1));
    struct endpoint sums = build_binary(&b, "Sum", NULL, x, build_const_int(&b, 1));
    struct plan *plan = plan_of(1, &x, 1, &sums, NULL);
    struct run *small = run_create((size_t)1 << 20);
    struct tensor feed = floats(shape_of((int64_t)1 << 52, 0), NULL), out;
    assert_int_equal(plan_run(plan, small, &feed, &out).code, STATUS_RESOURCE_EXHAUSTED);
    run_destroy(small);
    plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_batch_runs_in_chunks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failure_leaves_nothing_behind, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_without_elements_run_together, setup, teardown),
    };
    return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
