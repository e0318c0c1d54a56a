/*
 * layer: a layer, and what its class's function needs to add it to a graph. A class is one row of
 * the list in classes/classes.def: its arguments with Keras' defaults, and that function. Such a
 * function also uses layer_variable.h (variables, tables of rows) and sizes.h (shapes, axes).
 * Internal to layers/.
 */
#ifndef LAYERS_LAYER_H
#define LAYERS_LAYER_H

#include "layers/arguments.h"
#include "layers/layers.h"
#include "layers/lists.h"

/* A layer of a model description. */
struct layer {
    const struct layer_class *class;
    const char *name;
    bool trainable;
    /* What it computes with: float32; half and bfloat16 of the policies mixed_float16 and
     * mixed_bfloat16. For an InputLayer also int32, int64 or string; for preprocessing also
     * integers */
    enum dtype dtype;
    const struct layers_state *state; /* adapted to the training data; NULL: not adapted */
    struct layers_model *model;       /* the layers inside it, if it is a model; otherwise NULL */
    struct arg_value *args;           /* in the order of class->args */
    /* "activity_regularizer" of a class that does not declare it; NULL: none */
    const struct regularizer *activity_regularizer;
};

#define NO_CALL -1

/* A tensor input of a call: an output of another call. */
struct call_input {
    int call, output;     /* call NO_CALL: a null among the tensors of a list */
    const char *argument; /* its name among the class's call_args; NULL: one of the positional
                           * inputs */
    const char *keyword;  /* that the file gives it by; NULL: by its position */
};

/* An argument of a call that is not a tensor: use_causal_mask=True. Never null. */
struct call_constant {
    const char *argument;
    const struct json_value *value;
};

/* One use of a layer; Keras calls it a node. A layer that is called several times has one set of
 * variables. */
struct layer_call {
    const struct layer *layer; /* may be NULL if there are no inputs */
    struct call_input *inputs;
    int inputs_count; /* 0: this call is an input of the model */
    struct call_constant *constants;
    int constants_count;
};

/* An output of a call and its mask, bool [batch, steps], which is false for padding. A null
 * node: no padding. */
struct layer_value {
    struct endpoint value, mask;
    const struct layer_lists *lists; /* how the values divide into rows; NULL: dense */
};

#define LAYER_OUTPUTS_MAX 32

/* The inputs and outputs of a call. */
struct layer_io {
    const struct layer_call *call;
    const struct layer_value *inputs; /* [call->inputs_count] */
    struct layer_value outputs[LAYER_OUTPUTS_MAX];
    int outputs_count;
};

/* The graph of a model while its layers are added. */
struct layer_context {
    struct builder builder; /* adds nodes */
    struct arena *arena;
    enum layers_mode mode;
    bool keras2;               /* use the formulas of Keras 2 where Keras 3 changed them */
    bool any_width;            /* the inputs may have other widths than those of the description */
    struct build_state *build; /* few classes read it: see build_state.h */
};

/* The dtypes that a layer accepts. */
enum layer_inputs {
    LAYER_TAKES_FLOATS,   /* integers are cast; texts are refused */
    LAYER_TAKES_NUMBERS,  /* texts are refused */
    LAYER_TAKES_ALIKE,    /* all inputs get one type: float if they differ */
    LAYER_TAKES_ANYTHING, /* the layer checks the types itself */
};

/* How a layer differs from most others if its policy has 16 bits. Most round their floating inputs
 * and variables to the policy's type and compute with it: in their functions, DT_FLOAT stands for
 * that type (graph/build.h). See precision.h. */
enum layer_precision {
    LAYER_KEEPS_INPUTS = 1,     /* does not round its inputs: Keras' autocast=False */
    LAYER_KEEPS_VARIABLES = 2,  /* does not round its variables */
    LAYER_COMPUTES_FLOATS = 4,  /* computes in float32, and rounds its outputs */
    LAYER_KEEPS_OUTPUTS = 8,    /* does not round its outputs */
    LAYER_HAS_NO_POLICY = 16,   /* an operation: computes with the type of its inputs */
    LAYER_REFUSES_16_BITS = 32, /* a policy of 16 bits is not implemented */
    /* Rounds nothing but its outputs. */
    LAYER_ROUNDS_OUTPUTS = LAYER_KEEPS_INPUTS | LAYER_KEEPS_VARIABLES | LAYER_COMPUTES_FLOATS,
    /* Has no 16-bit type of its own. */
    LAYER_ROUNDS_NOTHING = LAYER_ROUNDS_OUTPUTS | LAYER_KEEPS_OUTPUTS,
};

