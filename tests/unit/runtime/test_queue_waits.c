/*
 * Runs that wait for each other at a queue, a staging area or a mutex, what ends a wait, and how
 * much a queue may hold.
 */
#include "unit/runtime/plan_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* The queue of a test, of float scalars, and plans for its ops. */
static struct endpoint handle, fed_values, fed_count;
static struct plan *put_many, *take_one, *take_many, *take_up_to, *get_size, *close_it, *cancel_it;

static struct plan *plan_for(struct node *node, int feeds_count, struct endpoint feed)
{
    struct endpoint fetch = { node, node->outputs_count - 1 };
    struct flatten_request request = { .feeds = &feed,
                                       .feeds_count = feeds_count,
                                       .fetches = &fetch,
                                       .fetches_count = node->outputs_count > 0,
                                       .targets = &node,
                                       .targets_count = node->outputs_count == 0 };
    struct plan *plan;
    assert_ok(builder_status(&b));
    assert_ok(plan_create(graph, &request, resources, NULL, NULL, &plan));
    return plan;
}

static struct plan *plan_of_op(const char *op, struct endpoint fed)
{
    static const enum dtype dtype = DT_FLOAT;
    struct endpoint inputs[] = { handle, fed };
    struct attr attrs[] = { attr_types(&b, "component_types", 1, &dtype), ATTR_END };
    bool takes = strstr(op, "Dequeue") != NULL;
    int inputs_count = fed.node != NULL ? 2 : 1;
    return plan_for(build_node(&b, op, NULL, inputs_count, inputs, 0, NULL, takes ? attrs : NULL),
                    inputs_count - 1, fed);
}

static void make_queue(const char *op, int64_t capacity)
{
    static const enum dtype dtype = DT_FLOAT;
    struct shape scalar = shape_scalar();
    struct endpoint none = { 0 };
    struct attr cancels[] = { attr_bool("cancel_pending_enqueues", true), ATTR_END };
    handle = build(&b, op, "queue", 0, NULL,
                   (struct attr[]){ attr_types(&b, "component_types", 1, &dtype),
                                    attr_shapes(&b, "shapes", 1, &scalar),
                                    attr_int("capacity", capacity), attr_text("shared_name", "q"),
                                    ATTR_END });
    fed_values = build_placeholder(&b, "values", DT_FLOAT, shape_of(-1));
    fed_count = build_placeholder(&b, "count", DT_INT32, shape_scalar());
    put_many = plan_of_op("QueueEnqueueManyV2", fed_values);
    take_one = plan_of_op("QueueDequeueV2", none);
    take_many = plan_of_op("QueueDequeueManyV2", fed_count);
    take_up_to = plan_of_op("QueueDequeueUpToV2", fed_count);
    get_size = plan_of_op("QueueSizeV2", none);
    close_it = plan_of_op("QueueCloseV2", none);
    cancel_it =
        plan_for(build_node(&b, "QueueCloseV2", NULL, 1, &handle, 0, NULL, cancels), 0, none);
}

static int end_queue(void **state)
{
    struct plan *plans[] = { put_many, take_one, take_many, take_up_to,
                             get_size, close_it, cancel_it };
    for (size_t i = 0; i < COUNT(plans); i++)
        plan_destroy(plans[i]);
    return teardown(state);
}

/* ---- the ops, in any run ---- */

static struct status put_in(struct run *in, int count, const float *values)
{
    struct tensor feed = floats(shape_of(count), values);
    struct status status = plan_run(put_many, in, &feed, NULL);
    run_reset(in);
    return status;
}

static struct status take_in(struct run *in, const struct plan *plan, int32_t count, float *values,
                             int64_t *got)
{
    struct shape scalar = shape_scalar();
    struct tensor feed = tensor_borrow(DT_INT32, &scalar, &count), out = { 0 };
    struct status status = plan_run(plan, in, &feed, &out);
    *got = 0;
    if (status_is_ok(status) && out.size > 0) {
        *got = out.size;
        memcpy(values, out.data, tensor_bytes(&out));
        tensor_release(&out);
    }
    run_reset(in);
    return status;
}

static void assert_takes(const struct plan *plan, int count, int wanted_count, const float *wanted)
{
    float values[64];
    int64_t got;
    assert_ok(take_in(run, plan, count, values, &got));
    assert_int_equal(got, wanted_count);
    assert_memory_equal(values, wanted, (size_t)wanted_count * sizeof *wanted);
}

