/* formulas: the table of losses. Source of the formulas: keras/src/losses/losses.py. As in
 * Keras, a softmax before a cross-entropy and a sigmoid before a binary one are skipped: one op
 * computes the loss from the logits, which avoids the logarithm of a probability that
 * underflowed to 0. */
#include "layers/losses/loss_class.h"
#include "layers/losses/retrieval.h"

#define EPSILON 1e-7 /* Keras' */

static double option_number(const struct loss_context *c, const char *name)
{
    return loss_option(c->loss, name)->number;
}

/* ---- formulas ---- */

static struct endpoint binary(struct loss_context *c, const char *op, struct endpoint x,
                              struct endpoint y)
{
    return build_binary(c->builder, op, NULL, x, y);
}

/* x op number, with the number as a broadcast scalar. */
static struct endpoint by_number(struct loss_context *c, const char *op, struct endpoint x,
                                 double number)
{
    return binary(c, op, x, build_const_float(c->builder, (float)number));
}

struct endpoint loss_reduce(struct builder *b, const char *op, const char *name, struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    int rank = endpoint_shape(x)->rank;

    return build_binary(b, op, name, x, build_const_ints(b, NULL, rank > 0 ? rank : 0, axes));
}

static struct endpoint unary(struct loss_context *c, const char *op, struct endpoint x)
{
    return build_unary(c->builder, op, NULL, x);
}

static struct endpoint one_minus(struct loss_context *c, struct endpoint x)
{
    return binary(c, "Sub", build_const_float(c->builder, 1), x);
}

/* Between EPSILON and `high`. */
static struct endpoint clip(struct loss_context *c, struct endpoint x, double high)
{
    const struct endpoint inputs[] = { x, build_const_float(c->builder, (float)EPSILON),
                                       build_const_float(c->builder, (float)high) };

    return build(c->builder, "ClipByValue", NULL, 3, inputs, NULL);
}

/* Reduces the last dimension; `keep`: keeps it as 1. */
static struct endpoint over_outputs(struct loss_context *c, const char *op, struct endpoint x,
                                    bool keep)
{
    const struct endpoint inputs[] = { x, build_const_int(c->builder, -1) };

    return build(c->builder, op, NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", keep), ATTR_END });
}

/* The input of the softmax or sigmoid that the output ends with; with from_logits, the output. A
 * null node: the output ends with another op. (Like Keras, does not distinguish the two.) */
static struct endpoint find_logits(const struct loss *loss, struct endpoint output)
{
    const char *op = output.node != NULL ? output.node->op_name : "";

    if (strcmp(op, "Softmax") == 0 || strcmp(op, "Sigmoid") == 0)
        return output.node->inputs[0];
    return loss_from_logits(loss) ? output : (struct endpoint){ 0 };
}

/* ---- one of several classes ---- */

static int64_t classes_count(const struct loss_context *c)
{
    const struct shape *output = endpoint_shape(c->output);

    return output->dims[output->rank - 1];
}

/* A number for each class: `yes` for the example's class, `no` for the others. */
static struct endpoint spread_classes(struct loss_context *c, double yes, double no)
{
    const struct endpoint inputs[] = {
        c->classes,
        build_const_int(c->builder, (int32_t)classes_count(c)),
        build_const_float(c->builder, (float)yes),
        build_const_float(c->builder, (float)no),
    };

    return build(c->builder, "OneHot", NULL, 4, inputs, NULL);
}

/* The labels as probabilities, with label_smoothing spread over all classes. */
static struct endpoint categorical_labels(struct loss_context *c)
{
    const struct arg_value *option = loss_option(c->loss, "label_smoothing");
    double smoothing = option != NULL ? option->number : 0;
    double share = smoothing / (double)classes_count(c);

    if (c->classes.node != NULL)
        return spread_classes(c, 1 - smoothing + share, share);
    if (smoothing == 0)
        return c->labels;
    return by_number(c, "AddV2", by_number(c, "Mul", c->labels, 1 - smoothing), share);
}

static const struct layer_arg sparse_categorical_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "ignore_class", ARG_NULL_OR_INT, "null" },
};

