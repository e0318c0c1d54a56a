#include "lossy.h"

#include <assert.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/random.h"

#define TICK_NS 30000 /* real time between two checks whether all threads are idle */

/* An event at a time of the clock. The first member of a larger struct. */
struct event {
    void (*run)(struct event *event);
    int64_t at_ns;
    struct event *next;
};

/* A thread that waits by the clock until `deadline_ns`. Lives on that thread's stack. */
struct waiter {
    pthread_cond_t *changed;
    int64_t deadline_ns;
    struct waiter *next;
};

/* A thread that must be asleep before time moves. */
struct watched_thread {
    int stat_fd; /* its /proc/…/stat */
    struct watched_thread *next;
};

struct network {
    struct clock clock;     /* first */
    _Atomic int64_t now_ns; /* written with the lock, read without */
    struct network_faults faults;
    uint64_t id; /* unique in this process, unlike an address */
    uint64_t seed, channels;
    pthread_mutex_t lock;           /* guards the rest, and the channels' calls and deliveries */
    pthread_cond_t idle;            /* a call or delivery of a channel has ended */
    struct event *events;           /* sorted by time */
    struct waiter *waiters;         /* unsorted */
    struct watched_thread *threads; /* grows at its head; entries do not change */
    uint64_t activity;              /* counts changes: starts, waits, calls and answers */
    int busy;                       /* threads that deliver a call or are starting */
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
    int calls;                   /* with references left */
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
    int references; /* the function that begins it, and the inner channel */
    bool ended;
    bool harmful; /* its reply will be lost */
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
    struct payload_cursor payload = { .message = message };
    char *copy = zalloc(size + 1);

    payload_copy(&payload, copy, size);
    return (struct bytes){ copy, size };
}

/* ---- messages that a network has delivered: copies, in one piece ---- */

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

/* ---- the queue of events, and time ---- */

/* Called with the lock held. */
static void schedule(struct network *network, struct event *event, int64_t at_ns)
{
    struct event **at = &network->events;

    event->at_ns = at_ns;
    while (*at != NULL && (*at)->at_ns <= at_ns)
        at = &(*at)->next;
    event->next = *at;
    *at = event;
}

/* Called with the lock held. Runs the first event that is due, and releases the lock meanwhile. */
static bool run_due(struct network *network)
{
    struct event *event = network->events;

    if (event == NULL || event->at_ns > clock_now_ns(&network->clock))
        return false;
    network->events = event->next;
    pthread_mutex_unlock(&network->lock);
    event->run(event);
    pthread_mutex_lock(&network->lock);
    return true;
}

/* ---- the clock, which moves only while all watched threads are asleep ---- */

/* Called with the lock held. */
static void watch_this_thread(struct network *network)
{
    static _Thread_local uint64_t watched_by;

    if (watched_by == network->id)
        return;
    watched_by = network->id;
    struct watched_thread *thread = zalloc(sizeof *thread);
    thread->stat_fd = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);
    assert(thread->stat_fd >= 0);
    thread->next = network->threads;
    network->threads = thread;
}

static int64_t network_now_ns(struct clock *clock)
{
    return atomic_load(&((struct network *)clock)->now_ns);
}

/* Time cannot move between the check of the deadline and the wait, since this thread is awake. */
static bool network_wait(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                         int64_t deadline_ns)
{
    struct network *network = (struct network *)clock;
    struct waiter waiter = { .changed = changed, .deadline_ns = deadline_ns };

    pthread_mutex_lock(&network->lock);
    watch_this_thread(network);
    network->activity++;
    waiter.next = network->waiters;
    network->waiters = &waiter;
    bool waits = network_now_ns(clock) < deadline_ns;
    pthread_mutex_unlock(&network->lock);
    if (waits)
        pthread_cond_wait(changed, lock);
    pthread_mutex_lock(&network->lock);
    struct waiter **at = &network->waiters;
    while (*at != &waiter)
        at = &(*at)->next;
    *at = waiter.next;
    bool early = network_now_ns(clock) < deadline_ns;
    pthread_mutex_unlock(&network->lock);
    return early;
}

