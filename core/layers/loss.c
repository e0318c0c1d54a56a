/* loss: Keras' losses by name, each emitted as nodes. Source: keras/src/losses/losses.py. A
 * softmax before a cross-entropy and a sigmoid before a binary one are taken off, as Keras does:
 * one op computes the loss from the logits, and takes no logarithm of a probability that has
 * become 0. */
#include "layers/loss.h"

#include <assert.h>

/* The loss that is being built. */
struct loss_context {
    struct builder *builder;
    const struct loss *loss;
    struct endpoint output, labels;
};

struct loss_class {
    const char *name;  /* of Keras' function; its class is the same in camel case */
    const char *alias; /* another name, or NULL */
    enum layers_labels labels;
    enum layers_kind kind; /* LAYERS_BINARY only if the model has one output */
    bool by_output; /* `build` gives a value for each output: the loss of an example is their mean.
                       Otherwise it gives the loss of each example. */
    bool probabilities; /* without from_logits, the outputs are probabilities */
    struct endpoint (*build)(struct loss_context *c);
    const struct layer_arg *args;
    int args_count;
};

static const char *const loss_keys[] = { "name", "reduction", "dtype", "fn", "axis", NULL };

static struct arg_list args_of(const struct loss_class *class)
{
    return (struct arg_list){ class->args, class->args_count, loss_keys };
}

static const struct arg_value *find_option(const struct loss *loss, const char *name)
{
    const struct arg_list list = args_of(loss->class);

    return args_find(&list, loss->args, name);
}

static double option_number(const struct loss_context *c, const char *name)
{
    return find_option(c->loss, name)->number;
}

/* ---- formulas ---- */

static struct endpoint binary(struct loss_context *c, const char *op, struct endpoint x,
                              struct endpoint y)
{
    return build_binary(c->builder, op, NULL, x, y);
}

/* x op number, the number as a scalar that broadcasts. */
static struct endpoint by_number(struct loss_context *c, const char *op, struct endpoint x,
                                 double number)
{
    return binary(c, op, x, build_const_float(c->builder, NULL, (float)number));
}

/* The input of the activation that the output ends with; with from_logits, the output. A null
 * node: the output ends with another op. */
static struct endpoint find_logits(const struct loss *loss, struct endpoint output,
                                   const char *activation)
{
    if (output.node != NULL && strcmp(output.node->op_name, activation) == 0)
        return output.node->inputs[0];
    return loss_from_logits(loss) ? output : (struct endpoint){ 0 };
}

static const struct layer_arg sparse_categorical_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "ignore_class", ARG_NONE, "null" },
};

static struct endpoint sparse_categorical_crossentropy(struct loss_context *c)
{
    const struct endpoint inputs[] = { find_logits(c->loss, c->output, "Softmax"), c->labels };

    return build(c->builder, "SparseSoftmaxCrossEntropyWithLogits", "cross_entropy", 2, inputs,
                 NULL);
}

static const struct layer_arg categorical_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "label_smoothing", ARG_NUMBER, "0" },
};

/* The labels as probabilities: 1 - smoothing for the class, and `smoothing` shared by all. */
static struct endpoint smooth_classes(struct loss_context *c, double smoothing)
{
    int64_t classes = endpoint_shape(c->output)->dims[1];
    const double share = smoothing / (double)classes;
    const struct endpoint inputs[] = {
        c->labels,
        build_const_int(c->builder, NULL, (int32_t)classes),
        build_const_float(c->builder, NULL, (float)(1 - smoothing + share)),
        build_const_float(c->builder, NULL, (float)share),
    };

    return build(c->builder, "OneHot", NULL, 4, inputs, NULL);
}

static struct endpoint categorical_crossentropy(struct loss_context *c)
{
    double smoothing = option_number(c, "label_smoothing");

    if (smoothing == 0)
        return sparse_categorical_crossentropy(c);
    const struct endpoint inputs[] = { find_logits(c->loss, c->output, "Softmax"),
                                       smooth_classes(c, smoothing) };
    return build(c->builder, "SoftmaxCrossEntropyWithLogits", "cross_entropy", 2, inputs, NULL);
}

static const struct layer_arg binary_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "label_smoothing", ARG_NUMBER, "0" },
};

/* Moves labels of 0 and 1 towards 1/2. */
static struct endpoint smooth_binary(struct loss_context *c)
{
    double smoothing = option_number(c, "label_smoothing");

    if (smoothing == 0)
        return c->labels;
    return by_number(c, "AddV2", by_number(c, "Mul", c->labels, 1 - smoothing), smoothing / 2);
}

