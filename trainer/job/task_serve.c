/* Runs a ps as a process. */
#include <inttypes.h>

#include "base/log.h"
#include "base/memory.h"
#include "trainer/job/task_endpoint.h"
#include "trainer/protocol/wait_log.h"
#include "trainer/ps/ps.h"

#define TICK_MS     100
#define LATE_MS     1000 /* a tick later than this means that the process did not run */
#define REPEAT_MS   10000
#define SPEAK_MS    60000 /* between two log lines about the job's step */
#define FAREWELL_MS 10000 /* for tasks that have not been told that the job is over */

struct serving {
    const struct task_options *options;
    struct task_endpoint endpoint;
    struct ps *ps;
    struct budget budget; /* for the variables and all requests */
    struct loop_timer timer;
    struct wait_log wait_log;
    int64_t began_ns, over_ns; /* 0: not over */
    int64_t due_ns;            /* the next tick */
    int64_t spoke_ns;
    uint64_t spoke_step;
    bool training; /* said in the log */
    bool stopped;
    struct status status; /* why it stopped */
};

static void stop(struct serving *serving, struct status why)
{
    serving->stopped = true;
    serving->status = status_keep(serving->endpoint.arena, why);
    /* To the waiting tasks the ps is lost, whatever the reason. */
    ps_stop(serving->ps, status_error(STATUS_ABORTED, "%s was stopped", serving->endpoint.name));
    loop_stop(serving->endpoint.loop);
}

/* May the ps exit? It may once all tasks have been told the outcome, or have had time to ask. */
static bool may_leave(struct serving *serving, int64_t now_ns)
{
    uint32_t trainers = job_map_trainers(serving->options->map);

    return now_ns - serving->over_ns >= (int64_t)FAREWELL_MS * NS_PER_MS ||
           (ps_count_uninformed(serving->ps, trainers) == 0 &&
            rpc_server_connections(serving->endpoint.server) == 0);
}

static void tell_outcome(struct serving *serving, struct status outcome, int64_t now_ns)
{
    serving->over_ns = now_ns;
    if (status_is_ok(outcome))
        log_info("the job is finished at step %" PRIu64, ps_global_step(serving->ps));
    else
        log_error("the job has failed: %s", outcome.message);
}

static void check_outcome(struct serving *serving, struct status outcome, int64_t now_ns)
{
    if (serving->over_ns == 0)
        tell_outcome(serving, outcome, now_ns);
    if (may_leave(serving, now_ns))
        stop(serving, outcome);
}

static void check_idle(struct serving *serving, int64_t now_ns)
{
    const struct task_options *options = serving->options;
    int64_t heard_ns = ps_last_heard_ns(serving->ps);
    int64_t since_ns = heard_ns != 0 ? heard_ns : serving->began_ns;
    int64_t limit_ms = serving->training ? options->linger_timeout_ms : options->start_timeout_ms;

    ps_watch(serving->ps, now_ns, options->linger_timeout_ms, options->start_timeout_ms);
    ps_expire(serving->ps, now_ns);
    if (now_ns - since_ns < limit_ms * NS_PER_MS)
        return;
    struct status why =
        heard_ns != 0
            ? status_error(STATUS_UNAVAILABLE, "nobody has been heard from for %" PRId64 " s",
                           limit_ms / 1000)
            : status_error(STATUS_UNAVAILABLE, "nobody came within %" PRId64 " s", limit_ms / 1000);
    ps_end(serving->ps, why);
    tell_outcome(serving, why, now_ns);
    stop(serving, why); /* no task is there to be told */
}

static void tell_news(struct serving *serving, int64_t now_ns)
{
    int64_t lost_ms = serving->options->linger_timeout_ms;
    char line[512];

    while (ps_next_news(serving->ps, now_ns, lost_ms, line, sizeof line))
        log_info("%s", line);
}

static void check_note(struct serving *serving, int64_t now_ns)
{
    char text[256];
    uint64_t step = ps_global_step(serving->ps);

    ps_describe_wait(serving->ps, text, sizeof text);
    if (wait_log_is_due(&serving->wait_log, text, step, now_ns, REPEAT_MS))
        log_info("waiting for %s", text);
    if (!serving->training && *text == '\0') {
        serving->training = true;
        serving->spoke_ns = now_ns;
        log_info("the variables exist; the job is at step %" PRIu64, step);
    }
    if (serving->training && step != serving->spoke_step &&
        now_ns - serving->spoke_ns >= (int64_t)SPEAK_MS * NS_PER_MS) {
        serving->spoke_ns = now_ns;
        serving->spoke_step = step;
        log_info("the job is at step %" PRIu64, step);
    }
}

