#include "trainer/job/job_map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/plural.h"
#include "trainer/job/job_ranks.h"
#include "trainer/protocol/addresses.h"

static const char *const names[JOB_KINDS] = { "ps", "worker", "chief", "evaluator" };

/* "ps", "master" */
static const char *kind_name(const struct job_map *map, enum job_kind kind)
{
    return kind == JOB_CHIEF && map->master ? "master" : names[kind];
}

const char *job_task_name(const struct job_map *map, enum job_kind kind, uint32_t index,
                          struct arena *arena)
{
    if (kind == JOB_CHIEF || (kind == JOB_EVALUATOR && map->lists[kind].count <= 1))
        return kind_name(map, kind);
    return arena_printf(arena, "%s %u", kind_name(map, kind), index);
}

struct status job_kind_parse(const char *name, struct job_map *map, enum job_kind *out)
{
    if (strcmp(name, "master") == 0) {
        map->master = true;
        *out = JOB_CHIEF;
        return status_ok();
    }
    for (int kind = 0; kind < JOB_KINDS; kind++)
        if (strcmp(name, names[kind]) == 0) {
            *out = (enum job_kind)kind;
            return status_ok();
        }
    return status_error(STATUS_UNIMPLEMENTED,
                        "job '%s' is none of ps, worker, chief, master, evaluator", name);
}

bool job_has_many(enum job_kind kind)
{
    return kind == JOB_PS || kind == JOB_WORKER;
}

const struct job_task *job_find(const struct job_map *map, enum job_kind kind, uint32_t index)
{
    const struct job_list *list = &map->lists[kind];

    for (int i = 0; i < list->count; i++)
        if (list->tasks[i].index == index)
            return &list->tasks[i];
    return NULL;
}

const struct job_task *job_self(const struct job_map *map)
{
    return map->has_self ? job_find(map, map->kind, map->index) : NULL;
}

bool job_map_is_local(const struct job_map *map)
{
    return map->lists[JOB_PS].count == 0;
}

/* Is the chief a separate task? A ps of a sparse map cannot know, and need not. */
static bool has_chief(const struct job_map *map)
{
    return map->lists[JOB_CHIEF].count > 0;
}

bool job_map_is_chief(const struct job_map *map)
{
    return map->kind == JOB_CHIEF ||
           (map->kind == JOB_WORKER && map->index == 0 && !has_chief(map));
}

uint32_t job_map_rank(const struct job_map *map)
{
    return map->kind == JOB_WORKER ? map->index + has_chief(map) : 0;
}

uint32_t job_map_trainers(const struct job_map *map)
{
    return map->sparse ? 0 : (uint32_t)(map->lists[JOB_CHIEF].count + map->lists[JOB_WORKER].count);
}

const char *job_map_ps_list(const struct job_map *map, struct arena *arena)
{
    struct buffer text = { 0 };

    for (int i = 0; i < map->lists[JOB_PS].count; i++)
        buffer_printf(&text, i > 0 ? ",%s" : "%s", map->lists[JOB_PS].tasks[i].address);
    char *kept = arena_memdup(arena, text.data, text.size);
    buffer_finish(&text);
    return kept;
}

/* ---- checks ---- */

static struct status no_address(const char *address, const char *why)
{
    return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not a host:port: %s", address, why);
}

static bool is_port(const char *text)
{
    char *end;

    if (!isdigit((unsigned char)*text) || strlen(text) > 5)
        return false;
    long port = strtol(text, &end, 10);
    return *end == '\0' && port >= 1 && port <= 65535;
}

struct status job_check_address(const char *address)
{
    const char *colon = strrchr(address, ':');
    bool v6 = *address == '[';

    if (*address == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "an address is empty; is there a comma too many?");
    if (strstr(address, "://") != NULL)
        return no_address(address, "remove the scheme in front");
    if (strncmp(address, "unix:", 5) == 0)
        return address[5] != '\0' ? status_ok() : no_address(address, "the path is missing");
    if (colon == NULL || colon == address || !is_port(colon + 1))
        return no_address(address, "want a host, a colon and a port from 1 to 65535");
    if (v6 ? colon[-1] != ']' || colon - address < 4 : strchr(address, ':') != colon)
        return no_address(address, "write an IPv6 address in brackets, as in [::1]:2222");
    for (const char *at = address; at < colon; at++)
        if (!isgraph((unsigned char)*at) || strchr("/,;", *at) != NULL)
            return no_address(
                address, "want a comma between two of them, and names of letters, digits, . and -");
    return status_ok();
}

