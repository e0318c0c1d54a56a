/* training: reads the training settings of a description: compile_config as Keras prints it (its
 * optimizer: optimizer_read.c), and our own training_config. */
#include <math.h>

#include "base/text_print.h"
#include "layers/metrics/metric.h"
#include "layers/read_model.h"

bool layers_find_reduction(const char *word, enum layers_reduction *out)
{
    static const struct {
        const char *word;
        enum layers_reduction reduction;
    } rows[] = {
        { "sum_over_batch_size", LAYERS_MEAN },
        { "mean", LAYERS_MEAN },
        { "auto", LAYERS_MEAN },
        { "sum", LAYERS_SUM },
        { "mean_with_sample_weight", LAYERS_WEIGHTED_MEAN },
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].word, word) == 0) {
            *out = rows[i].reduction;
            return true;
        }
    return false;
}

/* Reads the reduction of a loss. */
static struct status take_reduction(const char *word, struct layers_target *target,
                                    struct layers_training *out)
{
    if (!layers_find_reduction(word, &target->reduction))
        return status_error(STATUS_UNIMPLEMENTED,
                            "loss: 'reduction' is '%.100s'; known: sum_over_batch_size, mean, sum, "
                            "mean_with_sample_weight",
                            word);
    out->reduction = !out->has_reduction || out->reduction == target->reduction ? target->reduction
                                                                                : LAYERS_EACH;
    out->has_reduction = true;
    return status_ok();
}

static struct status read_loss(const struct json_value *value, struct arena *arena, int output,
                               struct layers_model *out)
{
    struct loss *loss = ARENA_NEW(arena, struct loss);
    const char *reduction;

    TRY(loss_read(value, arena, loss, &reduction));
    if (loss->class == NULL)
        return status_ok();
    out->targets[output].loss = loss;
    out->targets[output].note = loss->note;
    return take_reduction(reduction != NULL ? reduction : loss_default_reduction(loss),
                          &out->targets[output], &out->training);
}

static struct status read_weight(const struct json_value *value, struct arena *arena, int output,
                                 struct layers_model *out)
{
    double number;

    if (json_value_is_null(value))
        return status_ok();
    if (!json_value_number(value, &number) || !isfinite(number))
        return status_error(STATUS_INVALID_ARGUMENT, "%s is not a number",
                            json_value_show(value, arena));
    out->targets[output].weight = number;
    return status_ok();
}

/* Reads one output's entry in compile_config. */
typedef struct status read_setting_of(const struct json_value *value, struct arena *arena,
                                      int output, struct layers_model *out);

static int find_output(const struct layers_model *model, const char *name)
{
    for (int i = 0; i < model->outputs_count; i++)
        if (strcmp(model->outputs[i].name, name) == 0)
            return i;
    return -1;
}

/* By the outputs' names. */
static struct status read_named(const struct json_value *object, struct arena *arena,
                                read_setting_of *read, struct layers_model *out)
{
    for (int i = 0; i < object->count; i++) {
        int output = find_output(out, object->keys[i]);
        if (output < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "the model has no output '%.100s'",
                                object->keys[i]);
        TRY(status_in(read(&object->members[i], arena, output, out), "output '%s'",
                      object->keys[i]));
    }
    return status_ok();
}

/* Calls `read` for each output: a list has an entry for each output, an object one for each
 * name. Any other value applies to all outputs, as Keras does for a loss. */
static struct status read_by_output(const struct json_value *value, struct arena *arena,
                                    read_setting_of *read, struct layers_model *out)
{
    const struct json_value *config;
    bool list = value != NULL && value->kind == JSON_VALUE_LIST;

    if (json_value_is_null(value))
        return status_ok();
    if (list && value->count != out->outputs_count)
        return status_error(STATUS_INVALID_ARGUMENT, "%d entries for %d outputs", value->count,
                            out->outputs_count);
    if (value->kind == JSON_VALUE_OBJECT && named_object(value, &config) == NULL)
        return read_named(value, arena, read, out);
    for (int i = 0; i < out->outputs_count; i++)
        TRY(read(list ? &value->members[i] : value, arena, i, out));
    return status_ok();
}

/* Keras' name of a weighted metric, which differs if an unweighted one has that name. */
static const char *weighted_name(const struct layers_model *model, const struct metric *metric,
                                 struct arena *arena)
{
    for (int i = 0; i < model->metrics_count; i++) {
        const struct metric *other = &model->metrics[i];
        if (!other->weighted && other->output == metric->output &&
            strcmp(other->name, metric->name) == 0)
            return arena_printf(arena, "weighted_%s", metric->name);
    }
    return metric->name;
}