static void assert_size(int32_t wanted)
{
    struct tensor out;
    assert_ok(plan_run(get_size, run, NULL, &out));
    assert_int_equal(tensor_int32s(&out)[0], wanted);
    tensor_release(&out);
}

/* ---- a run in another thread ---- */

struct other {
    pthread_t thread;
    struct run *run;
    struct plan *plan; /* NULL: gives `values` */
    int count;
    float values[64];
    int64_t got;
    enum status_code code;
    char message[256];
    _Atomic int checks;   /* how often the run was looked at; the second time, it waits */
    _Atomic bool is_left; /* nobody wants the result any more */
};

static struct status check_other(const void *context)
{
    struct other *other = (struct other *)context;
    atomic_fetch_add(&other->checks, 1);
    return atomic_load(&other->is_left) ? status_error(STATUS_CANCELLED, "the client disconnected")
                                        : status_ok();
}

static void *run_other(void *argument)
{
    struct other *other = argument;
    struct status status = other->plan == NULL ? put_in(other->run, other->count, other->values)
                                               : take_in(other->run, other->plan, other->count,
                                                         other->values, &other->got);
    other->code = status.code;
    snprintf(other->message, sizeof other->message, "%s", status.message);
    return NULL;
}

/* Returns when the other run waits. */
static void start(struct other *other)
{
    other->run = run_create(0);
    run_set_check(other->run, check_other, other);
    assert_int_equal(pthread_create(&other->thread, NULL, run_other, other), 0);
    while (atomic_load(&other->checks) < 2)
        sched_yield();
}

static void join(struct other *other)
{
    assert_int_equal(pthread_join(other->thread, NULL), 0);
    run_destroy(other->run);
}

static void a_run_waits_for_the_rows_of_another(void **state)
{
    (void)state;
    struct other taker = { .plan = NULL, .count = 3 };
    make_queue("FIFOQueueV2", -1);
    taker.plan = take_many;
    start(&taker);
    assert_ok(put_in(run, 2, VALUES(1, 2)));
    assert_ok(put_in(run, 2, VALUES(3, 4)));
    join(&taker);
    assert_int_equal(taker.code, STATUS_OK);
    assert_int_equal(taker.got, 3);
    assert_memory_equal(taker.values, VALUES(1, 2, 3), 3 * sizeof(float));
    assert_size(1);
}

static void a_run_waits_for_room(void **state)
{
    (void)state;
    struct other giver = { .count = 5, .values = { 1, 2, 3, 4, 5 } };
    make_queue("FIFOQueueV2", 2);
    start(&giver);
    assert_takes(take_many, 4, 4, VALUES(1, 2, 3, 4)); /* more than the queue holds at a time */
    join(&giver);
    assert_int_equal(giver.code, STATUS_OK);
    assert_takes(take_one, 0, 1, VALUES(5));
}

/* The one that came first has its turn first, also if the other one wants less. */
static void runs_take_in_turn(void **state)
{
    (void)state;
    struct other first = { .count = 4 }, second = { .count = 1 };
    make_queue("FIFOQueueV2", -1);
    first.plan = take_many;
    second.plan = take_one;
    start(&first);
    start(&second);
    assert_ok(put_in(run, 3, VALUES(1, 2, 3)));
    assert_ok(put_in(run, 2, VALUES(4, 5)));
    join(&first);
    join(&second);
    assert_memory_equal(first.values, VALUES(1, 2, 3, 4), 4 * sizeof(float));
    assert_memory_equal(second.values, VALUES(5), sizeof(float));
}

static void many_runs_lose_no_row(void **state)
{
    (void)state;
    enum { PAIRS = 3, ROUNDS = 40 };
    struct other givers[PAIRS] = { 0 }, takers[PAIRS] = { 0 };
    float sum = 0;
    make_queue("FIFOQueueV2", 5);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PAIRS; i++) {
            givers[i] = (struct other){ .count = 4, .values = { 1, 2, 3, 4 } };
            takers[i] = (struct other){ .count = 4, .plan = take_many };
            struct other *both[] = { &givers[i], &takers[i] };
            for (int j = 0; j < 2; j++) {
                both[j]->run = run_create(0);
                assert_int_equal(pthread_create(&both[j]->thread, NULL, run_other, both[j]), 0);
            }
        }
        for (int i = 0; i < PAIRS; i++) {
            join(&givers[i]);
            join(&takers[i]);
            assert_int_equal(givers[i].code, STATUS_OK);
            assert_int_equal(takers[i].got, 4);
            for (int v = 0; v < 4; v++)
                sum += takers[i].values[v];
        }
    }
    assert_float_equal(sum, 10 * PAIRS * ROUNDS, 0);
    assert_size(0);
}

