/* pstrain without a command: trains and exports, or runs a task of a job. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parallel.h"
#include "trainer/commands.h"
#include "trainer/flags/hyperparameters.h"
#include "trainer/next_commands.h"
#include "trainer/session/session.h"

#define EXIT_USAGE 2

/* Atomic: the handler runs in any thread. */
static _Atomic int stop_signal;

static const char *signal_name(int number)
{
    return number == SIGINT ? "SIGINT" : number == SIGHUP ? "SIGHUP" : "SIGTERM";
}

static void on_signal(int number)
{
    stop_signal = number;
}

/* Before the training begins, nothing has to finish. */
static void on_early_signal(int number)
{
    const char *words[] = { "pstrain: stopped by ", signal_name(number), "\n" };

    for (size_t i = 0; i < COUNT(words); i++)
        if (write(STDERR_FILENO, words[i], strlen(words[i])) < 0)
            break;
    _exit(128 + number);
}

/* Catches each signal once: a second one ends the program at once. */
static void catch_signals(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = (int)SA_RESETHAND };
    sigset_t ours;

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    /* nohup ignores it */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    action = (struct sigaction){ .sa_handler = SIG_IGN };
    sigaction(SIGPIPE, &action, NULL); /* writing to a broken connection fails instead */
    /* whoever started the process may have blocked them */
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

/* The other tasks wait for a task that trains. */
static int fail(struct session *session, struct status status)
{
    const struct options *options = &session->options;
    struct status held = status_hold(status);

    fprintf(stderr, "pstrain: %s\n", held.message);
    if (options->knows_tasks && !session_is_local(session) && !session_is_ps(session) &&
        options->map.kind != JOB_EVALUATOR) {
        struct task_options task = session_task_options(session);
        task_report_refusal(&task, held);
    }
    status_ignore(status_resume(held));
    return EXIT_USAGE;
}

/* Prints a line; if the job has other tasks, logs it with this task's name. */
static void complain(const struct session *session, const char *text)
{
    if (!session_is_local(session))
        log_error("%s", text);
    else if (session->options.log_level < LOG_NONE)
        fprintf(stderr, "pstrain: %s\n", text);
}

/* Reports the chief's progress, and what is left on disk. */
static int stopped(const struct session *session)
{
    const struct options *options = &session->options;
    const struct checkpoint_dir *dir = session->checkpoints;
    const char *text = arena_printf(session->arena, "stopped by %s", signal_name(stop_signal));

    if (session_is_chief(session))
        text = arena_printf(session->arena, "%s at step %llu; %s was exported", text,
                            (unsigned long long)atomic_load(&session->progress.global_step),
                            session->exported ? options->export_directory : "nothing");
    if (dir != NULL && checkpoint_dir_count(dir) > 0)
        text = arena_printf(session->arena, "%s; the last checkpoint is %s", text,
                            checkpoint_dir_at(dir, 0, session->arena));
    complain(session, text);
    return 128 + stop_signal;
}

static int conclude(const struct session *session, struct status status, const char *program)
{
    const struct options *options = &session->options;

    if (!status_is_ok(status) && stop_signal != 0)
        return stopped(session);
    if (session_is_ps(session)) /* it has logged the outcome */
        return task_exit_code(status);
    if (!status_is_ok(status)) {
        complain(session, status.message);
        return session_is_local(session) ? EXIT_FAILURE : task_exit_code(status);
    }
    if (!session_is_local(session))
        log_info("the job is finished");
    if (session->exported && !session->report.silent)
        next_commands_print(program, options->model, session->serving, options->export_directory);
    return EXIT_SUCCESS;
}

static int work(struct session *session, const char *program)
{
    struct status status = session_prepare(session);
    char text[PARALLEL_TEXT_BYTES];

    if (!status_is_ok(status))
        return fail(session, status);
    catch_signals(on_signal);
    parallel_set_width(session->options.flags.threads);
    if (!parallel_start_all(text))
        log_warning("%s", text);
    return conclude(session, session_run(session), program);
}

static void print_help(void)
{
    struct flag_set flags = train_flags;

    printf("%s\n\ncommands, of which `pstrain COMMAND --help` lists the flags:\n", flags.usage);
    command_print_list(&pstrain_commands, stdout);
    printf("\n");
    flags.usage = NULL;
    flags_print_help(&flags, stdout);
}

static struct status read_command_line(int argc, char **argv, struct session *session)
{
    struct status status = hyperparameters_insert(&train_flags, &argc, &argv, session->arena,
                                                  &session->hyperparameters);

    if (status_is_ok(status))
        return options_read(argc, argv, &pstrain_commands, session->arena, &session->options);
    struct status held = status_hold(status);
    options_read_tasks(argc, argv, session->arena, &session->options);
    return status_resume(held);
}

int train_main(int argc, char **argv)
{
    struct session session = { .arena = arena_create(0), .stop_signal = &stop_signal };
    int code = EXIT_SUCCESS;

    catch_signals(on_early_signal);
    struct status status = read_command_line(argc, argv, &session);
    if (!status_is_ok(status)) {
        code = fail(&session, status);
    } else if (session.options.flags.help) {
        print_help();
        code = command_printed("pstrain");
    } else if (session.options.flags.version) {
        printf("pstrain %s\n", SLIPWAY_VERSION);
        code = command_printed("pstrain");
    } else {
        log_set_level(session.options.log_level);
        code = work(&session, argv[0]);
    }
    session_finish(&session);
    return code;
}