static struct endpoint select(struct loss_context *c, struct endpoint where, struct endpoint x,
                              struct endpoint y)
{
    return build_select(c->builder, where, x, y);
}

/* Flattens the steps into rows: [batch, steps…, classes] becomes [batch · steps, classes], and
 * class numbers become [batch · steps]. */
static struct endpoint steps_as_rows(struct loss_context *c, struct endpoint x, bool numbers)
{
    const int32_t dims[] = { -1, (int32_t)classes_count(c) };

    return binary(c, "Reshape", x, build_const_ints(c->builder, NULL, numbers ? 1 : 2, dims));
}

/* Applies an op on logits [rows, classes] and labels: class numbers, or a number for each class. */
static struct endpoint cross_entropy(struct loss_context *c, const char *op, struct endpoint logits,
                                     struct endpoint labels)
{
    int rank = endpoint_shape(logits)->rank;
    bool numbers = endpoint_dtype(labels) == DT_INT32;
    const struct endpoint plain[] = { logits, labels };

    if (rank == 2)
        return build(c->builder, op, "cross_entropy", 2, plain, NULL);
    const struct endpoint rows[] = { steps_as_rows(c, logits, false),
                                     steps_as_rows(c, labels, numbers) };
    struct endpoint losses = build(c->builder, op, "cross_entropy", 2, rows, NULL);
    struct endpoint dims = unary(c, "Shape", logits);
    const int32_t first[] = { 0 }, count[] = { rank - 1 };
    return binary(c, "Reshape", losses, build_slice(c->builder, NULL, dims, 1, first, count));
}

static struct endpoint sparse_cross_entropy(struct loss_context *c, struct endpoint logits,
                                            struct endpoint classes)
{
    return cross_entropy(c, "SparseSoftmaxCrossEntropyWithLogits", logits, classes);
}

/* Steps of the ignored class get class 0 and outputs of 0, whatever the model computed, and
 * their losses do not count. Like Keras, does not skip the softmax in this case. */
static struct endpoint cross_entropy_of_others(struct loss_context *c, int64_t ignored)
{
    struct builder *b = c->builder;
    struct endpoint zero = build_const_int(b, 0);

    c->counted = binary(c, "NotEqual", c->classes, build_const_int(b, (int32_t)ignored));
    struct endpoint row = build_expand_dims(c->builder, c->counted, -1);
    struct endpoint y = select(c, row, c->output, build_const_float(b, 0));
    if (!loss_from_logits(c->loss))
        y = unary(c, "Log", clip(c, y, 1 - EPSILON));
    struct endpoint losses = sparse_cross_entropy(c, y, select(c, c->counted, c->classes, zero));
    return select(c, c->counted, losses, build_const_float(b, 0));
}

static struct endpoint sparse_categorical_crossentropy(struct loss_context *c)
{
    const int64_t *ignored = loss_ignored_class(c->loss);
    struct endpoint logits = find_logits(c->loss, c->output);

    if (ignored != NULL)
        return cross_entropy_of_others(c, *ignored);
    if (logits.node == NULL)
        logits = unary(c, "Log", clip(c, c->output, 1 - EPSILON));
    return sparse_cross_entropy(c, logits, c->classes);
}

static const struct layer_arg categorical_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "label_smoothing", ARG_NUMBER, "0" },
};

/* -z log p for each class, with p scaled to a sum of 1 and clipped; returns p in *p. */
static struct endpoint categorical_surprise(struct loss_context *c, struct endpoint *p)
{
    struct endpoint sum = over_outputs(c, "Sum", *p, true);

    *p = clip(c, binary(c, "RealDiv", *p, sum), 1 - EPSILON);
    return binary(c, "Mul", unary(c, "Neg", categorical_labels(c)), unary(c, "Log", *p));
}

static struct endpoint categorical_crossentropy(struct loss_context *c)
{
    struct endpoint logits = find_logits(c->loss, c->output), p = c->output;

    if (logits.node == NULL)
        return over_outputs(c, "Sum", categorical_surprise(c, &p), false);
    if (c->classes.node != NULL && option_number(c, "label_smoothing") == 0)
        return sparse_categorical_crossentropy(c);
    return cross_entropy(c, "SoftmaxCrossEntropyWithLogits", logits, categorical_labels(c));
}

