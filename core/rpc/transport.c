#include "rpc/transport.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"

static struct status plain_handshake(struct transport *transport, enum transport_wants *wants)
{
    (void)transport;
    *wants = TRANSPORT_DONE;
    return status_ok();
}

static ssize_t plain_read(struct transport *transport, const struct iovec *to, int count)
{
    return readv(transport->fd, to, count);
}

/* As writev, but a peer that has gone is an error instead of a SIGPIPE. */
static ssize_t plain_write(struct transport *transport, const struct iovec *from, int count)
{
    struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)from,
                              .msg_iovlen = (size_t)count };

    return sendmsg(transport->fd, &message, MSG_NOSIGNAL);
}

static bool plain_pending(const struct transport *transport)
{
    (void)transport;
    return false;
}

static void plain_close(struct transport *transport)
{
    close(transport->fd);
    free(transport);
}

static const struct transport_type plain = {
    .handshake = plain_handshake,
    .read = plain_read,
    .write = plain_write,
    .pending = plain_pending,
    .close = plain_close,
};

struct transport *transport_plain(int fd)
{
    struct transport *transport = zalloc(sizeof *transport);

    *transport = (struct transport){ .type = &plain, .fd = fd };
    return transport;
}
