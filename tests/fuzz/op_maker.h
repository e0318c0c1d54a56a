/* op_maker: what the parts of op_graph share. */
#ifndef FUZZ_OP_MAKER_H
#define FUZZ_OP_MAKER_H

#include "fuzz/op_graph.h"
#include "unit/runtime/kernel_rows.h"

#define OP_NODES_MAX  3
#define OP_INPUTS_MAX 16

/* What the nodes of one graph share, so that their arguments fit each other. */
struct maker {
    struct choices *choices;
    struct op_graph *out;
    struct arena *arena;
    struct shape shape; /* of most inputs */
    int count;          /* of lists and of arguments that are lists */
    struct node *made[OP_NODES_MAX];
    int made_count;
};

/* What an argument is for, by its name. */
enum role {
    ROLE_ANY,
    ROLE_AXIS,
    ROLE_SCALAR,
    ROLE_DIMS,
    ROLE_PERMUTATION,
    ROLE_PADS,
    ROLE_PAIR,
};

/* op_values.c: numbers, strings, shapes and tensors. A tensor's elements are exactly as many bytes
 * on the heap, so that a read behind them is seen. */
int64_t choose_integer(struct choices *choices);
int64_t choose_odd_integer(struct choices *choices);
double choose_number(struct choices *choices);
const char *choose_string(struct choices *choices);
struct shape choose_shape(struct choices *choices);
enum role role_of(const char *argument);
void choose_element(struct choices *choices, struct tensor *tensor, int64_t i);
struct tensor make_tensor(struct maker *maker, enum dtype dtype, enum role role);
struct tensor make_tensor_of_shape(struct maker *maker, enum dtype dtype, const struct shape *shape,
                                   enum role role);

/* op_graph.c: nodes and attributes. */
struct node *add_node(struct maker *maker, const char *op);
void set_attr(struct maker *maker, struct node *node, const char *name, struct attr_value value);
int choose_type(struct choices *choices, dtype_set allowed);
struct attr_value choose_attr(struct maker *maker, const struct op *op, const struct op_attr *attr);
/* A Placeholder that is fed with the tensor, or a Const. Takes the tensor over. */
struct node *place_tensor(struct maker *maker, struct tensor tensor);

/* op_row.c: a node that a row of tests/golden/kernels describes, a few things of it changed; NULL:
 * there is no row for the op. */
struct node *make_row_node(struct maker *maker, const struct op *op);

#endif
