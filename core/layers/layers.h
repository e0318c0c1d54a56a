/*
 * layers: a model described in Keras' vocabulary, and the graphs made of it.
 *
 *     struct layers_model *model;
 *     TRY(layers_parse(json, arena, &model));
 *     struct layers_options options = { .mode = LAYERS_TRAIN, .batch = 100 };
 *     struct layers_graph training;
 *     TRY(layers_build(model, &options, arena, &training));
 *
 * The text is the output of `to_json()` for a Sequential or Functional model of Keras 2 or 3. A
 * Functional model may branch, use a layer several times, and have several inputs and outputs. A
 * layer may be a model. Variables have the same names, types and shapes in every mode
 * ("dense/kernel"), each a VarHandleOp and a ReadVariableOp. A worker's plan feeds the
 * ReadVariableOp's output and fetches the gradient, so it never reads a variable. (For a variable
 * by rows, such as the table of an Embedding, the feed is a placeholder for the rows of a batch;
 * see training_graph.h.)
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
    LAYERS_TRAIN, /* with dropout; loss and gradients */
    LAYERS_EVAL,  /* loss and number of correct answers */
    LAYERS_SERVE, /* the outputs alone */
};

/* The reduction of the examples' losses to one number. */
enum layers_reduction {
    LAYERS_MEAN,          /* Keras' default */
    LAYERS_SUM,           /* the sum over the batch */
    LAYERS_WEIGHTED_MEAN, /* the sum, divided by the sum of the weights */
    LAYERS_EACH,          /* with several outputs: each has its own (layers_target.reduction) */
};

/* Keras' word, such as "sum_over_batch_size", for each of them but LAYERS_EACH. Returns false if
 * it is none. */
bool layers_find_reduction(const char *word, enum layers_reduction *out);

/* The kind of labels of a loss. */
enum layers_labels {
    LAYERS_CLASSES,   /* class numbers: int32, the output's shape without its last dimension */
    LAYERS_GROUPS,    /* group numbers, any int32, [batch]: examples with the same number belong
                       * together */
    LAYERS_LISTS,     /* int32 [batch, longest]: class numbers from 1, then zeros */
    LAYERS_VALUES,    /* float, in the shape of the output */
    LAYERS_NO_LABELS, /* none: the loss compares the rows of a batch with each other */
};

/* The meaning of the outputs, which follows from the loss. */
enum layers_kind {
    LAYERS_REGRESSION, /* numbers */
    LAYERS_BINARY,     /* [batch, 1]: the probability (or logit) of class 1 */
    LAYERS_CLASSIFIER, /* [batch, classes]: a score for each class */
    LAYERS_TAGGER, /* [batch, steps…, classes]: a score for each class at each step or pixel */
};

/* A numeric setting of the optimizer's config, by Keras' name: "momentum", "beta_1", "nesterov"
 * (0 or 1), … */
struct layers_setting {
    const char *name;
    double value;
};

/* A parameter of a learning rate schedule: a number or a list of numbers. A boolean is 0 or 1. */
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

/* From Keras' MultiOptimizer: another optimizer for the variables whose name matches the
 * pattern, a Python regular expression. */
struct layers_other_optimizer {
    const char *pattern;
    const struct layers_training *training; /* its optimizer, settings, rate and schedule */
};

/* The description's settings for training (compile_config, and our own "training_config" beside
 * it). NULL or 0: not given. */
struct layers_training {
    const char *optimizer; /* Keras' class in lower case: "sgd", "adam", "adagrad", … */
    double learning_rate;
    struct layers_schedule schedule;       /* instead of learning_rate */
    const struct layers_setting *settings; /* the optimizer's other numbers */
    int settings_count;
    const struct layers_other_optimizer *others; /* beside `optimizer` */
    int others_count;
    /* Keras would put a LossScaleOptimizer around the optimizer, for the policy mixed_float16 */
    bool scales_loss;
    bool has_reduction; /* from training_config or from the losses */
    enum layers_reduction reduction;
    int batch_size;
    int epochs;             /* training_config.epochs */
    int training_iteration; /* training_config.training_iteration: steps */
    bool any_width;         /* training_config.any_width: see layers_set_widths */
};

