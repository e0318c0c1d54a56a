/* evaluation: runs a model's evaluation plan over all rows of a split. */
#include "trainer/model/candidates.h"
#include "trainer/model/evaluation_sums.h"
#include "trainer/model/rows_pass.h"

/* The sums to which each batch is added. */
struct adding {
    const struct training_graph *graph;
    struct evaluation_sums sums;
};

static struct status add_batch(void *context, int64_t rows, struct tensor *fetches)
{
    struct adding *adding = context;

    evaluation_sums_add(&adding->sums, adding->graph, rows, fetches);
    return status_ok();
}

struct status model_evaluate(const struct model *model, struct evaluation_values *values,
                             const struct data_split *split,
                             const struct evaluation_candidates *candidates,
                             const _Atomic bool *stop, struct evaluation *out)
{
    const struct training_graph *graph = model->graph;
    struct candidates ranked = { 0 };
    struct adding adding = { .graph = graph };
    const struct rows_pass pass = { .graph = graph,
                                    .pass = &graph->evaluation,
                                    .plan = model->evaluation,
                                    .ids = model->evaluation_ids,
                                    .candidates = ranked.tensors,
                                    .values = values,
                                    .stop = stop,
                                    .take = add_batch,
                                    .context = &adding };
    struct status status = status_ok();

    if (model->ranking != NULL)
        status = candidates_compute(&ranked, model, values, candidates, stop);
    evaluation_sums_begin(&adding.sums, graph);
    if (status_is_ok(status))
        status = rows_pass_run(&pass, split);
    *out = evaluation_sums_result(&adding.sums, graph);
    evaluation_sums_finish(&adding.sums, graph);
    candidates_finish(&ranked);
    return status;
}
