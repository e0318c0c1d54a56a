#include "rpc/shared_loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"

#define HOUSEKEEPING_MS 20
#define SPIN_NS         60000 /* long enough for a small reply from a peer that has to wake up */

struct shared_loop {
    struct loop *loop;
    _Atomic int in_flight; /* calls */
    int depth;             /* entries by the thread that has the loop; owned by it */
    pthread_mutex_t lock;  /* guards the fields below */
    pthread_cond_t changed, keeper_wake;
    pthread_t keeper;
    bool taken;   /* a thread has the loop */
    int sleepers; /* threads that sleep while another one turns the loop */
    int claims;   /* threads that want the loop next */
    bool keeping; /* that thread is the housekeeper */
    bool closing;
};

/* With the lock. The loop becomes this thread's. */
static void take(struct shared_loop *shared)
{
    assert(!shared->taken);
    shared->taken = true;
    shared->depth = 1;
    loop_own(shared->loop);
}

static void give_up(struct shared_loop *shared)
{
    shared->taken = false;
    loop_disown(shared->loop);
    if (shared->sleepers > 0 || shared->claims > 0)
        pthread_cond_broadcast(&shared->changed);
}

/* With the lock and the loop. If a turn fails (epoll itself), calls still end at their deadlines.
 */
static void turn(struct shared_loop *shared, int64_t until_ns)
{
    pthread_mutex_unlock(&shared->lock);
    status_ignore(loop_run_once(shared->loop, until_ns));
    pthread_mutex_lock(&shared->lock);
}

static void *keep(void *context)
{
    struct shared_loop *shared = context;
    struct clock *clock = clock_monotonic();

    pthread_mutex_lock(&shared->lock);
    while (!shared->closing) {
        bool busy = shared->in_flight > 0 && shared->sleepers == 0;
        if (!shared->taken && shared->claims == 0) {
            take(shared);
            shared->keeping = true;
            turn(shared, busy ? CLOCK_NEVER : 0);
            shared->keeping = false;
            give_up(shared);
            if (busy && shared->sleepers == 0 && shared->claims == 0)
                continue;
        }
        clock_wait(clock, &shared->keeper_wake, &shared->lock,
                   clock_deadline_ns(clock, HOUSEKEEPING_MS));
    }
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

struct status shared_loop_create(struct shared_loop **out)
{
    struct loop *loop;

    TRY(loop_create(&loop));
    struct shared_loop *shared = zalloc(sizeof *shared);
    shared->loop = loop;
    loop_set_spin(loop, SPIN_NS);
    pthread_mutex_init(&shared->lock, NULL);
    clock_cond_init(&shared->changed);
    clock_cond_init(&shared->keeper_wake);
    int error = pthread_create(&shared->keeper, NULL, keep, shared);
    if (error != 0) {
        loop_destroy(loop);
        free(shared);
        return status_errno(error, "start a thread");
    }
    *out = shared;
    return status_ok();
}

void shared_loop_destroy(struct shared_loop *shared)
{
    if (shared == NULL)
        return;
    pthread_mutex_lock(&shared->lock);
    shared->closing = true;
    pthread_cond_signal(&shared->keeper_wake);
    pthread_mutex_unlock(&shared->lock);
    loop_wake(shared->loop);
    pthread_join(shared->keeper, NULL);
    loop_destroy(shared->loop);
    pthread_cond_destroy(&shared->changed);
    pthread_cond_destroy(&shared->keeper_wake);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

struct loop *shared_loop_of(struct shared_loop *shared)
{
    return shared->loop;
}

/* With the lock. Wakes when this thread's condition may hold, or the loop is free. */
static void sleep_until_changed(struct shared_loop *shared, int64_t deadline_ns)
{
    shared->sleepers++;
    if (shared->keeping)
        loop_wake(shared->loop);
    clock_wait(clock_monotonic(), &shared->changed, &shared->lock, deadline_ns);
    shared->sleepers--;
}

void shared_loop_wait(struct shared_loop *shared, bool (*over)(void *context), void *context,
                      int64_t deadline_ns)
{
    pthread_mutex_lock(&shared->lock);
    while (!over(context) &&
           (deadline_ns == CLOCK_NEVER || clock_now_ns(clock_monotonic()) < deadline_ns)) {
        if (shared->taken || shared->claims > 0) {
            sleep_until_changed(shared, deadline_ns);
            continue;
        }
        take(shared);
        turn(shared, deadline_ns);
        give_up(shared);
    }
    pthread_mutex_unlock(&shared->lock);
}

bool shared_loop_enter(struct shared_loop *shared)
{
    if (loop_is_mine(shared->loop)) {
        shared->depth++;
        return true;
    }
    pthread_mutex_lock(&shared->lock);
    bool entered = !shared->taken && shared->claims == 0;
    if (entered)
        take(shared);
    pthread_mutex_unlock(&shared->lock);
    return entered;
}

void shared_loop_claim(struct shared_loop *shared)
{
    pthread_mutex_lock(&shared->lock);
    shared->claims++;
    while (shared->taken) {
        loop_wake(shared->loop);
        pthread_cond_wait(&shared->changed, &shared->lock);
    }
    shared->claims--;
    take(shared);
    pthread_mutex_unlock(&shared->lock);
}

void shared_loop_leave(struct shared_loop *shared)
{
    assert(shared->depth > 0);
    if (shared->depth > 1) {
        shared->depth--;
        return;
    }
    pthread_mutex_lock(&shared->lock);
    give_up(shared);
    pthread_mutex_unlock(&shared->lock);
}

void shared_loop_run(struct shared_loop *shared, bool (*over)(void *context), void *context)
{
    shared_loop_claim(shared);
    while (!over(context))
        status_ignore(loop_run_once(shared->loop, CLOCK_NEVER));
    shared_loop_leave(shared);
}

void shared_loop_count(struct shared_loop *shared, int more)
{
    atomic_fetch_add_explicit(&shared->in_flight, more, memory_order_relaxed);
}
