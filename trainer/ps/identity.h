/*
 * identity: does the caller belong to this job, and did it mean to call this ps? The status code
 * tells the caller what to do:
 *
 *     FAILED_PRECONDITION  same job, but different settings: give up
 *     PERMISSION_DENIED    another job, which may leave this address: try again
 *     NOT_FOUND            another ps of this job is at this address: try again
 */
#ifndef TRAINER_PS_IDENTITY_H
#define TRAINER_PS_IDENTITY_H

#include "trainer/protocol/protocol.h"
#include "trainer/ps/state.h"

/* Checks all of it, including identity_check_settings. */
struct status identity_check(const struct ps *ps, const struct identity *identity);
/* Checks only the part that does not depend on the model and the settings. */
struct status identity_check_job(const struct ps *ps, const struct identity *identity);
/* Does the caller have the chief's model and settings? OK while there is no generation. */
struct status identity_check_settings(const struct ps *ps, const struct identity *identity);

#endif
