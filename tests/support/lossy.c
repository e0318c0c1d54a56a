#include "lossy.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/random.h"

#define TICK_NS     30000 /* of real time: nothing has happened for so long? */
#define TICKS_QUIET 2     /* then nobody is about to do anything */
#define ADVANCE_NS \
    (10 * NS_PER_MS) /* at most at once: who pauses by the clock is not in the queue */

/* A thread that has no processor for a while is quiet, too. Before the clock runs on to the job's
 * own time-outs, of seconds, it gets one, also on a machine that has much else to do. */
#define ADVANCES_FAST 50
#define SLOW_NS       2000000
#define ADVANCES_SLOW 150
#define SLOWER_NS     20000000

/* Something that happens at a time. Embedded first. */
struct event {
    void (*run)(struct event *event);
    int64_t at_ns;
    struct event *next;
};

struct network {
    struct clock *clock;
    struct network_faults faults;
    uint64_t seed, channels;
    pthread_mutex_t lock; /* guards all below, and calls and deliveries of its channels */
    pthread_cond_t idle;  /* a channel's last delivery has ended */
    struct event *events; /* by time */
    uint64_t activity;    /* counts what happens */
    int busy;             /* threads that carry something right now */
    int harm;
    bool closing;
    pthread_t thread;
};

struct lossy {
    struct channel channel; /* first: the handle */
    struct channel *inner;
    struct network *network;
    struct random random;
    struct delivery *deliveries; /* in flight at the inner channel */
    int calls;                   /* that somebody still refers to */
    bool closing, cut;
};

struct lossy_call {
    struct client_call client; /* first: the caller's handle */
    struct lossy *lossy;
    int references; /* the caller, each event and delivery */
    reply_function *done;
    void *context;
    const char *path;
    struct bytes header, payload; /* copies */
    bool finished;
};

struct delivery {
    struct lossy_call *call;
    struct client_call *inner;
    struct delivery *next, **previous;
    int references; /* the one who begins it, the inner channel */
    bool ended;
    bool harmful; /* its reply is decided to be lost: drawn when it begins */
    bool broken;
    int64_t reply_delay_ns;
};

static char *copy_bytes(struct bytes bytes)
{
    char *copy = zalloc(bytes.size + 1);

    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    return copy;
}

static struct bytes join_payload(const struct message *message)
{
    size_t size = message_payload_size(message);
    struct payload payload = { .message = message };
    char *copy = zalloc(size + 1);

    payload_copy(&payload, copy, size);
    return (struct bytes){ copy, size };
}

/* ---- Messages as a wire delivers them: copies, in one piece. ---- */

struct wire_message {
    struct bytes header, payload;
};

static void wire_release(void *owner)
{
    struct wire_message *wire = owner;

    free((void *)(uintptr_t)wire->header.data);
    free((void *)(uintptr_t)wire->payload.data);
    free(wire);
}

static struct message wire_message(struct bytes header, const struct bytes payload)
{
    struct wire_message *wire = zalloc(sizeof *wire);

    wire->header = (struct bytes){ copy_bytes(header), header.size };
    wire->payload = (struct bytes){ copy_bytes(payload), payload.size };
    return (struct message){ .header = wire->header,
                             .pieces = &wire->payload,
                             .pieces_count = payload.size > 0,
                             .release = wire_release,
                             .owner = wire };
}

/* ---- The queue of events, and time. ---- */

/* With the lock. */
static void schedule(struct network *network, struct event *event, int64_t at_ns)
{
    struct event **at = &network->events;

    event->at_ns = at_ns;
    while (*at != NULL && (*at)->at_ns <= at_ns)
        at = &(*at)->next;
    event->next = *at;
    *at = event;
}

/* With the lock: what is due happens, without it. */
static bool run_due(struct network *network)
{
    struct event *event = network->events;

    if (event == NULL || event->at_ns > clock_now_ns(network->clock))
        return false;
    network->events = event->next;
    pthread_mutex_unlock(&network->lock);
    event->run(event);
    pthread_mutex_lock(&network->lock);
    return true;
}

static void sleep_a_tick(int advances)
{
    const struct timespec tick = { .tv_nsec = advances < ADVANCES_FAST   ? TICK_NS
                                              : advances < ADVANCES_SLOW ? SLOW_NS
                                                                         : SLOWER_NS };

    nanosleep(&tick, NULL);
}

