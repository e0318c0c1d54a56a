#include "trainer/job/doctor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/remote.h"
#include "rpc/tls.h"
#include "trainer/job/task_endpoint.h"
#include "trainer/protocol/addresses.h"
#include "trainer/protocol/protocol.h"

#define ASK_TIMEOUT_MS 5000
#define PROBES         3 /* the first includes connecting; the best of the others is reported */

/* One task of the map. */
struct probed_task {
    const struct task_endpoint *endpoint;
    const char *name, *address;
    struct arena *arena;
    char resolved[ADDRESS_TEXT_MAX];
    const char *trouble; /* NULL: it is fine */
    int64_t round_trip_ns;
    pthread_t thread;
    bool started;
};

/* ---- asking ---- */

static const char *no_answer(struct probed_task *probed_task, struct channel *channel,
                             struct status status)
{
    bool late = status.code == STATUS_DEADLINE_EXCEEDED;
    struct remote_state state;

    remote_state(channel, &state);
    if (status.code == STATUS_UNIMPLEMENTED)
        return "a gRPC server, but not pstrain";
    if (state.trouble == REMOTE_SILENT || (state.trouble == REMOTE_FINE && late))
        return arena_printf(probed_task->arena, "silent: connected, but no answer in %d s",
                            ASK_TIMEOUT_MS / 1000);
    static const char *const words[] = {
        [REMOTE_UNRESOLVED] = "unresolved: ",
        [REMOTE_REFUSED] = "refused: ",
        [REMOTE_UNREACHABLE] = "unreachable: ",
        [REMOTE_FOREIGN] = "not pstrain: ",
        [REMOTE_TLS] = "TLS: ",
        [REMOTE_LOST] = "lost: ",
    };
    if (state.trouble == REMOTE_FINE)
        return arena_printf(probed_task->arena, "not pstrain: it answers '%s'", status.message);
    return arena_printf(probed_task->arena, "%s%s", words[state.trouble], state.text);
}

/* The difference of the answering task from the one in the map; NULL: none. */
static const char *judge(struct probed_task *probed_task, const struct task_identity *found)
{
    const struct task_identity *mine = &probed_task->endpoint->identity;

    if (found->protocol != mine->protocol)
        return arena_printf(probed_task->arena,
                            "another version: pstrain %s, protocol %u; this is %s, %u",
                            found->version, found->protocol, mine->version, mine->protocol);
    if (strcmp(found->cluster, mine->cluster) != 0)
        return arena_printf(probed_task->arena, "another job: %s of the cluster '%s', not of '%s'",
                            found->task, found->cluster, mine->cluster);
    if (*found->ps_list != '\0' && *mine->ps_list != '\0' &&
        strcmp(addresses_normalized(found->ps_list, probed_task->arena),
               addresses_normalized(mine->ps_list, probed_task->arena)) != 0)
        return arena_printf(probed_task->arena, "another job: %s of the one with the ps tasks %s",
                            found->task, found->ps_list);
    if (strcmp(found->task, probed_task->name) != 0)
        return arena_printf(probed_task->arena, "another task: it is %s", found->task);
    if (strcmp(found->version, mine->version) != 0)
        return arena_printf(probed_task->arena, "another version: pstrain %s, this is %s",
                            found->version, mine->version);
    return NULL;
}

static const char *ask(struct probed_task *probed_task, struct channel *channel)
{
    struct task_identity found = { 0 };
    struct clock *clock = clock_monotonic();

    for (int i = 0; i < PROBES; i++) {
        int64_t began_ns = clock_now_ns(clock);
        struct status status = identify_ask(channel, clock_deadline_ns(clock, ASK_TIMEOUT_MS),
                                            probed_task->arena, &found);
        int64_t took_ns = clock_now_ns(clock) - began_ns;
        if (!status_is_ok(status))
            return no_answer(probed_task, channel, status);
        if (i == 1 || (i > 1 && took_ns < probed_task->round_trip_ns))
            probed_task->round_trip_ns = took_ns;
    }
    return judge(probed_task, &found);
}

static void *examine(void *context)
{
    struct probed_task *probed_task = context;
    const struct task_endpoint *endpoint = probed_task->endpoint;
    struct remote_options options = {
        .tls = endpoint->client_tls != NULL ? tls_maker(endpoint->client_tls) : NULL,
        .token = endpoint->options->token,
    };
    struct remote_state state;
    struct channel *channel;
    struct status status = remote_open(probed_task->address, &options, &channel);

    if (!status_is_ok(status)) {
        probed_task->trouble = arena_strdup(probed_task->arena, status.message);
        return NULL;
    }
    probed_task->trouble = ask(probed_task, channel);
    remote_state(channel, &state);
    snprintf(probed_task->resolved, sizeof probed_task->resolved, "%s", state.address);
    channel_close(channel);
    return NULL;
}

/* ---- the whole map ---- */

static int collect(const struct task_endpoint *endpoint, struct probed_task *out)
{
    const struct job_map *map = endpoint->options->map;
    int count = 0;

    for (int kind = 0; kind < JOB_KINDS; kind++)
        for (int i = 0; i < map->lists[kind].count; i++, count++) {
            const struct job_task *task = &map->lists[kind].tasks[i];
            if (out != NULL)
                out[count] =
                    (struct probed_task){ .endpoint = endpoint,
                                          .name = job_task_name(map, (enum job_kind)kind,
                                                                task->index, endpoint->arena),
                                          .address = task->address,
                                          .arena = arena_create(0) };
        }
    return count;
}

static bool report(const struct probed_task *probed_task, FILE *out)
{
    bool digits =
        strcmp(probed_task->resolved, probed_task->address) == 0 || *probed_task->resolved == '\0';

    fprintf(out, "%s at %s%s%s%s: ", probed_task->name, probed_task->address, digits ? "" : " (",
            digits ? "" : probed_task->resolved, digits ? "" : ")");
    if (probed_task->trouble != NULL)
        fprintf(out, "%s\n", probed_task->trouble);
    else
        fprintf(out, "fine, %.2f ms\n", (double)probed_task->round_trip_ns / NS_PER_MS);
    return probed_task->trouble == NULL;
}

static int examine_all(const struct task_endpoint *endpoint, FILE *out)
{
    int count = collect(endpoint, NULL), fine = 0;
    struct probed_task *probed = zalloc((size_t)count * sizeof *probed);

    collect(endpoint, probed);
    for (int i = 0; i < count; i++)
        probed[i].started = pthread_create(&probed[i].thread, NULL, examine, &probed[i]) == 0;
    for (int i = 0; i < count; i++) {
        if (probed[i].started)
            pthread_join(probed[i].thread, NULL);
        else
            examine(&probed[i]);
        fine += report(&probed[i], out);
        arena_destroy(probed[i].arena);
    }
    fprintf(out, "%d of %d tasks are fine\n", fine, count);
    free(probed);
    return fine == count ? 0 : 1;
}

int doctor_run(const struct task_options *options, FILE *out)
{
    struct task_options looking = *options;
    struct job_map map = *options->map;
    struct task_endpoint endpoint;

    map.has_self = false; /* doctor runs in addition to a task, on any task's host */
    looking.map = &map;
    struct status status = endpoint_open(&endpoint, &looking);
    int code = 2;
    if (status_is_ok(status))
        code = examine_all(&endpoint, out);
    else
        fprintf(stderr, "pstrain: %s\n", status.message);
    endpoint_close(&endpoint);
    return code;
}
