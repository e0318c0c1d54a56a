/*
 * layer: a kind of layer is one row of the table in layer.c: its arguments with Keras' defaults,
 * and the function that adds it to a graph. Internal to layers/.
 *
 *     static const struct layer_arg args[] = {
 *         { "rate", ARG_NUMBER, REQUIRED },
 *         { "seed", ARG_NULL_OR_INT, "null" },
 *     };
 */
#ifndef LAYERS_LAYER_H
#define LAYERS_LAYER_H

#include "layers/layers.h"
#include "layers/lists.h"
#include "base/json_value.h"

enum arg_kind {
    ARG_INT,         /* at least 1 */
    ARG_NULL_OR_INT, /* any integer; null: absent */
    ARG_NUMBER,
    ARG_NULL_OR_NUMBER,
    ARG_BOOL,
    ARG_CHOICE, /* one of the words of `fallback` */
    ARG_TRIPLE, /* [depth, height, width], or one number for all; at least 1 */
    ARG_NULL_OR_TRIPLE,
    ARG_PAIR, /* [height, width], or one number for both: the sides [1, h, w] */
    ARG_NULL_OR_PAIR,
    ARG_SINGLE, /* [n] or n: the sides [1, 1, n] */
    ARG_NULL_OR_SINGLE,
    ARG_INTS,  /* a list of integers */
    ARG_VALUE, /* read by the layer itself */
    ARG_NULL_OR_VALUE,
    ARG_ACTIVATION,
    ARG_INITIALIZER,
    ARG_REGULARIZER, /* or null */
    ARG_CONSTRAINT,  /* or null */
    ARG_LAYER,
    ARG_LAYERS, /* a list of layers */
    ARG_NONE,   /* known, but only null or false is supported */
};

#define REQUIRED NULL

struct layer_arg {
    const char *name;
    enum arg_kind kind;
    const char *fallback; /* Keras' default, as JSON; REQUIRED: none. For ARG_CHOICE: all known
                             words, the default first: "valid same" */
};

/* Keras' forms: λ1 Σ|w| + λ2 Σw², and for a matrix the mean of |cos| of the angles between each two
 * rows, or columns, times `orthogonal`. */
struct regularizer {
    double l1, l2;
    double orthogonal;
    bool columns; /* of `orthogonal` */
};

/* A constraint before the shape of its variable is known. */
struct constraint_choice {
    struct constraint constraint; /* without its axes */
    bool all_axes;
    int64_t axes[SHAPE_RANK_MAX];
    int axes_count;
};

struct activation;

struct arg_value {
    bool is_null; /* also of an ARG_CHOICE, whose text is then the default */
    union {
        int64_t integer;
        double number;
        bool boolean;
        const char *text;
        int64_t sides[3]; /* of a volume; 1 along those that an image or a sequence lacks */
        struct {
            int64_t *values;
            int count;
        } ints;
        const struct json_value *value;
        const struct activation *activation;
        struct initializer initializer;
        struct regularizer regularizer;
        struct constraint_choice constraint;
        struct layer *layer;
        struct {
            struct layer *values;
            int count;
        } layers;
    };
};

/* The arguments of a config, and other keys that it may hold, ended by NULL. */
struct arg_list {
    const struct layer_arg *args;
    int count;
    const char *const *common;
};

/* Reads a config (NULL: empty) by its list; *out in the order of the list.
 * Errors  INVALID_ARGUMENT a key or a value; UNIMPLEMENTED an argument of ARG_NONE */
struct status args_read(const struct arg_list *list, const struct json_value *config,
                        struct arena *arena, struct arg_value **out);
/* The value of an argument; NULL: the list does not have it. */
const struct arg_value *args_find(const struct arg_list *list, const struct arg_value *values,
                                  const char *name);

struct layer {
    const struct layer_class *class;
    const char *name;
    bool trainable;
    /* float32; of an InputLayer also int32, int64 or string; of preprocessing also integers */
    enum dtype dtype;
    const struct layers_state *state; /* computed of the training data; NULL: not */
    struct layers_model *model;       /* what it consists of, if it is a model; NULL: it is none */
    struct arg_value *args;           /* in the order of class->args */
};

