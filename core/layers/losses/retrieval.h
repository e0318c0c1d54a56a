/*
 * retrieval: the loss of a two-tower model of queries and candidates, as the task Retrieval of
 * TensorFlow Recommenders computes it. There are no labels: each row's query belongs to the row's
 * own candidate, and the candidates of the other rows are the negatives.
 *
 *     scores[i, j] = query[i] · candidate[j] / temperature
 *                    - log(probability[j])          corrects for frequent candidates
 *                    or a very low score           if row j has the same candidate as row i
 *     loss[i]      = the softmax cross-entropy of scores[i], with i as the right class
 *
 * With num_hard_negatives, scores[i] keeps only the row's own score and the largest of the others.
 * Internal to layers/.
 */
#ifndef LAYERS_LOSSES_RETRIEVAL_H
#define LAYERS_LOSSES_RETRIEVAL_H

#include "layers/layer.h"

#define RETRIEVAL_ARGS_COUNT 6
extern const struct layer_arg retrieval_args[RETRIEVAL_ARGS_COUNT];

/* The index of the candidates' output; -1: no output has that name. */
int retrieval_candidates(const struct layers_model *model, int output);
/* The index of the input that identifies the candidates; -1: the loss names none. */
int retrieval_id_input(const struct layers_model *model, int output);
/* The data column with the candidates' probabilities; NULL: none. */
const char *retrieval_column(const struct loss *loss);

/* Checks the loss of an output.
 * Errors  INVALID_ARGUMENT names the option and what would be right */
struct status retrieval_check(const struct layers_model *model, int output,
                              const struct layers_head *heads);

/* Sets head->predictions, the scores [batch, candidates]; head->truths, the column of each row's
 * own candidate; and head->column, a placeholder. */
void retrieval_compare(struct layer_context *context, const struct layers_model *model, int output);

#endif
