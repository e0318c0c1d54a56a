/* ranking. Source: tensorflow_recommenders/metrics/factorized_top_k.py. */
#include "layers/metrics/ranking.h"

#include "graph/while_loop.h"
#include "layers/build_state.h"
#include "layers/losses/retrieval.h"

/* Candidates per block: 8 MiB of scores for the 500 rows of an evaluation's batch. */
#define BLOCK 4096

/* The relative error of summing in another order. A score that is larger by no more than this
 * equals the score of the row's own candidate. */
#define ROUNDING 1e-5f

const struct layer_arg ranking_args[RANKING_ARGS_COUNT] = {
    { "ks", ARG_INTS, "[1, 5, 10, 50, 100]" },
};

/* ---- reading ---- */

struct status ranking_expand(const struct metric *metric, struct arena *arena, struct metric *out,
                             int *count)
{
    const struct arg_value *ks = metric_option(metric, "ks");

    if (ks->ints.count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "argument 'ks' is empty");
    for (int i = 0; i < ks->ints.count; i++) {
        int64_t k = ks->ints.values[i];
        if (k < 1 || k > BLOCK)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "argument 'ks': got %lld, expected 1 to %d", (long long)k, BLOCK);
        if (*count == METRICS_MAX)
            return status_error(STATUS_RESOURCE_EXHAUSTED, "more than %d metrics", METRICS_MAX);
        struct metric *one = &out[(*count)++];
        *one = *metric;
        one->k = k;
        one->name =
            arena_printf(arena, "%s/top_%lld_categorical_accuracy", metric->name, (long long)k);
    }
    return status_ok();
}

const struct metric *ranking_find(const struct layers_model *model, int output)
{
    for (int i = 0; i < model->metrics_count; i++)
        if (model->metrics[i].k > 0 && (output < 0 || model->metrics[i].output == output))
            return &model->metrics[i];
    return NULL;
}

/* Ids that nothing compares would be a mistake. */
static struct status check_ids(const struct layers_model *model, int output)
{
    const struct loss *loss = model->targets[output].loss;

    if (loss == NULL || model->targets[output].labels != LAYERS_NO_LABELS ||
        loss_option(loss, "candidate_ids")->is_null ||
        loss_option(loss, "remove_accidental_hits")->boolean || ranking_find(model, output) != NULL)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "output '%s': candidate_ids is used with remove_accidental_hits and the "
                        "metric FactorizedTopK only",
                        model->outputs[output].name);
}

struct status ranking_check(const struct layers_model *model)
{
    const struct metric *first = ranking_find(model, -1);

    for (int i = 0; i < model->outputs_count; i++)
        TRY(check_ids(model, i));
    for (int i = 0; i < model->metrics_count; i++)
        if (model->metrics[i].k > 0 && model->metrics[i].output != first->output)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the outputs '%s' and '%s' both have a FactorizedTopK: give it to "
                                "one of them",
                                model->outputs[first->output].name,
                                model->outputs[model->metrics[i].output].name);
    return status_ok();
}

static int64_t largest_k(const struct layers_model *model)
{
    int64_t k = 0;

    for (int i = 0; i < model->metrics_count; i++)
        if (model->metrics[i].k > k)
            k = model->metrics[i].k;
    return k;
}

/* ---- the best candidates ---- */

static struct endpoint size_of(struct builder *b, struct endpoint x, int32_t axis)
{
    const struct endpoint inputs[] = { build_unary(b, "Shape", NULL, x), build_const_int(b, axis),
                                       build_const_int(b, 0) };

    return build(b, "GatherV2", NULL, 3, inputs, NULL);
}

static struct endpoint by_int(struct builder *b, const char *op, struct endpoint x, int32_t number)
{
    return build_binary(b, op, NULL, x, build_const_int(b, number));
}

static struct endpoint join_columns(struct builder *b, struct endpoint left, struct endpoint right)
{
    const struct endpoint inputs[] = { left, right, build_const_int(b, 1) };