static void *network_run(void *context)
{
    struct network *network = context;
    uint64_t seen = 0;
    int quiet = 0, advances = 0; /* since something happened */

    pthread_mutex_lock(&network->lock);
    while (!network->closing) {
        if (run_due(network))
            continue;
        bool happened = network->activity != seen || network->busy > 0;
        quiet = happened ? 0 : quiet + 1;
        advances = happened ? 0 : advances;
        seen = network->activity;
        int64_t by_ns = ADVANCE_NS;
        if (network->events != NULL &&
            network->events->at_ns - clock_now_ns(network->clock) < by_ns)
            by_ns = network->events->at_ns - clock_now_ns(network->clock);
        pthread_mutex_unlock(&network->lock);
        if (quiet < TICKS_QUIET) {
            sleep_a_tick(advances);
        } else {
            clock_fake_advance(network->clock, by_ns);
            advances++;
            quiet = 0; /* who was woken shall get to do something */
        }
        pthread_mutex_lock(&network->lock);
    }
    pthread_mutex_unlock(&network->lock);
    return NULL;
}

struct network *network_create(uint64_t seed, const struct network_faults *faults)
{
    struct network *network = zalloc(sizeof *network);

    network->clock = clock_fake_create(NS_PER_S);
    network->faults = *faults;
    network->seed = seed;
    pthread_mutex_init(&network->lock, NULL);
    pthread_cond_init(&network->idle, NULL);
    pthread_create(&network->thread, NULL, network_run, network);
    return network;
}

void network_destroy(struct network *network)
{
    pthread_mutex_lock(&network->lock);
    network->closing = true;
    pthread_mutex_unlock(&network->lock);
    pthread_join(network->thread, NULL);
    assert(network->events == NULL); /* the channels took theirs */
    pthread_cond_destroy(&network->idle);
    pthread_mutex_destroy(&network->lock);
    clock_fake_destroy(network->clock);
    free(network);
}

struct clock *network_clock(struct network *network)
{
    return network->clock;
}

int network_harm(struct network *network)
{
    pthread_mutex_lock(&network->lock);
    int harm = network->harm;
    pthread_mutex_unlock(&network->lock);
    return harm;
}

static void busy(struct network *network, int change)
{
    pthread_mutex_lock(&network->lock);
    network->busy += change;
    network->activity++;
    pthread_mutex_unlock(&network->lock);
}

/* With the lock: draws. */
static bool happens(struct lossy *lossy, double probability)
{
    bool yes = random_double(&lossy->random) < probability;

    lossy->network->harm += yes;
    return yes;
}

static int64_t draw_delay_ns(struct lossy *lossy)
{
    const struct network_faults *faults = &lossy->network->faults;

    if (!happens(lossy, faults->delay))
        return 0;
    return 1 + (int64_t)random_below(&lossy->random, (uint64_t)(faults->delay_max_ms * NS_PER_MS));
}

/* ---- The caller's side. ---- */

/* Without the lock. When the last call is gone, so may be the channel. */
static void drop(struct lossy_call *call)
{
    struct network *network = call->lossy->network;

    pthread_mutex_lock(&network->lock);
    bool last = --call->references == 0;
    if (last) {
        call->lossy->calls--;
        pthread_cond_broadcast(&network->idle);
    }
    pthread_mutex_unlock(&network->lock);
    if (!last)
        return;
    free((void *)(uintptr_t)call->header.data);
    free((void *)(uintptr_t)call->payload.data);
    free(call);
}

/* Tells the caller, if nobody has yet. Without the lock. */
static void answer(struct lossy_call *call, struct status status, struct message *reply)
{
    struct network *network = call->lossy->network;

    pthread_mutex_lock(&network->lock);
    bool first = !call->finished;
    call->finished = true;
    network->activity++;
    pthread_mutex_unlock(&network->lock);
    if (first)
        call->done(call->context, status, reply);
}

/* An event that ends a call: its deadline, or news that the connection broke. */
struct end_event {
    struct event event; /* first */
    struct lossy_call *call;
    enum status_code code;
};

static void cancel_deliveries(struct lossy *lossy, const struct lossy_call *call);

