#include "server/inference/inference.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/container.h"
#include "base/cores.h"
#include "base/log.h"
#include "base/parallel.h"
#include "server/inference/batch.h"
#include "server/inference/batch_queue.h"
#include "server/inference/batch_split.h"
#include "server/inference/pending_calls.h"
#include "server/inference/request_metrics.h"

#define LOOP_COST_MAX_NS  200000 /* calls that cost more go to the pool */
/* A run of one or many calls that takes longer also goes to the pool. */
#define LOOP_RUN_MAX_NS   1000000
#define ROUND_COST_MAX_NS 1000000 /* of all runs of a round */
#define CHEAP_NS          10000   /* a cheaper run costs no more than the overhead around it */
/* Limit of the inputs of cheap runs in a round, which must stay in the L2 cache. */
#define CHEAP_BYTES_MAX   81920

/* When requests that run in a loop coincide with pool runs that take longer than LONG_RUN_NS,
 * the pool's priority is lowered for good. At equal priority, a loop that has just run for 0.2
 * ms waits for the kernel's next tick, 4 ms later: on one core, the p99 of mlp beside ResNet-50
 * was 4.2 ms, and is 0.5 ms with this value (1.7 ms with 5). */
#define POOL_NICE         10
#define LONG_RUN_NS       (2 * NS_PER_MS)
#define BESIDE_NS         NS_PER_S        /* how long a run in a loop counts as recent */
#define LOOP_RAN_STALE_NS (NS_PER_S / 10) /* loops write the time of their runs this often */

struct inference {
    struct inference_pool *pool;
    struct loop *loop;
    struct call_list round;
    int waiting;
    int calls_max; /* limit of the calls that wait in a round; inference_expect */
    bool running;  /* `done` may submit further calls, which wait for the next round */
    int64_t round_rows, round_cost_ns;
    size_t cheap_bytes; /* inputs of the cheap runs in the round */
};

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

/* ---- The pool. ---- */

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
    loop_post(call->inference->loop, &call->task);
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
    log_info("requests that take more than %d ms have come beside requests that take less than "
             "%.1f ms; from now on, the former run at nice %d, so that the latter need not wait",
             (int)(LONG_RUN_NS / NS_PER_MS), LOOP_COST_MAX_NS / 1e6, POOL_NICE);
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
    for (struct inference_call *next, *call = taken->first; call != NULL; call = next) {
        next = call->next; /* once it is posted, the call belongs to its owner again */
        if (call->split != NULL)
            call = batch_split_end(call);
        if (call != NULL)
            post_end(call);
    }
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

