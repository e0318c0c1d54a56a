#include "server/inference/inference.h"

#include <stdlib.h>

#include "server/inference/batch.h"
#include "server/inference/inference_pool.h"
#include "server/inference/pending_calls.h"

/* Calls that take longer together go to the pool. */
#define LOOP_RUN_MAX_NS   1000000
/* A run that takes longer stops, and its calls run again in the pool. Twice the estimate, because
 * what has been computed is lost. */
#define LOOP_RUN_STOP_NS  2000000
#define ROUND_COST_MAX_NS 1000000 /* of all runs of a round */
#define CHEAP_NS          10000   /* a cheaper run costs no more than the overhead around it */
/* Limit of the inputs of cheap runs in a round, which must stay in the L2 cache. */
#define CHEAP_BYTES_MAX   81920

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

struct inference *inference_create(struct inference_pool *pool, struct loop *loop)
{
    struct inference *inference = zalloc(sizeof *inference);
    inference->pool = pool;
    inference->loop = loop;
    return inference;
}

void inference_destroy(struct inference *inference)
{
    if (inference == NULL)
        return;
    loop_run_posted(inference->loop);
    inference_run(inference); /* ends the calls of the last round, because the pool is stopping */
    inference_pool_end_queue(inference->pool);
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

bool inference_has_idle_thread(const struct inference *inference)
{
    return inference_pool_has_idle_thread(inference->pool);
}

struct loop *inference_loop(const struct inference *inference)
{
    return inference->loop;
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
           (inference->round_cost_ns >= ROUND_COST_MAX_NS &&
            !inference_pool_batches_ready(inference->pool));
}

/* Calls that are cheap one by one may be expensive together. */
static bool fits_in_loop(const struct inference_call *calls)
{
    struct cost_key size = { 0, calls->size.shape };
    for (const struct inference_call *call = calls; call != NULL; call = call->next)
        size.rows += call->size.rows;
    return calls->next == NULL || cost_find(&calls->callable->costs, size) <= LOOP_RUN_MAX_NS;
}

static void run_in_loop(struct inference *inference, struct inference_call *calls)
{
    inference->running = true;
    bool stopping = atomic_load(&inference_pool_limits(inference->pool)->stopping);
    bool runs = stopping || fits_in_loop(calls);
    if (runs) {
        batch_run(calls, inference_pool_limits(inference->pool), LOOP_RUN_STOP_NS);
        if (!calls->unfinished)
            inference_pool_note_loop_ran(inference->pool, loop_now_ns(inference->loop));
    }
    struct call_list unfinished = { 0 };
    for (struct inference_call *next; calls != NULL; calls = next) {
        next = calls->next;
        if (runs && !calls->unfinished)
            calls->done(calls, calls->status);
        else
            call_list_append(&unfinished, calls);
    }
    if (unfinished.first != NULL)
        inference_pool_submit(inference->pool, unfinished.first);
    inference->running = false;
}

void inference_run(struct inference *inference)
{
    while (inference->round.first != NULL)
        run_in_loop(inference, call_list_take_batch(&inference->round,
                                                    inference_pool_batches_ready(inference->pool)
                                                        ? BATCH_ROWS_MAX
                                                        : 0));
    begin_round(inference);
}

static void join_round(struct inference *inference, struct inference_call *call)
{
    add_to_round(inference, call);
    if (call->at_once && !inference->running && inference_is_complete(inference))
        inference_run(inference);
}

/* Do calls that loops could have run wait in the pool, or run there? */
static bool has_cheap_in_pool(const struct callable *callable)
{
    return atomic_load_explicit(&callable->queue.cheap_count, memory_order_relaxed) > 0;
}

void inference_submit(struct inference *inference, struct inference_call *call)
{
    call->inference = inference;
    call->next = NULL;
    bool in_batch = inference_pool_forms_batch(call);
    if (call->prepare == NULL && !in_batch)
        estimate(call);
    if (in_batch || call->prepare != NULL || !inference_is_cheap(call) ||
        has_cheap_in_pool(call->callable))
        inference_pool_submit(inference->pool, call);
    else
        join_round(inference, call);
}
