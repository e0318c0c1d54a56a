#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

#define EVENTS_MAX        128
#define SPIN_PAUSE        16 /* waits without polling after a failed poll; doubled by each */
#define SPIN_FAILURES_MAX 8
#define EXPECTING_NS      60000 /* polls this long for the rest of a message that is arriving */
#define ROUNDS_APART      8     /* rounds in which the loop may pass over its own descriptors */

/* Polling before the loop sleeps, and its success. */
struct busy_poll {
    int64_t ns;                 /* how long it polls */
    int pause;                  /* the number of waits that will not poll first */
    int failures, failures_max; /* in a row: each doubles the pause */
};

struct loop_watch {
    void (*ready)(void *context, uint32_t events);
    void *context;
    int fd;
    struct loop_watch *next_dead; /* freed at the end of the round: events may refer to it */
};

struct loop {
    int epoll, wake; /* wake: an eventfd that loop_post signals */
    struct loop_timer **timers;
    int timers_count, timers_capacity;
    struct loop_task *_Atomic posted; /* newest first */
    bool (*round)(void *context);
    void *round_context;
    struct loop_task *running; /* taken from there, oldest first */
    struct loop_task *deferred, **deferred_end;
    _Atomic uintptr_t owner; /* the thread that owns the loop; 0: none */
    struct loop_watch *wake_watch, *dead;
    bool (*wait)(void *context, int timeout_ms); /* NULL: the loop waits by itself */
    void *wait_context;
    int rounds_apart; /* rounds since the loop last checked its own descriptors */
    int64_t now_ns;   /* 0: read it when first asked */
    struct busy_poll spin, expecting_spin;
    bool expecting;  /* loop_expect was called in this round */
    int late_rounds; /* consecutive rounds in which a timer was overdue by LATE_NS */
    _Atomic bool stopped;
};

/* Runs tasks in the order of posting. A task may call this again: the remaining tasks then run
 * first. */
void loop_run_posted(struct loop *loop)
{
    struct loop_task *task = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire);
    struct loop_task *ordered = NULL, **end = &loop->running;
    while (task != NULL) {
        struct loop_task *next = task->next;
        task->next = ordered;
        ordered = task;
        task = next;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = ordered;
    while (loop->running != NULL) {
        task = loop->running;
        loop->running = task->next; /* its owner may reuse the task as soon as it is called */
        task->work(task);
    }
}

static void on_wake(void *context, uint32_t events)
{
    struct loop *loop = context;
    uint64_t count;
    (void)events;
    ssize_t size = read(loop->wake, &count, sizeof count); /* another round may have read it */
    (void)size;
}

static void ring(struct loop *loop)
{
    uint64_t one = 1;
    ssize_t size = write(loop->wake, &one, sizeof one); /* full: it is signalled already */
    (void)size;
}

void loop_post_chain(struct loop *loop, struct loop_task *last, struct loop_task *first)
{
    struct loop_task *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do
        first->next = head;
    while (!atomic_compare_exchange_weak_explicit(&loop->posted, &head, last, memory_order_release,
                                                  memory_order_relaxed));
    if (head == NULL) /* otherwise the loop has been woken and has not taken the tasks yet */
        ring(loop);
}

void loop_post(struct loop *loop, struct loop_task *task)
{
    loop_post_chain(loop, task, task);
}

void loop_defer(struct loop *loop, struct loop_task *task)
{
    task->next = NULL;
    *loop->deferred_end = task;
    loop->deferred_end = &task->next;
}

void loop_undefer(struct loop *loop, struct loop_task *task)
{
    struct loop_task **at = &loop->deferred;

    while (*at != NULL && *at != task)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    *at = task->next;
    if (*at == NULL)
        loop->deferred_end = at;
}

static void run_deferred(struct loop *loop)
{
    while (loop->deferred != NULL) {
        struct loop_task *task = loop->deferred;
        loop->deferred = task->next;
        if (loop->deferred == NULL)
            loop->deferred_end = &loop->deferred;
        task->work(task);
    }
}

static _Thread_local const struct loop *current;

void loop_own(struct loop *loop)
{
    current = loop;
    atomic_store_explicit(&loop->owner, (uintptr_t)pthread_self(), memory_order_relaxed);
}

void loop_disown(struct loop *loop)
{
    if (current == loop)
        current = NULL;
    atomic_store_explicit(&loop->owner, 0, memory_order_relaxed);
}

