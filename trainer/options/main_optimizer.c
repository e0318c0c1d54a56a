/* main_optimizer: chooses the optimizer and its options from the flags and the description. */
#include "trainer/options/main_optimizer.h"

#include <math.h>
#include <string.h>

#include "trainer/optimizers/average.h"
#include "trainer/options/learning_rate.h"

#define KERAS_INITIAL_SCALE 32768 /* of a LossScaleOptimizer that Keras adds itself */

/* Settings of Keras' classes with which they are other optimizers here. */
static const struct {
    const char *class, *setting, *optimizer;
} other_rows[] = {
    { "sgd", "momentum", "momentum" },
    { "adam", "amsgrad", "amsgrad" },
    { "adamw", "amsgrad", "amsgrad" },
};

/* The optimizer that this setting of Keras' class chooses; NULL: none. */
static const char *chosen_by(const char *class, const struct layers_setting *setting)
{
    for (size_t row = 0; row < COUNT(other_rows) && setting->value != 0; row++)
        if (strcmp(class, other_rows[row].class) == 0 &&
            strcmp(setting->name, other_rows[row].setting) == 0)
            return other_rows[row].optimizer;
    return NULL;
}

static const char *optimizer_of_keras(const struct layers_training *training)
{
    const char *chosen = NULL;

    for (int i = 0; chosen == NULL && i < training->settings_count; i++)
        chosen = chosen_by(training->optimizer, &training->settings[i]);
    return chosen != NULL ? chosen : training->optimizer;
}

/* Is this a setting of Keras that is off and that TensorFlow's optimizers lack? */
static bool is_off(const struct layers_setting *setting)
{
    static const char *const off[] = { "amsgrad", "momentum", "nesterov", "weight_decay" };

    return setting->value == 0 && BYTES_FIND(bytes_of(setting->name), off) >= 0;
}

/* Overrides an earlier value. */
static void put_setting(struct setting_value *settings, int *count, const char *name, double value)
{
    int i = 0;

    while (i < *count && strcmp(settings[i].name, name) != 0)
        i++;
    settings[i] = (struct setting_value){ name, (float)value };
    *count += i == *count;
}

/* Does Keras' class also update the rows of a table that have no gradient? */
static bool keras_moves_all(const struct optimizer *optimizer, const struct setting_value *settings,
                            int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(settings[i].name, "weight_decay") == 0 && settings[i].value != 0)
            return true;
    return !optimizer->keras_row_local;
}

static void set_setting(struct options *out, const char *name, double value)
{
    put_setting(out->settings, &out->job.settings_count, name, value);
}

/* Keras' names of the kinds of clipping, which are also our flags'. */
static enum clip_kind find_clip(const char *name)
{
    return strcmp(name, "clipvalue") == 0         ? CLIP_VALUE
           : strcmp(name, "clipnorm") == 0        ? CLIP_NORM
           : strcmp(name, "global_clipnorm") == 0 ? CLIP_GLOBAL_NORM
                                                  : CLIP_NOTHING;
}

/* limit: 0 for not given. */
static struct status set_clip(const char *name, double limit, struct clip *out)
{
    if (limit == 0)
        return status_ok();
    if (out->kind != CLIP_NOTHING)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s: only one of clipvalue, clipnorm and global_clipnorm can be given",
                            name);
    *out = (struct clip){ find_clip(name), (float)limit };
    if (!(out->limit > 0) || isinf(out->limit))
        return status_error(STATUS_INVALID_ARGUMENT, "%s is %g, expected a number above 0", name,
                            limit);
    return status_ok();
}

static struct status take_clip_flags(const struct flag_values *flags, struct clip *out)
{
    TRY(set_clip("clipvalue", flags->clipvalue, out));
    TRY(set_clip("clipnorm", flags->clipnorm, out));
    return set_clip("global_clipnorm", flags->global_clipnorm, out);
}

