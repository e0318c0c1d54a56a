#include <math.h>

#include "layers/layer.h"

#define PLAIN(kind_, a_, b_)                          \
    {                                                 \
        .kind = INITIALIZER_##kind_, .a = a_, .b = b_ \
    }
#define SCALING(scale, fan_, of)                                       \
    {                                                                  \
        .kind = INITIALIZER_VARIANCE_SCALING, .a = scale, .fan = fan_, \
        .distribution = INITIALIZER_##of                               \
    }

/* Keras' initializers with their defaults; `a` and `b` name the arguments of those numbers. */
static const struct initializer_row {
    const char *name;
    struct initializer value;
    const char *a, *b;
} rows[] = {
    { "Zeros", PLAIN(CONSTANT, 0, 0), NULL, NULL },
    { "Ones", PLAIN(CONSTANT, 1, 0), NULL, NULL },
    { "Constant", PLAIN(CONSTANT, 0, 0), "value", NULL },
    { "RandomUniform", PLAIN(UNIFORM, -.05, .05), "minval", "maxval" },
    { "RandomNormal", PLAIN(NORMAL, 0, .05), "mean", "stddev" },
    { "TruncatedNormal", PLAIN(TRUNCATED_NORMAL, 0, .05), "mean", "stddev" },
    { "Orthogonal", PLAIN(ORTHOGONAL, 1, 0), "gain", NULL },
    { "Identity", PLAIN(IDENTITY, 1, 0), "gain", NULL },
    { "GlorotUniform", SCALING(1, FAN_AVG, UNIFORM), NULL, NULL },
    { "GlorotNormal", SCALING(1, FAN_AVG, TRUNCATED_NORMAL), NULL, NULL },
    { "HeUniform", SCALING(2, FAN_IN, UNIFORM), NULL, NULL },
    { "HeNormal", SCALING(2, FAN_IN, TRUNCATED_NORMAL), NULL, NULL },
    { "LecunUniform", SCALING(1, FAN_IN, UNIFORM), NULL, NULL },
    { "LecunNormal", SCALING(1, FAN_IN, TRUNCATED_NORMAL), NULL, NULL },
    { "VarianceScaling", SCALING(1, FAN_IN, TRUNCATED_NORMAL), "scale", NULL },
    { "STFT",
      { .kind = INITIALIZER_WAVES, .waves = { .window = WINDOW_HANN, .scaling = SCALING_DENSITY } },
      NULL,
      NULL },
};

/* Words and their enum values. */
struct word {
    const char *text;
    int meaning;
};
static const struct word modes[] = { { "fan_in", FAN_IN },
                                     { "fan_out", FAN_OUT },
                                     { "fan_avg", FAN_AVG } };
static const struct word distributions[] = {
    { "uniform", INITIALIZER_UNIFORM },
    { "truncated_normal", INITIALIZER_TRUNCATED_NORMAL },
    { "normal", INITIALIZER_TRUNCATED_NORMAL }, /* Keras' own alias */
    { "untruncated_normal", INITIALIZER_NORMAL },
};

static const struct word sides[] = { { "real", SIDE_REAL }, { "imag", SIDE_IMAGINARY } };
static const struct word windows[] = { { "hann", WINDOW_HANN }, { "hamming", WINDOW_HAMMING } };
static const struct word scalings[] = { { "density", SCALING_DENSITY },
                                        { "spectrum", SCALING_SPECTRUM } };

