/*
 * adapt: computes the states of a model's preprocessing layers (means, boundaries, vocabularies)
 * from the training data, as Keras' adapt() does. A layer whose input comes from another layer
 * without a state waits for the next pass; most models need one pass.
 *
 *     while (adapt_needed(model)) {
 *         TRY(adapt_begin(model, &pass));
 *         TRY(adapt_read(pass, rows, &share, stop, &stopped));    a share of the rows
 *         adapt_write(pass, &summaries);                          for another task
 *         TRY(adapt_merge(pass, summaries));                      from another task
 *         TRY(adapt_end(pass, &states));
 *         adapt_destroy(pass);
 *     }
 *     TRY(adapt_load(model, states));           in another task, or after a restart
 *
 * Summaries and states are encoded as tf.Examples. Tasks with the same model and the same
 * summaries, merged in any order, get the same states.
 *
 * Threads not safe
 */
#ifndef TRAINER_ADAPT_ADAPT_H
#define TRAINER_ADAPT_ADAPT_H

#include "layers/layers.h"
#include "trainer/data/batch_source.h"

struct adapt_pass;

bool adapt_needed(const struct layers_model *model);

/* Prepares a pass for the layers that can be adapted now. The model outlives it. */
struct status adapt_begin(struct layers_model *model, struct adapt_pass **out);
void adapt_destroy(struct adapt_pass *pass); /* accepts NULL */

/* Reads a reader's share of the rows once. CANCELLED: `stopped` returned true. */
struct status adapt_read(struct adapt_pass *pass, const struct data_split *split,
                         const struct batch_order *share, bool (*stopped)(void *context),
                         void *context);

/* Appends the summaries. */
void adapt_write(struct adapt_pass *pass, struct buffer *out);
/* DATA_LOSS: not the summaries of this pass. */
struct status adapt_merge(struct adapt_pass *pass, struct bytes summaries);

/* Sets the states of the layers, and appends them to `states`. INVALID_ARGUMENT: a layer had no
 * values. */
struct status adapt_end(struct adapt_pass *pass, struct buffer *states);

/* Sets the states of this pass's layers from another task's adapt_end. DATA_LOSS: as adapt_load. */
struct status adapt_take(struct adapt_pass *pass, struct bytes states);

/* Sets the states of all layers, from one pass or several. DATA_LOSS: a layer's state is missing
 * or damaged. */
struct status adapt_load(struct layers_model *model, struct bytes states);

#endif
