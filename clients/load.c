#include "clients/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/plural.h"
#include "clients/client_type.h"
#include "clients/connections.h"
#include "clients/http.h"
#include "clients/interrupt.h"
#include "rpc/channel.h"

static int64_t now_ns(void)
{
    return clock_now_ns(clock_monotonic());
}

static bool is_enough(const struct load_options *options, int64_t started)
{
    return started >= options->count || interrupt_came();
}

/* ---- gRPC: one thread, which runs the event loop ---- */

struct grpc_load {
    const struct load_options *options;
    struct load_result *result;
    const struct client_request *request;
    int64_t started;
    int in_flight;
    struct arena *arena;
    struct status status; /* the first failure */
};

struct slot {
    struct grpc_load *load;
    struct channel *channel;
    int64_t start_ns;
};

static void on_reply(void *context, struct status status, struct message *reply);

static void begin(struct slot *slot)
{
    struct grpc_load *load = slot->load;
    const struct client_request *body = load->request;
    struct message request = { .header = { body->body.data, body->body.size } };
    load->started++;
    load->in_flight++;
    slot->start_ns = now_ns();
    int64_t deadline_ns = slot->start_ns + load->options->timeout_ms * (int64_t)NS_PER_MS;
    client_call_release(
        channel_start(slot->channel, body->path.data, &request, deadline_ns, on_reply, slot));
}

static void on_reply(void *context, struct status status, struct message *reply)
{
    struct slot *slot = context;
    struct grpc_load *load = slot->load;
    (void)reply;
    load->in_flight--;
    if (!status_is_ok(status)) {
        if (status_is_ok(load->status))
            load->status = status_keep(load->arena, status);
        return;
    }
    load->result->times_ns[load->result->count++] = now_ns() - slot->start_ns;
    if (status_is_ok(load->status) && !is_enough(load->options, load->started))
        begin(slot);
}

static bool is_over(void *context)
{
    return ((struct grpc_load *)context)->in_flight == 0;
}

static struct status run_slots(struct grpc_load *load, const struct server_connections *connections)
{
    const struct load_options *options = load->options;
    struct slot *slots = zalloc((size_t)options->concurrency * sizeof *slots);
    shared_loop_claim(connections->loop);
    for (int i = 0; i < options->concurrency && !is_enough(options, load->started); i++) {
        slots[i] =
            (struct slot){ .load = load, .channel = connections->channels[i % connections->count] };
        begin(&slots[i]);
    }
    shared_loop_leave(connections->loop);
    shared_loop_run(connections->loop, is_over, load);
    free(slots);
    return load->status;
}

static struct status load_grpc(const char *server, struct grpc_load *load)
{
    struct server_connections connections;
    struct status status = connections_open(server, load->options, &connections);
    if (status_is_ok(status))
        status = run_slots(load, &connections);
    connections_close(&connections);
    return status;
}

/* ---- REST: one thread per request in flight ---- */

struct rest_load {
    const struct load_options *options;
    const char *server;
    struct load_result *result;
    const struct client_request *request;
    _Atomic int64_t started, answered;
    pthread_mutex_t lock; /* protects the fields below */
    struct arena *arena;
    struct status status;
};

static struct status ask_until_done(struct rest_load *load, struct http *http)
{
    const struct load_options *options = load->options;
    while (!is_enough(options, atomic_fetch_add(&load->started, 1))) {
        struct bytes answer;
        int code;
        int64_t start_ns = now_ns();
        TRY(http_ask(http, "POST", load->request->path.data, &load->request->body,
                     start_ns + options->timeout_ms * (int64_t)NS_PER_MS, &code, &answer));
        if (code != 200)
            return rest_refusal(code, answer);
        load->result->times_ns[atomic_fetch_add(&load->answered, 1)] = now_ns() - start_ns;
    }
    return status_ok();
}

static void *ask_in_thread(void *context)
{
    struct rest_load *load = context;
    struct http http;
    struct status status = http_init(&http, load->server);
    if (status_is_ok(status)) {
        http.token = load->options->token;
        http.tls = load->options->tls;
        http.server_name = load->options->server_name;
        status = ask_until_done(load, &http);
        http_finish(&http);
    }
    if (!status_is_ok(status)) {
        pthread_mutex_lock(&load->lock);
        if (status_is_ok(load->status))
            load->status = status_keep(load->arena, status);
        pthread_mutex_unlock(&load->lock);
        atomic_store(&load->started, load->options->count); /* ends the other threads */
    }
    return NULL;
}