/* Chooses the flags' clipping, otherwise the description's if its optimizer is used. */
static struct status choose_clip(const struct flag_values *flags,
                                 const struct layers_training *described, struct clip *out)
{
    *out = (struct clip){ 0 };
    TRY(status_in(take_clip_flags(flags, out), "the flags"));
    if (out->kind != CLIP_NOTHING || described == NULL)
        return status_ok();
    for (int i = 0; i < described->settings_count; i++) {
        const struct layers_setting *setting = &described->settings[i];
        if (find_clip(setting->name) != CLIP_NOTHING)
            TRY(status_in(set_clip(setting->name, setting->value, out), "the model's optimizer"));
    }
    return status_ok();
}

/* ---- options that all of Keras' optimizers share ---- */

static bool is_common(const char *name)
{
    static const char *const common[] = { "use_ema",
                                          "ema_momentum",
                                          "ema_overwrite_frequency",
                                          "gradient_accumulation_steps",
                                          "loss_scale_factor",
                                          "initial_scale",
                                          "dynamic_growth_steps" };

    return BYTES_FIND(bytes_of(name), common) >= 0;
}

/* The flag's value if it is given, otherwise the description's if its optimizer is used,
 * otherwise the flag's default. */
static double choose_common(const char *name, double flag, const struct layers_training *described)
{
    int count = described != NULL ? described->settings_count : 0;

    for (int i = 0; i < count && flag_is_default(flags_find(&train_flags, name)); i++)
        if (strcmp(described->settings[i].name, name) == 0)
            return described->settings[i].value;
    return flag;
}

static struct status check_common(const char *name, double value, double min, double max)
{
    if (value >= min && value <= max)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "%s is %g, must be %g to %g", name, value, min,
                        max);
}

/* A constant factor from a flag replaces the description's LossScaleOptimizer, and the one that
 * Keras would add (`scales`). */
static struct status choose_dynamic_scale(const struct layers_training *described, bool scales,
                                          struct options *out)
{
    const struct flag_values *flags = &out->flags;
    bool has_growth = !flag_is_default(flags_find(&train_flags, "dynamic_growth_steps"));
    double scale = choose_common("initial_scale", flags->initial_scale, described);
    double growth =
        choose_common("dynamic_growth_steps", (double)flags->dynamic_growth_steps, described);

    if (flags->loss_scale_factor > 0 && flags->initial_scale > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "only one of --loss_scale_factor and --initial_scale can be given");
    if (scale == 0 && scales)
        scale = KERAS_INITIAL_SCALE;
    if (flags->loss_scale_factor > 0)
        scale = 0;
    if (scale == 0)
        return has_growth ? status_error(STATUS_INVALID_ARGUMENT,
                                         "--dynamic_growth_steps needs --initial_scale")
                          : status_ok();
    TRY(check_common("initial_scale", scale, 0, 1e38));
    TRY(check_common("dynamic_growth_steps", growth, 1, 1e15));
    out->job.loss_scale =
        (struct loss_scale){ .scale = (float)scale, .growth_steps = (uint64_t)growth };
    out->loss_scale = 1;
    return loss_scale_check(&out->job.loss_scale);
}

static struct status choose_steps_and_scale(const struct layers_training *described, bool scales,
                                            struct options *out)
{
    const struct flag_values *flags = &out->flags;
    double steps = choose_common("gradient_accumulation_steps",
                                 (double)flags->gradient_accumulation_steps, described);
    double scale = choose_common("loss_scale_factor", flags->loss_scale_factor, described);

    TRY(check_common("gradient_accumulation_steps", steps, 0, 1e6));
    TRY(check_common("loss_scale_factor", scale, 0, 1e30));
    out->accumulation = steps > 1 ? (uint32_t)steps : 1;
    out->job.batches_per_step = out->accumulation;
    out->loss_scale = scale > 0 ? (float)scale : 1;
    return choose_dynamic_scale(described, scales, out);
}

