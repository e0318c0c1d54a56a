/*
 * explain: tells where the time of one request went, by stage and by op, for a client that asks for
 * it (`?explain=1`, `x-slipway-explain: 1`). Such a request runs alone, in the pool.
 */
#ifndef SERVER_INFERENCE_EXPLAIN_H
#define SERVER_INFERENCE_EXPLAIN_H

#include "server/inference/served_request.h"

struct explain;

/* Before the handler runs: times the ops of the runs that it asks for. Lives in the request's
 * arena. */
struct explain *explain_begin(struct served_request *request);

#define EXPLAIN_HEADER "x-slipway-explain" /* of a request, and of gRPC's trailers */

/* Does a header's value ask for it? `1` and `true` do; NULL: it was not sent. */
bool explain_is_asked(const char *value);

/**
 * Appends {"stages_us": {…}, "ops": [{"node": …, "op": …, "count": …, "us": …}, …]}, with `indent`
 * before each line but the first; without line feeds if it is NULL. The slowest ops come first, up
 * to ops_max; if there are more, "ops_left_out": … tells how many. Names are printed in ASCII. Times of ops are their own, without the ops of their branches and bodies.
 */
void explain_print(const struct explain *explain, const struct served_request *request,
                   const char *indent, size_t ops_max, struct buffer *out);

#endif
