/* evaluation: a model's evaluation plan over all rows of a split. */
#include "trainer/model/evaluation_sums.h"
#include "trainer/inputs/feeder.h"

#define EVALUATION_BATCH 500

static struct status feed(const struct model *model, struct feeder *feeder, struct run *run,
                          const struct batch *batch, struct evaluation_values *values)
{
    const void *const *given;

    TRY(feeder_fill_data(feeder, batch));
    if (model->evaluation_ids != NULL)
        TRY(feeder_find_rows(feeder, model->evaluation_ids, run));
    TRY(values->get(values, feeder->rows, &given));
    feeder_fill_values(feeder, given);
    return status_ok();
}

static struct status add_batch(const struct model *model, struct feeder *feeder, struct run *run,
                               const struct batch *batch, struct evaluation_values *values,
                               struct evaluation_sums *sums)
{
    struct tensor fetches[1 + EVALUATION_METRICS_MAX] = { 0 };

    TRY(feed(model, feeder, run, batch, values));
    TRY(plan_run(model->evaluation, run, feeder->tensors, fetches));
    evaluation_sums_add(sums, model->graph, batch->rows, fetches);
    run_reset(run);
    return status_ok();
}

static struct status add_all(const struct model *model, struct feeder *feeder, struct run *run,
                             struct batch_source *source, struct evaluation_values *values,
                             const _Atomic bool *stop, struct evaluation_sums *sums)
{
    struct batch batch;

    for (;;) {
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return status_error(STATUS_CANCELLED, "stopped");
        TRY(source->next(source, EVALUATION_BATCH, &batch));
        if (batch.rows == 0)
            return status_ok();
        TRY(add_batch(model, feeder, run, &batch, values, sums));
    }
}

struct status model_evaluate(const struct model *model, struct evaluation_values *values,
                             const struct data_split *split, const _Atomic bool *stop,
                             struct evaluation *out)
{
    const struct batch_order in_order = { .workers = 1 };
    const struct training_graph *graph = model->graph;
    struct evaluation_sums sums;
    struct feeder *feeder;
    struct batch_source *source;

    TRY(feeder_create(model->graph, &model->graph->evaluation, split, &feeder));
    evaluation_sums_begin(&sums, graph);
    struct status status = split->open(split, &in_order, &source);
    if (status_is_ok(status)) {
        struct run *run = run_create(0);
        status = add_all(model, feeder, run, source, values, stop, &sums);
        run_destroy(run);
        source->destroy(source);
    }
    feeder_destroy(feeder);
    *out = evaluation_sums_result(&sums, graph);
    evaluation_sums_finish(&sums, graph);
    return status;
}
