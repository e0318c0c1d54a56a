/* loss: finds, reads and checks the losses of a description. */
#include "layers/losses/loss.h"

#include <assert.h>

#include "layers/losses/loss_class.h"
#include "layers/losses/retrieval.h"

static const char *const loss_keys[] = { "name", "reduction", "dtype", "fn", "axis", NULL };

static struct arg_list args_of(const struct loss_class *class)
{
    return (struct arg_list){ class->args, class->args_count, loss_keys };
}

const struct arg_value *loss_option(const struct loss *loss, const char *name)
{
    const struct arg_list list = args_of(loss->class);

    return args_find(&list, loss->args, name);
}

/* Keras' other names. */
static const struct {
    const char *alias, *name;
} aliases[] = {
    { "bce", "binary_crossentropy" },
    { "mse", "mean_squared_error" },
    { "mae", "mean_absolute_error" },
    { "mape", "mean_absolute_percentage_error" },
    { "msle", "mean_squared_logarithmic_error" },
    { "huber_loss", "huber" },
    { "logcosh", "log_cosh" },
    { "log_cosh_error", "log_cosh" },
    { "kld", "kl_divergence" },
    { "kullback_leibler_divergence", "kl_divergence" },
};

static const struct loss_class *find_class(const char *name)
{
    for (size_t i = 0; i < COUNT(aliases); i++)
        if (same_name(name, aliases[i].alias))
            name = aliases[i].name;
    for (size_t i = 0; i < loss_classes_count; i++)
        if (same_name(name, loss_classes[i].name))
            return &loss_classes[i];
    return NULL;
}

bool loss_is_known(const char *name)
{
    return find_class(name) != NULL;
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

    if (loss->class->kind == LAYERS_BINARY && !single)
        return LAYERS_REGRESSION;
    return loss->class->kind == LAYERS_CLASSIFIER && output->rank > 2 ? LAYERS_TAGGER
                                                                      : loss->class->kind;
}

bool loss_has_steps(const struct loss *loss)
{
    return loss->class->extent != LOSS_OF_ROW;
}

bool loss_from_logits(const struct loss *loss)
{
    const struct arg_value *option = loss_option(loss, "from_logits");

    return option != NULL && option->boolean;
}

bool loss_is_of_one_hot(const struct loss *loss)
{
    static const char *const names[] = { "categorical_crossentropy",
                                         "categorical_focal_crossentropy", "categorical_hinge" };

    return BYTES_FIND(bytes_of(loss->class->name), names) >= 0;
}

const int64_t *loss_ignored_class(const struct loss *loss)
{
    const struct arg_value *option = loss_option(loss, "ignore_class");

    return option != NULL && !option->is_null ? &option->integer : NULL;
}

/* TensorFlow Recommenders sums where Keras averages. */
const char *loss_default_reduction(const struct loss *loss)
{
    return loss->class->labels == LAYERS_NO_LABELS ? "sum" : "sum_over_batch_size";
}

/* ---- reading ---- */

static struct status unknown_loss(const struct json_value *value, struct arena *arena)
{
    struct buffer known = { 0 };

    for (size_t i = 0; i < loss_classes_count; i++)
        buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", loss_classes[i].name);
    struct status status = status_error(STATUS_INVALID_ARGUMENT, "%s is not a loss; known: %.*s",
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
    const struct arg_value *smoothing = loss_option(loss, "label_smoothing");

    if (smoothing == NULL || (smoothing->number >= 0 && smoothing->number <= 1))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'label_smoothing': got %g, expected 0 <= label_smoothing <= 1",
                        smoothing->number);
}

/* Classes are int32 in the graph. */
static struct status check_ignored(const struct loss *loss)
{
    const int64_t *ignored = loss_ignored_class(loss);

    if (ignored == NULL || (*ignored >= INT32_MIN && *ignored <= INT32_MAX))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "argument 'ignore_class': got %lld, expected an int32",
                        (long long)*ignored);
}

static struct status read_config(const struct json_value *config, struct arena *arena,
                                 struct loss *out, const char **reduction)
{
    const struct arg_list list = args_of(out->class);

    const struct json_value *given = json_value_get(config, "reduction");

