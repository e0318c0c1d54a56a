/*
 * score: the loss and the metrics of a signature's predictions for labelled rows. It makes a model
 * without variables whose inputs are the signature's outputs, so any SavedModel can be evaluated,
 * even one that cannot be trained.
 *
 *     TRY(scorer_create(flags, signature, arena, &scorer));
 *     … read the feeds scorer_feeds(scorer) with the rows …
 *     TRY(scorer_add(scorer, outputs, labels, rows));                 for each batch
 *     scorer_print(scorer, &text);
 */
#ifndef TRAINER_PREDICT_SCORE_H
#define TRAINER_PREDICT_SCORE_H

#include "graph/signature.h"
#include "graph/training_graph.h"
#include "trainer/flags/option_flags.h"

struct scorer;

/**
 * flags: loss, metrics, compile_config and weight_column. Without a loss there, that with which the
 * export in `directory` was trained, if it tells it.
 *
 * Owner   *out is the caller's: scorer_destroy. It uses `arena`
 * Errors  INVALID_ARGUMENT no loss, or one that does not suit the outputs; sorted scores;
 *         UNIMPLEMENTED an output that is not float
 */
struct status scorer_create(const struct flag_values *flags, const char *directory,
                            const struct signature *signature, struct arena *arena,
                            struct scorer **out);
void scorer_destroy(struct scorer *scorer); /* accepts NULL */

/* The labels and, with a weight column, the weights. */
int scorer_feeds(const struct scorer *scorer, const struct training_feed **out);

/* Adds a batch: the signature's outputs in their order, and the feeds in theirs. */
struct status scorer_add(struct scorer *scorer, const struct tensor *outputs,
                         const struct tensor *feeds, int64_t rows);

/* Appends {"rows": 100, "loss": 0.25, "accuracy": 0.9}. */
void scorer_print(const struct scorer *scorer, struct buffer *out);

#endif
