/*
 * stranger: the far end of a connection whose near end runs in this thread's loop: sends what a
 * fuzzer has made up, and reads nothing of the answers.
 */
#ifndef FUZZ_STRANGER_H
#define FUZZ_STRANGER_H

#include <stdlib.h>
#include <sys/socket.h>

#include "base/loop.h"

#define TURNS_MAX 1000

static inline void check(struct status status)
{
    if (!status_is_ok(status))
        abort();
}

/* What the other side says is read and forgotten. */
static inline void drain(int fd)
{
    char bytes[65536];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

/* Turns the loop until all is sent. */
static inline void say(struct loop *loop, int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    for (int turn = 0; size > 0 && turn < TURNS_MAX; turn++) {
        ssize_t sent = send(fd, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
        }
        check(loop_turn(loop, false));
        drain(fd);
        if (sent < 0 && turn > 10)
            return; /* the other side has closed, or reads no further */
    }
}

#endif
