/*
 * layers: a model described in Keras' vocabulary, and the graphs made of it.
 *
 *     struct layers_model *model;
 *     TRY(layers_parse(json, arena, &model));                          or layers_find("mlp", …)
 *     struct layers_options options = { .mode = LAYERS_TRAIN, .batch = 100 };
 *     struct layers_graph training;
 *     TRY(layers_build(model, &options, arena, &training));
 *
 * The text is what `to_json()` prints of a Sequential or Functional model of Keras 2 or 3. A
 * Functional model may branch, use a layer several times, and have several inputs and outputs.
 * Variables have the same names, types and shapes in every mode ("dense/kernel"), each a
 * VarHandleOp and a ReadVariableOp. To a worker's plan the ReadVariableOp's output is a feed and
 * the gradient a fetch, so no variable is ever read there:
 *
 *     feeds    inputs[i], heads[i].labels, random_seed (where there is one), variables[i].value
 *     fetches  loss, variables[i].gradient                             mode TRAIN
 *              loss, heads[i].correct                                  mode EVAL
 */
#ifndef LAYERS_LAYERS_H
#define LAYERS_LAYERS_H

#include "base/json_value.h"
#include "graph/build.h"
#include "graph/signature.h"
#include "graph/training_graph.h"
#include "layers/initializer.h"

enum layers_mode {
    LAYERS_TRAIN, /* dropout drops; loss and gradients */
    LAYERS_EVAL,  /* loss and the count of right answers */
    LAYERS_SERVE, /* the outputs alone */
};

/* The reduction of the examples' losses to one number. */
enum layers_reduction {
    LAYERS_MEAN, /* Keras' default */
    LAYERS_SUM,  /* the sum over the batch */
};

/* What a loss compares the outputs with. */
enum layers_labels {
    LAYERS_CLASSES, /* int32 [batch]: the class of each example */
    LAYERS_VALUES,  /* float, in the shape of the output */
};

/* What the outputs mean, which follows from the loss. */
enum layers_kind {
    LAYERS_REGRESSION, /* numbers */
    LAYERS_BINARY,     /* [batch, 1]: the probability (or logit) of class 1 */
    LAYERS_CLASSIFIER, /* [batch, classes]: a score for each class */
};

/* A number of the optimizer's config, by Keras' name: "momentum", "beta_1", "nesterov" (0 or 1), …
 */
struct layers_setting {
    const char *name;
    double value;
};

/* A parameter of a learning rate schedule: a number or a list of them. A truth is 0 or 1. */
struct layers_parameter {
    const char *name;
    const double *numbers; /* [count] */
    int count;
};

/* A learning rate that is an object of one of Keras' classes. The names are not checked. */
struct layers_schedule {
    const char *name; /* NULL: none */
    const struct layers_parameter *parameters;
    int parameters_count;
};

/* The description's settings for training (compile_config, and our own "training_config" beside
 * it). NULL and 0: not given. */
struct layers_training {
    const char *optimizer; /* Keras' class in lower case: "sgd", "adam", "adagrad", … */
    double learning_rate;
    struct layers_schedule schedule;       /* in place of learning_rate */
    const struct layers_setting *settings; /* the optimizer's other numbers */
    int settings_count;
    bool has_reduction; /* training_config.reduction: "sum" or "mean" */
    enum layers_reduction reduction;
    int batch_size;
    int epochs;             /* training_config.epochs */
    int training_iteration; /* training_config.training_iteration: steps */
};

struct layer; /* layers/layer.h */
struct layer_call;
struct loss;   /* layers/loss.h */
struct metric; /* layers/metric.h */

/* An input or an output of a model. */
struct layers_port {
    const char *name;   /* the layer's, or the key if the description names its ports by key */
    struct shape shape; /* [-1, 784] */
    int call;           /* the call of a layer that gives the value */
};

/* A checked description: every layer can be built for this input. Lives in its arena. */
struct layers_model {
    const char *name;
    struct layers_port *inputs, *outputs; /* names are unique in each list */
    int inputs_count, outputs_count;      /* at least 1 */
    /* Of the only output; with several outputs, NULL and 0. */
    const struct loss *loss;
    const char *loss_name; /* Keras' function: "mean_squared_error" */
    enum layers_labels labels;
    enum layers_kind kind;
    const struct metric *metrics; /* of the description; none: the accuracy, unless a regression */
    int metrics_count;
    bool keras2;
    struct layers_training training;
    struct layer *layers;
    int layers_count;
    struct layer_call *calls; /* each after the calls whose values it takes */
    int calls_count;
};

/* Reads a learning rate schedule as Keras prints it: {"class_name", "config"}. INVALID_ARGUMENT: it
 * is none, or a parameter is neither a number nor a list of numbers. Owner: as for layers_parse. */
struct status layers_read_schedule(const struct json_value *value, struct arena *arena,
                                   struct layers_schedule *out);

/**
 * Reads a description.
 *
 * Owner   *out and all it points to live in `arena`; `json` is not kept
 * Errors  INVALID_ARGUMENT names the line of a syntax error, the layer, argument or value that is
 *         wrong or unknown, and what is known; UNIMPLEMENTED a model as a layer, a dtype other than
 *         float32
 */
