/* training: reads the training settings of a description: compile_config as Keras prints it, and
 * our own training_config. */
#include <ctype.h>
#include <math.h>

#include "layers/build_model.h"
#include "layers/metrics/metric.h"

/* Settings of Keras' optimizers that have no effect when they are null, false, or this value. */
static const struct neutral {
    const char *name;
    double value;
} neutrals[] = {
    { "jit_compile", NAN },
    { "is_legacy_optimizer", 0 },
    { "decay", 0 },
};

/* Settings of every Keras optimizer that may be omitted when they have these values. */
static const struct neutral defaults[] = { { "use_ema", 0 }, { "ema_momentum", 0.99 } };

static bool truth_or_number(const struct json_value *value, double *out)
{
    if (value->kind == JSON_VALUE_BOOL) {
        *out = value->boolean;
        return true;
    }
    return json_value_number(value, out);
}

static bool is_default(const char *key, const struct json_value *value)
{
    double number;

    for (size_t i = 0; i < COUNT(defaults); i++)
        if (strcmp(key, defaults[i].name) == 0 && truth_or_number(value, &number) &&
            fabs(number - defaults[i].value) < 1e-6)
            return true;
    return false;
}

/* Does the setting have no effect? */
static struct status is_neutral(const char *key, const struct json_value *value,
                                struct arena *arena, bool *out)
{
    double number;

    *out = false;
    for (size_t i = 0; i < COUNT(neutrals); i++) {
        if (strcmp(key, neutrals[i].name) != 0)
            continue;
        *out = true;
        if (strcmp(key, "jit_compile") == 0 ||
            (truth_or_number(value, &number) && fabs(number - neutrals[i].value) < 1e-6))
            return status_ok();
        return status_error(STATUS_UNIMPLEMENTED, "'%s' is %s, which is not implemented", key,
                            json_value_show(value, arena));
    }
    return status_ok();
}

static struct status read_parameter(const char *key, const struct json_value *value,
                                    struct arena *arena, struct layers_parameter *out)
{
    bool list = value->kind == JSON_VALUE_LIST;
    int count = list ? value->count : 1;
    double *numbers = ARENA_ARRAY(arena, double, count);

    for (int i = 0; i < count; i++)
        if (!truth_or_number(list ? &value->members[i] : value, &numbers[i]))
            return status_error(STATUS_INVALID_ARGUMENT, "%s is %s, expected numbers", key,
                                json_value_show(list ? &value->members[i] : value, arena));
    *out = (struct layers_parameter){ key, numbers, count };
    return status_ok();
}

struct status layers_read_schedule(const struct json_value *value, struct arena *arena,
                                   struct layers_schedule *out)
{
    const struct json_value *config;
    const char *name = value->kind == JSON_VALUE_OBJECT ? named_object(value, &config) : NULL;

    if (name == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "learning_rate is %s",
                            json_value_show(value, arena));
    int count = json_value_count(config);
    struct layers_parameter *parameters = ARENA_ARRAY(arena, struct layers_parameter, count);
    *out = (struct layers_schedule){ .name = name, .parameters = parameters };
    for (int i = 0; i < count; i++)
        if (!json_value_is_null(&config->members[i]) && strcmp(config->keys[i], "name") != 0)
            TRY(status_in(read_parameter(config->keys[i], &config->members[i], arena,
                                         &parameters[out->parameters_count++]),
                          "%s", name));
    return status_ok();
}

/* The meaning of null for the settings of Muon whose default is something else. */
static const struct neutral muon_nulls[] = { { "weight_decay", 0 },
                                             { "adam_weight_decay", 0 },
                                             { "rms_rate", -1 } };

static void read_null(const char *key, struct layers_training *out, struct layers_setting *settings)
{
    for (size_t i = 0; i < COUNT(muon_nulls) && strcmp(out->optimizer, "muon") == 0; i++)
        if (strcmp(key, muon_nulls[i].name) == 0)
            settings[out->settings_count++] =
                (struct layers_setting){ muon_nulls[i].name, muon_nulls[i].value };
}

/* Is it an empty list, as Muon's exclude_layers may be? */
static bool is_empty_list(const struct json_value *value)
{
    return value->kind == JSON_VALUE_LIST && value->count == 0;
}

static struct status read_setting(const char *key, const struct json_value *value,
                                  struct arena *arena, struct layers_training *out,
                                  struct layers_setting *settings)
{
    double number;
    bool neutral;

    if (json_value_is_null(value))
        read_null(key, out, settings);
    if (json_value_is_null(value) || strcmp(key, "name") == 0 || is_default(key, value) ||
        is_empty_list(value))
        return status_ok();
    TRY(is_neutral(key, value, arena, &neutral));
    if (neutral)
        return status_ok();
    if (strcmp(key, "learning_rate") == 0 && value->kind == JSON_VALUE_OBJECT)
        return layers_read_schedule(value, arena, &out->schedule);
    if (!truth_or_number(value, &number))
        return status_error(STATUS_UNIMPLEMENTED, "'%s' is %s; only numbers are implemented", key,
                            json_value_show(value, arena));
    if (strcmp(key, "learning_rate") != 0) {
        settings[out->settings_count++] = (struct layers_setting){ key, number };
        return status_ok();
    }
    if (!(number > 0) || !isfinite(number))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "learning_rate is %s, expected a number above 0",
                            json_value_show(value, arena));
    out->learning_rate = number;
    return status_ok();
}

