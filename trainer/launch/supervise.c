#include "trainer/launch/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "trainer/launch/signal_pipe.h"

struct supervisor {
    pid_t child;
    int signals;         /* read end of the pipe */
    bool connected;      /* the standard input is open */
    int64_t deadline_ns; /* of SIGKILL */
    int64_t stop_timeout_ms;
};

/* ---- starting the program ---- */

/* Runs in the child and does not return. A failure's errno goes to the parent. */
static void become_program(const struct supervision *supervision, pid_t parent, int failure)
{
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    signal_pipe_reset();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    execvp(supervision->argv[0], supervision->argv);
    int error = errno;
    if (write(failure, &error, sizeof error) != sizeof error)
        _exit(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

static struct status start_program(const struct supervision *supervision, pid_t *out)
{
    pid_t parent = getpid();
    int failure[2], error;

    if (*supervision->directory != '\0' && chdir(supervision->directory) != 0)
        return status_errno(errno, "--directory=%s", supervision->directory);
    if (pipe2(failure, O_CLOEXEC) != 0)
        return status_errno(errno, "pipe");
    *out = fork();
    if (*out == 0)
        become_program(supervision, parent, failure[1]);
    int fork_error = *out < 0 ? errno : 0;
    close(failure[1]);
    ssize_t size = fork_error == 0 ? read(failure[0], &error, sizeof error) : 0;
    close(failure[0]);
    if (fork_error != 0)
        return status_errno(fork_error, "fork");
    if (size == sizeof error)
        return status_errno(error, "start '%s'", supervision->argv[0]);
    setpgid(*out, *out); /* both here and in the child, because either may run first */
    return status_ok();
}

/* ---- watching it ---- */

/* The group has the child's number until the child has been waited for. */
static void send_signal(struct supervisor *supervisor, int number)
{
    kill(-supervisor->child, number);
}

static void stop_program(struct supervisor *supervisor, int number)
{
    send_signal(supervisor, number);
    if (supervisor->deadline_ns == CLOCK_NEVER)
        supervisor->deadline_ns = clock_deadline_ns(clock_monotonic(), supervisor->stop_timeout_ms);
}

static void read_requests(struct supervisor *supervisor)
{
    char requests[64];
    ssize_t size = read(STDIN_FILENO, requests, sizeof requests);

    if (size < 0 && errno == EINTR)
        return;
    if (size <= 0) {
        supervisor->connected = false;
        stop_program(supervisor, SIGTERM);
    }
    for (ssize_t i = 0; i < size; i++) {
        if (requests[i] == SUPERVISE_TERMINATE)
            send_signal(supervisor, SIGTERM);
        else if (requests[i] == SUPERVISE_INTERRUPT)
            send_signal(supervisor, SIGINT);
        else if (requests[i] == SUPERVISE_KILL)
            send_signal(supervisor, SIGKILL);
    }
}

/* A signal for the supervisor, such as at shutdown, is meant for the program. */
static void handle_signals(struct supervisor *supervisor)
{
    for (int number; (number = signal_pipe_next(supervisor->signals)) != 0;)
        if (number != SIGCHLD)
            stop_program(supervisor, number == SIGHUP ? SIGTERM : number);
}

static bool has_ended(const struct supervisor *supervisor, int *exit_status)
{
    int how;

    if (waitpid(supervisor->child, &how, WNOHANG) != supervisor->child)
        return false;
    *exit_status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return true;
}

static int wait_ms(const struct supervisor *supervisor)
{
    if (supervisor->deadline_ns == CLOCK_NEVER)
        return -1;
    int64_t left_ns = supervisor->deadline_ns - clock_now_ns(clock_monotonic());
    return left_ns > 0 ? (int)(left_ns / NS_PER_MS) + 1 : 0;
}

struct status supervise(const struct supervision *supervision, int *exit_status)
{
    static const int caught[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
    struct supervisor supervisor = { .connected = true,
                                     .deadline_ns = CLOCK_NEVER,
                                     .stop_timeout_ms = supervision->stop_timeout_ms };

    TRY(signal_pipe_open(&supervisor.signals));
    signal_pipe_catch(caught, COUNT(caught));
    TRY(start_program(supervision, &supervisor.child));
    while (!has_ended(&supervisor, exit_status)) {
        struct pollfd files[] = { { .fd = supervisor.signals, .events = POLLIN },
                                  { .fd = supervisor.connected ? STDIN_FILENO : -1,
                                    .events = POLLIN } };
        poll(files, COUNT(files), wait_ms(&supervisor));
        handle_signals(&supervisor);
        if (files[1].revents != 0)
            read_requests(&supervisor);
        if (supervisor.deadline_ns != CLOCK_NEVER &&
            clock_now_ns(clock_monotonic()) >= supervisor.deadline_ns) {
            send_signal(&supervisor, SIGKILL);
            supervisor.deadline_ns = CLOCK_NEVER;
        }
    }
    return status_ok();
}
