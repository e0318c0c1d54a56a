/* optimizer_read: reads the optimizer of a description as Keras prints it, with its settings and
 * its learning rate schedule. The trainer knows the optimizers; here, names are not checked. */
#include <ctype.h>
#include <math.h>

#include "layers/read_model.h"

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
    return optimizer_read(value, arena, out);
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
    TRY(optimizer_read(inner, arena, out));
    replace_scale(NULL, arena, out);
    struct layers_setting *settings =
        ARENA_ARRAY(arena, struct layers_setting, out->settings_count + (int)COUNT(scale));
    memcpy(settings, out->settings, (size_t)out->settings_count * sizeof *settings);
    memcpy(settings + out->settings_count, scale, sizeof scale);
    out->settings = settings;
    out->settings_count += (int)COUNT(scale);
    return status_ok();
}

/* ---- any optimizer ---- */

struct status optimizer_read(const struct json_value *value, struct arena *arena,
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
