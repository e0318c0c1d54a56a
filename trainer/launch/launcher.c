#include "trainer/launch/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "trainer/launch/line_printer.h"
#include "trainer/launch/signal_pipe.h"
#include "trainer/launch/supervise.h"

#define KILL_TIMEOUT_MS 5000 /* for a supervisor to kill its program, before its ssh is killed */
#define READ_SIZE       ((size_t)64 << 10)

enum { OUT, ERR, STREAMS };

struct launched {
    const struct launched_task *task;
    pid_t process;        /* 0: has ended, and was waited for */
    int requests;         /* write end of its standard input; -1: closed */
    int streams[STREAMS]; /* read ends; -1: closed */
    struct line_printer printers[STREAMS];
};

/* The request of the launcher to the tasks; the stages follow in this order. */
enum stage { RUNNING, STOPPING, KILLING, KILLED };

struct launcher {
    struct launched *tasks;
    int count, alive;
    int signals; /* read end of the pipe */
    enum stage stage;
    int64_t deadline_ns; /* of the next stage */
    int64_t stop_timeout_ms;
    int exit_status; /* of the first task that failed */
    int stop_signal; /* received by the launcher; 0: none */
};

/* ---- starting ---- */

static void close_file(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

/* Runs in the child and does not return. A terminal's signals must not reach it, because the
 * launcher forwards them. */
static void become_task(char **argv, const int files[3], int failure)
{
    setpgid(0, 0);
    signal_pipe_reset();
    for (int i = 0; i < 3; i++)
        if (dup2(files[i], i) < 0)
            _exit(EXIT_FAILURE);
    execvp(argv[0], argv);
    int error = errno;
    if (write(failure, &error, sizeof error) != sizeof error)
        _exit(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

/* Pipes: the child's and our ends of its standard input, output and error, and one that reports
 * a failed exec. */
struct task_pipes {
    int theirs[3], ours[3], failure[2];
};

static void close_pipes(struct task_pipes *pipes)
{
    for (int i = 0; i < 3; i++) {
        close_file(&pipes->theirs[i]);
        close_file(&pipes->ours[i]);
    }
    close_file(&pipes->failure[0]);
    close_file(&pipes->failure[1]);
}

static struct status open_pipes(struct task_pipes *out)
{
    int ends[2];

    for (int i = 0; i < 3; i++)
        out->theirs[i] = out->ours[i] = -1;
    out->failure[0] = out->failure[1] = -1;
    for (int i = 0; i < 3; i++) {
        if (pipe2(ends, O_CLOEXEC) != 0)
            return status_errno(errno, "pipe");
        out->theirs[i] = ends[i > 0];
        out->ours[i] = ends[i == 0];
        fcntl(out->ours[i], F_SETFL, O_NONBLOCK);
    }
    return pipe2(out->failure, O_CLOEXEC) == 0 ? status_ok() : status_errno(errno, "pipe");
}

static struct status start_process(char **argv, struct task_pipes *pipes, pid_t *out)
{
    int error = 0;

    *out = fork();
    if (*out == 0)
        become_task(argv, pipes->theirs, pipes->failure[1]);
    if (*out < 0)
        return status_errno(errno, "fork");
    close_file(&pipes->failure[1]);
    if (read(pipes->failure[0], &error, sizeof error) != sizeof error)
        return status_ok();
    waitpid(*out, NULL, 0);
    return status_errno(error, "start '%s'", argv[0]);
}

static struct status start_task(struct launcher *launcher, const struct launched_task *task)
{
    struct launched *started = &launcher->tasks[launcher->count];
    struct task_pipes pipes;
    struct status status = open_pipes(&pipes);

    if (status_is_ok(status))
        status = start_process(task->argv, &pipes, &started->process);
    if (!status_is_ok(status)) {
        close_pipes(&pipes);
        return status_in(status, "%s on %s", task->name, task->host);
    }
    *started = (struct launched){ .task = task,
                                  .process = started->process,
                                  .requests = pipes.ours[0],
                                  .streams = { pipes.ours[1], pipes.ours[2] },
                                  .printers = { { .name = task->name, .out = stdout },
                                                { .name = task->name, .out = stderr } } };
    pipes.ours[0] = pipes.ours[1] = pipes.ours[2] = -1; /* now the task's */
    close_pipes(&pipes);
    launcher->count++;
    launcher->alive++;
    return status_ok();
}

/* ---- ending ---- */

/* A task that does not read its requests cannot be asked; it runs into the timeout. */
static void request_all(struct launcher *launcher, char request)
{
    for (int i = 0; i < launcher->count; i++)
        if (launcher->tasks[i].requests >= 0 &&
            write(launcher->tasks[i].requests, &request, 1) < 0 && errno == EPIPE)
            close_file(&launcher->tasks[i].requests);
}

static void kill_all(struct launcher *launcher)
{
    for (int i = 0; i < launcher->count; i++)
        if (launcher->tasks[i].process != 0)
            kill(-launcher->tasks[i].process, SIGKILL);
}

/* Enters the next stage, with a request for the first one. */
static void stop_harder(struct launcher *launcher, char request)
{
    launcher->stage++;
    if (launcher->stage == STOPPING)
        request_all(launcher, request);
    else if (launcher->stage == KILLING)
        request_all(launcher, SUPERVISE_KILL);
    else
        kill_all(launcher);
    launcher->deadline_ns =
        launcher->stage == KILLED
            ? CLOCK_NEVER
            : clock_deadline_ns(clock_monotonic(), launcher->stage == STOPPING
                                                       ? launcher->stop_timeout_ms
                                                       : KILL_TIMEOUT_MS);
}

static void handle_signal(struct launcher *launcher, int number)
{
    if (launcher->stop_signal == 0)
        launcher->stop_signal = number;
    if (launcher->stage < KILLED)
        stop_harder(launcher, number == SIGINT ? SUPERVISE_INTERRUPT : SUPERVISE_TERMINATE);
}

/* ---- output ---- */

/* Reads the available output. Closes the stream at its end. */
static void read_stream(struct launched *task, int stream)
{
    static char data[READ_SIZE];
    ssize_t size = read(task->streams[stream], data, sizeof data);

    if (size > 0)
        line_printer_add(&task->printers[stream], data, (size_t)size);
    else if (size == 0 || (errno != EAGAIN && errno != EINTR))
        close_file(&task->streams[stream]);
}

/* Another process may hold the write end, such as ssh's shared connection, so the stream of an
 * ended task may never reach end of file: reads only what is available. */
static void drain_stream(struct launched *task, int stream)
{
    struct pollfd file = { .fd = task->streams[stream], .events = POLLIN };

    while (task->streams[stream] >= 0 && poll(&file, 1, 0) > 0)
        read_stream(task, stream);
    close_file(&task->streams[stream]);
    line_printer_finish(&task->printers[stream]);
}

static void end_task(struct launched *task)
{
    close_file(&task->requests);
    for (int s = 0; s < STREAMS; s++)
        drain_stream(task, s);
    task->process = 0;
}

static void report_end(struct launcher *launcher, const struct launched_task *task, int how)
{
    int status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    bool first = status != 0 && launcher->stage == RUNNING;

    if (first) {
        launcher->exit_status = status;
        fprintf(stderr, "pstrain: %s on %s has ended with %d; the other tasks are stopped\n",
                task->name, task->host, status);
        stop_harder(launcher, SUPERVISE_TERMINATE);
    }
}

static void reap(struct launcher *launcher)
{
    for (int i = 0; i < launcher->count; i++) {
        struct launched *task = &launcher->tasks[i];
        int how;
        if (task->process == 0 || waitpid(task->process, &how, WNOHANG) != task->process)
            continue;
        end_task(task);
        launcher->alive--;
        report_end(launcher, task->task, how);
    }
}

/* ---- the loop ---- */

static int wait_ms(const struct launcher *launcher)
{
    if (launcher->deadline_ns == CLOCK_NEVER)
        return -1;
    int64_t left_ns = launcher->deadline_ns - clock_now_ns(clock_monotonic());
    return left_ns > 0 ? (int)(left_ns / NS_PER_MS) + 1 : 0;
}

/* Waits for output, signals and the deadline. `files` has room for all streams and the signals. */
static void wait_for_events(struct launcher *launcher, struct pollfd *files)
{
    nfds_t count = 0;

    for (int i = 0; i < launcher->count; i++)
        for (int s = 0; s < STREAMS; s++)
            files[count++] =
                (struct pollfd){ .fd = launcher->tasks[i].streams[s], .events = POLLIN };
    files[count++] = (struct pollfd){ .fd = launcher->signals, .events = POLLIN };
    poll(files, count, wait_ms(launcher));
    for (int i = 0; i < launcher->count; i++)
        for (int s = 0; s < STREAMS; s++)
            if (files[i * STREAMS + s].revents != 0)
                read_stream(&launcher->tasks[i], s);
    for (int number; (number = signal_pipe_next(launcher->signals)) != 0;)
        if (number != SIGCHLD)
            handle_signal(launcher, number);
    reap(launcher);
    if (launcher->deadline_ns != CLOCK_NEVER &&
        clock_now_ns(clock_monotonic()) >= launcher->deadline_ns)
        stop_harder(launcher, SUPERVISE_TERMINATE);
}

static void wait_for_all(struct launcher *launcher)
{
    struct pollfd *files = zalloc(((size_t)launcher->count * STREAMS + 1) * sizeof *files);

    while (launcher->alive > 0)
        wait_for_events(launcher, files);
    free(files);
}

struct status launcher_run(const struct launch_plan *plan, int64_t stop_timeout_ms,
                           int *exit_status)
{
    static const int caught[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
    struct launcher launcher = { .deadline_ns = CLOCK_NEVER, .stop_timeout_ms = stop_timeout_ms };
    struct status status = status_ok();

    TRY(signal_pipe_open(&launcher.signals));
    signal_pipe_catch(caught, COUNT(caught));
    launcher.tasks = zalloc((size_t)plan->count * sizeof *launcher.tasks);
    for (int i = 0; i < plan->count && status_is_ok(status); i++)
        status = start_task(&launcher, &plan->tasks[i]);
    struct status held = status_hold(status);
    if (!status_is_ok(status) && launcher.count > 0)
        stop_harder(&launcher, SUPERVISE_TERMINATE);
    wait_for_all(&launcher);
    free(launcher.tasks);
    close(launcher.signals);
    *exit_status = launcher.stop_signal != 0 ? 128 + launcher.stop_signal : launcher.exit_status;
    return status_resume(held);
}
