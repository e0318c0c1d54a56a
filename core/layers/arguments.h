/*
 * arguments: reads the config of a layer, a loss or a metric by a table of its arguments, with
 * Keras' defaults. Internal to layers/.
 *
 *     static const struct layer_arg args[] = {
 *         { "rate", ARG_NUMBER, REQUIRED },
 *         { "seed", ARG_NULL_OR_INT, "null" },
 *     };
 */
#ifndef LAYERS_ARGUMENTS_H
#define LAYERS_ARGUMENTS_H

#include "base/json_value.h"
#include "layers/initializer.h"
#include "tensor/constraint.h"
#include "tensor/tensor.h"

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

/* ---- values of a config, which tables of arguments read as well ---- */

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
/* The types that a reader accepts: so many of a list that begins with float32. */
enum known_dtypes {
    DTYPES_OF_FLOAT = 1,         /* float32 */
    DTYPES_OF_PREPROCESSING = 4, /* also int32, int64 and string */
    DTYPES_OF_INPUT = 9,         /* also bool and the smaller integers */
};
/* Reads a type, or a policy object around it; null is float32. UNIMPLEMENTED: another type. */
struct status dtype_read(const struct json_value *dtype, enum known_dtypes known,
                         struct arena *arena, enum dtype *out);
/* Reads the policy of a layer: what it computes with, float32 or, of a mixed policy, a type of 16
 * bits; null is float32. UNIMPLEMENTED: another one. */
struct status policy_read(const struct json_value *dtype, struct arena *arena, enum dtype *out);
/* Reads it if it is a mixed policy. Returns false if it is not. */
bool mixed_policy_read(const struct json_value *dtype, enum dtype *out);
/* Is it a type or policy such as "mixed_float16", "float64" or "int8_from_bfloat16"? */
bool is_other_float(const struct json_value *dtype);
struct status activation_read(const struct json_value *value, struct arena *arena,
                              const struct activation **out);

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