static const struct layer_arg categorical_focal_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "label_smoothing", ARG_NUMBER, "0" },
    { "alpha", ARG_NUMBER, "0.25" },
    { "gamma", ARG_NUMBER, "2" },
};

/* α (1 - p)^γ times the cross-entropy. Keras does not compute it from logits. */
static struct endpoint categorical_focal_crossentropy(struct loss_context *c)
{
    struct endpoint p = loss_from_logits(c->loss) ? unary(c, "Softmax", c->output) : c->output;
    struct endpoint losses = categorical_surprise(c, &p);
    struct endpoint factor = by_number(c, "Pow", one_minus(c, p), option_number(c, "gamma"));

    factor = by_number(c, "Mul", factor, option_number(c, "alpha"));
    return over_outputs(c, "Sum", binary(c, "Mul", factor, losses), false);
}

static const struct layer_arg generalized_args[] = {
    { "q", ARG_NUMBER, "0.5" },
};

/* (1 - p^q) / q, with p the probability of the class; robust against wrong labels. */
static struct endpoint categorical_generalized_cross_entropy(struct loss_context *c)
{
    double q = option_number(c, "q");
    struct endpoint mine = binary(c, "Mul", c->output, spread_classes(c, 1, 0));
    struct endpoint p = over_outputs(c, "Sum", mine, false);

    return by_number(c, "RealDiv", one_minus(c, by_number(c, "Pow", p, q)), q);
}

/* max(0, 1 + the largest output of another class - the output of the class). */
static struct endpoint categorical_hinge(struct loss_context *c)
{
    struct endpoint labels = categorical_labels(c);
    struct endpoint others = binary(c, "Mul", one_minus(c, labels), c->output);
    struct endpoint positive = over_outputs(c, "Sum", binary(c, "Mul", labels, c->output), false);
    struct endpoint margin = binary(c, "Sub", over_outputs(c, "Max", others, false), positive);

    return by_number(c, "Maximum", by_number(c, "AddV2", margin, 1), 0);
}

/* ---- yes or no, for each output ---- */

static const struct layer_arg binary_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "label_smoothing", ARG_NUMBER, "0" },
};

/* Smooths labels of 0 and 1 towards 1/2. */
static struct endpoint binary_labels(struct loss_context *c)
{
    double smoothing = option_number(c, "label_smoothing");

    if (smoothing == 0)
        return c->labels;
    return by_number(c, "AddV2", by_number(c, "Mul", c->labels, 1 - smoothing), smoothing / 2);
}

/* z a + (1 - z) b */
static struct endpoint choose(struct loss_context *c, struct endpoint z, struct endpoint a,
                              struct endpoint b)
{
    return binary(c, "AddV2", binary(c, "Mul", z, a), binary(c, "Mul", one_minus(c, z), b));
}

/* z softplus(-x) + (1 - z) softplus(x). Avoids rounding near 0 for confident correct answers,
 * and its gradient is sigmoid(x) - z everywhere, including at 0, where training often starts. */
static struct endpoint sigmoid_cross_entropy(struct loss_context *c, struct endpoint logits,
                                             struct endpoint labels)
{
    return choose(c, labels, unary(c, "Softplus", unary(c, "Neg", logits)),
                  unary(c, "Softplus", logits));
}

/* -(z log p + (1 - z) log(1 - p)), with p clipped. Keras 2 also adds EPSILON to p and to 1 - p. */
static struct endpoint probability_cross_entropy(struct loss_context *c, struct endpoint labels)
{
    struct endpoint p = clip(c, c->output, 1 - EPSILON), q = one_minus(c, p);

    if (c->keras2) {
        p = by_number(c, "AddV2", p, EPSILON);
        q = by_number(c, "AddV2", q, EPSILON);
    }
    return unary(c, "Neg", choose(c, labels, unary(c, "Log", p), unary(c, "Log", q)));
}

static struct endpoint binary_crossentropy(struct loss_context *c)
{
    struct endpoint logits = find_logits(c->loss, c->output);

