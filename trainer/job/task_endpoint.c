#include "trainer/job/task_endpoint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "rpc/tls.h"
#include "trainer/protocol/protocol.h"

#define RECONNECT_MIN_MS 50 /* finds a ps that has just started quickly */
#define RECONNECT_MAX_MS 500
#define MESSAGE_MAX      ((size_t)INT_MAX) /* twice the chunks of a push; its header is small */

static uint64_t draw_incarnation(void)
{
    uint64_t number = 0;

    while (number == 0)
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            number = (uint64_t)clock_now_ns(clock_monotonic());
    return number;
}

static struct status open_tls(struct task_endpoint *endpoint)
{
    const struct task_options *options = endpoint->options;
    struct tls_options tls = {
        .cert.file = *options->tls_cert != '\0' ? options->tls_cert : NULL,
        .key.file = *options->tls_key != '\0' ? options->tls_key : NULL,
        .ca.file = *options->tls_ca != '\0' ? options->tls_ca : NULL,
        .verify_client = true,
    };

    if (*options->tls_cert == '\0')
        return status_ok();
    TRY(tls_server_create(&tls, &endpoint->server_tls));
    return tls_client_create(&tls, &endpoint->client_tls);
}

struct status task_check(const struct task_options *options)
{
    struct task_endpoint endpoint = { .options = options };
    struct status status = open_tls(&endpoint);

    tls_destroy(endpoint.server_tls);
    tls_destroy(endpoint.client_tls);
    return status;
}

static void name_peers(struct task_endpoint *endpoint)
{
    const struct job_list *ps = &endpoint->options->map->lists[JOB_PS];

    endpoint->peers = ARENA_ARRAY(endpoint->arena, const char *, ps->count);
    for (int i = 0; i < ps->count; i++)
        endpoint->peers[i] =
            arena_printf(endpoint->arena, "ps %u at %s", ps->tasks[i].index, ps->tasks[i].address);
}

struct status endpoint_open(struct task_endpoint *endpoint, const struct task_options *options)
{
    const struct job_map *map = options->map;

    *endpoint = (struct task_endpoint){ .options = options, .arena = arena_create(0) };
    endpoint->name =
        map->has_self ? job_task_name(map, map->kind, map->index, endpoint->arena) : "doctor";
    bool alone = map->sparse && map->kind == JOB_PS;
    endpoint->ps_list = alone ? "" : job_map_ps_list(map, endpoint->arena);
    endpoint->identity = (struct task_identity){ .cluster = options->cluster,
                                                 .task = endpoint->name,
                                                 .ps_list = endpoint->ps_list,
                                                 .version = options->version,
                                                 .incarnation = draw_incarnation(),
                                                 .protocol = PROTOCOL_VERSION };
    name_peers(endpoint);
    TRY(open_tls(endpoint));
    return loop_create(&endpoint->loop);
}

/* ---- listening ---- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 || strncmp(address, "127.", 4) == 0 ||
           strncmp(address, "localhost:", 10) == 0 || strncmp(address, "[::1]:", 6) == 0;
}

/* Listens on all interfaces, as TensorFlow's servers do, because the name in the map may be a
 * service's, which is not an address of this host. A loopback address is kept. */
static struct status listen_at(struct task_endpoint *endpoint, const char *address)
{
    const char *port = strrchr(address, ':');

    if (is_loopback(address))
        return rpc_server_listen(endpoint->server, address, NULL);
    struct status status =
        rpc_server_listen(endpoint->server, arena_printf(endpoint->arena, "[::]%s", port), NULL);
    if (!status_is_ok(status)) /* a host without IPv6 */
        status = rpc_server_listen(endpoint->server,
                                   arena_printf(endpoint->arena, "0.0.0.0%s", port), NULL);
    return status;
}

