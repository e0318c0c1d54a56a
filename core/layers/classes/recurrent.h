/*
 * recurrent: recurrent cells, and the recurrence of a cell over the steps of a sequence. Internal
 * to layers/. classes/recurrent.c has the layers, recurrent_cells.c the cells.
 *
 * A cell's product with the input does not depend on the states, so it is computed for all steps
 * before the recurrence, as one matrix product (the projection). A step takes its rows of the
 * projection and the states.
 */
#ifndef LAYERS_CLASSES_RECURRENT_H
#define LAYERS_CLASSES_RECURRENT_H

#include "layers/layer.h"

#define CELL_STATES_MAX    2
#define CELL_PARTS_MAX     4
#define CELL_CONSTANTS_MAX (2 * CELL_PARTS_MAX + 1)

struct cell;

struct cell_class {
    const char *name; /* prefix of the variables of the cell that a layer makes for itself */
    int gates, states;
    /* One step: x [batch, gates · units] of the projection; `constants` are cell->constants in
     * the graph of the step. states[0] is the output. */
    void (*step)(struct layer_context *context, const struct cell *cell,
                 const struct endpoint *constants, struct endpoint x, const struct endpoint *states,
                 struct endpoint *next);
};

extern const struct cell_class cell_simple, cell_lstm, cell_gru;

/* A cell and the inputs of its steps. */
struct cell {
    const struct cell_class *class;
    const struct layer *layer; /* the layer with the arguments and the variables */
    const char *prefix;        /* prefix of the variables' names: "lstm_cell/", or "" */
    int64_t units;
    struct shape image; /* of a ConvLSTM: a state is [sides…, filters], `units` numbers */
    bool use_bias, reset_after;
    const struct activation *activation;
    const struct activation *recurrent_activation; /* NULL for cell_simple */
    /* The same in every step: the recurrent kernel in `parts` pieces of gates, the dropout masks
     * of the gates if `dropped`, and the recurrent bias of a GRU with reset_after or the bias of an
     * LSTM that adds_bias_last. */
    struct endpoint constants[CELL_CONSTANTS_MAX];
    int constants_count, parts;
    bool dropped, adds_bias_last;
};

/* Initializes a cell from the arguments of `layer`. */
void cell_init(const struct cell_class *class, const struct layer *layer, const char *prefix,
               struct cell *out);
/* The projection of x [steps, batch, features]: [steps, batch, gates · units]. Creates the
 * cell's variables and constants. */
struct endpoint cell_project(struct layer_context *context, struct cell *cell, struct endpoint x);

struct recurrence {
    struct cell *cell;
    struct endpoint x;    /* [steps, batch, features] */
    struct endpoint mask; /* bool [steps, batch, 1]; a null node: every step counts */
    struct endpoint initial[CELL_STATES_MAX]; /* null nodes: zeros */
    bool zero_output_for_mask;
    bool all_outputs; /* otherwise only the last */
    bool unroll;
    /* Results */
    struct endpoint outputs; /* [steps, batch, units]; a null node unless all_outputs */
    struct endpoint last;    /* [batch, units] */
    struct endpoint states[CELL_STATES_MAX];
};

void recurrence_build(struct layer_context *context, struct recurrence *r);

#endif
