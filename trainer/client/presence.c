#include "trainer/client/presence.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "trainer/client/client_internal.h"

#define HEARTBEAT_MS         1000
/* No answer within this time counts as silence; connecting may take 5 s. */
#define HEARTBEAT_TIMEOUT_MS 6000
#define RETRY_MIN_MS         50
#define RETRY_MAX_MS         500
#define TICK_MS              100
#define OTHER_MS             2000

#define HEARTBEAT_ARENA_MAX ((size_t)1 << 20)

/* The result of a heartbeat: written by the thread that gets the reply, read by the loop's
 * thread. */
struct heartbeat_result {
    enum status_code code;
    char text[512];
    uint64_t incarnation, global_step;
    char note[256];
    bool over; /* the job, and how: */
    enum status_code outcome;
    char outcome_text[512];
};

struct presence_peer {
    struct presence *presence;
    int ps;
    struct client_call *call;
    struct loop_timer next;
    struct loop_task arrived;
    _Atomic bool in_flight; /* until `replied` has returned */
    struct heartbeat_result result;
    bool answered; /* ever */
    uint64_t incarnation;
    int64_t troubled_ns; /* time since which it has not answered; 0: it answers */
    int64_t retry_ms;
    /* from its last answer: what it waits for ("": nothing), and its step */
    char note[256];
    uint64_t global_step;
    char why[512], printed[512]; /* the current reason, and the one logged last */
    int64_t printed_ns;
};

static int peers_count(const struct presence *presence)
{
    return presence->options.client->placement->ps_count;
}

static void print(const struct presence *presence, const char *format, ...) PRINTF_LIKE(2, 3);
static void print(const struct presence *presence, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    presence->options.print(presence->options.context, line);
}

static void end(struct presence *presence, struct status why)
{
    if (presence->ended)
        return;
    presence->ended = true;
    presence->options.ended(presence->options.context, why);
}

/* ---- one heartbeat ---- */

static void read_reply(struct heartbeat_result *result, const struct message *reply)
{
    struct arena *arena = arena_create(HEARTBEAT_ARENA_MAX);
    struct heartbeat_reply heartbeat;
    struct status status = unpack_heartbeat_reply(reply, arena, &heartbeat);

    result->code = status.code;
    snprintf(result->text, sizeof result->text, "%s", status.message);
    if (status_is_ok(status)) {
        result->incarnation = heartbeat.incarnation;
        result->global_step = heartbeat.global_step;
        snprintf(result->note, sizeof result->note, "%s", heartbeat.note);
        result->over = heartbeat.over;
        result->outcome = (enum status_code)heartbeat.code;
        snprintf(result->outcome_text, sizeof result->outcome_text, "%s", heartbeat.text);
    }
    arena_destroy(arena);
}

/* In any thread. */
static void replied(void *context, struct status status, struct message *reply)
{
    struct presence_peer *peer = context;

    peer->result = (struct heartbeat_result){ .code = status.code };
    snprintf(peer->result.text, sizeof peer->result.text, "%s", status.message);
    if (status_is_ok(status))
        read_reply(&peer->result, reply);
    loop_post(peer->presence->options.loop, &peer->arrived);
    atomic_store(&peer->in_flight, false); /* last: from here on the peer may be freed */
}

static void heartbeat(void *context)
{
    struct presence_peer *peer = context;
    const struct ps_client_options *client = peer->presence->options.client;
    struct channel *channel = client->channels[peer->ps];
    struct heartbeat_request header = { 0 };
    struct identity identity = client_identity(client, peer->ps);

    header.identity = &identity;
    struct message request = pack_heartbeat_request(&header);
    client_call_release(peer->call);
    atomic_store(&peer->in_flight, true);
    peer->call = channel_start(channel, PS_HEARTBEAT, &request,
                               clock_deadline_ns(channel_clock(channel), HEARTBEAT_TIMEOUT_MS),
                               replied, peer);
}

/* ---- interpreting the answers ---- */

