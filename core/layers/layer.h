/*
 * layer: a kind of layer is one row of the table in classes/classes.c: its arguments with
 * Keras' defaults, and the function that adds it to a graph. Internal to layers/.
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
    ARG_ANY_NUMBER, /* also an infinity or NaN */
    ARG_BOOL,
    ARG_CHOICE, /* one of the words of `fallback` */
    ARG_TRIPLE, /* [depth, height, width], or one number for all; at least 1 */
    ARG_NULL_OR_TRIPLE,
    ARG_PAIR, /* [height, width], or one number for both: the sides [1, h, w] */
    ARG_NULL_OR_PAIR,
    ARG_SINGLE, /* [n] or n: the sides [1, 1, n] */
    ARG_NULL_OR_SINGLE,
    ARG_INTS,  /* a list of integers */
    ARG_VALUE, /* parsed by the layer itself */
    ARG_NULL_OR_VALUE,
    ARG_ACTIVATION,
    ARG_INITIALIZER,
    ARG_REGULARIZER, /* or null */
    ARG_CONSTRAINT,  /* or null */
    ARG_LAYER,
    ARG_LAYERS, /* a list of layers */
    ARG_NONE,   /* a known key of which only null or false is supported */
};

#define REQUIRED NULL

struct layer_arg {
    const char *name;
    enum arg_kind kind;
    const char *fallback; /* Keras' default, as JSON; REQUIRED: none. For ARG_CHOICE: all known
                             words, the default first: "valid same" */
};