struct layer; /* layers/layer.h */
struct layer_call;
struct loss;   /* layers/losses/loss.h */
struct metric; /* layers/metrics/metric.h */

/* An input or an output of a model. */
struct layers_port {
    const char *name; /* the layer's name, or the key if the description names its ports by key */
    enum dtype dtype; /* of an input: float, int32, int64 or string; of an output: unset */
    /* of an input: SPARSE for Input(sparse=True), RAGGED for Input(ragged=True) */
    enum tensor_layout layout;
    struct shape shape;  /* [-1, 784] */
    bool is_example;     /* of an input: serialized tf.Examples, which the graph parses */
    enum raw_values raw; /* of an input: how the graph prepares it before the first layer */
    int call, output;    /* the call that produces the value, and the output of that call */
};

/* The training target of one output. */
struct layers_target {
    const struct loss *loss;   /* NULL: this one of several outputs is not trained */
    const char *loss_name;     /* Keras' function: "mean_squared_error" */
    const char *note;          /* what to tell who trains with this loss; NULL: nothing */
    enum layers_labels labels; /* VALUES instead of the loss's CLASSES: see layers_take_shares */
    enum layers_kind kind;
    /* a column of the data, float [batch], that the loss also reads; NULL: none */
    const char *column;
    enum layers_reduction reduction; /* not EACH */
    double weight;                   /* of its loss in the sum of all losses */
};

struct layers_graph;

/* The graph of a model that is not made of layers. Embed this struct as the first member. */
struct layers_body {
    const char *name;
    const struct layers_port *inputs; /* [inputs_count], at least 1; `call` is unused */
    int inputs_count;
    const char *const *outputs; /* [outputs_count]: names, at least 1 */
    int outputs_count;
    bool has_flags; /* its settings are flags: errors name `--loss`, not `compile_config: loss` */
    /**
     * Sets out->graph, out->variables, and the elements of out->inputs and out->heads in the order
     * of the ports; of a head, only the output. `batch`: the number of rows; 0: any.
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
    /* The metrics of the description, in the order of the outputs. A model with one output and
     * no metrics reports the accuracy, unless it is a regression. With several losses, the
     * losses come first. */
    const struct metric *metrics;
    int metrics_count;
    bool keras2;
    /* Of a Sequential model, the type of its policy: half or bfloat16 of a mixed one, otherwise
     * float. Only the loss scale depends on it: each layer has a policy of its own. */
    enum dtype policy;
    struct layers_training training;
    const struct layers_body *body;    /* instead of layers; NULL: none */
    const struct json_value *flags;    /* the settings for training that are flags; NULL: none */
    const struct json_value *compiled; /* compile_config, merged with the flags; NULL: none */
    struct layer *layers;
    int layers_count;
    struct layer_call *calls; /* in topological order: each after the calls whose outputs it
                               * takes */
    int calls_count;
    /* [calls_count]: the calls in the order in which Keras runs them; NULL: as listed */
    int *turns;
    int calls_total;     /* including the calls of nested models */
    struct arena *arena; /* that it lives in */
};

/* Reads a learning rate schedule as Keras prints it: {"class_name", "config"}. INVALID_ARGUMENT:
 * not a schedule, or a parameter is neither a number nor a list of numbers. Owner: as for
 * layers_parse. */
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

/* The same. `compile_config`: an object as for layers_wrap, whose members replace those of the
 * description. `has_flags`: its members are flags, as in layers_body. */
struct status layers_parse_compiled(struct bytes json, struct bytes compile_config, bool has_flags,
                                    struct arena *arena, struct layers_model **out);