/* Averaging makes it another optimizer. */
static struct status choose_average(const struct layers_training *described,
                                    const struct optimizer **optimizer, struct options *out)
{
    const struct flag_values *flags = &out->flags;
    double momentum = choose_common("ema_momentum", flags->ema_momentum, described);
    double frequency =
        choose_common("ema_overwrite_frequency", (double)flags->ema_overwrite_frequency, described);

    TRY(check_common("ema_momentum", momentum, 0, 1));
    TRY(check_common("ema_overwrite_frequency", frequency, 0, 8e6));
    if (choose_common("use_ema", flags->use_ema, described) == 0) {
        bool given = !flag_is_default(flags_find(&train_flags, "ema_momentum")) ||
                     !flag_is_default(flags_find(&train_flags, "ema_overwrite_frequency"));
        return given ? status_error(STATUS_INVALID_ARGUMENT,
                                    "--ema_momentum and --ema_overwrite_frequency need --use_ema")
                     : status_ok();
    }
    if (optimizer_can_be_another(*optimizer).code == STATUS_UNIMPLEMENTED)
        return status_error(STATUS_UNIMPLEMENTED, "use_ema with the optimizer '%s'",
                            (*optimizer)->name);
    if (frequency > 0 && out->accumulation > 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "ema_overwrite_frequency with gradient_accumulation_steps: Keras "
                            "replaces the variables by their averages between the batches of a "
                            "step as well");
    *optimizer = optimizer_with_average(*optimizer);
    set_setting(out, "ema_momentum", momentum);
    set_setting(out, "ema_momentum_before", pow(momentum, out->accumulation - 1));
    set_setting(out, "ema_overwrite_frequency", frequency);
    out->job.settings = out->settings;
    return status_ok();
}

/* Takes the settings of a described optimizer: [OPTIMIZER_SETTINGS_MAX]. */
static struct status take_settings(const struct layers_training *training,
                                   const struct optimizer *optimizer,
                                   struct setting_value *settings, int *count)
{
    const struct optimizer *class = optimizer_find(training->optimizer);

    /* AdamW with amsgrad still has AdamW's weight_decay. */
    for (int i = 0; class != NULL && class != optimizer && i < class->settings_count; i++)
        if (optimizer_setting_index(optimizer, class->settings[i].name) >= 0)
            put_setting(settings, count, class->settings[i].name, class->settings[i].initial);
    for (const struct optimizer_setting *row = optimizer_keras_defaults; row->name != NULL; row++)
        if (!optimizer->has_keras_defaults && optimizer_setting_index(optimizer, row->name) >= 0)
            put_setting(settings, count, row->name, row->initial);
    for (int i = 0; i < training->settings_count; i++) {
        const struct layers_setting *setting = &training->settings[i];
        if (optimizer_setting_index(optimizer, setting->name) >= 0)
            put_setting(settings, count, setting->name, setting->value);
        else if (chosen_by(training->optimizer, setting) == NULL && !is_off(setting) &&
                 !is_common(setting->name) && find_clip(setting->name) == CLIP_NOTHING)
            return status_error(STATUS_UNIMPLEMENTED,
                                "the model's optimizer '%s': setting '%s' is not implemented",
                                optimizer->name, setting->name);
    }
    return status_ok();
}

static struct status choose_lazy(const struct flag_values *flags,
                                 const struct optimizer **optimizer)
{
    const struct optimizer *lazy = optimizer_lazy(*optimizer);

    if (!flags->lazy_rows)
        return status_ok();
    if (lazy == NULL)
        return status_error(STATUS_UNIMPLEMENTED,
                            "--lazy_rows: optimizer '%s' changes all rows of a table",
                            (*optimizer)->name);
    *optimizer = lazy;
    return status_ok();
}

/* ---- Keras' MultiOptimizer ---- */

/* Refuses options that a Keras optimizer applies only to its own variables, but pstrain to all
 * of the job. */
static struct status check_alone(const struct layers_training *training)
{
    static const char *const of_all[] = { "use_ema", "gradient_accumulation_steps", "clipnorm",
                                          "clipvalue", "global_clipnorm" };

    for (int i = 0; i < training->settings_count; i++)
        if (training->settings[i].value != 0 &&
            BYTES_FIND(bytes_of(training->settings[i].name), of_all) >= 0)
            return status_error(STATUS_UNIMPLEMENTED, "'%s' of an optimizer for some variables",
                                training->settings[i].name);
    return status_ok();
}

