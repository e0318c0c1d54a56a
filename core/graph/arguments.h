/*
 * arguments: the tensors that an op's arguments stand for on a node: how many each is, of which
 * types. `op` is the node's op, or the signature of the function that the node calls.
 */
#ifndef GRAPH_ARGUMENTS_H
#define GRAPH_ARGUMENTS_H

#include "graph/graph.h"

/* What a number attribute of a stranger may ask for, and all of a graph's together. */
#define ARGUMENT_TENSORS_MAX 65536
#define GRAPH_OUTPUTS_MAX    (1 << 21)

/* The op, or the signature of the library function that the node calls by name; NULL: neither. */
const struct op *node_signature(const struct graph *graph, const struct node *node);

/* An attribute with the defaults of `op` (NULL: without); NULL: there is none. */
const struct attr_value *argument_attr(const struct node *node, const struct op *op,
                                       const char *name);

/* The same where it has to be there, of that kind; else INVALID_ARGUMENT. */
struct status argument_attr_of(const struct node *node, const struct op *op, const char *name,
                               enum attr_kind kind, const struct attr_value **out);

/* How many tensors an argument is. INVALID_ARGUMENT: its attribute is missing or out of range. */
struct status argument_count(const struct node *node, const struct op *op, const struct op_arg *arg,
                             int *out);

/* The type of the tensor `index` of an argument; is_ref where it is a reference. */
struct status argument_type(const struct node *node, const struct op *op, const struct op_arg *arg,
                            int index, enum dtype *dtype, bool *is_ref);

/* Is each attribute that is given of the kind, and among the values, that the op's definition
 * allows? INVALID_ARGUMENT names the node, the attribute, the value and what is allowed. */
struct status node_check_attrs(const struct node *node);

/* Fills in node->outputs (types known, shapes not) where the node has a signature. Checks the
 * attributes (node_check_attrs). */
struct status node_fill_outputs(struct graph *graph, struct node *node);

/* The attribute `shape` of a Placeholder or a variable. */
struct status node_declared_shape(const struct graph *graph, const struct node *node,
                                  struct shape *out);

/* Are the node's inputs as many, and where known of the types, that its signature asks for? */
struct status node_check_inputs(const struct graph *graph, const struct node *node);

#endif
