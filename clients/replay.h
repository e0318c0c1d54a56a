/*
 * replay: sends the requests of a request log or of a warm-up file again, over gRPC, and compares
 * the answers with those in the log.
 */
#ifndef CLIENTS_REPLAY_H
#define CLIENTS_REPLAY_H

#include "clients/compare.h"
#include "clients/load.h"
#include "storage/tfrecord.h"

struct replay_options {
    const struct load_options *load; /* `count` is the most requests; 0: all */
    double rate; /* requests a second; 0: the next one is sent when an answer has arrived */
    const struct client_target *target; /* see log_request_put */
    struct tolerance tolerance;
    int64_t shown_max; /* differences that are printed */
    bool draws;        /* a bar on stderr */
};

struct replay_result {
    struct load_result load; /* of the requests that were answered; free load.times_ns */
    int64_t equal, different;
    int64_t refused;    /* refused by the server, although the log has an answer or none is
                         * expected */
    int64_t unanswered; /* the log has no answer to compare with */
    int64_t skipped;    /* records without a request, or of a kind that no method answers */
};

/**
 * Replays what is left of a file. With a rate, a request is due at a fixed time, and its latency
 * counts from then, whether or not it could be sent. Ctrl-C ends the replay early, with OK.
 *
 * Output  `out` gets a line for each difference, up to shown_max
 * Errors  DATA_LOSS no TFRecords of PredictionLogs; UNAVAILABLE no connection
 */
struct status replay_run(struct tfrecord_reader *reader, const char *server,
                         const struct replay_options *options, struct buffer *out,
                         struct replay_result *result);

/* "1000 requests: 998 equal, 2 different …" and a newline, then load_print's line. */
void replay_print(const struct replay_result *result, int concurrency, struct buffer *out);

#endif
