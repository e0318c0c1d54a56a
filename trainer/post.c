#include "trainer/post.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "rpc/tls.h"
#include "trainer/protocol.h"

#define RECONNECT_MIN_MS 50 /* a ps that has just started is not to be waited for */
#define RECONNECT_MAX_MS 500
#define MESSAGE_MAX      ((size_t)INT_MAX) /* a push carries all gradients that a ps holds */

static uint64_t draw_incarnation(void)
{
    uint64_t number = 0;

    while (number == 0)
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            number = (uint64_t)clock_now_ns(clock_monotonic());
    return number;
}

static struct status open_tls(struct post *post)
{
    const struct task_options *options = post->options;
    struct tls_options tls = {
        .cert.file = *options->tls_cert != '\0' ? options->tls_cert : NULL,
        .key.file = *options->tls_key != '\0' ? options->tls_key : NULL,
        .ca.file = *options->tls_ca != '\0' ? options->tls_ca : NULL,
        .verify_client = true,
    };

    if (*options->tls_cert == '\0')
        return status_ok();
    TRY(tls_server_create(&tls, &post->server_tls));
    return tls_client_create(&tls, &post->client_tls);
}

struct status task_check(const struct task_options *options)
{
    struct post post = { .options = options };
    struct status status = open_tls(&post);

    tls_destroy(post.server_tls);
    tls_destroy(post.client_tls);
    return status;
}

static void name_peers(struct post *post)
{
    const struct job_list *ps = &post->options->map->lists[JOB_PS];

    post->peers = ARENA_ARRAY(post->arena, const char *, ps->count);
    for (int i = 0; i < ps->count; i++)
        post->peers[i] =
            arena_printf(post->arena, "ps %u at %s", ps->tasks[i].index, ps->tasks[i].address);
}

struct status post_open(struct post *post, const struct task_options *options)
{
    const struct job_map *map = options->map;

    *post = (struct post){ .options = options, .arena = arena_create(0) };
    post->name = map->has_self ? job_task_name(map, map->kind, map->index, post->arena) : "doctor";
    bool alone = map->sparse && map->kind == JOB_PS;
    post->ps_list = alone ? "" : job_map_ps_list(map, post->arena);
    post->identity = (struct task_identity){ .cluster = options->cluster,
                                             .task = post->name,
                                             .ps_list = post->ps_list,
                                             .version = options->version,
                                             .incarnation = draw_incarnation(),
                                             .protocol = PROTOCOL_VERSION };
    name_peers(post);
    TRY(open_tls(post));
    return loop_create(&post->loop);
}

/* ---- Listening. ---- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 || strncmp(address, "127.", 4) == 0 ||
           strncmp(address, "localhost:", 10) == 0 || strncmp(address, "[::1]:", 6) == 0;
}

/* On all interfaces, as TensorFlow's servers: the name in the map may be a service's, which is not
 * an address of this host. One that never leaves the host stays there. */
static struct status listen_at(struct post *post, const char *address)
{
    const char *port = strrchr(address, ':');

    if (is_loopback(address))
        return rpc_server_listen(post->server, address, NULL);
    struct status status =
        rpc_server_listen(post->server, arena_printf(post->arena, "[::]%s", port), NULL);
    if (!status_is_ok(status)) /* a host without IPv6 */
        status =
            rpc_server_listen(post->server, arena_printf(post->arena, "0.0.0.0%s", port), NULL);
    return status;
}

struct status post_listen(struct post *post, struct budget *budget)
{
    const struct job_task *self = job_self(post->options->map);
    struct rpc_server_options options = {
        .message_max_bytes = budget != NULL ? MESSAGE_MAX : 0,
        .held_max_bytes = budget != NULL ? MESSAGE_MAX : 0,
        .budget = budget,
        .tls = post->server_tls != NULL ? tls_maker(post->server_tls) : NULL,
    };

    if (self == NULL)
        return status_ok();
    TRY(rpc_server_create(post->loop, &options, &post->server));
    rpc_server_add(post->server, &identify_service, &post->identity);
    struct status status = listen_at(post, self->address);
    if (status.code == STATUS_FAILED_PRECONDITION)
        status.code = STATUS_UNAVAILABLE; /* who has the port may go away */
    return status_in(status, "cannot listen at %s", self->address);
}

/* ---- Calling. ---- */

struct status post_connect(struct post *post, struct post_lines *out)
{
    const struct job_list *ps = &post->options->map->lists[JOB_PS];
    struct remote_options options = {
        .payload = true,
        .reconnect_min_ms = RECONNECT_MIN_MS,
        .reconnect_max_ms = RECONNECT_MAX_MS,
        .tls = post->client_tls != NULL ? tls_maker(post->client_tls) : NULL,
    };

    *out = (struct post_lines){ .channels = zalloc((size_t)ps->count * sizeof *out->channels) };
    TRY(shared_loop_create(&out->shared));
    options.loop = out->shared;
    for (; out->count < ps->count; out->count++)
        TRY(remote_open(ps->tasks[out->count].address, &options, &out->channels[out->count]));
    return status_ok();
}

void post_disconnect(struct post_lines *lines)
{
    for (int i = 0; i < lines->count; i++)
        channel_close(lines->channels[i]);
    shared_loop_destroy(lines->shared);
    free(lines->channels);
    *lines = (struct post_lines){ 0 };
}

void post_describe(struct channel *channel, char *out, size_t size)
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

void post_warn_of_plaintext(const struct post *post)
{
    const struct job_map *map = post->options->map;

    if (post->client_tls != NULL)
        return;
    for (int kind = 0; kind < JOB_KINDS; kind++)
        for (int i = 0; i < map->lists[kind].count; i++)
            if (!is_loopback(map->lists[kind].tasks[i].address)) {
                log_warning("the tasks talk in plaintext, and anybody on the network may join in: "
                            "--tls_cert, --tls_key and --tls_ca protect them");
                return;
            }
}

void post_close(struct post *post)
{
    rpc_server_destroy(post->server);
    loop_destroy(post->loop);
    tls_destroy(post->server_tls);
    tls_destroy(post->client_tls);
    arena_destroy(post->arena);
}

struct status post_ended(enum status_code code, char *text)
{
    struct status status = code == STATUS_OK ? status_ok() : status_error(code, "%s", text);

    free(text);
    return status;
}
