#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/scheduling.h"

/* The kernel's struct sched_attr. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static struct attributes attributes_of_this_thread(void)
{
    struct attributes found = { 0 };
    assert_int_equal(syscall(SYS_sched_getattr, 0, &found, sizeof found, 0), 0);
    return found;
}

static void *read_attributes(void *out)
{
    *(struct attributes *)out = attributes_of_this_thread();
    return NULL;
}

static void shortens_the_slice_of_this_thread_only(void **state)
{
    struct attributes before = attributes_of_this_thread(), after, child;
    pthread_t thread;
    (void)state;
    if (before.policy != SCHED_OTHER || before.runtime == 0)
        skip(); /* a kernel without slices */
    scheduling_ask_for_slice(100000);
    after = attributes_of_this_thread();
    assert_int_equal(after.runtime, 100000);
    assert_int_equal(after.policy, before.policy);
    assert_int_equal(after.nice, before.nice);
    assert_int_equal(pthread_create(&thread, NULL, read_attributes, &child), 0);
    pthread_join(thread, NULL);
    assert_int_equal(child.runtime, before.runtime);
}

static void leaves_other_policies_alone(void **state)
{
    const struct sched_param none = { 0 };
    (void)state;
    assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    scheduling_ask_for_slice(100000);
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
}

static void *lower_twice(void *out)
{
    int *nice = out;
    scheduling_lower_priority(7);
    scheduling_lower_priority(3);
    nice[0] = attributes_of_this_thread().nice;
    return NULL;
}

static void lowers_the_priority_of_this_thread_only(void **state)
{
    int nice[1];
    int before = attributes_of_this_thread().nice;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, lower_twice, nice), 0);
    pthread_join(thread, NULL);
    assert_int_equal(nice[0], before > 7 ? before : 7);
    assert_int_equal(attributes_of_this_thread().nice, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortens_the_slice_of_this_thread_only),
        cmocka_unit_test(lowers_the_priority_of_this_thread_only),
        cmocka_unit_test(leaves_other_policies_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