/* Sets the numbers of values in a row of the inputs, each [-1, widths[i]], of a model with
 * training.any_width. The description has the widths for other data than files of records.
 * Errors: as layers_parse. */
struct status layers_set_widths(struct layers_model *model, const int64_t *widths);

/* Makes the loss of an output take a share of each class as its labels, instead of class numbers:
 * any numbers in the shape of the output, as Keras' categorical losses do. `feed`: the name of the
 * labels, whose feed has takes_shares.
 * Errors  INVALID_ARGUMENT a metric of the output needs class numbers */
struct status layers_take_shares(struct layers_model *model, const char *feed);

/**
 * Makes a model of a body. `compile_config` says how to train it: the output of Keras'
 * get_compile_config(), or a part of it such as {"loss": "mse"}. The body outlives the model.
 *
 * Errors  as layers_parse and body->build
 */
struct status layers_wrap(const struct layers_body *body, struct bytes compile_config,
                          struct arena *arena, struct layers_model **out);

/* Appends the losses and metrics as a compile_config that layers_wrap reads: {"loss", "loss_weights",
 * "metrics", "weighted_metrics"}. Those of several outputs have the outputs' names. */
void layers_print_compiled(const struct layers_model *model, struct buffer *out);

/* The built-in description of that name ("softmax", "mlp", "convnet", …); .data is NULL if there
 * is none. layers_builtin_names returns "convnet, linear, logistic, mlp, …". */
struct bytes layers_builtin(const char *name);
const char *layers_builtin_names(void);

/* The name of a layer that takes the moments of the batches of all workers of a synchronous step
 * together: a BatchNormalization with `synchronized` that is trained. NULL: none. */
const char *layers_synchronized(const struct layers_model *model);

/* The statistics that a preprocessing layer computes from the training data before training:
 * Keras' adapt(). */
enum adapt_kind {
    ADAPT_MOMENTS,   /* Normalization: mean and variance */
    ADAPT_QUANTILES, /* Discretization: boundaries */
    ADAPT_TOKENS,    /* StringLookup, IntegerLookup: vocabulary, and idf weights */
};

/* The state of a layer. tensors[0]: float mean [kept axes], float boundaries [bins - 1], or the
 * vocabulary, string or int64 [n], without special tokens. tensors[1], of the same size: the
 * variances, or the inverse document frequencies. DT_INVALID: absent. */
struct layers_state {
    struct tensor tensors[2];
};

/* A layer that needs a state, and the value in the graph from which to compute it. */
struct layers_adapting {
    enum adapt_kind kind;
    const char *layer;
    struct endpoint values;
    bool kept[SHAPE_RANK_MAX]; /* MOMENTS: the axes with a mean for each index */
    int64_t bins;              /* QUANTILES */
    double epsilon;            /* QUANTILES: of ranks */
    int64_t tokens_max;        /* TOKENS; 0: all */
    bool idf, is_text;
    const struct json_value *mask, *oov; /* TOKENS: tokens to leave out; NULL: none */
};

/* Gives a layer its state, which is borrowed. The layer must exist (asserted). Call
 * layers_recheck once all layers have theirs. */
void layers_set_state(struct layers_model *model, const char *layer,
                      const struct layers_state *state);
/* Checks the model again: a state may decide the shape of a layer's output. */
struct status layers_recheck(struct layers_model *model);