/* Relaxed is enough: a thread stores and clears only its own id. */
bool loop_is_mine(const struct loop *loop)
{
    return atomic_load_explicit(&loop->owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

bool loop_is_current(const struct loop *loop)
{
    return current == loop;
}

void loop_wake(struct loop *loop)
{
    ring(loop);
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stopped, true);
    ring(loop);
}

struct status loop_create(struct loop **out)
{
    struct status status;
    struct loop *loop = zalloc(sizeof *loop);
    loop->wake = -1;
    loop->deferred_end = &loop->deferred;
    loop->now_ns = clock_now_ns(clock_monotonic());
    loop->expecting_spin.ns = EXPECTING_NS;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0)
        TRY_OR(fail, status_errno(errno, "epoll_create"));
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake < 0)
        TRY_OR(fail, status_errno(errno, "eventfd"));
    TRY_OR(fail, loop_watch(loop, loop->wake, EPOLLIN, on_wake, loop, &loop->wake_watch));
    *out = loop;
    return status_ok();

fail:
    loop_destroy(loop);
    return status;
}

static void bury(struct loop *loop)
{
    while (loop->dead != NULL) {
        struct loop_watch *next = loop->dead->next_dead;
        free(loop->dead);
        loop->dead = next;
    }
}

void loop_destroy(struct loop *loop)
{
    if (loop == NULL)
        return;
    loop_unwatch(loop, loop->wake_watch);
    bury(loop);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->wake >= 0)
        close(loop->wake);
    free(loop->timers);
    free(loop);
}

struct status loop_watch(struct loop *loop, int fd, uint32_t events,
                         void (*ready)(void *context, uint32_t events), void *context,
                         struct loop_watch **out)
{
    struct loop_watch *watch = zalloc(sizeof *watch);
    *watch = (struct loop_watch){ .ready = ready, .context = context, .fd = fd };
    struct epoll_event event = { .events = events, .data.ptr = watch };
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        int error = errno;
        free(watch);
        return status_errno(error, "watch descriptor %d", fd);
    }
    *out = watch;
    return status_ok();
}

struct status loop_rewatch(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };
    if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event) != 0)
        return status_errno(errno, "watch descriptor %d", watch->fd);
    return status_ok();
}

void loop_unwatch(struct loop *loop, struct loop_watch *watch)
{
    if (watch == NULL)
        return;
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->ready = NULL;
    watch->next_dead = loop->dead;
    loop->dead = watch;
}

/* The timers are a heap: the children of i, at 2i + 1 and 2i + 2, are never due before it. */
static void place(struct loop *loop, int at, struct loop_timer *timer)
{
    loop->timers[at] = timer;
    timer->slot = at + 1;
}

static void sift_up(struct loop *loop, int at)
{
    struct loop_timer *timer = loop->timers[at];
    for (int parent;
         at > 0 && loop->timers[parent = (at - 1) / 2]->deadline_ns > timer->deadline_ns;
         at = parent)
        place(loop, at, loop->timers[parent]);
    place(loop, at, timer);
}

static void sift_down(struct loop *loop, int at)
{
    struct loop_timer *timer = loop->timers[at];
    for (;;) {
        int child = 2 * at + 1;
        if (child + 1 < loop->timers_count &&
            loop->timers[child + 1]->deadline_ns < loop->timers[child]->deadline_ns)
            child++;
        if (child >= loop->timers_count || loop->timers[child]->deadline_ns >= timer->deadline_ns)
            break;
        place(loop, at, loop->timers[child]);
        at = child;
    }
    place(loop, at, timer);
}

void loop_clear_timer(struct loop *loop, struct loop_timer *timer)
{
    if (timer->slot == 0)
        return;
    int at = timer->slot - 1;
    timer->slot = 0;
    struct loop_timer *last = loop->timers[--loop->timers_count];
    if (last == timer)
        return;
    place(loop, at, last);
    sift_up(loop, at);
    sift_down(loop, last->slot - 1);
}

void loop_set_timer(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns)
{
    loop_clear_timer(loop, timer);
    if (loop->timers_count == loop->timers_capacity) {
        loop->timers_capacity = loop->timers_capacity ? 2 * loop->timers_capacity : 8;
        loop->timers = xrealloc(loop->timers, (size_t)loop->timers_capacity * sizeof *loop->timers);
    }
    timer->deadline_ns = deadline_ns;
    loop->timers[loop->timers_count++] = timer;
    sift_up(loop, loop->timers_count - 1);
}

/* If a timer is overdue by this much, the process did not run: it was stopped, its container was
 * frozen, or others had the processor. The bytes that peers sent meanwhile are still in the
 * sockets, so the time-outs of these peers must not expire yet. Bytes may pass through a TLS bridge
 * and libmicrohttpd, which takes a round each. */
#define LATE_NS     NS_PER_S
#define LATE_ROUNDS 3

static bool puts_off_timers(struct loop *loop)
{
    bool late =
        loop->timers_count > 0 && loop_now_ns(loop) - loop->timers[0]->deadline_ns > LATE_NS;
    loop->late_rounds = late ? loop->late_rounds + 1 : 0;
    return late && loop->late_rounds <= LATE_ROUNDS;
}

