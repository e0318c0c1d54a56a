#include "server/inference/batch.h"

#include <string.h>

#include "base/clock.h"
#include "server/inference/batch_merge.h"
#include "server/inference/batch_metrics.h"
#include "server/inference/batch_split.h"
#include "server/inference/request_metrics.h"
#include "server/models/model_limits.h"

bool batch_fits(const struct inference_call *a, const struct inference_call *b)
{
    if (a->callable != b->callable || !a->callable->batches || a->rows == 0 || b->rows == 0)
        return false;
    for (int i = 0; i < a->callable->signature->inputs_count; i++) {
        const struct shape *x = &a->inputs[i].shape, *y = &b->inputs[i].shape;
        if (a->inputs[i].dtype != b->inputs[i].dtype || x->rank != y->rank ||
            memcmp(x->dims + 1, y->dims + 1, (size_t)(x->rank - 1) * sizeof x->dims[0]) != 0)
            return false;
    }
    return true;
}

/* A view of rows of an output, which the batch still owns. */
static struct tensor rows_of(const struct tensor *output, int64_t start, int64_t rows)
{
    struct shape shape = output->shape;
    shape.dims[0] = rows;
    struct tensor view = tensor_borrow(output->dtype, &shape, output->data);
    if (view.size > 0) /* a tensor without elements may have no data to point into */
        view.data = (char *)view.data + tensor_bytes(&view) / (size_t)rows * (size_t)start;
    return view;
}

/* Answers one call with its rows of every output. */
static struct status answer_rows(struct inference_call *call, const struct tensor *outputs,
                                 int64_t start, int64_t total)
{
    int count = signature_computed_outputs(call->callable->signature);
    struct tensor *parts = ARENA_ARRAY(call->arena, struct tensor, count);
    struct status status = status_ok();
    for (int i = 0; i < count && status_is_ok(status); i++) {
        if (outputs[i].shape.rank == 0 || outputs[i].shape.dims[0] != total)
            status = status_error(STATUS_INTERNAL, "output '%s' of a batch of %lld is %s",
                                  call->callable->signature->outputs[i].key, (long long)total,
                                  shape_text(&outputs[i].shape));
        else
            parts[i] = rows_of(&outputs[i], start, call->rows);
    }
    if (status_is_ok(status))
        status = call->answer(call, parts);
    return status;
}

/* The calls that share one run: a list, up to `end`. */
struct run_calls {
    struct inference_call *first, *end;
    const struct batch_limits *limits;
    int64_t run_ns;  /* how long the run may take; 0: no limit */
    int64_t stop_ns; /* the end of that time; 0: never */
};

static int64_t latest_deadline(const struct run_calls *run_calls)
{
    int64_t latest = run_calls->first->deadline_ns;
    for (const struct inference_call *call = run_calls->first; call != run_calls->end;
         call = call->next) {
        if (call->deadline_ns == 0)
            return 0;
        if (call->deadline_ns > latest)
            latest = call->deadline_ns;
    }
    return latest;
}

/* Does any call still need the outcome? */
static struct status check_wanted(const struct run_calls *run_calls)
{
    if (atomic_load_explicit(&run_calls->limits->stopping, memory_order_relaxed))
        return status_error(STATUS_UNAVAILABLE, "the server is going down");
    if (run_calls->limits->load != NULL)
        TRY(run_calls->limits->load->check(run_calls->limits->load->context));
    for (const struct inference_call *call = run_calls->first; call != run_calls->end;
         call = call->next)
        if (!batch_split_is_cancelled(call))
            return status_ok();
    return status_error(STATUS_CANCELLED, "the client cancelled the request or disconnected");
}

struct status batch_prepare(struct inference_call *call, const struct batch_limits *limits)
{
    struct run_calls alone = { call, call->next, limits, .run_ns = 0 };
    TRY(check_wanted(&alone));
    struct status status = call->prepare(call);
    TRY(check_wanted(&alone)); /* it may have been cancelled in the meantime */
    return status;
}

static struct status check_time(const struct run_calls *run_calls)
{
    if (run_calls->stop_ns == 0 || clock_now_ns(clock_monotonic()) < run_calls->stop_ns)
        return status_ok();
    for (struct inference_call *call = run_calls->first; call != run_calls->end; call = call->next)
        call->unfinished = true;
    return status_error(STATUS_ABORTED, "the run takes longer than the loop has time for");
}

static struct status check_run(const void *run_calls)
{
    TRY(check_wanted(run_calls));
    return check_time(run_calls);
}

