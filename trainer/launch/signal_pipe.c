#include "trainer/launch/signal_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static int write_end = -1;

/* A full pipe already has enough signals to wake the reader. */
static void on_signal(int number)
{
    int error = errno;
    unsigned char byte = (unsigned char)number;

    if (write(write_end, &byte, 1) < 0)
        errno = error;
    errno = error;
}

struct status signal_pipe_open(int *read_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return status_errno(errno, "pipe");
    *read_end = ends[0];
    write_end = ends[1];
    return status_ok();
}

void signal_pipe_catch(const int *signals, int count)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < count; i++)
        sigaction(signals[i], &action, NULL);
    action = (struct sigaction){ .sa_handler = SIG_IGN };
    sigaction(SIGPIPE, &action, NULL); /* writing to a closed pipe fails instead */
}

int signal_pipe_next(int read_end)
{
    unsigned char byte;

    return read(read_end, &byte, 1) == 1 ? byte : 0;
}

void signal_pipe_reset(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL); /* fails for SIGKILL and SIGSTOP */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
