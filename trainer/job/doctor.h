/*
 * doctor: dials every address of a job's map at once, and prints a line about each: no answer
 * (unresolved, refused, unreachable, silent), the wrong task (another job, task, version or
 * program), or the right one, with its round-trip time.
 */
#ifndef TRAINER_JOB_DOCTOR_H
#define TRAINER_JOB_DOCTOR_H

#include <stdio.h>

#include "trainer/job/task.h"

/* Prints to `out`. Returns the exit code: 0 only if all tasks are fine. */
int doctor_run(const struct task_options *options, FILE *out);

#endif
