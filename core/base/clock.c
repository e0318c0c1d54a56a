#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"

static int64_t monotonic_now_ns(struct clock *clock)
{
    struct timespec now;

    (void)clock;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static bool monotonic_wait(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                           int64_t deadline_ns)
{
    (void)clock;
    if (deadline_ns == CLOCK_NEVER)
        return pthread_cond_wait(changed, lock) == 0;
    struct timespec until = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
                              .tv_nsec = (long)(deadline_ns % NS_PER_S) };
    return pthread_cond_timedwait(changed, lock, &until) != ETIMEDOUT;
}

struct clock *clock_monotonic(void)
{
    static struct clock monotonic = { monotonic_now_ns, monotonic_wait };
    return &monotonic;
}

int64_t clock_deadline_ns(struct clock *clock, int64_t timeout_ms)
{
    if (timeout_ms < 0 || timeout_ms > INT64_MAX / NS_PER_MS / 2)
        return CLOCK_NEVER;
    return clock_now_ns(clock) + timeout_ms * NS_PER_MS;
}

void clock_cond_init(pthread_cond_t *changed)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void clock_sleep(struct clock *clock, int64_t timeout_ms)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    int64_t until_ns = clock_deadline_ns(clock, timeout_ms);

    clock_cond_init(&never);
    pthread_mutex_lock(&lock);
    while (clock_now_ns(clock) < until_ns)
        clock_wait(clock, &never, &lock, until_ns);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
}

/* A thread that waits on the fake clock, and what to signal when the time moves. */
struct waiter {
    pthread_cond_t *changed;
    struct waiter *next;
};

struct fake_clock {
    struct clock clock; /* first: the handle */
    _Atomic int64_t now_ns;
    pthread_mutex_t waiters_lock;
    struct waiter *waiters;
};

static int64_t fake_now_ns(struct clock *clock)
{
    return atomic_load(&((struct fake_clock *)clock)->now_ns);
}

static void waiter_remove(struct fake_clock *fake, struct waiter *waiter)
{
    pthread_mutex_lock(&fake->waiters_lock);
    for (struct waiter **at = &fake->waiters; *at != NULL; at = &(*at)->next)
        if (*at == waiter) {
            *at = waiter->next;
            break;
        }
    pthread_mutex_unlock(&fake->waiters_lock);
}

/*
 * The waiter joins the list before it reads the time, and clock_fake_advance changes the time
 * before it reads the list, so no change is missed. The signal may come between reading the time
 * and waiting, because clock_fake_advance cannot take the waiter's lock: the waiter takes the two
 * locks in the opposite order. So each wait is short, by the system's clock.
 */
static bool fake_wait(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                      int64_t deadline_ns)
{
    struct fake_clock *fake = (struct fake_clock *)clock;
    struct waiter waiter = { .changed = changed };

    pthread_mutex_lock(&fake->waiters_lock);
    waiter.next = fake->waiters;
    fake->waiters = &waiter;
    pthread_mutex_unlock(&fake->waiters_lock);
    if (fake_now_ns(clock) < deadline_ns)
        monotonic_wait(NULL, changed, lock, monotonic_now_ns(NULL) + 5 * NS_PER_MS);
    waiter_remove(fake, &waiter);
    return fake_now_ns(clock) < deadline_ns;
}

struct clock *clock_fake_create(int64_t now_ns)
{
    struct fake_clock *fake = zalloc(sizeof *fake);

    fake->clock = (struct clock){ fake_now_ns, fake_wait };
    atomic_init(&fake->now_ns, now_ns);
    pthread_mutex_init(&fake->waiters_lock, NULL);
    return &fake->clock;
}

void clock_fake_advance(struct clock *clock, int64_t by_ns)
{
    struct fake_clock *fake = (struct fake_clock *)clock;

    atomic_fetch_add(&fake->now_ns, by_ns);
    pthread_mutex_lock(&fake->waiters_lock);
    for (struct waiter *waiter = fake->waiters; waiter != NULL; waiter = waiter->next)
        pthread_cond_broadcast(waiter->changed);
    pthread_mutex_unlock(&fake->waiters_lock);
}

void clock_fake_destroy(struct clock *clock)
{
    struct fake_clock *fake = (struct fake_clock *)clock;

    if (fake == NULL)
        return;
    pthread_mutex_destroy(&fake->waiters_lock);
    free(fake);
}
