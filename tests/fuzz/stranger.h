/*
 * stranger: the far end of a connection whose near end runs in this thread's loop. It sends the
 * fuzzer's bytes and ignores the answers.
 */
#ifndef FUZZ_STRANGER_H
#define FUZZ_STRANGER_H

#include <stdlib.h>
#include <sys/socket.h>

#include "base/loop.h"

#define TURNS_MAX 1000

/* An assert that release builds keep, because the fuzzer has to stop in them as well. */
static inline void expect(bool condition)
{
    if (!condition)
        abort();
}

static inline void check(struct status status)
{
    expect(status_is_ok(status));
}

/* Reads and discards what the other side sends. */
static inline void drain(int fd)
{
    char bytes[65536];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

/* Sends all bytes and runs the loop meanwhile. */
static inline void say(struct loop *loop, int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    for (int turn = 0; size > 0 && turn < TURNS_MAX; turn++) {
        ssize_t sent = send(fd, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            size -= (size_t)sent;
        }
        check(loop_run_once(loop, false));
        drain(fd);
        if (sent < 0 && turn > 10)
            return; /* the other side has closed or stopped reading */
    }
}

#endif
