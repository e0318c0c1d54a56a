#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/loop.h"

static struct loop *loop;
static char trace[256];

static void note(const char *text)
{
    strncat(trace, text, sizeof trace - strlen(trace) - 1);
}

static int set_up(void **state)
{
    (void)state;
    trace[0] = '\0';
    assert_int_equal(loop_create(&loop).code, STATUS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    loop_destroy(loop);
    return 0;
}

static void say(void *context)
{
    note(context);
    if (strcmp(context, "stop") == 0)
        loop_stop(loop);
}

static void timers_expire_in_order(void **state)
{
    (void)state;
    static const int order[] = { 7, 2, 9, 4, 1, 8, 3, 6, 5 };
    struct loop_timer timers[10], stop = { .expired = say, .context = (void *)"stop" };
    static char names[10][2];
    int64_t now = clock_now_ns(clock_monotonic());
    for (size_t i = 0; i < COUNT(order); i++) {
        names[i][0] = (char)('0' + order[i]);
        timers[i] = (struct loop_timer){ .expired = say, .context = names[i] };
        loop_set_timer(loop, &timers[i], now + order[i] * 1000);
    }
    loop_set_timer(loop, &stop, now + 20 * NS_PER_MS);
    loop_clear_timer(loop, &timers[3]);                    /* timer 4 */
    loop_set_timer(loop, &timers[1], now + 5 * NS_PER_MS); /* timer 2, now the last */
    assert_int_equal(loop_run(loop).code, STATUS_OK);
    assert_string_equal(trace, "13567892stop");
}

static struct loop_watch *watch;
static int ends[2];

static void on_data(void *context, uint32_t events)
{
    char c;
    (void)context;
    if ((events & EPOLLIN) && read(ends[0], &c, 1) == 1) {
        note(c == 'a' ? "a" : "b");
        if (c == 'b')
            loop_stop(loop);
        return;
    }
    note("hangup");
    loop_unwatch(loop, watch);
    loop_stop(loop);
}

static void a_watched_descriptor_is_reported(void **state)
{
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(loop_watch(loop, ends[0], EPOLLIN, on_data, NULL, &watch).code, STATUS_OK);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    assert_int_equal(loop_run(loop).code, STATUS_OK);
    assert_string_equal(trace, "ab");
    loop_unwatch(loop, watch);
    close(ends[0]);
    close(ends[1]);
    assert_int_not_equal(loop_watch(loop, ends[0], EPOLLIN, on_data, NULL, &watch).code, STATUS_OK);
}

#define THREADS 4
#define POSTS   20000

struct counted {
    struct loop_task task;
    int thread, number;
};
static int last_seen[THREADS], seen;
static bool in_order = true;

static void count_task(struct loop_task *task)
{
    struct counted *counted = (struct counted *)task;
    in_order = in_order && last_seen[counted->thread] + 1 == counted->number;
    last_seen[counted->thread] = counted->number;
    free(counted);
    if (++seen == THREADS * POSTS)
        loop_stop(loop);
}

static struct loop_task *make_task(int thread, int number)
{
    struct counted *counted = malloc(sizeof *counted);
    *counted = (struct counted){ { .work = count_task }, thread, number };
    return &counted->task;
}

/* Every third one together with the next. */
static void *post_many(void *context)
{
    int thread = (int)(intptr_t)context;
    for (int i = 1; i <= POSTS; i++) {
        struct loop_task *task = make_task(thread, i);
        if (i % 3 == 0 && i < POSTS) {
            struct loop_task *next = make_task(thread, ++i);
            next->next = task;
            loop_post_chain(loop, next, task);
        } else {
            loop_post(loop, task);
        }
    }
    return NULL;
}

static void work_posted_by_threads_runs_once_and_in_order(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, post_many, (void *)(intptr_t)i);
    assert_int_equal(loop_run(loop).code, STATUS_OK);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(seen, THREADS * POSTS);
    assert_true(in_order);
}

static bool three_rounds(void *context)
{
    (void)context;
    note("r");
    if (strlen(trace) == 3)
        loop_stop(loop);
    return true;
}

static void a_round_that_asks_for_another_does_not_wait(void **state)
{
    (void)state;
    loop_set_round(loop, three_rounds, NULL);
    assert_int_equal(loop_run(loop).code,
                     STATUS_OK); /* a loop that waited would never return: nothing is due */
    assert_string_equal(trace, "rrr");
}

