/* cluster: the part of options_read that finds out which task of which cluster this process is. */
#ifndef TRAINER_OPTIONS_CLUSTER_H
#define TRAINER_OPTIONS_CLUSTER_H

#include "trainer/options/options.h"

/**
 * Sets the map and the token from out->flags, and checks the flags of a cluster.
 *
 * need_self  as for job_map_read
 * Errors     those of job_map_read and of reading the token; INVALID_ARGUMENT a flag that has no
 *            effect in this kind of job
 */
struct status options_read_cluster(bool need_self, struct arena *arena, struct options *out);

#endif