static void measure(const struct inference_call *first, int64_t rows, int64_t took_ns)
{
    struct cost_key key = { rows > 0 ? rows : 1, first->size.shape };
    if (first->size.rows > 0)
        cost_add(&first->callable->costs, key, took_ns);
}

static void note_times(const struct run_calls *run_calls, int64_t began_ns, int64_t ended_ns)
{
    for (struct inference_call *call = run_calls->first; call != run_calls->end;
         call = call->next) {
        call->run_began_ns = began_ns;
        call->run_ended_ns = ended_ns;
    }
}

static void stop_waiting(const struct run_calls *run_calls)
{
    for (struct inference_call *call = run_calls->first; call != run_calls->end; call = call->next)
        batch_split_stop_waiting(call);
}

static struct status has_expired(const struct callable *callable)
{
    if (callable->queue.batching != NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "Run() timeout exceeded while waiting in batching queue");
    return status_error(STATUS_DEADLINE_EXCEEDED, "the deadline passed before the model ran");
}

/* Runs the plan, unless all calls have become unwanted while they waited. */
static struct status run_plan(struct run_calls *run_calls, int64_t rows, struct run *run,
                              const struct tensor *feeds, struct tensor *outputs)
{
    struct callable *callable = run_calls->first->callable;
    int64_t deadline_ns = latest_deadline(run_calls);
    int64_t begin = clock_now_ns(clock_monotonic());
    if (deadline_ns != 0 && begin > deadline_ns)
        return has_expired(callable);
    TRY(check_wanted(run_calls));
    stop_waiting(run_calls);
    run_set_deadline(run, (uint64_t)deadline_ns);
    run_calls->stop_ns = run_calls->run_ns > 0 ? begin + run_calls->run_ns : 0;
    run_set_check(run, check_run, run_calls);
    run_set_profile(run, run_calls->first->profile);
    struct status status = plan_run(callable->plan, run, feeds, outputs);
    run_set_profile(run, NULL);
    run_set_check(run, NULL, NULL);
    int64_t end = clock_now_ns(clock_monotonic());
    note_times(run_calls, begin, end);
    request_metrics_run(callable, run_calls->limits->load == NULL ? rows : 0, end - begin);
    /* unfinished: it costs at least as much */
    if (status_is_ok(status) || run_calls->first->unfinished)
        measure(run_calls->first, rows, end - begin);
    return status;
}

/* Copies inputs that are unaligned in the message. */
static struct status align_inputs(struct inference_call *call)
{
    int count = call->callable->signature->inputs_count;
    struct tensor *inputs = NULL;
    for (int i = 0; i < count; i++) {
        void *copy;
        if (tensor_is_aligned(&call->inputs[i]))
            continue;
        if (inputs == NULL) {
            inputs = ARENA_ARRAY(call->arena, struct tensor, count);
            memcpy(inputs, call->inputs, (size_t)count * sizeof *inputs);
        }
        size_t size = tensor_bytes(&inputs[i]);
        TRY(arena_reserve(call->arena, size, &copy));
        memcpy(copy, inputs[i].data, size);
        inputs[i] = tensor_borrow(inputs[i].dtype, &inputs[i].shape, copy);
    }
    if (inputs != NULL)
        call->inputs = inputs;
    return status_ok();
}

static struct status run_one(struct inference_call *call, const struct batch_limits *limits,
                             int64_t run_ns, struct run *run)
{
    int count = signature_computed_outputs(call->callable->signature);
    struct tensor *outputs = ARENA_ARRAY(call->arena, struct tensor, count);
    struct run_calls alone = { call, call->next, limits, .run_ns = run_ns };
    TRY(align_inputs(call));
    TRY(run_plan(&alone, call->rows, run, call->inputs, outputs));
    struct status status = call->answer(call, outputs);
    tensors_release(count, outputs);
    return status;
}

/* With --enable_batching, models whose rows are not proven independent are batched too. */
static struct status check_outputs(const struct callable *callable, const struct tensor *outputs,
                                   int64_t rows)
{
    int count = signature_computed_outputs(callable->signature);
    for (int i = 0; i < count; i++) {
        const struct shape *shape = &outputs[i].shape;
        if (shape->rank == 0)
            return status_error(STATUS_FAILED_PRECONDITION,
                                "Batched output tensor has 0 dimensions");
        if (shape->rank < 0 || shape->dims[0] != rows)
            return status_error(STATUS_FAILED_PRECONDITION,
                                "Batched output tensor's 0th dimension does not equal the sum of "
                                "the 0th dimension sizes of the input tensors");
    }
    return status_ok();
}