/* Asks the kernel, which reports a woken thread as running even if it has no processor yet. A
 * thread that has ended counts as asleep. */
static bool is_asleep(const struct watched_thread *thread)
{
    char text[128];
    ssize_t size = pread(thread->stat_fd, text, sizeof text - 1, 0);

    if (size <= 0)
        return true;
    text[size] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && strchr("SZX", name_end[2]) != NULL;
}

static bool are_asleep(const struct watched_thread *threads)
{
    for (; threads != NULL; threads = threads->next)
        if (!is_asleep(threads))
            return false;
    return true;
}

/*
 * Are all threads idle? Called with the lock held, which it releases meanwhile. A thread that was
 * asleep when checked may be woken by another one that then falls asleep before its own check. In
 * that case the second pass finds the first thread awake, or `activity` has counted its next wait
 * or call.
 */
static bool is_quiet(struct network *network)
{
    uint64_t activity = network->activity;
    const struct watched_thread *threads = network->threads;

    if (network->busy > 0)
        return false;
    pthread_mutex_unlock(&network->lock);
    bool asleep = are_asleep(threads) && are_asleep(threads);
    pthread_mutex_lock(&network->lock);
    return asleep && network->activity == activity && network->busy == 0;
}

/* Called with the lock held. Moves the clock to the next deadline or event, if there is one. */
static bool advance(struct network *network)
{
    int64_t next_ns = network->events != NULL ? network->events->at_ns : CLOCK_NEVER;

    for (const struct waiter *waiter = network->waiters; waiter != NULL; waiter = waiter->next)
        next_ns = waiter->deadline_ns < next_ns ? waiter->deadline_ns : next_ns;
    if (next_ns == CLOCK_NEVER)
        return false;
    if (next_ns > atomic_load(&network->now_ns))
        atomic_store(&network->now_ns, next_ns);
    for (const struct waiter *waiter = network->waiters; waiter != NULL; waiter = waiter->next)
        if (waiter->deadline_ns <= next_ns)
            pthread_cond_broadcast(waiter->changed);
    return true;
}

static void *network_run(void *context)
{
    const struct timespec tick = { .tv_nsec = TICK_NS };
    struct network *network = context;

    pthread_mutex_lock(&network->lock);
    while (!network->closing) {
        if (run_due(network) || (is_quiet(network) && advance(network)))
            continue;
        pthread_mutex_unlock(&network->lock);
        nanosleep(&tick, NULL);
        pthread_mutex_lock(&network->lock);
    }
    pthread_mutex_unlock(&network->lock);
    return NULL;
}

struct network *network_create(uint64_t seed, const struct network_faults *faults)
{
    static _Atomic uint64_t networks;
    struct network *network = zalloc(sizeof *network);

    network->clock = (struct clock){ network_now_ns, network_wait };
    atomic_init(&network->now_ns, NS_PER_S);
    network->id = ++networks;
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
    assert(network->events == NULL); /* each channel has removed its events */
    pthread_cond_destroy(&network->idle);
    pthread_mutex_destroy(&network->lock);
    for (struct watched_thread *thread = network->threads, *next; thread != NULL; thread = next) {
        next = thread->next;
        close(thread->stat_fd);
        free(thread);
    }
    free(network);
}