#define NO_CALL -1

/* A tensor that a call takes: an output of another call. */
struct call_input {
    int call, output;     /* call NO_CALL: a null among the tensors of a list */
    const char *argument; /* its name among the class's call_args; NULL: one of the inputs */
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
    int inputs_count; /* 0: an input of the model */
    struct call_constant *constants;
    int constants_count;
};

/* An output of a call, and its mask, bool [batch, steps]: which steps count. A null node: all. */
struct layer_value {
    struct endpoint value, mask;
    const struct layer_lists *lists; /* how the values are divided into rows; NULL: it is dense */
};

#define LAYER_OUTPUTS_MAX 32

/* What a call is given, and what it gives. */
struct layer_io {
    const struct layer_call *call;
    const struct layer_value *inputs; /* [call->inputs_count] */
    struct layer_value outputs[LAYER_OUTPUTS_MAX];
    int outputs_count;
};

/* The state of building a model. */
struct layer_context {
    struct builder builder;
    struct arena *arena;
    enum layers_mode mode;
    bool weighted; /* each example has a weight */
    bool keras2;   /* use the formulas that Keras 3 has changed */
    struct layers_graph *out;
    struct endpoint penalty;           /* the sum of regularisers; a null node: none so far */
    int random_count;                  /* number of layers so far that draw random numbers */
    struct sampled_output *sampled;    /* TRAIN: of each SampledSoftmax; NULL: there is none */
    int variables_capacity;            /* of out->variables */
    const struct layer_lists **lists;  /* [inputs_count]: of the model's inputs; NULL: dense */
    struct spectral_wrapper *spectral; /* around the layer that is being built; NULL: none */
};

/* A SpectralNormalization around the layer that is being built (classes/spectral.c). */
struct spectral_wrapper {
    const struct layer *layer, *inner;
    bool found; /* the inner layer has a kernel */
};

/* The types of the inputs that a layer is built with. */
enum layer_inputs {
    LAYER_TAKES_FLOATS,   /* integers are cast; texts are refused */
    LAYER_TAKES_NUMBERS,  /* texts are refused */
    LAYER_TAKES_ALIKE,    /* one type of all inputs; floats, if they differ */
    LAYER_TAKES_ANYTHING, /* the layer itself checks them */
};

struct layer_class {
    const char *name; /* Keras' class */
    const struct layer_arg *args;
    int args_count;
    struct endpoint (*build)(struct layer_context *context, const struct layer *layer,
                             struct endpoint x); /* NULL: `merge` builds it */
    /* Of a layer that takes a list of inputs; `count` is at least 1. */
    struct endpoint (*merge)(struct layer_context *context, const struct layer *layer, int count,
                             const struct endpoint *inputs);
    /* Of a layer that uses masks, has several outputs or has arguments of its call: sets
     * io->outputs. `build` and `merge` are then NULL. */
    void (*call)(struct layer_context *context, const struct layer *layer, struct layer_io *io);
    /* The arguments of the call in Keras' order, ended by NULL; a NULL list: tensors or lists of
     * them, which are the inputs. */
    const char *const *call_args;
    /* The same as `build` for a sparse or ragged input; NULL: it takes dense ones only, unless
     * `call` takes lists. */
    struct endpoint (*build_lists)(struct layer_context *context, const struct layer *layer,
                                   const struct layer_value *input);
    bool takes_lists; /* `call` takes sparse and ragged inputs */
    bool hides_inner; /* in Keras 2, the names of its inner layer's variables are without it */
    bool any_dtype;   /* "dtype" in its config is not the type that it computes in */
    enum layer_inputs inputs;
    /* The mask of the output of `build` or `merge`; NULL: the layer drops masks. */
    struct endpoint (*mask)(struct layer_context *context, const struct layer *layer,
                            const struct layer_io *io);
};

/* The class of Keras' module and name; NULL: there is none. The modules of operations are
 * keras.src.ops.numpy, keras.src.ops.nn and so on. */
