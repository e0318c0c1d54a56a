/* Tests that no call is lost, run twice or overtaken by one of its own queue, that queues share the
 * threads fairly, and that calls share runs where that saves time. Time is made up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "server/inference/pending_calls.h"

#define MODELS  5
#define CALLS   4000
#define THREADS 3

static struct signature signature; /* without inputs, so that all calls fit */
static struct callable callables[MODELS];
static struct inference_call calls[CALLS];
static struct pending_calls pending;
static int64_t now;

static int begin(void **state)
{
    (void)state;
    memset(callables, 0, sizeof callables);
    memset(calls, 0, sizeof calls);
    for (int i = 0; i < MODELS; i++)
        callables[i] = (struct callable){ .signature = &signature, .batches = true };
    pending = (struct pending_calls){ .running_max = THREADS - 1 };
    now = 0;
    return 0;
}

static struct inference_call *add(int model)
{
    static int used;
    struct inference_call *call = &calls[used++ % CALLS];
    *call = (struct inference_call){ .callable = &callables[model], .rows = 1 };
    assert_int_equal(pending_calls_add(&pending, call, now).code, STATUS_OK);
    return call;
}

/* Takes calls, which run for `took_ns`. Returns the model. */
static int run_next(int64_t took_ns)
{
    struct taken_calls taken = pending_calls_take(&pending, now);
    assert_non_null(taken.first);
    int model = (int)(taken.first->callable - callables);
    pending_calls_end(&pending, &taken, now += took_ns);
    return model;
}

/* ---- random orders ---- */

static struct {
    unsigned random;
    int added, taken, running;
    int last[MODELS + 1]; /* the last call of each queue that was taken */
    struct taken_calls threads[THREADS];
} chaos;

static unsigned draw(unsigned below)
{
    chaos.random = chaos.random * 1103515245 + 12345;
    return (chaos.random >> 16) % below;
}

static struct status prepare(struct inference_call *call)
{
    (void)call;
    return status_ok();
}

static void add_any(void)
{
    struct inference_call *call = &calls[chaos.added++];
    unsigned model = draw(MODELS + 1);
    if (model == MODELS)
        call->prepare = prepare;
    else
        call->callable = &callables[model];
    call->rows = draw(BATCH_ROWS_MAX + 1);
    assert_int_equal(pending_calls_add(&pending, call, now).code, STATUS_OK);
}

static void check_taken(const struct taken_calls *taken)
{
    int model = taken->first->prepare != NULL ? MODELS : (int)(taken->first->callable - callables);
    int64_t rows = 0;
    for (struct inference_call *call = taken->first; call != NULL; call = call->next) {
        assert_true(call->callable == taken->first->callable && !call->unfinished);
        call->unfinished = true; /* taken */
        rows += call->rows;
        chaos.taken++;
        if (!pending.batch)
            assert_true(call - calls > chaos.last[model]);
        chaos.last[model] = (int)(call - calls);
    }
    assert_true(rows <= BATCH_ROWS_MAX);
    assert_true(pending.batch || taken->first->next == NULL);
}

static void take_any(void)
{
    struct taken_calls *thread = &chaos.threads[draw(THREADS)];
    if (thread->first != NULL) {
        pending_calls_end(&pending, thread, now);
        *thread = (struct taken_calls){ 0 };
        return;
    }
    bool ready = pending_calls_ready_ns(&pending, now) == now;
    *thread = pending_calls_take(&pending, now);
    assert_true(ready == (thread->first != NULL));
    if (ready) {
        assert_true(thread->queue->running <= pending.running_max);
        check_taken(thread);
    }
}

static void takes_each_call_once(unsigned seed, bool batch)
{
    begin(NULL);
    memset(&chaos, 0, sizeof chaos);
    memset(chaos.last, -1, sizeof chaos.last);
    chaos.random = seed;
    pending.batch = batch;
    while (chaos.taken < CALLS) {
        now += draw(1000);
        if (chaos.added < CALLS && draw(3) > 0)
            add_any();
        else
            take_any();
    }
    assert_null(pending.waiting);
}

static void takes_each_call_once_and_in_order(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 50; seed++) {
        takes_each_call_once(seed, false);
        takes_each_call_once(seed, true);
    }
}

/* ---- fairness ---- */

static void a_light_model_waits_for_one_run_of_a_heavy_one(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        add(0);
    assert_int_equal(run_next(NS_PER_S), 0);
    assert_int_equal(run_next(NS_PER_S), 0);
    add(1);
    assert_int_equal(run_next(NS_PER_MS), 1);
    assert_int_equal(run_next(NS_PER_S), 0);
}

static void models_get_the_same_time_not_the_same_calls(void **state)
{
    (void)state;
    int runs[2] = { 0 };
    for (int i = 0; i < 1000; i++)
        add(i % 2);
    for (int i = 0; i < 440; i++) {
        struct taken_calls taken = pending_calls_take(&pending, now);
        int model = (int)(taken.first->callable - callables);
        runs[model]++;
        pending_calls_end(&pending, &taken, now += model == 0 ? 10 * NS_PER_MS : NS_PER_MS);
    }
    assert_in_range(runs[0], 39, 41);
    assert_in_range(runs[1], 399, 401);
}

static void a_model_saves_up_no_time_while_it_is_idle(void **state)
{
    (void)state;
    int first = 0;
    for (int i = 0; i < 100; i++)
        add(0);
    for (int i = 0; i < 50; i++)
        run_next(NS_PER_S);
    for (int i = 0; i < 100; i++)
        add(1);
    for (int i = 0; i < 20; i++)
        first += run_next(NS_PER_S) == 0;
    assert_in_range(first, 9, 11);
}

