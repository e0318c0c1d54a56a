#include "rpc/write_queue.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/arena.h"

/* A copy of a run whose owner could not wait. All copies are freed once everything is written. */
struct copied {
    struct copied *next;
    char data[];
};

static void free_copied(struct write_queue *queue)
{
    while (queue->copied != NULL) {
        struct copied *next = queue->copied->next;
        free(queue->copied);
        queue->copied = next;
    }
}

void write_queue_finish(struct write_queue *queue)
{
    for (int i = queue->first; i < queue->count; i++)
        grpc_frame_release(queue->owners[i]);
    free_copied(queue);
    free(queue->runs);
    free(queue->owners);
    free(queue->small);
}

void write_queue_trim(struct write_queue *queue)
{
    if (queue->count > 0)
        return;
    free(queue->small);
    queue->small = NULL;
}

size_t write_queue_copy_room(const struct write_queue *queue)
{
    return WRITE_COPY_BYTES - queue->small_used;
}

static void append(struct write_queue *queue, struct grpc_frame *owner, struct iovec run)
{
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity ? 2 * queue->capacity : 16;
        size_t capacity = (size_t)queue->capacity;
        queue->runs = xrealloc(queue->runs, capacity * sizeof *queue->runs);
        queue->owners = xrealloc(queue->owners, capacity * sizeof *queue->owners);
    }
    queue->runs[queue->count] = run;
    queue->owners[queue->count++] = owner;
    queue->bytes += run.iov_len;
}

void write_queue_copy(struct write_queue *queue, const void *data, size_t size)
{
    assert(size <= write_queue_copy_room(queue));
    if (queue->small == NULL)
        queue->small = xrealloc(NULL, WRITE_COPY_BYTES);
    char *to = queue->small + queue->small_used;
    memcpy(to, data, size);
    queue->small_used += size;
    struct iovec *last = queue->count > queue->first ? &queue->runs[queue->count - 1] : NULL;
    if (last != NULL && queue->owners[queue->count - 1] == NULL &&
        (char *)last->iov_base + last->iov_len == to) {
        last->iov_len += size;
        queue->bytes += size;
        return;
    }
    append(queue, NULL, (struct iovec){ to, size });
}

void write_queue_add(struct write_queue *queue, struct grpc_frame *owner, struct iovec run)
{
    if (run.iov_len <= WRITE_COPY_MAX && run.iov_len <= write_queue_copy_room(queue)) {
        write_queue_copy(queue, run.iov_base, run.iov_len);
        return;
    }
    grpc_frame_acquire(owner);
    append(queue, owner, run);
}

static void written(struct write_queue *queue, size_t size)
{
    assert(size <= queue->bytes);
    queue->bytes -= size;
    while (queue->first < queue->count) {
        struct iovec *run = &queue->runs[queue->first];
        if (run->iov_len > size) {
            run->iov_base = (char *)run->iov_base + size;
            run->iov_len -= size;
            return;
        }
        size -= run->iov_len;
        grpc_frame_release(queue->owners[queue->first++]);
    }
    assert(size == 0 && queue->bytes == 0);
    queue->first = queue->count = 0;
    queue->small_used = 0;
    free_copied(queue);
}

ssize_t write_queue_flush(struct write_queue *queue, struct transport *transport)
{
    int count = queue->count - queue->first;
    ssize_t size = transport->type->write(transport, queue->runs + queue->first,
                                          count < IOV_MAX ? count : IOV_MAX);
    if (size > 0)
        written(queue, (size_t)size);
    return size;
}

void write_queue_detach(struct write_queue *queue, struct grpc_frame *owner)
{
    for (int i = queue->first; i < queue->count; i++) {
        struct iovec *run = &queue->runs[i];
        if (queue->owners[i] != owner)
            continue;
        struct copied *copy = xrealloc(NULL, sizeof *copy + run->iov_len);
        copy->next = queue->copied;
        queue->copied = copy;
        run->iov_base = memcpy(copy->data, run->iov_base, run->iov_len);
        queue->owners[i] = NULL;
        grpc_frame_release(owner);
    }
}