const struct layer_class *layer_class_find(const char *module, const char *name);
/* The error for a name that it does not know: UNIMPLEMENTED a layer of Keras, INVALID_ARGUMENT any
 * other. */
struct status layer_class_unknown(const char *module, const char *name, struct arena *arena);
/* All names that layer_class_find knows for this module. */
const char *layer_class_names(const char *module, struct arena *arena);

/* A layer's argument by name, which its class declares (asserted). */
const struct arg_value *layer_arg(const struct layer *layer, const char *name);

/* The first failure stays in the context, prefixed by the name of the layer. */
void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* The same for what is not implemented, with the code UNIMPLEMENTED. */
void layer_refuse(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Checks that the product of sizes, each at least 1, fits into an int32, because kernels count the
 * elements of a row in it; `what` names them in the error. */
bool layer_fits(struct layer_context *context, const struct layer *layer, const char *what,
                int count, const int64_t *sizes);
/* Checks the rank of a layer's input; false: it failed. */
bool layer_wants_rank(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank);

/* Checks that two inputs of the same rank broadcast: each pair of dimensions is equal, or one of
 * them is 1. False: it failed. */
bool layer_inputs_fit(struct layer_context *context, const struct layer *layer, struct endpoint a,
                      struct endpoint b);

/* A variable "<layer>/<name>" as the layer reads it; its initializer, regularizer and constraint
 * are the arguments "<name>_initializer", "<name>_regularizer" and "<name>_constraint". Every call of the layer gets the same
 * variable. */
struct endpoint layer_variable(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape);

/* The same, whose initializer, regularizer and constraint are the arguments "<prefix>_initializer"
 * and so on. */
struct endpoint layer_variable_of(struct layer_context *context, const struct layer *layer,
                                  const char *name, const char *prefix, struct shape shape);

/* The same with an initializer and regularizer (NULL: none) that are no arguments. */
struct endpoint layer_variable_with(struct layer_context *context, const struct layer *layer,
                                    const char *name, struct shape shape,
                                    const struct initializer *initializer,
                                    const struct regularizer *regularizer, bool trainable);

/* Gives a variable, if it is trained, the constraint that is the argument "<prefix>_constraint". */
void layer_constrain(struct layer_context *context, const struct layer *layer,
                     struct endpoint variable, const char *prefix);

/* A variable of a layer inside a SpectralNormalization: is it the one that is divided? */
bool spectral_divides(const struct layer_context *context, const struct layer *layer,
                      const char *name);
/* In TRAIN: what the layer computes with in place of the variable's value. Adds the vector of the
 * power iteration, the next variable. */
struct endpoint spectral_build_divided(struct layer_context *context, struct endpoint value,
                                       bool trainable);

/* In TRAIN: each step moves a variable that is not trainable towards `update`, by this momentum. */
void layer_move_average(struct layer_context *context, struct endpoint variable,
                        struct endpoint update, double momentum);

/* The values of a table, or those of its rows that are needed, and where each id's row is in them.
 */
struct layer_table {
    struct endpoint values, places;
};

/* A variable "<layer>/<name>" of `shape`, of which `ids` (int64) name rows. Its initializer,
 * regularizer and constraint are arguments, as for layer_variable. Training and evaluation read
 * only these rows, unless the whole table is needed anyway: for the penalty of a regularizer, for a
 * constraint, or because the initializer makes all rows together. */
struct layer_table layer_table(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape, struct endpoint ids);

/* The rows themselves: [ids…, row…]. */
struct endpoint layer_rows(struct layer_context *context, const struct layer *layer,
                           const char *name, struct shape shape, struct endpoint ids);

/* A hash table "<layer>/<name>" of rows of `width` numbers, in which `keys` (int64) name rows. Its
 * initializer is the argument "<name>_initializer"; `rules` has the other rules. Served, a key
 * without a row has the row 0, with the mean of the first values. */
struct layer_table layer_key_table(struct layer_context *context, const struct layer *layer,
                                   const char *name, int64_t width,
                                   const struct row_keys_spec *rules, struct endpoint keys);

/* The rows of a table at its places: [places…, row…]. */
struct endpoint layer_gather(struct layer_context *context, struct layer_table table);

/* x as [rows, dims[0], …, dims[count - 1]]. */
struct endpoint build_reshape_rows(struct builder *b, struct endpoint x, int count,
                                   const int64_t *dims);

/* x · kernel [n, units] along the last dimension of x; the dimensions before it become rows. */
struct endpoint build_dense_product(struct layer_context *context, struct endpoint x,
                                    struct endpoint kernel, int64_t units);

/* The seed of one layer in one step, int64 [2], from the seed of the step, the number of the layer
 * and its own seed. */
struct endpoint layer_seed(struct layer_context *context, int64_t own);

/* A dropout mask of the shape of `like`: 0, or 1 / (1 - rate). Only for training. */
struct endpoint layer_draw_dropout(struct layer_context *context, double rate, int64_t seed,
                                   struct endpoint like);

/* An axis of an input of this rank, counted from the front; 0, the batch: it failed. */
int layer_axis(struct layer_context *context, const struct layer *layer, int64_t axis, int rank);
/* The argument "axis", an integer or a list, as axes of x in rising order; returns their number, 0:
 * it failed. */
int layer_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
               int32_t axes[SHAPE_RANK_MAX]);

