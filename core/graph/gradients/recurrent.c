/* Gradients of LSTMs. Source: TensorFlow's rnn_grad.py. */
#include "graph/gradients/emit.h"

/* Inputs: the length, x, cs_prev, h_prev, w, wci, wcf, wco, b. Of the outputs, only cs (1) and h
 * (6) pass a gradient on. */
static struct status block_lstm(struct gradient_context *c, const char *op)
{
    struct endpoint inputs[18];
    const struct attr attrs[] = { same_attr(c, "use_peephole"), ATTR_END };

    if (c->outputs[1].node == NULL && c->outputs[6].node == NULL)
        return status_ok();
    for (int i = 0; i < 9; i++)
        inputs[i] = input(c, i);
    for (int i = 0; i < 7; i++)
        inputs[9 + i] = (struct endpoint){ c->node, i };
    inputs[16] = dy_or_zeros(c, 1);
    inputs[17] = dy_or_zeros(c, 6);
    struct node *node = build_node(c->builder, op, NULL, 18, inputs, 0, NULL, attrs);
    for (int i = 0; i < 8 && node != NULL; i++)
        send(c, 1 + i, (struct endpoint){ node, i });
    return status_ok();
}

struct status gradient_block_lstm(struct gradient_context *c)
{
    return block_lstm(c, "BlockLSTMGrad");
}

/* TensorFlow emits BlockLSTMGrad here as well. That takes the gates in the order of BlockLSTM, and
 * its result is not the derivative. */
struct status gradient_block_lstm_v2(struct gradient_context *c)
{
    return block_lstm(c, "BlockLSTMGradV2");
}