static struct status add_to_queue(struct inference_pool *pool, struct inference_call *call)
{
    int64_t now_ns = clock_now_ns(clock_monotonic());
    pthread_mutex_lock(&pool->lock);
    struct status status = pending_calls_add(&pool->pending, call, now_ns);
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static bool forms_batch(const struct inference_call *call)
{
    return call->prepare == NULL && call->callable->queue.batching != NULL;
}

static void submit_to_pool(struct inference *inference, struct inference_call *call)
{
    struct status status = status_ok();
    call->inference = inference;
    call->to_pool(call);
    if (forms_batch(call))
        status = batch_queue_check_inputs(call);
    if (status_is_ok(status))
        status = add_to_queue(inference->pool, call);
    if (status_is_ok(status))
        return;
    call->status = status_keep(call->arena, status);
    post_end(call); /* `done` is not called before this returns */
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

int inference_pool_threads(const struct inference_pool *pool)
{
    return pool->threads_count;
}

void inference_pool_stop(struct inference_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->limits.stopping, true);
    for (int i = 0; i < pool->preparing_count; i++)
        if (pool->preparing[i] != NULL)
            inference_leave(pool->preparing[i]);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads_count; i++)
        pthread_join(pool->threads[i], NULL);
    pool->threads_count = 0;
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

/* ---- The round. ---- */

struct inference *inference_create(struct inference_pool *pool, struct loop *loop)
{
    struct inference *inference = zalloc(sizeof *inference);
    inference->pool = pool;
    inference->loop = loop;
    return inference;
}

/* Ends the calls that were submitted after the threads had ended, from any loop. */
static void end_queue(struct inference_pool *pool)
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

void inference_destroy(struct inference *inference)
{
    if (inference == NULL)
        return;
    loop_run_posted(inference->loop);
    inference_run(inference); /* ends the calls of the last round, because the pool is stopping */
    end_queue(inference->pool);
    free(inference);
}

/* Estimates the cost of the call. It is unknown if rows are not proven independent for these
 * shapes. */
static void estimate(struct inference_call *call)
{
    const struct callable *callable = call->callable;
    int count = callable->signature->inputs_count;
    call->rows = call->cost_ns = 0;
    call->size = (struct cost_key){ 0 };
    if (call->profile != NULL || !callable->predictable ||
        !plan_rows_fit(callable->plan, call->inputs))
        return;
    call->rows = call->inputs[0].shape.dims[0];
    call->bytes = cost_bytes(call->inputs, count);
    call->size = cost_key_of(call->inputs, count, call->bytes, call->rows);
    call->cost_ns = cost_find(&callable->costs, call->size);
}

static void begin_round(struct inference *inference)
{
    inference->waiting = 0;
    inference->round_rows = inference->round_cost_ns = 0;
    inference->cheap_bytes = 0;
}

static void add_to_round(struct inference *inference, struct inference_call *call)
{
    call_list_append(&inference->round, call);
    inference->waiting++;
    inference->round_rows += call->size.rows;
    inference->round_cost_ns += call->cost_ns; /* an upper bound: it costs less in a batch */
    if (call->cost_ns < CHEAP_NS)
        inference->cheap_bytes += call->bytes;
}

void inference_forget(struct inference *inference, struct inference_call *call)
{
    struct inference_call *calls = inference->round.first;
    inference->round = (struct call_list){ 0 };
    begin_round(inference);
    for (struct inference_call *next; calls != NULL; calls = next) {
        next = calls->next;
        if (calls != call)
            add_to_round(inference, calls);
    }
}

int inference_pool_queued(struct inference_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    int count = pending_calls_count(&pool->pending);
    pthread_mutex_unlock(&pool->lock);
    return count;
}

bool inference_has_idle_thread(const struct inference *inference)
{
    struct inference_pool *pool = inference->pool;
    pthread_mutex_lock(&pool->lock);
    bool has_one = pool->idle_count > pending_calls_count(&pool->pending);
    pthread_mutex_unlock(&pool->lock);
    return has_one;
}

int inference_waiting(const struct inference *inference)
{
    return inference->waiting;
}

void inference_expect(struct inference *inference, int calls_max)
{
    inference->calls_max = calls_max;
}

void inference_expect_more(struct inference *inference, int calls)
{
    if (inference != NULL)
        inference->calls_max += calls;
}

bool inference_is_complete(const struct inference *inference)
{
    return inference->waiting >= inference->calls_max;
}

bool inference_is_full(const struct inference *inference)
{
    return inference->round_rows >= BATCH_ROWS_MAX || inference->cheap_bytes >= CHEAP_BYTES_MAX ||
           (inference->round_cost_ns >= ROUND_COST_MAX_NS && !inference->pool->batch_ready);
}

/* Calls that are cheap one by one may be expensive together. */
static bool fits_in_loop(const struct inference_call *calls)
{
    struct cost_key size = { 0, calls->size.shape };
    for (const struct inference_call *call = calls; call != NULL; call = call->next)
        size.rows += call->size.rows;
    return calls->next == NULL || cost_find(&calls->callable->costs, size) <= LOOP_RUN_MAX_NS;
}

static void note_loop_ran(const struct inference *inference)
{
    int64_t now_ns = loop_now_ns(inference->loop);
    _Atomic int64_t *ran_ns = &inference->pool->loop_ran_ns;
    if (now_ns - atomic_load_explicit(ran_ns, memory_order_relaxed) > LOOP_RAN_STALE_NS)
        atomic_store_explicit(ran_ns, now_ns, memory_order_relaxed);
}

static void run_in_loop(struct inference *inference, struct inference_call *calls)
{
    inference->running = true;
    bool stopping = atomic_load(&inference->pool->limits.stopping);
    bool runs = stopping || fits_in_loop(calls);
    if (runs) {
        batch_run(calls, &inference->pool->limits, LOOP_RUN_MAX_NS);
        if (!calls->unfinished)
            note_loop_ran(inference);
    }
    for (struct inference_call *next; calls != NULL; calls = next) {
        next = calls->next;
        if (runs && !calls->unfinished)
            calls->done(calls, calls->status);
        else
            submit_to_pool(inference, calls);
    }
    inference->running = false;
}

void inference_run(struct inference *inference)
{
    while (inference->round.first != NULL)
        run_in_loop(inference,
                    call_list_take_batch(&inference->round,
                                         inference->pool->batch_ready ? BATCH_ROWS_MAX : 0));
    begin_round(inference);
}

static void join_round(struct inference *inference, struct inference_call *call)
{
    add_to_round(inference, call);
    if (call->at_once && !inference->running && inference_is_complete(inference))
        inference_run(inference);
}

void inference_submit(struct inference *inference, struct inference_call *call)
{
    bool in_batch = forms_batch(call);
    if (call->prepare == NULL && !in_batch)
        estimate(call);
    if (in_batch || call->prepare != NULL || call->cost_ns == 0 || call->cost_ns > LOOP_COST_MAX_NS)
        submit_to_pool(inference, call);
    else
        join_round(inference, call);
}
