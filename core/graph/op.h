/*
 * op: the definition of an op, as in TensorFlow's OpDef, and the traits that a plan relies on.
 * `graph/ops.def` is the only list: the table here, the document of supported ops and the test that
 * every op has golden rows are made from it. The kernels that run the ops are in runtime/kernels.
 *
 * A row of ops.def:
 *
 *     OP(Cast, 0, "x:SrcT", "y:DstT", "SrcT:type, DstT:type, Truncate:bool=false",
 *        infer_unchanged, gradient_cast, rows_passed_on)
 *
 *     Cast             the name in NodeDef.op
 *     0                traits: enum op_trait, joined by |
 *     "x:SrcT"         inputs: `inputs:N*T` is N tensors of type T, `data:list T` one tensor for
 *                      each entry of the list(type) attribute T, `ref:T&` a reference
 *     "y:DstT"         outputs, in the same notation
 *     "SrcT:type, …"   attributes
 *     infer_unchanged  infers the shapes of outputs (graph/ops); infer_unknown: known when it runs
 *     gradient_cast    emits the gradient (graph/gradients); gradient_none: there is none,
 *                      gradient_stop: nothing flows back
 *     rows_passed_on   tells how the rows of a batch go through (runtime/plan/row_rules.h);
 *                      rows_unknown: nothing is proved, and a graph that holds it is not batched
 *
 * An attribute says what TensorFlow allows for it, before its default: a set of types or strings in
 * braces, and the least value of an int or the least length of a list:
 *
 *     T:type{floating,int32}=float, padding:string{SAME,VALID}, N:int>=2, strides:list(int)>=4
 *
 * The names of sets of types (index, floating, …) are in op_parse.c.
 *
 * ops.def lists only the ops that Slipway runs. For any other op, the graph keeps name and
 * attributes (see graph.h).
 */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include "graph/attr.h"

struct infer_context;
struct gradient_context;

enum op_trait {
    OP_STATEFUL = 1 << 0, /* has an effect, or reads the effects of other ops: never folded, never
                             merged, never left out as a target */
    OP_RANDOM = 1 << 1,   /* stateful only because each run differs */
    OP_IDENTITY = 1 << 2, /* output i is input i, unchanged */
    OP_VARIABLE = 1 << 3, /* output 0 is a variable: its handle or a reference to it */
    OP_READS = 1 << 4,    /* takes a variable (input 0) and does not write it */
    OP_ASSIGN = 1 << 5,   /* sets a variable (input 0) to a value (input 1) */
    OP_CALL = 1 << 6,     /* runs the function of its attribute `f`; flattening inlines it */
    OP_IF = 1 << 7,       /* input 0, a truth value, chooses `then_branch` or `else_branch` */
    OP_CASE = 1 << 8,     /* input 0, an index, chooses one of `branches` */
    OP_LOOP = 1 << 9,     /* runs `body` while `cond` holds */
    OP_FUSED = 1 << 10,   /* a product and its `fused_ops`; the last argument holds their inputs */
    OP_ACTIVATION = 1 << 11, /* one input, element by element: may stand in `fused_ops` */
    OP_HEAVY = 1 << 12,      /* one row is work enough: a batch gains nothing (convolutions use each
                                weight many times within a row) */
    OP_POINTWISE = 1 << 14,  /* an element of the result follows from one of each operand, which
                               broadcast: a chain of such ops on floats can be one */
    OP_MAKES = 1 << 15,      /* each execution makes an object of its own: a copy of the node, as a
                                body of a branch or loop would hold, makes another one */
    OP_FUNCTIONS = 1 << 16,  /* its kernel runs the functions of its attributes, any number of
                                times (runtime/functions.h) */
    OP_LOWERED = 1 << 13,    /* control flow of TensorFlow 1, of which lower.h makes the above */
    OP_CONTROL = OP_IF | OP_CASE | OP_LOOP, /* its bodies become part of the plan */
};

/* One input or output argument: a tensor, or a list of them. */
struct op_arg {
    const char *name;
    enum dtype type;            /* DT_INVALID if an attribute determines it */
    const char *type_attr;      /* "T" of x:T, or NULL */
    const char *number_attr;    /* "N" of inputs:N*T, or NULL */
    const char *type_list_attr; /* "Tin" of args:list Tin, or NULL */
    bool is_ref;
};

struct op_attr {
    const char *name;
    const char *type;                       /* "int", "list(type)", "func", … */
    enum attr_kind kind, element_kind;      /* the same; element_kind is of a list */
    const struct attr_value *default_value; /* NULL: must be given */
    dtype_set allowed_types;                /* of a type or list(type); DTYPES_ALL: any */
    const struct bytes *allowed_strings;    /* NULL: any */
    int allowed_strings_count;
    int64_t minimum; /* of an int, or of the length of a list; INT64_MIN: none */
};

struct op {
    const char *name;
    int index;       /* of its row in ops.def; -1: the signature of a graph's function */
    unsigned traits; /* enum op_trait */
    const struct op_arg *inputs, *outputs;
    int inputs_count, outputs_count;
    const struct op_attr *attrs;
    int attrs_count;
    struct status (*infer)(struct infer_context *context);
    struct status (*gradient)(struct gradient_context *context);
};

/* Does each element of the results follow from those at its place in the operands, which broadcast?
 * For ops on scalars: of vectors, some of these ops move elements. */
bool op_is_elementwise(const struct op *op);

/* Does TensorFlow register an op of that name? We have a kernel for few of those. An op that
 * TensorFlow does not register is another library's: TensorFlow refuses a graph with such a node.
 */
bool op_is_registered(const char *name);

/* The op of that name, or NULL. Threads: safe. */
const struct op *op_find(const char *name);
const struct op *op_find_bytes(struct bytes name);
int op_count(void);
const struct op *op_at(int index); /* in the order of ops.def */
/* The definition of an attribute, or NULL. */
const struct op_attr *op_attr_find(const struct op *op, const char *name);

/* Has the op one of these traits? NULL, an unknown op, has none. */
static inline bool op_has(const struct op *op, unsigned traits)
{
    return op != NULL && (op->traits & traits) != 0;
}

/* Do its outputs follow from its inputs and attributes alone? */
static inline bool op_is_pure(const struct op *op)
{
    return op != NULL && (op->traits & (OP_STATEFUL | OP_RANDOM)) == 0;
}

#endif