static const struct initializer_row *find_row(const char *name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (same_name(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static struct status read_word(const struct json_value *value, const char *key,
                               const struct word *words, size_t count, struct arena *arena,
                               int *out)
{
    for (size_t i = 0; i < count; i++)
        if (value->kind == JSON_VALUE_TEXT && strcmp(value->text, words[i].text) == 0) {
            *out = words[i].meaning;
            return status_ok();
        }
    return status_error(STATUS_INVALID_ARGUMENT, "%s is %s, known are %s to %s", key,
                        json_value_show(value, arena), words[0].text, words[count - 1].text);
}

struct status waves_read(const char *key, const struct json_value *value, struct arena *arena,
                         struct waves *out)
{
    bool is_null = json_value_is_null(value);
    int word = 0; /* WINDOW_NONE, SCALING_NONE */

    if (strcmp(key, "side") == 0) {
        TRY(read_word(value, key, sides, COUNT(sides), arena, &word));
        out->side = (enum wave_side)word;
    } else if (strcmp(key, "window") == 0) {
        if (!is_null && !status_is_ok(read_word(value, key, windows, COUNT(windows), arena, &word)))
            return status_error(STATUS_UNIMPLEMENTED,
                                "window is %s; hann, hamming and null are implemented",
                                json_value_show(value, arena));
        out->window = (enum wave_window)word;
    } else if (strcmp(key, "scaling") == 0) {
        if (!is_null)
            TRY(read_word(value, key, scalings, COUNT(scalings), arena, &word));
        out->scaling = (enum wave_scaling)word;
    } else if (strcmp(key, "periodic") == 0 && value->kind == JSON_VALUE_BOOL) {
        out->periodic = value->boolean;
    } else {
        return status_error(STATUS_INVALID_ARGUMENT, "argument '%s' is %s", key,
                            json_value_show(value, arena));
    }
    return status_ok();
}

static struct status read_seed(const struct json_value *value, struct arena *arena,
                               struct initializer *out)
{
    if (json_value_is_null(value))
        return status_ok();
    if (value->kind != JSON_VALUE_INT)
        return status_error(STATUS_INVALID_ARGUMENT, "seed is %s, expected an integer or null",
                            json_value_show(value, arena));
    out->has_seed = true;
    out->seed = (uint64_t)value->integer;
    return status_ok();
}

/* Constant with an array of numbers. */
static struct status read_array(const struct json_value *value, struct arena *arena,
                                struct initializer *out)
{
    bool good = numbers_read(value, arena, &out->array);

    for (int64_t i = 0; good && i < out->array.size; i++)
        good = isfinite(tensor_floats(&out->array)[i]);
    if (!good)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "value is %s, expected a finite number, or lists of them",
                            json_value_show(value, arena));
    out->kind = INITIALIZER_ARRAY;
    return status_ok();
}

static struct status read_argument(const struct initializer_row *row, const char *key,
                                   const struct json_value *value, struct arena *arena,
                                   struct initializer *out)
{
    double *number = row->a != NULL && strcmp(key, row->a) == 0   ? &out->a
                     : row->b != NULL && strcmp(key, row->b) == 0 ? &out->b
                                                                  : NULL;
    bool general = strcmp(row->name, "VarianceScaling") == 0;
    int word = 0;

    if (number != NULL && out->kind == INITIALIZER_CONSTANT && !json_value_number(value, number))
        return read_array(value, arena, out);
    if (number != NULL) {
        if (!json_value_number(value, number))
            return status_error(STATUS_INVALID_ARGUMENT, "%s is %s, expected a number", key,
                                json_value_show(value, arena));
        return status_ok();
    }
    if (strcmp(key, "seed") == 0)
        return read_seed(value, arena, out);
    if (general && strcmp(key, "mode") == 0) {
        TRY(read_word(value, key, modes, COUNT(modes), arena, &word));
        out->fan = (enum initializer_fan)word;
        return status_ok();
    }
    if (general && strcmp(key, "distribution") == 0) {
        TRY(read_word(value, key, distributions, COUNT(distributions), arena, &word));
        out->distribution = (enum initializer_kind)word;
        return status_ok();
    }
    if (row->value.kind == INITIALIZER_WAVES)
        return waves_read(key, value, arena, &out->waves);
    /* input_axes, output_axes, … unset */
    if (json_value_is_null(value) || strcmp(key, "dtype") == 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "unknown argument '%s'", key);
}

static struct status unknown(const struct json_value *value, struct arena *arena)
{
    struct buffer names = { 0 };

    for (size_t i = 0; i < COUNT(rows); i++)
        buffer_printf(&names, "%s%s", i == 0 ? "" : ", ", rows[i].name);
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT, "%s is not an initializer; known: %.*s",
                     json_value_show(value, arena), (int)names.size, names.data);
    buffer_finish(&names);
    return status;
}

struct status initializer_read(const struct json_value *value, struct arena *arena,
                               struct initializer *out)
{
    const struct json_value *config;
    const char *name = named_object(value, &config);
    const struct initializer_row *row = name != NULL ? find_row(name) : NULL;

    if (row == NULL)
        return unknown(value, arena);
    *out = row->value;
    for (int i = 0; config != NULL && i < config->count; i++)
        TRY(status_in(read_argument(row, config->keys[i], &config->members[i], arena, out), "%s",
                      row->name));
    return status_ok();
}
