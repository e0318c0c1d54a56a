/*
 * load: sends one request many times, several at once, and measures how long each takes.
 */
#ifndef CLIENTS_LOAD_H
#define CLIENTS_LOAD_H

#include "clients/client.h"

struct load_options {
    int64_t count;
    int concurrency, connections; /* requests in flight, spread over the connections */
    int64_t timeout_ms;           /* for each request */
    struct transport_maker *tls;
    const char *server_name;
    const char *token; /* NULL: none */
};

struct load_result {
    int64_t *times_ns; /* sorted; the caller frees it */
    int64_t count;     /* answered */
    int64_t took_ns;   /* from the first request to the last answer */
};

/* Stops at the first failure. Over gRPC, `concurrency` calls are in flight on `connections`
 * connections. Over REST, each request in flight has a connection and a thread of its own. */
struct status load_predict(const char *server, const struct load_options *options,
                           const struct client_target *target, const struct client_tensor *inputs,
                           int inputs_count, struct load_result *out);
/* verb: "classify" or "regress". */
struct status load_examples(const char *server, const struct load_options *options,
                            const struct client_target *target, const char *verb,
                            const char *examples, const char *context, struct load_result *out);

/* Sorts the times, for load_print. */
void load_sort(struct load_result *result);
/* "1000 calls, 8 at a time: 41234 calls/s; latency µs: min 80.1  p50 …" and a newline. */
void load_print(const struct load_result *result, int concurrency, struct buffer *out);

#endif