/* Keras' regularizers: λ1 Σ|w| + λ2 Σw², and for a matrix also `orthogonal` times the mean |cos|
 * of the angles between its rows, or its columns. */
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
    bool is_null; /* also set for an ARG_CHOICE, whose text is then the default */
    union {
        int64_t integer;
        double number;
        bool boolean;
        const char *text;
        int64_t sides[3]; /* of a volume; 1 along the directions that an image or a sequence
                           * lacks */
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

/* The arguments of a config, and the other keys that it may hold. */
struct arg_list {
    const struct layer_arg *args;
    int count;
    const char *const *common; /* ended by NULL */
};

/* Reads a config (NULL: empty). *out has the order of the list.
 * Errors  INVALID_ARGUMENT a key or a value; UNIMPLEMENTED an argument of ARG_NONE */
struct status args_read(const struct arg_list *list, const struct json_value *config,
                        struct arena *arena, struct arg_value **out);
/* UNIMPLEMENTED: the "dtype" of a loss or a metric is a float type other than float32. */
struct status args_check_dtype(const struct json_value *config, struct arena *arena);
/* Finds the value of an argument; NULL: not in the list. */
const struct arg_value *args_find(const struct arg_list *list, const struct arg_value *values,
                                  const char *name);

struct layer {
    const struct layer_class *class;
    const char *name;
    bool trainable;
    /* float32; for an InputLayer also int32, int64 or string; for preprocessing also integers */
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

struct layer_context {
    struct builder builder;
    struct arena *arena;
    enum layers_mode mode;
    bool weighted; /* each example has a weight */
    bool keras2;   /* use the formulas of Keras 2 where Keras 3 changed them */
    struct layers_graph *out;
    struct endpoint penalty;           /* the sum of the regularizers; a null node: none so far */
    int random_count;                  /* number of layers so far that draw random numbers */
    struct sampled_output *sampled;    /* TRAIN: one per SampledSoftmax; NULL: none */
    int variables_capacity;            /* of out->variables */
    const struct layer_lists **lists;  /* [inputs_count]: row structure of the model's inputs;
                                        * NULL: dense */
    struct spectral_wrapper *spectral; /* the SpectralNormalization around the current layer;
                                        * NULL: none */
    struct average_update *averages, **averages_end; /* of the calls so far; _end NULL: none */
    struct endpoint *unmasked;                       /* tensors whose masks calls have taken away */
    int unmasked_count;
    /* Inside a TimeDistributed of Keras 3: the number of its steps, which Keras calls the layer
     * with one after the other, here rows: row r is of step r % steps. 0: none; -1: open */
    int64_t steps;
    /* Inside a TimeDistributed of Keras 3 whose layer changes with each call: the number of calls,
     * one for each step; otherwise 0 */
    int64_t calls;
    const struct layer *unpenalised; /* the penalty of its output does not count; NULL: none */
};

/* A SpectralNormalization around the current layer (classes/spectral.c). */
struct spectral_wrapper {
    const struct layer *layer, *inner;
    bool found; /* the inner layer has a kernel */
};

/* The dtypes that a layer accepts. */
enum layer_inputs {
    LAYER_TAKES_FLOATS,   /* integers are cast; texts are refused */
    LAYER_TAKES_NUMBERS,  /* texts are refused */
    LAYER_TAKES_ALIKE,    /* all inputs get one type: float if they differ */
    LAYER_TAKES_ANYTHING, /* the layer checks the types itself */
};

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
    bool takes_lists; /* `call` takes sparse and ragged inputs */
    bool takes_masks; /* in Keras 3, a call takes the masks of its inputs away: later calls do not
                       * see them */
    bool hides_inner; /* in Keras 2, the names of the inner layer's variables do not include this
                       * layer's name */
    bool any_dtype;   /* "dtype" in its config is not the type of its computation */
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

/* Is the argument "data_format" of a layer "channels_first"? */
bool layer_is_channels_first(const struct layer *layer);
/* Moves the channels of an image [batch, …] from the first place behind the batch to the last one,
 * or back. */
struct endpoint build_channels_moved(struct builder *b, struct endpoint x, bool to_first);
/* Builds a layer of one input by its class's `build`, which takes and gives the channels last. */
struct endpoint layer_build(struct layer_context *context, const struct layer *layer,
                            struct endpoint x);

/* Finds a class by Keras' module and name; NULL: unknown. Operations are in the modules
 * keras.src.ops.numpy, keras.src.ops.nn and so on. */
const struct layer_class *layer_class_find(const char *module, const char *name);
/* Does a module of Keras hold operations? */
bool layer_module_is_of_ops(const char *module);
/* The error for an unknown class: UNIMPLEMENTED if Keras has it, INVALID_ARGUMENT otherwise. */
struct status layer_class_unknown(const char *module, const char *name, struct arena *arena);
/* All names that layer_class_find knows in this module. */
const char *layer_class_names(const char *module, struct arena *arena);

/* An argument of a layer by name. The class must declare it (asserted). */
const struct arg_value *layer_arg(const struct layer *layer, const char *name);
/* The same of this kind, which only some classes have. NULL: this one has not, or it is null. */
const struct arg_value *layer_arg_given(const struct layer *layer, const char *name,
                                        enum arg_kind kind);
/* The penalty of the layer's output; NULL: none. */
const struct regularizer *layer_activity_regularizer(const struct layer *layer);

/* Records a failure, prefixed by the layer's name. The first failure stays in the context. */
void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Like layer_fail, with the code UNIMPLEMENTED. */
void layer_refuse(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Checks that the product of `sizes`, each at least 1 or unknown (-1), fits into an int32, the type
 * in which kernels count the elements of a row. `what` names the sizes in the error. */
bool layer_check_size(struct layer_context *context, const struct layer *layer, const char *what,
                      int count, const int64_t *sizes);

/* Check the rank of a layer's input and that its dimensions from `known` on are known. Those before
 * it may be open: their sizes are those of the batch that the graph runs on. layer_check_rank: only
 * the rows may be open, 1. layer_check_known: of any rank. Return false on failure. */
bool layer_check_open(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank, int known);
bool layer_check_rank(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank);
bool layer_check_known(struct layer_context *context, const struct layer *layer, struct endpoint x,
                       int first);
/* Checks that the sizes of these axes are known. Returns false on failure. */
bool layer_check_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int count, const int32_t *axes);
/* Are two sizes equal, as far as they are known? */
bool may_be_equal(int64_t a, int64_t b);

/* In a list of sizes: that of dimension `axis` of the tensor `like`, known or not. */
#define SIZE_OF(axis) (-2 - (int64_t)(axis))
/* In a list of sizes of build_reshape, once: what the other sizes leave. */
#define SIZE_REST     ((int64_t)-1)

/* Sizes as an int32 tensor [count], a constant if all are known. */
struct endpoint build_sizes(struct builder *b, struct endpoint like, int count,
                            const int64_t *sizes);
/* x in the shape of these sizes; SIZE_OF is of `like`. */
struct endpoint build_reshape(struct builder *b, struct endpoint x, struct endpoint like, int count,
                              const int64_t *sizes);
/* The size of a dimension, an int32 scalar. */
struct endpoint build_size(struct builder *b, struct endpoint x, int axis);

/* Checks that two inputs of the same rank broadcast: each pair of dimensions is equal, or one of
 * them is 1. Returns false on failure. */
bool layer_check_broadcast(struct layer_context *context, const struct layer *layer,
                           struct endpoint a, struct endpoint b);

/* The value of the variable "<layer>/<name>". Its initializer, regularizer and constraint are
 * the arguments "<name>_initializer", "<name>_regularizer" and "<name>_constraint". Every call
 * of the layer shares the variable. */
struct endpoint layer_variable(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape);

/* Like layer_variable, with the arguments "<prefix>_initializer" and so on. */
struct endpoint layer_variable_of(struct layer_context *context, const struct layer *layer,
                                  const char *name, const char *prefix, struct shape shape);

/* Like layer_variable, with a given initializer and regularizer (NULL: none) instead of
 * arguments. */
struct endpoint layer_variable_with(struct layer_context *context, const struct layer *layer,
                                    const char *name, struct shape shape,
                                    const struct initializer *initializer,
                                    const struct regularizer *regularizer, bool trainable);

/* Sets the constraint of a trained variable from the argument "<prefix>_constraint". */
void layer_constrain(struct layer_context *context, const struct layer *layer,
                     struct endpoint variable, const char *prefix);

/* Builds a call of a layer with these inputs, [call->inputs_count]. *io keeps both. */
void layer_run_call(struct layer_context *context, const struct layer_call *call,
                    const struct layer_value *inputs, struct layer_io *io);
/* Builds a layer inside another one, which calls it with one tensor. Returns its output. */
struct endpoint layer_call_inner(struct layer_context *context, const struct layer *inner,
                                 struct layer_value input);

/* Is this variable of the inner layer the one that SpectralNormalization divides? */
bool spectral_divides(const struct layer_context *context, const struct layer *layer,
                      const char *name);
/* Builds the value of variable `number` of the graph that the layer uses in this call: in training,
 * the divided one. Adds the vector of the power iteration, which is the next variable. */
struct endpoint spectral_build_divided(struct layer_context *context, int number);
/* TRAIN: adds the penalties of divided variables, which are those after the last call. */
void spectral_penalise(struct layer_context *context);

/* TRAIN: makes each step move a non-trainable variable towards `update`, by this momentum. */
void layer_move_average(struct layer_context *context, struct endpoint variable,
                        struct endpoint update, double momentum);
/* Gives each variable its update: its updates of context->averages, one after the other. */
void layers_join_averages(struct layer_context *context);

/* The values of a table, or only the rows that are needed, and the position of each id's row in
 * them. */
struct layer_table {
    struct endpoint values, places;
};

/* A variable "<layer>/<name>" of `shape`, whose rows are looked up by `ids` (int64). Its
 * initializer, regularizer and constraint are arguments, as for layer_variable. Training and
 * evaluation read only the looked-up rows, except when the whole table is needed: for a
 * regularizer's penalty, for a constraint, or if the initializer fills all rows together. */
struct layer_table layer_table(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape, struct endpoint ids);

/* The looked-up rows: [ids…, row…]. */
struct endpoint layer_rows(struct layer_context *context, const struct layer *layer,
                           const char *name, struct shape shape, struct endpoint ids);

/* A hash table "<layer>/<name>" with rows of `width` numbers, looked up by `keys` (int64). Its
 * initializer is the argument "<name>_initializer"; `rules` has the other rules. In serving, a
 * key without a row gets row 0, which holds the mean of the initial distribution. */
struct layer_table layer_key_table(struct layer_context *context, const struct layer *layer,
                                   const char *name, int64_t width,
                                   const struct row_keys_spec *rules, struct endpoint keys);

/* Gathers rows of a table: [places…, row…]. */
struct endpoint layer_gather(struct layer_context *context, struct layer_table table);

/* Reshapes x to [rows, dims[0], …, dims[count - 1]]. */
struct endpoint build_reshape_rows(struct builder *b, struct endpoint x, int count,
                                   const int64_t *dims);

/* x · kernel [n, units] along the last dimension of x; the dimensions before it become rows. */
struct endpoint build_dense_product(struct layer_context *context, struct endpoint x,
                                    struct endpoint kernel, int64_t units);

/* The seed of one layer in one step, int64 [2]: combines the step's seed, the layer's number and
 * the layer's own seed. */
struct endpoint layer_seed(struct layer_context *context, int64_t own);

/* A dropout mask of the shape of `like`: 0, or 1 / (1 - rate). Only for training. */
struct endpoint layer_draw_dropout(struct layer_context *context, double rate, int64_t seed,
                                   struct endpoint like);

/* An axis of an input of this rank, counted from the front; 0, the batch: failure. */
int layer_axis(struct layer_context *context, const struct layer *layer, int64_t axis, int rank);
/* The error of an argument "axis" that stands for all axes. */
#define AXIS_IS_NULL "argument 'axis' is null: it would mix rows of the batch"
/* The same of the argument "axis" (ARG_NULL_OR_INT) if null stands for all axes: also a failure. */
int layer_one_axis(struct layer_context *context, const struct layer *layer, int rank);
/* The argument "axis", an integer or a list, as axes of x in rising order. Returns their number;
 * 0: failure. */
int layer_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
               int32_t axes[SHAPE_RANK_MAX]);

/* The same of another argument. */
int layer_axes_of(struct layer_context *context, const struct layer *layer, const char *name,
                  struct endpoint x, int32_t axes[SHAPE_RANK_MAX]);

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

/* Adds the regularizer's term to the penalty of the loss. */
void layer_penalise_variable(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint value);

/* Adds λ1 Σ|x| + λ2 Σx² per row, averaged over the batch, to the penalty of the loss. */
void layer_penalise_activity(struct layer_context *context, const struct layer *layer,
                             const struct regularizer *regularizer, struct endpoint x);

/* Reading a layer (layer_args.c) and its parts. `depth`: the number of models around the layer. */
struct status layer_read(const struct json_value *entry, int depth, struct arena *arena,
                         struct layer *out);
/* Is it a class of models, which are layers too? */
bool is_model_class(const char *class_name);
/* Reads a model that is a layer (parse.c). */
struct status inner_model_read(const struct json_value *entry, int depth, struct arena *arena,
                               struct layer *out);
/* The layers inside a layer, in order: of its arguments and of its model. NULL: no more. */
struct layer *layer_inner(const struct layer *layer, int index);
/* Names the layers inside another layer as Keras does: "outer/inner", or "outer". Layers inside
 * a frozen layer are frozen. */
struct status layer_name_inner(struct layer *layer, bool keras2, struct arena *arena);
/* Checks a name of a layer or port: letters, digits, '_', '.', '-', '/'. */
struct status check_layer_name(const char *name);
struct status initializer_read(const struct json_value *value, struct arena *arena,
                               struct initializer *out);
/* Reads Keras' initializer STFT: side, window, scaling or periodic. UNIMPLEMENTED: another
 * window. */
struct status waves_read(const char *key, const struct json_value *value, struct arena *arena,
                         struct waves *out);
struct status regularizer_read(const struct json_value *value, struct arena *arena,
                               struct regularizer *out);
struct status constraint_read(const struct json_value *value, struct arena *arena,
                              struct constraint_choice *out);
/* Chooses the constraint of a variable of this rank. INVALID_ARGUMENT: the variable lacks that
 * axis. */
struct status constraint_choose(const struct constraint_choice *choice, int rank,
                                struct constraint *out);
struct status activation_read(const struct json_value *value, struct arena *arena,
                              const struct activation **out);
struct endpoint activation_build(struct layer_context *context, const struct activation *activation,
                                 struct endpoint x);

/* The class name and config of `"Zeros"` or `{"class_name": "Zeros", "config": {…}}`; NULL:
 * neither form. */
const char *named_object(const struct json_value *value, const struct json_value **config);
/* The list itself of `[…]` or of a tuple as Keras 2 prints it, `{"class_name": "__tuple__", "items":
 * […]}`; any other value is returned as it is. */
const struct json_value *list_items(const struct json_value *value);
/* The lists of an array as Keras prints it, {"class_name": "__numpy__" or "__tensor__", "config":
 * {"value": …}}; any other value is returned as it is. */
const struct json_value *array_items(const struct json_value *value);
/* Reads an array, or nested lists of numbers, as a float tensor; a single number is a scalar.
 * Returns false for anything else, and for ragged lists. Numbers need not be finite. */
bool numbers_read(const struct json_value *value, struct arena *arena, struct tensor *out);
/* Are two names equal, ignoring case and underscores ("glorot_uniform", "GlorotUniform")? */
bool same_name(const char *a, const char *b);

#endif
