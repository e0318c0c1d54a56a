/*
 * zero_run: runs each signature of a version once, with zeros, before the version serves. The first
 * run of a plan picks implementations, fills pools and caches, and has no cost in the cost table;
 * no client waits for that afterwards.
 *
 * Only plans without side effects run (callable.predictable). An unknown dimension is 1, and a
 * string is empty.
 */
#ifndef SERVER_INFERENCE_ZERO_RUN_H
#define SERVER_INFERENCE_ZERO_RUN_H

#include "server/models/servable.h"

/* Failures are logged at debug and are not returned: a model need not take zeros. Ends early when
 * limits->check fails, which the load sees by itself. Threads: several, each with a servable of its
 * own. */
void zero_run(struct servable *servable, struct budget *budget, const struct work_limits *limits);

#endif
