#include "rpc/socket_buffers.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"

struct socket_buffer {
    struct socket_buffers *buffers;
    _Atomic int references; /* 1: only the list's */
    char data[SOCKET_BUFFER_BYTES];
};

struct socket_buffers {
    /* the most recently used first: its memory is warm */
    struct socket_buffer *buffers[SOCKET_BUFFERS_MAX];
    int count;
};

struct socket_buffers *socket_buffers_create(void)
{
    return zalloc(sizeof(struct socket_buffers));
}

void socket_buffers_destroy(struct socket_buffers *buffers)
{
    for (int i = 0; buffers != NULL && i < buffers->count; i++)
        socket_buffer_release(buffers->buffers[i]);
    free(buffers);
}

static bool is_free(struct socket_buffer *buffer)
{
    return atomic_load_explicit(&buffer->references, memory_order_acquire) == 1;
}

/* The index of the first buffer that nobody keeps; a new one if there is none. */
static int find_free(struct socket_buffers *buffers)
{
    for (int i = 0; i < buffers->count; i++)
        if (is_free(buffers->buffers[i]))
            return i;
    assert(buffers->count < SOCKET_BUFFERS_MAX);
    /* malloc leaves the pages untouched until they are read into */
    struct socket_buffer *buffer = xrealloc(NULL, sizeof *buffer);
    buffer->buffers = buffers;
    atomic_init(&buffer->references, 1);
    buffers->buffers[buffers->count] = buffer;
    return buffers->count++;
}

struct socket_buffer *socket_buffers_next(struct socket_buffers *buffers)
{
    int at = find_free(buffers);
    struct socket_buffer *buffer = buffers->buffers[at];

    for (; at > 0; at--)
        buffers->buffers[at] = buffers->buffers[at - 1];
    buffers->buffers[0] = buffer;
    return buffer;
}

char *socket_buffer_data(struct socket_buffer *buffer)
{
    return buffer->data;
}

bool socket_buffer_holds(struct socket_buffer *buffer, const char *data)
{
    return buffer != NULL && (uintptr_t)data - (uintptr_t)buffer->data < SOCKET_BUFFER_BYTES;
}

/* Are all other buffers kept? */
static bool is_last_free(const struct socket_buffer *buffer)
{
    const struct socket_buffers *buffers = buffer->buffers;

    for (int i = 0; i < buffers->count; i++)
        if (buffers->buffers[i] != buffer && is_free(buffers->buffers[i]))
            return false;
    return buffers->count == SOCKET_BUFFERS_MAX;
}

bool socket_buffer_keep(struct socket_buffer *buffer)
{
    if (is_free(buffer) && is_last_free(buffer))
        return false;
    atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return true;
}

void socket_buffer_release(struct socket_buffer *buffer)
{
    if (atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) == 1)
        free(buffer);
}