    return logits.node != NULL ? sigmoid_cross_entropy(c, logits, binary_labels(c))
                               : probability_cross_entropy(c, binary_labels(c));
}

static const struct layer_arg binary_focal_args[] = {
    { "from_logits", ARG_BOOL, "false" },
    { "label_smoothing", ARG_NUMBER, "0" },
    { "apply_class_balancing", ARG_BOOL, "false" },
    { "alpha", ARG_NUMBER, "0.25" },
    { "gamma", ARG_NUMBER, "2" },
};

/* (1 - the probability of the label)^γ times the cross-entropy. */
static struct endpoint binary_focal_crossentropy(struct loss_context *c)
{
    struct endpoint p = loss_from_logits(c->loss) ? unary(c, "Sigmoid", c->output) : c->output;
    struct endpoint labels = binary_labels(c), losses = binary_crossentropy(c);
    struct endpoint right = choose(c, labels, p, one_minus(c, p));
    struct endpoint factor = by_number(c, "Pow", one_minus(c, right), option_number(c, "gamma"));
    double alpha = option_number(c, "alpha");

    losses = binary(c, "Mul", factor, losses);
    if (!loss_option(c->loss, "apply_class_balancing")->boolean)
        return losses;
    struct endpoint weight = choose(c, labels, build_const_float(c->builder, (float)alpha),
                                    build_const_float(c->builder, (float)(1 - alpha)));
    return binary(c, "Mul", weight, losses);
}

/* Labels of -1 and 1. If all labels of the batch are 0 or 1, Keras maps 0 to -1. */
static struct endpoint hinge_labels(struct loss_context *c)
{
    struct builder *b = c->builder;
    struct endpoint zeros_and_ones = binary(c, "LogicalOr", by_number(c, "Equal", c->labels, 0),
                                            by_number(c, "Equal", c->labels, 1));
    struct endpoint doubled = by_number(c, "Sub", by_number(c, "Mul", c->labels, 2), 1);

    return select(c, loss_reduce(b, "All", NULL, zeros_and_ones), doubled, c->labels);
}

static struct endpoint hinge(struct loss_context *c)
{
    struct endpoint agreement = binary(c, "Mul", hinge_labels(c), c->output);

    return by_number(c, "Maximum", one_minus(c, agreement), 0);
}

static struct endpoint squared_hinge(struct loss_context *c)
{
    return unary(c, "Square", hinge(c));
}

/* ---- numbers ---- */

static struct endpoint mean_squared_error(struct loss_context *c)
{
    return binary(c, "SquaredDifference", c->output, c->labels);
}

static struct endpoint mean_absolute_error(struct loss_context *c)
{
    return unary(c, "Abs", binary(c, "Sub", c->labels, c->output));
}

static struct endpoint mean_absolute_percentage_error(struct loss_context *c)
{
    struct endpoint size = by_number(c, "Maximum", unary(c, "Abs", c->labels), EPSILON);
    struct endpoint share = binary(c, "RealDiv", binary(c, "Sub", c->labels, c->output), size);

    return by_number(c, "Mul", unary(c, "Abs", share), 100);
}

static struct endpoint log_of_positive(struct loss_context *c, struct endpoint x)
{
    return unary(c, "Log", by_number(c, "AddV2", by_number(c, "Maximum", x, EPSILON), 1));
}

static struct endpoint mean_squared_logarithmic_error(struct loss_context *c)
{
    return binary(c, "SquaredDifference", log_of_positive(c, c->output),
                  log_of_positive(c, c->labels));
}

static const struct layer_arg huber_args[] = {
    { "delta", ARG_NUMBER, "1" },
};

/* e²/2 up to δ, then δ |e| - δ²/2. */
static struct endpoint huber(struct loss_context *c)
{
    double delta = option_number(c, "delta");
    struct endpoint error = binary(c, "Sub", c->output, c->labels);
    struct endpoint size = unary(c, "Abs", error);

    return select(c, by_number(c, "LessEqual", size, delta),
                  by_number(c, "Mul", unary(c, "Square", error), 0.5),
                  by_number(c, "Sub", by_number(c, "Mul", size, delta), delta * delta / 2));
}

