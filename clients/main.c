/*
 * modelclient: asks a model server from the command line.
 */
#include "clients/commands.h"

static const struct command commands[] = {
    { "predict", command_predict, "tensors in, tensors out" },
    { "classify", command_classify, "examples in, labels and scores out" },
    { "regress", command_regress, "examples in, one value for each out" },
    { "metadata", command_metadata, "the model's signatures" },
    { "status", command_status, "the model's versions and their states" },
    { "replay", command_replay, "the requests of a log, sent again; answers that differ" },
};

static const struct command_set set = { "modelclient", "[flags]", commands, COUNT(commands), NULL };

int main(int argc, char **argv)
{
    return command_main(&set, argc, argv);
}
