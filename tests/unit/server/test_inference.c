/* Tests that only cheap calls run in the loop, at once or in a round, that a round fills up, and
 * that a slow run moves from the loop to the pool. */
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../runtime/plan_fixture.h"
#include "server/inference/inference.h"
#include "server/inference/inference_pool.h"
#include "support/test_group.h"

#define MANY  1000
#define STEPS 64 /* nested calls of tanh */

static struct signature_tensor output = { .key = "y", .tensor_name = "y:0" };
static struct signature signature = {
    .name = "s", .inputs_count = 1, .outputs = &output, .outputs_count = 1
};
static struct servable servable = { .name = "m" };
static struct callable callable;
static int tanhs; /* in the plan, which computes several in one step */
static struct loop *loop;
static struct inference_pool *pool;
static struct inference *inference;

/* x [?,?] -> tanh(tanh(… x)). */
static void begin(bool batch_ready, int steps)
{
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, -1)), y = x;
    tanhs = steps;
    for (int i = 0; i < steps; i++)
        y = build_unary(&b, "Tanh", NULL, y);
    callable = (struct callable){ .servable = &servable,
                                  .signature = &signature,
                                  .plan = plan_of(1, &x, 1, &y, NULL) };
    callable.predictable = callable.batches = plan_cost_is_predictable(callable.plan);
    callable_init(&callable, &servable, &signature);
    struct inference_options options = { .batch_ready = batch_ready, .threads = 1 };
    assert_ok(loop_create(&loop));
    assert_ok(inference_pool_create(&options, &pool));
    inference = inference_create(pool, loop);
}

static void end(void)
{
    inference_pool_stop(pool);
    inference_destroy(inference);
    inference_pool_destroy(pool);
    loop_destroy(loop);
    callable_finish(&callable);
    metric_owner_release(&servable.series);
    plan_destroy((struct plan *)(uintptr_t)callable.plan);
}

static void measured(const struct tensor *input, int64_t took_ns)
{
    cost_add(&callable.costs, cost_key_of(input, 1, cost_bytes(input, 1), input->shape.dims[0]),
             took_ns);
}

/* ---- rounds that fill up ---- */

static const struct row {
    const char *label;
    int64_t rows, columns; /* of the only input, a float matrix */
    int64_t took_ns;       /* the measured cost of such a call */
    bool batch_ready;
    int calls; /* the number that fills a round */
} cases[] = {
    { "64 calls of one row", 1, 4, 1000, true, 64 },
    { "64 rows in larger calls", 10, 4, 1000, true, 7 },
    { "cheap runs: 80 KiB of inputs", 1, 1024, 1000, true, 20 },
    { "cheap runs that cannot be batched", 1, 1024, 1000, false, 20 },
    { "one call with more inputs than that", 1, 30000, 1000, true, 1 },
    { "expensive runs gain from a larger batch", 1, 1024, 50000, true, 64 },
    { "expensive runs that cannot be batched: a millisecond", 1, 4, 50000, false, 20 },
};

static void fills(void **state)
{
    const struct row *row = *state;
    struct tensor input = floats(shape_of(row->rows, row->columns), NULL);
    struct inference_call calls[MANY];
    int count = 0;

    setup(NULL);
    begin(row->batch_ready, 1);
    measured(&input, row->took_ns);
    while (count < MANY && !inference_is_full(inference)) {
        calls[count] = (struct inference_call){ .callable = &callable, .inputs = &input };
        inference_submit(inference, &calls[count++]);
    }
    assert_int_equal(count, row->calls);
    for (int i = 0; i < count; i++)
        inference_forget(inference, &calls[i]);
    assert_false(inference_is_full(inference));
    end();
    teardown(NULL);
}

/* ---- calls in the loop and in the pool ---- */

struct caller {
    struct inference_call call; /* must be first */
    struct status status;
    int answers, moves;
    int nice; /* of the thread that ran it */
    bool done, right;
};

