/*
 * signal_pipe: delivers signals as bytes of a pipe, so that one poll waits for them and for files.
 *
 * A process can have only one at a time. Its read end never blocks: read signal numbers, one byte
 * each, until EAGAIN.
 */
#ifndef TRAINER_LAUNCH_SIGNAL_PIPE_H
#define TRAINER_LAUNCH_SIGNAL_PIPE_H

#include "base/status.h"

struct status signal_pipe_open(int *read_end);

/* Sends these signals through the pipe from now on. */
void signal_pipe_catch(const int *signals, int count);

/* The next signal that has come; 0: none. */
int signal_pipe_next(int read_end);

/* In a child, between fork and exec: restores the default action of all signals. */
void signal_pipe_reset(void);

#endif
