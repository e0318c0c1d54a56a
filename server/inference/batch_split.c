#include "server/inference/batch_split.h"

#include <string.h>

#include "server/models/model_limits.h"

/* Requests without elements may have any number of rows. */
#define PARTS_MAX 16384

struct call_split {
    struct inference_call *whole;
    pthread_mutex_t lock;   /* guards everything below, and the whole call's arena */
    int left;               /* number of parts that have not ended */
    struct tensor *outputs; /* of the whole call; NULL: no part has answered yet */
    struct status status;   /* the first failure */
};

struct call_part {
    struct inference_call call; /* must be first */
    int64_t start;              /* its first row in the whole call */
};

/* ---- outputs ---- */

static struct status make_outputs(struct call_split *split, const struct tensor *first)
{
    struct inference_call *whole = split->whole;
    int count = signature_computed_outputs(whole->callable->signature);
    struct tensor *outputs = ARENA_ARRAY(whole->arena, struct tensor, count);
    for (int i = 0; i < count; i++) {
        struct shape shape = first[i].shape;
        void *data;
        shape.dims[0] = whole->rows;
        TRY(shape_check(shape.rank, shape.dims, &shape));
        outputs[i] = tensor_borrow(first[i].dtype, &shape, NULL);
        TRY(arena_reserve(whole->arena, tensor_bytes(&outputs[i]), &data));
        memset(data, 0, tensor_bytes(&outputs[i]));
        outputs[i].data = data;
    }
    split->outputs = outputs;
    return status_ok();
}

/* Copies the characters of strings, which are freed with the run. */
static struct status keep_strings(struct arena *arena, struct bytes *strings, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        void *copy;
        if (strings[i].size == 0)
            continue;
        TRY(arena_reserve(arena, strings[i].size, &copy));
        memcpy(copy, strings[i].data, strings[i].size);
        strings[i].data = copy;
    }
    return status_ok();
}

static struct status copy_rows(struct call_split *split, int index, const struct tensor *from,
                               int64_t start)
{
    struct tensor *to = &split->outputs[index];
    const struct shape *a = &from->shape, *b = &to->shape;
    if (from->dtype != to->dtype || a->rank != b->rank ||
        memcmp(a->dims + 1, b->dims + 1, (size_t)(a->rank - 1) * sizeof a->dims[0]) != 0)
        return status_error(STATUS_INTERNAL,
                            "Tensor concat operation failed: output '%s' is %s in one part of a "
                            "split call, and not in another",
                            split->whole->callable->signature->outputs[index].key, shape_text(a));
    if (from->size == 0)
        return status_ok();
    size_t row_bytes = tensor_bytes(to) / (size_t)b->dims[0];
    char *at = (char *)to->data + (size_t)start * row_bytes;
    memcpy(at, from->data, tensor_bytes(from));
    return from->dtype == DT_STRING
               ? keep_strings(split->whole->arena, (struct bytes *)(void *)at, from->size)
               : status_ok();
}

static struct status copy_outputs(struct call_split *split, const struct call_part *part,
                                  const struct tensor *outputs)
{
    if (split->outputs == NULL)
        TRY(make_outputs(split, outputs));
    int count = signature_computed_outputs(split->whole->callable->signature);
    for (int i = 0; i < count; i++)
        TRY(copy_rows(split, i, &outputs[i], part->start));
    return status_ok();
}

static struct status answer_part(struct inference_call *call, const struct tensor *outputs)
{
    struct call_split *split = call->split;
    pthread_mutex_lock(&split->lock);
    struct status status = copy_outputs(split, (const struct call_part *)call, outputs);
    pthread_mutex_unlock(&split->lock);
    return status;
}

/* ---- parts ---- */