/* log cosh e = e + softplus(-2 e) - log 2 */
static struct endpoint log_cosh(struct loss_context *c)
{
    struct endpoint error = binary(c, "Sub", c->output, c->labels);
    struct endpoint softplus = unary(c, "Softplus", by_number(c, "Mul", error, -2));

    return by_number(c, "Sub", binary(c, "AddV2", error, softplus), 0.693147180559945);
}

static struct endpoint poisson(struct loss_context *c)
{
    struct endpoint log = unary(c, "Log", by_number(c, "AddV2", c->output, EPSILON));

    return binary(c, "Sub", c->output, binary(c, "Mul", c->labels, log));
}

static struct endpoint kl_divergence(struct loss_context *c)
{
    struct endpoint labels = clip(c, c->labels, 1), p = clip(c, c->output, 1);
    struct endpoint log = unary(c, "Log", binary(c, "RealDiv", labels, p));

    return over_outputs(c, "Sum", binary(c, "Mul", labels, log), false);
}

/* x / |x|; Keras 3 and Keras 2 have different limits near 0. */
static struct endpoint unit_vector(struct loss_context *c, struct endpoint x)
{
    struct endpoint squares = over_outputs(c, "Sum", unary(c, "Square", x), true);

    if (c->keras2)
        return binary(c, "Mul", x, unary(c, "Rsqrt", by_number(c, "Maximum", squares, 1e-12)));
    return binary(c, "Mul", x, by_number(c, "Minimum", unary(c, "Rsqrt", squares), 1 / EPSILON));
}

static struct endpoint cosine_similarity(struct loss_context *c)
{
    struct endpoint labels = unit_vector(c, c->labels), output = unit_vector(c, c->output);

    return unary(c, "Neg", over_outputs(c, "Sum", binary(c, "Mul", labels, output), false));
}

/* Σ x over each example: [batch]. */
static struct endpoint total_of_examples(struct loss_context *c, struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    int rank = endpoint_shape(c->output)->rank;

    return binary(c, "Sum", x, build_const_ints(c->builder, NULL, rank - 1, axes));
}

/* Without the option "axis", a loss of the whole batch; otherwise one for each example. */
static bool is_of_batch(const struct loss_context *c)
{
    return loss_option(c->loss, "axis")->is_null;
}

static struct endpoint total(struct loss_context *c, struct endpoint x)
{
    return is_of_batch(c) ? loss_reduce(c->builder, "Sum", NULL, x) : total_of_examples(c, x);
}

/* Repeats a loss of the whole batch for each of its examples. */
static struct endpoint for_each_example(struct loss_context *c, struct endpoint loss)
{
    if (!is_of_batch(c))
        return loss;
    return binary(c, "AddV2", total_of_examples(c, unary(c, "ZerosLike", c->output)), loss);
}

static const struct layer_arg dice_args[] = {
    { "axis", ARG_NULL_OR_VALUE, "null" },
};

/* 1 - 2 Σ z p / (Σ z + Σ p) */
static struct endpoint dice(struct loss_context *c)
{
    struct endpoint both = total(c, binary(c, "Mul", c->labels, c->output));
    struct endpoint sums = binary(c, "AddV2", total(c, c->labels), total(c, c->output));
    struct endpoint share =
        binary(c, "RealDiv", by_number(c, "Mul", both, 2), by_number(c, "AddV2", sums, EPSILON));

    return for_each_example(c, one_minus(c, share));
}

static const struct layer_arg tversky_args[] = {
    { "alpha", ARG_NUMBER, "0.5" },
    { "beta", ARG_NUMBER, "0.5" },
    { "axis", ARG_NULL_OR_VALUE, "null" },
};

/* 1 - Σ z p / (Σ z p + α Σ z (1 - p) + β Σ (1 - z) p), with Keras' α and β. */
static struct endpoint tversky(struct loss_context *c)
{
    struct endpoint both = total(c, binary(c, "Mul", c->labels, c->output));
    struct endpoint wrong = total(c, binary(c, "Mul", one_minus(c, c->labels), c->output));
    struct endpoint missing = total(c, binary(c, "Mul", c->labels, one_minus(c, c->output)));
    struct endpoint sum =
        binary(c, "AddV2", both, by_number(c, "Mul", missing, option_number(c, "alpha")));

