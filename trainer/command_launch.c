#include <string.h>

#include "base/file.h"
#include "base/flags.h"
#include "trainer/commands.h"
#include "trainer/launch/launcher.h"

#define SSH "ssh -T -o BatchMode=yes -o ServerAliveInterval=15"

static struct {
    const char *hosts, *ssh, *program, *directory;
    struct flag_texts environment;
    int32_t num_ps, num_workers, first_port, stop_timeout;
    bool dry_run, help;
} launching;

static const struct flag rows[] = {
    { "hosts", FLAG_TEXT, &launching.hosts, "",
      .help = "where the tasks run: a,b,c or node[01-03]; user@host for ssh; a:2 counts as two. "
              "Tasks on `localhost` are started without ssh" },
    { "num_ps", FLAG_INT32, &launching.num_ps, "1", .help = "ps tasks", .min = 1, .max = 4096 },
    { "num_workers", FLAG_INT32, &launching.num_workers, "0",
      .help = "workers; worker 0 is the chief. 0: as many as there are hosts without a ps, but at "
              "least one",
      .min = 0, .max = 4096 },
    { "first_port", FLAG_INT32, &launching.first_port, "2222",
      .help = "port of the first task on each host; the others follow", .min = 1, .max = 65535 },
    { "ssh", FLAG_TEXT, &launching.ssh, SSH,
      .help = "the remote shell: called with a host and a command for the shell there" },
    { "program", FLAG_TEXT, &launching.program, "",
      .help = "path of pstrain on the hosts; the default is this program's path" },
    { "directory", FLAG_TEXT, &launching.directory, "",
      .help = "working directory on the hosts; the default is the current directory here" },
    { "env", FLAG_TEXTS, &launching.environment, "",
      .help = "NAME=VALUE, or NAME for its value here: environment variable of the tasks; once for "
              "each" },
    { "stop_timeout", FLAG_INT32, &launching.stop_timeout, "15",
      .help = "seconds that a task has after SIGTERM, before SIGKILL", .min = 0, .max = 1e6 },
    { "dry_run", FLAG_BOOL, &launching.dry_run, "false",
      .help = "print the commands, and start nothing" },
    HELP_FLAG(&launching.help),
};

static const struct flag_set flags = {
    "usage: pstrain launch --hosts HOST,... [flags] -- FLAGS OF THE TASKS\n\n"
    "Starts the tasks of a job on hosts, by ssh:\n"
    "  pstrain launch --hosts a,b,c -- --model mlp --sync --export_dir /models/digits/1\n"
    "Prints their output, each line prefixed by the task's name. If a task fails, the others are\n"
    "stopped.",
    rows, COUNT(rows)
};

/* Finds this program's path and its working directory. */
static struct status find_here(struct arena *arena, struct launch_request *request)
{
    if (*request->program == '\0')
        TRY(file_real_path("/proc/self/exe", arena, &request->program));
    if (*request->directory == '\0')
        TRY(file_real_path(".", arena, &request->directory));
    return status_ok();
}

static struct status make_plan(int count, char **words, struct arena *arena,
                               struct launch_plan *out)
{
    struct launch_request request = {
        .hosts = launching.hosts,
        .num_ps = launching.num_ps,
        .num_workers = launching.num_workers,
        .first_port = launching.first_port,
        .ssh = launching.ssh,
        .program = launching.program,
        .directory = launching.directory,
        .environment = launching.environment.values,
        .environment_count = (int)launching.environment.count,
        .stop_timeout_s = launching.stop_timeout,
        .flags = words,
        .flags_count = count,
    };

    if (*request.hosts == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "launch: --hosts is missing");
    if (request.ssh[strspn(request.ssh, " \t")] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "launch: --ssh is empty");
    TRY(find_here(arena, &request));
    return launch_plan_make(&request, arena, out);
}

static void print_plan(const struct launch_plan *plan)
{
    struct buffer text = { 0 };

    for (int i = 0; i < plan->count; i++) {
        text.size = 0;
        launch_plan_print(&plan->tasks[i], &text);
        printf("[%s] %.*s\n", plan->tasks[i].name, (int)text.size, text.data);
    }
    buffer_finish(&text);
}

static void print_places(const struct launch_plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        printf("[%s] on %s\n", plan->tasks[i].name, plan->tasks[i].host);
    fflush(stdout);
}

static struct status launch(struct arena *arena, int argc, char **argv)
{
    struct launch_plan plan;
    int words, exit_status;

    struct status status = flags_parse(&flags, argc, argv, &words);
    TRY(command_line_fault(
        status.code == STATUS_NOT_FOUND
            ? status_error(status.code, "%s; flags of the tasks come after --", status.message)
            : status));
    if (launching.help) {
        flags_print_help(&flags, stdout);
        return status_ok();
    }
    TRY(command_line_fault(make_plan(words, argv + 1, arena, &plan)));
    if (launching.dry_run) {
        print_plan(&plan);
        return status_ok();
    }
    print_places(&plan);
    TRY(launcher_run(&plan, (int64_t)launching.stop_timeout * 1000, &exit_status));
    command_exit_with(exit_status);
    return status_ok();
}

struct status command_launch(int argc, char **argv)
{
    struct arena *arena = arena_create(0);
    struct status status = launch(arena, argc, argv);

    arena_destroy(arena);
    return status;
}
