#include "server/inference/inference_pool.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/container.h"
#include "base/cores.h"
#include "base/log.h"
#include "base/parallel.h"
#include "server/inference/batch_queue.h"
#include "server/inference/batch_split.h"
#include "server/inference/pending_calls.h"
#include "server/inference/request_metrics.h"

/* When requests that run in a loop coincide with pool runs that take longer than LONG_RUN_NS,
 * the pool's priority is lowered for good. At equal priority, a loop that has just run for 0.2
 * ms waits for the kernel's next tick, 4 ms later: on one core, the p99 of mlp beside ResNet-50
 * was 4.2 ms, and is 0.5 ms with this value (1.7 ms with 5). */
#define POOL_NICE         10
#define LONG_RUN_NS       (2 * NS_PER_MS)
#define BESIDE_NS         NS_PER_S        /* how long a run in a loop counts as recent */
#define LOOP_RAN_STALE_NS (NS_PER_S / 10) /* loops write the time of their runs this often */

struct inference_pool {
    bool batch_ready;
    struct batch_limits limits;
    _Atomic int64_t loop_ran_ns; /* time when a loop last ran calls; 0: never */
    _Atomic bool yields;         /* its threads have POOL_NICE, or get it before their next run */

    pthread_mutex_t lock; /* everything below */
    pthread_cond_t work;
    struct pending_calls pending;
    /* [preparing_count] what each thread is preparing; NULL: nothing */
    struct inference_call **preparing;
    int preparing_count;
    pthread_t *threads;
    int threads_count;
    int idle_count; /* threads that wait for calls */
};

static void finish_in_loop(struct loop_task *task)
{
    struct inference_call *call = CONTAINER_OF(task, struct inference_call, task);
    bool prepared = call->prepare != NULL && call->callable != NULL;
    call->prepare = NULL;
    if (prepared && status_is_ok(call->status))
        inference_submit(call->inference, call);
    else
        call->done(call, call->status);
}

static void replace_preparing(struct inference_pool *pool, struct inference_call *from,
                              struct inference_call *to)
{
    int i = 0;
    pthread_mutex_lock(&pool->lock);
    while (i < pool->preparing_count && pool->preparing[i] != from)
        i++;
    pool->preparing[i] = to; /* there is one slot per thread */
    pthread_mutex_unlock(&pool->lock);
}

static void prepare(struct inference_pool *pool, struct inference_call *call)
{
    replace_preparing(pool, NULL, call);
    struct status status = batch_prepare(call, &pool->limits);
    call->status = status_keep(call->arena, status);
    replace_preparing(pool, call, NULL);
}

static void post_end(struct inference_call *call)
{
    call->task.work = finish_in_loop;
    loop_post(inference_loop(call->inference), &call->task);
}

/* Ends parts of split calls. Returns the calls that have ended, linked by `next` as well. */
static struct inference_call *end_parts(struct inference_call *calls)
{
    struct call_list ended = { 0 };
    for (struct inference_call *next, *call = calls; call != NULL; call = next) {
        next = call->next;
        if (call->split != NULL)
            call = batch_split_end(call);
        if (call != NULL)
            call_list_append(&ended, call);
    }
    return ended.first;
}

/* Posts the calls of the first one's loop, and returns the others. */
static struct inference_call *post_loop_ends(struct inference_call *calls)
{
    struct loop *loop = inference_loop(calls->inference);
    struct call_list others = { 0 };
    struct loop_task *last = NULL;
    for (struct inference_call *next, *call = calls; call != NULL; call = next) {
        next = call->next;
        if (inference_loop(call->inference) != loop) {
            call_list_append(&others, call);
            continue;
        }
        call->task = (struct loop_task){ .next = last, .work = finish_in_loop };
        last = &call->task;
    }
    loop_post_chain(loop, last, &calls->task);
    return others.first;
}

/* Posts the calls of one run, which are linked by `next`. Those of a loop are posted together:
 * posted one by one, the first would wake the loop, which then answered it alone, and its client's
 * next call would come alone as well. */
static void post_ends(struct inference_call *calls)
{
    calls = end_parts(calls);
    while (calls != NULL)
        calls = post_loop_ends(calls);
}

