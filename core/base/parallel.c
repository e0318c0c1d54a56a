#include "base/parallel.h"

#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/denormals.h"
#include "base/scheduling.h"

#define PART_NS 25e3
/* Waking a thread takes 5 to 50 us. The loops of a model follow each other faster than that. */
#define SPIN_NS 30000

/* A loop that is being run; on the stack of its caller. */
struct parallel_job {
    parallel_body *body;
    void *context;
    int64_t items;
    int parts;
    unsigned long float_mode;
    _Atomic int next;      /* the first part that nobody has begun */
    _Atomic uint32_t open; /* helpers that were offered the job and have not ended; SLEEPS */
};
#define SLEEPS UINT32_C(0x80000000) /* in job->open: the caller waits for a wake-up */

struct parallel_worker {
    _Alignas(64) _Atomic(struct parallel_job *)
        job; /* NULL: none; an offer; or one of the values below */
    _Atomic uint32_t asleep;
    int nice; /* its own: what parallel_lower_priority asked for */
    pthread_t thread;
};
static struct parallel_job busy, stop; /* marks in worker->job */

static struct parallel_worker workers[PARALLEL_WIDTH_MAX - 1];
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static double part_ns = PART_NS;
static _Atomic int width = 1, workers_count;
static _Atomic bool started;
static _Atomic int running; /* processors in use: entered threads and helpers */
static _Thread_local int entered;
static _Atomic int helpers_nice;  /* of parallel_lower_priority; 0: nobody has called it */
static _Thread_local bool alone;  /* parallel_disable_helpers */
static _Thread_local bool low;    /* parallel_lower_priority */
static _Thread_local bool inside; /* this thread computes a part */

/* ---- waiting ---- */

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Looks for SPIN_NS. */
static bool spin(bool (*is_done)(void *context), void *context)
{
    if (is_done(context))
        return true;
    int64_t end = now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 16; i++) {
            if (is_done(context))
                return true;
            pause_briefly();
        }
    } while (now_ns() < end);
    return false;
}

/* ---- parts ---- */

static bool is_crowded(void)
{
    return atomic_load_explicit(&running, memory_order_relaxed) >
           atomic_load_explicit(&width, memory_order_relaxed);
}

static void run_part(struct parallel_job *job, int part)
{
    job->body(job->context, parallel_part_begin(job->items, job->parts, part),
              parallel_part_begin(job->items, job->parts, part + 1));
}

static void run_parts(struct parallel_job *job, bool helps)
{
    inside = true;
    do {
        int part = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (part >= job->parts)
            break;
        run_part(job, part);
    } while (!helps || !is_crowded());
    inside = false;
}

/* ---- workers ---- */

static bool has_offer(void *context)
{
    const struct parallel_worker *worker = context;
    return atomic_load(&worker->job) != NULL;
}

static void wait_for_offer(struct parallel_worker *worker)
{
    while (!spin(has_offer, worker)) {
        atomic_store(&worker->asleep, 1);
        while (!has_offer(worker) && atomic_load(&worker->asleep) == 1)
            futex_wait(&worker->asleep, 1);
        atomic_store(&worker->asleep, 0);
    }
}

/* After the last helper has said so, the caller may return and the job is gone. Waking an address
 * where nobody waits any more does no harm. */
static void end_help(struct parallel_job *job)
{
    if (atomic_fetch_sub(&job->open, 1) == (SLEEPS | 1))
        futex_wake(&job->open);
}

static void help(struct parallel_worker *worker, struct parallel_job *job)
{
    int nice = atomic_load_explicit(&helpers_nice, memory_order_relaxed);
    if (worker->nice < nice)
        scheduling_lower_priority(worker->nice = nice);
    unsigned long mode = denormals_mode();
    denormals_set_mode(job->float_mode);
    run_parts(job, true);
    denormals_set_mode(mode);
    atomic_store(&worker->job, NULL); /* first: the caller's next loop may want this worker */
    atomic_fetch_sub(&running, 1);
    end_help(job);
}

static void *work(void *context)
{
    struct parallel_worker *worker = context;
    for (;;) {
        wait_for_offer(worker);
        struct parallel_job *job = atomic_load(&worker->job);
        if (job == &stop)
            return NULL;
        if (job != NULL && atomic_compare_exchange_strong(&worker->job, &job, &busy))
            help(worker, job);
    }
}

static bool offer(struct parallel_worker *worker, struct parallel_job *job)
{
    struct parallel_job *none = NULL;
    if (!atomic_compare_exchange_strong(&worker->job, &none, job))
        return false;
    if (atomic_load(&worker->asleep) == 1 && atomic_exchange(&worker->asleep, 0) == 1)
        futex_wake(&worker->asleep);
    return true;
}

static bool start_worker(struct parallel_worker *worker)
{
    worker->nice = 0;
    if (pthread_create(&worker->thread, NULL, work, worker) != 0)
        return false;
    pthread_setname_np(worker->thread, "loop helper"); /* for ps and top */
    return true;
}

/* Fewer threads than wanted is not an error: loops then have fewer helpers. */
static void start_workers(void)
{
    sigset_t all, before;
    pthread_mutex_lock(&starting);
    int count = atomic_load(&started) ? 0 : parallel_width() - 1, made = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    while (made < count && start_worker(&workers[made]))
        made++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (count > 0)
        atomic_store(&workers_count, made);
    atomic_store(&started, true);
    pthread_mutex_unlock(&starting);
}