/* While the process did not run, the tasks' messages waited in the sockets: silence during that
 * time does not count. If the process is stopped in the middle of a tick, only the next one is
 * late; so whatever a tick says of silence is up to the tick's begin. */
static void check_late(struct serving *serving, int64_t now_ns)
{
    int64_t late_ns = now_ns - serving->due_ns;

    if (late_ns < (int64_t)LATE_MS * NS_PER_MS)
        return;
    ps_exclude_pause(serving->ps, late_ns);
    serving->began_ns += late_ns;
}

static void tick(void *context)
{
    struct serving *serving = context;
    int64_t now_ns = clock_now_ns(clock_monotonic());
    struct status outcome;

    check_late(serving, now_ns);
    bool over = ps_outcome(serving->ps, &outcome);
    if (!serving->options->watch(serving->options->context, NULL)) {
        stop(serving, over ? outcome : status_error(STATUS_CANCELLED, "stopped"));
    } else if (over) {
        check_outcome(serving, outcome, now_ns);
    } else {
        tell_news(serving, now_ns);
        check_note(serving, now_ns);
        check_idle(serving, now_ns);
    }
    int64_t pause_ms = serving->over_ns != 0 ? TICK_MS / 10 : TICK_MS;
    serving->due_ns = now_ns + pause_ms * NS_PER_MS;
    if (!serving->stopped)
        loop_set_timer(serving->endpoint.loop, &serving->timer, serving->due_ns);
}

/* NULL for a ps of a sparse cluster, which knows no other task. */
static const char *const *name_trainers(const struct job_map *map, struct arena *arena)
{
    static const enum job_kind kinds[] = { JOB_CHIEF, JOB_WORKER }; /* by rank */
    const char **names = ARENA_ARRAY(arena, const char *, job_map_trainers(map) + 1);
    int count = 0;

    for (size_t k = 0; k < COUNT(kinds) && !map->sparse; k++)
        for (int i = 0; i < map->lists[kinds[k]].count; i++) {
            const struct job_task *task = &map->lists[kinds[k]].tasks[i];
            names[count++] = arena_printf(
                arena, "%s at %s", job_task_name(map, kinds[k], task->index, arena), task->address);
        }
    return map->sparse ? NULL : names;
}

static struct status serve(struct serving *serving)
{
    const struct job_map *map = serving->options->map;

    TRY(endpoint_listen(&serving->endpoint, &serving->budget));
    rpc_server_add(serving->endpoint.server, &ps_service, serving->ps);
    log_info("serves at %s", job_self(map)->address);
    endpoint_warn_of_plaintext(&serving->endpoint);
    serving->began_ns = serving->due_ns = clock_now_ns(clock_monotonic());
    serving->timer = (struct loop_timer){ .expired = tick, .context = serving };
    loop_set_timer(serving->endpoint.loop, &serving->timer, serving->began_ns);
    TRY(loop_run(serving->endpoint.loop));
    return serving->status;
}

struct status task_serve(const struct task_options *options)
{
    const struct job_map *map = options->map;
    struct serving serving = { .options = options,
                               .budget.limit_bytes = options->memory_budget_bytes,
                               .status = status_ok() };
    memory_keep_freed(); /* messages and the rows of updates take some 100 KB to many MB each */
    struct status status = endpoint_open(&serving.endpoint, options);

    if (status_is_ok(status)) {
        log_set_name(serving.endpoint.name);
        struct ps_options ps = { .cluster = options->cluster,
                                 .index = map->index,
                                 .incarnation = serving.endpoint.identity.incarnation,
                                 .ps_list = map->sparse ? NULL : serving.endpoint.ps_list,
                                 .address = job_self(map)->address,
                                 .trainers = name_trainers(map, serving.endpoint.arena),
                                 .trainers_count = job_map_trainers(map),
                                 .budget = &serving.budget };
        serving.ps = ps_create(&ps);
        status = serve(&serving);
    }
    if (!status_is_ok(status) && status.code != STATUS_CANCELLED && serving.over_ns == 0)
        log_error("%s", status.message);
    struct status held = status_hold(status);    /* calls end with the endpoint, and fail */
    rpc_server_destroy(serving.endpoint.server); /* before what it serves */
    serving.endpoint.server = NULL;
    ps_destroy(serving.ps);
    endpoint_close(&serving.endpoint);
    return status_resume(held);
}
