/* Tests the life of a request without a protocol: each begin has one end, observers see both, and
 * memory serves one request after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>

#include "server/inference/request_pool.h"

struct my_request {
    struct served_request served;
    int cleared;
    char *kept;
    size_t capacity;
};

static struct budget budget;
static struct server_context server;
static struct request_pool pool;
static int finished;
static enum status_code finished_with;

static void finish(struct served_request *request, struct status status)
{
    finished++;
    finished_with = status.code;
    served_request_end(request, status);
}

static size_t held(const struct served_request *request)
{
    return ((const struct my_request *)request)->capacity;
}

static void free_kept(struct served_request *request)
{
    struct my_request *mine = (struct my_request *)request;
    budget_give(&budget, (int64_t)mine->capacity);
    free(mine->kept);
}

static const struct request_kind kind = {
    .protocol = PROTOCOL_GRPC,
    .size = sizeof(struct my_request),
    .cleared_end = offsetof(struct my_request, kept),
    .finish = finish,
    .held = held,
    .free = free_kept,
};

static int setup(void **state)
{
    (void)state;
    budget = (struct budget){ .limit_bytes = (int64_t)256 << 20 };
    server = (struct server_context){ .budget = &budget, .loops = 1 };
    finished = 0;
    request_pool_init(&pool, &server, &kind);
    return 0;
}

/* ---- observers ---- */

struct seen {
    struct request_observer base;
    int begun, ended;
    enum status_code code;
    struct request_times times;
};

static void see_begin(struct request_observer *observer, struct served_request *request)
{
    ((struct seen *)observer)->begun++;
    assert_null(request->notes[observer->index]);
    request->notes[observer->index] = observer;
}

static void see_end(struct request_observer *observer, struct served_request *request)
{
    struct seen *seen = (struct seen *)observer;
    seen->ended++;
    seen->code = request->status.code;
    seen->times = request->times;
    assert_ptr_equal(request->notes[observer->index], observer);
}

static void observers_see_one_begin_and_one_end(void **state)
{
    struct seen seen[2] = { { .base = { .begin = see_begin, .end = see_end } },
                            { .base = { .begin = see_begin, .end = see_end } } };
    (void)state;
    request_observe(&server, &seen[0].base);
    request_observe(&server, &seen[1].base);
    for (int i = 0; i < 3; i++) {
        struct served_request *request = request_pool_take(&pool);
        served_request_begin(request);
        served_request_end(request, status_error(STATUS_NOT_FOUND, "no model"));
        served_request_end(request, status_ok()); /* seen once only */
        request_pool_give(request);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(seen[i].begun, 3);
        assert_int_equal(seen[i].ended, 3);
        assert_int_equal(seen[i].code, STATUS_NOT_FOUND);
        assert_int_equal(seen[i].times.begun_ns, 0); /* nobody wants times */
    }
    assert_null(pool.begun);
    request_pool_finish(&pool);
}

static void times_are_taken_if_an_observer_wants_them(void **state)
{
    struct seen seen = { .base = { .begin = see_begin, .end = see_end, .wants_times = true } };
    (void)state;
    request_observe(&server, &seen.base);
    struct served_request *request = request_pool_take(&pool);
    served_request_begin(request);
    served_request_end(request, status_ok());
    request_pool_give(request);
    assert_true(seen.times.begun_ns > 0);
    assert_true(seen.times.ended_ns >= seen.times.begun_ns);
    request_pool_finish(&pool);
}

static void a_request_that_never_begins_is_not_seen(void **state)
{
    struct seen seen = { .base = { .begin = see_begin, .end = see_end } };
    (void)state;
    request_observe(&server, &seen.base);
    struct served_request *request = request_pool_take(&pool);
    served_request_end(request, status_ok());
    request_pool_give(request);
    assert_int_equal(seen.ended, 0);
    request_pool_finish(&pool);
}

/* ---- answers that come later ---- */

static void a_request_that_waits_is_finished_once(void **state)
{
    (void)state;
    struct served_request *request = request_pool_take(&pool);
    served_request_begin(request);
    served_request_wait(request);
    assert_false(served_request_continue(request, status_ok()));
    assert_int_equal(finished, 0);
    served_request_finish(request, status_error(STATUS_UNKNOWN, "a model failed"));
    assert_int_equal(finished, 1);
    assert_int_equal(finished_with, STATUS_UNKNOWN);
    request_pool_give(request);
    request_pool_finish(&pool);
}

static void a_failed_handler_does_not_go_on(void **state)
{
    (void)state;
    struct served_request *request = request_pool_take(&pool);
    served_request_begin(request);
    request->runs = true;
    assert_true(served_request_continue(request, status_error(STATUS_UNKNOWN, "bad")));
    served_request_end(request, status_ok());
    request_pool_give(request);
    request_pool_finish(&pool);
}

/* ---- memory ---- */

