#include "trainer/options/other_optimizers.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/optimizers/muon.h"

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* The text up to one of the `ends`, trimmed. */
static const char *take_until(const char **at, const char *ends, struct arena *arena)
{
    const char *begin = skip_space(*at);
    size_t size = strcspn(begin, ends);

    *at = begin + size;
    while (size > 0 && isspace((unsigned char)begin[size - 1]))
        size--;
    return arena_printf(arena, "%.*s", (int)size, begin);
}

static bool take_char(const char **at, char c)
{
    *at = skip_space(*at);
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static struct status refuse(const char *at)
{
    return status_error(STATUS_INVALID_ARGUMENT,
                        "'%.100s' is not of the form PATTERN=NAME(SETTING=NUMBER, ...); ...", at);
}

/* ---- an optimizer and its settings ---- */

struct rule_reader {
    const char *at;
    struct arena *arena;
    struct optimizer_choice *out;
    bool has_rate;
    struct setting_value settings[OPTIMIZER_SETTINGS_MAX];
};

static struct status given_twice(const char *name)
{
    return status_error(STATUS_INVALID_ARGUMENT, "'%s' is given twice", name);
}

static struct status set_rate(struct rule_reader *reading, float value)
{
    if (value < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "learning_rate=%g is below 0", (double)value);
    if (reading->has_rate)
        return given_twice("learning_rate");
    reading->has_rate = true;
    reading->out->learning_rate = value;
    return status_ok();
}

static struct status set(struct rule_reader *reading, const struct optimizer *optimizer,
                         const char *name, float value)
{
    struct optimizer_choice *out = reading->out;

    if (strcmp(name, "learning_rate") == 0)
        return set_rate(reading, value);
    if (optimizer_setting_index(optimizer, name) < 0)
        return optimizer_no_setting(optimizer, name);
    for (int i = 0; i < out->settings_count; i++)
        if (strcmp(reading->settings[i].name, name) == 0)
            return given_twice(name);
    reading->settings[out->settings_count++] = (struct setting_value){ name, value };
    return status_ok();
}

static struct status read_setting(struct rule_reader *reading, const struct optimizer *optimizer)
{
    const char *begin = reading->at, *name = take_until(&reading->at, "=,();", reading->arena);
    char *end;

    if (*name == '\0' || !take_char(&reading->at, '='))
        return refuse(begin);
    float value = strtof(reading->at, &end);
    if (end == reading->at || !isfinite(value))
        return refuse(begin);
    reading->at = end;
    return set(reading, optimizer, name, value);
}

static struct status read_settings(struct rule_reader *reading, const struct optimizer *optimizer)
{
    if (!take_char(&reading->at, '(') || take_char(&reading->at, ')'))
        return status_ok();
    for (;;) {
        TRY(read_setting(reading, optimizer));
        if (take_char(&reading->at, ')'))
            return status_ok();
        if (!take_char(&reading->at, ','))
            return refuse(reading->at);
    }
}

static struct status read_optimizer(struct rule_reader *reading)
{
    const char *name = take_until(&reading->at, "(;", reading->arena);
    const struct optimizer *optimizer = optimizer_find(name);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' is none of: %s", name,
                            optimizer_names());
    TRY(optimizer_can_be_another(optimizer));
    *reading->out =
        (struct optimizer_choice){ .name = optimizer->name, .learning_rate = optimizer->rate };
    reading->has_rate = false;
    TRY(read_settings(reading, optimizer));
    reading->out->settings =
        (void *)arena_memdup(reading->arena, reading->settings,
                             (size_t)reading->out->settings_count * sizeof *reading->settings);
    return status_ok();
}

/* ---- patterns ---- */

/* Assigns the optimizer of this number to the matching variables that have none yet. */
static struct status match(const char *pattern, const char *const *names, int count, int number,
                           int *optimizer_of)
{
    bool fits = false;

    for (int v = 0; v < count; v++) {
        if (fnmatch(pattern, names[v], 0) != 0)
            continue;
        fits = true;
        optimizer_of[v] = optimizer_of[v] == 0 ? number : optimizer_of[v];
    }
    if (fits)
        return status_ok();
    struct buffer list = { 0 };
    for (int v = 0; v < count; v++)
        buffer_printf(&list, "%s%s", v > 0 ? ", " : "", names[v]);
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT, "no variable is called '%s'; there are: %.*s",
                     pattern, (int)list.size, list.data);
    buffer_finish(&list);
    return status;
}

