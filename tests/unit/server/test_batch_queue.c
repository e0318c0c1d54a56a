/* Tests that batches form as in TensorFlow Serving: in order, no call lost or answered twice, no
 * batch larger or earlier than allowed, and a full queue refuses. Time is made up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/inference/batch_queue.h"
#include "server/inference/batch_split.h"
#include "server/inference/pending_calls.h"

#define CALLS 3000
#define WAIT  1000
#define MAX   8 /* rows of a batch */

static struct signature_tensor tensors[1] = { { .key = "x", .tensor_name = "x:0" } };
static struct signature signature = {
    .inputs = tensors, .inputs_count = 1, .outputs = tensors, .outputs_count = 1
};
static struct batching batching;
static struct callable callable;
static struct pending_calls pending;
static struct arena *arena;
static int64_t now;

/* A call of rows first, first + 1, …; its answer must be the same. */
struct row_call {
    struct inference_call call; /* must be first */
    struct tensor input;
    int answers;
};
static struct row_call calls[CALLS];
static int32_t numbers[CALLS * 4 * MAX];
static int made, made_rows;

static int begin(void **state)
{
    (void)state;
    arena = arena_create(0);
    memset(calls, 0, sizeof calls);
    batching = (struct batching){
        .rows_max = MAX, .run_rows_max = MAX, .wait_ns = WAIT, .batches_max = 3, .threads = 2
    };
    callable = (struct callable){ .signature = &signature, .queue.batching = &batching };
    pending = (struct pending_calls){ .running_max = 4, .batches_max = batching.threads };
    now = 1000000;
    made = made_rows = 0;
    for (size_t i = 0; i < COUNT(numbers); i++)
        numbers[i] = (int32_t)i;
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

static struct status check_answer(struct inference_call *call, const struct tensor *outputs)
{
    struct row_call *row = (struct row_call *)call;
    assert_int_equal(outputs[0].size, row->input.size);
    assert_memory_equal(outputs[0].data, row->input.data, tensor_bytes(&row->input));
    row->answers++;
    return status_ok();
}

static struct status add(int64_t rows)
{
    struct row_call *row = &calls[made];
    struct shape shape = shape_of(rows);
    row->input = tensor_borrow(DT_INT32, &shape, &numbers[made_rows]);
    row->call = (struct inference_call){
        .callable = &callable, .inputs = &row->input, .arena = arena, .answer = check_answer
    };
    struct status status = batch_queue_check_inputs(&row->call);
    if (status_is_ok(status))
        status = pending_calls_add(&pending, &row->call, now);
    if (status_is_ok(status)) {
        made++;
        made_rows += (int)rows;
    }
    return status;
}

static void assert_added(int64_t rows)
{
    assert_string_equal(add(rows).message, "");
}

static void assert_refused(int64_t rows, enum status_code code, const char *text)
{
    struct status status = add(rows);
    assert_string_equal(status.message, text);
    assert_int_equal(status.code, code);
}

/* The next batch; its rows must follow those of the batch before. Returns how many it has. */
static int64_t take(struct taken_calls *taken)
{
    static int32_t next;
    int64_t rows = 0;
    *taken = pending_calls_take(&pending, now);
    for (struct inference_call *call = taken->first; call != NULL; call = call->next) {
        int32_t first = *(const int32_t *)call->inputs[0].data;
        assert_true(first == next || first == 0);
        next = first + (int32_t)call->rows;
        rows += call->rows;
    }
    assert_true(rows <= batching.run_rows_max);
    return rows;
}

static void finish(struct taken_calls *taken)
{
    pending_calls_end(&pending, taken, now);
    for (struct inference_call *next, *call = taken->first; call != NULL; call = next) {
        next = call->next;
        call->status = call->answer(call, call->inputs);
        assert_int_equal(call->status.code, STATUS_OK);
        if (call->split != NULL)
            batch_split_end(call);
    }
    taken->first = NULL;
}

static int64_t take_and_finish(void)
{
    struct taken_calls taken;
    int64_t rows = take(&taken);
    if (rows > 0)
        finish(&taken);
    return rows;
}

/* ---- when a batch runs ---- */

static void the_first_call_waits_for_others(void **state)
{
    (void)state;
    assert_added(3);
    assert_true(pending_calls_ready_ns(&pending, now) == now + WAIT);
    now += WAIT - 1;
    assert_added(2);
    assert_int_equal(take_and_finish(), 0);
    now += 1;
    assert_int_equal(take_and_finish(), 5);
    assert_true(pending_calls_ready_ns(&pending, now) == CLOCK_NEVER);
}

static void a_full_batch_does_not_wait(void **state)
{
    (void)state;
    assert_added(MAX - 1);
    assert_added(1);
    assert_int_equal(take_and_finish(), MAX);
}

static void a_call_that_does_not_fit_closes_the_batch(void **state)
{
    (void)state;
    assert_added(5);
    assert_added(4);
    assert_int_equal(take_and_finish(), 5);
    assert_int_equal(take_and_finish(), 0);
    now += WAIT;
    assert_int_equal(take_and_finish(), 4);
}

static void no_call_waits_beyond_its_deadline(void **state)
{
    (void)state;
    struct tensor input;
    struct shape shape = shape_of(1);
    input = tensor_borrow(DT_INT32, &shape, numbers);
    struct inference_call call = {
        .callable = &callable, .inputs = &input, .rows = 1, .deadline_ns = now + 10
    };
    batching.wait_ns = INT64_MAX;
    assert_int_equal(pending_calls_add(&pending, &call, now).code, STATUS_OK);
    assert_true(pending_calls_ready_ns(&pending, now) == now + 10);
    now += 10;
    struct taken_calls taken = pending_calls_take(&pending, now);
    assert_ptr_equal(taken.first, &call);
    pending_calls_end(&pending, &taken, now);
}

static void batches_run_in_so_many_threads(void **state)
{
    (void)state;
    struct taken_calls taken[3];
    for (int i = 0; i < 3; i++)
        assert_added(MAX);
    assert_int_equal(take(&taken[0]), MAX);
    assert_int_equal(take(&taken[1]), MAX);
    assert_int_equal(take(&taken[2]), 0);
    finish(&taken[0]);
    assert_int_equal(take(&taken[2]), MAX);
    finish(&taken[1]);
    finish(&taken[2]);
}

/* ---- what is refused ---- */

static void a_full_queue_refuses(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_added(MAX);
    assert_refused(1, STATUS_UNAVAILABLE,
                   "The batch scheduling queue to which this task was submitted is full; currently "
                   "3 batches enqueued and max_enqueued_batches is 3");
    assert_int_equal(take_and_finish(), MAX);
    assert_added(1);
    while (now += WAIT, take_and_finish() > 0)
        continue;
}

static void a_call_larger_than_a_batch_is_refused(void **state)
{
    (void)state;
    assert_refused(MAX + 1, STATUS_INVALID_ARGUMENT,
                   "Task size 9 is larger than maximum input batch size 8");
}

static void a_full_queue_that_splits_refuses(void **state)
{
    (void)state;
    batching.splits = true;
    batching.rows_max = 100;
    assert_added(20);
    assert_refused(5, STATUS_UNAVAILABLE,
                   "The batch scheduling queue to which this task was submitted is full; task size "
                   "is 5 but scheduling capacity is only 4 (num_enqueued_batches=3, "
                   "max_enqueued_batches=3, open_batch_size=4, max_execution_batch_size=8)");
    assert_added(4);
    while (now += WAIT, take_and_finish() > 0)
        continue;
    for (int i = 0; i < made; i++)
        assert_int_equal(calls[i].answers, 1);
}

static void inputs_that_no_batch_can_have_are_refused(void **state)
{
    (void)state;
    struct signature two = { .inputs_count = 2 };
    struct shape shapes[] = { shape_of(3), shape_of(2) }, scalar = shape_scalar();
    struct tensor inputs[] = { tensor_borrow(DT_INT32, &shapes[0], numbers),
                               tensor_borrow(DT_INT32, &shapes[1], numbers) };
    struct inference_call call = { .callable = &callable, .inputs = inputs };
    callable.signature = &two;
    struct status status = batch_queue_check_inputs(&call);
    assert_string_equal(status.message,
                        "Batching Run() input tensors must have equal 0th-dimension size");
    inputs[1] = tensor_borrow(DT_INT32, &scalar, numbers);
    status = batch_queue_check_inputs(&call);
    assert_string_equal(status.message,
                        "Batching Run() input tensors must have at least one dimension");
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
}

/* ---- random orders ---- */

static unsigned random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 16) % below;
}

