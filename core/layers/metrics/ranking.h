/*
 * ranking: the metric FactorizedTopK of TensorFlow Recommenders. A retrieval loss compares each
 * row's own candidate with those of its batch; this metric compares it with the candidates of all
 * rows of other data, which are fed as one matrix.
 *
 *     scores[i, j] = query[i] · candidate[j]
 *     ranks[i]     = with ids, how many candidates come before the first one with the id of row i,
 *                    in falling order of scores; equal scores keep the order of the candidates
 *                    without ids, how many scores are larger than query[i] · own candidate[i]
 *
 * Both count among the best candidates only, as many as the largest k of the metric. Internal to
 * layers/.
 */
#ifndef LAYERS_METRICS_RANKING_H
#define LAYERS_METRICS_RANKING_H

#include "layers/metrics/parts.h"

#define RANKING_ARGS_COUNT 1
extern const struct layer_arg ranking_args[RANKING_ARGS_COUNT];

/* Adds to `out`, as metrics_read does, a metric for each k of one that is read. INVALID_ARGUMENT:
 * ks are none, or one is out of range. */
struct status ranking_expand(const struct metric *metric, struct arena *arena, struct metric *out,
                             int *count);

/* Does the model have such a metric, of this output? output -1: of any. NULL: it has none. */
const struct metric *ranking_find(const struct layers_model *model, int output);

/* INVALID_ARGUMENT: two outputs have such a metric, but there is one set of candidates; a loss has
 * ids of candidates, and nothing uses them. */
struct status ranking_check(const struct layers_model *model);

/* Sets out->candidates, and the ranks of the output that has such a metric. */
void ranking_build(struct layer_context *context, const struct layers_model *model);

/* How many of the ranks are below k, and of how many. */
struct endpoint ranking_share(struct metric_context *c);

#endif
