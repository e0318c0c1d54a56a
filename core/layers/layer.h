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
#include "base/json_value.h"

enum arg_kind {
    ARG_INT,         /* at least 1 */
    ARG_NULL_OR_INT, /* any integer; null: absent */
    ARG_NUMBER,
    ARG_NULL_OR_NUMBER,
    ARG_BOOL,
    ARG_CHOICE, /* one of the words of `fallback` */
    ARG_PAIR,   /* [h, w], or one number for both; at least 1 */
    ARG_NULL_OR_PAIR,
    ARG_SINGLE, /* [n] or n, at least 1: the pair [1, n] */
    ARG_NULL_OR_SINGLE,
    ARG_INTS,  /* a list of integers */
    ARG_VALUE, /* read by the layer itself */
    ARG_ACTIVATION,
    ARG_INITIALIZER,
    ARG_REGULARIZER, /* or null */
    ARG_LAYER,
    ARG_NONE, /* known, but only null or false is supported */
};

#define REQUIRED NULL

struct layer_arg {
    const char *name;
    enum arg_kind kind;
    const char *fallback; /* Keras' default, as JSON; REQUIRED: none. For ARG_CHOICE: all known
                             words, the default first: "valid same" */
};

/* Keras' form: λ1 Σ|w| + λ2 Σw². */
struct regularizer {
    double l1, l2;
};

struct activation;

struct arg_value {
    bool is_null;
    union {
        int64_t integer;
        double number;
        bool boolean;
        const char *text;
        int64_t pair[2];
        struct {
            int64_t *values;
            int count;
        } ints;
        const struct json_value *value;
        const struct activation *activation;
        struct initializer initializer;
        struct regularizer regularizer;
        struct layer *layer;
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
    struct arg_value *args; /* in the order of class->args */
};

/* One use of a layer; Keras calls it a node. A layer that is called several times has one set of
 * variables. */
struct layer_call {
    const struct layer *layer; /* may be NULL if there are no inputs */
    int *inputs;               /* the calls whose values it takes */
    int inputs_count;          /* 0: an input of the model */
};

/* The state of building a model. */
struct layer_context {
    struct builder builder;
    struct arena *arena;
    enum layers_mode mode;
    bool weighted; /* each example has a weight */
    bool keras2;   /* use the formulas that Keras 3 has changed */
    struct layers_graph *out;
    struct endpoint penalty; /* the sum of regularisers; a null node: none so far */
    int random_count;        /* number of layers so far that draw random numbers */
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
};

const struct layer_class *layer_class_find(const char *name); /* NULL: none of that name */
const char *layer_class_names(struct arena *arena);

/* A layer's argument by name, which its class declares (asserted). */
const struct arg_value *layer_arg(const struct layer *layer, const char *name);

/* The first failure stays in the context, prefixed by the name of the layer. */
void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* The same for what is not implemented, with the code UNIMPLEMENTED. */
void layer_refuse(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Checks the rank of a layer's input; false: it failed. */
bool layer_wants_rank(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank);

/* A variable "<layer>/<name>" as the layer reads it; its initializer and regularizer are the
 * arguments "<name>_initializer" and "<name>_regularizer". Every call of the layer gets the same
 * variable. */
struct endpoint layer_variable(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape);

/* The same, whose initializer and regularizer are the arguments "<prefix>_initializer" and
 * "<prefix>_regularizer". */
struct endpoint layer_variable_of(struct layer_context *context, const struct layer *layer,
                                  const char *name, const char *prefix, struct shape shape);

/* The same with an initializer and regularizer (NULL: none) that are no arguments. */
struct endpoint layer_variable_with(struct layer_context *context, const struct layer *layer,
                                    const char *name, struct shape shape,
                                    const struct initializer *initializer,
                                    const struct regularizer *regularizer, bool trainable);

/* An axis of an input of this rank, counted from the front; 0, the batch: it failed. */
int layer_axis(struct layer_context *context, const struct layer *layer, int64_t axis, int rank);
/* The argument "axis", an integer or a list, as axes of x in rising order; returns their number, 0:
 * it failed. */
int layer_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
               int32_t axes[SHAPE_RANK_MAX]);

/* Adds λ1 Σ|x| + λ2 Σx² of a row, on average over the batch, to the penalty of the loss. */
void layer_penalise_activity(struct layer_context *context, const struct regularizer *regularizer,
                             struct endpoint x);

/* Reading the config of a layer (layer_args.c) and its parts. */
struct status layer_read(const struct json_value *entry, struct arena *arena, struct layer *out);
/* Names the layer inside another as Keras does: "outer/inner", in Keras 2 "outer"; what is inside a
 * frozen layer is frozen. */
struct status layer_name_inner(struct layer *layer, bool keras2, struct arena *arena);
/* Layers and ports: letters, digits, '_', '.', '-', '/'. */
struct status check_layer_name(const char *name);
struct status initializer_read(const struct json_value *value, struct arena *arena,
                               struct initializer *out);
struct status regularizer_read(const struct json_value *value, struct arena *arena,
                               struct regularizer *out);
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