/* A library with an epoll of its own, which holds the loop's. */
struct library {
    int epoll;
    bool busy; /* it has events without end, and never waits */
    int waits;
    int64_t asked_ns, answered_ns; /* the time by the clock and then by the loop */
};

static bool wait_in_library(void *context, int timeout_ms)
{
    struct library *library = context;
    struct epoll_event event;
    library->waits++;
    assert_true(epoll_wait(library->epoll, &event, 1, library->busy ? 0 : timeout_ms) >= 0);
    library->asked_ns = clock_now_ns(clock_monotonic());
    library->answered_ns = loop_now_ns(loop);
    return library->busy;
}

static void let_library_wait(struct library *library)
{
    struct epoll_event event = { .events = EPOLLIN };
    library->epoll = epoll_create1(0);
    assert_int_equal(epoll_ctl(library->epoll, EPOLL_CTL_ADD, loop_descriptor(loop), &event), 0);
    loop_set_wait(loop, wait_in_library, library);
}

static void a_library_waits_for_the_loop_too(void **state)
{
    (void)state;
    struct library library = { 0 };
    let_library_wait(&library);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(loop_watch(loop, ends[0], EPOLLIN, on_data, NULL, &watch).code, STATUS_OK);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    assert_int_equal(loop_run(loop).code, STATUS_OK);
    assert_string_equal(trace, "ab");
    assert_true(library.answered_ns >= library.asked_ns);
    int waits = library.waits;
    loop_set_wait(loop, NULL, NULL);
    assert_int_equal(loop_run_once(loop, 0).code, STATUS_OK);
    assert_int_equal(library.waits, waits);
    loop_unwatch(loop, watch);
    close(library.epoll);
    close(ends[0]);
    close(ends[1]);
}

static void a_busy_library_does_not_starve_the_loop(void **state)
{
    (void)state;
    struct library library = { .busy = true };
    let_library_wait(&library);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(loop_watch(loop, ends[0], EPOLLIN, on_data, NULL, &watch).code, STATUS_OK);
    assert_int_equal(write(ends[1], "b", 1), 1);
    for (int turn = 0; turn < 100 && trace[0] == '\0'; turn++)
        assert_int_equal(loop_run_once(loop, 0).code, STATUS_OK);
    assert_string_equal(trace, "b");
    assert_true(library.waits > 1);
    loop_unwatch(loop, watch);
    close(library.epoll);
    close(ends[0]);
    close(ends[1]);
}

/* Pipes, of which each fills the next: one a round, up to the round in which a late timer runs. */
#define HOPS 4
static int hops[HOPS][2];

static void pass_on(void *context, uint32_t events)
{
    const int *hop = context;
    char c;
    (void)events;
    assert_int_equal(read(hop[0], &c, 1), 1);
    note("read ");
    if (hop != hops[HOPS - 1])
        assert_int_equal(write(hop[3], "a", 1), 1); /* the writing end of the next pipe */
}

/* As after a pause of the process: a time-out must not find a peer silent whose bytes are here. */
static void what_has_arrived_comes_before_a_late_timer(void **state)
{
    struct loop_watch *watches[HOPS];
    struct loop_timer timer = { .expired = say, .context = (void *)"stop" };
    (void)state;
    for (int i = 0; i < HOPS; i++) {
        assert_int_equal(pipe(hops[i]), 0);
        assert_int_equal(loop_watch(loop, hops[i][0], EPOLLIN, pass_on, hops[i], &watches[i]).code,
                         STATUS_OK);
    }
    assert_int_equal(write(hops[0][1], "a", 1), 1);
    loop_set_timer(loop, &timer, clock_now_ns(clock_monotonic()) - 2 * NS_PER_S);
    assert_int_equal(loop_run(loop).code, STATUS_OK);
    assert_string_equal(trace, "read read read read stop");
    for (int i = 0; i < HOPS; i++) {
        loop_unwatch(loop, watches[i]);
        close(hops[i][0]);
        close(hops[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timers_expire_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_arrived_comes_before_a_late_timer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_watched_descriptor_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(work_posted_by_threads_runs_once_and_in_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_round_that_asks_for_another_does_not_wait, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_library_waits_for_the_loop_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_library_does_not_starve_the_loop, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