static void take_or_finish(struct taken_calls *thread)
{
    int64_t ready_ns = pending_calls_ready_ns(&pending, now);
    if (thread->first != NULL)
        finish(thread);
    else
        assert_true((take(thread) > 0) == (ready_ns <= now));
}

static void run_in_a_random_order(unsigned seed, bool splits)
{
    struct taken_calls threads[2] = { { 0 } };
    begin(NULL);
    random_state = seed;
    batching.splits = splits;
    batching.rows_max = splits ? 4 * MAX : MAX;
    while (made < 500) {
        now += draw(WAIT / 2);
        if (draw(2) == 0)
            (void)!status_is_ok(add(1 + draw((unsigned)batching.rows_max)));
        else
            take_or_finish(&threads[draw(2)]);
    }
    for (int i = 0; i < 2; i++)
        if (threads[i].first != NULL)
            finish(&threads[i]);
    while (now += WAIT, take_and_finish() > 0)
        continue;
    for (int i = 0; i < made; i++)
        assert_int_equal(calls[i].answers, 1);
    end(NULL);
}

static void each_call_is_answered_once_and_in_order(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 50; seed++) {
        run_in_a_random_order(seed, false);
        run_in_a_random_order(seed, true);
    }
}

/* ---- parts that end at the same time ---- */

