/*
 * restore_graph: reads a restore sub-graph: which key of the checkpoint is assigned to which
 * variable. For restore.c and trainable.c.
 */
#ifndef SAVEDMODEL_RESTORE_GRAPH_H
#define SAVEDMODEL_RESTORE_GRAPH_H

#include "graph/graph.h"

bool node_is_handle(const struct node *node); /* VarHandleOp, VariableV2, … */
bool node_is_assign(const struct node *node); /* AssignVariableOp, Assign */

/* The name of the variable: its shared name, or for a reference variable without one its node's. */
struct bytes handle_name(const struct node *handle);

/* The node before Identity nodes, and the index of its output. */
const struct node *skip_identity(struct endpoint endpoint, int *index);

/* May the node run functions, whose nodes its graph does not show? Of an unknown op: yes. */
bool node_may_run_functions(const struct node *node);

/* May a run of the flattened graph change a variable? False only if ops that read variables, and no
 * others, get them, and none of the fetches is one. */
bool may_write_variables(const struct flatten_result *flat, int fetches_count);

/* The keys that a RestoreV2 reads; NULL if they are not a constant. Real files have a constant. */
const struct tensor *restored_names(const struct node *restore);

/* The key of an assignment: if it assigns output k of RestoreV2, element k of RestoreV2's names.
 * Otherwise NULL. */
const char *restored_key(const struct node *assign, struct arena *arena);

/* The shape_and_slice of the key, for bundle_restore; NULL if there is none. */
const char *restored_slice(const struct node *assign, struct arena *arena);

#endif
