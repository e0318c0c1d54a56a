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
 * Functional model may branch, use a layer several times, and have several inputs and outputs. A
 * layer may be a model. Variables have the same names, types and shapes in every mode ("dense/kernel"), each a
 * VarHandleOp and a ReadVariableOp. To a worker's plan the ReadVariableOp's output is a feed and
 * the gradient a fetch, so no variable is ever read there. (Of a variable by rows, such as the
 * table of an Embedding, the feed is a placeholder for the rows of a batch; training_graph.h.)
 *
 *     feeds    inputs[i], heads[i].labels and column, random_seed and loss_scale (where there are),
 *              variables[i].value
 *     fetches  loss, variables[i].gradient or average, some metrics[i] mode TRAIN
 *              loss, metrics[i]                                        mode EVAL
 */
#ifndef LAYERS_LAYERS_H
#define LAYERS_LAYERS_H

#include "base/json_value.h"
#include "graph/build.h"
#include "graph/signature.h"
#include "graph/training_graph.h"
#include "layers/initializer.h"
#include "tensor/constraint.h"

enum layers_mode {
    LAYERS_TRAIN, /* dropout drops; loss and gradients */
    LAYERS_EVAL,  /* loss and the count of right answers */
    LAYERS_SERVE, /* the outputs alone */
};

/* The reduction of the examples' losses to one number. */
enum layers_reduction {
    LAYERS_MEAN, /* Keras' default */
    LAYERS_SUM,  /* the sum over the batch */
    LAYERS_EACH, /* of several outputs: as each of them says (layers_target.reduction) */
};

/* What a loss compares the outputs with. */
enum layers_labels {
    LAYERS_CLASSES,   /* int32, the output's shape without its last dimension: class numbers */
    LAYERS_GROUPS,    /* int32 [batch]: any number; examples with the same one belong together */
    LAYERS_LISTS,     /* int32 [batch, longest]: class numbers from 1, then zeros */
    LAYERS_VALUES,    /* float, in the shape of the output */
    LAYERS_NO_LABELS, /* none: it compares the rows of a batch with each other */
};

