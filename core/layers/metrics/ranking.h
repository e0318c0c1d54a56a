/*
 * ranking: the metric FactorizedTopK of TensorFlow Recommenders. A retrieval loss compares each
 * row's own candidate with those of its batch; this metric compares it with the candidates of all
 * rows of other data, which are fed as one matrix.
 *
 *     scores[i, j] = query[i] · candidate[j]
 *     ranks[i]     = with ids, the number of candidates before the first one with the id of row i,
 *                    in falling order of scores; equal scores keep the order of the candidates
 *                    without ids, the number of scores larger than query[i] · own candidate[i]
 *
 * Both count only among the best k candidates, for the metric's largest k. Internal to layers/.
 */
#ifndef LAYERS_METRICS_RANKING_H
#define LAYERS_METRICS_RANKING_H

#include "layers/metrics/parts.h"

#define RANKING_ARGS_COUNT 1
extern const struct layer_arg ranking_args[RANKING_ARGS_COUNT];

/* Appends to `out`, as metrics_read does, a metric for each k of a metric that was read.
 * INVALID_ARGUMENT: `ks` is empty, or a k is out of range. */
struct status ranking_expand(const struct metric *metric, struct arena *arena, struct metric *out,
                             int *count);

/* Finds the ranking metric of this output (-1: of any output); NULL: none. */
const struct metric *ranking_find(const struct layers_model *model, int output);

/* INVALID_ARGUMENT: two outputs have ranking metrics, but there is only one set of candidates;
 * or a loss has candidate ids that nothing uses. */
struct status ranking_check(const struct layers_model *model);

/* Sets out->candidates, and the ranks of the output that has a ranking metric. */
void ranking_build(struct layer_context *context, const struct layers_model *model);

/* The number of ranks below k, and the number of ranks. */
struct endpoint ranking_share(struct metric_context *c);

#endif
