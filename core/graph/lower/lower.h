/*
 * lower: TensorFlow 1's control flow as If and While nodes. In such a graph a Switch gives its
 * value to one of two outputs and the other one is dead; a node with a dead input does not run and
 * is dead itself; a Merge passes on the input that is not. A loop is a frame that values enter and
 * exit, with an edge back from NextIteration to Merge.
 *
 * Lowering finds the branches and loops that tf.cond and tf.while_loop made of these ops and moves
 * their nodes to functions, so that the plan sees one kind of branch and loop, and a run has no
 * dead values. It takes the outermost branches and loops of a flattened graph. Those inside become
 * part of functions and are lowered when the functions are flattened.
 */
#ifndef GRAPH_LOWER_LOWER_H
#define GRAPH_LOWER_LOWER_H

#include "graph/graph.h"

/**
 * Lowers a flattened graph; `flat` then refers to what became of its fetches and targets.
 *
 * Errors  UNIMPLEMENTED names a node of a graph that is not structured as tf.cond and tf.while_loop
 *         structure it
 */
struct status graph_lower(const struct flatten_request *request, struct flatten_result *flat);

#endif
