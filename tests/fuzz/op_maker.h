/* op_maker: the state and functions that the files of op_graph share. */
#ifndef FUZZ_OP_MAKER_H
#define FUZZ_OP_MAKER_H

#include "fuzz/op_graph.h"
#include "unit/runtime/kernel_rows.h"

#define OP_NODES_MAX  3
#define OP_INPUTS_MAX 16

/* The nodes of a graph share its shape and count, so that their arguments fit each other. */
struct op_maker {
    struct choices *choices;
    struct op_graph *out;
    struct arena *arena;
    struct shape shape; /* of most inputs */
    int count;          /* the length of most lists */
    struct node *made[OP_NODES_MAX];
    int made_count;
};

/* The purpose of an argument, guessed from its name. */
enum role {
    ROLE_ANY,
    ROLE_AXIS,
    ROLE_SCALAR,
    ROLE_DIMS,
    ROLE_PERMUTATION,
    ROLE_PADS,
    ROLE_PAIR,
};

/* op_values.c: numbers, strings, shapes and tensors. The elements of a tensor fill a heap block
 * of exactly their size, so that AddressSanitizer sees a read past the end. */
int64_t choose_integer(struct choices *choices);
int64_t choose_odd_integer(struct choices *choices);
double choose_number(struct choices *choices);
const char *choose_string(struct choices *choices);
struct shape choose_shape(struct choices *choices);
enum role role_of(const char *argument);
void choose_element(struct choices *choices, struct tensor *tensor, int64_t i);
struct tensor make_tensor(struct op_maker *maker, enum dtype dtype, enum role role);
struct tensor make_tensor_of_shape(struct op_maker *maker, enum dtype dtype,
                                   const struct shape *shape, enum role role);

/* op_graph.c: nodes and attributes. */
struct node *add_node(struct op_maker *maker, const char *op);
void set_attr(struct op_maker *maker, struct node *node, const char *name, struct attr_value value);
int choose_type(struct choices *choices, dtype_set allowed);
struct attr_value choose_attr(struct op_maker *maker, const struct op *op,
                              const struct op_attr *attr);
/* Adds a Const, or a Placeholder that is fed with the tensor. Takes ownership of the tensor. */
struct node *place_tensor(struct op_maker *maker, struct tensor tensor);
/* Adds a variable that begins with the tensor, or as uninitialised. Takes ownership of it. */
struct node *place_variable(struct op_maker *maker, struct tensor value, bool is_ref);

/* op_function.c: the value of a function's attribute: a new function of the graph that suits the
 * types of the node, which has its other attributes. */
struct attr_value make_function(struct op_maker *maker, const struct node *node, const char *attr);
/* The same of a ReduceDataset that reads all elements of a dataset; its state is an int64. */
struct attr_value make_drain(struct op_maker *maker, const struct node *dataset);

/* op_row.c: adds the node of a row of tests/golden/kernels with up to three changes. Returns NULL
 * if the op has no row. */
struct node *make_row_node(struct op_maker *maker, const struct op *op);

#endif
