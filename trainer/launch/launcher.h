/*
 * launcher: starts the tasks of a plan, prints their output, and ends them together.
 *
 * Each line is prefixed by its task's name. If a task fails, the others get SIGTERM, and SIGKILL
 * after stop_timeout_ms. SIGINT and SIGTERM are forwarded to all tasks; a second one kills them.
 * The signals are sent as requests to the supervisor of each task (supervise.h), which also ends
 * when a dead launcher's pipes close.
 */
#ifndef TRAINER_LAUNCH_LAUNCHER_H
#define TRAINER_LAUNCH_LAUNCHER_H

#include <stdint.h>

#include "trainer/launch/launch_plan.h"

/**
 * Returns when all tasks have ended. *exit_status: 0 if all succeeded, otherwise that of the first
 * task that failed, or 128 + the signal that ended the launcher.
 *
 * Errors  those of starting processes; started tasks are ended first
 */
struct status launcher_run(const struct launch_plan *plan, int64_t stop_timeout_ms,
                           int *exit_status);

#endif