static struct status read_optimizer(const struct json_value *value, struct arena *arena,
                                    struct layers_training *out);

/* ---- Keras' MultiOptimizer ---- */

/* Reads an optimizer of the map. Keras forbids both of these classes there. */
static struct status read_member(const struct json_value *value, struct arena *arena,
                                 struct layers_training *out)
{
    const struct json_value *config;
    const char *name = json_value_is_null(value) ? NULL : named_object(value, &config);

    if (name == NULL || same_name(name, "MultiOptimizer") || same_name(name, "LossScaleOptimizer"))
        return status_error(STATUS_INVALID_ARGUMENT, "MultiOptimizer: %s inside it",
                            json_value_show(value, arena));
    return read_optimizer(value, arena, out);
}

/* Applies the loss scale of the outer optimizer, which overrides those of the inner ones. */
static void replace_scale(const struct json_value *value, struct arena *arena,
                          struct layers_training *out)
{
    struct layers_setting *settings =
        ARENA_ARRAY(arena, struct layers_setting, out->settings_count + 1);
    double factor;
    int count = 0;

    for (int i = 0; i < out->settings_count; i++)
        if (strcmp(out->settings[i].name, "loss_scale_factor") != 0)
            settings[count++] = out->settings[i];
    if (!json_value_is_null(value) && json_value_number(value, &factor))
        settings[count++] = (struct layers_setting){ "loss_scale_factor", factor };
    out->settings = settings;
    out->settings_count = count;
}

static struct status read_others(const struct json_value *map, struct arena *arena,
                                 struct layers_training *out)
{
    int count = json_value_count(map);
    struct layers_other_optimizer *others =
        ARENA_ARRAY(arena, struct layers_other_optimizer, count);

    for (int i = 0; i < count; i++) {
        struct layers_training *training = ARENA_NEW(arena, struct layers_training);
        TRY(status_in(read_member(&map->members[i], arena, training), "'%.200s'", map->keys[i]));
        replace_scale(NULL, arena, training);
        others[i] = (struct layers_other_optimizer){ map->keys[i], training };
    }
    out->others = others;
    out->others_count = count;
    return status_ok();
}

static struct status read_multi_optimizer(const struct json_value *config, struct arena *arena,
                                          struct layers_training *out)
{
    static const char *const known[] = { "name", "optimizer_map", "loss_scale_factor" };
    const struct json_value *map = json_value_get(config, "optimizer_map");
    const struct json_value *parts, *scale = json_value_get(config, "loss_scale_factor");
    const char *class = json_value_is_null(map) ? NULL : named_object(map, &parts);
    double factor;

    for (int i = 0; i < json_value_count(config); i++) {
        size_t k = 0;
        while (k < COUNT(known) && strcmp(known[k], config->keys[i]) != 0)
            k++;
        if (k == COUNT(known) && !json_value_is_null(&config->members[i]))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "optimizer 'multioptimizer': unknown setting '%.100s'",
                                config->keys[i]);
    }
    if (class == NULL || strcmp(class, "OptimizerMap") != 0)
        return status_error(STATUS_UNIMPLEMENTED,
                            "optimizer 'multioptimizer': 'optimizer_map' is %s; only an "
                            "OptimizerMap is implemented",
                            json_value_show(map, arena));
    if (!json_value_is_null(scale) && !json_value_number(scale, &factor))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "optimizer 'multioptimizer': 'loss_scale_factor' is %s",
                            json_value_show(scale, arena));
    TRY(read_member(json_value_get(parts, "default_optimizer"), arena, out));
    replace_scale(scale, arena, out);
    const struct json_value *others = json_value_get(parts, "optimizer_map");
    if (!json_value_is_null(others) && others->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "OptimizerMap: 'optimizer_map' is %s",
                            json_value_show(others, arena));
    return json_value_is_null(others)
               ? status_ok()
               : status_in(read_others(others, arena, out), "MultiOptimizer");
}

/* ---- Keras' LossScaleOptimizer ---- */

/* Is it a key that earlier versions of Keras wrote, with a value that has no effect? */
static bool is_unused(const char *key, const struct json_value *value)
{
    double number;

    if (json_value_is_null(value) || is_default(key, value))
        return true;
    return strcmp(key, "dynamic") == 0 && truth_or_number(value, &number) && number == 1;
}

static struct status read_loss_scale_setting(const char *key, const struct json_value *value,
                                             struct arena *arena, struct layers_setting *out)
{
    bool is_scale = strcmp(key, "initial_scale") == 0;

