/*
 * commands: the commands of `pstrain`, one file each (command_NAME.c), and its behaviour without a
 * command.
 */
#ifndef TRAINER_COMMANDS_H
#define TRAINER_COMMANDS_H

#include "base/command.h"

extern const struct command_set pstrain_commands;

command_function command_doctor, command_launch, command_predict, command_schema, command_supervise;

/* Trains. Returns the exit status. */
int train_main(int argc, char **argv);

#endif
