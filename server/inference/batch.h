/*
 * batch: executes calls of one callable as one run. Concatenates their rows, and gives each call
 * its rows of the outputs.
 */
#ifndef SERVER_INFERENCE_BATCH_H
#define SERVER_INFERENCE_BATCH_H

#include "server/inference/inference.h"

/* Can these two share a run? They can if they have the same callable and dtypes, and shapes that
 * are equal except for dimension 0. */
bool batch_fits(const struct inference_call *a, const struct inference_call *b);

struct batch_limits {
    size_t run_memory_bytes;
    _Atomic bool stopping;          /* runs end soon, with UNAVAILABLE */
    const struct work_limits *load; /* the load that the runs are part of; its `check` can end
                                     * them. NULL: they answer requests */
};

/* Calls `prepare` of a call if it is still wanted. UNAVAILABLE, CANCELLED: it is not. */
struct status batch_prepare(struct inference_call *call, const struct batch_limits *limits);

/*
 * Runs the list of calls, calls `answer` of each, and sets its `status`. Besides failures of the
 * run, that can be DEADLINE_EXCEEDED, or CANCELLED if nobody waits for any of them.
 *
 * If the run takes longer than `run_ns` (0: no limit), it stops before its next costly step. Its
 * calls are then `unfinished`: they have no answer, and can run again. Use a limit only for plans
 * of predictable cost, which have no side effects.
 */
void batch_run(struct inference_call *calls, const struct batch_limits *limits, int64_t run_ns);

/* The same for a batch that --enable_batching has formed. As in TensorFlow Serving, it is one
 * run, padded to an allowed size, whose failure is that of all its calls. */
void batch_run_merged(struct inference_call *calls, const struct batch_limits *limits);

#endif
