/*
 * load: the same request again and again, so many at a time, and how long each took.
 */
#ifndef CLIENTS_LOAD_H
#define CLIENTS_LOAD_H

#include "clients/client.h"

struct load_options {
    int64_t count;
    int concurrency, connections; /* requests at a time in all; shared out over the connections */
    int64_t timeout_ms;           /* of each */
    struct transport_maker *tls;
    const char *server_name;
};

struct load_result {
    int64_t *times_ns; /* sorted; free() */
    int64_t count;     /* answered */
    int64_t took_ns;   /* all of it */
};

/* The first failure ends it. gRPC: `concurrency` calls in flight on `connections` connections.
 * REST: a connection and a thread for each that is in flight. */
struct status load_predict(const char *server, const struct load_options *options,
                           const struct client_target *target, const struct client_tensor *inputs,
                           int inputs_count, struct load_result *out);
/* verb: "classify" or "regress". */
struct status load_examples(const char *server, const struct load_options *options,
                            const struct client_target *target, const char *verb,
                            const char *examples, const char *context, struct load_result *out);

/* "1000 calls, 8 at a time: 41234 calls/s; latency µs: min 80.1  p50 …" and a newline. */
void load_print(const struct load_result *result, int concurrency, struct buffer *out);

#endif
