/* pstrain: trains a model on parameter servers and exports it as a SavedModel. */
#include "trainer/commands.h"

static const struct command rows[] = {
    { "schema", command_schema, "print a --schema that the first rows of files suggest" },
    { "predict", command_predict, "run the rows of files through a SavedModel" },
    { "launch", command_launch, "start the tasks of a job on hosts, by ssh" },
    { "doctor", command_doctor,
      "connect to every task of a cluster, and print which of them answer" },
    { "supervise", command_supervise, "run a task for `launch`, and end it with the connection" },
};

const struct command_set pstrain_commands = { .program = "pstrain",
                                              .arguments = "[flags]",
                                              .rows = rows,
                                              .count = COUNT(rows),
                                              .otherwise = train_main };

int main(int argc, char **argv)
{
    return command_main(&pstrain_commands, argc, argv);
}