struct layers_variable {
    const char *name; /* "dense/kernel": the VarHandleOp, its shared_name, and the checkpoint key */
    enum dtype dtype;
    struct shape shape;
    bool trainable;
    struct initializer initializer;
    struct constraint constraint; /* applied to its values after each update */
    struct endpoint value;        /* ReadVariableOp's output: a feed in TRAIN and EVAL */
    /* TRAIN and EVAL: only some rows are read; `value` is a placeholder for them, [-1, row…] */
    bool by_rows;
    /* TRAIN and EVAL: a hash table with these rules, [-1, row…], without an initializer */
    bool by_keys;
    struct row_keys_spec keys;
    bool has_seed; /* keys.seed is set */
    /* TRAIN: d loss / d value, in the shape of `value`; otherwise a null node */
    struct endpoint gradient;
    /* TRAIN: for a moving average, the target that each step moves it towards, and the momentum;
     * otherwise a null node */
    struct endpoint average;
    double momentum;
    /* TRAIN: if above 0, each step first divides the variable by its largest singular value, which
     * this many steps of power iteration find, beginning with the vector in the next variable.
     * `divided` are then the values that the layer uses, one for each of its calls. They have the
     * gradients, whose sum is that of the variable. */
    uint32_t power_iterations;
    struct endpoint *divided;
    int divided_count;
    struct endpoint vector;                    /* after the iterations so far */
    const struct regularizer *divided_penalty; /* of the last of them; NULL: none */
    const struct layer *layer;
};

struct layers_options {
    enum layers_mode mode;
    enum layers_reduction reduction;
    int64_t batch; /* rows of a step; 0: any number (a fixed number gives a cheaper graph) */
    bool weighted; /* each example's losses have a weight, which is a feed */
    bool metrics;  /* TRAIN: also build the metrics of EVAL */
    /* The gradients are those of the loss times this factor, which keeps small ones from
     * underflowing; 0: 1. */
    float loss_scale;
    bool feeds_loss_scale; /* TRAIN: the factor is a feed, layers_graph.loss_scale */
};

/* The row structure of a sparse or ragged input: int64 [values], [rows + 1]. */
struct input_lists {
    struct endpoint ids; /* SPARSE */
    struct endpoint row_splits;
    /* Instead of the above: a SparseTensor's indices [values, 2] and shape [2]. RAGGED: a row's
     * values are in its first columns */
    struct endpoint indices, sparse_shape;
};

/* An output in a graph. */
struct layers_head {
    struct endpoint output;
    struct endpoint mask;   /* bool [batch, steps]: false for padding; a null node: no padding */
    struct endpoint labels; /* see layers_target.labels; a null node: there are none */
    struct endpoint column; /* layers_target.column; a null node: none */
    /* The two sides that the loss and the metrics compare: the output and the labels. Without
     * labels: scores of the batch's rows, and int32 [batch], the column of the right one. Null
     * nodes as for `labels`. */
    struct endpoint predictions, truths;
    /* EVAL: int32 [batch]: how many of all candidates rank before the row's own
     * (metrics/ranking.h); a null node: no metric needs it */
    struct endpoint ranks;
};

struct layers_graph {
    struct graph *graph;
    struct endpoint *inputs;   /* [batch, …], one for each input of the model. SPARSE, RAGGED: the
                              * values */
    struct input_lists *lists; /* TRAIN, EVAL: beside `inputs`; null nodes: dense */
    struct layers_head *heads; /* one for each output of the model */
    struct endpoint weights;   /* float [batch], of the examples; a null node unless weighted */
    /* int64 [2]: the seed of dropout, different for each step (such as a seed and the batch
     * number); a null node if nothing is random */
    struct endpoint random_seed;
    struct endpoint loss_scale;        /* a float; a null node unless it is a feed */
    struct endpoint loss;              /* scalar, including regularizers; a null node in SERVE */
    struct endpoint *metrics;          /* EVAL: the totals of each metric; otherwise NULL */
    struct layers_variable *variables; /* in order of the layers */
    int variables_count;
    struct node **tables; /* nodes that fill the vocabulary tables */
    int tables_count;
    struct node *init; /* TRAIN and EVAL: fills all tables; NULL: none */
    /* Calls of layers that have no state yet. Their outputs are meaningless. */
    struct layers_adapting *adapting;
    int adapting_count;
    struct row_lookup *lookups; /* TRAIN and EVAL: where variables are read by rows */
    int lookups_count;
    struct candidate_ends candidates; /* EVAL: null nodes if no metric ranks all candidates */
};