static void one_model_leaves_a_thread_to_the_others(void **state)
{
    (void)state;
    struct taken_calls taken[THREADS];
    for (int i = 0; i < 10; i++)
        add(0);
    for (int i = 0; i < THREADS; i++)
        taken[i] = pending_calls_take(&pending, now);
    assert_non_null(taken[THREADS - 2].first);
    assert_null(taken[THREADS - 1].first);
    assert_true(pending_calls_ready_ns(&pending, now) == CLOCK_NEVER);
    struct inference_call *call = add(1);
    assert_true(pending_calls_ready_ns(&pending, now) == now);
    taken[THREADS - 1] = pending_calls_take(&pending, now);
    assert_ptr_equal(taken[THREADS - 1].first, call);
    for (int i = 0; i < THREADS; i++)
        pending_calls_end(&pending, &taken[i], now);
}

static void add_of_cost(int64_t cost_ns)
{
    static struct inference_call call[4];
    static int used;
    struct inference_call *next = &call[used++ % (int)COUNT(call)];
    *next = (struct inference_call){ .callable = &callables[0], .rows = 1, .cost_ns = cost_ns };
    assert_int_equal(pending_calls_add(&pending, next, now).code, STATUS_OK);
}

static void cheap_calls_count_until_their_run_ends(void **state)
{
    (void)state;
    const struct call_queue *queue = &callables[0].queue;
    add_of_cost(0); /* unknown */
    add_of_cost(INFERENCE_LOOP_COST_MAX_NS + 1);
    assert_int_equal(queue->cheap_count, 0);
    add_of_cost(INFERENCE_LOOP_COST_MAX_NS);
    add_of_cost(1);
    assert_int_equal(queue->cheap_count, 2);
    run_next(1);
    run_next(1);
    assert_int_equal(queue->cheap_count, 2);
    struct taken_calls taken = pending_calls_take(&pending, now);
    assert_int_equal(queue->cheap_count, 2);
    pending_calls_end(&pending, &taken, now);
    assert_int_equal(queue->cheap_count, 1);
    assert_non_null(pending_calls_drop(&pending));
    assert_int_equal(queue->cheap_count, 0);
}

/* ---- batches ---- */

static void add_rows(int model, int count)
{
    for (int i = 0; i < count; i++)
        add(model)->size = (struct cost_key){ .rows = 1, .shape = 1 };
}

/* The number of calls that share the next run. */
static int calls_of_next_run(void)
{
    int count = 0;
    struct taken_calls taken = pending_calls_take(&pending, now);
    for (const struct inference_call *call = taken.first; call != NULL; call = call->next)
        count++;
    pending_calls_end(&pending, &taken, ++now);
    return count;
}

/* Runs of the model take `fixed_ms`, and a millisecond for each row. */
static void measured(int model, int64_t fixed_ms)
{
    for (int64_t rows = 1; rows <= BATCH_ROWS_MAX; rows *= 2)
        cost_add(&callables[model].costs, (struct cost_key){ .rows = rows, .shape = 1 },
                 (fixed_ms + rows) * NS_PER_MS);
}

static void calls_share_a_run_if_that_saves_time(void **state)
{
    (void)state;
    pending.batch = true;
    measured(0, 9);
    measured(1, 0);
    add_rows(0, BATCH_ROWS_MAX);
    assert_int_equal(calls_of_next_run(), BATCH_ROWS_MAX);
    add_rows(1, BATCH_ROWS_MAX);
    assert_int_equal(calls_of_next_run(), 1);
}

/* The runs that were measured may have been disturbed. */
static void a_size_that_saved_nothing_is_tried_again(void **state)
{
    (void)state;
    int shared = 0;
    pending.batch = true;
    measured(0, 0);
    add_rows(0, 2000);
    for (int i = 0; i < 1024; i++)
        shared += calls_of_next_run() == BATCH_ROWS_MAX;
    assert_int_equal(shared, 4);
}

/* One run was measured at a bad moment; since then, all calls have shared runs. */
static void a_call_that_always_shares_a_run_is_measured_alone_again(void **state)
{
    (void)state;
    int alone = 0;
    pending.batch = true;
    measured(0, 9);
    for (int i = 0; i < 1024; i++) {
        add_rows(0, 2);
        alone += calls_of_next_run() == 1;
    }
    assert_int_equal(alone, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(takes_each_call_once_and_in_order, begin),
        cmocka_unit_test_setup(a_light_model_waits_for_one_run_of_a_heavy_one, begin),
        cmocka_unit_test_setup(models_get_the_same_time_not_the_same_calls, begin),
        cmocka_unit_test_setup(a_model_saves_up_no_time_while_it_is_idle, begin),
        cmocka_unit_test_setup(one_model_leaves_a_thread_to_the_others, begin),
        cmocka_unit_test_setup(cheap_calls_count_until_their_run_ends, begin),
        cmocka_unit_test_setup(calls_share_a_run_if_that_saves_time, begin),
        cmocka_unit_test_setup(a_size_that_saved_nothing_is_tried_again, begin),
        cmocka_unit_test_setup(a_call_that_always_shares_a_run_is_measured_alone_again, begin),
    };
    return cmocka_run_group_tests_name("pending_calls", tests, NULL, NULL);
}