/* ---- what ends a wait ---- */

static void closing_wakes_those_that_wait_for_rows(void **state)
{
    (void)state;
    struct other one = { .plan = NULL, .count = 5 }, rest = { .count = 5 };
    make_queue("FIFOQueueV2", -1);
    one.plan = take_many;
    rest.plan = take_up_to;
    start(&one);
    assert_ok(put_in(run, 2, VALUES(1, 2)));
    start(&rest);
    assert_ok(plan_run(close_it, run, NULL, NULL));
    join(&one);
    join(&rest);
    assert_int_equal(one.code, STATUS_OUT_OF_RANGE);
    assert_non_null(strstr(one.message, "FIFOQueue 'q' is closed and has insufficient elements "
                                        "(requested "));
    assert_int_equal(rest.code, STATUS_OK);
    assert_int_equal(rest.got, 2);
    assert_memory_equal(rest.values, VALUES(1, 2), 2 * sizeof(float));
}

static void closing_waits_for_those_that_give(void **state)
{
    (void)state;
    struct other giver = { .count = 3, .values = { 1, 2, 3 } }, closer = { .count = 0 };
    make_queue("FIFOQueueV2", 1);
    start(&giver);
    closer.plan = close_it;
    start(&closer);
    assert_takes(take_one, 0, 1, VALUES(1));
    assert_takes(take_one, 0, 1, VALUES(2));
    join(&giver);
    join(&closer);
    assert_int_equal(giver.code, STATUS_OK);
    assert_int_equal(closer.code, STATUS_OK);
    assert_takes(take_one, 0, 1, VALUES(3));
    assert_int_equal(put_in(run, 1, VALUES(4)).code, STATUS_CANCELLED);
}

static void closing_cancels_those_that_give_if_it_should(void **state)
{
    (void)state;
    struct other giver = { .count = 3, .values = { 1, 2, 3 } };
    make_queue("FIFOQueueV2", 2);
    start(&giver);
    assert_ok(plan_run(cancel_it, run, NULL, NULL));
    join(&giver);
    assert_int_equal(giver.code, STATUS_CANCELLED);
    assert_string_equal(giver.message, "Enqueue operation was cancelled");
    assert_size(2);
}

static void a_client_that_leaves_ends_its_wait(void **state)
{
    (void)state;
    struct other taker = { .count = 3 };
    make_queue("FIFOQueueV2", -1);
    assert_ok(put_in(run, 2, VALUES(1, 2)));
    taker.plan = take_many;
    start(&taker);
    atomic_store(&taker.is_left, true);
    join(&taker);
    assert_int_equal(taker.code, STATUS_CANCELLED);
    assert_string_equal(taker.message,
                        "FIFOQueue 'q' has too few elements: the client disconnected");
    assert_takes(take_many, 2, 2, VALUES(1, 2)); /* what it had taken is there again, in order */
}

static void the_deadline_ends_a_wait(void **state)
{
    (void)state;
    make_queue("FIFOQueueV2", 1);
    float value;
    int64_t got;
    run_set_deadline(run, (uint64_t)clock_deadline_ns(clock_monotonic(), 20));
    struct status status = take_in(run, take_one, 0, &value, &got);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
    assert_non_null(strstr(status.message, "FIFOQueue 'q' has too few elements: the deadline"));
    run_set_deadline(run, (uint64_t)clock_deadline_ns(clock_monotonic(), 20));
    status = put_in(run, 2, VALUES(1, 2));
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
    assert_non_null(strstr(status.message, "FIFOQueue 'q' is full: the deadline"));
    run_set_deadline(run, 0);
    assert_size(1);
}

/* ---- mutexes and staging areas ---- */

/* Takes a row while it holds the mutex. */
static struct plan *plan_of_locked_take(void)
{
    static const enum dtype dtype = DT_FLOAT;
    struct endpoint mutex = build(&b, "MutexV2", "mutex", 0, NULL, NULL);
    struct node *lock = build_node(&b, "MutexLock", "lock", 1, &mutex, 0, NULL, NULL);
    struct node *row =
        build_node(&b, "QueueDequeueV2", "row", 1, &handle, 1, &lock,
                   (struct attr[]){ attr_types(&b, "component_types", 1, &dtype), ATTR_END });
    struct endpoint held = { lock, 0 }, taken = { row, 0 }, none = { 0 };
    struct node *end = build_node(&b, "ConsumeMutexLock", "end", 1, &held, 1, &row, NULL);
    return plan_for(build_node(&b, "Identity", "out", 1, &taken, 1, &end, NULL), 0, none);
}