    if (!is_scale && strcmp(key, "dynamic_growth_steps") != 0)
        return is_unused(key, value) ? status_ok()
                                     : status_error(STATUS_INVALID_ARGUMENT,
                                                    "'%.100s' is %s, and belongs to the "
                                                    "optimizer inside it",
                                                    key, json_value_show(value, arena));
    struct layers_setting *setting = &out[is_scale ? 0 : 1];
    if (!json_value_number(value, &setting->value) || !(setting->value > 0) ||
        !isfinite((float)setting->value) || (!is_scale && setting->value != floor(setting->value)))
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is %s, expected %s above 0", key,
                            json_value_show(value, arena), is_scale ? "a number" : "an integer");
    return status_ok();
}

/* Reads the inner optimizer, whose own loss scale is ignored, and two more settings. */
static struct status read_loss_scale_optimizer(const struct json_value *config, struct arena *arena,
                                               struct layers_training *out)
{
    struct layers_setting scale[] = { { "initial_scale", 32768 },
                                      { "dynamic_growth_steps", 2000 } };
    const struct json_value *inner = json_value_get(config, "inner_optimizer"), *parts;
    const char *name = json_value_is_null(inner) ? NULL : named_object(inner, &parts);

    if (name == NULL || same_name(name, "LossScaleOptimizer"))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "optimizer 'lossscaleoptimizer': 'inner_optimizer' is %s",
                            json_value_show(inner, arena));
    for (int i = 0; i < json_value_count(config); i++)
        if (strcmp(config->keys[i], "inner_optimizer") != 0 && strcmp(config->keys[i], "name") != 0)
            TRY(status_in(
                read_loss_scale_setting(config->keys[i], &config->members[i], arena, scale),
                "optimizer 'lossscaleoptimizer'"));
    TRY(read_optimizer(inner, arena, out));
    replace_scale(NULL, arena, out);
    struct layers_setting *settings =
        ARENA_ARRAY(arena, struct layers_setting, out->settings_count + (int)COUNT(scale));
    memcpy(settings, out->settings, (size_t)out->settings_count * sizeof *settings);
    memcpy(settings + out->settings_count, scale, sizeof scale);
    out->settings = settings;
    out->settings_count += (int)COUNT(scale);
    return status_ok();
}

static struct status read_optimizer(const struct json_value *value, struct arena *arena,
                                    struct layers_training *out)
{
    const struct json_value *config;
    const char *name = named_object(value, &config);

    if (json_value_is_null(value))
        return status_ok();
    if (name == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer is %s",
                            json_value_show(value, arena));
    char *lower = arena_strdup(arena, name);
    for (char *at = lower; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    if (strcmp(lower, "multioptimizer") == 0)
        return read_multi_optimizer(config, arena, out);
    if (strcmp(lower, "lossscaleoptimizer") == 0)
        return read_loss_scale_optimizer(config, arena, out);
    out->optimizer = lower;

    int count = config != NULL ? config->count : 0;
    struct layers_setting *settings = ARENA_ARRAY(arena, struct layers_setting, count);
    out->settings = settings;
    for (int i = 0; i < count; i++)
        TRY(status_in(read_setting(config->keys[i], &config->members[i], arena, out, settings),
                      "optimizer '%s'", lower));
    return status_ok();
}

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
        TRY(status_in(out->outputs_count == 1 ? kinds[k].read(value, arena, 0, out)
                                              : read_by_output(value, arena, kinds[k].read, out),
                      "%s", kinds[k].key));
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
    TRY(status_in(read_by_output(json_value_get(compiled, "loss"), arena, read_loss, out), "loss"));
    TRY(status_in(read_by_output(json_value_get(compiled, "loss_weights"), arena, read_weight, out),
                  "loss_weights"));
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

/* Makes an error in --loss name the flag instead of compile_config. */
static struct status in_settings(const struct layers_model *model, struct status status)
{
    if (status_is_ok(status) || model->body == NULL || !model->body->has_flags)
        return status_in(status, "compile_config");
    return status_error(status.code, "--%s", status.message);
}

struct status training_read(const struct json_value *root, struct arena *arena,
                            struct layers_model *out)
{
    const struct json_value *compiled = json_value_get(root, "compile_config");
    const struct json_value *own = json_value_get(root, "training_config");

    TRY(in_settings(out, check_compiled(compiled)));
    TRY(in_settings(out,
                    read_optimizer(json_value_get(compiled, "optimizer"), arena, &out->training)));
    TRY(in_settings(out, read_targets(compiled, arena, out)));
    for (int i = 0; own != NULL && own->kind == JSON_VALUE_OBJECT && i < own->count; i++)
        TRY(status_in(read_own(own->keys[i], &own->members[i], arena, &out->training),
                      "training_config"));
    const struct layers_port *input = &out->inputs[0];
    if (out->training.any_width &&
        (out->inputs_count > 1 || input->layout != TENSOR_DENSE || input->shape.rank != 2))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "training_config: any_width, but the model has not one dense input "
                            "[null, n]");
    return status_ok();
}