/* The tensor of an argument of a call, with its mask; a null node: it is not given. */
struct layer_value io_tensor(const struct layer_io *io, const char *argument);
/* The tensors of an argument that may be a list; returns their number, at most `max`. */
int io_tensors(const struct layer_io *io, const char *argument, int max, struct layer_value *out);
/* An argument that is true or false; false: it is not given. Fails if it is something else. */
bool io_flag(struct layer_context *context, const struct layer_io *io, const char *argument);
/* The mask of the first input: the argument "mask", or else the one that came with the input. */
struct endpoint io_mask(const struct layer_io *io);

/* Rules for layer_class.mask: the first input's mask; of several inputs that all have a mask, the
 * steps that count in one of them. */
struct endpoint mask_passed_on(struct layer_context *context, const struct layer *layer,
                               const struct layer_io *io);
struct endpoint mask_of_any(struct layer_context *context, const struct layer *layer,
                            const struct layer_io *io);

/* Adds the regularizer's term to the penalty of the loss. */
void layer_penalise_variable(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint value);

/* Adds λ1 Σ|x| + λ2 Σx² of a row, on average over the batch, to the penalty of the loss. */
void layer_penalise_activity(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint x);

/* Reading the config of a layer (layer_args.c) and its parts. */
struct status layer_read(const struct json_value *entry, struct arena *arena, struct layer *out);
/* Names the layers inside another as Keras does: "outer/inner", or "outer"; what is inside a
 * frozen layer is frozen. */
struct status layer_name_inner(struct layer *layer, bool keras2, struct arena *arena);
/* Layers and ports: letters, digits, '_', '.', '-', '/'. */
struct status check_layer_name(const char *name);
struct status initializer_read(const struct json_value *value, struct arena *arena,
                               struct initializer *out);
/* Of Keras' initializer STFT: side, window, scaling or periodic. UNIMPLEMENTED: another window. */
struct status waves_read(const char *key, const struct json_value *value, struct arena *arena,
                         struct waves *out);
struct status regularizer_read(const struct json_value *value, struct arena *arena,
                               struct regularizer *out);
struct status constraint_read(const struct json_value *value, struct arena *arena,
                              struct constraint_choice *out);
/* The constraint of a variable of this rank. INVALID_ARGUMENT: it has no such axis. */
struct status constraint_choose(const struct constraint_choice *choice, int rank,
                                struct constraint *out);
struct status activation_read(const struct json_value *value, struct arena *arena,
                              const struct activation **out);
struct endpoint activation_build(struct layer_context *context, const struct activation *activation,
                                 struct endpoint x);

/* The class name and config of `"Zeros"`, `{"class_name": "Zeros", "config": {…}}`; NULL: neither.
 */
const char *named_object(const struct json_value *value, const struct json_value **config);
/* Are two names equal but for case and underscores ("glorot_uniform", "GlorotUniform")? */
bool same_name(const char *a, const char *b);

#endif