static struct status on_answer(struct inference_call *call, const struct tensor *outputs)
{
    struct caller *caller = (struct caller *)call;
    float y = tensor_floats(&call->inputs[0])[0];
    for (int i = 0; i < tanhs; i++)
        y = tanhf(y);
    caller->right = fabsf(tensor_floats(&outputs[0])[0] - y) < 1e-5f;
    caller->nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
    caller->answers++;
    return status_ok();
}

static void on_done(struct inference_call *call, struct status status)
{
    struct caller *caller = (struct caller *)call;
    caller->status = status;
    caller->done = true;
}

static void on_pool(struct inference_call *call)
{
    ((struct caller *)call)->moves++;
}

static struct caller make_caller(const struct tensor *input)
{
    return (struct caller){ .call = { .callable = &callable,
                                      .inputs = input,
                                      .answer = on_answer,
                                      .done = on_done,
                                      .to_pool = on_pool,
                                      .arena = arena } };
}

static void submit(struct caller *caller, const struct tensor *input)
{
    *caller = make_caller(input);
    inference_submit(inference, &caller->call);
}

static void wait_for(struct caller *caller)
{
    while (!caller->done)
        assert_ok(loop_run_once(loop, INT64_MAX));
    assert_ok(caller->status);
    assert_int_equal(caller->answers, 1);
    assert_true(caller->right);
}

/* Submits a single call. Returns whether it went to the pool. */
static bool goes_to_pool(const struct tensor *input)
{
    struct caller caller;
    submit(&caller, input);
    bool moved = caller.moves > 0;
    inference_run(inference);
    wait_for(&caller);
    return moved;
}

static const float ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

static void only_a_size_that_is_known_to_be_cheap_runs_in_the_loop(void **state)
{
    (void)state;
    struct tensor small = floats(shape_of(1, 2), ones), large = floats(shape_of(1, 16), ones);
    begin(true, 1);
    assert_true(goes_to_pool(&small));
    measured(&small, 1000);
    assert_false(goes_to_pool(&small));
    assert_true(goes_to_pool(&large)); /* a small call's cost says nothing */
    measured(&large, 1000);
    assert_false(goes_to_pool(&large));
    end();
}

/* ---- calls that may end at once ---- */

static void submit_at_once(struct caller *caller, const struct tensor *input)
{
    *caller = make_caller(input);
    caller->call.at_once = true;
    inference_submit(inference, &caller->call);
}

static void a_round_runs_at_once_when_every_client_waits(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones);
    struct caller callers[3];
    begin(true, 1);
    measured(&input, 50000);
    inference_expect(inference, 2);
    inference_expect_more(inference, 1);
    submit_at_once(&callers[0], &input);
    submit(&callers[1], &input); /* of a protocol that sends answers later */
    assert_int_equal(inference_waiting(inference), 2);
    submit_at_once(&callers[2], &input);
    assert_int_equal(inference_waiting(inference), 0);
    for (size_t i = 0; i < COUNT(callers); i++)
        wait_for(&callers[i]);
    end();
}

static struct caller follower;
static int running, running_max; /* calls of on_done_with_follower */

static void on_done_with_follower(struct inference_call *call, struct status status)
{
    running_max = ++running > running_max ? running : running_max;
    on_done(call, status);
    if (call != &follower.call) {
        follower = make_caller(call->inputs);
        follower.call.at_once = true;
        follower.call.done = on_done_with_follower;
        inference_submit(inference, &follower.call);
    }
    running--;
}

static void calls_that_follow_others_do_not_run_inside_them(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones);
    struct caller first = make_caller(&input);
    begin(true, 1);
    measured(&input, 1000);
    first.call.at_once = true;
    first.call.done = on_done_with_follower;
    inference_submit(inference, &first.call);
    wait_for(&first);
    inference_run(inference);
    wait_for(&follower);
    assert_int_equal(running_max, 1);
    end();
}

