#include "trainer/commands.h"
#include "trainer/flags/hyperparameters.h"
#include "trainer/job/doctor.h"
#include "trainer/session/session.h"

static const char usage[] =
    "usage: pstrain doctor [flags]\n\n"
    "Connects to every task of the cluster that the flags, TF_CONFIG, Slurm or MPI describe, and\n"
    "prints which of them answer. Give it the flags of a task: those below count, and the others\n"
    "of `pstrain --help` are ignored.";

static struct status examine(struct session *session, int argc, char **argv)
{
    TRY(hyperparameters_insert(&train_flags, &argc, &argv, session->arena,
                               &session->hyperparameters));
    TRY(options_read_doctor(argc, argv, session->arena, &session->options));
    if (session->options.flags.help) {
        struct flag_set cluster = flags_group(&train_flags, CLUSTER_GROUP);
        cluster.usage = usage;
        flags_print_help(&cluster, stdout);
        return status_ok();
    }
    struct task_options task = session_task_options(session);
    command_exit_with(doctor_run(&task, stdout));
    return status_ok();
}

struct status command_doctor(int argc, char **argv)
{
    struct session session = { .arena = arena_create(0) };
    struct status status = command_line_fault(examine(&session, argc, argv));

    session_finish(&session);
    return status;
}
