#include "server/models/model_limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "proto/model_limits.pb-c.h"
#include "proto/text.h"

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define FLAG           "--model_limits_file"

struct model_limits_table {
    struct arena *arena;
    struct map models; /* of struct model_limits by name */
    struct model_limits others;
    pthread_mutex_t lock;
    struct map gates; /* of struct model_gate by name, while the model has a version */
};

/* ---- the file ---- */

static struct status check_limit(const Slipway__ModelLimits *model, const char *limit,
                                 int64_t value)
{
    if (value >= 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "model '%s': %s: %lld: wants 0 or more",
                        model->name, limit, (long long)value);
}

static struct status read_limits(const Slipway__ModelLimits *model, struct model_limits *out)
{
    TRY(check_limit(model, "max_requests", model->max_requests));
    TRY(check_limit(model, "max_waiting_requests", model->max_waiting_requests));
    TRY(check_limit(model, "max_run_memory_bytes", model->max_run_memory_bytes));
    TRY(check_limit(model, "deadline_ms", model->deadline_ms));
    if (model->deadline_ms > INT64_MAX / 4 / NS_PER_MS)
        return status_error(STATUS_INVALID_ARGUMENT, "model '%s': deadline_ms: %lld is too large",
                            model->name, (long long)model->deadline_ms);
    *out = (struct model_limits){ model->max_requests, model->max_waiting_requests,
                                  (size_t)model->max_run_memory_bytes,
                                  model->deadline_ms * NS_PER_MS };
    return status_ok();
}

static struct status read_model(const Slipway__ModelLimits *model, struct model_limits_table *table)
{
    struct model_limits *limits = ARENA_NEW(table->arena, struct model_limits);
    if (model->name[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "a model without a name; `others` has the "
                                                     "limits of all that are not named");
    if (map_has(&table->models, bytes_of(model->name)))
        return status_error(STATUS_INVALID_ARGUMENT, "model '%s' is listed twice", model->name);
    TRY(read_limits(model, limits));
    map_put_text(&table->models, arena_strdup(table->arena, model->name), limits);
    return status_ok();
}

static struct status read_message(const Slipway__ModelLimitsFile *file,
                                  struct model_limits_table *table)
{
    for (size_t i = 0; i < file->n_model; i++)
        TRY(read_model(file->model[i], table));
    return file->others != NULL ? read_limits(file->others, &table->others) : status_ok();
}

static struct status read_text(const char *path, struct buffer *text,
                               struct model_limits_table *table)
{
    Slipway__ModelLimitsFile *file;
    TRY(status_in(file_read(path, FILE_BYTES_MAX, text), FLAG));
    TRY(status_in(proto_text_read(&slipway__model_limits_file__descriptor,
                                  (struct bytes){ text->data, text->size }, PROTO_TEXT_CHECK_UTF8,
                                  table->arena, &file),
                  "Invalid protobuf file: '%s'", path));
    return status_in(read_message(file, table), FLAG "=%s", path);
}

struct status model_limits_read_file(const char *path, struct model_limits_table **out)
{
    struct buffer text = { 0 };
    struct model_limits_table *table = zalloc(sizeof *table);
    table->arena = arena_create(16 * FILE_BYTES_MAX);
    table->models.arena = table->arena;
    pthread_mutex_init(&table->lock, NULL);
    struct status status = read_text(path, &text, table);
    buffer_finish(&text);
    if (status_is_ok(status))
        *out = table;
    else
        model_limits_destroy(table);
    return status;
}

void model_limits_destroy(struct model_limits_table *table)
{
    if (table == NULL)
        return;
    map_finish(&table->gates);
    pthread_mutex_destroy(&table->lock);
    arena_destroy(table->arena);
    free(table);
}

/* ---- gates ---- */

static bool has_limits(const struct model_limits *limits)
{
    return limits->max_requests > 0 || limits->max_waiting_requests > 0 ||
           limits->max_run_bytes > 0 || limits->deadline_ns > 0;
}

static struct model_gate *make_gate(struct model_limits_table *table, const char *name,
                                    const struct model_limits *limits)
{
    struct model_gate *gate = zalloc(sizeof *gate);
    gate->name = xstrdup(name);
    gate->limits = *limits;
    gate->table = table;
    map_put(&table->gates, bytes_of(gate->name), gate);
    return gate;
}

struct model_gate *model_gate_acquire(struct model_limits_table *table, const char *name)
{
    if (table == NULL)
        return NULL;
    const struct model_limits *limits = map_get(&table->models, bytes_of(name));
    if (limits == NULL)
        limits = &table->others;
    if (!has_limits(limits))
        return NULL;
    pthread_mutex_lock(&table->lock);
    struct model_gate *gate = map_get(&table->gates, bytes_of(name));
    if (gate == NULL)
        gate = make_gate(table, name, limits);
    gate->users++;
    pthread_mutex_unlock(&table->lock);
    return gate;
}

void model_gate_release(struct model_gate *gate)
{
    if (gate == NULL)
        return;
    struct model_limits_table *table = gate->table;
    pthread_mutex_lock(&table->lock);
    bool last = --gate->users == 0;
    if (last)
        map_remove(&table->gates, bytes_of(gate->name));
    pthread_mutex_unlock(&table->lock);
    if (!last)
        return;
    free(gate->name);
    free(gate);
}

struct status model_gate_enter(struct model_gate *gate)
{
    int max = gate->limits.max_requests;
    int before = atomic_fetch_add_explicit(&gate->requests, 1, memory_order_relaxed);
    if (max == 0 || before < max)
        return status_ok();
    model_gate_leave(gate);
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "model '%s' has %d requests in flight, its limit (max_requests in " FLAG
                        "): try again later",
                        gate->name, max);
}

void model_gate_leave(struct model_gate *gate)
{
    atomic_fetch_sub_explicit(&gate->requests, 1, memory_order_relaxed);
}

struct status model_gate_wait(struct model_gate *gate)
{
    int max = gate->limits.max_waiting_requests;
    int before = atomic_fetch_add_explicit(&gate->waiting, 1, memory_order_relaxed);
    if (max == 0 || before < max)
        return status_ok();
    model_gate_stop_waiting(&gate->waiting);
    return status_error(STATUS_UNAVAILABLE,
                        "model '%s' has %d requests that wait for a run, its limit "
                        "(max_waiting_requests in " FLAG "): try again later",
                        gate->name, max);
}

struct status model_gate_name_deadline(const struct model_gate *gate, struct status status)
{
    if (status.code != STATUS_DEADLINE_EXCEEDED)
        return status;
    return status_in(status, "model '%s' (deadline_ms: %lld in " FLAG ")", gate->name,
                     (long long)(gate->limits.deadline_ns / NS_PER_MS));
}

struct status model_gate_name_memory(const struct model_gate *gate, struct status status)
{
    if (status.code != STATUS_RESOURCE_EXHAUSTED)
        return status;
    return status_in(status, "model '%s' (max_run_memory_bytes: %zu in " FLAG ")", gate->name,
                     gate->limits.max_run_bytes);
}