static void answer_all(struct inference_call *calls, const struct tensor *outputs, int64_t rows)
{
    int64_t start = 0;
    for (struct inference_call *call = calls; call != NULL; call = call->next) {
        call->status = status_keep(call->arena, answer_rows(call, outputs, start, rows));
        start += call->rows;
    }
}

struct batch_size {
    int64_t rows, padding; /* padding: rows that belong to no call */
};

/* Runs all calls as one. A failure does not reveal which call caused it. */
static struct status run_together(struct inference_call *calls, struct batch_size size,
                                  const struct batch_limits *limits, int64_t run_ns,
                                  struct run *run)
{
    const struct callable *callable = calls->callable;
    const struct signature *signature = callable->signature;
    struct tensor *feeds = ARENA_ARRAY(calls->arena, struct tensor, signature->inputs_count);
    struct tensor *outputs = ARENA_ARRAY(calls->arena, struct tensor, signature->outputs_count);
    struct run_calls all = { calls, NULL, limits, .run_ns = run_ns };
    struct status status = status_ok();
    for (int i = 0; i < signature->inputs_count && status_is_ok(status); i++)
        status = batch_merge(calls, i, size.rows, size.padding, run, &feeds[i]);
    if (status_is_ok(status))
        status = run_plan(&all, size.rows + size.padding, run, feeds, outputs);
    if (status_is_ok(status)) {
        if (callable->queue.batching != NULL)
            status = check_outputs(callable, outputs, size.rows + size.padding);
        if (status_is_ok(status))
            answer_all(calls, outputs, size.rows + size.padding);
        tensors_release(signature->outputs_count, outputs);
    }
    tensors_release(signature->inputs_count, feeds);
    return status;
}

/* The gate with the memory limit for a run of the model; NULL: the server's limit applies. */
static const struct model_gate *memory_gate(const struct callable *callable,
                                            const struct batch_limits *limits)
{
    const struct model_gate *gate = callable->servable != NULL ? callable->servable->gate : NULL;
    size_t own = gate != NULL ? gate->limits.max_run_bytes : 0, all = limits->run_memory_bytes;
    return own != 0 && (all == 0 || own < all) ? gate : NULL;
}

/* The memory limit of a run. */
static size_t run_memory_bytes(const struct callable *callable, const struct batch_limits *limits)
{
    const struct model_gate *gate = memory_gate(callable, limits);
    return gate != NULL ? gate->limits.max_run_bytes : limits->run_memory_bytes;
}

/* Keeps the failure of a run. Memory may also be short in the whole server. */
static void keep_failure(struct inference_call *call, const struct batch_limits *limits,
                         const struct run *run, struct status status)
{
    const struct model_gate *gate = memory_gate(call->callable, limits);
    if (gate != NULL && run_hit_limit(run))
        status = model_gate_name_memory(gate, status);
    call->status = status_keep(call->arena, status);
}

static int64_t rows_of_all(const struct inference_call *calls)
{
    int64_t rows = 0;
    for (const struct inference_call *call = calls; call != NULL; call = call->next)
        rows += call->rows;
    return rows;
}

void batch_run_merged(struct inference_call *calls, const struct batch_limits *limits)
{
    struct callable *callable = calls->callable;
    struct run *run = callable_take_run(callable, run_memory_bytes(callable, limits));
    struct batch_size size = { .rows = rows_of_all(calls) };
    if (size.rows > 0)
        size.padding = batching_round_up(callable->queue.batching, size.rows) - size.rows;
    batch_metrics_run(calls, size.rows, size.padding);
    struct status status = run_together(calls, size, limits, 0, run);
    for (struct inference_call *call = calls; call != NULL && !status_is_ok(status);
         call = call->next)
        keep_failure(call, limits, run, status);
    callable_give_run(callable, run);
}

void batch_run(struct inference_call *calls, const struct batch_limits *limits, int64_t run_ns)
{
    struct callable *callable = calls->callable;
    struct run *run = callable_take_run(callable, run_memory_bytes(callable, limits));
    struct batch_size size = { .rows = rows_of_all(calls) };
    for (struct inference_call *call = calls; call != NULL; call = call->next)
        call->unfinished = false;
    bool ran = calls->next != NULL && status_is_ok(run_together(calls, size, limits, run_ns, run));
    for (struct inference_call *call = calls; !ran && call != NULL; call = call->next) {
        run_reset(run);
        if (!call->unfinished) /* it was stopped together with the others */
            keep_failure(call, limits, run, run_one(call, limits, run_ns, run));
    }
    callable_give_run(callable, run);
}
