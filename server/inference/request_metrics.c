#include "server/inference/request_metrics.h"

#include <pthread.h>
#include <stdio.h>

#include "server/metrics/metrics.h"

enum request_stage { STAGE_QUEUE, STAGE_PARSE, STAGE_RUN, STAGE_PRINT, STAGES_COUNT };

/* The series of one signature's requests in one protocol. */
struct request_series {
    const struct metric_series *ok, *stages[STAGES_COUNT];
    const struct metric_series *tf_ok; /* TensorFlow Serving's */
    _Atomic(struct metric_series *) tf_latency[APIS_COUNT], tf_runtime[APIS_COUNT];
};

/* Also guards the lists of the servables' owners. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* ---- TensorFlow Serving's labels ---- */

/* REST: the verb of the URL, empty for GET. */
static const char *api_label(const struct served_request *request)
{
    if (request->protocol != PROTOCOL_REST)
        return request_api_name(request->api);
    switch (request->api) {
    case API_PREDICT:
        return "predict";
    case API_CLASSIFY:
        return "classify";
    case API_REGRESS:
        return "regress";
    default:
        return "";
    }
}

/* Does TensorFlow Serving count it? It counts all REST requests, but neither gRPC's
 * MultiInference nor its requests for metadata and status. */
static bool tf_counts(const struct served_request *request)
{
    switch (request->api) {
    case API_PREDICT:
    case API_CLASSIFY:
    case API_REGRESS:
        return true;
    case API_METADATA:
    case API_STATUS:
    case API_MALFORMED:
        return request->protocol == PROTOCOL_REST;
    default:
        return false;
    }
}

/* ---- finding series ---- */

static struct bytes version_text(const struct servable *servable, char text[24])
{
    snprintf(text, 24, "%lld", (long long)servable->version);
    return bytes_of(text);
}

static struct request_series *make_series(const struct served_request *request)
{
    static const char *const stages[] = { "queue", "parse", "run", "print" };
    struct servable *servable = request->servable;
    struct request_series *series = zalloc(sizeof *series);
    struct bytes ok = bytes_of("OK"), name = bytes_of(servable->name);
    struct bytes signature = bytes_of(request->call.callable->signature->name);
    struct bytes protocol = bytes_of(request_protocol_name(request->protocol));
    char text[24];
    struct bytes version = version_text(servable, text);
    series->ok = metric_series_owned(
        METRIC_REQUESTS, METRIC_LABELS(name, version, signature, protocol, ok), &servable->series);
    for (int i = 0; i < STAGES_COUNT; i++)
        series->stages[i] = metric_series_owned(
            METRIC_REQUEST_STAGE,
            METRIC_LABELS(name, version, signature, protocol, bytes_of(stages[i])),
            &servable->series);
    series->tf_ok = metric_series(METRIC_TF_REQUEST_COUNT, METRIC_LABELS(name, ok));
    return series;
}

static struct request_series *find_series(const struct served_request *request)
{
    _Atomic(struct request_series *) *place = &request->call.callable->counted[request->protocol];
    struct request_series *series = atomic_load_explicit(place, memory_order_acquire);
    if (series != NULL)
        return series;
    pthread_mutex_lock(&making);
    series = atomic_load_explicit(place, memory_order_relaxed);
    if (series == NULL) {
        series = make_series(request);
        atomic_store_explicit(place, series, memory_order_release);
    }
    pthread_mutex_unlock(&making);
    return series;
}

/* The series of a latency, which also depends on the API. */
static struct metric_series *find_latency(_Atomic(struct metric_series *) *place,
                                          enum metric_id metric,
                                          const struct served_request *request, const char *api,
                                          const char *last)
{
    struct metric_series *series = atomic_load_explicit(place, memory_order_acquire);
    if (series == NULL) {
        series = metric_series(metric, METRIC_LABELS(bytes_of(request->servable->name),
                                                     bytes_of(api), bytes_of(last)));
        atomic_store_explicit(place, series, memory_order_release);
    }
    return series;
}

/* ---- counting ---- */

static int64_t between(int64_t began_ns, int64_t ended_ns)
{
    return began_ns > 0 && ended_ns > began_ns ? ended_ns - began_ns : 0;
}

struct request_stages request_stages_of(const struct served_request *request)
{
    const struct request_times *times = &request->times;
    int64_t run_began_ns = request->call.run_began_ns, run_ended_ns = request->call.run_ended_ns;
    return (struct request_stages){
        .queue_ns =
            between(times->begun_ns, times->parsing_ns) + between(times->parsed_ns, run_began_ns),
        .parse_ns = between(times->parsing_ns, times->parsed_ns),
        .run_ns = between(run_began_ns, run_ended_ns),
        .print_ns = between(run_ended_ns, times->printed_ns),
    };
}

static void observe_stages(const struct request_series *series,
                           const struct served_request *request)
{
    struct request_stages stages = request_stages_of(request);
    metric_observe(series->stages[STAGE_QUEUE], (uint64_t)stages.queue_ns);
    metric_observe(series->stages[STAGE_PARSE], (uint64_t)stages.parse_ns);
    metric_observe(series->stages[STAGE_RUN], (uint64_t)stages.run_ns);
    metric_observe(series->stages[STAGE_PRINT], (uint64_t)stages.print_ns);
}

static uint64_t between_us(int64_t began_ns, int64_t ended_ns)
{
    return (uint64_t)between(began_ns, ended_ns) / 1000;
}

static void observe_tf_runtime(struct request_series *series, const struct served_request *request)
{
    metric_observe(find_latency(&series->tf_runtime[request->api], METRIC_TF_RUNTIME_LATENCY,
                                request, request_api_name(request->api), "TF1"),
                   between_us(request->call.run_began_ns, request->call.run_ended_ns));
}