static struct status describe_other(const struct layers_training *training,
                                    const struct flag_values *flags, struct arena *arena,
                                    struct optimizer_choice *out)
{
    const char *name = optimizer_of_keras(training);
    const struct optimizer *optimizer = optimizer_find(name);
    struct setting_value *settings =
        ARENA_ARRAY(arena, struct setting_value, OPTIMIZER_SETTINGS_MAX);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' is none of: %s", name,
                            optimizer_names());
    TRY(optimizer_can_be_another(optimizer));
    TRY(check_alone(training));
    if (training->schedule.name != NULL)
        return status_error(STATUS_UNIMPLEMENTED,
                            "a learning rate schedule of an optimizer for some variables");
    *out = (struct optimizer_choice){ .settings = settings };
    TRY(take_settings(training, optimizer, settings, &out->settings_count));
    out->all_rows = keras_moves_all(optimizer, settings, out->settings_count) && !flags->lazy_rows;
    out->learning_rate =
        training->learning_rate > 0 ? (float)training->learning_rate : optimizer->keras_rate;
    TRY(choose_lazy(flags, &optimizer));
    out->name = optimizer->name;
    return status_ok();
}

/* Takes the description's map, unless a flag replaces it. */
static struct status describe_others(const struct layers_training *training, struct arena *arena,
                                     struct options *out)
{
    struct optimizer_choice *others =
        ARENA_ARRAY(arena, struct optimizer_choice, OPTIMIZERS_MAX - 1);

    if (training->others_count == 0 || *out->flags.optimizer_for != '\0')
        return status_ok();
    if (training->others_count > OPTIMIZERS_MAX - 1)
        return status_error(STATUS_UNIMPLEMENTED, "%d patterns; at most %d are implemented",
                            training->others_count, OPTIMIZERS_MAX - 1);
    TRY(check_alone(training));
    for (int i = 0; i < training->others_count; i++)
        TRY(status_in(describe_other(training->others[i].training, &out->flags, arena, &others[i]),
                      "'%s'", training->others[i].pattern));
    out->described_others = training->others;
    out->job.others = others;
    out->job.others_count = training->others_count;
    return status_ok();
}

struct status options_choose_optimizer(struct arena *arena, struct options *out)
{
    const struct layers_training *training = &out->model->training;
    const char *described = training->optimizer != NULL ? optimizer_of_keras(training) : NULL;
    const char *name = *out->flags.optimizer != '\0' ? out->flags.optimizer
                       : described != NULL           ? described
                                                     : "sgd";
    const struct optimizer *optimizer = optimizer_find(name);
    bool same = described != NULL && optimizer == optimizer_find(described);

    if (optimizer == NULL || optimizer->averages) /* that is said by use_ema */
        return status_error(STATUS_INVALID_ARGUMENT, "--optimizer=%s is none of: %s", name,
                            optimizer_names());
    if (same)
        TRY(take_settings(training, optimizer, out->settings, &out->job.settings_count));
    out->job.settings = out->settings;
    struct learning_rate_sources sources = {
        .flag = out->flags.learning_rate,
        .flag_schedule = out->flags.learning_rate_schedule,
        .described = same ? training : NULL,
        .otherwise = same ? optimizer->keras_rate : optimizer->rate,
    };
    TRY(learning_rate_choose(&sources, arena, &out->job.learning_rate, &out->job.schedule));
    TRY(choose_clip(&out->flags, same ? training : NULL, &out->clip));
    TRY(choose_steps_and_scale(same ? training : NULL, training->scales_loss, out));
    TRY(choose_lazy(&out->flags, &optimizer));
    TRY(choose_average(same ? training : NULL, &optimizer, out));
    if (same)
        TRY(status_in(describe_others(training, arena, out), "MultiOptimizer"));
    out->job.optimizer = optimizer->name;
    out->job.all_rows = same && !out->flags.lazy_rows &&
                        keras_moves_all(optimizer, out->settings, out->job.settings_count);
    if (same && out->job.schedule.kind != NULL &&
        optimizer_setting_index(optimizer, "rate_in_momentum") >= 0)
        set_setting(out, "rate_in_momentum", 1); /* as Keras' SGD */
    return status_ok();
}