static void end_run(struct event *event)
{
    struct end_event *end = (struct end_event *)event;
    struct lossy_call *call = end->call;
    struct lossy *lossy = call->lossy;
    struct message nothing = { 0 };

    pthread_mutex_lock(&lossy->network->lock);
    bool told = !call->finished && !lossy->closing && random_below(&lossy->random, 2) == 0;
    pthread_mutex_unlock(&lossy->network->lock);
    answer(call,
           status_error(end->code, end->code == STATUS_UNAVAILABLE ? "the connection broke"
                                                                   : "deadline exceeded"),
           &nothing);
    if (told) /* the other side hears of it; or that is lost, too */
        cancel_deliveries(lossy, call);
    drop(call);
    free(end);
}

/* With the lock. */
static void schedule_end(struct lossy_call *call, enum status_code code, int64_t at_ns)
{
    struct end_event *end = zalloc(sizeof *end);

    end->event.run = end_run;
    end->call = call;
    end->code = code;
    call->references++;
    schedule(call->lossy->network, &end->event, at_ns);
}

/* ---- Replies. ---- */

struct reply_event {
    struct event event; /* first */
    struct lossy_call *call;
    enum status_code code;
    char *text;
    struct message reply;
};

static void reply_run(struct event *event)
{
    struct reply_event *reply = (struct reply_event *)event;

    answer(reply->call,
           reply->code == STATUS_OK ? status_ok() : status_error(reply->code, "%s", reply->text),
           &reply->reply);
    message_release(&reply->reply);
    drop(reply->call);
    free(reply->text);
    free(reply);
}

/* With the lock. */
static void delivery_unlink(struct delivery *delivery)
{
    *delivery->previous = delivery->next;
    if (delivery->next != NULL)
        delivery->next->previous = delivery->previous;
}

/* Without the lock. */
static void delivery_drop(struct delivery *delivery)
{
    struct lossy *lossy = delivery->call->lossy;
    struct network *network = lossy->network;

    pthread_mutex_lock(&network->lock);
    bool last = --delivery->references == 0;
    pthread_mutex_unlock(&network->lock);
    if (!last)
        return;
    client_call_release(delivery->inner);
    drop(delivery->call);
    pthread_mutex_lock(&network->lock);
    delivery_unlink(delivery);
    pthread_cond_broadcast(&network->idle);
    pthread_mutex_unlock(&network->lock);
    free(delivery);
}

/* The inner channel's answer: by now or later the caller's, or nobody's. */
static void inner_done(void *context, struct status status, struct message *reply)
{
    struct delivery *delivery = context;
    struct lossy_call *call = delivery->call;
    struct network *network = call->lossy->network;
    struct bytes payload = join_payload(reply);
    struct reply_event *event = zalloc(sizeof *event);

    event->event.run = reply_run;
    event->call = call;
    event->code = status.code;
    event->text = xstrdup(status.message);
    event->reply = wire_message(reply->header, payload);
    free((void *)(uintptr_t)payload.data);
    pthread_mutex_lock(&network->lock);
    delivery->ended = true;
    call->references++; /* the event's */
    bool lost = delivery->harmful || call->lossy->closing || call->finished;
    bool later = !lost && !delivery->broken && delivery->reply_delay_ns > 0;
    if (later)
        schedule(network, &event->event, clock_now_ns(network->clock) + delivery->reply_delay_ns);
    if (delivery->broken && !lost)
        schedule_end(call, STATUS_UNAVAILABLE, clock_now_ns(network->clock));
    lost |= delivery->broken;
    pthread_mutex_unlock(&network->lock);
    if (lost) {
        message_release(&event->reply);
        drop(call);
        free(event->text);
        free(event);
    } else if (!later) {
        reply_run(&event->event);
    }
    delivery_drop(delivery);
}

/* ---- Requests. ---- */

/* With the lock: a delivery at the inner channel, and what will become of its reply. */
static struct delivery *delivery_create(struct lossy_call *call)
{
    struct lossy *lossy = call->lossy;
    const struct network_faults *faults = &lossy->network->faults;
    struct delivery *delivery = zalloc(sizeof *delivery);

    delivery->call = call;
    delivery->references = 2;
    delivery->harmful = happens(lossy, faults->lose_reply);
    delivery->broken = happens(lossy, faults->break_reply);
    delivery->reply_delay_ns = draw_delay_ns(lossy);
    call->references++;
    delivery->next = lossy->deliveries;
    delivery->previous = &lossy->deliveries;
    if (delivery->next != NULL)
        delivery->next->previous = &delivery->next;
    lossy->deliveries = delivery;
    return delivery;
}