/* A timer that is set again to a past time waits for the next round, so this loop ends. */
static void run_timers(struct loop *loop)
{
    for (int turns = loop->timers_count; turns > 0 && loop->timers_count > 0; turns--) {
        if (loop->timers[0]->deadline_ns > loop_now_ns(loop))
            break;
        struct loop_timer *timer = loop->timers[0];
        loop_clear_timer(loop, timer);
        timer->expired(timer->context);
    }
}

/* Milliseconds until `until_ns` or the first timer, rounded up; -1: forever. */
static int wait_ms(const struct loop *loop, int64_t until_ns)
{
    if (loop->timers_count > 0 && loop->timers[0]->deadline_ns < until_ns)
        until_ns = loop->timers[0]->deadline_ns;
    if (until_ns == CLOCK_NEVER || until_ns == 0)
        return until_ns == 0 ? 0 : -1;
    int64_t left = until_ns - clock_now_ns(clock_monotonic());
    if (left <= 0)
        return 0;
    left = (left + NS_PER_MS - 1) / NS_PER_MS;
    return left > 3600 * 1000 ? 3600 * 1000 : (int)left;
}

void loop_set_round(struct loop *loop, bool (*round)(void *context), void *context)
{
    loop->round = round;
    loop->round_context = context;
}

int64_t loop_now_ns(struct loop *loop)
{
    if (loop->now_ns == 0)
        loop->now_ns = clock_now_ns(clock_monotonic());
    return loop->now_ns;
}

void loop_set_wait(struct loop *loop, bool (*wait)(void *context, int timeout_ms), void *context)
{
    loop->wait = wait;
    loop->wait_context = context;
}

int loop_descriptor(const struct loop *loop)
{
    return loop->epoll;
}

void loop_set_spin(struct loop *loop, int64_t spin_ns)
{
    loop->spin = (struct busy_poll){ .ns = spin_ns, .failures_max = SPIN_FAILURES_MAX };
}

void loop_expect(struct loop *loop)
{
    loop->expecting = true;
}

/* The library's callbacks may ask for the time after it has waited. */
static int wait_by_library(struct loop *loop, struct epoll_event *events, int timeout_ms)
{
    bool busy = loop->wait(loop->wait_context, timeout_ms);
    if (busy && ++loop->rounds_apart < ROUNDS_APART)
        return 0;
    loop->rounds_apart = 0;
    return epoll_wait(loop->epoll, events, EVENTS_MAX, 0);
}

/* Polls for a while before sleeping, unless recent polls failed: each failure doubles the number of
 * waits until the next poll. If a message is arriving, it polls in any case. */
static int wait_for_events(struct loop *loop, struct epoll_event *events, int timeout_ms)
{
    struct busy_poll *spin = loop->expecting ? &loop->expecting_spin : &loop->spin;

    loop->expecting = false;
    if (loop->wait != NULL)
        return wait_by_library(loop, events, timeout_ms);
    if (timeout_ms == 0 || spin->ns == 0 || spin->pause > 0) {
        spin->pause -= spin->pause > 0;
        return epoll_wait(loop->epoll, events, EVENTS_MAX, timeout_ms);
    }
    int64_t end_ns = clock_now_ns(clock_monotonic()) + spin->ns;
    do {
        int count = epoll_wait(loop->epoll, events, EVENTS_MAX, 0);
        if (count != 0) {
            spin->failures = 0;
            return count;
        }
    } while (clock_now_ns(clock_monotonic()) < end_ns);
    spin->pause = SPIN_PAUSE << spin->failures;
    spin->failures += spin->failures < spin->failures_max;
    return epoll_wait(loop->epoll, events, EVENTS_MAX, timeout_ms);
}

static struct status run_round(struct loop *loop, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    if (loop->deferred != NULL) /* deferred between two rounds */
        timeout_ms = 0;
    loop->now_ns = 0;
    int count = wait_for_events(loop, events, timeout_ms);
    if (count < 0 && errno != EINTR)
        return status_errno(errno, "epoll_wait");
    for (int i = 0; i < count; i++) {
        struct loop_watch *watch = events[i].data.ptr;
        if (watch->ready != NULL)
            watch->ready(watch->context, events[i].events);
    }
    loop_run_posted(loop);
    if (!puts_off_timers(loop))
        run_timers(loop);
    bury(loop);
    return status_ok();
}

struct status loop_run_once(struct loop *loop, int64_t until_ns)
{
    TRY(run_round(loop, wait_ms(loop, until_ns)));
    run_deferred(loop);
    return status_ok();
}

struct status loop_run(struct loop *loop)
{
    struct status status = status_ok();
    bool again = loop->round != NULL;

    loop_own(loop);
    while (status_is_ok(status) && !atomic_load_explicit(&loop->stopped, memory_order_relaxed)) {
        status = run_round(loop, again ? 0 : wait_ms(loop, CLOCK_NEVER));
        again = loop->round != NULL && loop->round(loop->round_context);
        run_deferred(loop);
    }
    loop_disown(loop);
    return status;
}