/* Adds the metrics of an output; read_metrics has allocated the space. */
static struct status add_metrics(const struct json_value *value, struct arena *arena, int output,
                                 bool weighted, struct layers_model *out)
{
    struct metric *metrics = (struct metric *)(uintptr_t)out->metrics;
    int first = out->metrics_count;

    TRY(metrics_read(value, arena, metrics, &out->metrics_count));
    for (int i = first; i < out->metrics_count; i++) {
        metrics[i].output = output;
        metrics[i].weighted = weighted;
        if (weighted)
            metrics[i].name = weighted_name(out, &metrics[i], arena);
    }
    return status_ok();
}

static struct status read_plain(const struct json_value *value, struct arena *arena, int output,
                                struct layers_model *out)
{
    return add_metrics(value, arena, output, false, out);
}

static struct status read_weighted(const struct json_value *value, struct arena *arena, int output,
                                   struct layers_model *out)
{
    return add_metrics(value, arena, output, true, out);
}

/* Makes an error name the flag if the setting comes from one. */
static struct status in_setting(const struct layers_model *model, const char *key,
                                struct status status)
{
    bool is_flag = model->flags != NULL && json_value_get(model->flags, key) != NULL;

    return status_in(status, "%s%s", is_flag ? "--" : "compile_config: ", key);
}

/* Reads the metrics. With a single output, every metric in a list or an object belongs to it. */
static struct status read_metrics(const struct json_value *compiled, struct arena *arena,
                                  struct layers_model *out)
{
    static const struct {
        const char *key;
        read_setting_of *read;
    } kinds[] = { { "metrics", read_plain }, { "weighted_metrics", read_weighted } };

    out->metrics = ARENA_ARRAY(arena, struct metric, METRICS_MAX);
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const struct json_value *value = json_value_get(compiled, kinds[k].key);
        TRY(in_setting(out, kinds[k].key,
                       out->outputs_count == 1 ? kinds[k].read(value, arena, 0, out)
                                               : read_by_output(value, arena, kinds[k].read, out)));
    }
    return status_ok();
}

/* Reads the training target of each output. */
static struct status read_targets(const struct json_value *compiled, struct arena *arena,
                                  struct layers_model *out)
{
    out->targets = ARENA_ARRAY(arena, struct layers_target, out->outputs_count);
    for (int i = 0; i < out->outputs_count; i++)
        out->targets[i].weight = 1;
    TRY(in_setting(out, "loss",
                   read_by_output(json_value_get(compiled, "loss"), arena, read_loss, out)));
    TRY(in_setting(
        out, "loss_weights",
        read_by_output(json_value_get(compiled, "loss_weights"), arena, read_weight, out)));
    return read_metrics(compiled, arena, out);
}

static struct status read_count(const struct json_value *value, struct arena *arena,
                                const char *key, int *out)
{
    if (value->kind != JSON_VALUE_INT || value->integer < 1 || value->integer > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s is %s, expected a positive integer", key,
                            json_value_show(value, arena));
    *out = (int)value->integer;
    return status_ok();
}

/* Reads our own keys: {"batch_size", "epochs", "training_iteration", "reduction", "any_width"}. */
static struct status read_own(const char *key, const struct json_value *value, struct arena *arena,
                              struct layers_training *out)
{
    if (strcmp(key, "batch_size") == 0)
        return read_count(value, arena, key, &out->batch_size);
    if (strcmp(key, "epochs") == 0)
        return read_count(value, arena, key, &out->epochs);
    if (strcmp(key, "training_iteration") == 0)
        return read_count(value, arena, key, &out->training_iteration);
    if (strcmp(key, "any_width") == 0) {
        out->any_width = value->kind == JSON_VALUE_BOOL && value->boolean;
        return value->kind == JSON_VALUE_BOOL
                   ? status_ok()
                   : status_error(STATUS_INVALID_ARGUMENT,
                                  "any_width is %s, expected true or false",
                                  json_value_show(value, arena));
    }
    if (strcmp(key, "reduction") != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "unknown argument '%.100s'; known: batch_size, epochs, "
                            "training_iteration, reduction, any_width",
                            key);
    bool sum = value->kind == JSON_VALUE_TEXT && strcmp(value->text, "sum") == 0;
    if (!sum && (value->kind != JSON_VALUE_TEXT || strcmp(value->text, "mean") != 0))
        return status_error(STATUS_INVALID_ARGUMENT, "reduction is %s, expected 'mean' or 'sum'",
                            json_value_show(value, arena));
    out->has_reduction = true;
    out->reduction = sum ? LAYERS_SUM : LAYERS_MEAN;
    return status_ok();
}

