/*
 * adapt: adapts a session's preprocessing layers in a cluster (session/adapt_cluster.c).
 */
#ifndef TRAINER_SESSION_ADAPT_H
#define TRAINER_SESSION_ADAPT_H

#include "trainer/session/session.h"

bool session_is_stopped(void *session); /* for functions that ask while they wait */

/* Gives this task's model the states that all tasks have. The chief passes `states` if it has them
 * from a checkpoint; otherwise they are empty, and are set for the chief. */
struct status session_adapt_cluster(struct session *session, struct buffer *states);

/* Leaves the chief's states, if there are any, for tasks that start later. Logs a failure. */
void session_post_states(struct session *session);

#endif
