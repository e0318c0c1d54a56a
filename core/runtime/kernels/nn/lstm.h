/*
 * lstm: what the LSTM ops and their gradients share: a cell's sizes and weights, as floats, and
 * the checks of shapes.
 */
#ifndef KERNELS_LSTM_H
#define KERNELS_LSTM_H

#include "runtime/kernel.h"

#define LSTM_INPUTS_MAX 18

struct lstm_state {
    bool peephole;
    float forget_bias, clip; /* clip: 0 for none */
    int c_gate, f_gate;      /* in the order of the gates' columns; i is 0, o is 3 */
    bool sequence;           /* x has a dimension of time, and input 0 is the length */
};

struct lstm_size {
    int64_t steps, batch, inputs, cells;
    int64_t length; /* steps that are computed */
};

/* The inputs of an op as floats; from `at_x` on: x, cs_prev, h_prev, w, wci, wcf, wco, b, and, for
 * a gradient, i, cs, f, o, ci, co, … */
struct lstm_inputs {
    int count, at_x;
    struct tensor all[LSTM_INPUTS_MAX];
};

enum lstm_input {
    LSTM_X,
    LSTM_CS_PREV,
    LSTM_H_PREV,
    LSTM_W,
    LSTM_WCI,
    LSTM_WCF,
    LSTM_WCO,
    LSTM_B,
    LSTM_I,
    LSTM_CS,
    LSTM_F,
    LSTM_O,
    LSTM_CI,
    LSTM_CO,
    LSTM_AFTER
};

static inline const float *lstm_input(const struct lstm_inputs *inputs, int which)
{
    return tensor_floats(&inputs->all[inputs->at_x + which]);
}

struct status lstm_prepare(struct prepare_context *p);
/* INVALID_ARGUMENT: a shape of the first eight inputs does not fit. */
struct status lstm_size_of(struct kernel_context *k, struct lstm_size *out);
/* INVALID_ARGUMENT: input `index` does not have the shape of the outputs. */
struct status lstm_check_output(struct kernel_context *k, const struct lstm_size *size, int index);
struct status lstm_inputs_make(struct kernel_context *k, struct lstm_inputs *out);
void lstm_inputs_release(struct lstm_inputs *inputs);

#endif