/* Checks the arguments of Keras' compile. Some change how Keras runs but not what it computes. */
static struct status check_compiled(const struct json_value *compiled)
{
    static const char *const known[] = { "optimizer",           "loss",
                                         "loss_weights",        "metrics",
                                         "run_eagerly",         "weighted_metrics",
                                         "steps_per_execution", "auto_scale_loss",
                                         "jit_compile" };

    for (int i = 0; compiled != NULL && compiled->kind == JSON_VALUE_OBJECT && i < compiled->count;
         i++) {
        size_t k = 0;
        while (k < COUNT(known) && strcmp(known[k], compiled->keys[i]) != 0)
            k++;
        if (k == COUNT(known))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "unknown argument '%.100s'; known: those of Keras' compile, such "
                                "as loss, loss_weights and metrics",
                                compiled->keys[i]);
    }
    return status_ok();
}

struct status training_read(const struct json_value *root, struct arena *arena,
                            struct layers_model *out)
{
    const struct json_value *compiled = json_value_get(root, "compile_config");
    const struct json_value *own = json_value_get(root, "training_config");

    TRY(status_in(check_compiled(compiled), "compile_config"));
    if (compiled != NULL) {
        struct json_value *kept = ARENA_NEW(arena, struct json_value);
        *kept = *compiled;
        out->compiled = kept;
    }
    TRY(status_in(optimizer_read(json_value_get(compiled, "optimizer"), arena, &out->training),
                  "compile_config"));
    TRY(read_targets(compiled, arena, out));
    for (int i = 0; own != NULL && own->kind == JSON_VALUE_OBJECT && i < own->count; i++)
        TRY(status_in(read_own(own->keys[i], &own->members[i], arena, &out->training),
                      "training_config"));
    for (int i = 0; i < out->inputs_count && out->training.any_width; i++)
        if (out->inputs[i].layout == TENSOR_RAGGED || out->inputs[i].shape.rank != 2 ||
            out->inputs[i].shape.dims[1] < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "training_config: any_width, but the input '%s' is not dense or "
                                "sparse [null, n]",
                                out->inputs[i].name);
    return status_ok();
}

/* ---- printing ---- */

static void begin_member(const char *key, struct buffer *out)
{
    buffer_append_text(out, out->size > 0 && out->data[out->size - 1] != '{' ? ", " : "");
    json_print_string(out, bytes_of(key));
    buffer_append_text(out, ": ");
}

/* Prints a list with an entry for each output as an object by the outputs' names: a signature has
 * its outputs in another order. */
static void print_setting(const struct layers_model *model, const struct json_value *value,
                          struct buffer *out)
{
    if (value->kind != JSON_VALUE_LIST || model->outputs_count == 1) {
        json_value_print(value, out);
        return;
    }
    buffer_append_char(out, '{');
    for (int i = 0; i < model->outputs_count; i++) {
        begin_member(model->outputs[i].name, out);
        json_value_print(&value->members[i], out);
    }
    buffer_append_char(out, '}');
}

/* The losses that layers_check chose, because the description has none. */
static void print_chosen_losses(const struct layers_model *model, struct buffer *out)
{
    buffer_append_char(out, '{');
    for (int i = 0; i < model->outputs_count; i++)
        if (model->targets[i].loss_name != NULL) {
            begin_member(model->outputs[i].name, out);
            json_print_string(out, bytes_of(model->targets[i].loss_name));
        }
    buffer_append_char(out, '}');
}

void layers_print_compiled(const struct layers_model *model, struct buffer *out)
{
    static const char *const keys[] = { "loss", "loss_weights", "metrics", "weighted_metrics" };

    buffer_append_char(out, '{');
    for (size_t k = 0; k < COUNT(keys); k++) {
        const struct json_value *value = json_value_get(model->compiled, keys[k]);
        if (json_value_is_null(value) && k > 0)
            continue;
        begin_member(keys[k], out);
        if (json_value_is_null(value))
            print_chosen_losses(model, out);
        else
            print_setting(model, value, out);
    }
    buffer_append_text(out, "}\n");
}