static struct status load_rest(struct rest_load *load)
{
    int count = load->options->concurrency, running = 0;
    pthread_t *threads = zalloc((size_t)count * sizeof *threads);
    pthread_mutex_init(&load->lock, NULL);
    for (; running < count; running++) {
        int error = pthread_create(&threads[running], NULL, ask_in_thread, load);
        if (error != 0) {
            atomic_store(&load->started, load->options->count);
            load->status = status_errno(error, "start a thread");
            break;
        }
    }
    for (int i = 0; i < running; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&load->lock);
    free(threads);
    load->result->count = atomic_load(&load->answered);
    return load->status;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void load_sort(struct load_result *result)
{
    if (result->count > 0)
        qsort(result->times_ns, (size_t)result->count, sizeof *result->times_ns, compare_times);
}

static struct status run_load(const char *server, const struct load_options *options,
                              const struct client_request *request, struct arena *arena,
                              struct load_result *result)
{
    if (rest_address(server) == NULL) {
        struct grpc_load load = {
            .options = options, .request = request, .result = result, .arena = arena
        };
        return load_grpc(server, &load);
    }
    struct rest_load load = { .options = options,
                              .request = request,
                              .server = rest_address(server),
                              .result = result,
                              .arena = arena };
    return load_rest(&load);
}

/* Takes ownership of *request. */
static struct status load_request(const char *server, const struct load_options *options,
                                  struct client_request *request, struct load_result *out)
{
    struct load_result result = { .times_ns = zalloc((size_t)options->count * sizeof(int64_t)) };
    struct arena *arena = arena_create(0);
    interrupt_watch();
    int64_t begin_ns = now_ns();
    struct status status = run_load(server, options, request, arena, &result);
    result.took_ns = now_ns() - begin_ns;
    if (status_is_ok(status)) {
        load_sort(&result);
        *out = result;
    } else {
        /* copies the text, which lies in the arena */
        status = status_error(status.code, "%s", status.message);
        free(result.times_ns);
    }
    arena_destroy(arena);
    client_request_finish(request);
    return status;
}

struct status load_predict(const char *server, const struct load_options *options,
                           const struct client_target *target, const struct client_tensor *inputs,
                           int inputs_count, struct load_result *out)
{
    struct client_request request = { 0 };
    if (rest_address(server) != NULL)
        rest_put_predict(target, inputs, inputs_count, &request);
    else
        grpc_put_predict(target, inputs, inputs_count, &request);
    return load_request(server, options, &request, out);
}

struct status load_examples(const char *server, const struct load_options *options,
                            const struct client_target *target, const char *verb,
                            const char *examples, const char *context, struct load_result *out)
{
    struct client_request request = { 0 };
    struct status status = status_ok();
    if (rest_address(server) != NULL)
        rest_put_examples(target, verb, examples, context, &request);
    else
        status = grpc_put_examples(target, verb, examples, context, &request);
    if (status_is_ok(status))
        return load_request(server, options, &request, out);
    client_request_finish(&request);
    return status;
}

static double at(const struct load_result *result, int64_t numerator, int64_t denominator)
{
    int64_t index = result->count * numerator / denominator;
    return (double)result->times_ns[index < result->count ? index : result->count - 1] / 1e3;
}

void load_print(const struct load_result *result, int concurrency, struct buffer *out)
{
    if (result->count == 0)
        return;
    buffer_printf(
        out,
        "%lld call%s, %d at a time: %.0f calls/s; latency µs: min %.1f  p50 %.1f  p90 %.1f"
        "  p99 %.1f  p99.9 %.1f  max %.1f\n",
        (long long)result->count, plural(result->count), concurrency,
        (double)result->count * 1e9 / (double)result->took_ns, at(result, 0, 1), at(result, 1, 2),
        at(result, 9, 10), at(result, 99, 100), at(result, 999, 1000), at(result, 1, 1));
}
