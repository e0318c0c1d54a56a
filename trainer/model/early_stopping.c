#include "trainer/model/early_stopping.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_value.h"
#include "base/text_print.h"

#define VALIDATION "val_" /* Keras' prefix of values computed from the validation rows */
#define STATE_MAX  ((size_t)1 << 16)

/* ---- the monitored value ---- */

static struct status unknown_monitor(const char *monitor, const struct training_graph *graph)
{
    struct buffer known = { 0 };

    buffer_append_text(&known, "loss");
    for (int m = 0; m < graph->metrics_count; m++)
        buffer_printf(&known, ", %s", graph->metrics[m].name);
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT, "--monitor=%s: an evaluation of the model has %.*s",
                     monitor, (int)known.size, known.data);
    buffer_finish(&known);
    return status;
}

static struct status find_monitor(const struct training_graph *graph, struct early_stopping *out)
{
    const char *name = out->options.monitor;

    if (strncmp(name, VALIDATION, strlen(VALIDATION)) == 0)
        name += strlen(VALIDATION);
    out->name = name;
    out->metric = -1;
    if (strcmp(name, "loss") == 0)
        return status_ok();
    for (int m = 0; m < graph->metrics_count; m++) {
        if (strcmp(graph->metrics[m].name, name) != 0)
            continue;
        out->metric = m;
        out->larger_is_better = graph->metrics[m].larger_is_better;
        return status_ok();
    }
    return unknown_monitor(out->options.monitor, graph);
}

static struct status read_baseline(const char *text, struct early_stopping *out)
{
    char *end;

    if (*text == '\0')
        return status_ok();
    out->has_baseline = true;
    out->baseline = strtod(text, &end);
    if (*end != '\0' || !isfinite(out->baseline))
        return status_error(STATUS_INVALID_ARGUMENT, "--early_stopping_baseline=%s is no number",
                            text);
    return status_ok();
}

struct status early_stopping_init(const struct early_stopping_options *options,
                                  const struct training_graph *graph, struct early_stopping *out)
{
    *out = (struct early_stopping){ .options = *options };
    TRY(find_monitor(graph, out));
    if (strcmp(options->mode, "auto") != 0)
        out->larger_is_better = strcmp(options->mode, "max") == 0;
    return read_baseline(options->baseline, out);
}

double early_stopping_value(const struct early_stopping *stopping,
                            const struct evaluation *evaluation)
{
    return stopping->metric < 0 ? evaluation->loss : evaluation->metrics[stopping->metric];
}

/* ---- the verdict on a value ---- */

static bool improves(const struct early_stopping *stopping, double value, double reference)
{
    double delta = fabs(stopping->options.min_delta);

    return stopping->larger_is_better ? value - delta > reference : value + delta < reference;
}

/* As in Keras, the first evaluation never stops the job. */
bool early_stopping_is_enough(const struct early_stopping *stopping)
{
    int64_t patience = stopping->options.patience;

    return patience >= 0 && stopping->wait >= patience && stopping->wait > 0 &&
           stopping->evaluations > 1 && stopping->best_step != stopping->step;
}

/* See Keras' EarlyStopping.on_epoch_end. The wait restarts only if the baseline is exceeded too. */
struct verdict early_stopping_add(struct early_stopping *stopping, uint64_t step, double value)
{
    if (step <= stopping->step && stopping->evaluations > 0)
        return (struct verdict){ 0 };
    stopping->step = step;
    if (stopping->evaluations++ < stopping->options.start_from)
        return (struct verdict){ 0 };
    stopping->wait++;
    if (isnan(value) || (stopping->has_best && !improves(stopping, value, stopping->best)))
        return (struct verdict){ .stop = early_stopping_is_enough(stopping) };
    stopping->has_best = true;
    stopping->best = value;
    stopping->best_step = step;
    if (!stopping->has_baseline || improves(stopping, value, stopping->baseline))
        stopping->wait = 0;
    return (struct verdict){ .best = true };
}

/* ---- the state in a file ---- */

static struct status take_state(const struct json_value *json, struct early_stopping *stopping)
{
    static const char *const names[] = { "step", "evaluations", "wait", "best_step" };
    const char *monitor = json_value_get_text(json, "monitor");
    const struct json_value *best = json_value_get(json, "best");
    int64_t numbers[COUNT(names)];

    for (size_t i = 0; i < COUNT(names); i++) {
        const struct json_value *value = json_value_get(json, names[i]);
        if (value == NULL || value->kind != JSON_VALUE_INT || value->integer < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not an integer >= 0", names[i]);
        numbers[i] = value->integer;
    }
    if (monitor == NULL || strcmp(monitor, stopping->name) != 0)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "it is about '%s', and --monitor is '%s': remove the file to begin anew",
            monitor != NULL ? monitor : "", stopping->name);
    stopping->has_best = json_value_number(best, &stopping->best);
    if (!stopping->has_best && !json_value_is_null(best))
        return status_error(STATUS_INVALID_ARGUMENT, "'best' is not a number");
    stopping->step = (uint64_t)numbers[0];
    stopping->evaluations = numbers[1];
    stopping->wait = numbers[2];
    stopping->best_step = (uint64_t)numbers[3];
    return status_ok();
}

struct status early_stopping_read(struct early_stopping *stopping, const char *path)
{
    struct buffer file = { 0 };
    struct arena *arena = arena_create(0);
    const struct json_value *json;
    struct status status = file_read(path, STATE_MAX, &file);

    if (status_is_ok(status))
        status = json_value_read((struct bytes){ file.data, file.size }, arena, &json);
    else if (status.code == STATUS_NOT_FOUND)
        goto none;
    if (status_is_ok(status))
        status = take_state(json, stopping);
    status = status_in(status, "'%s'", path);
    buffer_finish(&file);
    arena_destroy(arena);
    return status;

none:
    buffer_finish(&file);
    arena_destroy(arena);
    return status_ok();
}

struct status early_stopping_write(const struct early_stopping *stopping, const char *path)
{
    struct buffer text = { 0 };

    buffer_append_text(&text, "{\"monitor\":");
    json_print_string(&text, bytes_of(stopping->name));
    buffer_printf(&text,
                  ",\"step\":%" PRIu64 ",\"evaluations\":%" PRId64 ",\"wait\":%" PRId64
                  ",\"best_step\":%" PRIu64,
                  stopping->step, stopping->evaluations, stopping->wait, stopping->best_step);
    if (stopping->has_best && isfinite(stopping->best))
        buffer_printf(&text, ",\"best\":%.17g}\n", stopping->best);
    else
        buffer_append_text(&text, ",\"best\":null}\n");
    struct status status = file_write(path, (struct bytes){ text.data, text.size });
    buffer_finish(&text);
    return status;
}