/* ---- calls that go to the pool ---- */

static void an_expensive_call_goes_to_the_pool(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones);
    begin(true, 1);
    measured(&input, 300000);
    assert_true(goes_to_pool(&input));
    end();
}

/* As the pool counts them, test_pending_calls. */
static void a_cheap_call_follows_those_that_went_to_the_pool(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones);
    begin(true, 1);
    measured(&input, 1000);
    callable.queue.cheap_count = 1;
    assert_true(goes_to_pool(&input));
    callable.queue.cheap_count = 0;
    assert_false(goes_to_pool(&input));
    end();
}

static void a_call_of_unpredictable_cost_goes_to_the_pool(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones);
    begin(true, 1);
    callable.predictable = callable.batches = false;
    measured(&input, 1000);
    assert_true(goes_to_pool(&input));
    end();
}

static void cheap_calls_that_are_expensive_together_go_to_the_pool(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones);
    struct caller callers[20];
    begin(true, 1);
    measured(&input, 100000);
    for (size_t i = 0; i < COUNT(callers); i++)
        submit(&callers[i], &input);
    inference_run(inference);
    for (size_t i = 0; i < COUNT(callers); i++) {
        assert_int_equal(callers[i].moves, 1);
        wait_for(&callers[i]);
    }
    end();
}

/* If they came one by one, the idle thread would run the first of them alone, and the loop would
 * answer the first of them alone. */
static void calls_of_a_round_come_to_the_pool_and_back_together(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones), many = floats(shape_of(32, 2), NULL);
    struct caller callers[20];
    size_t done = 0;
    begin(true, 1);
    measured(&input, 100000);
    measured(&many, 2000000);
    for (size_t i = 0; i < COUNT(callers); i++)
        submit(&callers[i], &input);
    inference_run(inference);
    wait_for(&callers[0]);
    for (size_t i = 0; i < COUNT(callers); i++)
        done += callers[i].done;
    for (size_t i = 0; i < COUNT(callers); i++)
        wait_for(&callers[i]);
    end();
    assert_int_equal(done, COUNT(callers));
    for (size_t i = 0; i < COUNT(callers); i++) {
        assert_int_equal(callers[i].moves, 1);
        assert_int_equal(callers[i].call.run_began_ns, callers[0].call.run_began_ns);
    }
}

static void calls_of_one_run_come_back_to_each_loop_together(void **state)
{
    (void)state;
    struct tensor input = floats(shape_of(1, 2), ones), many = floats(shape_of(32, 2), NULL);
    struct caller callers[20];
    struct loop *loops[2];
    size_t done = 0;
    begin(true, 1);
    measured(&input, 100000);
    measured(&many, 2000000);
    loops[0] = loop;
    assert_ok(loop_create(&loops[1]));
    struct inference *inferences[] = { inference, inference_create(pool, loops[1]) };
    for (size_t i = COUNT(callers); i-- > 0;) {
        callers[i] = make_caller(&input);
        callers[i].call.inference = inferences[i % 2];
        callers[i].call.rows = 1;
        callers[i].call.size = cost_key_of(&input, 1, cost_bytes(&input, 1), 1);
        callers[i].call.next = i + 1 < COUNT(callers) ? &callers[i + 1].call : NULL;
    }
    inference_pool_submit(pool, &callers[0].call);
    for (size_t i = 0; i < 2; i++)
        while (!callers[i].done)
            assert_ok(loop_run_once(loops[i], INT64_MAX));
    for (size_t i = 0; i < COUNT(callers); i++)
        done += callers[i].done;
    inference_pool_stop(pool);
    inference_destroy(inferences[1]);
    loop_destroy(loops[1]);
    end();
    assert_int_equal(done, COUNT(callers));
}

