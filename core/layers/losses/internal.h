/*
 * internal: what the parts of loss share. losses/formulas.c has the table of losses and their
 * formulas, loss.c reads and checks a description's, and losses/build.c adds them to a graph.
 */
#ifndef LAYERS_LOSSES_INTERNAL_H
#define LAYERS_LOSSES_INTERNAL_H

#include "layers/losses/loss.h"

/* The loss that is being built. */
struct loss_context {
    struct builder *builder;
    const struct loss *loss;
    struct endpoint output;
    struct endpoint labels;  /* float, in the shape of the output; a null node: see classes */
    struct endpoint classes; /* int32: class numbers, groups or lists; a null node: see labels */
    struct endpoint counted; /* bool, in the shape of the losses: `build` sets it if some losses
                                count for nothing. Their mean is that of the others */
    bool keras2;
};

/* What `build` gives a loss for. The outputs of a row are [outputs], or [steps…, outputs] if it has
 * several steps or pixels. */
enum loss_extent {
    LOSS_OF_ROW,
    LOSS_OF_STEP,   /* of each step; of a row without steps, its only loss */
    LOSS_OF_OUTPUT, /* of each output, whose mean is the loss of the step */
};

struct loss_class {
    const char *name; /* of Keras' function; its class is the same in camel case */
    enum layers_labels labels;
    enum layers_kind kind; /* LAYERS_BINARY only if the model has one output */
    enum loss_extent extent;
    bool probabilities; /* without from_logits, the outputs are probabilities */
    struct endpoint (*build)(struct loss_context *c);
    const struct layer_arg *args;
    int args_count;
};

#define LOSS_CLASSES_COUNT 23
extern const struct loss_class loss_classes[LOSS_CLASSES_COUNT];

/* Formulas of files of their own: losses/circle.c, losses/ctc.c. */
extern const struct layer_arg circle_args[3];
struct endpoint loss_circle(struct loss_context *c);
struct endpoint loss_ctc(struct loss_context *c);

/* Reduces all dimensions. */
struct endpoint loss_reduce(struct builder *b, const char *op, const char *name, struct endpoint x);

#endif
