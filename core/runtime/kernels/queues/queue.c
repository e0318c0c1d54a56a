#include "runtime/kernels/queues/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "runtime/kernels/plain/philox.h"
#include "runtime/kernels/queues/wait_line.h"

struct queue {
    struct object object;
    struct queue_kind kind;
    char *name;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    struct queue_row **rows; /* a ring of `room` places, a power of two */
    int64_t room, head, count;
    size_t bytes;                      /* of the rows, with their overhead */
    size_t elements_bytes;             /* of their tensors alone */
    struct wait_turn *givers, *takers; /* only the first of a line does anything */
    bool is_closed;
    struct philox_reader random; /* of a RandomShuffleQueue */
    bool is_seeded;
};

/* ---- rows ---- */

struct queue_row *queue_row_create(int count)
{
    struct queue_row *row = zalloc(sizeof *row + (size_t)count * sizeof row->parts[0]);
    row->count = count;
    return row;
}

void queue_row_destroy(struct queue_row *row)
{
    if (row == NULL)
        return;
    tensors_release(row->count, row->parts);
    free(row);
}

void queue_rows_add(struct queue_rows *rows, struct queue_row *row)
{
    if (rows->count == rows->room) {
        rows->room = 2 * rows->room + 8;
        rows->at = xrealloc(rows->at, (size_t)rows->room * sizeof(struct queue_row *));
    }
    rows->at[rows->count++] = row;
}

void queue_rows_finish(struct queue_rows *rows)
{
    for (int64_t i = 0; i < rows->count; i++)
        queue_row_destroy(rows->at[i]);
    free(rows->at);
    *rows = (struct queue_rows){ 0 };
}

/* ---- the ring ---- */

static struct queue_row **place(struct queue *queue, int64_t i)
{
    return &queue->rows[(queue->head + i) & (queue->room - 1)];
}

static void make_room(struct queue *queue)
{
    if (queue->count < queue->room)
        return;
    int64_t room = queue->room > 0 ? 2 * queue->room : 8;
    struct queue_row **rows = zalloc((size_t)room * sizeof(struct queue_row *));
    for (int64_t i = 0; i < queue->count; i++)
        rows[i] = *place(queue, i);
    free(queue->rows);
    queue->rows = rows;
    queue->room = room;
    queue->head = 0;
}

static void push_back(struct queue *queue, struct queue_row *row)
{
    make_room(queue);
    *place(queue, queue->count++) = row;
}

static struct queue_row *pop_back(struct queue *queue)
{
    return *place(queue, --queue->count);
}

static void push_front(struct queue *queue, struct queue_row *row)
{
    make_room(queue);
    queue->head = (queue->head - 1) & (queue->room - 1);
    queue->count++;
    *place(queue, 0) = row;
}

static struct queue_row *pop_front(struct queue *queue)
{
    struct queue_row *row = *place(queue, 0);
    queue->head = (queue->head + 1) & (queue->room - 1);
    queue->count--;
    return row;
}

/* ---- policies ---- */

/* Takes a random row. As in TensorFlow, the last row moves to its place, which decides the order
 * that follows from a seed. */
static struct queue_row *take_any(struct queue *queue)
{
    int64_t chosen = philox_next(&queue->random) % queue->count;
    struct queue_row *row = *place(queue, chosen), *last = pop_back(queue);
    if (chosen < queue->count)
        *place(queue, chosen) = last;
    return row;
}

/* Puts the row at the hole i of the heap [0, i], or further up. */
static void sift_up(struct queue *queue, int64_t i, struct queue_row *row)
{
    while (i > 0 && (*place(queue, (i - 1) / 2))->priority > row->priority) {
        *place(queue, i) = *place(queue, (i - 1) / 2);
        i = (i - 1) / 2;
    }
    *place(queue, i) = row;
}

static void put_by_priority(struct queue *queue, struct queue_row *row)
{
    push_back(queue, row);
    sift_up(queue, queue->count - 1, row);
}

