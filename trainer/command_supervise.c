#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/flags.h"
#include "trainer/commands.h"
#include "trainer/launch/supervise.h"

static struct {
    const char *directory;
    struct flag_texts environment;
    int32_t stop_timeout;
    bool help;
} supervising;

static const struct flag rows[] = {
    { "directory", FLAG_TEXT, &supervising.directory, "",
      .help = "working directory of the program; the default is the current one" },
    { "env", FLAG_TEXTS, &supervising.environment, "",
      .help = "NAME=VALUE: environment variable of the program; once for each" },
    { "stop_timeout", FLAG_INT32, &supervising.stop_timeout, "15",
      .help = "seconds that the program has after SIGTERM, before SIGKILL", .min = 0, .max = 1e6 },
    HELP_FLAG(&supervising.help),
};

static const struct flag_set flags = {
    "usage: pstrain supervise [flags] -- PROGRAM ARGUMENTS...\n\n"
    "Runs a program for `pstrain launch`, and ends it when the standard input ends. The letters T, "
    "I\nand K there send it SIGTERM, SIGINT and SIGKILL.",
    rows, COUNT(rows)
};

static struct status set_environment(void)
{
    for (size_t i = 0; i < supervising.environment.count; i++) {
        const char *text = supervising.environment.values[i], *equals = strchr(text, '=');
        if (equals == NULL || equals == text)
            return status_error(STATUS_INVALID_ARGUMENT, "--env=%s: expected NAME=VALUE", text);
        char *name = xstrdup(text);
        name[equals - text] = '\0';
        setenv(name, equals + 1, 1);
        free(name);
    }
    return status_ok();
}

struct status command_supervise(int argc, char **argv)
{
    int words, exit_status;

    TRY(command_line_fault(flags_parse(&flags, argc, argv, &words)));
    if (supervising.help) {
        flags_print_help(&flags, stdout);
        return status_ok();
    }
    if (words == 0)
        return command_usage("supervise: the program is missing");
    TRY(command_line_fault(set_environment()));
    argv[words + 1] = NULL;
    const struct supervision supervision = { .argv = argv + 1,
                                             .directory = supervising.directory,
                                             .stop_timeout_ms =
                                                 (int64_t)supervising.stop_timeout * 1000 };
    TRY(command_line_fault(supervise(&supervision, &exit_status)));
    command_exit_with(exit_status);
    return status_ok();
}
