/*
 * commands: the commands of the program `modelclient`: command_predict.c, command_examples.c
 * (classify and regress), command_metadata.c, command_status.c, command_replay.c.
 */
#ifndef CLIENTS_COMMANDS_H
#define CLIENTS_COMMANDS_H

#include "base/command.h"

command_function command_predict, command_classify, command_regress, command_metadata,
    command_status, command_replay;

#endif