static void say_why(struct presence_peer *peer)
{
    const struct presence_options *options = &peer->presence->options;
    char text[512] = "";

    if (options->describe != NULL &&
        (peer->result.code == STATUS_UNAVAILABLE || peer->result.code == STATUS_DEADLINE_EXCEEDED))
        options->describe(options->client->channels[peer->ps], text, sizeof text);
    if (*text == '\0' && peer->result.code == STATUS_DEADLINE_EXCEEDED)
        snprintf(text, sizeof text, "connected, but it does not answer");
    if (*text == '\0' && peer->result.code == STATUS_UNIMPLEMENTED)
        snprintf(text, sizeof text, "what answers there is no ps of pstrain");
    snprintf(peer->why, sizeof peer->why, "%s", *text != '\0' ? text : peer->result.text);
}

static void trouble(struct presence_peer *peer, int64_t now_ns)
{
    struct presence *presence = peer->presence;

    say_why(peer);
    *peer->note = '\0'; /* out of date */
    if (peer->troubled_ns == 0)
        peer->troubled_ns = now_ns;
    if (peer->result.code == STATUS_FAILED_PRECONDITION ||
        peer->result.code == STATUS_UNAUTHENTICATED)
        end(presence, status_error(peer->result.code, "%s: %s", presence->options.names[peer->ps],
                                   peer->why));
}

static void fine(struct presence_peer *peer)
{
    struct presence *presence = peer->presence;
    const char *name = presence->options.names[peer->ps];

    if (*peer->printed != '\0')
        print(presence, "%s answers%s", name,
              peer->answered && peer->incarnation != peer->result.incarnation ? "; it was restarted"
                                                                              : "");
    peer->answered = true;
    peer->incarnation = peer->result.incarnation;
    peer->troubled_ns = peer->retry_ms = 0;
    *peer->printed = '\0';
    *peer->why = '\0';
    snprintf(peer->note, sizeof peer->note, "%s", peer->result.note);
    peer->global_step = peer->result.global_step;
}

static void check_ready(struct presence *presence)
{
    for (int ps = 0; ps < peers_count(presence); ps++)
        if (!presence->peers[ps].answered || presence->peers[ps].troubled_ns != 0)
            return;
    presence->ready = true;
    presence->options.ready(presence->options.context);
}

/* If the job ends before a task has begun, the task would see its ps tasks disappear one by one,
 * so the heartbeat tells it the outcome. A training task learns the outcome from its own calls,
 * and a reader from the heartbeat. */
static void check_over(struct presence *presence, const struct heartbeat_result *result)
{
    bool told = presence->ready && !presence->options.client->reader;

    if (!result->over || told || presence->ended)
        return;
    if (result->outcome == STATUS_OK)
        end(presence, status_ok());
    else
        end(presence, status_error(result->outcome, "the job ended: %s", result->outcome_text));
}

static void arrived(struct loop_task *task)
{
    struct presence_peer *peer = CONTAINER_OF(task, struct presence_peer, arrived);
    struct presence *presence = peer->presence;
    int64_t now_ns = clock_now_ns(clock_monotonic());

    if (presence->ended)
        return;
    if (peer->result.code == STATUS_OK)
        fine(peer);
    else
        trouble(peer, now_ns);
    if (peer->troubled_ns == 0)
        peer->retry_ms = 0;
    else
        peer->retry_ms = peer->retry_ms == 0                     ? RETRY_MIN_MS
                         : peer->retry_ms * 3 / 2 < RETRY_MAX_MS ? peer->retry_ms * 3 / 2
                                                                 : RETRY_MAX_MS;
    int64_t pause_ms = peer->retry_ms > 0 ? peer->retry_ms : HEARTBEAT_MS;
    loop_set_timer(presence->options.loop, &peer->next, now_ns + pause_ms * NS_PER_MS);
    if (!presence->ready && !presence->ended)
        check_ready(presence);
    if (peer->ps == 0 && peer->troubled_ns == 0)
        check_over(presence, &peer->result);
}

/* ---- time ---- */

/* Logs the reason at once and then every repeat_ms. A different reason is logged after OTHER_MS,
 * because two reasons may alternate. */
static void say(struct presence_peer *peer, int64_t now_ns)
{
    struct presence *presence = peer->presence;
    const char *name = presence->options.names[peer->ps];
    bool first = *peer->printed == '\0', other = strcmp(peer->printed, peer->why) != 0;
    int64_t silence_ms = (now_ns - peer->printed_ns) / NS_PER_MS;

    if (first || (other && silence_ms >= OTHER_MS))
        print(presence, "waiting for %s: %s", name, peer->why);
    else if (silence_ms >= presence->options.repeat_ms)
        print(presence, "waiting for %s, for %" PRId64 " s now: %s", name,
              (now_ns - peer->troubled_ns) / NS_PER_MS / 1000, peer->why);
    else
        return;
    snprintf(peer->printed, sizeof peer->printed, "%s", peer->why);
    peer->printed_ns = now_ns;
}