/* Without the lock. */
static void delivery_begin(struct delivery *delivery)
{
    struct lossy_call *call = delivery->call;
    struct network *network = call->lossy->network;
    struct message request = wire_message(call->header, call->payload);

    busy(network, 1);
    struct client_call *inner =
        channel_start(call->lossy->inner, call->path, &request, CLOCK_NEVER, inner_done, delivery);
    pthread_mutex_lock(&network->lock);
    delivery->inner = inner;
    bool late = call->lossy->closing && !delivery->ended;
    pthread_mutex_unlock(&network->lock);
    if (late)
        client_call_cancel(inner);
    busy(network, -1);
    delivery_drop(delivery);
}

struct request_event {
    struct event event; /* first */
    struct delivery *delivery;
};

static void request_run(struct event *event)
{
    delivery_begin(((struct request_event *)event)->delivery);
    free(event);
}

/* With the lock. */
static void schedule_request(struct lossy_call *call, int64_t delay_ns)
{
    struct network *network = call->lossy->network;
    struct request_event *event = zalloc(sizeof *event);

    event->event.run = request_run;
    event->delivery = delivery_create(call);
    schedule(network, &event->event, clock_now_ns(network->clock) + delay_ns);
}

/* Cancels what is in flight of one call, or (NULL) of all. Without the lock. */
static void cancel_deliveries(struct lossy *lossy, const struct lossy_call *call)
{
    struct network *network = lossy->network;

    pthread_mutex_lock(&network->lock);
    for (struct delivery *delivery = lossy->deliveries; delivery != NULL;) {
        if (delivery->ended || delivery->inner == NULL ||
            (call != NULL && delivery->call != call)) {
            delivery = delivery->next;
            continue;
        }
        delivery->ended = true;
        delivery->references++;
        pthread_mutex_unlock(&network->lock);
        client_call_cancel(delivery->inner);
        delivery_drop(delivery);
        pthread_mutex_lock(&network->lock);
        delivery = lossy->deliveries; /* it may have changed meanwhile */
    }
    pthread_mutex_unlock(&network->lock);
}

/* With the lock: draws what becomes of a request. Returns the delivery to begin at once. */
static struct delivery *send_request(struct lossy *lossy, struct lossy_call *call)
{
    const struct network_faults *faults = &lossy->network->faults;
    bool lost = happens(lossy, faults->lose_request);
    bool broken = happens(lossy, faults->break_request);
    int64_t delay_ns = draw_delay_ns(lossy);

    if (happens(lossy, faults->repeat))
        schedule_request(call, 1 + draw_delay_ns(lossy) * 2);
    if (broken)
        schedule_end(call, STATUS_UNAVAILABLE, clock_now_ns(lossy->network->clock));
    if (lost || broken)
        return NULL;
    if (delay_ns == 0)
        return delivery_create(call);
    schedule_request(call, delay_ns);
    return NULL;
}

static void end_cut(struct lossy_call *call)
{
    struct message nothing = { 0 };

    answer(call, status_error(STATUS_CANCELLED, "this process was killed"), &nothing);
}

static struct client_call *begin(struct channel *channel, const char *path, struct message *request,
                                 const struct call_options *options, reply_function *done,
                                 void *context)
{
    struct lossy *lossy = (struct lossy *)channel;
    struct network *network = lossy->network;
    struct lossy_call *call = zalloc(sizeof *call);

    assert(options->received == NULL); /* unary calls only */
    call->client.channel = channel;
    call->lossy = lossy;
    call->references = 2; /* the caller, this function */
    call->done = done;
    call->context = context;
    call->path = path;
    call->header = (struct bytes){ copy_bytes(request->header), request->header.size };
    call->payload = join_payload(request);
    message_release(request);
    busy(network, 1);
    pthread_mutex_lock(&network->lock);
    lossy->calls++;
    bool cut = lossy->cut;
    if (options->deadline_ns != CLOCK_NEVER && !cut)
        schedule_end(call, STATUS_DEADLINE_EXCEEDED, options->deadline_ns);
    struct delivery *delivery = cut ? NULL : send_request(lossy, call);
    pthread_mutex_unlock(&network->lock);
    if (delivery != NULL)
        delivery_begin(delivery);
    if (cut)
        end_cut(call);
    busy(network, -1);
    drop(call);
    return &call->client;
}