static int by_index(const void *a, const void *b)
{
    const struct job_task *left = a, *right = b;

    return left->index < right->index ? -1 : left->index > right->index;
}

static struct status check_list(const struct job_map *map, enum job_kind kind)
{
    const struct job_list *list = &map->lists[kind];

    for (int i = 0; i < list->count; i++) {
        TRY(status_in(job_check_address(list->tasks[i].address), "%s %u", kind_name(map, kind),
                      list->tasks[i].index));
        if (i > 0 && list->tasks[i].index == list->tasks[i - 1].index)
            return status_error(STATUS_INVALID_ARGUMENT, "%s %u is listed twice",
                                kind_name(map, kind), list->tasks[i].index);
    }
    return status_ok();
}

struct placed_task {
    const char *address; /* normalized */
    enum job_kind kind;
    uint32_t index;
};

static int by_address(const void *a, const void *b)
{
    const struct placed_task *left = a, *right = b;
    int order = strcmp(left->address, right->address);

    return order != 0                  ? order
           : left->kind != right->kind ? (int)left->kind - (int)right->kind
                                       : (left->index < right->index ? -1 : 1);
}

/* Every task listens, so no two may have the same address. */
static struct status check_addresses(const struct job_map *map, struct arena *arena)
{
    int total = 0, count = 0;

    for (int kind = 0; kind < JOB_KINDS; kind++)
        total += map->lists[kind].count;
    struct placed_task *all = ARENA_ARRAY(arena, struct placed_task, total + 1);
    for (int kind = 0; kind < JOB_KINDS; kind++)
        for (int i = 0; i < map->lists[kind].count; i++)
            all[count++] =
                (struct placed_task){ addresses_normalized(map->lists[kind].tasks[i].address,
                                                           arena),
                                      (enum job_kind)kind, map->lists[kind].tasks[i].index };
    qsort(all, (size_t)count, sizeof *all, by_address);
    for (int i = 1; i < count; i++)
        if (strcmp(all[i].address, all[i - 1].address) == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "%s and %s have the same address %s",
                                job_task_name(map, all[i - 1].kind, all[i - 1].index, arena),
                                job_task_name(map, all[i].kind, all[i].index, arena),
                                all[i].address);
    return status_ok();
}

static struct status check_self(const struct job_map *map)
{
    const char *job = kind_name(map, map->kind);
    int count = map->lists[map->kind].count;

    if (map->kind == JOB_EVALUATOR && (map->index > 0 || count > 1))
        return status_error(STATUS_INVALID_ARGUMENT, "evaluator %u: a job has one", map->index);
    if (job_self(map) != NULL)
        return status_ok();
    if (map->kind == JOB_EVALUATOR && count == 0)
        return status_ok(); /* TensorFlow does not list the evaluator in the cluster */
    if (count == 0)
        return status_error(
            STATUS_INVALID_ARGUMENT, "this task is %s %u, but the cluster has no %s tasks%s", job,
            map->index, job, map->kind == JOB_CHIEF ? "; without, worker 0 is the chief" : "");
    if (map->sparse)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "this task is %s %u, which is not in the cluster", job, map->index);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "this task is %s %u, but the cluster has %d %s task%s (0 to %d)", job,
                        map->index, count, job, plural(count), count - 1);
}

struct status job_map_check(struct job_map *map, bool need_self, struct arena *arena)
{
    const struct job_list *ps = &map->lists[JOB_PS];

    for (int kind = 0; kind < JOB_KINDS; kind++) {
        struct job_list *list = &map->lists[kind];
        if (list->count > 0)
            qsort(list->tasks, (size_t)list->count, sizeof *list->tasks, by_index);
        TRY(check_list(map, (enum job_kind)kind));
    }
    TRY(check_addresses(map, arena));
    if (map->lists[JOB_CHIEF].count > 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%d %s tasks: a job has one",
                            map->lists[JOB_CHIEF].count, kind_name(map, JOB_CHIEF));
    if (ps->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "the cluster has no ps tasks");
    bool only_self = map->sparse && map->has_self && map->kind == JOB_PS;
    for (int i = 0; i < ps->count && !only_self; i++)
        if (ps->tasks[i].index != (uint32_t)i)
            return status_error(STATUS_INVALID_ARGUMENT, "ps %d is missing", i);
    bool takes_part = map->has_self || need_self; /* doctor may check a part of the map */
    if (takes_part && !only_self && !map->sparse && job_map_trainers(map) == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "the cluster has no workers");
    return takes_part ? check_self(map) : status_ok();
}