static void memory_serves_the_next_request(void **state)
{
    (void)state;
    struct my_request *first = (struct my_request *)request_pool_take(&pool);
    assert_true(status_is_ok(served_request_reserve_reply(&first->served, 1000)));
    first->served.api = API_PREDICT;
    first->cleared = 7;
    first->kept = malloc(10);
    first->capacity = 10;
    budget_charge(&budget, 10);
    char *reply = first->served.reply.data;
    served_request_begin(&first->served);
    served_request_end(&first->served, status_ok());
    request_pool_give(&first->served);
    struct my_request *second = (struct my_request *)request_pool_take(&pool);
    assert_ptr_equal(second, first);
    assert_ptr_equal(second->served.reply.data, reply);
    assert_int_equal(second->served.reply.size, 0);
    assert_int_equal(second->served.api, API_OTHER);
    assert_int_equal(second->cleared, 0);
    assert_int_equal(second->capacity, 10);
    request_pool_give(&second->served);
    request_pool_finish(&pool);
    assert_int_equal(budget.used_bytes, 0);
}

static void large_replies_are_not_kept(void **state)
{
    (void)state;
    struct served_request *request = request_pool_take(&pool);
    assert_true(status_is_ok(served_request_reserve_reply(request, REQUEST_KEPT_BYTES_MAX + 1)));
    request_pool_give(request);
    assert_ptr_equal(request_pool_take(&pool), request);
    assert_int_equal(request->reply.capacity, 0);
    assert_int_equal(request->paid, 0);
    request_pool_give(request);
    request_pool_finish(&pool);
    assert_int_equal(budget.used_bytes, 0);
}

/* The memory for the answer to a probe may come from the reserve, that for a larger one may not. */
static void probes_are_answered_from_the_reserve(void **state)
{
    (void)state;
    budget.reserve_bytes = budget.limit_bytes / 16;
    struct served_request *small = request_pool_take(&pool), *large = request_pool_take(&pool);
    buffer_append(&small->reply, "{}", 2);
    buffer_reserve(&large->reply, 100000);
    budget_charge(&budget, budget.limit_bytes - budget.reserve_bytes - budget.used_bytes);
    assert_true(status_is_ok(served_request_settle_reply(small, true)));
    assert_int_equal(served_request_settle_reply(large, true).code, STATUS_RESOURCE_EXHAUSTED);
    request_pool_give(small);
    served_request_free_reply(large);
    request_pool_give(large);
    request_pool_finish(&pool);
}

/* Keeps `count` idle requests, each with a reply of 100 kB. */
static void keep_idle(int count)
{
    struct served_request *requests[8];
    for (int i = 0; i < count; i++) {
        requests[i] = request_pool_take(&pool);
        assert_true(status_is_ok(served_request_reserve_reply(requests[i], 100000)));
    }
    for (int i = 0; i < count; i++)
        request_pool_give(requests[i]);
}

static void idle_requests_are_freed_if_memory_is_short(void **state)
{
    (void)state;
    keep_idle(5);
    assert_true(budget.used_bytes > 500000);
    assert_true(status_is_ok(budget_take(&budget, budget.limit_bytes)));
    assert_int_equal(budget.used_bytes, budget.limit_bytes);
    budget_give(&budget, budget.limit_bytes);
    keep_idle(3); /* and the pool knows that it has room again */
    assert_true(pool.idle_bytes > 300000 && pool.idle_bytes < 400000);
    request_pool_finish(&pool);
    assert_int_equal(budget.used_bytes, 0);
}

struct chaos {
    pthread_t thread;
    _Atomic bool stopped;
};

static void *run_short(void *context)
{
    struct chaos *chaos = context;
    while (!atomic_load(&chaos->stopped))
        if (status_is_ok(budget_take(&budget, budget.limit_bytes)))
            budget_give(&budget, budget.limit_bytes);
    return NULL;
}

static void memory_may_run_short_in_another_thread(void **state)
{
    struct chaos chaos = { 0 };
    (void)state;
    assert_int_equal(pthread_create(&chaos.thread, NULL, run_short, &chaos), 0);
    for (int i = 0; i < 20000; i++) {
        struct served_request *requests[3];
        for (int j = 0; j < 3; j++)
            requests[j] = request_pool_take(&pool);
        for (int j = 0; j < 3; j++)
            request_pool_give(requests[j]);
    }
    atomic_store(&chaos.stopped, true);
    pthread_join(chaos.thread, NULL);
    request_pool_finish(&pool);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(observers_see_one_begin_and_one_end, setup),
        cmocka_unit_test_setup(times_are_taken_if_an_observer_wants_them, setup),
        cmocka_unit_test_setup(a_request_that_never_begins_is_not_seen, setup),
        cmocka_unit_test_setup(a_request_that_waits_is_finished_once, setup),
        cmocka_unit_test_setup(a_failed_handler_does_not_go_on, setup),
        cmocka_unit_test_setup(memory_serves_the_next_request, setup),
        cmocka_unit_test_setup(large_replies_are_not_kept, setup),
        cmocka_unit_test_setup(probes_are_answered_from_the_reserve, setup),
        cmocka_unit_test_setup(idle_requests_are_freed_if_memory_is_short, setup),
        cmocka_unit_test_setup(memory_may_run_short_in_another_thread, setup),
    };
    return cmocka_run_group_tests_name("served_request", tests, NULL, NULL);
}
