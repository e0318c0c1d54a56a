/* model_source: a model's training plan over batches, as a source of gradients. */
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/feeder.h"
#include "trainer/model.h"

struct model_source {
    struct gradient_source source; /* first */
    const struct model *model;
    struct feeder *feeder;
    struct run *run;
    struct batch_source *rows;
    struct batch_order order;
    bool sync;
    uint64_t batches; /* taken by this worker so far */
    int fetches_count;
    struct tensor *fetches; /* loss, then gradients */
    struct variable_gradient *gradients;
};

static void release_fetches(struct model_source *source)
{
    for (int i = 0; i < source->fetches_count; i++)
        tensor_release(&source->fetches[i]);
    run_reset(source->run);
}

/* Feeds the next batch and these values. */
static struct status feed_batch(struct model_source *source, const void *const *values)
{
    struct batch batch;

    TRY(source->rows->next(source->rows, source->model->graph->step.batch, &batch));
    source->feeder->random_seed[0] = (int64_t)source->order.seed;
    source->feeder->random_seed[1] =
        (int64_t)(source->batches++ * source->order.workers + source->order.worker);
    return feeder_fill(source->feeder, &batch, values);
}

static struct status source_step(struct gradient_source *base, const void *const *values,
                                 const struct variable_gradient **gradients, float *loss)
{
    struct model_source *source = (struct model_source *)base;
    const struct model *model = source->model;
    const struct training_pass *pass = &model->graph->step;
    int fetch = 1;

    release_fetches(source);
    TRY(feed_batch(source, values));
    TRY(plan_run(model->step, source->run, source->feeder->tensors, source->fetches));
    *loss = tensor_floats(&source->fetches[0])[0];
    if (pass->loss_is_sum)
        *loss /= (float)pass->batch; /* the loss shown is per example */
    for (int v = 0; v < model->variables_count; v++)
        if (model->variables[v].trainable)
            source->gradients[v].values = tensor_floats(&source->fetches[fetch++]);
    *gradients = source->gradients;
    return status_ok();
}

static struct status source_seek(struct gradient_source *base, uint64_t begin, uint64_t step)
{
    struct model_source *source = (struct model_source *)base;
    uint64_t batch = (uint64_t)source->model->graph->step.batch;

    source->batches = source->sync ? step : begin / source->order.workers;
    return source->rows->seek(source->rows, source->batches * batch);
}

static void source_destroy(struct gradient_source *base)
{
    struct model_source *source = (struct model_source *)base;

    if (source->rows != NULL)
        source->rows->destroy(source->rows);
    release_fetches(source);
    run_destroy(source->run);
    feeder_destroy(source->feeder);
    free(source->fetches);
    free(source->gradients);
    free(source);
}

static int count_fetches(const struct model *model)
{
    int count = 1;

    for (int v = 0; v < model->variables_count; v++)
        count += model->variables[v].trainable;
    return count;
}

struct status model_source(const struct model *model, const struct data_split *split,
                           const struct batch_order *order, bool sync, struct gradient_source **out)
{
    struct status status;
    struct model_source *source = zalloc(sizeof *source);

    source->source = (struct gradient_source){ .step = source_step,
                                               .destroy = source_destroy,
                                               .seek = source_seek };
    source->model = model;
    source->order = *order;
    source->sync = sync;
    source->run = run_create(0);
    source->fetches_count = count_fetches(model);
    source->fetches = zalloc((size_t)source->fetches_count * sizeof *source->fetches);
    source->gradients = zalloc((size_t)(model->variables_count + 1) * sizeof *source->gradients);
    TRY_OR(fail, feeder_create(model->graph, &model->graph->step, split, &source->feeder));
    TRY_OR(fail, split->open(split, order, &source->rows));
    *out = &source->source;
    return status_ok();

fail:
    source_destroy(&source->source);
    return status;
}
