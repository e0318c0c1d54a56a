/*
 * doctor: dials every address of a job's map from where it stands, all at once, and says in one
 * line each who is there: nobody (unresolved, refused, no route, no answer), somebody else (another
 * job, another task, another version, no pstrain), or the right one, with its round-trip time.
 */
#ifndef TRAINER_DOCTOR_H
#define TRAINER_DOCTOR_H

#include <stdio.h>

#include "trainer/task.h"

/* Prints to `out`; gives the exit code: 0 only if all are fine. */
int doctor_run(const struct task_options *options, FILE *out);

#endif
