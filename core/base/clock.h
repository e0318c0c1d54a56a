/*
 * clock: monotonic time as a parameter, so that a test can control it.
 *
 * Functions that measure time or wait take a `struct clock *`. Programs pass clock_monotonic().
 * Tests create a fake clock and advance it, which wakes the threads that wait on it.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NS_PER_MS   1000000
#define NS_PER_S    1000000000LL
#define CLOCK_NEVER INT64_MAX /* a deadline that never passes */

struct clock {
    int64_t (*now_ns)(struct clock *clock);
    bool (*wait)(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                 int64_t deadline_ns);
};

/* The system's monotonic clock; shared, never destroyed. */
struct clock *clock_monotonic(void);

static inline int64_t clock_now_ns(struct clock *clock)
{
    return clock->now_ns(clock);
}

/* The deadline `timeout_ms` from now; CLOCK_NEVER for a negative one. */
int64_t clock_deadline_ns(struct clock *clock, int64_t timeout_ms);

/* Makes a condition variable that clock_wait can use: it must count monotonic time. */
void clock_cond_init(pthread_cond_t *changed);

/* Waits for `changed` with `lock` held, like pthread_cond_timedwait, and may wake spuriously.
 * Returns false if the deadline has passed. */
static inline bool clock_wait(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                              int64_t deadline_ns)
{
    return clock->wait(clock, changed, lock, deadline_ns);
}

/* Sleeps; on a fake clock, until it has been advanced that far. */
void clock_sleep(struct clock *clock, int64_t timeout_ms);

/* Creates a clock that stays at `now_ns` until clock_fake_advance moves it and wakes the threads
 * that wait on it. */
struct clock *clock_fake_create(int64_t now_ns);
void clock_fake_advance(struct clock *clock, int64_t by_ns);
void clock_fake_destroy(struct clock *clock); /* no thread may wait on it; accepts NULL */

#endif