static void a_run_that_takes_too_long_ends_in_the_pool(void **state)
{
    (void)state;
    struct shape shape = shape_of(1, 1 << 18);
    struct tensor input;
    struct caller callers[2];
    assert_ok(tensor_create(DT_FLOAT, &shape, &input));
    memset(input.data, 0, tensor_bytes(&input));
    tensor_floats_mut(&input)[0] = 1;
    begin(true, STEPS);
    measured(&input, 1000); /* less than it really takes */
    for (size_t i = 0; i < COUNT(callers); i++)
        submit(&callers[i], &input);
    inference_run(inference);
    for (size_t i = 0; i < COUNT(callers); i++) {
        assert_false(callers[i].done);
        assert_int_equal(callers[i].moves, 1);
    }
    for (size_t i = 0; i < COUNT(callers); i++)
        wait_for(&callers[i]);
    end();
    tensor_release(&input);
}

/* The nice value of the pool's thread, for a call that takes more than 2 ms. */
static int nice_of_long_run(const struct tensor *large)
{
    struct caller caller;
    submit(&caller, large);
    inference_run(inference);
    wait_for(&caller);
    assert_int_equal(caller.moves, 1);
    return caller.nice;
}

static void the_pool_yields_once_long_runs_come_beside_runs_in_the_loop(void **state)
{
    (void)state;
    struct shape shape = shape_of(1, 1 << 20);
    struct tensor large, small = floats(shape_of(1, 2), ones);
    int own = getpriority(PRIO_PROCESS, 0);
    assert_ok(tensor_create(DT_FLOAT, &shape, &large));
    memset(large.data, 0, tensor_bytes(&large));
    tensor_floats_mut(&large)[0] = 1;
    begin(true, STEPS);
    assert_int_equal(nice_of_long_run(&large), own);
    assert_int_equal(nice_of_long_run(&large), own);
    measured(&small, 1000);
    assert_false(goes_to_pool(&small));
    assert_int_equal(nice_of_long_run(&large), own); /* it ran before the pool knew */
    int nice = nice_of_long_run(&large);
    for (int i = 0; i < 50 && nice < 10; i++) { /* this machine may stop for longer than a run
                                                   in the loop counts */
        assert_false(goes_to_pool(&small));
        nice = nice_of_long_run(&large);
    }
    assert_int_equal(nice, own < 10 ? 10 : own);
    end();
    tensor_release(&large);
}

/* ---- calls that are prepared in the pool ---- */

static struct tensor prepared;

static struct status fill_in(struct inference_call *call)
{
    assert_false(loop_is_mine(loop));
    call->callable = &callable;
    call->inputs = &prepared;
    return status_ok();
}

static struct status fail_to_read(struct inference_call *call)
{
    (void)call;
    return status_error(STATUS_INVALID_ARGUMENT, "it is %s", "wrong");
}

static struct status answer_at_once(struct inference_call *call)
{
    ((struct caller *)call)->answers++;
    return status_ok();
}

static void submit_unread(struct caller *caller, struct status (*prepare)(struct inference_call *))
{
    *caller = (struct caller){ .call = { .prepare = prepare,
                                         .answer = on_answer,
                                         .done = on_done,
                                         .to_pool = on_pool,
                                         .arena = arena } };
    inference_submit(inference, &caller->call);
    assert_int_equal(caller->moves, 1);
}

static void take_turns(struct caller *caller)
{
    while (!caller->done && inference_waiting(inference) == 0)
        assert_ok(loop_run_once(loop, INT64_MAX));
}

static void a_call_is_read_in_the_pool(void **state)
{
    (void)state;
    struct caller caller;
    prepared = floats(shape_of(1, 2), ones);
    begin(true, 1);
    submit_unread(&caller, fill_in);
    take_turns(&caller);
    assert_int_equal(caller.moves, 2); /* runs in the pool: its cost is unknown */
    wait_for(&caller);
    measured(&prepared, 1000);
    submit_unread(&caller, fill_in);
    take_turns(&caller);
    assert_int_equal(caller.moves, 1); /* runs in the loop: its cost is known */
    inference_run(inference);
    wait_for(&caller);
    end();
}

