/*
 * save_variables: writes the checkpoint of an export, one file of values in the order of their
 * names: a bundle under variables/, or for a session_bundle export-00000-of-00001 in format V1.
 */
#ifndef SAVEDMODEL_SAVE_VARIABLES_H
#define SAVEDMODEL_SAVE_VARIABLES_H

#include "savedmodel/save.h"

/**
 * Errors  those of the source, the file system, and the writers (storage/bundle_writer.h,
 *         storage/checkpoint_v1_writer.h); they name the variable
 */
struct status save_variables(const char *directory, enum savedmodel_format format,
                             const struct saved_variable *variables, int count,
                             struct value_source *source);

#endif