struct status other_optimizers_read(const char *text, const char *const *names, int count,
                                    struct arena *arena, struct client_job *job)
{
    struct optimizer_choice *others =
        ARENA_ARRAY(arena, struct optimizer_choice, OPTIMIZERS_MAX - 1);
    int *optimizer_of = ARENA_ARRAY(arena, int, count), number = 0;
    struct rule_reader reading = { .at = text, .arena = arena };

    do {
        const char *begin = reading.at, *pattern = take_until(&reading.at, "=;", arena);
        if (number == OPTIMIZERS_MAX - 1)
            return status_error(STATUS_INVALID_ARGUMENT, "more than %d patterns",
                                OPTIMIZERS_MAX - 1);
        if (*pattern == '\0' || !take_char(&reading.at, '='))
            return refuse(begin);
        reading.out = &others[number++];
        TRY(read_optimizer(&reading));
        TRY(match(pattern, names, count, number, optimizer_of));
    } while (take_char(&reading.at, ';'));
    if (*skip_space(reading.at) != '\0')
        return refuse(reading.at);
    job->others = others;
    job->others_count = number;
    job->optimizer_of = optimizer_of;
    return status_ok();
}

/* ---- Keras' MultiOptimizer ---- */

/* A pattern, and the same text for a plain comparison. */
struct matcher {
    const char *text;
    regex_t expression;
};

#define PATTERN_MAX 1000

/* Does the pattern use features of Python's expressions that POSIX lacks or reads differently?
 * Counted repeats are refused too, because nested ones exhaust memory. */
static bool is_python_only(const char *pattern)
{
    bool in_set = false;

    if (strlen(pattern) > PATTERN_MAX) /* nesting takes stack */
        return true;

    for (const char *at = pattern; *at != '\0'; at++) {
        if (in_set && *at == '\\')
            return true;
        if (!in_set && *at == '\\' && (isalnum((unsigned char)at[1]) || *++at == '\0'))
            return true;
        if (!in_set && (*at == '{' || strncmp(at, "(?", 2) == 0 || strncmp(at, "+?", 2) == 0))
            return true;
        if (!in_set && *at == '[')
            in_set = true;
        else if (*at == ']')
            in_set = false;
    }
    return false;
}

static struct status matcher_init(struct matcher *matcher, const char *pattern, struct arena *arena)
{
    char reason[200];

    if (is_python_only(pattern))
        return status_error(STATUS_UNIMPLEMENTED,
                            "pattern '%.200s': of Python's expressions, only those that POSIX has "
                            "as well are implemented, without {} and up to 1000 bytes",
                            pattern);
    int failed = regcomp(&matcher->expression, arena_printf(arena, "^(%s)$", pattern),
                         REG_EXTENDED | REG_NOSUB);
    if (failed == 0) {
        matcher->text = pattern;
        return status_ok();
    }
    regerror(failed, &matcher->expression, reason, sizeof reason);
    return status_error(STATUS_INVALID_ARGUMENT, "pattern '%.200s': %s", pattern, reason);
}

static bool fits(const struct matcher *matcher, const char *name, const char *in_model, bool plain)
{
    if (plain)
        return strcmp(matcher->text, name) == 0 || strcmp(matcher->text, in_model) == 0;
    return regexec(&matcher->expression, name, 0, NULL, 0) == 0 ||
           regexec(&matcher->expression, in_model, 0, NULL, 0) == 0;
}

/* Chooses the number of a variable's optimizer; 0: the job's. */
static struct status choose_number(const struct matcher *matchers, int count, const char *name,
                                   const char *in_model, int *out)
{
    *out = 0;
    for (int i = 0; i < count && *out == 0; i++)
        *out = fits(&matchers[i], name, in_model, true) ? i + 1 : 0;
    for (int i = 0, first = *out; i < count && first == 0; i++) {
        if (!fits(&matchers[i], name, in_model, false))
            continue;
        if (*out != 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the patterns '%s' and '%s' both fit the variable '%s'",
                                matchers[*out - 1].text, matchers[i].text, name);
        *out = i + 1;
    }
    return status_ok();
}

