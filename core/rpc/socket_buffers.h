/*
 * socket_buffers: the buffers that the connections of one loop read from their sockets into.
 *
 * A message that arrived whole may stay where it was read: its receiver keeps the buffer, and the
 * next read takes another one. The number of buffers is fixed, so a peer gains nothing by making us
 * hold on to them.
 *
 * Threads: the loop's; any thread may release a buffer.
 */
#ifndef RPC_SOCKET_BUFFERS_H
#define RPC_SOCKET_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#define SOCKET_BUFFER_BYTES ((size_t)256 << 10)
#define SOCKET_BUFFERS_MAX  16

struct socket_buffers;
struct socket_buffer;

struct socket_buffers *socket_buffers_create(void);
/* buffers that are kept stay valid; accepts NULL */
void socket_buffers_destroy(struct socket_buffers *buffers);

/* The buffer for the next read, which nobody holds: SOCKET_BUFFER_BYTES of room, valid until the
 * next call. */
struct socket_buffer *socket_buffers_next(struct socket_buffers *buffers);
char *socket_buffer_data(struct socket_buffer *buffer);
bool socket_buffer_holds(struct socket_buffer *buffer, const char *data); /* accepts NULL */

/* False: all others are kept, and the next read needs this one. In the loop's thread. */
bool socket_buffer_keep(struct socket_buffer *buffer);
void socket_buffer_release(struct socket_buffer *buffer);

#endif
