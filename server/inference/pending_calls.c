#include "server/inference/pending_calls.h"

#include "base/clock.h"
#include "base/container.h"
#include "server/inference/batch.h"
#include "server/inference/batch_queue.h"

#define LOOK_MAX      1024 /* calls of a long queue that are compared with the first one */
/* Every so many runs of a queue, one takes more rows than chosen, to measure them. Rare, because
 * it delays its calls if batches save nothing. Halfway between two of them, a call runs alone. */
#define EXPLORE_EVERY 256
#define CHOICE_LOG_NS ((int64_t)10 * NS_PER_S) /* between log lines about one queue */

void call_list_append(struct call_list *list, struct inference_call *call)
{
    if (list->first == NULL)
        list->end = &list->first;
    call->next = NULL;
    *list->end = call;
    list->end = &call->next;
}

struct inference_call *call_list_take_batch(struct call_list *list, int64_t rows_max)
{
    struct inference_call *first = list->first, **at = &list->first;
    int64_t rows = first->rows;
    struct call_list taken = { 0 };
    if (first->prepare != NULL)
        rows_max = 0;
    *at = first->next;
    call_list_append(&taken, first);
    for (int i = 0; *at != NULL && rows < rows_max && i < LOOK_MAX; i++) {
        struct inference_call *call = *at;
        if (call->rows > rows_max - rows || !batch_fits(first, call)) {
            at = &call->next;
            continue;
        }
        rows += call->rows;
        *at = call->next;
        call_list_append(&taken, call);
    }
    if (*at == NULL)
        list->end = at;
    return taken.first;
}

static struct call_queue *queue_of(struct list_link *link)
{
    return CONTAINER_OF(link, struct call_queue, link);
}

struct status pending_calls_add(struct pending_calls *pending, struct inference_call *call,
                                int64_t now_ns)
{
    struct call_queue *queue = call->prepare != NULL ? &pending->unread : &call->callable->queue;
    call->queued_ns = now_ns;
    if (queue->batching != NULL)
        TRY(batch_queue_add(queue, call, now_ns));
    else
        call_list_append(&queue->calls, call);
    atomic_fetch_add_explicit(&queue->cheap_count, inference_is_cheap(call), memory_order_relaxed);
    if (list_holds(&queue->link))
        return status_ok();
    if (queue->running == 0 && queue->served_ns < pending->served_ns)
        queue->served_ns = pending->served_ns;
    list_push(&pending->waiting, &queue->link);
    return status_ok();
}

int pending_calls_count(const struct pending_calls *pending)
{
    int count = 0;
    for (struct list_link *at = pending->waiting; at != NULL; at = at->next)
        for (const struct inference_call *call = queue_of(at)->calls.first; call != NULL;
             call = call->next)
            count++;
    return count;
}

/* Time is counted when a run ends: among queues with equal time, the one with fewer running
 * calls comes first. */
static bool comes_before(const struct call_queue *a, const struct call_queue *b)
{
    return a->served_ns < b->served_ns || (a->served_ns == b->served_ns && a->running < b->running);
}

static int64_t ready_ns(const struct pending_calls *pending, const struct call_queue *queue)
{
    if (queue->batching != NULL)
        return pending->batches_running < pending->batches_max ? batch_queue_ready_ns(queue)
                                                               : CLOCK_NEVER;
    return queue->running < pending->running_max ? 0 : CLOCK_NEVER;
}

/* The queue to serve next, or NULL and the time at which to check again. */
static struct call_queue *next_queue(const struct pending_calls *pending, int64_t now_ns,
                                     int64_t *again_ns)
{
    struct call_queue *next = NULL;
    *again_ns = CLOCK_NEVER;
    for (struct list_link *at = pending->waiting; at != NULL; at = at->next) {
        struct call_queue *queue = queue_of(at);
        int64_t from_ns = ready_ns(pending, queue);
        if (from_ns > now_ns)
            *again_ns = from_ns < *again_ns ? from_ns : *again_ns;
        else if (next == NULL || comes_before(queue, next))
            next = queue;
    }
    return next;
}

int64_t pending_calls_ready_ns(const struct pending_calls *pending, int64_t now_ns)
{
    int64_t again_ns;
    return next_queue(pending, now_ns, &again_ns) != NULL ? now_ns : again_ns;
}

/* Chooses how many rows the next run may have. Records changes that the target makes, except those
 * of exploring. */
static int64_t choose_rows(const struct pending_calls *pending, struct call_queue *queue,
                           int64_t now_ns, struct batch_target *chosen)
{
    const struct inference_call *first = queue->calls.first;
    if (!pending->batch || first->prepare != NULL)
        return 0;
    if (first->size.rows == 0)
        return BATCH_ROWS_MAX;
    /* If it is too late for this call, drain the queue for others. */
    bool limited = pending->target_ns > 0 && now_ns - first->queued_ns <= pending->target_ns;
    bool explores = ++queue->choices % EXPLORE_EVERY == 0;
    /* Calls may be in the pool only because the measured run of one row was disturbed. While many
     * come at a time, all runs have more rows, and would never correct it. */
    if (queue->choices % EXPLORE_EVERY == EXPLORE_EVERY / 2)
        return first->rows;
    struct batch_target choice =
        batch_target_choose(&first->callable->costs, first->size,
                            limited ? pending->target_ns : BATCH_TARGET_NONE, explores);
    if (limited && !explores && choice.run_ns > 0 && choice.rows_max != queue->chosen_rows &&
        (queue->chosen_rows == 0 || now_ns - queue->chosen_ns > CHOICE_LOG_NS)) {
        queue->chosen_rows = choice.rows_max;
        queue->chosen_ns = now_ns;
        *chosen = choice;
    }
    return choice.rows_max;
}

struct taken_calls pending_calls_take(struct pending_calls *pending, int64_t now_ns)
{
    int64_t again_ns;
    struct call_queue *queue = next_queue(pending, now_ns, &again_ns);
    if (queue == NULL)
        return (struct taken_calls){ 0 };
    struct taken_calls taken = { .queue = queue, .began_ns = now_ns };
    if (queue->batching != NULL)
        taken.first = batch_queue_take(queue);
    else
        taken.first =
            call_list_take_batch(&queue->calls, choose_rows(pending, queue, now_ns, &taken.chosen));
    for (const struct inference_call *call = taken.first; call != NULL; call = call->next)
        taken.cheap_count += inference_is_cheap(call);
    if (queue->calls.first == NULL)
        list_remove(&queue->link);
    if (queue->served_ns > pending->served_ns)
        pending->served_ns = queue->served_ns;
    queue->running++;
    pending->batches_running += queue->batching != NULL;
    return taken;
}

void pending_calls_end(struct pending_calls *pending, const struct taken_calls *taken,
                       int64_t now_ns)
{
    taken->queue->running--;
    taken->queue->served_ns += now_ns > taken->began_ns ? now_ns - taken->began_ns : 1;
    pending->batches_running -= taken->queue->batching != NULL;
    atomic_fetch_sub_explicit(&taken->queue->cheap_count, taken->cheap_count, memory_order_relaxed);
}

struct inference_call *pending_calls_drop(struct pending_calls *pending)
{
    if (pending->waiting == NULL)
        return NULL;
    struct call_queue *queue = queue_of(pending->waiting);
    struct inference_call *call = call_list_take_batch(&queue->calls, 0);
    atomic_fetch_sub_explicit(&queue->cheap_count, inference_is_cheap(call), memory_order_relaxed);
    if (queue->calls.first == NULL)
        list_remove(&queue->link);
    return call;
}
