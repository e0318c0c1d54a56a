/*
 * fuse_recurrence: what the files that recognise the loop of a recurrent layer share.
 *
 *     fuse_recurrence.c       the loop: its input, its mask, what it carries, its condition
 *     fuse_cell.c             the cell: which sums, products and activations make the new state
 *     fuse_recurrence_node.c  the node that the loop becomes
 */
#ifndef RUNTIME_PLAN_FUSE_RECURRENCE_H
#define RUNTIME_PLAN_FUSE_RECURRENCE_H

#include "runtime/plan/fuse.h"
#include "runtime/recurrence.h"

struct loop_match {
    struct fuse *fuse;
    struct node *node;
    struct region *cond, *body;
    const bool *invariant;
};

/* The addends of a sum: x · w + h · u + biases. */
struct addends {
    struct endpoint x, h;
    const struct tensor *w, *u, *biases[2];
    int biases_count;
};

struct recurrence_match {
    const char *cell;
    struct endpoint h, c; /* c.node NULL: the cell has none; as the body reads them */
    struct endpoint new_h, new_c;
    struct addends input, inner; /* inner: of a GRU, the sum of h · u */
    int list, time;              /* arguments that x is read from */
    int mask_list;               /* the argument that the mask is read from; -1: there is no mask */
    const char *masked;          /* what the output of a masked step is */
    struct endpoint mask;        /* [time, batch, 1], outside the loop */
    struct endpoint output;      /* with a mask: what a step gives to the list */
    int64_t cells;
    int64_t at;        /* where results are written; -1: at the time */
    struct endpoint x; /* [time, batch, inputs], outside the loop */
};

struct loop_limits {
    struct endpoint values[RECURRENCE_LIMITS_MAX]; /* outside the loop */
    int counters[RECURRENCE_LIMITS_MAX];           /* arguments */
    int count;
};

static inline bool is_op_of(struct endpoint value, const char *op, int inputs)
{
    return op_is(value.node, op) && value.node->inputs_count == inputs;
}

static inline bool is_sum(struct endpoint value)
{
    return is_op_of(value, "AddV2", 2) || is_op_of(value, "Add", 2);
}

static inline bool is_float_of(struct endpoint value, const char *op, struct endpoint *argument)
{
    if (!is_op_of(value, op, 1) || !is_float(value.node))
        return false;
    *argument = value.node->inputs[0];
    return true;
}

static inline int find_argument(const struct region *region, struct endpoint value)
{
    for (int i = 0; i < region->args_count; i++)
        if (is_same(region->args[i], value))
            return i;
    return -1;
}

static inline const struct tensor *body_constant(const struct loop_match *loop,
                                                 struct endpoint value)
{
    return region_value(loop->body, value)->constant;
}

static inline bool is_int(const struct tensor *constant, int64_t wanted)
{
    return constant != NULL && constant->dtype == DT_INT32 && constant->size == 1 &&
           tensor_int32s(constant)[0] == wanted;
}

/* Is h the new state of a cell? */
bool match_cell(const struct loop_match *loop, struct endpoint h, struct recurrence_match *out);

/* Turns the node of the loop into a _Recurrence. False: there is no memory for the bias. */
bool become_recurrence(const struct loop_match *loop, const struct recurrence_match *found,
                       const enum recurrence_role *roles, const struct loop_limits *limits);

#endif