static void runs_hold_a_mutex_in_turn(void **state)
{
    (void)state;
    struct other first = { .plan = NULL }, second = { .plan = NULL }, third = { .plan = NULL };
    make_queue("FIFOQueueV2", -1);
    struct plan *locked = plan_of_locked_take();
    first.plan = second.plan = third.plan = locked;
    start(&first); /* waits for a row, with the lock */
    start(&second);
    start(&third);
    atomic_store(&second.is_left, true);
    join(&second);
    assert_int_equal(second.code, STATUS_CANCELLED);
    assert_non_null(strstr(second.message, "another run holds the mutex: the client disconnected"));
    assert_ok(put_in(run, 2, VALUES(1, 2)));
    join(&first);
    join(&third);
    assert_memory_equal(first.values, VALUES(1), sizeof(float));
    assert_memory_equal(third.values, VALUES(2), sizeof(float));
    plan_destroy(locked);
}

static void a_run_waits_for_what_another_stages(void **state)
{
    (void)state;
    static const enum dtype dtype = DT_FLOAT;
    struct attr named[] = { attr_text("shared_name", "area"), ATTR_END };
    struct attr typed[] = { attr_text("shared_name", "area"), attr_types(&b, "dtypes", 1, &dtype),
                            ATTR_END };
    struct endpoint none = { 0 }, second = build_const_int(&b, 1);
    struct other looker = { .plan = NULL };
    make_queue("FIFOQueueV2", -1);
    struct plan *stage =
        plan_for(build_node(&b, "Stage", "stage", 1, &fed_values, 0, NULL, named), 1, fed_values);
    looker.plan =
        plan_for(build_node(&b, "StagePeek", "peek", 1, &second, 0, NULL, typed), 0, none);
    start(&looker);
    for (int i = 0; i < 2; i++) {
        struct tensor feed = floats(shape_of(2), i == 0 ? VALUES(1, 2) : VALUES(3, 4));
        assert_ok(plan_run(stage, run, &feed, NULL));
    }
    join(&looker);
    assert_memory_equal(looker.values, VALUES(3, 4), 2 * sizeof(float));
    plan_destroy(looker.plan);
    plan_destroy(stage);
}

/* A run waits for a key until the last tensor of its row is there, or until its deadline. */
static void a_run_waits_for_a_key_that_another_stages(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = { DT_FLOAT, DT_FLOAT };
    static const int32_t indices[] = { 0, 1 };
    struct attr limits[] = { attr_text("shared_name", "map"), attr_types(&b, "dtypes", 2, dtypes),
                             ATTR_END };
    struct attr typed[] = { attr_text("shared_name", "map"), attr_types(&b, "dtypes", 1, dtypes),
                            ATTR_END };
    struct shape one = shape_of(1);
    struct endpoint none = { 0 }, key = build_const_int64(&b, 5);
    struct plan *stage[2];
    struct other looker = { .plan = NULL };
    make_queue("FIFOQueueV2", -1);
    for (int i = 0; i < 2; i++) {
        struct tensor index = tensor_borrow(DT_INT32, &one, indices + i);
        struct endpoint at = build_const(&b, NULL, &index);
        struct endpoint inputs[] = { key, at, fed_values }, second[] = { key, at };
        stage[i] =
            plan_for(build_node(&b, "MapStage", NULL, 3, inputs, 0, NULL, limits), 1, fed_values);
        if (i == 1)
            looker.plan =
                plan_for(build_node(&b, "MapUnstage", NULL, 2, second, 0, NULL, typed), 0, none);
    }
    start(&looker);
    for (int i = 0; i < 2; i++) {
        struct tensor feed = floats(shape_of(2), i == 0 ? VALUES(1, 2) : VALUES(3, 4));
        assert_ok(plan_run(stage[i], run, &feed, NULL));
    }
    join(&looker);
    assert_int_equal(looker.code, STATUS_OK);
    assert_memory_equal(looker.values, VALUES(3, 4), 2 * sizeof(float));

    float values[2];
    int64_t got;
    struct status status = take_in(run, looker.plan, 0, values, &got);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT); /* its row is there, without it */
    plan_destroy(looker.plan);
    looker.plan =
        plan_for(build_node(&b, "MapUnstage", NULL, 2,
                            (struct endpoint[]){ build_const_int64(&b, 6), build_const_int(&b, 0) },
                            0, NULL, typed),
                 0, none);
    run_set_deadline(run, (uint64_t)clock_deadline_ns(clock_monotonic(), 20));
    status = take_in(run, looker.plan, 0, values, &got);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
    assert_non_null(strstr(status.message, "staging map 'map' has no such key: the deadline"));
    run_set_deadline(run, 0);
    plan_destroy(looker.plan);
    plan_destroy(stage[0]);
    plan_destroy(stage[1]);
}