/* z softplus(-x) + (1 - z) softplus(x), without rounding near 0 for confident right answers, and
 * with the gradient sigmoid(x) - z everywhere, also at 0, where training often begins. */
static struct endpoint sigmoid_cross_entropy(struct loss_context *c, struct endpoint logits,
                                             struct endpoint labels)
{
    struct builder *b = c->builder;
    struct endpoint one = build_const_float(b, NULL, 1);
    struct endpoint minus = build_unary(b, "Neg", NULL, logits);
    struct endpoint of_ones = binary(c, "Mul", labels, build_unary(b, "Softplus", NULL, minus));
    struct endpoint of_zeros =
        binary(c, "Mul", binary(c, "Sub", one, labels), build_unary(b, "Softplus", NULL, logits));

    return binary(c, "AddV2", of_ones, of_zeros);
}

static struct endpoint binary_crossentropy(struct loss_context *c)
{
    return sigmoid_cross_entropy(c, find_logits(c->loss, c->output, "Sigmoid"), smooth_binary(c));
}

static struct endpoint mean_squared_error(struct loss_context *c)
{
    return binary(c, "SquaredDifference", c->output, c->labels);
}

#define ARGS(args) args, COUNT(args)

static const struct loss_class rows[] = {
    { "mean_squared_error", "mse", LAYERS_VALUES, LAYERS_REGRESSION, true, false,
      mean_squared_error, NULL, 0 },
    { "sparse_categorical_crossentropy", NULL, LAYERS_CLASSES, LAYERS_CLASSIFIER, false, true,
      sparse_categorical_crossentropy, ARGS(sparse_categorical_args) },
    { "categorical_crossentropy", NULL, LAYERS_CLASSES, LAYERS_CLASSIFIER, false, true,
      categorical_crossentropy, ARGS(categorical_args) },
    { "binary_crossentropy", "bce", LAYERS_VALUES, LAYERS_BINARY, true, true, binary_crossentropy,
      ARGS(binary_args) },
};

static const struct loss_class *find_class(const char *name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (same_name(name, rows[i].name) ||
            (rows[i].alias != NULL && same_name(name, rows[i].alias)))
            return &rows[i];
    return NULL;
}

struct loss loss_default(struct endpoint output, struct arena *arena)
{
    bool softmax = output.node != NULL && strcmp(output.node->op_name, "Softmax") == 0;
    struct loss out = { .class = find_class(softmax ? "sparse_categorical_crossentropy"
                                                    : "mean_squared_error") };
    const struct arg_list list = args_of(out.class);

    struct status status = args_read(&list, NULL, arena, &out.args);
    assert(status_is_ok(status));
    (void)status;
    return out;
}

const char *loss_name(const struct loss *loss)
{
    return loss->class->name;
}

enum layers_labels loss_labels(const struct loss *loss)
{
    return loss->class->labels;
}

enum layers_kind loss_kind(const struct loss *loss, const struct shape *output)
{
    bool single = output->rank == 2 && output->dims[1] == 1;

    return loss->class->kind == LAYERS_BINARY && !single ? LAYERS_REGRESSION : loss->class->kind;
}

bool loss_from_logits(const struct loss *loss)
{
    const struct arg_value *option = find_option(loss, "from_logits");

    return option != NULL && option->boolean;
}

/* ---- reading ---- */

static struct status unknown_loss(const struct json_value *value, struct arena *arena)
{
    struct buffer known = { 0 };

    for (size_t i = 0; i < COUNT(rows); i++)
        buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", rows[i].name);
    struct status status = status_error(STATUS_INVALID_ARGUMENT, "loss is %s; known: %.*s",
                                        json_value_show(value, arena), (int)known.size, known.data);
    buffer_finish(&known);
    return status;
}

static struct status check_axis(const struct json_value *config, struct arena *arena)
{
    const struct json_value *axis = json_value_get(config, "axis");
    double number;

    if (json_value_is_null(axis) || (json_value_number(axis, &number) && number == -1))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "'axis' is %s; only -1 is implemented",
                        json_value_show(axis, arena));
}

static struct status check_smoothing(const struct loss *loss)
{
    const struct arg_value *smoothing = find_option(loss, "label_smoothing");

    if (smoothing == NULL || (smoothing->number >= 0 && smoothing->number <= 1))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'label_smoothing': got %g, expected 0 <= label_smoothing <= 1",
                        smoothing->number);
}

static struct status read_config(const struct json_value *config, struct arena *arena,
                                 struct loss *out, const char **reduction)
{
    const struct arg_list list = args_of(out->class);

