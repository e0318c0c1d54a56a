/*
 * zero_warmup: runs each signature of a version once, with zeros, before the version serves. The
 * first run of a plan picks implementations, fills pools and caches, and enters the cost table, so
 * no client waits for that.
 *
 * Only plans without side effects run (callable.predictable). An unknown dimension is 1, and a
 * string is empty.
 */
#ifndef SERVER_INFERENCE_ZERO_WARMUP_H
#define SERVER_INFERENCE_ZERO_WARMUP_H

#include "server/models/servable.h"

/* Failures are logged at debug and are not returned: a model need not accept zeros. Ends early
 * when limits->check fails, which the load itself notices. Threads: several concurrently, each
 * with its own servable. */
void zero_warmup(struct servable *servable, struct budget *budget,
                 const struct work_limits *limits);

#endif
