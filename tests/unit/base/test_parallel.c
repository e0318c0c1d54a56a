#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/denormals.h"
#include "base/parallel.h"
#include "base/status.h"

#define ITEMS_MAX 100
#define LONG_NS   1e9 /* worth as many parts as there can be */

static const int widths[] = { 1, 2, 3, 8 };

struct counts {
    _Atomic int of_item[ITEMS_MAX];
    _Atomic int parts;
    _Atomic uint64_t borders; /* a bit for each item at which a part begins */
};

static void count(void *context, int64_t first, int64_t end)
{
    struct counts *counts = context;
    atomic_fetch_add(&counts->parts, 1);
    if (first < 64)
        atomic_fetch_or(&counts->borders, UINT64_C(1) << first);
    for (int64_t i = first; i < end; i++)
        atomic_fetch_add(&counts->of_item[i], 1);
}

static void computes_each_item_once_and_cuts_at_the_same_places(void **state)
{
    (void)state;
    for (int items = 0; items <= ITEMS_MAX; items++) {
        uint64_t borders = 0;
        for (size_t w = 0; w < COUNT(widths); w++) {
            struct counts counts = { .parts = 0 };
            parallel_set_width(widths[w]);
            parallel_for(items, LONG_NS, count, &counts);
            for (int i = 0; i < ITEMS_MAX; i++)
                assert_int_equal(atomic_load(&counts.of_item[i]), i < items);
            if (w == 0)
                borders = atomic_load(&counts.borders);
            assert_true(atomic_load(&counts.borders) == borders);
            assert_int_equal(atomic_load(&counts.parts),
                             items == 0 ? 0 : parallel_parts(items, LONG_NS));
        }
    }
}

static void cuts_what_is_worth_it(void **state)
{
    static const struct {
        int64_t items;
        double cost_ns;
        int parts;
    } rows[] = {
        { 1000, 0, 1 },    { 1000, 49e3, 1 },  { 1000, 51e3, 2 },
        { 1000, 99e3, 2 }, { 1000, 101e3, 4 }, { 1000, 1e12, PARALLEL_PARTS_MAX },
        { 1, 1e12, 1 },    { 3, 1e12, 2 },     { 7, 1e12, 4 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(parallel_parts(rows[i].items, rows[i].cost_ns), rows[i].parts);
}

static void a_loop_runs_without_threads_that_the_system_refuses(void **state)
{
    (void)state;
    pthread_attr_t before, huge;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, SIZE_MAX / 4), 0);
    parallel_set_width(3);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    int missing = parallel_start();
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_int_equal(missing, 2);
    assert_int_equal(parallel_threads(), 0);
    struct counts counts = { .parts = 0 };
    parallel_for(ITEMS_MAX, LONG_NS, count, &counts);
    for (int i = 0; i < ITEMS_MAX; i++)
        assert_int_equal(atomic_load(&counts.of_item[i]), 1);
    pthread_attr_destroy(&before);
    pthread_attr_destroy(&huge);
}

static void a_width_of_one_starts_no_thread(void **state)
{
    struct counts counts = { .parts = 0 };
    (void)state;
    parallel_set_width(1);
    parallel_for(ITEMS_MAX, LONG_NS, count, &counts);
    assert_int_equal(parallel_threads(), 0);
    parallel_set_width(3);
    assert_int_equal(parallel_threads(), 0); /* nothing was cut yet */
    parallel_for(ITEMS_MAX, 0, count, &counts);
    assert_int_equal(parallel_threads(), 0); /* and this was not worth it */
    parallel_for(ITEMS_MAX, LONG_NS, count, &counts);
    assert_int_equal(parallel_threads(), 2);
    parallel_set_width(1);
    assert_int_equal(parallel_threads(), 0);
}

/* ---- meetings: parts that wait for each other show that they run at the same time ---- */

struct meeting {
    pthread_barrier_t barrier;
};

static void meet(void *context, int64_t first, int64_t end)
{
    struct meeting *meeting = context;
    (void)first, (void)end;
    pthread_barrier_wait(&meeting->barrier);
}

static void as_many_parts_run_at_a_time_as_the_width(void **state)
{
    (void)state;
    for (int width = 2; width <= 8; width *= 2) {
        struct meeting meeting;
        parallel_set_width(width);
        pthread_barrier_init(&meeting.barrier, NULL, (unsigned)width);
        parallel_for_parts(width, width, meet, &meeting);
        pthread_barrier_destroy(&meeting.barrier);
    }
}

struct other_run {
    pthread_barrier_t begun, ended;
};

static void *run_beside(void *context)
{
    struct other_run *run = context;
    parallel_enter();
    pthread_barrier_wait(&run->begun);
    pthread_barrier_wait(&run->ended);
    parallel_leave();
    return NULL;
}

static void two_runs_share_two_processors(void **state)
{
    struct counts counts = { .parts = 0 };
    struct other_run other;
    pthread_t thread;
    (void)state;
    parallel_set_width(2);
    pthread_barrier_init(&other.begun, NULL, 2);
    pthread_barrier_init(&other.ended, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, run_beside, &other), 0);
    pthread_barrier_wait(&other.begun);
    parallel_enter();
    parallel_for(ITEMS_MAX, LONG_NS, count, &counts);
    assert_int_equal(parallel_threads(), 0); /* there was no processor for a helper */
    assert_int_equal(atomic_load(&counts.parts), PARALLEL_PARTS_MAX);
    pthread_barrier_wait(&other.ended);
    pthread_join(thread, NULL);
    parallel_for(ITEMS_MAX, LONG_NS, count, &counts);
    assert_int_equal(parallel_threads(), 1); /* now there was */
    parallel_leave();
    pthread_barrier_destroy(&other.begun);
    pthread_barrier_destroy(&other.ended);
}

