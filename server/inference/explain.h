/*
 * explain: measures the time of one request, by stage and by op, for a client that requests it
 * (`?explain=1`, `x-slipway-explain: 1`). The request runs alone, in the pool.
 */
#ifndef SERVER_INFERENCE_EXPLAIN_H
#define SERVER_INFERENCE_EXPLAIN_H

#include "server/inference/served_request.h"

struct explain;

/* Call it before the handler: times the ops of the runs that it requests. Lives in the request's
 * arena. */
struct explain *explain_begin(struct served_request *request);

#define EXPLAIN_HEADER "x-slipway-explain" /* of a request, and of gRPC's trailers */

/* Does a header's value request it? `1` and `true` do; NULL: not sent. */
bool explain_is_requested(const char *value);

/**
 * Appends {"stages_us": {…}, "ops": [{"node": …, "op": …, "count": …, "us": …}, …]}, with `indent`
 * before each line but the first; without line feeds if it is NULL. The slowest ops come first, up
 * to ops_max; "ops_left_out" is the number of the others. Names are printed in ASCII. The time of
 * an op excludes the ops of its branches and bodies.
 */
void explain_print(const struct explain *explain, const struct served_request *request,
                   const char *indent, size_t ops_max, struct buffer *out);

#endif