/* A row of the table of classes. A class has `build`, `merge` or `call`. */
struct layer_class {
    const char *name; /* Keras' class */
    const struct layer_arg *args;
    int args_count;
    struct endpoint (*build)(struct layer_context *context, const struct layer *layer,
                             struct endpoint x); /* NULL: `merge` builds it */
    /* For a layer with a list of inputs; `count` is at least 1. */
    struct endpoint (*merge)(struct layer_context *context, const struct layer *layer, int count,
                             const struct endpoint *inputs);
    /* For a layer that uses masks, has several outputs, or has call arguments: sets io->outputs,
     * unless it fails. `build` and `merge` are then NULL. */
    void (*call)(struct layer_context *context, const struct layer *layer, struct layer_io *io);
    /* The call's arguments in Keras' order, ended by NULL. A NULL list: the call takes only
     * tensors or lists of them, which are its inputs. */
    const char *const *call_args;
    bool more_call_args; /* the call may have other constants as well, by any name */
    /* Like `build`, for a sparse or ragged input. NULL: the layer takes only dense inputs,
     * unless takes_lists. */
    struct endpoint (*build_lists)(struct layer_context *context, const struct layer *layer,
                                   const struct layer_value *input);
    bool takes_lists;   /* `call` takes sparse and ragged inputs */
    bool takes_masks;   /* in Keras 3, a call takes the masks of its inputs away: later calls do not
                       * see them */
    bool hides_inner;   /* in Keras 2, the names of the inner layer's variables do not include this
                       * layer's name */
    bool any_dtype;     /* "dtype" in its config is not the type of its computation */
    unsigned precision; /* enum layer_precision; 0: rounds, and computes with 16 bits */
    enum layer_inputs inputs;
    /* Like `build`, for a layer of the model itself, which may have a mask; NULL: `build`. */
    struct endpoint (*build_masked)(struct layer_context *context, const struct layer *layer,
                                    const struct layer_io *io, struct endpoint x);
    /* Like `merge`, in Keras 3 if an input has a mask. masks [count]; NULL: `merge`. */
    struct endpoint (*merge_masked)(struct layer_context *context, const struct layer *layer,
                                    int count, const struct endpoint *inputs,
                                    const struct endpoint *masks);
    /* The mask of the output of `build` or `merge`. NULL: the output has no mask. */
    struct endpoint (*mask)(struct layer_context *context, const struct layer *layer,
                            const struct layer_io *io);
};

/* Builds a layer of one input by its class's `build`, which takes and gives the channels last. */
struct endpoint layer_build(struct layer_context *context, const struct layer *layer,
                            struct endpoint x);

/* An argument of a layer by name. The class must declare it (asserted). */
const struct arg_value *layer_arg(const struct layer *layer, const char *name);
/* The same of this kind, which only some classes have. NULL: this one has not, or it is null. */
const struct arg_value *layer_arg_given(const struct layer *layer, const char *name,
                                        enum arg_kind kind);
/* The layers inside a layer, in order: of its arguments and of its model. NULL: no more. */
struct layer *layer_inner(const struct layer *layer, int index);
/* The penalty of the layer's output; NULL: none. */
const struct regularizer *layer_activity_regularizer(const struct layer *layer);

/* Records a failure, prefixed by the layer's name. The first failure stays in the context. */
void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Like layer_fail, with the code UNIMPLEMENTED. */
void layer_refuse(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Between these two, a function computes in float32 although its layer's policy has 16 bits.
 * layer_widen returns x as float32; layer_narrow takes its `before`, and returns the result in the
 * type of the policy. */
struct endpoint layer_widen(struct layer_context *context, struct endpoint x, enum dtype *before);
struct endpoint layer_narrow(struct layer_context *context, struct endpoint x, enum dtype before);

/* Builds a call of a layer with these inputs, [call->inputs_count]. *io keeps both. */
void layer_run_call(struct layer_context *context, const struct layer_call *call,
                    const struct layer_value *inputs, struct layer_io *io);
/* Builds a layer inside another one, which calls it with one tensor. Returns its output. */
struct endpoint layer_call_inner(struct layer_context *context, const struct layer *inner,
                                 struct layer_value input);

/* Adds a node that fills a table to the init op. */
void layers_add_table(struct layer_context *context, struct node *fill);

/* Casts x to another dtype; returns x itself if it has that dtype. */
struct endpoint cast_to(struct layer_context *context, struct endpoint x, enum dtype dtype);
/* x · kernel [n, units] along the last dimension of x; the dimensions before it become rows. */
struct endpoint build_dense_product(struct layer_context *context, struct endpoint x,
                                    struct endpoint kernel, int64_t units);

/* The seed of one layer in one step, int64 [2]: combines the step's seed, the layer's number and
 * the layer's own seed. */
struct endpoint layer_seed(struct layer_context *context, int64_t own);

/* A dropout mask of the shape of `like`: 0, or 1 / (1 - rate). Only for training. */
struct endpoint layer_draw_dropout(struct layer_context *context, double rate, int64_t seed,
                                   struct endpoint like);

/* The tensor of a call argument, with its mask. A null node: not given. */
struct layer_value io_tensor(const struct layer_io *io, const char *argument);
/* The tensors of a call argument that may be a list. Returns their number, at most `max`. */
int io_tensors(const struct layer_io *io, const char *argument, int max, struct layer_value *out);
/* A boolean call argument; false if it is not given. Any other type is a failure. */
bool io_flag(struct layer_context *context, const struct layer_io *io, const char *argument);
/* The mask of the first input: the argument "mask" if given, otherwise the input's own mask. */
struct endpoint io_mask(const struct layer_io *io);

/* Rules for layer_class.mask: the mask of the first input, or the OR of the masks if all inputs
 * have one. */
struct endpoint mask_passed_on(struct layer_context *context, const struct layer *layer,
                               const struct layer_io *io);
struct endpoint mask_of_any(struct layer_context *context, const struct layer *layer,
                            const struct layer_io *io);

struct endpoint activation_build(struct layer_context *context, const struct activation *activation,
                                 struct endpoint x);

#endif
