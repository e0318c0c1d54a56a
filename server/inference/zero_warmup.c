#include "server/inference/zero_warmup.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/inference/batch.h"

/* Larger inputs are not generated, because a file may declare any shape. */
#define INPUT_BYTES_MAX ((size_t)64 << 20)

static struct status make_zeros(const struct signature_tensor *input, struct arena *arena,
                                struct tensor *out)
{
    struct shape shape = input->shape;
    size_t element_bytes = dtype_size(input->dtype);
    void *data;
    if (shape.rank < 0 || element_bytes == 0)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "input '%s' does not tell its shape or its dtype", input->key);
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 0)
            shape.dims[i] = 1;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    *out = tensor_borrow(input->dtype, &shape, NULL);
    if ((size_t)out->size > INPUT_BYTES_MAX / element_bytes)
        return status_error(STATUS_FAILED_PRECONDITION, "input '%s' is %s, which is large",
                            input->key, shape_text(&shape));
    TRY(arena_reserve(arena, tensor_bytes(out), &data));
    memset(data, 0, tensor_bytes(out)); /* a string of zero bytes is an empty string */
    out->data = data;
    return status_ok();
}

static struct status drop_answer(struct inference_call *call, const struct tensor *outputs)
{
    (void)call;
    (void)outputs;
    return status_ok();
}

/* Sets the key under which the cost table records the run. */
static void describe_size(struct inference_call *call)
{
    const struct callable *callable = call->callable;
    if (!plan_rows_fit(callable->plan, call->inputs))
        return;
    call->rows = call->inputs[0].shape.dims[0];
    call->bytes = cost_bytes(call->inputs, callable->signature->inputs_count);
    call->size =
        cost_key_of(call->inputs, callable->signature->inputs_count, call->bytes, call->rows);
}

static struct status run_callable(struct callable *callable, const struct work_limits *limits,
                                  struct arena *arena)
{
    const struct signature *signature = callable->signature;
    struct tensor *inputs = ARENA_ARRAY(arena, struct tensor, signature->inputs_count);
    struct batch_limits batch = { .run_memory_bytes = limits->memory_bytes, .load = limits };
    struct inference_call call = {
        .callable = callable,
        .inputs = inputs,
        .arena = arena,
        .answer = drop_answer,
    };
    if (limits->timeout_ms > 0)
        call.deadline_ns = clock_deadline_ns(clock_monotonic(), limits->timeout_ms);
    for (int i = 0; i < signature->inputs_count; i++)
        TRY(make_zeros(&signature->inputs[i], arena, &inputs[i]));
    describe_size(&call);
    batch_run(&call, &batch, 0);
    return call.status;
}

void zero_warmup(struct servable *servable, struct budget *budget, const struct work_limits *limits)
{
    for (int i = 0; i < servable->callables_count; i++) {
        struct callable *callable = &servable->callables[i];
        if (!callable->predictable || !signature_is_callable(callable->signature))
            continue;
        if (!status_is_ok(limits->check(limits->context)))
            return;
        struct arena *arena = arena_create(0);
        arena_charge(arena, budget);
        struct status status = run_callable(callable, limits, arena);
        if (!status_is_ok(status))
            log_debug("model %s version %lld: signature %s: its run with zeros: %s", servable->name,
                      (long long)servable->version, callable->signature->name, status.message);
        arena_destroy(arena);
    }
}