struct status other_optimizers_match(const struct layers_other_optimizer *patterns,
                                     const char *model, const char *const *names, int count,
                                     struct arena *arena, struct client_job *job)
{
    struct matcher *matchers = ARENA_ARRAY(arena, struct matcher, job->others_count);
    int *optimizer_of = ARENA_ARRAY(arena, int, count), made = 0;
    struct status status = status_ok();

    while (made < job->others_count && status_is_ok(status)) {
        status = matcher_init(&matchers[made], patterns[made].pattern, arena);
        made += status_is_ok(status);
    }
    for (int v = 0; v < count && status_is_ok(status); v++)
        status = choose_number(matchers, made, names[v],
                               arena_printf(arena, "%s/%s", model, names[v]), &optimizer_of[v]);
    for (int i = 0; i < made; i++)
        regfree(&matchers[i].expression);
    job->optimizer_of = optimizer_of;
    return status;
}

/* ---- beside Muon ---- */

/* A setting of the job, or its optimizer's default. */
static float job_setting(const struct client_job *job, const char *name)
{
    const struct optimizer *optimizer = optimizer_find(job->optimizer);

    for (int i = 0; i < job->settings_count; i++)
        if (strcmp(job->settings[i].name, name) == 0)
            return job->settings[i].value;
    return optimizer->settings[optimizer_setting_index(optimizer, name)].initial;
}

static struct status check_muon(const struct client_job *job)
{
    float steps = job_setting(job, "ns_steps"), ratio = job_setting(job, "adam_lr_ratio");

    if (!(steps >= 0 && steps <= MUON_STEPS_MAX))
        return status_error(STATUS_INVALID_ARGUMENT, "ns_steps is %g, expected 0 to %d",
                            (double)steps, MUON_STEPS_MAX);
    if (!(ratio > 0) || isinf(ratio))
        return status_error(STATUS_INVALID_ARGUMENT, "adam_lr_ratio is %g, expected above 0",
                            (double)ratio);
    return status_ok();
}

static bool is_for_adamw(const struct muon_variable *variable, bool without_embeddings)
{
    return !variable->is_matrix ||
           (without_embeddings && strcasestr(variable->name, "embedding") != NULL);
}

/* Keras multiplies the rate of the update by adam_lr_ratio, but not that of the decay. */
static struct optimizer_choice adamw_of(const struct client_job *job, struct arena *arena)
{
    float ratio = job_setting(job, "adam_lr_ratio");
    const struct setting_value settings[] = {
        { "beta_1", job_setting(job, "adam_beta_1") },
        { "beta_2", job_setting(job, "adam_beta_2") },
        { "epsilon", job_setting(job, "epsilon") },
        { "weight_decay", job_setting(job, "adam_weight_decay") / ratio },
    };

    return (struct optimizer_choice){ .name = "adamw",
                                      .learning_rate = job->learning_rate * ratio,
                                      .rate_ratio = ratio,
                                      .settings =
                                          (void *)arena_memdup(arena, settings, sizeof settings),
                                      .settings_count = (int)COUNT(settings) };
}

struct status other_optimizers_beside_muon(const struct muon_variable *variables, int count,
                                           struct arena *arena, struct client_job *job)
{
    int *optimizer_of = ARENA_ARRAY(arena, int, count), number = job->others_count + 1;
    struct optimizer_choice *others = ARENA_ARRAY(arena, struct optimizer_choice, number);
    bool needed = false;

    if (optimizer_find(job->optimizer)->whole != muon_update)
        return status_ok();
    TRY(status_in(check_muon(job), "muon"));
    bool without_embeddings = job_setting(job, "exclude_embeddings") != 0;
    for (int v = 0; v < count; v++) {
        optimizer_of[v] = client_job_number(job, v);
        if (optimizer_of[v] != 0 || !is_for_adamw(&variables[v], without_embeddings))
            continue;
        optimizer_of[v] = number;
        needed = true;
    }
    if (!needed)
        return status_ok();
    if (number > OPTIMIZERS_MAX - 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "--optimizer_for with %d patterns beside muon, which needs adamw: at "
                            "most %d",
                            number - 1, OPTIMIZERS_MAX - 2);
    for (int i = 0; i < job->others_count; i++)
        others[i] = job->others[i];
    others[number - 1] = adamw_of(job, arena);
    job->others = others;
    job->others_count = number;
    job->optimizer_of = optimizer_of;
    return status_ok();
}
