/*
 * op: what an op is: TensorFlow's OpDef. `graph/ops.def` is the only list; one line there is one
 * op, and the table here, the document of supported ops and the test that every op has rows are
 * made from it. How an op runs stands in runtime/kernels.
 *
 * A line of ops.def:
 *
 *     OP(Cast, 0, "x:SrcT", "y:DstT", "SrcT:type, DstT:type, Truncate:bool=false",
 *        infer_unchanged, gradient_cast)
 *
 * Name, flags (OP_STATEFUL, …), inputs, outputs, attributes (`inputs:N*T` is N tensors of type T,
 * `data:list T` one tensor per entry of the list(type) attribute T, `ref:T&` a reference), the
 * function that infers output shapes (infer_unknown: not known before running) and the one that
 * emits the gradient (gradient_none: there is none, gradient_stop: nothing flows back).
 *
 * An attribute says what TensorFlow allows for it, before its default: a set of types or strings in
 * braces, and the least value of an int or the least length of a list:
 *
 *     T:type{floating,int32}=float, padding:string{SAME,VALID}, N:int>=2, strides:list(int)>=4
 *
 * The names of sets of types (index, floating, …) stand in op_parse.c.
 *
 * Only the ops that Slipway runs stand in it; of any other op the graph keeps name and attributes
 * (see graph.h).
 */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include "graph/attr.h"

struct node;
struct infer_context;
struct gradient_context;

enum op_flags {
    OP_STATEFUL = 1 << 0, /* has an effect or reads what others write: never folded, never merged,
                             never left out as a target */
    OP_RANDOM = 1 << 1,   /* stateful only in that each run differs */
};

/* One input or output argument: a tensor, or a list of them. */
struct op_arg {
    const char *name;
    enum dtype type;            /* DT_INVALID where an attribute says it */
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
    unsigned flags; /* enum op_flags */
    const struct op_arg *inputs, *outputs;
    int inputs_count, outputs_count;
    const struct op_attr *attrs;
    int attrs_count;
    struct status (*infer)(struct infer_context *context);
    struct status (*gradient)(struct gradient_context *context);
};

/* The op of that name, or NULL. Threads: safe. */
/* Does TensorFlow register an op of that name? Most of those we have no kernel for. An op that it
 * does not register is another library's: TensorFlow refuses a graph with such a node. */
bool op_is_registered(const char *name);

const struct op *op_find(const char *name);
int op_count(void);
/* The definition of an attribute, or NULL. */
const struct op_attr *op_attr_find(const struct op *op, const char *name);
const struct op *op_at(int index); /* in the order of ops.def */

#endif