static void show_choice(struct callable *callable, const struct pending_calls *pending,
                        struct batch_target chosen)
{
    request_metrics_choice(callable, chosen.rows_max);
    log_info("model %s version %lld signature %s: --target_p99_ms=%lld: runs of up to %lld rows, "
             "which take %.1f ms; no call waits for others%s",
             callable->servable->name, (long long)callable->servable->version,
             callable->signature->name, (long long)(pending->target_ns / NS_PER_MS),
             (long long)chosen.rows_max, (double)chosen.run_ns / 1e6,
             chosen.run_ns > pending->target_ns ? "; a single row takes longer than the target"
                                                : "");
}

/* From now on lets loops run first, if one has run concurrently with this run. */
static void consider_yielding(struct inference_pool *pool, int64_t began_ns, int64_t ended_ns)
{
    int64_t loop_ran_ns = atomic_load_explicit(&pool->loop_ran_ns, memory_order_relaxed);
    if (ended_ns - began_ns < LONG_RUN_NS || loop_ran_ns == 0 ||
        began_ns - loop_ran_ns > BESIDE_NS || atomic_exchange(&pool->yields, true))
        return;
    log_info(
        "requests that take more than %d ms run at nice %d from now on, so that the requests of "
        "less than %.1f ms that arrive meanwhile need not wait",
        (int)(LONG_RUN_NS / NS_PER_MS), POOL_NICE, INFERENCE_LOOP_COST_MAX_NS / 1e6);
}

static void yield_if_wanted(const struct inference_pool *pool)
{
    static _Thread_local bool yields;
    if (yields || !atomic_load_explicit(&pool->yields, memory_order_relaxed))
        return;
    yields = true;
    parallel_lower_priority(POOL_NICE);
}

static void run(struct inference_pool *pool, const struct taken_calls *taken)
{
    int64_t began_ns = clock_now_ns(clock_monotonic());
    yield_if_wanted(pool);
    if (taken->chosen.rows_max > 0)
        show_choice(taken->first->callable, &pool->pending, taken->chosen);
    if (taken->first->prepare != NULL)
        prepare(pool, taken->first);
    else if (taken->queue->batching != NULL)
        batch_run_merged(taken->first, &pool->limits);
    else
        batch_run(taken->first, &pool->limits, 0);
    int64_t now_ns = clock_now_ns(clock_monotonic());
    if (!atomic_load_explicit(&pool->yields, memory_order_relaxed))
        consider_yielding(pool, began_ns, now_ns);
    pthread_mutex_lock(&pool->lock);
    pending_calls_end(&pool->pending, taken, now_ns);
    pthread_mutex_unlock(&pool->lock);
    post_ends(taken->first);
}

static void wait_until(struct inference_pool *pool, int64_t until_ns)
{
    struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
                              .tv_nsec = (long)(until_ns % NS_PER_S) };
    if (until_ns == CLOCK_NEVER)
        pthread_cond_wait(&pool->work, &pool->lock);
    else
        pthread_cond_timedwait(&pool->work, &pool->lock, &until);
}

/* Waits for calls that may run; first NULL: the pool is stopping, and this thread has no calls
 * left to run. */
static struct taken_calls wait_for_calls(struct inference_pool *pool)
{
    struct taken_calls taken;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        int64_t now_ns = clock_now_ns(clock_monotonic());
        taken = pending_calls_take(&pool->pending, now_ns);
        if (taken.first != NULL || pool->limits.stopping)
            break;
        parallel_pause();
        pool->idle_count++;
        wait_until(pool, pending_calls_ready_ns(&pool->pending, now_ns));
        pool->idle_count--;
        parallel_resume();
    }
    /* A thread may sleep because a queue had reached its limit of threads, which has changed.
     * Another one has to wait for the next batch instead of this one. */
    if (pending_calls_ready_ns(&pool->pending, 0) != CLOCK_NEVER)
        pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

/* A thread with more calls keeps its processor between them. Otherwise another thread's helper
 * would occupy it and compete with the next run. */
static void *work(void *context)
{
    struct taken_calls taken;
    parallel_enter();
    while ((taken = wait_for_calls(context)).first != NULL)
        run(context, &taken);
    parallel_leave();
    return NULL;
}

static struct status start_threads(struct inference_pool *pool, int count)
{
    pool->threads = zalloc((size_t)count * sizeof *pool->threads);
    pool->preparing = zalloc((size_t)count * sizeof(struct inference_call *));
    pool->preparing_count = count;
    for (int i = 0; i < count; i++) {
        int error = pthread_create(&pool->threads[i], NULL, work, pool);
        if (error != 0)
            return status_errno(error, "start a thread of the pool");
        pool->threads_count++;
    }
    return status_ok();
}