/* Takes the first row. As in TensorFlow, its hole sinks to a leaf before the last row fills it: the
 * order of rows with one priority depends on that. */
static struct queue_row *take_by_priority(struct queue *queue)
{
    struct queue_row *row = *place(queue, 0), *last = pop_back(queue);
    int64_t hole = 0, child;
    if (queue->count == 0)
        return row;
    while ((child = 2 * hole + 1) < queue->count) {
        if (child + 1 < queue->count &&
            (*place(queue, child + 1))->priority <= (*place(queue, child))->priority)
            child++;
        *place(queue, hole) = *place(queue, child);
        hole = child;
    }
    sift_up(queue, hole, last);
    return row;
}

static void queue_destroy(struct object *object);

const struct object_type queue_type = { "queue", queue_destroy };
static const struct object_type area_type = { "staging area", queue_destroy };

/* TensorFlow's PaddingFIFOQueue is a FIFOQueue but for taking many. */
static const struct queue_policy policies[] = {
    { "FIFOQueue", "FIFOQueue", &queue_type, push_back, pop_front, push_front, .pads = false },
    { "PaddingFIFOQueue", "FIFOQueue", &queue_type, push_back, pop_front, push_front,
      .pads = true },
    { "RandomShuffleQueue", "RandomShuffleQueue", &queue_type, push_back, take_any, push_back,
      .pads = false },
    { "PriorityQueue", "PriorityQueue", &queue_type, put_by_priority, take_by_priority,
      put_by_priority, .has_priorities = true },
    { "StagingArea", "StagingArea", &area_type, push_back, pop_front, push_front, .pads = false },
};

const struct queue_policy *queue_policy_find(const char *op_name)
{
    for (size_t i = 0; i < COUNT(policies); i++) {
        size_t size = strlen(policies[i].name);
        if (strncmp(op_name, policies[i].name, size) == 0 &&
            (op_name[size] == '\0' || strcmp(op_name + size, "V2") == 0))
            return &policies[i];
    }
    return NULL;
}

const char *queue_types_text(struct arena *arena, const enum dtype *dtypes, int count)
{
    struct buffer text = { 0 };
    for (int i = 0; i < count; i++) {
        const char *name = dtype_name(dtypes[i]);
        buffer_append(&text, ", ", i > 0 ? 2 : 0);
        buffer_append(&text, name, strlen(name));
    }
    const char *kept = arena_memdup(arena, text.data, text.size);
    buffer_finish(&text);
    return kept;
}

/* ---- the object ---- */