/* What the outputs mean, which follows from the loss. */
enum layers_kind {
    LAYERS_REGRESSION, /* numbers */
    LAYERS_BINARY,     /* [batch, 1]: the probability (or logit) of class 1 */
    LAYERS_CLASSIFIER, /* [batch, classes]: a score for each class */
    LAYERS_TAGGER,     /* [batch, steps…, classes]: the same for each step or pixel */
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

struct layers_training;

/* Of Keras' MultiOptimizer: another optimizer for the variables whose name the pattern fits, a
 * regular expression as of Python. */
struct layers_other_optimizer {
    const char *pattern;
    const struct layers_training *training; /* its optimizer, settings, rate and schedule */
};

/* The description's settings for training (compile_config, and our own "training_config" beside
 * it). NULL and 0: not given. */
struct layers_training {
    const char *optimizer; /* Keras' class in lower case: "sgd", "adam", "adagrad", … */
    double learning_rate;
    struct layers_schedule schedule;       /* in place of learning_rate */
    const struct layers_setting *settings; /* the optimizer's other numbers */
    int settings_count;
    const struct layers_other_optimizer *others; /* beside `optimizer` */
    int others_count;
    bool has_reduction; /* of training_config, or of the losses */
    enum layers_reduction reduction;
    int batch_size;
    int epochs;             /* training_config.epochs */
    int training_iteration; /* training_config.training_iteration: steps */
};

struct layer; /* layers/layer.h */
struct layer_call;
struct loss;   /* layers/losses/loss.h */
struct metric; /* layers/metrics/metric.h */

/* An input or an output of a model. */
struct layers_port {
    const char *name; /* the layer's, or the key if the description names its ports by key */
    enum dtype dtype; /* of an input: float, int32, int64 or string; of an output: not set */
    /* Of an input: SPARSE as Input(sparse=True), RAGGED as Input(ragged=True). */
    enum tensor_layout layout;
    struct shape shape;  /* [-1, 784] */
    bool is_example;     /* of an input: serialized tf.Examples, which the graph parses */
    enum raw_values raw; /* of an input: what the graph does with it before the layers */
    int call, output;    /* the call of a layer that gives the value, and its output */
};

/* What an output is trained for. */
struct layers_target {
    const struct loss *loss; /* NULL: of several outputs, this one is not trained */
    const char *loss_name;   /* Keras' function: "mean_squared_error" */
    enum layers_labels labels;
    enum layers_kind kind;
    /* A column of the data that the loss takes, float [batch]; NULL: none */
    const char *column;
    enum layers_reduction reduction; /* MEAN or SUM */
    double weight;                   /* of its loss in the sum of all */
};

struct layers_graph;

/* What a model computes if it is not made of layers: a graph from elsewhere. Embed it first. */
struct layers_body {
    const char *name;
    const struct layers_port *inputs; /* [inputs_count], at least 1; `call` is not used */
    int inputs_count;
    const char *const *outputs; /* [outputs_count]: names, at least 1 */
    int outputs_count;
    bool has_flags; /* its settings are flags: errors name `--loss`, not `compile_config: loss` */
    /**
     * Makes out->graph, out->variables, and the elements of out->inputs and out->heads in the order
     * of the ports; of a head, it sets the output. `batch`: the rows; 0: any number.
     *
     * Owner  the graph lives in `arena`; the caller calls graph_finish, if out->graph is not NULL
     */
    struct status (*build)(const struct layers_body *body, int64_t batch, struct arena *arena,
                           struct layers_graph *out);
};

/* A checked description: every layer can be built for this input. Lives in its arena. */
struct layers_model {
    const char *name;
    struct layers_port *inputs, *outputs; /* names are unique in each list */
    int inputs_count, outputs_count;      /* at least 1 */
    struct layers_target *targets;        /* [outputs_count] */
    /* Of the description, in the order of the outputs. A model with one output has the accuracy if
     * there are none, unless it is a regression. With several losses, these come first. */
    const struct metric *metrics;
    int metrics_count;
    bool keras2;
    struct layers_training training;
    const struct layers_body *body; /* in place of layers; NULL: none */
    struct layer *layers;
    int layers_count;
    struct layer_call *calls; /* each after the calls whose values it takes */
    int calls_count;
    int calls_total;     /* with those of the models that are layers */
    struct arena *arena; /* that it lives in */
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
 *         wrong or unknown, and what is known; UNIMPLEMENTED a dtype other than float32
 */
struct status layers_parse(struct bytes json, struct arena *arena, struct layers_model **out);

/**
 * Makes a model of a body, to be trained as its compile_config says: what Keras'
 * get_compile_config() prints, or a part of it such as {"loss": "mse"}. The body outlives the model.
 *
 * Errors  as layers_parse and body->build
 */
struct status layers_wrap(const struct layers_body *body, struct bytes compile_config,
                          struct arena *arena, struct layers_model **out);

/* The built-in description of that name ("softmax", "mlp", "convnet", …); .data NULL:
 * none. layers_builtin_names: "convnet, linear, logistic, mlp, …". */
struct bytes layers_builtin(const char *name);
const char *layers_builtin_names(void);

/* What a preprocessing layer computes of the training data before training: Keras' adapt(). */
enum adapt_kind {
    ADAPT_MOMENTS,   /* Normalization: mean and variance */
    ADAPT_QUANTILES, /* Discretization: boundaries */
    ADAPT_TOKENS,    /* StringLookup, IntegerLookup: vocabulary, and idf weights */
};

/* The state of a layer. tensors[0]: float mean [kept axes], float boundaries [bins - 1], or the
 * vocabulary, string or int64 [n], without special tokens. tensors[1], as large: the variances, or
 * the weights of inverse document frequency. DT_INVALID: there is none. */
struct layers_state {
    struct tensor tensors[2];
};

/* A layer without a state, and the value in the graph of which it is computed. */
struct layers_adapting {
    enum adapt_kind kind;
    const char *layer;
    struct endpoint values;
    bool kept[SHAPE_RANK_MAX]; /* MOMENTS: the axes that have a mean each */
    int64_t bins;              /* QUANTILES */
    double epsilon;            /* QUANTILES: of ranks */
    int64_t tokens_max;        /* TOKENS; 0: all */
    bool idf, is_text;
    const struct json_value *mask, *oov; /* TOKENS: tokens that do not count; NULL: none */
};

/* Gives a layer its state, which is borrowed; asserts that the layer exists. Call layers_recheck
 * when all have theirs. */
void layers_set_state(struct layers_model *model, const char *layer,
                      const struct layers_state *state);
const struct layers_state *layers_get_state(const struct layers_model *model, const char *layer);
/* Checks the model again: a state may decide the shape of a layer's output. */
struct status layers_recheck(struct layers_model *model);

struct layers_variable {
    const char *name; /* "dense/kernel": VarHandleOp, shared_name, checkpoint key */
    enum dtype dtype;
    struct shape shape;
    bool trainable;
    struct initializer initializer;
    struct constraint constraint; /* of its values after each update */
    struct endpoint value;        /* ReadVariableOp's output: a feed in TRAIN and EVAL */
    /* TRAIN and EVAL: only some rows are read. `value` is a placeholder for them, [-1, row…] */
    bool by_rows;
    /* TRAIN and EVAL: a hash table, [-1, row…], by these rules. It has no initializer. */
    bool by_keys;
    struct row_keys_spec keys;
    bool has_seed; /* keys.seed is set */
    /* TRAIN: d loss / d value, in the shape of `value`; else a null node */
    struct endpoint gradient;
    /* TRAIN: of a moving average, the value that the step moves it towards, and the momentum; a
     * null node: it is none */
    struct endpoint average;
    double momentum;
    /* TRAIN: above 0, each step first divides it by its largest singular value, which so many steps
     * of power iteration find from the variable behind it. `divided` is then what the layer
     * computes with, and whose gradient is taken; otherwise a null node. */
    uint32_t power_iterations;
    struct endpoint divided;
    const struct layer *layer;
};

struct layers_options {
    enum layers_mode mode;
    enum layers_reduction reduction;
    int64_t batch; /* rows of a step; 0: any number (a fixed number makes a cheaper graph) */
    bool weighted; /* each example's losses have a weight, which is fed */
    bool metrics;  /* TRAIN: with metrics, as EVAL has them */
    /* The gradients are those of the loss times this factor, so that small ones do not underflow;
     * 0: 1. */
    float loss_scale;
    bool feeds_loss_scale; /* TRAIN: the factor is a feed, layers_graph.loss_scale */
};

/* What divides the values of a sparse or ragged input into rows: int64 [values], [rows + 1]. */
struct input_lists {
    struct endpoint ids; /* SPARSE */
    struct endpoint row_splits;
    /* In their place: a SparseTensor's indices [values, 2] and shape [2]. RAGGED: the values of a
     * row are at its first places */
    struct endpoint indices, sparse_shape;
};

/* An output in a graph. */
struct layers_head {
    struct endpoint output; /* after the last activation */
    struct endpoint mask;   /* bool [batch, steps]: the steps that count; a null node: all */
    struct endpoint labels; /* see layers_target.labels; a null node: there are none */
    struct endpoint column; /* layers_target.column; a null node: none */
    /* What the loss and the metrics compare: the output and the labels; without labels, scores of
     * the batch's rows and int32 [batch], the place of the right one. Null nodes as `labels`. */
    struct endpoint predictions, truths;
    /* EVAL: int32 [batch], how many of all candidates come before the row's own
     * (metrics/ranking.h); a null node: no metric asks */
    struct endpoint ranks;
};

struct layers_graph {
    struct graph *graph;
    struct endpoint *inputs; /* [batch, …]; as many as the model has. SPARSE, RAGGED: the values */
    struct input_lists *lists; /* TRAIN, EVAL: beside `inputs`; null nodes: dense */
    struct layers_head *heads; /* one for each output of the model */
    struct endpoint weights;   /* float [batch], of the examples; a null node unless weighted */
    /* int64 [2]: what dropout draws from, another one each step (say seed and number of the
     * batch); a null node where nothing is random */
    struct endpoint random_seed;
    struct endpoint loss_scale;        /* a float; a null node unless it is a feed */
    struct endpoint loss;              /* scalar, regularisers included; a null node in SERVE */
    struct endpoint *metrics;          /* EVAL: the totals of each metric; otherwise NULL */
    struct layers_variable *variables; /* in order of the layers */
    int variables_count;
    struct node **tables; /* nodes that fill the tables of vocabularies */
    int tables_count;
    struct node *init; /* TRAIN and EVAL: fills all tables; NULL: there are none */
    /* Calls of layers that have no state yet. Their outputs mean nothing. */
    struct layers_adapting *adapting;
    int adapting_count;
    struct row_lookup *lookups; /* TRAIN and EVAL: where variables are read by rows */
    int lookups_count;
    struct candidate_ends candidates; /* EVAL: null nodes: no metric ranks among all of them */
};

/**
 * Builds the graph of one mode. TRAIN holds the gradient of the loss for each variable that a path
 * leads to.
 *
 * Owner   out lives in `arena`; graph_finish(out->graph) when it is done with
 * Errors  INVALID_ARGUMENT a shape that does not fit; FAILED_PRECONDITION TRAIN or EVAL of a model
 *         with several outputs and no loss
 */
struct status layers_build(const struct layers_model *model, const struct layers_options *options,
                           struct arena *arena, struct layers_graph *out);

/* Requests carry raw values, which the graph normalises as the training data were: each value of a
 * row becomes (value - mean) / stddev, in doubles. */
struct layers_scale {
    const double *mean, *stddev; /* [values in a row]; NULL: the input is taken as it is */
};

/* The raw columns that an input is made of, side by side. */
struct layers_columns {
    const struct raw_column *list;
    int count;
};

struct layers_serving_options {
    const struct bytes *classes;       /* the names that classify answers; NULL: "0", "1", … */
    int classes_count;                 /* as many as the output has columns, or 2 for one of them */
    const struct layers_scale *scales; /* [inputs_count]; NULL: for none */
    /* [inputs_count], in place of scales: requests carry these columns by their names. NULL: they
     * carry the inputs */
    const struct layers_columns *columns;
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
 *     binary cross-entropy of one output: also
 *                    classification    classify  inputs (tf.Example) -> classes "0" and "1", scores
 *     (more than one number cannot be a regression: serving_default is then predict; the same with
 *     more than a million classes)
 *
 * With `columns`, a request to predict and the features of an Example have their names, and the
 * graph prepares their values.
 *
 * The model's input is the endpoint x:0, its output y:0, the examples tf_example:0. If there are
 * several inputs, predict and the features of an example have their names, and the second
 * signature is named predict for a classifier too. If there are several outputs, serving_default is
 * predict, with the names of the inputs and outputs. Each output that a retrieval loss compares
 * also has a predict signature of its name, which takes the inputs that it depends on.
 *
 * Owner   out lives in `arena`; graph_finish(out->graph) when it is done with
 * Errors  INVALID_ARGUMENT the number of classes is not the number of outputs; as
 *         layers_check_requests
 */
struct status layers_build_serving(const struct layers_model *model,
                                   const struct layers_serving_options *options,
                                   struct arena *arena, struct layers_serving *out);

/* Is the signature of a classifier that takes tensors "predict_images", with the input "images"?
 * Otherwise it is "predict", with the names of the inputs or columns. */
bool layers_takes_only_input(const struct layers_model *model,
                             const struct layers_serving_options *options);

/* What a request to predict carries: the model's inputs or, if the options name them, the columns,
 * each once. Returns their number. */
int layers_request_inputs(const struct layers_model *model,
                          const struct layers_serving_options *options, struct arena *arena,
                          const struct layers_port **out);

/* Has each part of a request a name of its own? INVALID_ARGUMENT names two that have not. */
struct status layers_check_requests(const struct layers_model *model,
                                    const struct layers_serving_options *options,
                                    struct arena *arena);

/* What an exported graph does with the input that this tensor, such as "x:0", is. */
enum raw_values layers_input_raw(const struct graph *graph, const char *tensor);

struct layers_training_options {
    enum layers_reduction reduction; /* of a step's loss */
    int64_t batch;                   /* rows of a step; 0: any number */
    /* A step is also fed "sample_weight", float [batch]: each row's loss is multiplied by its
     * weight before the reduction. The mean is still over the rows, as in Keras. */
    bool weighted;
    bool evaluation_weighted; /* the same of an evaluation, with its weighted metrics */
    float loss_scale;         /* of the gradients, as struct layers_options has it */
    bool feeds_loss_scale;    /* the same */
    bool metrics;             /* a step has the metrics of its batch as well */
};

/**
 * Builds what a job trains: the graphs TRAIN and EVAL and the recipe of the export. The feeds are
 * "x", or several inputs by their names, "labels", or the names of several outputs that have a
 * loss, the columns that losses take, and "sample_weight". The model outlives it.
 *
 * Owner   out lives in `arena`; training_graph_finish
 * Errors  those of layers_build; INVALID_ARGUMENT two feeds of the same name
 */
struct status layers_training_graph(const struct layers_model *model,
                                    const struct layers_training_options *options,
                                    struct arena *arena, struct training_graph *out);

/* The recipe alone, in `arena`; options: NULL: the defaults. */
const struct export_recipe *layers_export_recipe(const struct layers_model *model,
                                                 const struct layers_serving_options *options,
                                                 struct arena *arena);

#endif
