#include "trainer/options/learning_rate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* ---- the syntax of the flag ---- */

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static struct bytes read_word(const char **at)
{
    struct bytes word = { *at, 0 };

    while (isalnum((unsigned char)**at) || **at == '_')
        (*at)++;
    word.size = (size_t)(*at - word.data);
    return word;
}

static bool is_word(struct bytes word, const char *text)
{
    return bytes_equal(word, bytes_of(text));
}

/* Python's constants. */
static bool put_constant(struct bytes word, struct buffer *out)
{
    const char *json = is_word(word, "True")    ? "true"
                       : is_word(word, "False") ? "false"
                       : is_word(word, "None")  ? "null"
                                                : NULL;

    if (json != NULL)
        buffer_append_text(out, json);
    return json != NULL;
}

/* Python accepts `.5` and `1.`; JSON does not. */
static bool put_number(const char **at, struct buffer *out)
{
    char *end;
    double number = strtod(*at, &end);

    if (end == *at || !isfinite(number))
        return false;
    buffer_printf(out, "%.17g", number);
    *at = end;
    return true;
}

/* Converts the next part of the arguments. Returns false if it is misplaced. */
static bool put_part(const char **at, struct buffer *out)
{
    if (strchr("[],", **at) != NULL) {
        buffer_append_char(out, *(*at)++);
        return true;
    }
    if (!isalpha((unsigned char)**at) && **at != '_')
        return put_number(at, out);
    struct bytes word = read_word(at);
    const char *equals = skip_space(*at);
    if (*equals != '=')
        return put_constant(word, out);
    buffer_printf(out, "\"%.*s\":", (int)word.size, word.data);
    *at = equals + 1;
    return true;
}

struct status learning_rate_call_to_json(const char *call, struct buffer *out)
{
    const char *at = skip_space(call);
    struct bytes name = read_word(&at);
    bool fine = name.size > 0 && *(at = skip_space(at)) == '(';

    buffer_printf(out, "{\"class_name\":\"%.*s\",\"config\":{", (int)name.size, name.data);
    at = skip_space(at + fine);
    while (fine && *at != ')' && *at != '\0') {
        fine = put_part(&at, out);
        at = skip_space(at);
    }
    buffer_append_text(out, "}}");
    if (fine && *at == ')' && *skip_space(at + 1) == '\0')
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "'%.200s' is not a call such as CosineDecay(decay_steps=1000, alpha=0.1)",
                        call);
}

/* ---- the choice ---- */

static struct status take_schedule(const struct layers_schedule *described,
                                   struct schedule *schedule, float *rate, bool *has_rate)
{
    float initial = NAN;

    TRY(schedule_begin(described->name, schedule));
    for (int i = 0; i < described->parameters_count; i++) {
        const struct layers_parameter *parameter = &described->parameters[i];
        TRY(schedule_set(schedule, parameter->name, parameter->numbers, parameter->count,
                         &initial));
    }
    TRY(schedule_check(schedule));
    *has_rate = !isnan(initial);
    if (!*has_rate)
        return status_ok();
    if (!(initial >= 0) || isinf(initial))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s: it begins with a learning rate of %g, expected a number of at "
                            "least 0",
                            described->name, (double)initial);
    *rate = initial;
    return status_ok();
}

static struct status take_call(const char *call, struct arena *arena, struct schedule *schedule,
                               float *rate, bool *has_rate)
{
    struct buffer json = { 0 };
    const struct json_value *value = NULL;
    struct layers_schedule described;

    struct status status = learning_rate_call_to_json(call, &json);
    if (status_is_ok(status) && !status_is_ok(json_value_read_strict(
                                    (struct bytes){ json.data, json.size }, arena, &value)))
        status = status_error(STATUS_INVALID_ARGUMENT,
                              "'%.200s' is no schedule: wants arguments with names, as in "
                              "CosineDecay(decay_steps=1000)",
                              call);
    buffer_finish(&json);
    TRY(status);
    TRY(layers_read_schedule(value, arena, &described));
    return take_schedule(&described, schedule, rate, has_rate);
}

struct status learning_rate_choose(const struct learning_rate_sources *sources, struct arena *arena,
                                   float *rate, struct schedule *schedule)
{
    const struct layers_training *described = sources->described;
    bool has_rate;

    *schedule = (struct schedule){ 0 };
    *rate = sources->flag > 0                                   ? (float)sources->flag
            : described != NULL && described->learning_rate > 0 ? (float)described->learning_rate
                                                                : sources->otherwise;
    if (*sources->flag_schedule != '\0') {
        TRY(status_in(take_call(sources->flag_schedule, arena, schedule, rate, &has_rate),
                      "--learning_rate_schedule"));
        if (has_rate && sources->flag > 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--learning_rate=%g and the first rate of "
                                "--learning_rate_schedule=%.200s: give one of them",
                                sources->flag, sources->flag_schedule);
    } else if (sources->flag <= 0 && described != NULL && described->schedule.name != NULL) {
        TRY(status_in(take_schedule(&described->schedule, schedule, rate, &has_rate),
                      "the model's learning rate"));
    }
    return status_ok();
}
