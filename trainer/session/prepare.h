/*
 * prepare: the steps of session_prepare that have files of their own. Each needs those before it.
 */
#ifndef TRAINER_SESSION_PREPARE_H
#define TRAINER_SESSION_PREPARE_H

#include "trainer/session/session.h"

/* data.c. Sets session->data and session->candidates: rows that fit the feeds of session->graph. */
struct status session_load_data(struct session *session);

/* serving.c. Sets session->serving: the export takes raw values, which it prepares as the schema
 * says, and gives the classes' names. */
struct status session_choose_serving(struct session *session);

/* optimizers.c. Completes session->options.job: which optimizer trains each variable of
 * session->model.
 *
 * Errors  INVALID_ARGUMENT a pattern of --optimizer_for fits no variable; UNIMPLEMENTED an
 *         optimizer that cannot train a variable of this kind */
struct status session_choose_optimizers(struct session *session);

#endif
