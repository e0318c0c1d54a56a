/*
 * save_graph: the `save/` sub-graph, by which TensorFlow's loaders restore, and the initialisers
 * that VariableDefs name.
 */
#ifndef SAVEDMODEL_SAVE_GRAPH_H
#define SAVEDMODEL_SAVE_GRAPH_H

#include "savedmodel/save.h"

/* Names for saver_def and VariableDefs. */
struct save_names {
    const char *filename_tensor, *save_tensor; /* with ":0" */
    const char *restore_op;                    /* without */
    bool v1;                                   /* saves in format V1; restores from both formats */
};

/* Adds save/… and, for each variable v that lacks them, v/Initializer/zeros, v/Assign and
 * v/Read/ReadVariableOp. Only TensorFlow runs the saving half, if the export is loaded in Python
 * and saved again. It writes the checkpoint's format. */
struct status save_graph_add(struct graph *graph, enum savedmodel_format format,
                             const struct saved_variable *variables, int count,
                             struct save_names *out);

#endif
