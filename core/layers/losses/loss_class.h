/*
 * loss_class: a row of the table of losses, and the loss that a graph gets. formulas.c has the
 * table and the formulas, loss.c reads and checks the losses of a description, and build.c adds
 * them to a graph.
 */
#ifndef LAYERS_LOSSES_LOSS_CLASS_H
#define LAYERS_LOSSES_LOSS_CLASS_H

#include "layers/losses/loss.h"

/* The loss being built. */
struct loss_context {
    struct builder *builder;
    const struct loss *loss;
    struct endpoint output;
    struct endpoint labels;  /* float, in the shape of the output; a null node: see classes */
    struct endpoint classes; /* int32: class numbers, groups or lists; a null node: see labels */
    struct endpoint counted; /* bool, in the shape of the losses: set by `build` if some losses
                              * are to be ignored. The mean is then over the others */
    bool keras2;
};

/* The unit of the losses that `build` returns. A row's outputs are [outputs], or [steps…,
 * outputs] if it has several steps or pixels. */
enum loss_extent {
    LOSS_OF_ROW,
    LOSS_OF_STEP,   /* one per step; for a row without steps, one per row */
    LOSS_OF_OUTPUT, /* one per output; the loss of the step is their mean */
};

struct loss_class {
    const char *name; /* Keras' function; its class has the same name in camel case */
    enum layers_labels labels;
    enum layers_kind kind; /* LAYERS_BINARY only if the model has one output */
    enum loss_extent extent;
    bool probabilities; /* without from_logits, the outputs are probabilities */
    struct endpoint (*build)(struct loss_context *c);
    const struct layer_arg *args;
    int args_count;
};

extern const struct loss_class loss_classes[];
extern const size_t loss_classes_count;

/* The formulas in files of their own: losses/circle.c, losses/ctc.c. */
extern const struct layer_arg circle_args[3];
struct endpoint loss_circle(struct loss_context *c);
struct endpoint loss_ctc(struct loss_context *c);

/* Reduces all dimensions. */
struct endpoint loss_reduce(struct builder *b, const char *op, const char *name, struct endpoint x);

#endif
