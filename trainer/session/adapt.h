/*
 * adapt: adapts a session's preprocessing layers in a cluster (session/adapt_cluster.c).
 */
#ifndef TRAINER_SESSION_ADAPT_H
#define TRAINER_SESSION_ADAPT_H

#include "trainer/session/session.h"

bool session_is_stopped(void *session); /* callback of functions that poll it while they wait */

/* Sets this task's states to those of all tasks. The chief passes `states` if it has them from a
 * checkpoint; otherwise they are empty, and are set for the chief. */
struct status session_adapt_cluster(struct session *session, struct buffer *states);

/* Posts the chief's states, if there are any, for tasks that start later. Logs a failure. */
void session_post_states(struct session *session);

#endif
