/*
 * prepare: the steps of session_prepare that have their own files. Each needs the earlier ones.
 */
#ifndef TRAINER_SESSION_PREPARE_H
#define TRAINER_SESSION_PREPARE_H

#include "trainer/session/session.h"

/* data.c. Sets session->data and session->candidates: rows that match the feeds of
 * session->graph. They may decide the width of the model's input, and if labels
 * are shares of the classes. */
struct status session_load_data(struct session *session);

/* prepare.c. Makes session->graph again, after a change of the model's shapes. */
struct status session_remake_graph(struct session *session);

/* serving.c. Sets session->serving: the export takes raw values, which it prepares according to
 * the schema, and has the classes' names. */
struct status session_choose_serving(struct session *session);

/* optimizers.c. Completes session->options.job with the optimizer of each variable of
 * session->model.
 *
 * Errors  INVALID_ARGUMENT a pattern of --optimizer_for matches no variable; UNIMPLEMENTED an
 *         optimizer that cannot train a variable of this kind */
struct status session_choose_optimizers(struct session *session);

#endif