struct status endpoint_listen(struct task_endpoint *endpoint, struct budget *budget)
{
    const struct job_task *self = job_self(endpoint->options->map);
    struct rpc_server_options options = {
        .message_max_bytes = budget != NULL ? MESSAGE_MAX : 0,
        /* A ps holds all chunks of a push until it applies them: the budget is the only limit. */
        .held_max_bytes = budget != NULL ? (size_t)budget->limit_bytes : 0,
        .budget = budget,
        .tls = endpoint->server_tls != NULL ? tls_maker(endpoint->server_tls) : NULL,
        .token = endpoint->options->token,
    };

    if (self == NULL)
        return status_ok();
    TRY(rpc_server_create(endpoint->loop, &options, &endpoint->server));
    rpc_server_add(endpoint->server, &identify_service, &endpoint->identity);
    struct status status = listen_at(endpoint, self->address);
    if (status.code == STATUS_FAILED_PRECONDITION)
        status.code = STATUS_UNAVAILABLE; /* the program that uses the port may end */
    return status_in(status, "cannot listen at %s", self->address);
}

/* ---- calling ---- */

struct status endpoint_connect(struct task_endpoint *endpoint, struct ps_channels *out)
{
    const struct job_list *ps = &endpoint->options->map->lists[JOB_PS];
    struct remote_options options = {
        .payload = true,
        .reconnect_min_ms = RECONNECT_MIN_MS,
        .reconnect_max_ms = RECONNECT_MAX_MS,
        .tls = endpoint->client_tls != NULL ? tls_maker(endpoint->client_tls) : NULL,
        .token = endpoint->options->token,
    };

    *out = (struct ps_channels){ .channels = zalloc((size_t)ps->count * sizeof *out->channels) };
    TRY(shared_loop_create(&out->shared));
    options.loop = out->shared;
    for (; out->count < ps->count; out->count++)
        TRY(remote_open(ps->tasks[out->count].address, &options, &out->channels[out->count]));
    return status_ok();
}

void ps_channels_close(struct ps_channels *channels)
{
    for (int i = 0; i < channels->count; i++)
        channel_close(channels->channels[i]);
    shared_loop_destroy(channels->shared);
    free(channels->channels);
    *channels = (struct ps_channels){ 0 };
}

bool ps_channels_connected(const struct ps_channels *channels)
{
    struct remote_state state;

    for (int i = 0; i < channels->count; i++) {
        remote_state(channels->channels[i], &state);
        if (state.connected)
            return true;
    }
    return false;
}

void describe_channel(struct channel *channel, char *out, size_t size)
{
    struct remote_state state;

    remote_state(channel, &state);
    *out = '\0';
    if (state.connected || state.trouble == REMOTE_FINE)
        return;
    const char *kind = state.trouble == REMOTE_UNRESOLVED ? "unresolved: " : "";
    if (*state.address != '\0')
        snprintf(out, size, "%s%s (%s)", kind, state.text, state.address);
    else
        snprintf(out, size, "%s%s", kind, state.text);
}

void endpoint_warn_of_plaintext(const struct task_endpoint *endpoint)
{
    const struct job_map *map = endpoint->options->map;

    if (endpoint->client_tls != NULL)
        return;
    for (int kind = 0; kind < JOB_KINDS; kind++)
        for (int i = 0; i < map->lists[kind].count; i++)
            if (!is_loopback(map->lists[kind].tasks[i].address)) {
                log_warning("the tasks talk in plaintext, and anyone on the network can %s: use "
                            "--tls_cert, --tls_key and --tls_ca",
                            endpoint->options->token != NULL
                                ? "read the traffic, and the token in it"
                                : "join");
                return;
            }
}

void endpoint_close(struct task_endpoint *endpoint)
{
    rpc_server_destroy(endpoint->server);
    loop_destroy(endpoint->loop);
    tls_destroy(endpoint->server_tls);
    tls_destroy(endpoint->client_tls);
    arena_destroy(endpoint->arena);
}