static struct tensor *rows_of_inputs(const struct inference_call *whole, int64_t start,
                                     int64_t rows)
{
    int count = whole->callable->signature->inputs_count;
    struct tensor *inputs = ARENA_ARRAY(whole->arena, struct tensor, count);
    for (int i = 0; i < count; i++) {
        const struct tensor *from = &whole->inputs[i];
        struct shape shape = from->shape;
        shape.dims[0] = rows;
        size_t row_bytes = tensor_bytes(from) / (size_t)whole->rows;
        const char *data = from->data;
        inputs[i] = tensor_borrow(from->dtype, &shape,
                                  row_bytes > 0 ? data + (size_t)start * row_bytes : data);
    }
    return inputs;
}

static void init_part(struct call_part *part, struct call_split *split, int64_t start, int64_t rows)
{
    const struct inference_call *whole = split->whole;
    *part = (struct call_part){
        .call = { .callable = whole->callable,
                  .inputs = rows_of_inputs(whole, start, rows),
                  .deadline_ns = whole->deadline_ns,
                  .answer = answer_part,
                  .rows = rows,
                  .arena = arena_create(0),
                  .split = split },
        .start = start,
    };
    if (whole->callable->budget != NULL)
        arena_charge(part->call.arena, whole->callable->budget);
}

struct status batch_split(struct inference_call *whole, int64_t first_rows, int64_t rows_max,
                          struct inference_call **parts)
{
    int64_t rest = whole->rows - first_rows, start = 0;
    int64_t wanted = (rest + rows_max - 1) / rows_max + (first_rows > 0);
    if (wanted > PARTS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "a request of %lld rows would be split over %lld runs, more than %d",
                            (long long)whole->rows, (long long)wanted, PARTS_MAX);
    int count = (int)wanted;
    struct call_split *split = ARENA_ARRAY(whole->arena, struct call_split, 1);
    void *room;
    TRY(arena_reserve(whole->arena, (size_t)count * sizeof(struct call_part), &room));
    struct call_part *all = room;
    *split = (struct call_split){ .whole = whole, .left = count, .status = status_ok() };
    pthread_mutex_init(&split->lock, NULL);
    for (int i = 0; i < count; i++) {
        int64_t rows = i == 0 && first_rows > 0 ? first_rows : rows_max;
        if (rows > whole->rows - start)
            rows = whole->rows - start;
        init_part(&all[i], split, start, rows);
        all[i].call.next = i + 1 < count ? &all[i + 1].call : NULL;
        start += rows;
    }
    *parts = &all[0].call;
    return status_ok();
}

struct inference_call *batch_split_end(struct inference_call *part)
{
    struct call_split *split = part->split;
    struct inference_call *whole = split->whole;
    struct arena *arena = part->arena;
    pthread_mutex_lock(&split->lock);
    if (status_is_ok(split->status) && !status_is_ok(part->status))
        split->status = status_keep(whole->arena, part->status);
    if (whole->run_began_ns == 0 || part->run_began_ns < whole->run_began_ns)
        whole->run_began_ns = part->run_began_ns;
    if (part->run_ended_ns > whole->run_ended_ns)
        whole->run_ended_ns = part->run_ended_ns;
    bool last = --split->left == 0;
    pthread_mutex_unlock(&split->lock); /* from here on, the last part may free this one */
    arena_destroy(arena);
    if (!last)
        return NULL;
    pthread_mutex_destroy(&split->lock);
    struct status status = split->status;
    if (status_is_ok(status))
        status = whole->answer(whole, split->outputs);
    whole->status = status_keep(whole->arena, status);
    return whole;
}

bool batch_split_is_cancelled(const struct inference_call *call)
{
    const struct inference_call *whole = call->split != NULL ? call->split->whole : call;
    return atomic_load_explicit(&whole->cancelled, memory_order_relaxed);
}

void batch_split_stop_waiting(struct inference_call *call)
{
    struct call_split *split = call->split;
    struct inference_call *whole = split != NULL ? split->whole : call;
    if (split != NULL)
        pthread_mutex_lock(&split->lock);
    if (whole->waiting != NULL)
        model_gate_stop_waiting(whole->waiting);
    whole->waiting = NULL;
    if (split != NULL)
        pthread_mutex_unlock(&split->lock);
}
