/*
 * task_notes: notes that the tasks of a cluster leave for each other on ps 0 before the variables
 * exist, such as the summaries of their shares of the data.
 *
 *     TRY(task_notes_open(&task, stopped, context, &notes));
 *     TRY(task_notes_post(notes, "summaries of worker 1", bytes));
 *     TRY(task_notes_fetch(notes, "states", &note, &found));
 *     task_notes_close(notes);
 *
 * Threads not safe
 */
#ifndef TRAINER_JOB_TASK_NOTES_H
#define TRAINER_JOB_TASK_NOTES_H

#include "trainer/job/task.h"

struct task_notes;

/* Sends nothing yet. The options outlive it. `stopped` is polled during waits. */
struct status task_notes_open(const struct task_options *options, bool (*stopped)(void *context),
                              void *context, struct task_notes **out);
void task_notes_close(struct task_notes *notes); /* accepts NULL */

/* Waits until ps 0 has the note. UNAVAILABLE: no answer within the task's start timeout;
 * CANCELLED: `stopped` returned true. */
struct status task_notes_post(struct task_notes *notes, const char *key, struct bytes note);

/* Asks once, and waits until ps 0 answers. Appends the note to `out`. Errors: as for
 * task_notes_post. */
struct status task_notes_fetch(struct task_notes *notes, const char *key, struct buffer *out,
                               bool *found);

/* Waits a moment between two requests; CANCELLED: `stopped` returned true. */
struct status task_notes_pause(struct task_notes *notes);

#endif
