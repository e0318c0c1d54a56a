/* TF_CONFIG: a job map as JSON in the environment, as tf.estimator.RunConfig reads it. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/job/job_map.h"

/* An index: 3 or "3". */
static struct status read_index(const char *what, const json_t *value, uint32_t *out)
{
    long long index = -1;

    if (json_is_integer(value)) {
        index = json_integer_value(value);
    } else if (json_is_string(value)) {
        const char *text = json_string_value(value);
        char *end;
        errno = 0;
        index = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
        if (index >= 0 && (errno != 0 || *end != '\0'))
            index = -1;
    }
    if (index < 0 || index >= JOB_TASKS_MAX) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        struct status status =
            status_error(STATUS_INVALID_ARGUMENT, "%s is %s, not an index from 0 to %d", what,
                         text != NULL ? text : "something else", JOB_TASKS_MAX - 1);
        free(text);
        return status;
    }
    *out = (uint32_t)index;
    return status_ok();
}

static struct status add_task(const char *job, uint32_t index, const json_t *address,
                              struct arena *arena, struct job_list *list)
{
    if (!json_is_string(address))
        return status_error(STATUS_INVALID_ARGUMENT, "the address of %s %u is not a string", job,
                            index);
    list->tasks[list->count++] =
        (struct job_task){ index, arena_strdup(arena, json_string_value(address)) };
    return status_ok();
}

/* Reads a list of addresses or, in a sparse cluster, an object that maps indices to addresses. */
static struct status read_list(const char *job, json_t *value, struct arena *arena,
                               struct job_list *list)
{
    size_t size = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    const char *key;
    json_t *address;

    if (!json_is_array(value) && !json_is_object(value))
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not a list of addresses", job);
    if (size > JOB_TASKS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' has %zu tasks, at most %d", job, size,
                            JOB_TASKS_MAX);
    list->tasks = ARENA_ARRAY(arena, struct job_task, size + 1);
    for (size_t i = 0; json_is_array(value) && i < size; i++)
        TRY(add_task(job, (uint32_t)i, json_array_get(value, i), arena, list));
    json_object_foreach(value, key, address) /* an array has no members */
    {
        json_t *text = json_string(key);
        uint32_t index = 0;
        struct status status = read_index(arena_printf(arena, "an index of %s", job), text, &index);
        json_decref(text);
        TRY(status);
        TRY(add_task(job, index, address, arena, list));
    }
    return status_ok();
}

static struct status read_cluster(json_t *cluster, struct arena *arena, struct job_map *out)
{
    const char *job;
    json_t *value;
    enum job_kind kind;

    if (!json_is_object(cluster))
        return status_error(STATUS_INVALID_ARGUMENT, "'cluster' is not an object");
    json_object_foreach(cluster, job, value)
    {
        TRY(job_kind_parse(job, out, &kind));
        if (out->lists[kind].count > 0)
            return status_error(STATUS_INVALID_ARGUMENT, "both chief and master are given");
        TRY(read_list(job, value, arena, &out->lists[kind]));
    }
    return status_ok();
}

static struct status read_task(json_t *task, struct job_map *out)
{
    const json_t *type = json_object_get(task, "type"), *index = json_object_get(task, "index");
    struct job_map names = { 0 };

    if (!json_is_object(task))
        return status_error(STATUS_INVALID_ARGUMENT, "'task' is not an object");
    if (json_object_size(task) == 0)
        return status_ok();
    if (!json_is_string(type))
        return status_error(STATUS_INVALID_ARGUMENT, "'task' has no 'type'");
    TRY(status_in(job_kind_parse(json_string_value(type), &names, &out->kind), "'task'"));
    if (index != NULL)
        TRY(read_index("'index' of 'task'", index, &out->index));
    else if (job_has_many(out->kind))
        return status_error(STATUS_INVALID_ARGUMENT, "'task' has no 'index'");
    out->has_self = true;
    return status_ok();
}

/* A ps of a sparse cluster gets a list of one, which is itself, whatever its index. */
static void place_lone_ps(struct job_map *map)
{
    struct job_list *ps = &map->lists[JOB_PS];

    if (map->sparse && map->has_self && map->kind == JOB_PS && ps->count == 1)
        ps->tasks[0].index = map->index;
}

/* With one task (not counting an evaluator) and no ps, TensorFlow trains in that process alone. */
static bool is_alone(const struct job_map *map)
{
    return map->lists[JOB_PS].count == 0 &&
           map->lists[JOB_CHIEF].count + map->lists[JOB_WORKER].count <= 1 &&
           !(map->has_self && map->kind == JOB_EVALUATOR);
}

static struct status read_root(json_t *root, bool need_self, struct arena *arena,
                               struct job_map *out)
{
    json_t *cluster = json_object_get(root, "cluster"), *task = json_object_get(root, "task");
    json_t *sparse = json_object_get(root, "sparseCluster");

    if (!json_is_object(root))
        return status_error(STATUS_INVALID_ARGUMENT, "not a JSON object");
    if (cluster != NULL && sparse != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "both cluster and sparseCluster are given");
    out->sparse = sparse != NULL;
    if (cluster == NULL && sparse == NULL)
        return status_ok();
    TRY(read_cluster(sparse != NULL ? sparse : cluster, arena, out));
    if (task != NULL)
        TRY(read_task(task, out));
    place_lone_ps(out);
    /* Without a task this is a local run, as in TensorFlow; doctor looks at the cluster anyway. */
    if (is_alone(out) || (need_self && !out->has_self)) {
        *out = (struct job_map){ 0 };
        return status_ok();
    }
    return job_map_check(out, need_self, arena);
}

struct status job_map_parse(const char *tf_config, bool need_self, struct arena *arena,
                            struct job_map *out)
{
    json_error_t error;

    *out = (struct job_map){ 0 };
    if (tf_config[strspn(tf_config, " \t\r\n")] == '\0')
        return status_ok();
    json_t *root = json_loads(tf_config, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "line %d, column %d: %s", error.line,
                            error.column, error.text);
    struct status status = read_root(root, need_self, arena, out);
    json_decref(root);
    if (!status_is_ok(status))
        *out = (struct job_map){ 0 };
    return status;
}