struct status inference_pool_create(const struct inference_options *options,
                                    struct inference_pool **out)
{
    struct inference_pool *pool = zalloc(sizeof *pool);
    pool->batch_ready = options->batch_ready;
    pool->limits.run_memory_bytes = options->run_memory_limit_bytes;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int count = options->threads > 0 ? options->threads : cores_available();
    pool->pending = (struct pending_calls){ .batch = options->batch_ready,
                                            .running_max = count,
                                            .target_ns = options->target_p99_ns,
                                            .batches_max = options->batch_threads };
    if (count < options->batch_threads)
        count = options->batch_threads;
    /* one more than a callable may use */
    struct status status = start_threads(pool, count + 1);
    if (status_is_ok(status))
        *out = pool;
    else
        inference_pool_destroy(pool);
    return status;
}

bool inference_pool_batches_ready(const struct inference_pool *pool)
{
    return pool->batch_ready;
}

const struct batch_limits *inference_pool_limits(const struct inference_pool *pool)
{
    return &pool->limits;
}

int inference_pool_threads(const struct inference_pool *pool)
{
    return pool->threads_count;
}

int inference_pool_queued(struct inference_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    int count = pending_calls_count(&pool->pending);
    pthread_mutex_unlock(&pool->lock);
    return count;
}

bool inference_pool_has_idle_thread(struct inference_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool has_one = pool->idle_count > pending_calls_count(&pool->pending);
    pthread_mutex_unlock(&pool->lock);
    return has_one;
}

void inference_pool_note_loop_ran(struct inference_pool *pool, int64_t now_ns)
{
    if (now_ns - atomic_load_explicit(&pool->loop_ran_ns, memory_order_relaxed) > LOOP_RAN_STALE_NS)
        atomic_store_explicit(&pool->loop_ran_ns, now_ns, memory_order_relaxed);
}

bool inference_pool_forms_batch(const struct inference_call *call)
{
    return call->prepare == NULL && call->callable->queue.batching != NULL;
}

/* Returns the calls that their queue refused, linked by `next` as well. */
static struct inference_call *add_to_queue(struct inference_pool *pool,
                                           struct inference_call *calls)
{
    struct inference_call *refused = NULL;
    int64_t now_ns = clock_now_ns(clock_monotonic());
    pthread_mutex_lock(&pool->lock);
    for (struct inference_call *next, *call = calls; call != NULL; call = next) {
        next = call->next;
        struct status status = status_ok();
        if (inference_pool_forms_batch(call))
            status = batch_queue_check_inputs(call);
        if (status_is_ok(status))
            status = pending_calls_add(&pool->pending, call, now_ns);
        if (status_is_ok(status))
            continue;
        call->status = status_keep(call->arena, status);
        call->next = refused;
        refused = call;
    }
    pthread_cond_signal(&pool->work); /* a thread that leaves calls behind wakes the next one */
    pthread_mutex_unlock(&pool->lock);
    return refused;
}

void inference_pool_submit(struct inference_pool *pool, struct inference_call *calls)
{
    for (struct inference_call *call = calls; call != NULL; call = call->next)
        call->to_pool(call);
    struct inference_call *refused = add_to_queue(pool, calls);
    for (struct inference_call *next; refused != NULL; refused = next) {
        next = refused->next;
        post_end(refused); /* `done` is not called before this returns */
    }
}

void inference_pool_stop(struct inference_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->limits.stopping, true);
    for (int i = 0; i < pool->preparing_count; i++)
        if (pool->preparing[i] != NULL)
            inference_cancel(pool->preparing[i]);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads_count; i++)
        pthread_join(pool->threads[i], NULL);
    pool->threads_count = 0;
}

void inference_pool_end_queue(struct inference_pool *pool)
{
    struct status status = status_error(STATUS_UNAVAILABLE, "the server is going down");
    struct inference_call *call;
    while ((call = pending_calls_drop(&pool->pending)) != NULL) {
        call->status = status;
        if (call->split != NULL)
            call = batch_split_end(call);
        if (call != NULL)
            call->done(call, status);
    }
}

void inference_pool_destroy(struct inference_pool *pool)
{
    if (pool == NULL)
        return;
    inference_pool_stop(pool);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool->preparing);
    free(pool);
}
