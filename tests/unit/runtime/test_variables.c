/* Runs on several threads that change the same variables: no change is lost, and nobody waits for
 * ever. */
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/runtime/plan_fixture.h"

#define THREADS 4
#define RUNS    400

struct worker {
    pthread_t thread;
    const struct plan *plan;
};

static void *run_often(void *argument)
{
    const struct worker *worker = argument;
    struct run *own = run_create(0);
    for (int i = 0; i < RUNS; i++) {
        assert_ok(plan_run(worker->plan, own, NULL, NULL));
        run_reset(own);
    }
    run_destroy(own);
    return NULL;
}

static struct plan *plan_of_target(struct node *target)
{
    struct plan *plan;
    struct flatten_request request = { .targets = &target, .targets_count = 1 };
    assert_ok(builder_status(&b));
    assert_ok(plan_create(graph, &request, resources, NULL, NULL, &plan));
    return plan;
}

/* Each thread runs one of the two plans. */
static void run_together(struct plan *even, struct plan *odd)
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].plan = i % 2 == 0 ? even : odd;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_often, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    plan_destroy(even);
    plan_destroy(odd);
}

static void assert_holds(const char *name, int index, double wanted)
{
    struct shape scalar = shape_scalar();
    struct variable *variable;
    struct tensor value;
    assert_ok(variable_find_or_create(resources, bytes_of(""), bytes_of(name), DT_DOUBLE, &scalar,
                                      &variable));
    assert_ok(variable_read(variable, &value));
    assert_true(((const double *)value.data)[index] == wanted);
    tensor_release(&value);
    object_release(&variable->object);
}

static struct endpoint doubles(struct shape shape, const double *values)
{
    struct tensor tensor = tensor_borrow(DT_DOUBLE, &shape, values);
    return build_const(&b, NULL, &tensor);
}

static struct endpoint double_variable(const char *name, struct shape shape, const double *values)
{
    set_variable(name, tensor_borrow(DT_DOUBLE, &shape, values));
    return variable_handle(name, DT_DOUBLE, shape);
}

static void scatters_of_several_threads_add_up(void **state)
{
    static const double zeros[2] = { 0 }, ones[] = { 1, 2 };
    static const int32_t places[] = { 1, 0 };
    (void)state;
    const struct endpoint inputs[] = { double_variable("counts", shape_of(2), zeros),
                                       build_const_ints(&b, NULL, 2, places),
                                       doubles(shape_of(2), ones) };
    struct node *add = build_node(&b, "ResourceScatterAdd", NULL, 3, inputs, 0, NULL, NULL);
    run_together(plan_of_target(add), plan_of_target(add));
    assert_holds("counts", 0, 2 * THREADS * RUNS);
    assert_holds("counts", 1, THREADS * RUNS);
}

/* A variable and its slot change together: after n updates by a gradient of 1 the slot is n, and
 * the variable the sum of 1 to n. */
static struct node *momentum(const char *variable, const char *slot, double rate)
{
    static const double zero = 0, one = 1;
    struct endpoint inputs[] = { double_variable(variable, shape_scalar(), &zero),
                                 double_variable(slot, shape_scalar(), &zero),
                                 doubles(shape_scalar(), &rate), doubles(shape_scalar(), &one),
                                 doubles(shape_scalar(), &one) };
    return build_node(&b, "ResourceApplyMomentum", NULL, 5, inputs, 0, NULL, NULL);
}

static void updates_change_a_variable_and_its_slot_together(void **state)
{
    const double n = THREADS * RUNS;
    (void)state;
    struct node *update = momentum("weight", "slot", 1);
    run_together(plan_of_target(update), plan_of_target(update));
    assert_holds("slot", 0, n);
    assert_holds("weight", 0, -n * (n + 1) / 2);
}

static void updates_that_swap_their_variables_end(void **state)
{
    (void)state;
    struct node *forth = momentum("first", "second", 0), *back = momentum("second", "first", 0);
    run_together(plan_of_target(forth), plan_of_target(back));
    assert_holds("first", 0, THREADS * RUNS / 2);
    assert_holds("second", 0, THREADS * RUNS / 2);
}

static void an_update_of_one_variable_as_its_own_slot_ends(void **state)
{
    (void)state;
    struct node *update = momentum("both", "both", 0);
    run_together(plan_of_target(update), plan_of_target(update));
    assert_holds("both", 0, THREADS * RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scatters_of_several_threads_add_up),
        TEST(updates_change_a_variable_and_its_slot_together),
        TEST(updates_that_swap_their_variables_end),
        TEST(an_update_of_one_variable_as_its_own_slot_ends),
    };
    return cmocka_run_group_tests_name("variables", tests, NULL, NULL);
}
