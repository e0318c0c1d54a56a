/* Waits of a kernel for another run. */
#include "base/clock.h"
#include "base/parallel.h"
#include "runtime/steps.h"

/* The longest wait of a run that has no deadline. */
#define WAIT_MAX_MS 60000

/* A client that leaves and a server that stops only make run->check fail, and signal nothing. A
 * waiting run therefore calls run->check in this interval. */
#define CHECK_MS 50

int64_t kernel_wait_deadline(const struct kernel_context *context)
{
    const struct run *run = context->run;
    if (run->deadline_ns != 0)
        return run->deadline_ns < INT64_MAX ? (int64_t)run->deadline_ns : INT64_MAX;
    return clock_deadline_ns(clock_monotonic(), WAIT_MAX_MS);
}

struct status kernel_wait(const struct kernel_context *context, pthread_cond_t *changed,
                          pthread_mutex_t *lock, int64_t deadline_ns)
{
    struct clock *clock = clock_monotonic();
    int64_t until_ns = clock_deadline_ns(clock, CHECK_MS);
    TRY(run_check(context->run));
    if (clock_now_ns(clock) >= deadline_ns)
        return status_error(STATUS_DEADLINE_EXCEEDED, "the run waited for too long");
    if (context->run->check == NULL || until_ns > deadline_ns)
        until_ns = deadline_ns;
    parallel_pause(); /* meanwhile others may have the processor */
    clock_wait(clock, changed, lock, until_ns);
    parallel_resume();
    return status_ok();
}

struct status kernel_sleep(const struct kernel_context *context, int64_t duration_ns)
{
    struct clock *clock = clock_monotonic();
    int64_t deadline_ns = kernel_wait_deadline(context), now_ns = clock_now_ns(clock), end_ns;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    struct status status = status_ok();
    if (__builtin_add_overflow(now_ns, duration_ns, &end_ns))
        end_ns = CLOCK_NEVER;
    int64_t last_ns = end_ns < deadline_ns ? end_ns : deadline_ns;
    clock_cond_init(&never);
    pthread_mutex_lock(&lock);
    while (status_is_ok(status) && clock_now_ns(clock) < last_ns)
        status = kernel_wait(context, &never, &lock, last_ns);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
    if (!status_is_ok(status) && status.code != STATUS_DEADLINE_EXCEEDED)
        return status;
    return end_ns <= deadline_ns
               ? status_ok()
               : status_error(STATUS_DEADLINE_EXCEEDED, "the run would sleep for too long");
}
