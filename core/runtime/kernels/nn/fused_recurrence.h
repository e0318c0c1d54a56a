/*
 * fused_recurrence: what the files of the kernel _Recurrence share. recurrence_prepare.c reads the
 * node and packs the weights, recurrence.c reads the inputs of a run and makes its outputs, and
 * recurrence_steps.c computes the steps in between. Internal to these three.
 */
#ifndef KERNELS_NN_FUSED_RECURRENCE_H
#define KERNELS_NN_FUSED_RECURRENCE_H

#include "runtime/kernel.h"
#include "runtime/recurrence.h"

/* The first inputs of the node; limits, mask and carried values follow (runtime/recurrence.h). */
enum { INPUT_X, INPUT_WEIGHTS, INPUT_RECURRENT, INPUT_BIAS, INPUT_LIMITS };

enum fused_cell { LSTM, GRU, SIMPLE, CELLS };

/* The kernel's state, made once for a plan. */
struct fused_recurrence {
    enum fused_cell cell;
    int64_t inputs, cells, at;
    bool masked, zeroed;              /* there is a mask; the output of a masked step is 0 */
    int64_t gates_columns;            /* of the sums that x and h have together, in whole panels */
    int64_t columns;                  /* of all sums; a GRU's candidate begins at gates_columns */
    struct tensor weights, recurrent; /* packed */
    struct tensor bias;               /* [columns], and a GRU's inner bias */
    int limits_count;
    int limited[RECURRENCE_LIMITS_MAX]; /* inputs */
    int input_of[RECURRENCE_ROLES];     /* of role; -1: none. Of RECURRENCE_COUNTER: unused */
    enum recurrence_role roles[RECURRENCE_VALUES_MAX];
};

/* One run of the loop: its inputs, and room for its results. */
struct recurrence_run {
    const struct fused_recurrence *cell;
    const float *x;       /* [steps, x_rows, inputs], from the first step on */
    int64_t steps, rows;  /* rows: of h */
    int64_t x_rows;       /* rows, or 1 */
    int64_t first, end;   /* the steps of a span */
    const float *h_first; /* [rows, cells] */
    float *h;             /* [steps, rows, cells]; without `keeps`: [rows, cells], h_first */
    float *c;             /* [rows, cells] */
    bool keeps;           /* each step's h */
    const bool *mask;     /* [steps, mask_rows]; NULL: h is the output */
    int64_t mask_rows;    /* rows, or 1 */
    float *output;        /* [steps, rows, cells]; without `keeps_output`: [rows, cells] */
    const float *output_first;
    bool keeps_output;
    float *sums;        /* [blocks] [block_sums] */
    int64_t block_sums; /* floats */
    int64_t products;   /* steps of x that a block multiplies at a time */
    int blocks;
};

/* The kernel's prepare function. UNIMPLEMENTED: a plan has not made this node. */
struct status recurrence_prepare(struct prepare_context *p);
/* The index of the first carried value among the inputs: it follows the limits and the mask. */
int recurrence_first_carried(const struct fused_recurrence *r);

/* Divides the rows into blocks. Sets `blocks`, `products` and `block_sums`, by the sizes alone. */
void recurrence_cut(struct recurrence_run *run);
/* Computes all steps, on any number of threads. Errors: those of kernel_check. */
struct status recurrence_run_steps(struct kernel_context *k, struct recurrence_run *run);

#endif
