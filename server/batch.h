/*
 * batch: calls for one callable as one run: their rows one after the other in, each one's rows out.
 */
#ifndef SERVER_BATCH_H
#define SERVER_BATCH_H

#include "server/inference.h"

/* May these two ride in one run? Same callable, same dtypes, shapes equal
 * behind dimension 0. */
bool batch_fits(const struct inference_call *a, const struct inference_call *b);

struct batch_limits {
    size_t run_memory_bytes;
    _Atomic bool stopping; /* runs end soon, with UNAVAILABLE */
};

/* Calls `prepare` of a call that is still wanted; UNAVAILABLE, CANCELLED: it is not. */
struct status batch_prepare(struct inference_call *call, const struct batch_limits *limits);

/* Runs the list of calls and calls `answer` of each; what comes of each is in its `status`:
 * also DEADLINE_EXCEEDED, CANCELLED where all of them were left.
 *
 * A run that takes longer than `run_ns` (0: any time) stops before its next costly step: its calls
 * are `unfinished`, have no answer yet and can run again. Only for plans of predictable cost, which
 * have no side effects. */
void batch_run(struct inference_call *calls, const struct batch_limits *limits, int64_t run_ns);

#endif