static void cancel(struct client_call *client)
{
    struct lossy_call *call = (struct lossy_call *)client;
    struct message nothing = { 0 };

    answer(call, status_error(STATUS_CANCELLED, "cancelled"), &nothing);
    cancel_deliveries(call->lossy, call);
}

static void release(struct client_call *client)
{
    drop((struct lossy_call *)client);
}

static struct lossy_call *call_of(const struct event *event)
{
    return event->run == end_run     ? ((const struct end_event *)event)->call
           : event->run == reply_run ? ((const struct reply_event *)event)->call
                                     : ((const struct request_event *)event)->delivery->call;
}

/* With the lock: the next event that belongs to this channel, taken out of the queue. */
static struct event *take_event(struct lossy *lossy)
{
    for (struct event **at = &lossy->network->events; *at != NULL; at = &(*at)->next) {
        struct event *event = *at;
        if (call_of(event)->lossy == lossy) {
            *at = event->next;
            return event;
        }
    }
    return NULL;
}

/* What is still under way arrives now, at calls that have all ended. */
static void close_lossy(struct channel *channel)
{
    struct lossy *lossy = (struct lossy *)channel;
    struct network *network = lossy->network;
    struct event *event;

    pthread_mutex_lock(&network->lock);
    lossy->closing = true;
    for (;;) {
        while ((event = take_event(lossy)) != NULL) {
            pthread_mutex_unlock(&network->lock);
            event->run(event);
            pthread_mutex_lock(&network->lock);
        }
        pthread_mutex_unlock(&network->lock);
        cancel_deliveries(lossy, NULL);
        pthread_mutex_lock(&network->lock);
        if (lossy->deliveries == NULL && lossy->calls == 0)
            break;
        pthread_cond_wait(&network->idle, &network->lock);
    }
    pthread_mutex_unlock(&network->lock);
    channel_close(lossy->inner);
    free(lossy);
}

/* Its call ends; what it would have brought is lost. Without the lock. */
static void cut_event(struct event *event)
{
    end_cut(call_of(event));
    if (event->run != request_run) { /* to a call that has ended */
        event->run(event);
        return;
    }
    struct delivery *delivery = ((struct request_event *)event)->delivery;
    delivery_drop(delivery); /* the one who would have begun it */
    delivery_drop(delivery); /* the inner channel */
    free(event);
}

static void end_calls(struct lossy *lossy, bool tell)
{
    struct network *network = lossy->network;
    struct event *event;

    pthread_mutex_lock(&network->lock);
    while ((event = take_event(lossy)) != NULL) {
        pthread_mutex_unlock(&network->lock);
        cut_event(event);
        pthread_mutex_lock(&network->lock);
    }
    pthread_mutex_unlock(&network->lock);
    if (tell)
        cancel_deliveries(lossy, NULL);
}

/* All at once: the process is not to say by one channel that another was cut. */
void lossy_cut(struct channel *const *channels, int count, bool tell)
{
    struct network *network = ((struct lossy *)channels[0])->network;

    pthread_mutex_lock(&network->lock);
    for (int i = 0; i < count; i++)
        ((struct lossy *)channels[i])->cut = true;
    network->busy++; /* time stands still */
    pthread_mutex_unlock(&network->lock);
    for (int i = 0; i < count; i++)
        end_calls((struct lossy *)channels[i], tell);
    busy(network, -1);
}

static const char *metadata(const struct client_call *call, const char *name)
{
    (void)call;
    (void)name;
    return NULL;
}

static const struct channel_type lossy_type = { begin, cancel, release, close_lossy, metadata };

struct channel *lossy_open(struct network *network, struct channel *inner)
{
    struct lossy *lossy = zalloc(sizeof *lossy);

    lossy->channel = (struct channel){ .type = &lossy_type, .clock = network->clock };
    lossy->inner = inner;
    lossy->network = network;
    pthread_mutex_lock(&network->lock);
    random_init(&lossy->random, network->seed, network->channels++);
    pthread_mutex_unlock(&network->lock);
    return &lossy->channel;
}
