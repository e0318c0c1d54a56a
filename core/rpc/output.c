#include "rpc/output.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

#include "base/arena.h"

/* A copy of runs whose owner could not wait; all are freed when everything is written. */
struct copied {
    struct copied *next;
    char data[];
};

static void free_copied(struct output *output)
{
    while (output->copied != NULL) {
        struct copied *next = output->copied->next;
        free(output->copied);
        output->copied = next;
    }
}

void output_finish(struct output *output)
{
    for (int i = output->first; i < output->count; i++)
        outgoing_release(output->owners[i]);
    free_copied(output);
    free(output->runs);
    free(output->owners);
    free(output->small);
}

void output_trim(struct output *output)
{
    if (output->count > 0)
        return;
    free(output->small);
    output->small = NULL;
}

size_t output_small_room(const struct output *output)
{
    return OUTPUT_SMALL_BYTES - output->small_used;
}

static void append(struct output *output, struct outgoing *owner, struct iovec run)
{
    if (output->count == output->capacity) {
        output->capacity = output->capacity ? 2 * output->capacity : 16;
        size_t capacity = (size_t)output->capacity;
        output->runs = xrealloc(output->runs, capacity * sizeof *output->runs);
        output->owners = xrealloc(output->owners, capacity * sizeof *output->owners);
    }
    output->runs[output->count] = run;
    output->owners[output->count++] = owner;
    output->bytes += run.iov_len;
}

void output_copy(struct output *output, const void *data, size_t size)
{
    assert(size <= output_small_room(output));
    if (output->small == NULL)
        output->small = xrealloc(NULL, OUTPUT_SMALL_BYTES);
    char *to = output->small + output->small_used;
    memcpy(to, data, size);
    output->small_used += size;
    struct iovec *last = output->count > output->first ? &output->runs[output->count - 1] : NULL;
    if (last != NULL && output->owners[output->count - 1] == NULL &&
        (char *)last->iov_base + last->iov_len == to) {
        last->iov_len += size;
        output->bytes += size;
        return;
    }
    append(output, NULL, (struct iovec){ to, size });
}

void output_run(struct output *output, struct outgoing *owner, struct iovec run)
{
    if (run.iov_len <= OUTPUT_COPY_MAX && run.iov_len <= output_small_room(output)) {
        output_copy(output, run.iov_base, run.iov_len);
        return;
    }
    outgoing_acquire(owner);
    append(output, owner, run);
}

static void written(struct output *output, size_t size)
{
    output->bytes -= size;
    while (output->first < output->count) {
        struct iovec *run = &output->runs[output->first];
        if (run->iov_len > size) {
            run->iov_base = (char *)run->iov_base + size;
            run->iov_len -= size;
            return;
        }
        size -= run->iov_len;
        outgoing_release(output->owners[output->first++]);
    }
    output->first = output->count = 0;
    output->small_used = 0;
    free_copied(output);
}

ssize_t output_write(struct output *output, struct transport *transport)
{
    int count = output->count - output->first;
    ssize_t size = transport->type->write(transport, output->runs + output->first,
                                          count < IOV_MAX ? count : IOV_MAX);
    if (size > 0)
        written(output, (size_t)size);
    return size;
}

void output_let_go(struct output *output, struct outgoing *owner)
{
    for (int i = output->first; i < output->count; i++) {
        struct iovec *run = &output->runs[i];
        if (output->owners[i] != owner)
            continue;
        struct copied *copy = xrealloc(NULL, sizeof *copy + run->iov_len);
        copy->next = output->copied;
        output->copied = copy;
        run->iov_base = memcpy(copy->data, run->iov_base, run->iov_len);
        output->owners[i] = NULL;
        outgoing_release(owner);
    }
}