/* ---- rows by priority ---- */

/* TensorFlow loses the rows that there are if it was asked for more. */
static void a_closed_queue_gives_the_rest_by_priority(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = { DT_INT64, DT_FLOAT };
    static const int64_t priorities[] = { 3, 1, 2 };
    struct shape scalar = shape_scalar(), three = shape_of(3);
    struct endpoint none = { 0 };
    handle = build(&b, "PriorityQueueV2", "queue", 0, NULL,
                   (struct attr[]){ attr_types(&b, "component_types", 1, dtypes + 1),
                                    attr_shapes(&b, "shapes", 1, &scalar), ATTR_END });
    struct tensor keys = tensor_borrow(DT_INT64, &three, priorities);
    struct endpoint inputs[] = { handle, build_const(&b, "keys", &keys),
                                 const_floats("rows", three, VALUES(30, 10, 20)) };
    fed_count = build_placeholder(&b, "count", DT_INT32, shape_scalar());
    struct endpoint taken[] = { handle, fed_count };
    put_many =
        plan_for(build_node(&b, "QueueEnqueueManyV2", NULL, 3, inputs, 0, NULL, NULL), 0, none);
    take_up_to = plan_for(
        build_node(&b, "QueueDequeueUpToV2", NULL, 2, taken, 0, NULL,
                   (struct attr[]){ attr_types(&b, "component_types", 2, dtypes), ATTR_END }),
        1, fed_count);
    close_it = plan_of_op("QueueCloseV2", none);
    take_one = take_many = get_size = cancel_it = NULL;
    assert_ok(plan_run(put_many, run, NULL, NULL));
    assert_ok(plan_run(close_it, run, NULL, NULL));
    assert_takes(take_up_to, 9, 3, VALUES(10, 20, 30));
}

/* ---- memory ---- */

static void a_queue_holds_no_more_than_a_run(void **state)
{
    (void)state;
    static const float zeros[1000];
    struct run *small = run_create(1 << 20);
    struct status status = status_ok();
    int runs = 0;
    make_queue("FIFOQueueV2", -1);
    while (status_is_ok(status) && runs++ < 100)
        status = put_in(small, COUNT(zeros), zeros);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_in_range(runs, 2, 20); /* a row costs much more than its four bytes */
    assert_size((runs - 1) * (int)COUNT(zeros));
    run_destroy(small);
}

/* Taking a row makes room: rows that only pass the queue do not count, also within one run. */
static void rows_that_leave_make_room(void **state)
{
    (void)state;
    static const float zeros[1000];
    int32_t count = COUNT(zeros);
    struct shape scalar = shape_scalar();
    struct tensor feed = floats(shape_of(COUNT(zeros)), zeros), out,
                  of_count = tensor_borrow(DT_INT32, &scalar, &count);
    struct run *small = run_create(1 << 20);
    make_queue("FIFOQueueV2", -1);
    for (int i = 0; i < 30; i++) { /* without run_reset, which would begin a new run */
        assert_ok(plan_run(put_many, small, &feed, NULL));
        assert_ok(plan_run(take_many, small, &of_count, &out));
        tensor_release(&out);
    }
    run_destroy(small);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, end_queue)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_waits_for_the_rows_of_another),
        TEST(a_run_waits_for_room),
        TEST(runs_take_in_turn),
        TEST(many_runs_lose_no_row),
        TEST(closing_wakes_those_that_wait_for_rows),
        TEST(closing_waits_for_those_that_give),
        TEST(closing_cancels_those_that_give_if_it_should),
        TEST(a_client_that_leaves_ends_its_wait),
        TEST(the_deadline_ends_a_wait),
        TEST(runs_hold_a_mutex_in_turn),
        TEST(a_run_waits_for_what_another_stages),
        TEST(a_run_waits_for_a_key_that_another_stages),
        TEST(a_closed_queue_gives_the_rest_by_priority),
        TEST(a_queue_holds_no_more_than_a_run),
        TEST(rows_that_leave_make_room),
    };
    return cmocka_run_group_tests_name("queue waits", tests, NULL, NULL);
}