/**
 * Builds the graph of one mode. TRAIN holds the gradient of the loss for each variable that a path
 * leads to.
 *
 * Owner   out lives in `arena`; call graph_finish(out->graph) at the end
 * Errors  INVALID_ARGUMENT a shape that does not fit; FAILED_PRECONDITION TRAIN or EVAL of a model
 *         with several outputs and no loss
 */
struct status layers_build(const struct layers_model *model, const struct layers_options *options,
                           struct arena *arena, struct layers_graph *out);

/* For requests that carry raw values: the graph normalises each as the training data were,
 * (value - mean) / stddev, in doubles. */
struct layers_scale {
    const double *mean, *stddev; /* [values in a row], or one number if the row size is
                                 * open; NULL: the input is not scaled */
};

/* The raw columns that make up an input, side by side. */
struct layers_columns {
    const struct raw_column *list;
    int count;
};

struct layers_serving_options {
    const struct bytes *classes;       /* the class names that `classify` returns; NULL: "0",
                                        * "1", … */
    int classes_count;                 /* as many as the output has columns, or 2 for one column */
    const struct layers_scale *scales; /* [inputs_count]; NULL: for none */
    /* [inputs_count], instead of scales: requests carry these columns by name. NULL: they carry
     * the inputs */
    const struct layers_columns *columns;
};

struct layers_serving {
    struct graph *graph;
    struct signature *signatures; /* in the form that savedmodel_write takes */
    int signatures_count;
    const char *init_op; /* the node that fills the tables, or NULL */
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

/* Does the predict signature have the name "predict_images" and the single input "images", as
 * for a classifier of tensors? Otherwise it is "predict", with the names of the inputs or
 * columns. */
bool layers_takes_only_input(const struct layers_model *model,
                             const struct layers_serving_options *options);

/* The inputs of a predict request: the model's inputs, or the columns if the options name them,
 * each once. Returns their number. */
int layers_request_inputs(const struct layers_model *model,
                          const struct layers_serving_options *options, struct arena *arena,
                          const struct layers_port **out);

/* Checks that the parts of a request have different names. INVALID_ARGUMENT names two that do
 * not. */
struct status layers_check_requests(const struct layers_model *model,
                                    const struct layers_serving_options *options,
                                    struct arena *arena);

/* The preparation by an exported graph of the input that is this tensor, such as "x:0". */
enum raw_values layers_input_raw(const struct graph *graph, const char *tensor);

struct layers_training_options {
    enum layers_reduction reduction; /* of a step's loss */
    int64_t batch;                   /* rows of a step; 0: any number */
    /* A step is also fed "sample_weight", float [batch], by which each row's loss is multiplied
     * before the reduction. A mean is still over the number of rows, as in Keras. */
    bool weighted;
    bool evaluation_weighted; /* the same for evaluation, with its weighted metrics */
    float loss_scale;         /* of the gradients, see struct layers_options */
    bool feeds_loss_scale;    /* the same */
    bool metrics;             /* a step also computes the metrics of its batch */
};

/**
 * Builds the graphs of a training job: TRAIN, EVAL and the recipe of the export. The feeds are "x",
 * or the names of several inputs; "labels", or the names of several outputs that have a loss; the
 * columns that losses read; and "sample_weight". The model outlives *out.
 *
 * Owner   out lives in `arena`; training_graph_finish
 * Errors  those of layers_build; INVALID_ARGUMENT two feeds of the same name
 */
struct status layers_training_graph(const struct layers_model *model,
                                    const struct layers_training_options *options,
                                    struct arena *arena, struct training_graph *out);

/* Makes only the export recipe, in `arena`. options NULL: the defaults. */
const struct export_recipe *layers_export_recipe(const struct layers_model *model,
                                                 const struct layers_serving_options *options,
                                                 struct arena *arena);

#endif