static void check_peer(struct presence_peer *peer, int64_t now_ns)
{
    struct presence *presence = peer->presence;
    const struct presence_options *options = &presence->options;
    int64_t since_ns = presence->ready ? peer->troubled_ns : presence->began_ns;
    int64_t limit_ms = presence->ready ? options->lost_timeout_ms : options->start_timeout_ms;
    int64_t for_ms = (now_ns - since_ns) / NS_PER_MS;

    if (peer->troubled_ns == 0)
        return;
    if (for_ms >= limit_ms)
        end(presence,
            status_error(STATUS_UNAVAILABLE, "gave up waiting for %s after %" PRId64 " s: %s",
                         options->names[peer->ps], for_ms / 1000, peer->why));
    else
        say(peer, now_ns);
}

/* The first ps that waits for somebody. If the pushes of a synchronous step reached only some ps
 * tasks, ps 0 may have made the step while another one waits. */
static const struct presence_peer *find_waiting(const struct presence *presence)
{
    for (int ps = 0; ps < peers_count(presence); ps++)
        if (*presence->peers[ps].note != '\0')
            return &presence->peers[ps];
    return &presence->peers[0];
}

/* Once the job stands still, reports what a ps waits for as this task's own wait. */
static void check_note(struct presence *presence, int64_t now_ns)
{
    const struct presence_peer *peer = find_waiting(presence);

    if (wait_log_is_due(&presence->wait_log, peer->note, peer->global_step, now_ns,
                        presence->options.repeat_ms))
        print(presence, "waiting for %s", peer->note);
}

static void tick(void *context)
{
    struct presence *presence = context;
    int64_t now_ns = clock_now_ns(clock_monotonic());

    for (int ps = 0; ps < peers_count(presence) && !presence->ended; ps++)
        check_peer(&presence->peers[ps], now_ns);
    if (!presence->ended)
        check_note(presence, now_ns);
    if (!presence->ended)
        loop_set_timer(presence->options.loop, &presence->timer,
                       now_ns + (int64_t)TICK_MS * NS_PER_MS);
}

void presence_start(struct presence *presence, const struct presence_options *options)
{
    int64_t now_ns = clock_now_ns(clock_monotonic());

    *presence = (struct presence){ .options = *options, .began_ns = now_ns };
    presence->timer = (struct loop_timer){ .expired = tick, .context = presence };
    presence->peers = zalloc((size_t)peers_count(presence) * sizeof *presence->peers);
    for (int ps = 0; ps < peers_count(presence); ps++) {
        struct presence_peer *peer = &presence->peers[ps];
        peer->presence = presence;
        peer->ps = ps;
        peer->next = (struct loop_timer){ .expired = heartbeat, .context = peer };
        peer->arrived.work = arrived;
        loop_set_timer(options->loop, &peer->next, now_ns);
    }
    loop_set_timer(options->loop, &presence->timer, now_ns + (int64_t)TICK_MS * NS_PER_MS);
}

void presence_finish(struct presence *presence)
{
    presence->ended = true;
    for (int ps = 0; presence->peers != NULL && ps < peers_count(presence); ps++) {
        struct presence_peer *peer = &presence->peers[ps];
        if (peer->call != NULL && atomic_load(&peer->in_flight))
            client_call_cancel(peer->call);
        while (atomic_load(&peer->in_flight))
            clock_sleep(clock_monotonic(), 1);
        client_call_release(peer->call);
        loop_clear_timer(presence->options.loop, &peer->next);
    }
    /* Runs `arrived` for outstanding replies while the peers exist. */
    loop_run_posted(presence->options.loop);
    loop_clear_timer(presence->options.loop, &presence->timer);
    free(presence->peers);
    presence->peers = NULL;
}

bool presence_is_alone(const struct presence *presence)
{
    for (int ps = 0; ps < peers_count(presence); ps++)
        if (presence->peers[ps].answered)
            return false;
    return true;
}
