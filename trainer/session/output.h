/*
 * output: what a session prints for people: its announcement, the job's events, progress. Each
 * function is a callback whose context is the session.
 */
#ifndef TRAINER_SESSION_OUTPUT_H
#define TRAINER_SESSION_OUTPUT_H

#include "trainer/session/session.h"

/* Prints what is trained, how, and on which data. */
void output_announce(struct session *session);

/* Logs a line, after the end of the progress bar's line. */
void output_print(void *context, const char *line);
void output_warn(void *context, const char *text); /* the same for a warning */
/* Reports an event of the job: the chief prints it, other tasks log it. */
void output_say(void *context, const char *line);
void output_lost_worker(void *context, uint32_t index, struct status status);

/* Draw progress, and log the step. Return false when a signal asks the job to stop. The first one
 * is for a job in this process, the second for a task of a cluster, where only the chief draws. */
bool output_watch(void *context, const struct progress *progress);
bool output_watch_task(void *context, const struct progress *progress);

#endif
