/* TF_CONFIG: a job map as JSON in the environment, as read by tf.estimator.RunConfig. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_value.h"
#include "trainer/job/job_map.h"

/* An index: 3, "3" or, from programs that count in doubles, 3.0. */
static struct status read_index(const char *what, const struct json_value *value,
                                struct arena *arena, uint32_t *out)
{
    long long index = -1;
    double number;

    if (json_value_number(value, &number)) {
        index = number >= 0 && number < JOB_TASKS_MAX && number == (double)(long long)number
                    ? (long long)number
                    : -1;
    } else if (value->kind == JSON_VALUE_TEXT) {
        const char *text = value->text;
        char *end;
        errno = 0;
        index = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
        if (index >= 0 && (errno != 0 || *end != '\0'))
            index = -1;
    }
    if (index < 0 || index >= JOB_TASKS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s is %s, not an index from 0 to %d", what,
                            json_value_show(value, arena), JOB_TASKS_MAX - 1);
    *out = (uint32_t)index;
    return status_ok();
}

static struct status add_task(const char *job, uint32_t index, const struct json_value *address,
                              struct arena *arena, struct job_list *list)
{
    if (address->kind != JSON_VALUE_TEXT)
        return status_error(STATUS_INVALID_ARGUMENT, "the address of %s %u is not a string", job,
                            index);
    list->tasks[list->count++] = (struct job_task){ index, arena_strdup(arena, address->text) };
    return status_ok();
}

/* Reads a list of addresses or, in a sparse cluster, an object that maps indices to addresses. */
static struct status read_list(const char *job, const struct json_value *value, struct arena *arena,
                               struct job_list *list)
{
    bool is_list = value->kind == JSON_VALUE_LIST;

    if (!is_list && value->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not a list of addresses", job);
    if (value->count > JOB_TASKS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' has %d tasks, at most %d", job,
                            value->count, JOB_TASKS_MAX);
    list->tasks = ARENA_ARRAY(arena, struct job_task, value->count + 1);
    for (int i = 0; i < value->count; i++) {
        uint32_t index = (uint32_t)i;
        if (!is_list) {
            struct json_value key = { .kind = JSON_VALUE_TEXT, .text = value->keys[i] };
            TRY(read_index(arena_printf(arena, "an index of %s", job), &key, arena, &index));
        }
        TRY(add_task(job, index, &value->members[i], arena, list));
    }
    return status_ok();
}

static struct status read_cluster(const struct json_value *cluster, struct arena *arena,
                                  struct job_map *out)
{
    if (cluster->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "'cluster' is not an object");
    for (int i = 0; i < cluster->count; i++) {
        enum job_kind kind;
        TRY(job_kind_parse(cluster->keys[i], out, &kind));
        if (out->lists[kind].count > 0)
            return status_error(STATUS_INVALID_ARGUMENT, "both chief and master are given");
        TRY(read_list(cluster->keys[i], &cluster->members[i], arena, &out->lists[kind]));
    }
    return status_ok();
}

static struct status read_task(const struct json_value *task, struct arena *arena,
                               struct job_map *out)
{
    const char *type = json_value_get_text(task, "type");
    const struct json_value *index = json_value_get(task, "index");
    struct job_map names = { 0 };

    if (task->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "'task' is not an object");
    if (task->count == 0)
        return status_ok();
    if (type == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "'task' has no 'type'");
    TRY(status_in(job_kind_parse(type, &names, &out->kind), "'task'"));
    if (index != NULL)
        TRY(read_index("'index' of 'task'", index, arena, &out->index));
    else if (job_has_many(out->kind))
        return status_error(STATUS_INVALID_ARGUMENT, "'task' has no 'index'");
    out->has_self = true;
    return status_ok();
}

/* A ps of a sparse cluster gets a list of one, itself, whatever its index. */
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

static struct status read_root(const struct json_value *root, bool need_self, struct arena *arena,
                               struct job_map *out)
{
    const struct json_value *cluster = json_value_get(root, "cluster");
    const struct json_value *task = json_value_get(root, "task");
    const struct json_value *sparse = json_value_get(root, "sparseCluster");

    if (root->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "not a JSON object");
    if (cluster != NULL && sparse != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "both cluster and sparseCluster are given");
    out->sparse = sparse != NULL;
    if (cluster == NULL && sparse == NULL)
        return status_ok();
    TRY(read_cluster(sparse != NULL ? sparse : cluster, arena, out));
    if (task != NULL)
        TRY(read_task(task, arena, out));
    place_lone_ps(out);
    out->source = "TF_CONFIG";
    /* Without a task this is a local run, as in TensorFlow; doctor checks the cluster anyway. */
    if (is_alone(out) || (need_self && !out->has_self)) {
        *out = (struct job_map){ .lacks_task = !is_alone(out) };
        return status_ok();
    }
    return job_map_check(out, need_self, arena);
}

struct status job_map_parse(const char *tf_config, bool need_self, struct arena *arena,
                            struct job_map *out)
{
    const struct json_value *root;

    *out = (struct job_map){ 0 };
    if (tf_config[strspn(tf_config, " \t\r\n")] == '\0')
        return status_ok();
    TRY(json_value_read_strict(bytes_of(tf_config), arena, &root));
    struct status status = read_root(root, need_self, arena, out);
    if (!status_is_ok(status))
        *out = (struct job_map){ 0 };
    return status;
}
