#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"

static void the_monotonic_clock_does_not_go_back(void **state)
{
    (void)state;
    struct clock *clock = clock_monotonic();
    int64_t before = clock_now_ns(clock);

    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_now_ns(clock);
        assert_true(now >= before);
        before = now;
    }
    assert_true(clock_deadline_ns(clock, 1000) > before);
    assert_true(clock_deadline_ns(clock, -1) == CLOCK_NEVER);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    struct clock *clock = clock_monotonic();
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed;
    int64_t deadline = clock_deadline_ns(clock, 5);

    clock_cond_init(&changed);
    pthread_mutex_lock(&lock);
    while (clock_wait(clock, &changed, &lock, deadline))
        ;
    pthread_mutex_unlock(&lock);
    assert_true(clock_now_ns(clock) >= deadline);
    pthread_cond_destroy(&changed);
}

struct sleeper {
    struct clock *clock;
    int64_t deadline_ns;
    int64_t woke_ns;
};

static void *sleep_until_deadline(void *context)
{
    struct sleeper *sleeper = context;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed;

    clock_cond_init(&changed);
    pthread_mutex_lock(&lock);
    while (clock_wait(sleeper->clock, &changed, &lock, sleeper->deadline_ns))
        ;
    sleeper->woke_ns = clock_now_ns(sleeper->clock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&changed);
    return NULL;
}

static void a_fake_clock_stands_still_until_it_is_moved(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_create(100);
    struct sleeper sleeper = { .clock = clock, .deadline_ns = 100 + 3600 * NS_PER_S };
    pthread_t thread;

    assert_true(clock_now_ns(clock) == 100);
    pthread_create(&thread, NULL, sleep_until_deadline, &sleeper);
    clock_fake_advance(clock, 1800 * NS_PER_S);
    clock_fake_advance(clock, 1800 * NS_PER_S);
    pthread_join(thread, NULL);
    assert_true(sleeper.woke_ns == sleeper.deadline_ns);
    clock_fake_destroy(clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_does_not_go_back),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_fake_clock_stands_still_until_it_is_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