    return build(b, "ConcatV2", NULL, 3, inputs, NULL);
}

static struct endpoint gather(struct builder *b, struct endpoint values, struct endpoint places,
                              int axis)
{
    const struct endpoint inputs[] = { values, places, build_const_int(b, axis) };

    return build(b, "GatherV2", NULL, 3, inputs,
                 (const struct attr[]){ attr_int("batch_dims", axis), ATTR_END });
}

/* The largest scores of each row, and the columns of their candidates. */
struct best_candidates {
    struct endpoint scores, places; /* float, int32 [batch, the largest k or fewer] */
};

static struct best_candidates find_best(struct builder *b, struct endpoint scores,
                                        struct endpoint k)
{
    const struct endpoint inputs[] = { scores, k };
    struct node *node = build(b, "TopKV2", NULL, 2, inputs, NULL).node;

    return (struct best_candidates){ { node, 0 }, { node, 1 } };
}

/* The scores of a block: the candidates from `first` on. */
static struct endpoint score_block(struct builder *b, struct endpoint queries,
                                   struct endpoint candidates, struct endpoint first)
{
    const struct endpoint slicing[] = { candidates, build_unary(b, "Pack", NULL, first),
                                        build_unary(b, "Pack", NULL,
                                                    by_int(b, "AddV2", first, BLOCK)),
                                        build_const_ints(b, NULL, 1, (const int32_t[]){ 1 }) };
    const struct endpoint factors[] = { queries, build(b, "StridedSlice", NULL, 4, slicing, NULL) };

    return build(b, "MatMul", NULL, 2, factors,
                 (const struct attr[]){ attr_bool("transpose_b", true), ATTR_END });
}

/* Finds the columns of the best scores of `before` and a block that starts at `first`; `best`
 * holds positions in the concatenation of both. */
static struct endpoint place_best(struct builder *b, const struct best_candidates *best,
                                  struct endpoint before, struct endpoint first)
{
    struct endpoint kept = size_of(b, before, 1);
    struct endpoint is_before = build_binary(b, "Less", NULL, best->places, kept);
    const struct endpoint earlier =
        build_binary(b, "Minimum", NULL, best->places, by_int(b, "Sub", kept, 1));
    struct endpoint in_block =
        build_binary(b, "AddV2", NULL, build_binary(b, "Sub", NULL, best->places, kept), first);

    return build_select(b, is_before, gather(b, before, earlier, 1), in_block);
}

/* The first block yields the final number of scores, because no k is larger than a block. Later
 * blocks are merged with the best scores so far, which few candidates exceed: TopKV2 then skips
 * most of a block. */
static struct status loop_over_blocks(struct builder *b, struct endpoint queries,
                                      struct endpoint candidates, struct best_candidates *best)
{
    enum { SCORES, PLACES, QUERIES, CANDIDATES, MORE, COUNT_CARRIED };
    struct endpoint more =
        by_int(b, "FloorDiv", by_int(b, "Sub", size_of(b, candidates, 0), 1), BLOCK);
    const struct endpoint carried[] = { best->scores, best->places, queries, candidates, more };
    struct endpoint results[COUNT_CARRIED], outputs[COUNT_CARRIED];
    struct while_loop loop;

    TRY(while_loop_begin(&loop, b, "blocks", COUNT_CARRIED, carried));
    struct builder *inner = &loop.builder;
    memcpy(results, loop.values, sizeof results);
    struct endpoint first = by_int(inner, "Mul", by_int(inner, "AddV2", loop.time, 1), BLOCK);
    struct endpoint block =
        score_block(inner, loop.values[QUERIES], loop.values[CANDIDATES], first);
    struct best_candidates both = find_best(inner, join_columns(inner, loop.values[SCORES], block),
                                            size_of(inner, loop.values[SCORES], 1));
    results[SCORES] = both.scores;
    results[PLACES] = place_best(inner, &both, loop.values[PLACES], first);
    loop.limit = MORE;
    TRY(while_loop_end(&loop, 0, results, outputs));
    *best = (struct best_candidates){ outputs[SCORES], outputs[PLACES] };
    return status_ok();
}