static void count_examples(const struct served_request *request)
{
    const struct bytes *labels = METRIC_LABELS(bytes_of(request->servable->name));
    uint64_t count = (uint64_t)request->call.inputs[0].size;
    metric_observe(metric_series(METRIC_TF_EXAMPLE_COUNTS, labels), count);
    metric_add(metric_series(METRIC_TF_EXAMPLE_COUNT_TOTAL, labels), count);
}

/* Counts a request that ran a model and succeeded. */
static void count_success(const struct served_request *request)
{
    struct request_series *series = find_series(request);
    metric_add(series->ok, 1);
    observe_stages(series, request);
    if (request->api != API_INFER)
        observe_tf_runtime(series, request);
    if (request->api == API_MULTI_INFERENCE)
        count_examples(request);
    if (!tf_counts(request))
        return;
    metric_add(series->tf_ok, 1);
    metric_observe(find_latency(&series->tf_latency[request->api], METRIC_TF_REQUEST_LATENCY,
                                request, api_label(request),
                                request_protocol_name(request->protocol)),
                   between_us(request->times.begun_ns, request->times.ended_ns));
}

/* The name of an existing model, or one that the client made up. */
static struct bytes model_label(const struct served_request *request)
{
    if (request->servable != NULL)
        return bytes_of(request->servable->name);
    struct bytes name = request->spec.name;
    return manager_knows(request->server->manager, name) ? name : metric_client_name(name);
}

static void count_ours(const struct served_request *request, struct bytes name, struct bytes code)
{
    struct servable *servable = request->servable;
    const struct callable *callable = request->call.callable;
    char text[24] = "";
    const struct bytes *labels =
        METRIC_LABELS(name, servable != NULL ? version_text(servable, text) : bytes_of(""),
                      bytes_of(callable != NULL ? callable->signature->name : ""),
                      bytes_of(request_protocol_name(request->protocol)), code);
    struct metric_series *series;
    pthread_mutex_lock(&making);
    series = servable != NULL ? metric_series_owned(METRIC_REQUESTS, labels, &servable->series)
                              : metric_series(METRIC_REQUESTS, labels);
    pthread_mutex_unlock(&making);
    metric_add(series, 1);
}

/* Counts a request that failed, or that ran no model. */
static void count_other(const struct served_request *request)
{
    struct bytes name = model_label(request);
    struct bytes code = bytes_of(status_code_name(request->status.code));
    count_ours(request, name, code);
    if (!tf_counts(request))
        return;
    metric_add(metric_series(METRIC_TF_REQUEST_COUNT, METRIC_LABELS(name, code)), 1);
    if (status_is_ok(request->status))
        metric_observe(
            metric_series(METRIC_TF_REQUEST_LATENCY,
                          METRIC_LABELS(name, bytes_of(api_label(request)),
                                        bytes_of(request_protocol_name(request->protocol)))),
            between_us(request->times.begun_ns, request->times.ended_ns));
}

static void on_end(struct request_observer *observer, struct served_request *request)
{
    (void)observer;
    if (request->api == API_OTHER || request->api == API_HEALTH || request->api == API_RELOAD)
        return;
    if (request->call.callable != NULL && request->servable != NULL &&
        status_is_ok(request->status))
        count_success(request);
    else
        count_other(request);
}

void request_metrics_init(struct request_observer *out)
{
    *out = (struct request_observer){ .end = on_end, .wants_times = true };
}

/* ---- runs ---- */

/* The series of a signature, which is cached at *place. */
static struct metric_series *find_of_callable(struct callable *callable, enum metric_id metric,
                                              _Atomic(struct metric_series *) *place)
{
    struct metric_series *series = atomic_load_explicit(place, memory_order_acquire);
    if (series != NULL)
        return series;
    char text[24];
    pthread_mutex_lock(&making);
    series = atomic_load_explicit(place, memory_order_relaxed);
    if (series == NULL)
        series = metric_series_owned(metric,
                                     METRIC_LABELS(bytes_of(callable->servable->name),
                                                   version_text(callable->servable, text),
                                                   bytes_of(callable->signature->name)),
                                     &callable->servable->series);
    atomic_store_explicit(place, series, memory_order_release);
    pthread_mutex_unlock(&making);
    return series;
}

/* TensorFlow's series of all runs. */
static struct {
    const struct metric_series *sessions, *graphs, *time_us, *times_us;
} runs;

static void find_runs(void)
{
    runs.sessions = metric_series(METRIC_TF_DIRECT_SESSION_RUNS, METRIC_NO_LABELS);
    runs.graphs = metric_series(METRIC_TF_GRAPH_RUNS, METRIC_NO_LABELS);
    runs.time_us = metric_series(METRIC_TF_GRAPH_RUN_TIME, METRIC_NO_LABELS);
    runs.times_us = metric_series(METRIC_TF_GRAPH_RUN_TIME_HISTOGRAM, METRIC_NO_LABELS);
}

void request_metrics_run(struct callable *callable, int64_t rows, int64_t took_ns)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t took_us = (uint64_t)took_ns / 1000;
    pthread_once(&once, find_runs);
    metric_add(runs.sessions, 1);
    metric_add(runs.graphs, 1);
    metric_add(runs.time_us, took_us);
    metric_observe(runs.times_us, took_us);
    if (rows > 0)
        metric_observe(find_of_callable(callable, METRIC_BATCH_ROWS, &callable->rows_counted),
                       (uint64_t)rows);
}

void request_metrics_choice(struct callable *callable, int64_t rows)
{
    metric_set(find_of_callable(callable, METRIC_BATCH_ROWS_CHOSEN, &callable->rows_chosen), rows);
}