    TRY(check_axis(config, arena));
    TRY(args_read(&list, config, arena, &out->args));
    *reduction = json_value_get_text(config, "reduction");
    return check_smoothing(out);
}

struct status loss_read(const struct json_value *value, struct arena *arena, struct loss *out,
                        const char **reduction)
{
    const struct json_value *config;
    const char *name = named_object(value, &config);

    *out = (struct loss){ 0 };
    *reduction = NULL;
    if (json_value_is_null(value))
        return status_ok();
    out->class = name != NULL ? find_class(name) : NULL;
    if (out->class == NULL)
        return unknown_loss(value, arena);
    return status_in(read_config(config, arena, out, reduction), "loss '%s'", name);
}

struct status loss_check(const struct loss *loss, struct endpoint output)
{
    const struct shape *shape = endpoint_shape(output);
    bool classifies = loss->class->kind == LAYERS_CLASSIFIER;
    const char *activation = classifies ? "Softmax" : "Sigmoid";

    if (loss->class->probabilities && find_logits(loss, output, activation).node == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%scross-entropy needs an output that ends in %s, or from_logits",
                            classifies ? "" : "binary ", classifies ? "softmax" : "sigmoid");
    if (classifies && shape->rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "cross-entropy needs an output [batch, classes]; it has shape %s",
                            shape_text(shape));
    return status_ok();
}

/* ---- building ---- */

static struct endpoint reduce(struct builder *b, const char *op, const char *name,
                              struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    int rank = endpoint_shape(x)->rank;

    return build_binary(b, op, name, x, build_const_ints(b, NULL, rank > 0 ? rank : 0, axes));
}

/* The number of right answers; a null node for a regression. */
static struct endpoint count_right(struct loss_context *c, enum layers_kind kind)
{
    struct builder *b = c->builder;
    struct endpoint right;

    if (kind == LAYERS_REGRESSION)
        return (struct endpoint){ 0 };
    if (kind == LAYERS_CLASSIFIER) {
        const struct endpoint inputs[] = { c->output, build_const_int(b, "axis", -1) };
        struct endpoint best =
            build(b, "ArgMax", "answer", 2, inputs,
                  (const struct attr[]){ attr_type("output_type", DT_INT32), ATTR_END });
        right = build_binary(b, "Equal", "right", best, c->labels);
    } else {
        double border = loss_from_logits(c->loss) ? 0 : 0.5;
        right = binary(c, "Equal", by_number(c, "Greater", c->output, border),
                       by_number(c, "Greater", c->labels, 0.5));
    }
    struct endpoint ones = build(b, "Cast", "ones", 1, &right,
                                 (const struct attr[]){ attr_type("DstT", DT_INT32), ATTR_END });
    return reduce(b, "Sum", "correct", ones);
}

/* One number for all losses of the batch. */
static struct endpoint reduce_losses(struct loss_context *c, enum layers_reduction reduction,
                                     struct endpoint losses)
{
    const struct shape *shape = endpoint_shape(losses);
    int64_t outputs = c->loss->class->by_output ? shape->dims[shape->rank - 1] : 1;

    if (reduction == LAYERS_MEAN)
        return reduce(c->builder, "Mean", "reduced", losses);
    struct endpoint sum = reduce(c->builder, "Sum", "reduced", losses);
    return outputs == 1 ? sum : by_number(c, "Mul", sum, 1 / (double)outputs);
}

static struct endpoint place_labels(struct loss_context *c)
{
    const struct shape *output = endpoint_shape(c->output);

    if (c->loss->class->labels == LAYERS_CLASSES)
        return build_placeholder(c->builder, "labels", DT_INT32, shape_of(output->dims[0]));
    return build_placeholder(c->builder, "labels", DT_FLOAT, *output);
}

void loss_build(struct layer_context *context, const struct loss *loss,
                enum layers_reduction reduction)
{
    struct builder *b = &context->builder;
    struct layers_graph *out = context->out;
    struct layers_head *head = &out->heads[0];
    struct loss_context c = { b, loss, head->output, { 0 } };

    if (!status_is_ok(b->status))
        return;
    head->labels = c.labels = place_labels(&c);
    b->scope = "loss/";
    out->loss = reduce_losses(&c, reduction, loss->class->build(&c));
    if (context->penalty.node != NULL)
        out->loss = build_binary(b, "AddV2", "total", out->loss, context->penalty);
    b->scope = "metrics/";
    if (context->mode == LAYERS_EVAL)
        head->correct = count_right(&c, loss_kind(loss, endpoint_shape(head->output)));
    b->scope = "";
}
