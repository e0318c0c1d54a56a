/* modelclient: sends requests to a model server from the command line. */
#include "clients/commands.h"

static const struct command commands[] = {
    { "predict", command_predict, "send tensors, print the outputs of a signature" },
    { "classify", command_classify, "send examples, print the labels and scores of each" },
    { "regress", command_regress, "send examples, print a value for each" },
    { "metadata", command_metadata, "print the model's signatures" },
    { "status", command_status, "print the model's versions and their states" },
    { "replay", command_replay, "send the requests of a log again, print the answers that differ" },
};

static const struct command_set set = {
    .program = "modelclient",
    .arguments = "[flags]",
    .purpose = "Sends requests to modelserver or TensorFlow Serving, over gRPC or REST.",
    .rows = commands,
    .count = COUNT(commands),
};

int main(int argc, char **argv)
{
    return command_main(&set, argc, argv);
}