static struct best_candidates best_of_all(struct layer_context *context, struct endpoint queries,
                                          struct endpoint candidates, int64_t k)
{
    struct builder *b = &context->builder;
    struct endpoint block = score_block(b, queries, candidates, build_const_int(b, 0));
    struct best_candidates best =
        find_best(b, block, by_int(b, "Minimum", size_of(b, block, 1), (int32_t)k));

    if (!status_is_ok(b->status))
        return best;
    struct status status = loop_over_blocks(b, queries, candidates, &best);
    if (!status_is_ok(status) && status_is_ok(b->status))
        b->status = status_keep(context->arena, status);
    return best;
}

/* ---- ranks ---- */

static struct endpoint sum_columns(struct builder *b, struct endpoint x, bool keep)
{
    const struct endpoint inputs[] = { x, build_const_int(b, 1) };

    return build(b, "Sum", NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", keep), ATTR_END });
}

/* A NaN is not less or equal, so its whole row ranks before it. */
static struct endpoint rank_by_score(struct builder *b, const struct best_candidates *best,
                                     struct endpoint queries, struct endpoint own)
{
    struct endpoint products = build_binary(b, "Mul", NULL, queries, own);
    struct endpoint sizes = sum_columns(b, build_unary(b, "Abs", NULL, products), true);
    struct endpoint rounding = build_by_number(b, "Mul", sizes, ROUNDING);
    struct endpoint score =
        build_binary(b, "AddV2", NULL, sum_columns(b, products, true), rounding);
    struct endpoint larger =
        build_unary(b, "LogicalNot", NULL, build_binary(b, "LessEqual", NULL, best->scores, score));

    return sum_columns(b, build_cast(b, NULL, larger, DT_INT32), false);
}

static struct endpoint rank_by_id(struct builder *b, const struct best_candidates *best,
                                  struct endpoint own_ids, struct endpoint all_ids)
{
    struct endpoint found = gather(b, all_ids, best->places, 0);
    struct endpoint is_own =
        build_binary(b, "Equal", NULL, build_expand_dims(b, own_ids, 1), found);
    struct endpoint ranks =
        build_select(b, is_own, build_range(b, size_of(b, found, 1)), build_const_int(b, BLOCK));

    return by_int(b, "Min", ranks, 1);
}

void ranking_build(struct layer_context *context, const struct layers_model *model)
{
    const struct metric *metric = ranking_find(model, -1);
    struct builder *b = &context->builder;

    if (metric == NULL || !status_is_ok(b->status))
        return;
    struct layers_head *head = &context->build->out->heads[metric->output];
    struct candidate_ends *ends = &context->build->out->candidates;
    int input = retrieval_id_input(model, metric->output);
    b->scope = "ranking/";
    ends->vectors = context->build->out->heads[retrieval_candidates(model, metric->output)].output;
    ends->all_vectors = build_placeholder(b, "candidates", DT_FLOAT,
                                          shape_of(-1, endpoint_shape(ends->vectors)->dims[1]));
    struct best_candidates best =
        best_of_all(context, head->output, ends->all_vectors, largest_k(model));
    if (input < 0) {
        head->ranks = rank_by_score(b, &best, head->output, ends->vectors);
    } else {
        ends->ids = build_binary(b, "Reshape", "ids", context->build->out->inputs[input],
                                 build_const_ints(b, NULL, 1, (const int32_t[]){ -1 }));
        ends->all_ids =
            build_placeholder(b, "candidate_ids", model->inputs[input].dtype, shape_of(-1));
        head->ranks = rank_by_id(b, &best, ends->ids, ends->all_ids);
    }
    b->scope = "";
}

struct endpoint ranking_share(struct metric_context *c)
{
    struct endpoint ranks = c->layers->build->out->heads[c->metric->output].ranks;

    return metric_share_of_true(c, by_int(c->builder, "Less", ranks, (int32_t)c->metric->k));
}
