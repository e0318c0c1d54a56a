/*
 * supervise: runs one program for a launcher that may be on another host, and ends it with the
 * connection. `pstrain launch` starts each task this way.
 *
 * The standard input is the connection. Each byte is a request; end of file means that the launcher
 * has died or was cut off: ssh then closes the input of the remote command.
 *
 *     T  send SIGTERM        I  send SIGINT        K  send SIGKILL
 *     end of the input: SIGTERM, and SIGKILL after stop_timeout_ms
 *
 * The program has /dev/null as its standard input, and the supervisor's standard output and error.
 * It leads a process group, which the signals go to. If the supervisor itself is killed, the kernel
 * kills the program.
 */
#ifndef TRAINER_LAUNCH_SUPERVISE_H
#define TRAINER_LAUNCH_SUPERVISE_H

#include <stdint.h>

#include "base/status.h"

#define SUPERVISE_TERMINATE 'T'
#define SUPERVISE_INTERRUPT 'I'
#define SUPERVISE_KILL      'K'

struct supervision {
    char **argv;           /* the program and its arguments, ended by NULL */
    const char *directory; /* working directory; "": the supervisor's */
    int64_t stop_timeout_ms;
};

/* Returns when the program has ended: *exit_status is its exit status, or 128 + the signal that
 * killed it. Errors: NOT_FOUND the directory or the program; others of starting a process. */
struct status supervise(const struct supervision *supervision, int *exit_status);

#endif