static void queue_destroy(struct object *object)
{
    struct queue *queue = (struct queue *)object;
    while (queue->count > 0)
        queue_row_destroy(pop_back(queue));
    free(queue->rows);
    free(queue->kind.dtypes);
    free(queue->kind.shapes);
    free(queue->name);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static void *copy_array(const void *array, int count, size_t size)
{
    if (array == NULL)
        return NULL;
    void *copy = zalloc((size_t)count * size + 1);
    if (count > 0)
        memcpy(copy, array, (size_t)count * size);
    return copy;
}

void queue_create(const struct queue_kind *kind, struct bytes name, struct object **out)
{
    struct queue *queue = zalloc(sizeof *queue);
    queue->object = (struct object){ .type = kind->policy->type, .references = 1 };
    queue->kind = *kind;
    queue->kind.dtypes = copy_array(kind->dtypes, kind->count, sizeof *kind->dtypes);
    queue->kind.shapes = copy_array(kind->shapes, kind->count, sizeof *kind->shapes);
    queue->name = zalloc(name.size + 1);
    if (name.size > 0)
        memcpy(queue->name, name.data, name.size);
    queue->is_seeded = kind->seed != 0 || kind->seed2 != 0;
    queue->random.philox = philox_of_key((uint64_t)kind->seed, 0, (uint64_t)kind->seed2);
    pthread_mutex_init(&queue->lock, NULL);
    clock_cond_init(&queue->changed);
    *out = &queue->object;
}

const struct queue_kind *queue_kind(const struct queue *queue)
{
    return &queue->kind;
}

const char *queue_name(const struct queue *queue)
{
    return queue->name;
}

/* ---- waiting ---- */

static void leave(struct queue *queue, struct wait_turn **line, const struct wait_turn *turn)
{
    wait_line_leave(line, turn);
    pthread_cond_broadcast(&queue->changed);
}

static struct status wait(struct kernel_context *k, struct queue *queue, int64_t deadline_ns,
                          const char *why)
{
    struct status status = kernel_wait(k, &queue->changed, &queue->lock, deadline_ns);
    if (status_is_ok(status))
        return status;
    return status_error(status.code, "%s '%s' %s: %s", queue->kind.policy->name, queue->name, why,
                        status.message);
}

/* ---- giving ---- */

static struct status put(struct kernel_context *k, struct queue *queue, struct queue_row *row)
{
    TRY(kernel_table_may_grow(k, queue->bytes, row->bytes));
    if (!queue->is_seeded)
        queue->random.philox = philox_of_key(kernel_random_seed(k), 0, 0);
    queue->is_seeded = true;
    queue->bytes += row->bytes;
    queue->elements_bytes += row->elements_bytes;
    kernel_table_grew(k, row->bytes);
    queue->kind.policy->put(queue, row);
    pthread_cond_broadcast(&queue->changed);
    return status_ok();
}

static bool is_full(const struct queue *queue, const struct queue_row *row)
{
    int64_t limit = queue->kind.memory_limit;
    return queue->count >= queue->kind.capacity ||
           (limit > 0 && queue->elements_bytes + row->elements_bytes > (size_t)limit);
}

/* One step of giving: puts the next row or waits. */
static struct status give_next(struct kernel_context *k, struct queue *queue,
                               const struct wait_turn *turn, int64_t deadline_ns,
                               struct queue_row **row)
{
    if (turn->is_cancelled)
        return status_error(STATUS_CANCELLED, "Enqueue operation was cancelled");
    if (queue->givers != turn)
        return wait(k, queue, deadline_ns, "is full");
    if (queue->is_closed)
        return status_error(STATUS_CANCELLED, "%s '%s' is closed.", queue->kind.policy->base,
                            queue->name);
    if (is_full(queue, *row))
        return wait(k, queue, deadline_ns, "is full");
    TRY(put(k, queue, *row));
    *row = NULL;
    return status_ok();
}

struct status queue_give(struct kernel_context *k, struct queue *queue, struct queue_rows *rows)
{
    int64_t deadline_ns = kernel_wait_deadline(k), given = 0;
    struct status status = status_ok();
    struct wait_turn turn = { 0 };

    pthread_mutex_lock(&queue->lock);
    wait_line_join(&queue->givers, &turn);
    while (given < rows->count && status_is_ok(status)) {
        status = give_next(k, queue, &turn, deadline_ns, &rows->at[given]);
        if (rows->at[given] == NULL)
            given++;
    }
    leave(queue, &queue->givers, &turn);
    pthread_mutex_unlock(&queue->lock);
    queue_rows_finish(rows);
    return status;
}

/* ---- taking ---- */

static void take(struct kernel_context *k, struct queue *queue, struct queue_rows *out)
{
    struct queue_row *row = queue->kind.policy->take(queue);
    queue->bytes -= row->bytes;
    queue->elements_bytes -= row->elements_bytes;
    kernel_table_shrank(k, row->bytes);
    queue_rows_add(out, row);
    pthread_cond_broadcast(&queue->changed);
}

/* Puts back the last row first, so that a FIFOQueue keeps their order. */
static void put_back_all(struct queue *queue, struct queue_rows *rows)
{
    while (rows->count > 0) {
        struct queue_row *row = rows->at[--rows->count];
        queue->bytes += row->bytes;
        queue->elements_bytes += row->elements_bytes;
        queue->kind.policy->put_back(queue, row);
        pthread_cond_broadcast(&queue->changed);
    }
}

/* The queue is closed and has too few rows: takes these if that is enough. */
static struct status take_rest(struct kernel_context *k, struct queue *queue, int64_t missing,
                               enum queue_taking taking, struct queue_rows *out)
{
    int64_t there = queue->count;
    put_back_all(queue, out);
    if (taking != TAKE_UP_TO || queue->count == 0)
        return status_error(STATUS_OUT_OF_RANGE,
                            "%s '%s' is closed and has insufficient elements (requested %lld, "
                            "current size %lld)",
                            taking == TAKE_ONE ? queue->kind.policy->base
                                               : queue->kind.policy->name,
                            queue->name, (long long)missing, (long long)there);
    while (queue->count > 0)
        take(k, queue, out);
    return status_ok();
}

struct status queue_take(struct kernel_context *k, struct queue *queue, enum queue_taking taking,
                         int64_t count, struct queue_rows *out)
{
    int64_t deadline_ns = kernel_wait_deadline(k);
    struct status status = status_ok();
    struct wait_turn turn = { 0 };
    bool ended = count == 0;

    pthread_mutex_lock(&queue->lock);
    wait_line_join(&queue->takers, &turn);
    while (!ended && status_is_ok(status)) {
        int64_t kept = queue->is_closed ? 0 : queue->kind.min_after_dequeue;
        if (queue->takers != &turn) {
            status = wait(k, queue, deadline_ns, "has too few elements");
        } else if (queue->is_closed && queue->count < count - out->count) {
            status = take_rest(k, queue, count - out->count, taking, out);
            ended = true;
        } else if (queue->count <= kept) {
            status = wait(k, queue, deadline_ns, "has too few elements");
        } else {
            take(k, queue, out);
            ended = out->count == count;
        }
    }
    if (!status_is_ok(status))
        put_back_all(queue, out);
    leave(queue, &queue->takers, &turn);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

/* ---- the rest ---- */

struct status queue_close(struct kernel_context *k, struct queue *queue, bool cancels)
{
    int64_t deadline_ns = kernel_wait_deadline(k);
    struct status status = status_ok();
    struct wait_turn turn = { 0 };

    pthread_mutex_lock(&queue->lock);
    for (struct wait_turn *at = queue->givers; cancels && at != NULL; at = at->next)
        at->is_cancelled = true;
    wait_line_join(&queue->givers, &turn);
    while (!cancels && queue->givers != &turn && status_is_ok(status))
        status = wait(k, queue, deadline_ns, "is full");
    if (status_is_ok(status) && queue->is_closed && !cancels)
        status = status_error(STATUS_CANCELLED, "Queue '%s' is already closed.", queue->name);
    if (status_is_ok(status))
        queue->is_closed = true;
    leave(queue, &queue->givers, &turn);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

struct status queue_peek(struct kernel_context *k, struct queue *queue, int64_t index,
                         struct queue_row **out)
{
    int64_t deadline_ns = kernel_wait_deadline(k);
    struct status status = status_ok();
    pthread_mutex_lock(&queue->lock);
    while (queue->count <= index && status_is_ok(status))
        status = wait(k, queue, deadline_ns, "has too few elements");
    if (status_is_ok(status)) {
        const struct queue_row *row = *place(queue, index);
        *out = queue_row_create(row->count);
        for (int i = 0; i < row->count; i++)
            (*out)->parts[i] = tensor_acquire(&row->parts[i]);
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

void queue_clear(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count > 0)
        queue_row_destroy(pop_back(queue));
    queue->bytes = queue->elements_bytes = 0;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

bool queue_is_closed(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool is_closed = queue->is_closed;
    pthread_mutex_unlock(&queue->lock);
    return is_closed;
}

int64_t queue_size(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    int64_t size = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return size;
}

size_t queue_bytes(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t bytes = queue->bytes;
    pthread_mutex_unlock(&queue->lock);
    return bytes;
}