static void *wait_beside(void *context)
{
    struct other_run *run = context;
    parallel_enter();
    parallel_enter();
    parallel_pause();
    pthread_barrier_wait(&run->begun);
    pthread_barrier_wait(&run->ended);
    parallel_resume();
    pthread_barrier_wait(&run->begun);
    pthread_barrier_wait(&run->ended);
    parallel_leave();
    parallel_leave();
    return NULL;
}

/* The number of threads that help with a loop of this thread. */
static int helpers(void)
{
    struct counts counts = { .parts = 0 };
    parallel_set_width(2);
    parallel_for(ITEMS_MAX, LONG_NS, count, &counts);
    assert_int_equal(atomic_load(&counts.parts), PARALLEL_PARTS_MAX);
    return parallel_threads();
}

static void a_thread_that_waits_leaves_its_processor_to_others(void **state)
{
    struct other_run other;
    pthread_t thread;
    (void)state;
    pthread_barrier_init(&other.begun, NULL, 2);
    pthread_barrier_init(&other.ended, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, wait_beside, &other), 0);
    for (int expected = 1; expected >= 0; expected--) { /* while it waits, and afterwards */
        pthread_barrier_wait(&other.begun);
        assert_int_equal(helpers(), expected);
        pthread_barrier_wait(&other.ended);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&other.begun);
    pthread_barrier_destroy(&other.ended);
}

static void *stay_alone(void *context)
{
    parallel_disable_helpers();
    parallel_enter();
    parallel_for(ITEMS_MAX, LONG_NS, count, context);
    parallel_leave();
    return NULL;
}

static void a_thread_can_stay_alone(void **state)
{
    struct counts counts = { .parts = 0 };
    pthread_t thread;
    (void)state;
    parallel_set_width(3);
    assert_int_equal(pthread_create(&thread, NULL, stay_alone, &counts), 0);
    pthread_join(thread, NULL);
    assert_int_equal(parallel_threads(), 0);
    assert_int_equal(atomic_load(&counts.parts), PARALLEL_PARTS_MAX);
}

static void nest(void *context, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++)
        parallel_for(ITEMS_MAX, LONG_NS, count, context);
}

static void a_loop_inside_a_part_runs_in_its_thread(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(widths); w++) {
        struct counts counts = { .parts = 0 };
        parallel_set_width(widths[w]);
        parallel_for(8, LONG_NS, nest, &counts);
        for (int i = 0; i < ITEMS_MAX; i++)
            assert_int_equal(atomic_load(&counts.of_item[i]), 8);
    }
}

static void check_mode(void *context, int64_t first, int64_t end)
{
    _Atomic int *flushing = context;
    (void)first, (void)end;
    if ((denormals_mode() & DENORMALS_FLUSHED) == DENORMALS_FLUSHED)
        atomic_fetch_add(flushing, 1);
}

static void helpers_flush_denormals_as_the_caller_does(void **state)
{
    _Atomic int flushing = 0;
    (void)state;
    parallel_set_width(8);
    unsigned long mode = denormals_flush();
    parallel_for_parts(16, 16, check_mode, &flushing);
    denormals_restore(mode);
    assert_int_equal(atomic_load(&flushing), 16);
    if (DENORMALS_FLUSHED == 0)
        return;
    atomic_store(&flushing, 0);
    parallel_for_parts(16, 16, check_mode, &flushing);
    assert_int_equal(atomic_load(&flushing), 0);
}

/* ---- many callers ---- */

#define CALLERS 6
#define ROUNDS  2000

struct sums {
    int64_t of_part[PARALLEL_PARTS_MAX];
    int64_t each;
};

static void add(void *context, int64_t first, int64_t end)
{
    struct sums *sums = context;
    int64_t sum = 0;
    for (int64_t i = first; i < end; i++)
        sum += i;
    sums->of_part[first / sums->each] = sum;
}

static void *call_often(void *context)
{
    _Atomic int *wrong = context;
    for (int round = 0; round < ROUNDS; round++) {
        int parts = 1 << round % 5;
        struct sums sums = { .each = 64 / parts };
        int64_t total = 0;
        if (round % 3 == 0)
            parallel_enter();
        parallel_for_parts(64, parts, add, &sums);
        if (round % 3 == 0)
            parallel_leave();
        for (int i = 0; i < parts; i++)
            total += sums.of_part[i];
        if (total != 64 * 63 / 2)
            atomic_fetch_add(wrong, 1);
    }
    return NULL;
}

static void many_threads_may_call_at_the_same_time(void **state)
{
    pthread_t threads[CALLERS];
    _Atomic int wrong = 0;
    (void)state;
    parallel_set_width(4);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &wrong), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
}

static int back_to_one(void **state)
{
    (void)state;
    parallel_set_width(1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_each_item_once_and_cuts_at_the_same_places),
        cmocka_unit_test(cuts_what_is_worth_it),
        cmocka_unit_test(a_loop_runs_without_threads_that_the_system_refuses),
        cmocka_unit_test(a_width_of_one_starts_no_thread),
        cmocka_unit_test(as_many_parts_run_at_a_time_as_the_width),
        cmocka_unit_test(two_runs_share_two_processors),
        cmocka_unit_test(a_thread_that_waits_leaves_its_processor_to_others),
        cmocka_unit_test(a_thread_can_stay_alone),
        cmocka_unit_test(a_loop_inside_a_part_runs_in_its_thread),
        cmocka_unit_test(helpers_flush_denormals_as_the_caller_does),
        cmocka_unit_test(many_threads_may_call_at_the_same_time),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, back_to_one);
}