    TRY(args_check_dtype(config, arena));
    TRY(args_read(&list, config, arena, &out->args));
    if (loss_option(out, "axis") == NULL)
        TRY(check_axis(config, arena));
    if (given != NULL && json_value_is_null(given))
        return status_error(STATUS_UNIMPLEMENTED,
                            "'reduction' is null, which leaves a loss for each row; Keras' fit "
                            "trains with their sum: write \"sum\"");
    *reduction = json_value_get_text(config, "reduction");
    if (given != NULL && *reduction == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "'reduction' is %s, expected a word",
                            json_value_show(given, arena));
    /* Without the note, nobody who chose another delta would learn that the model trains with 1. */
    if (config != NULL && json_value_get(config, "delta") == NULL &&
        loss_option(out, "delta") != NULL)
        out->note = "delta is 1, since the description has none; Keras 3 does not print it";
    TRY(check_ignored(out));
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

/* Are the outputs certainly not probabilities, because they are sums without an activation? */
static bool is_linear(struct endpoint output)
{
    static const char *const ops[] = { "BiasAdd", "MatMul", "BatchMatMulV2", "Conv2D", "AddV2" };

    return output.node != NULL && BYTES_FIND(bytes_of(output.node->op_name), ops) >= 0;
}

/* *wanted: the dimensions that the loss expects besides the batch. */
static bool shape_suits(const struct loss_class *class, const struct shape *output,
                        const char **wanted)
{
    int rank = output->rank;

    if (class->labels == LAYERS_LISTS) {
        *wanted = "steps, classes";
        return rank == 3 && output->dims[2] > 1;
    }
    if (class->labels == LAYERS_GROUPS) {
        *wanted = "numbers";
        return rank == 2;
    }
    if (class->kind == LAYERS_CLASSIFIER) {
        *wanted = "…, classes";
        return rank >= 2 && output->dims[rank - 1] > 0;
    }
    *wanted = "…";
    return rank >= 2;
}

static struct status check_shape(const struct loss_class *class, const struct shape *output)
{
    const char *wanted;

    return shape_suits(class, output, &wanted)
               ? status_ok()
               : status_error(STATUS_INVALID_ARGUMENT,
                              "%s needs an output [batch, %s]; it has shape %s", class->name,
                              wanted, shape_text(output));
}

/* Is the option "axis" absent, null, or all dimensions but the batch? */
static bool is_axis_of_rows(const struct loss *loss, int rank)
{
    const struct arg_value *axis = loss_option(loss, "axis");
    bool listed[SHAPE_RANK_MAX] = { false };
    int left = rank - 1;

    if (axis == NULL || axis->is_null)
        return true;
    bool list = axis->value->kind == JSON_VALUE_LIST;
    for (int i = 0; i < (list ? axis->value->count : 1); i++) {
        const struct json_value *one = list ? &axis->value->members[i] : axis->value;
        int64_t at = one->kind != JSON_VALUE_INT ? 0
                     : one->integer < 0          ? one->integer + rank
                                                 : one->integer;
        if (at < 1 || at >= rank || listed[at])
            return false;
        listed[at] = true;
        left--;
    }
    return left == 0;
}

struct status loss_check(const struct layers_model *model, int output,
                         const struct layers_head *heads)
{
    const struct loss *loss = model->targets[output].loss;
    bool classifies = loss->class->kind == LAYERS_CLASSIFIER;

    if (loss->class->labels == LAYERS_NO_LABELS)
        return status_in(retrieval_check(model, output, heads), "loss 'Retrieval'");
    /* Keras would train on clipped numbers. */
    if (loss->class->probabilities && !loss_from_logits(loss) && is_linear(heads[output].output))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%scross-entropy needs an output that ends in %s, or from_logits",
                            classifies ? "" : "binary ", classifies ? "softmax" : "sigmoid");
    TRY(check_shape(loss->class, endpoint_shape(heads[output].output)));
    if (is_axis_of_rows(loss, endpoint_shape(heads[output].output)->rank))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "%s: an 'axis' of an output %s other than null, or all but the batch",
                        loss->class->name, shape_text(endpoint_shape(heads[output].output)));
}
