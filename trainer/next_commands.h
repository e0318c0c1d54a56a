/*
 * next_commands: prints the commands that serve an export and send it a request, for people to
 * paste.
 */
#ifndef TRAINER_NEXT_COMMANDS_H
#define TRAINER_NEXT_COMMANDS_H

#include "layers/layers.h"

/* program: argv[0], beside which modelserver may be. directory: of the export of this model. */
void next_commands_print(const char *program, const struct layers_model *model,
                         const struct layers_serving_options *serving, const char *directory);

#endif