    sum = binary(c, "AddV2", sum, by_number(c, "Mul", wrong, option_number(c, "beta")));
    sum = by_number(c, "AddV2", sum, EPSILON);
    return for_each_example(c, one_minus(c, binary(c, "RealDiv", both, sum)));
}

/* ---- the rows of a batch ---- */

/* The output is a matrix of scores in which each row's own column is right. */
static struct endpoint in_batch_crossentropy(struct loss_context *c)
{
    return sparse_cross_entropy(c, c->output, c->classes);
}

#define ARGS(args) args, COUNT(args)

#define NO_ARGS NULL, 0

/* clang-format off */
const struct loss_class loss_classes[] = {
    /* function, labels, kind, extent, probabilities, formula, options */
    { "sparse_categorical_crossentropy", LAYERS_CLASSES, LAYERS_CLASSIFIER, LOSS_OF_STEP, true,
      sparse_categorical_crossentropy, ARGS(sparse_categorical_args) },
    { "categorical_crossentropy", LAYERS_CLASSES, LAYERS_CLASSIFIER, LOSS_OF_STEP, true,
      categorical_crossentropy, ARGS(categorical_args) },
    { "categorical_focal_crossentropy", LAYERS_CLASSES, LAYERS_CLASSIFIER, LOSS_OF_STEP, true,
      categorical_focal_crossentropy, ARGS(categorical_focal_args) },
    { "categorical_generalized_cross_entropy", LAYERS_CLASSES, LAYERS_CLASSIFIER, LOSS_OF_STEP,
      true, categorical_generalized_cross_entropy, ARGS(generalized_args) },
    { "categorical_hinge", LAYERS_CLASSES, LAYERS_CLASSIFIER, LOSS_OF_STEP, false,
      categorical_hinge, NO_ARGS },
    { "binary_crossentropy", LAYERS_VALUES, LAYERS_BINARY, LOSS_OF_OUTPUT, true,
      binary_crossentropy, ARGS(binary_args) },
    { "binary_focal_crossentropy", LAYERS_VALUES, LAYERS_BINARY, LOSS_OF_OUTPUT, true,
      binary_focal_crossentropy, ARGS(binary_focal_args) },
    { "hinge", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false, hinge, NO_ARGS },
    { "squared_hinge", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false,
      squared_hinge, NO_ARGS },
    { "mean_squared_error", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false,
      mean_squared_error, NO_ARGS },
    { "mean_absolute_error", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false,
      mean_absolute_error, NO_ARGS },
    { "mean_absolute_percentage_error", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false,
      mean_absolute_percentage_error, NO_ARGS },
    { "mean_squared_logarithmic_error", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false,
      mean_squared_logarithmic_error, NO_ARGS },
    { "huber", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false, huber, ARGS(huber_args) },
    { "log_cosh", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false, log_cosh, NO_ARGS },
    { "poisson", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_OUTPUT, false, poisson, NO_ARGS },
    { "kl_divergence", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_STEP, false,
      kl_divergence, NO_ARGS },
    { "cosine_similarity", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_STEP, false,
      cosine_similarity, NO_ARGS },
    { "circle", LAYERS_GROUPS, LAYERS_REGRESSION, LOSS_OF_ROW, false,
      loss_circle, ARGS(circle_args) },
    { "ctc", LAYERS_LISTS, LAYERS_REGRESSION, LOSS_OF_ROW, false, loss_ctc, NO_ARGS },
    { "dice", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_ROW, false, dice, ARGS(dice_args) },
    { "tversky", LAYERS_VALUES, LAYERS_REGRESSION, LOSS_OF_ROW, false,
      tversky, ARGS(tversky_args) },
    { "retrieval", LAYERS_NO_LABELS, LAYERS_REGRESSION, LOSS_OF_ROW, false,
      in_batch_crossentropy, ARGS(retrieval_args) },
};
const size_t loss_classes_count = COUNT(loss_classes);
/* clang-format on */
