/*
 * adapt: adapts a session's preprocessing layers to the training data, in one process (adapt.c) or
 * in a cluster (adapt_cluster.c).
 */
#ifndef TRAINER_SESSION_ADAPT_H
#define TRAINER_SESSION_ADAPT_H

#include "trainer/session/session.h"

/* Adapts the preprocessing layers that need it to the training data. A job that resumes from a
 * checkpoint has the states that it began with. */
struct status session_adapt(struct session *session);

bool session_is_stopped(void *session); /* callback of functions that poll it while they wait */

/* Sets this task's states to those of all tasks. The chief passes `states` if it has them from a
 * checkpoint; otherwise they are empty, and are set for the chief. */
struct status session_adapt_cluster(struct session *session, struct buffer *states);

/* Posts the chief's states, if there are any, for tasks that start later. Logs a failure. */
void session_post_states(struct session *session);

#endif