#define ENDS 2000

static struct inference_call *parts[2];
static pthread_barrier_t both;

/* The thread that ends the last part gives back the whole, which owns the memory of both. */
static void end_part(int index)
{
    struct inference_call *part = parts[index], *other = parts[1 - index];
    pthread_barrier_wait(&both);
    struct inference_call *whole = batch_split_end(part);
    if (whole != NULL) {
        memset(part, 0xff, sizeof *part);
        memset(other, 0xff, sizeof *other);
    }
    pthread_barrier_wait(&both);
}

static void *end_second_parts(void *context)
{
    for (int i = 0; i < ENDS; i++) {
        pthread_barrier_wait(&both);
        end_part(1);
    }
    return context;
}

static struct status no_answer(struct inference_call *call, const struct tensor *outputs)
{
    (void)call;
    (void)outputs;
    return status_ok();
}

static void a_part_is_not_used_after_the_last_one_has_ended(void **state)
{
    (void)state;
    struct shape shape = shape_of(2);
    struct tensor input = tensor_borrow(DT_INT32, &shape, numbers);
    struct inference_call whole = {
        .callable = &callable, .inputs = &input, .rows = 2, .arena = arena, .answer = no_answer
    };
    pthread_t second;
    pthread_barrier_init(&both, NULL, 2);
    assert_int_equal(pthread_create(&second, NULL, end_second_parts, NULL), 0);
    for (int i = 0; i < ENDS; i++) {
        arena_reset(arena);
        assert_int_equal(batch_split(&whole, 0, 1, &parts[0]).code, STATUS_OK);
        parts[1] = parts[0]->next;
        pthread_barrier_wait(&both);
        end_part(0);
    }
    pthread_join(second, NULL);
    pthread_barrier_destroy(&both);
}

static void the_whole_stops_waiting_with_its_first_part(void **state)
{
    (void)state;
    struct shape shape = shape_of(2);
    struct tensor input = tensor_borrow(DT_INT32, &shape, numbers);
    _Atomic int waiting = 1;
    struct inference_call whole = { .callable = &callable,
                                    .inputs = &input,
                                    .rows = 2,
                                    .arena = arena,
                                    .answer = no_answer,
                                    .waiting = &waiting };
    assert_int_equal(batch_split(&whole, 0, 1, &parts[0]).code, STATUS_OK);
    parts[1] = parts[0]->next;
    for (int i = 0; i < 2; i++) {
        batch_split_stop_waiting(parts[i]);
        assert_int_equal(waiting, 0);
        assert_null(whole.waiting);
    }
    assert_null(batch_split_end(parts[0]));
    assert_ptr_equal(batch_split_end(parts[1]), &whole);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_call_waits_for_others),
        CASE(a_full_batch_does_not_wait),
        CASE(a_call_that_does_not_fit_closes_the_batch),
        CASE(no_call_waits_beyond_its_deadline),
        CASE(batches_run_in_so_many_threads),
        CASE(a_full_queue_refuses),
        CASE(a_call_larger_than_a_batch_is_refused),
        CASE(a_full_queue_that_splits_refuses),
        CASE(inputs_that_no_batch_can_have_are_refused),
        CASE(a_part_is_not_used_after_the_last_one_has_ended),
        CASE(the_whole_stops_waiting_with_its_first_part),
        cmocka_unit_test(each_call_is_answered_once_and_in_order),
    };
    return cmocka_run_group_tests_name("batch_queue", tests, NULL, NULL);
}