struct clock *network_clock(struct network *network)
{
    return &network->clock;
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

struct start {
    struct network *network;
    void *(*run)(void *context);
    void *context;
};

static void *run_watched(void *context)
{
    struct start start = *(struct start *)context;

    free(context);
    pthread_mutex_lock(&start.network->lock);
    watch_this_thread(start.network);
    pthread_mutex_unlock(&start.network->lock);
    busy(start.network, -1);
    return start.run(start.context);
}

void network_start_thread(struct network *network, pthread_t *thread, void *(*run)(void *context),
                          void *context)
{
    struct start *start = zalloc(sizeof *start);

    *start = (struct start){ network, run, context };
    busy(network, 1);
    if (pthread_create(thread, NULL, run_watched, start) != 0)
        abort();
}

/* Called with the lock held. Draws whether a fault happens. */
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

/* ---- calls ---- */

/* Called without the lock. The channel may be freed as soon as its last call is gone. */
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

/* Answers the caller unless it has been answered. Called without the lock. */
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

/* Ends a call: its deadline has passed, or its connection broke. */
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
    if (told) /* the other side learns of the end in half of the cases */
        cancel_deliveries(lossy, call);
    drop(call);
    free(end);
}

/* Called with the lock held. */
static void schedule_end(struct lossy_call *call, enum status_code code, int64_t at_ns)
{
    struct end_event *end = zalloc(sizeof *end);

    end->event.run = end_run;
    end->call = call;
    end->code = code;
    call->references++;
    schedule(call->lossy->network, &end->event, at_ns);
}

/* ---- replies ---- */

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

/* Called with the lock held. */
static void delivery_unlink(struct delivery *delivery)
{
    *delivery->previous = delivery->next;
    if (delivery->next != NULL)
        delivery->next->previous = delivery->previous;
}

/* Called without the lock. */
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

/* Passes the inner channel's answer to the caller at once, later or never. */
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
        schedule(network, &event->event, clock_now_ns(&network->clock) + delivery->reply_delay_ns);
    if (delivery->broken && !lost)
        schedule_end(call, STATUS_UNAVAILABLE, clock_now_ns(&network->clock));
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

/* ---- requests ---- */

/* Called with the lock held. Makes a delivery to the inner channel and draws the faults of its
 * reply. */
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

/* Called without the lock. */
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

/* Called with the lock held. */
static void schedule_request(struct lossy_call *call, int64_t delay_ns)
{
    struct network *network = call->lossy->network;
    struct request_event *event = zalloc(sizeof *event);

    event->event.run = request_run;
    event->delivery = delivery_create(call);
    schedule(network, &event->event, clock_now_ns(&network->clock) + delay_ns);
}

/* Cancels the deliveries of `call`; NULL: of all calls. Called without the lock. */
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

/* Called with the lock held. Draws the faults of a request. Returns the delivery to begin at once,
 * or NULL. */
static struct delivery *send_request(struct lossy *lossy, struct lossy_call *call)
{
    const struct network_faults *faults = &lossy->network->faults;
    bool lost = happens(lossy, faults->lose_request);
    bool broken = happens(lossy, faults->break_request);
    int64_t delay_ns = draw_delay_ns(lossy);

    if (happens(lossy, faults->repeat))
        schedule_request(call, 1 + draw_delay_ns(lossy) * 2);
    if (broken)
        schedule_end(call, STATUS_UNAVAILABLE, clock_now_ns(&lossy->network->clock));
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

/* Called with the lock held. Removes this channel's next event from the queue and returns it. */
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

/* Runs the remaining events, whose calls have all ended. */
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

/* Ends the event's call and discards its message. Called without the lock. */
static void cut_event(struct event *event)
{
    end_cut(call_of(event));
    if (event->run != request_run) { /* has no effect: the call has ended */
        event->run(event);
        return;
    }
    struct delivery *delivery = ((struct request_event *)event)->delivery;
    delivery_drop(delivery); /* the reference of delivery_begin */
    delivery_drop(delivery); /* the reference of the inner channel */
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

/* Cuts all channels at once, so that the process cannot report over one that another was cut. */
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

    lossy->channel = (struct channel){ .type = &lossy_type, .clock = &network->clock };
    lossy->inner = inner;
    lossy->network = network;
    pthread_mutex_lock(&network->lock);
    random_init(&lossy->random, network->seed, network->channels++);
    pthread_mutex_unlock(&network->lock);
    return &lossy->channel;
}
