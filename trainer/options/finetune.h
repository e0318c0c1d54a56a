/*
 * finetune: trains a SavedModel further (--from_savedmodel): its graph becomes the body of a
 * layers_model, and its checkpoint supplies the initial values.
 *
 *     TRY(finetune_open(&flags, arena, &finetune, &model));
 *     TRY(layers_training_graph(model, &options, arena, &graph));
 *     finetune_take_values(finetune, &graph);
 *     … train …
 *     TRY(trainable_write(finetune_trainable(finetune), directory, false, &source));
 */
#ifndef TRAINER_OPTIONS_FINETUNE_H
#define TRAINER_OPTIONS_FINETUNE_H

#include "graph/training_graph.h"
#include "layers/layers.h"
#include "savedmodel/trainable/trainable.h"
#include "trainer/options/options.h"

/**
 * Owner   *out: finetune_close; *model lives in `arena` and needs *out
 * Errors  as trainable_open and layers_wrap
 */
struct status finetune_open(const struct flag_values *flags, struct arena *arena,
                            struct finetune **out, struct layers_model **model);
void finetune_close(struct finetune *finetune); /* accepts NULL */

const struct trainable *finetune_trainable(const struct finetune *finetune);

/* Sets the initial values of a training graph's variables from the checkpoint. Variables by rows
 * may be too large for memory: finetune_begin reads them. */
void finetune_take_values(const struct finetune *finetune, struct training_graph *graph);

/* Begins the value of a variable; the second function returns its next bytes, valid until the
 * next call; size 0: the end. Errors: as bundle_stream_begin. */
struct status finetune_begin(struct finetune *finetune, const char *name);
struct status finetune_next(struct finetune *finetune, struct bytes *chunk);

/* Describes what is trained and what is frozen: "5 variables, of which 2 are frozen". In
 * `arena`. */
const char *finetune_describe(const struct finetune *finetune, struct arena *arena);

#endif