struct status layers_parse(struct bytes json, struct arena *arena, struct layers_model **out);

/* The built-in description of that name ("softmax", "mlp", "convnet", …); .data NULL:
 * none. layers_builtin_names: "convnet, linear, logistic, mlp, softmax". */
struct bytes layers_builtin(const char *name);
const char *layers_builtin_names(void);

struct layers_variable {
    const char *name; /* "dense/kernel": VarHandleOp, shared_name, checkpoint key */
    enum dtype dtype;
    struct shape shape;
    bool trainable;
    struct initializer initializer;
    struct endpoint value; /* ReadVariableOp's output: a feed in TRAIN and EVAL */
    /* TRAIN: d loss / d value, in the variable's shape; else a null node */
    struct endpoint gradient;
    const struct layer *layer;
};

struct layers_options {
    enum layers_mode mode;
    enum layers_reduction reduction;
    int64_t batch; /* rows of a step; 0: any number (a fixed number makes a cheaper graph) */
    bool weighted; /* each example's loss has a weight, which is fed */
};

/* An output in a graph. */
struct layers_head {
    struct endpoint output;   /* after the last activation */
    struct endpoint labels;   /* see layers_model.labels; a null node in SERVE */
    struct endpoint *metrics; /* EVAL: the totals of each metric; otherwise NULL */
};

struct layers_graph {
    struct graph *graph;
    struct endpoint *inputs;   /* float, [batch, …]; as many as the model has */
    struct layers_head *heads; /* one for each output of the model */
    struct endpoint weights;   /* float [batch], of the examples; a null node unless weighted */
    /* int64 [2]: what dropout draws from, another one each step (say seed and number of the
     * batch); a null node where nothing is random */
    struct endpoint random_seed;
    struct endpoint loss;              /* scalar, regularisers included; a null node in SERVE */
    struct layers_variable *variables; /* in order of the layers */
    int variables_count;
};

/**
 * Builds the graph of one mode. TRAIN holds the gradient of the loss for each variable that a path
 * leads to.
 *
 * Owner   out lives in `arena`; graph_finish(out->graph) when it is done with
 * Errors  INVALID_ARGUMENT a shape that does not fit; UNIMPLEMENTED TRAIN or EVAL of a model with
 *         several outputs
 */
struct status layers_build(const struct layers_model *model, const struct layers_options *options,
                           struct arena *arena, struct layers_graph *out);

struct layers_serving_options {
    const char *const *classes; /* the names that classify answers; NULL: "0", "1", … */
    int classes_count;          /* as many as the output has columns */
};

struct layers_serving {
    struct graph *graph;
    struct signature *signatures; /* as savedmodel_write takes them */
    int signatures_count;
    const char *init_op; /* node that fills the tables, or NULL */
    struct layers_variable *variables;
    int variables_count;
};

/**
 * Builds the graph that is exported, with its signatures:
 *
 *     cross-entropy  serving_default  classify  inputs (tf.Example, feature x) -> classes, scores
 *                    predict_images   predict   images -> scores
 *     mean square    serving_default  regress   inputs (tf.Example, feature x) -> outputs
 *                    predict          predict   x -> y
 *     (more than one number cannot be a regression: serving_default is then predict)
 *
 * The model's input is the endpoint x:0, its output y:0, the examples tf_example:0. If there are
 * several inputs, predict and the features of an example have their names, and the second
 * signature is named predict for a classifier too. If there are several outputs, serving_default is
 * predict, with the names of the inputs and outputs, and the only signature.
 *
 * Owner   out lives in `arena`; graph_finish(out->graph) when it is done with
 * Errors  INVALID_ARGUMENT the number of classes is not the number of outputs
 */
struct status layers_build_serving(const struct layers_model *model,
                                   const struct layers_serving_options *options,
                                   struct arena *arena, struct layers_serving *out);

struct layers_training_options {
    enum layers_reduction reduction; /* of a step's loss */
    int64_t batch;                   /* rows of a step; 0: any number */
    /* A step is also fed "sample_weight", float [batch]: each row's loss is multiplied by its
     * weight before the reduction. The mean is still over the rows, as in Keras. An evaluation has
     * no weights. */
    bool weighted;
};

/**
 * Builds what a job trains: the graphs TRAIN and EVAL and the recipe of the export. The feeds are
 * "x", or several inputs by their names, "labels" and "sample_weight". The model outlives it.
 *
 * Owner   out lives in `arena`; training_graph_finish
 * Errors  INVALID_ARGUMENT a shape that does not fit; UNIMPLEMENTED several outputs
 */
struct status layers_training_graph(const struct layers_model *model,
                                    const struct layers_training_options *options,
                                    struct arena *arena, struct training_graph *out);

/* The recipe alone, in `arena`; options: NULL: the defaults. */
const struct export_recipe *layers_export_recipe(const struct layers_model *model,
                                                 const struct layers_serving_options *options,
                                                 struct arena *arena);

#endif