/* ---- the flags ---- */

static const char *trim(char *text)
{
    text += strspn(text, " \t");
    for (size_t end = strlen(text); end > 0 && strchr(" \t", text[end - 1]) != NULL; end--)
        text[end - 1] = '\0';
    return text;
}

static struct status read_hosts(const char *flag, const char *hosts, struct arena *arena,
                                struct job_list *out)
{
    char *text = arena_strdup(arena, hosts);
    int capacity = 1;

    for (const char *at = hosts; *at != '\0'; at++)
        capacity += *at == ',';
    if (*hosts == '\0')
        return status_ok();
    if (capacity > JOB_TASKS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "--%s: %d tasks, at most %d", flag, capacity,
                            JOB_TASKS_MAX);
    out->tasks = ARENA_ARRAY(arena, struct job_task, capacity);
    for (char *at = text, *comma; at != NULL; at = comma != NULL ? comma + 1 : NULL) {
        comma = strchr(at, ',');
        if (comma != NULL)
            *comma = '\0';
        const char *address = trim(at);
        TRY(status_in(job_check_address(address), "--%s, task %d", flag, out->count));
        out->tasks[out->count] = (struct job_task){ (uint32_t)out->count, address };
        out->count++;
    }
    return status_ok();
}

static bool given(const struct job_flags *flags)
{
    return *flags->ps_hosts != '\0' || *flags->worker_hosts != '\0' || *flags->chief_hosts != '\0';
}

static struct status read_flags(const struct job_flags *flags, bool need_self, struct arena *arena,
                                struct job_map *out)
{
    TRY(read_hosts("ps_hosts", flags->ps_hosts, arena, &out->lists[JOB_PS]));
    TRY(read_hosts("worker_hosts", flags->worker_hosts, arena, &out->lists[JOB_WORKER]));
    TRY(read_hosts("chief_hosts", flags->chief_hosts, arena, &out->lists[JOB_CHIEF]));
    out->has_self = *flags->job_name != '\0';
    if (out->has_self)
        TRY(status_in(job_kind_parse(flags->job_name, out, &out->kind), "--job_name"));
    if (need_self && !out->has_self)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--job_name is missing: is this task a ps, a worker, the chief or the "
                            "evaluator?");
    if (out->has_self && flags->task_index < 0 && job_has_many(out->kind))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--task_index is missing: which %s is this task?",
                            kind_name(out, out->kind));
    out->index = flags->task_index < 0 ? 0 : (uint32_t)flags->task_index;
    if (out->lists[JOB_PS].count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "--ps_hosts is missing");
    return job_map_check(out, need_self, arena);
}

/* Reads the ranks of Slurm or MPI, if the job has several tasks. */
static struct status read_ranks(const struct job_flags *flags,
                                const struct job_variables *variables, struct arena *arena,
                                struct job_map *out)
{
    struct job_ranks ranks;

    if (flags->num_ps == 0)
        return status_ok();
    TRY(job_ranks_read(variables, flags->hosts, arena, &ranks));
    if (ranks.count == 0 && *flags->hosts != '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--hosts=%.200s: neither Slurm nor MPI has started this task with "
                            "others",
                            flags->hosts);
    if (ranks.count == 0)
        return status_ok();
    return job_ranks_map(&ranks, flags->num_ps, flags->first_port, arena, out);
}

struct status job_map_read(const struct job_flags *flags, const struct job_variables *variables,
                           bool need_self, struct arena *arena, struct job_map *out)
{
    const char *tf_config = variables->get(variables->context, "TF_CONFIG");

    *out = (struct job_map){ 0 };
    if (given(flags)) {
        out->source = tf_config != NULL ? "--ps_hosts; TF_CONFIG is ignored" : "--ps_hosts";
        return read_flags(flags, need_self, arena, out);
    }
    if (*flags->job_name != '\0' || flags->task_index >= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "--%s needs --ps_hosts",
                            *flags->job_name != '\0' ? "job_name" : "task_index");
    if (tf_config != NULL)
        TRY(status_in(job_map_parse(tf_config, need_self, arena, out), "TF_CONFIG"));
    return job_map_is_local(out) ? read_ranks(flags, variables, arena, out) : status_ok();
}