static void a_call_that_cannot_be_read_fails(void **state)
{
    (void)state;
    struct caller caller;
    begin(true, 1);
    submit_unread(&caller, fail_to_read);
    take_turns(&caller);
    assert_true(caller.done);
    assert_fails(caller.status, STATUS_INVALID_ARGUMENT, "it is wrong");
    end();
}

static void a_call_that_needs_no_run_is_done(void **state)
{
    (void)state;
    struct caller caller;
    begin(true, 1);
    submit_unread(&caller, answer_at_once);
    take_turns(&caller);
    assert_ok(caller.status);
    assert_int_equal(caller.answers, 1);
    end();
}

static _Atomic bool reading;

static struct status read_for_ever(struct inference_call *call)
{
    void *room;
    for (;;) {
        TRY(arena_reserve(call->arena, 1, &room));
        arena_trim(call->arena);
        atomic_store(&reading, true);
    }
}

static void read_until_it_is_wanted_no_more(bool leaves, enum status_code code)
{
    struct caller caller;
    struct arena *own = arena_create(0);
    atomic_store(&reading, false);
    begin(true, 1);
    caller = (struct caller){
        .call = { .prepare = read_for_ever, .done = on_done, .to_pool = on_pool, .arena = own }
    };
    arena_set_stop(own, &caller.call.cancelled);
    inference_submit(inference, &caller.call);
    while (!atomic_load(&reading))
        sched_yield();
    if (leaves) {
        inference_cancel(&caller.call);
        take_turns(&caller);
    }
    end();
    assert_true(caller.done);
    assert_int_equal(caller.status.code, code);
    arena_destroy(own);
}

static void reading_ends_when_the_client_leaves(void **state)
{
    (void)state;
    read_until_it_is_wanted_no_more(true, STATUS_CANCELLED);
}

static void reading_ends_when_the_server_does(void **state)
{
    (void)state;
    read_until_it_is_wanted_no_more(false, STATUS_UNAVAILABLE);
}

static void calls_that_wait_for_the_pool_at_the_end_are_done(void **state)
{
    (void)state;
    struct caller callers[40];
    prepared = floats(shape_of(1, 2), ones);
    begin(true, 1);
    for (size_t i = 0; i < COUNT(callers); i++)
        submit_unread(&callers[i], fill_in);
    end();
    for (size_t i = 0; i < COUNT(callers); i++)
        assert_true(callers[i].done);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        TEST(a_call_is_read_in_the_pool),
        TEST(a_call_that_cannot_be_read_fails),
        TEST(a_call_that_needs_no_run_is_done),
        TEST(calls_that_wait_for_the_pool_at_the_end_are_done),
        TEST(reading_ends_when_the_client_leaves),
        TEST(reading_ends_when_the_server_does),
        TEST(only_a_size_that_is_known_to_be_cheap_runs_in_the_loop),
        TEST(a_round_runs_at_once_when_every_client_waits),
        TEST(calls_that_follow_others_do_not_run_inside_them),
        TEST(an_expensive_call_goes_to_the_pool),
        TEST(a_cheap_call_follows_those_that_went_to_the_pool),
        TEST(a_call_of_unpredictable_cost_goes_to_the_pool),
        TEST(cheap_calls_that_are_expensive_together_go_to_the_pool),
        TEST(calls_of_a_round_come_to_the_pool_and_back_together),
        TEST(calls_of_one_run_come_back_to_each_loop_together),
        TEST(a_run_that_takes_too_long_ends_in_the_pool),
        TEST(the_pool_yields_once_long_runs_come_beside_runs_in_the_loop),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, cases, label, fills);
    return test_group_run(&group, "inference", NULL, NULL);
}
