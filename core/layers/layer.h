/*
 * layer: what a kind of layer is: one row of the table in layer_table.c, its arguments with Keras'
 * defaults, and the function that adds it to a graph. Internal to layers/.
 *
 *     static const struct layer_arg args[] = {
 *         { "rate", ARG_NUMBER, REQUIRED },
 *         { "seed", ARG_NULL_OR_INT, "null" },
 *     };
 */
#ifndef LAYERS_LAYER_H
#define LAYERS_LAYER_H

#include "layers/layers.h"
#include "layers/value.h"

enum arg_kind {
    ARG_INT,         /* at least 1 */
    ARG_NULL_OR_INT, /* any integer; null: absent */
    ARG_NUMBER,
    ARG_NULL_OR_NUMBER,
    ARG_BOOL,
    ARG_CHOICE, /* one of the words of `fallback` */
    ARG_PAIR,   /* [h, w], or one number for both; at least 1 */
    ARG_NULL_OR_PAIR,
    ARG_INTS,  /* a list of integers */
    ARG_VALUE, /* whatever the layer makes of it */
    ARG_ACTIVATION,
    ARG_INITIALIZER,
    ARG_REGULARIZER, /* or null */
    ARG_NONE,        /* known, but only null or false can be had */
};

#define REQUIRED NULL

struct layer_arg {
    const char *name;
    enum arg_kind kind;
    const char *fallback; /* Keras' default, as JSON; REQUIRED: there is none. Of ARG_CHOICE: all
                             that is known, "valid same", the default first */
};

/* λ1 Σ|w| + λ2 Σw², Keras' form. */
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
        const struct value *value;
        const struct activation *activation;
        struct initializer initializer;
        struct regularizer regularizer;
    };
};

struct layer {
    const struct layer_class *class;
    const char *name;
    bool trainable;
    struct arg_value *args; /* in the order of class->args */
};

/* What building a model carries from layer to layer. */
struct layer_context {
    struct builder builder;
    struct arena *arena;
    enum layers_mode mode;
    bool keras2; /* formulas that Keras 3 has changed are the old ones */
    struct layers_graph *out;
    struct endpoint penalty; /* what regularisers add to the loss; a null node: nothing so far */
    int random_count;        /* layers so far that draw */
};

struct layer_class {
    const char *name; /* Keras' class */
    const struct layer_arg *args;
    int args_count;
    struct endpoint (*build)(struct layer_context *context, const struct layer *layer,
                             struct endpoint x);
};

const struct layer_class *layer_class_find(const char *name); /* NULL: none of that name */
const char *layer_class_names(struct arena *arena);

/* A layer's argument by name, which its class declares (asserted). */
const struct arg_value *layer_arg(const struct layer *layer, const char *name);

/* The first failure sticks to the context, as in a builder; the layer's name goes in front. */
void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Checks the rank of a layer's input; false: failed. */
bool layer_wants_rank(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank);

/* A variable "<layer>/<name>" as the layer reads it; its initializer and regularizer are the
 * arguments "<name>_initializer" and "<name>_regularizer". */
struct endpoint layer_variable(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape);

/* Reading the config of a layer (layer_args.c) and its parts. */
struct status layer_read(const struct value *entry, struct arena *arena, struct layer *out);
struct status initializer_read(const struct value *value, struct arena *arena,
                               struct initializer *out);
struct status regularizer_read(const struct value *value, struct arena *arena,
                               struct regularizer *out);
struct status activation_read(const struct value *value, struct arena *arena,
                              const struct activation **out);
struct endpoint activation_build(struct layer_context *context, const struct activation *activation,
                                 struct endpoint x);

/* The class name and config of `"Zeros"`, `{"class_name": "Zeros", "config": {…}}`; NULL: neither.
 */
const char *named_object(const struct value *value, const struct value **config);
/* Do two names agree but for case and underscores ("glorot_uniform", "GlorotUniform")? */
bool same_name(const char *a, const char *b);

#endif
