/*
 * arguments: the number and types of the tensors in each argument of an op, as a node uses it. `op`
 * is the node's op, or the signature of the function that the node calls.
 */
#ifndef GRAPH_ARGUMENTS_H
#define GRAPH_ARGUMENTS_H

#include "graph/graph.h"

/* The largest number attribute that a file may ask for, and the limit for all outputs of a
 * graph. */
#define ARGUMENT_TENSORS_MAX 65536
#define GRAPH_OUTPUTS_MAX    (1 << 21)

/* The op, or the signature of the library function that the node calls by name; NULL: neither. */
const struct op *node_signature(const struct graph *graph, const struct node *node);

/* An attribute, or its default in `op` (NULL: no defaults); NULL: there is none. */
const struct attr_value *argument_attr(const struct node *node, const struct op *op,
                                       const char *name);

/* The same for a required attribute. INVALID_ARGUMENT: it is missing, or of another kind. */
struct status argument_attr_of(const struct node *node, const struct op *op, const char *name,
                               enum attr_kind kind, const struct attr_value **out);

/* The number of tensors of an argument. INVALID_ARGUMENT: its attribute is missing or out of
 * range. */
struct status argument_count(const struct node *node, const struct op *op, const struct op_arg *arg,
                             int *out);

/* The type of tensor `index` of an argument, and whether it is a reference. */
struct status argument_type(const struct node *node, const struct op *op, const struct op_arg *arg,
                            int index, enum dtype *dtype, bool *is_ref);

/* Checks that each given attribute has the kind, and one of the values, that the op's definition
 * allows. INVALID_ARGUMENT names the node, the attribute, the value and the allowed ones. */
struct status node_check_attrs(const struct node *node);

/* Sets node->outputs (types, no shapes) if the node has a signature. Checks the attributes
 * (node_check_attrs). */
struct status node_fill_outputs(struct graph *graph, struct node *node);

/* Does the op take input `index` as a reference, through which it may write? Of an unknown op:
 * yes. */
bool node_input_is_ref(const struct node *node, int index);
/* The same of any input: AssignAdd and QueueDequeue, for example, which op_is_pure calls pure. */
bool node_takes_reference(const struct node *node);

/* The attribute `shape` of a Placeholder or a variable. */
struct status node_declared_shape(const struct graph *graph, const struct node *node,
                                  struct shape *out);

/* Checks the number of the node's inputs and, if known, their types against its signature. */
struct status node_check_inputs(const struct graph *graph, const struct node *node);

#endif