static void stop_workers(void)
{
    for (int i = 0; i < atomic_load(&workers_count); i++) {
        while (!offer(&workers[i], &stop))
            pause_briefly();
        pthread_join(workers[i].thread, NULL);
        atomic_store(&workers[i].job, NULL);
    }
    atomic_store(&workers_count, 0);
    atomic_store(&started, false);
}

/* ---- the caller ---- */

void parallel_set_width(int wanted)
{
    if (wanted <= 0)
        wanted = cores_available();
    stop_workers();
    atomic_store(&width, wanted < PARALLEL_WIDTH_MAX ? wanted : PARALLEL_WIDTH_MAX);
}

int parallel_width(void)
{
    return atomic_load_explicit(&width, memory_order_relaxed);
}

void parallel_set_part_ns(double ns)
{
    part_ns = ns;
}

int parallel_start(void)
{
    start_workers();
    return parallel_width() - 1 - atomic_load(&workers_count);
}

bool parallel_start_all(char text[PARALLEL_TEXT_BYTES])
{
    int missing = parallel_start();

    snprintf(text, PARALLEL_TEXT_BYTES,
             "the system allows %d of the %d threads that help with large ops (ulimit -u, "
             "pids.max): a run uses fewer cores",
             parallel_threads(), parallel_threads() + missing);
    return missing == 0;
}

int parallel_threads(void)
{
    return atomic_load(&workers_count);
}

void parallel_enter(void)
{
    if (entered++ == 0 && !alone)
        atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
}

void parallel_leave(void)
{
    if (--entered == 0 && !alone)
        atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
}

void parallel_pause(void)
{
    if (entered > 0 && !alone)
        atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
}

void parallel_resume(void)
{
    if (entered > 0 && !alone)
        atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
}

void parallel_disable_helpers(void)
{
    alone = true;
}

void parallel_lower_priority(int nice)
{
    low = true;
    atomic_store_explicit(&helpers_nice, nice, memory_order_relaxed);
    scheduling_lower_priority(nice);
}

int parallel_parts(int64_t items, double cost_ns)
{
    int parts = 1;
    while (parts < PARALLEL_PARTS_MAX && parts * 2 <= items && cost_ns >= part_ns * parts * 2)
        parts *= 2;
    return parts;
}

/* Takes up to `wanted` processors of the budget. */
static int take_processors(int wanted)
{
    int now = atomic_load_explicit(&running, memory_order_relaxed);
    for (;;) {
        int room = parallel_width() - now - (entered > 0 ? 0 : 1);
        int count = wanted < room ? wanted : room;
        if (count <= 0)
            return 0;
        if (atomic_compare_exchange_weak(&running, &now, now + count))
            return count;
    }
}

static void give_back_processors(int count)
{
    if (count > 0)
        atomic_fetch_sub(&running, count);
}

static int offer_to_all(struct parallel_job *job, int helpers)
{
    int offered = 0, count = atomic_load(&workers_count);
    for (int i = 0; i < count && offered < helpers; i++)
        offered += offer(&workers[i], job);
    return offered;
}

/* Takes the job back from workers that have not begun. */
static int withdraw(struct parallel_job *job)
{
    int withdrawn = 0, count = atomic_load(&workers_count);
    for (int i = 0; i < count; i++) {
        struct parallel_job *offered = job;
        withdrawn += atomic_load_explicit(&workers[i].job, memory_order_relaxed) == job &&
                     atomic_compare_exchange_strong(&workers[i].job, &offered, NULL);
    }
    return withdrawn;
}

static bool has_ended(void *context)
{
    const struct parallel_job *job = context;
    return atomic_load(&job->open) == 0;
}

static void wait_for_helpers(struct parallel_job *job)
{
    if (spin(has_ended, job))
        return;
    uint32_t open = atomic_fetch_or(&job->open, SLEEPS) | SLEEPS;
    while (open != SLEEPS) {
        futex_wait(&job->open, open);
        open = atomic_load(&job->open);
    }
}

static void run_with_helpers(struct parallel_job *job, int helpers)
{
    if (!atomic_load(&started))
        start_workers();
    atomic_store_explicit(&job->open, (uint32_t)helpers, memory_order_relaxed);
    int missing = helpers - offer_to_all(job, helpers);
    run_parts(job, false);
    missing += withdraw(job);
    give_back_processors(missing);
    if (missing > 0)
        atomic_fetch_sub(&job->open, (uint32_t)missing);
    wait_for_helpers(job);
}

static bool may_have_helpers(void)
{
    bool helpers_are_low = atomic_load_explicit(&helpers_nice, memory_order_relaxed) > 0;
    return !inside && !alone && (low || !helpers_are_low);
}

void parallel_for_parts(int64_t items, int parts, parallel_body *body, void *context)
{
    assert(parts > 0);
    if (parts == 1) {
        body(context, 0, items);
        return;
    }
    struct parallel_job job = { .body = body,
                                .context = context,
                                .items = items,
                                .parts = parts,
                                .float_mode = denormals_mode() };
    int helpers = may_have_helpers() ? take_processors(parts - 1) : 0;
    if (helpers > 0) {
        run_with_helpers(&job, helpers);
        return;
    }
    for (int part = 0; part < parts; part++)
        run_part(&job, part);
}

void parallel_for(int64_t items, double cost_ns, parallel_body *body, void *context)
{
    if (items > 0)
        parallel_for_parts(items, parallel_parts(items, cost_ns), body, context);
}
