/* training: reads what a description says about training: compile_config as Keras prints it, and
 * our own training_config. */
#include <ctype.h>
#include <math.h>

#include "layers/build_model.h"
#include "layers/metric.h"

/* Settings of Keras' optimizers that have no effect if they are null, false, or this value. */
static const struct neutral {
    const char *name;
    double value;
} neutrals[] = {
    { "use_ema", 0 },
    { "loss_scale_factor", NAN },
    { "gradient_accumulation_steps", NAN },
    { "ema_momentum", 0.99 },
    { "ema_overwrite_frequency", NAN },
    { "jit_compile", NAN },
    { "is_legacy_optimizer", 0 },
    { "decay", 0 },
};

static bool truth_or_number(const struct json_value *value, double *out)
{
    if (value->kind == JSON_VALUE_BOOL) {
        *out = value->boolean;
        return true;
    }
    return json_value_number(value, out);
}

/* True: the setting has no effect. */
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

static struct status read_setting(const char *key, const struct json_value *value,
                                  struct arena *arena, struct layers_training *out,
                                  struct layers_setting *settings)
{
    double number;
    bool neutral;

    if (json_value_is_null(value) || strcmp(key, "name") == 0)
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
    out->optimizer = lower;

    int count = config != NULL ? config->count : 0;
    struct layers_setting *settings = ARENA_ARRAY(arena, struct layers_setting, count);
    out->settings = settings;
    for (int i = 0; i < count; i++)
        TRY(status_in(read_setting(config->keys[i], &config->members[i], arena, out, settings),
                      "optimizer '%s'", lower));
    return status_ok();
}

static struct status read_loss(const struct json_value *value, struct arena *arena,
                               struct layers_model *out)
{
    static const char *const means[] = { "sum_over_batch_size", "mean", "auto" };
    struct loss *loss = ARENA_NEW(arena, struct loss);
    const char *reduction;

    TRY(loss_read(value, arena, loss, &reduction));
    if (loss->class != NULL)
        out->loss = loss;
    if (reduction == NULL)
        return status_ok();
    out->training.has_reduction = true;
    out->training.reduction = strcmp(reduction, "sum") == 0 ? LAYERS_SUM : LAYERS_MEAN;
    if (out->training.reduction == LAYERS_SUM)
        return status_ok();
    for (size_t i = 0; i < COUNT(means); i++)
        if (strcmp(reduction, means[i]) == 0)
            return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "loss: 'reduction' is '%.100s'; known: sum_over_batch_size, mean, sum",
                        reduction);
}

/* With one output, a weight would only change the learning rate. */
static struct status check_loss_weights(const struct json_value *value, struct arena *arena)
{
    double number;

    if (json_value_is_null(value) || (json_value_number(value, &number) && number == 1))
        return status_ok();
    if (value->kind != JSON_VALUE_LIST && value->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_UNIMPLEMENTED,
                            "loss_weights: %s is not implemented, only 1: change the learning rate "
                            "instead",
                            json_value_show(value, arena));
    for (int i = 0; i < value->count; i++)
        TRY(check_loss_weights(&value->members[i], arena));
    return status_ok();
}

/* Examples have no weights, which makes weighted metrics the same. */
static struct status read_metrics(const struct json_value *compiled, struct arena *arena,
                                  struct layers_model *out)
{
    struct metric *metrics = ARENA_ARRAY(arena, struct metric, METRICS_MAX);
    int count = 0;

    out->metrics = metrics;
    TRY(status_in(metrics_read(json_value_get(compiled, "metrics"), arena, metrics, &count),
                  "metrics"));
    TRY(status_in(
        metrics_read(json_value_get(compiled, "weighted_metrics"), arena, metrics, &count),
        "weighted_metrics"));
    out->metrics_count = count;
    return status_ok();
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

/* Our own keys: {"batch_size", "epochs", "training_iteration", "reduction"}. */
static struct status read_own(const char *key, const struct json_value *value, struct arena *arena,
                              struct layers_training *out)
{
    if (strcmp(key, "batch_size") == 0)
        return read_count(value, arena, key, &out->batch_size);
    if (strcmp(key, "epochs") == 0)
        return read_count(value, arena, key, &out->epochs);
    if (strcmp(key, "training_iteration") == 0)
        return read_count(value, arena, key, &out->training_iteration);
    if (strcmp(key, "reduction") != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "unknown argument '%.100s'; known: batch_size, epochs, "
                            "training_iteration, reduction",
                            key);
    bool sum = value->kind == JSON_VALUE_TEXT && strcmp(value->text, "sum") == 0;
    if (!sum && (value->kind != JSON_VALUE_TEXT || strcmp(value->text, "mean") != 0))
        return status_error(STATUS_INVALID_ARGUMENT, "reduction is %s, expected 'mean' or 'sum'",
                            json_value_show(value, arena));
    out->has_reduction = true;
    out->reduction = sum ? LAYERS_SUM : LAYERS_MEAN;
    return status_ok();
}

struct status training_read(const struct json_value *root, struct arena *arena,
                            struct layers_model *out)
{
    const struct json_value *compiled = json_value_get(root, "compile_config");
    const struct json_value *own = json_value_get(root, "training_config");

    TRY(status_in(read_optimizer(json_value_get(compiled, "optimizer"), arena, &out->training),
                  "compile_config"));
    /* A model with several outputs cannot be trained yet, so their losses are not read. */
    if (out->outputs_count == 1) {
        TRY(status_in(read_loss(json_value_get(compiled, "loss"), arena, out), "compile_config"));
        TRY(status_in(check_loss_weights(json_value_get(compiled, "loss_weights"), arena),
                      "compile_config"));
        TRY(status_in(read_metrics(compiled, arena, out), "compile_config"));
    }
    for (int i = 0; own != NULL && own->kind == JSON_VALUE_OBJECT && i < own->count; i++)
        TRY(status_in(read_own(own->keys[i], &own->members[i], arena, &out->training),
                      "training_config"));
    return status_ok();
}
