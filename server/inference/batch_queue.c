#include "server/inference/batch_queue.h"

#include "base/clock.h"
#include "server/inference/batch_split.h"
#include "server/inference/pending_calls.h"

struct status batch_queue_check_inputs(struct inference_call *call)
{
    int count = call->callable->signature->inputs_count;
    if (count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Batching Run() must have at least one input tensor");
    for (int i = 0; i < count; i++) {
        const struct shape *shape = &call->inputs[i].shape;
        if (shape->rank == SHAPE_PACKED)
            return status_error(STATUS_UNIMPLEMENTED,
                                "input '%s' has more than %d dimensions, which are not batched",
                                call->callable->signature->inputs[i].key, SHAPE_RANK_MAX);
        if (shape->rank < 1)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Batching Run() input tensors must have at least one dimension");
        if (i > 0 && shape->dims[0] != call->rows)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Batching Run() input tensors must have equal 0th-dimension size");
        call->rows = shape->dims[0];
    }
    return status_ok();
}

/* ---- capacity ---- */

static int64_t batches_of(const struct call_queue *queue)
{
    return queue->open_batch - queue->first_batch + 1;
}

#define FULL "The batch scheduling queue to which this task was submitted is full; "

static struct status check_room(const struct call_queue *queue, int64_t rows)
{
    const struct batching *batching = queue->batching;
    long long batches = batches_of(queue);
    if (rows > batching->rows_max)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Task size %lld is larger than maximum input batch size %lld",
                            (long long)rows, (long long)batching->rows_max);
    if (batching->splits) {
        int64_t room;
        int64_t more = batching->batches_max - batches;
        if (__builtin_mul_overflow(more, batching->run_rows_max, &room))
            room = INT64_MAX / 2;
        room += batching->run_rows_max - queue->open_rows;
        if (rows > room)
            return status_error(STATUS_UNAVAILABLE,
                                FULL "task size is %lld but scheduling capacity is only %lld "
                                     "(num_enqueued_batches=%lld, max_enqueued_batches=%lld, "
                                     "open_batch_size=%lld, max_execution_batch_size=%lld)",
                                (long long)rows, (long long)(room > 0 ? room : 0), batches,
                                (long long)batching->batches_max, (long long)queue->open_rows,
                                (long long)batching->run_rows_max);
    } else if (queue->open_rows + rows > batching->rows_max && batches >= batching->batches_max) {
        return status_error(STATUS_UNAVAILABLE,
                            FULL "currently %lld batches enqueued and max_enqueued_batches is %lld",
                            batches, (long long)batching->batches_max);
    }
    return status_ok();
}

/* ---- the batches ---- */

static bool open_batch_has_calls(const struct call_queue *queue)
{
    return queue->calls.first != NULL && queue->last_batch == queue->open_batch;
}

static void open_next(struct call_queue *queue)
{
    queue->open_batch++;
    queue->open_rows = 0;
}

static void put(struct call_queue *queue, struct inference_call *call, int64_t now_ns)
{
    if (queue->open_rows + call->rows > queue->batching->run_rows_max &&
        open_batch_has_calls(queue))
        open_next(queue);
    if (!open_batch_has_calls(queue) &&
        __builtin_add_overflow(now_ns, queue->batching->wait_ns, &queue->open_until_ns))
        queue->open_until_ns = CLOCK_NEVER;
    if (call->deadline_ns != 0 && call->deadline_ns < queue->open_until_ns)
        queue->open_until_ns = call->deadline_ns; /* its client waits no longer */
    call->batch = queue->last_batch = queue->open_batch;
    call->queued_ns = now_ns;
    queue->open_rows += call->rows;
    call_list_append(&queue->calls, call);
}

struct status batch_queue_add(struct call_queue *queue, struct inference_call *call, int64_t now_ns)
{
    const struct batching *batching = queue->batching;
    TRY(check_room(queue, call->rows));
    int64_t room = batching->run_rows_max - queue->open_rows;
    if (!batching->splits || call->rows <= room) {
        put(queue, call, now_ns);
        return status_ok();
    }
    struct inference_call *parts;
    TRY(batch_split(call, room, batching->run_rows_max, &parts));
    for (struct inference_call *next; parts != NULL; parts = next) {
        next = parts->next;
        put(queue, parts, now_ns);
    }
    return status_ok();
}

int64_t batch_queue_ready_ns(const struct call_queue *queue)
{
    if (queue->calls.first == NULL)
        return CLOCK_NEVER;
    if (queue->open_batch > queue->first_batch || queue->open_rows >= queue->batching->run_rows_max)
        return 0;
    return queue->open_until_ns;
}

struct inference_call *batch_queue_take(struct call_queue *queue)
{
    struct call_list taken = { 0 };
    if (queue->first_batch == queue->open_batch)
        open_next(queue);
    while (queue->calls.first != NULL && queue->calls.first->batch == queue->first_batch) {
        struct inference_call *call = queue->calls.first;
        queue->calls.first = call->next;
        call_list_append(&taken, call);
    }
    queue->first_batch++;
    return taken.first;
}
