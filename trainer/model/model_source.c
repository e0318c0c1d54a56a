/* model_source: a source of gradients that runs a model's training plan over batches. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/data/prefetch.h"
#include "trainer/data/unit_source.h"
#include "trainer/inputs/feed_fault.h"
#include "trainer/model/model.h"

struct model_source {
    struct gradient_source source; /* first */
    const struct model *model;
    /* Each holds a batch; they are used round-robin. If the model has variables by rows, the
     * rows of the next batches are requested while the gradients of the current one are in use. */
    struct feeder **feeders; /* [feeders_count]; see feeders_used */
    int feeders_count;
    int next;  /* index of the feeder that gets the next batch */
    int ready; /* number of feeders before it whose batches no step has used */
    struct run *run, *ids_run;
    struct row_scratch scratch; /* of all feeders */
    const struct data_split *split;
    struct batch_source *rows;      /* for a synchronous job: a unit_source */
    struct finding_source *finding; /* within `rows`, fills the feeders itself; NULL: none */
    struct batch_order order;
    bool sync;
    uint64_t batches; /* number of batches that this worker has read */
    int fetches_count;
    struct tensor *fetches; /* loss, then gradients */
    struct variable_gradient *gradients;
    double *totals; /* of the metrics, to which each batch adds its own; NULL: not needed */
};

static void release_fetches(struct model_source *source)
{
    tensors_release(source->fetches_count, source->fetches);
    run_reset(source->run);
}

/* Feeds its batches to the feeders in turn, so that the thread that prefetches them also finds
 * their rows. Sparse logistic regression with two workers took 0.86 of the time: the median of 13
 * pairs on a busy machine, whose fastest runs gained nothing. */
struct finding_source {
    struct batch_source source; /* first */
    struct batch_source *inner;
    struct model_source *of;
    int filled; /* index of the feeder of its next batch */
};

/* Large batches are prefetched in smaller numbers (`keep`), and so use fewer feeders. */
static int feeders_used(const struct model_source *source)
{
    return source->finding != NULL ? source->finding->source.keep : source->feeders_count;
}

/* The feeder of the oldest batch that no step has used. */
static struct feeder *oldest(const struct model_source *source)
{
    int count = feeders_used(source);

    return source->feeders[(source->next - source->ready + count) % count];
}

/* Feeds a batch, and finds its rows. copies: the batch is not valid long enough. */
static struct status fill_feeder(struct model_source *source, const struct batch *batch,
                                 struct feeder *feeder, bool copies)
{
    const struct plan *ids = source->model->step_ids;

    feeder->random_seed[0] = (int64_t)source->order.seed;
    feeder->random_seed[1] =
        (int64_t)(source->batches++ * source->order.workers + source->order.worker);
    TRY(feeder_fill_data(feeder, batch));
    if (ids == NULL)
        return status_ok();
    if (copies)
        feeder_copy_data(feeder);
    return feeder_find_rows(feeder, ids, source->ids_run, &source->scratch);
}

/* Reads the next batch and finds its rows. *found is false if the source has none now. */
static struct status take_batch(struct model_source *source, bool *found)
{
    struct batch batch;

    TRY(source->rows->next(source->rows, source->model->graph->step.batch, &batch));
    *found = batch.rows > 0;
    if (!*found)
        return status_ok();
    if (source->finding == NULL)
        TRY(fill_feeder(source, &batch, source->feeders[source->next],
                        source->rows->keep < source->feeders_count));
    source->next = (source->next + 1) % feeders_used(source);
    source->ready++;
    return status_ok();
}

static struct status source_need_rows(struct gradient_source *base, const struct row_ids **rows)
{
    struct model_source *source = (struct model_source *)base;

    assert(source->ready < feeders_used(source) - 1);
    int taken = source->next;
    bool found;
    TRY(take_batch(source, &found));
    *rows = found ? source->feeders[taken]->rows : NULL;
    return status_ok();
}

/* Adds the rows, the loss and the metrics of the batch: metrics are the last fetches. */
static void add_totals(struct model_source *source)
{
    const struct training_graph *graph = source->model->graph;
    const struct tensor *metrics = source->fetches + source->fetches_count - graph->metrics_count;
    double rows = (double)graph->step.batch, loss = (double)tensor_floats(&source->fetches[0])[0];
    double *totals = source->totals;

    *totals++ += rows;
    *totals++ += graph->step.loss_is_sum ? loss : loss * rows;
    for (int m = 0; m < graph->metrics_count; m++)
        for (int64_t i = 0; i < graph->metrics[m].totals_count; i++)
            *totals++ += (double)tensor_floats(&metrics[m])[i];
}

/* Fails if the data of the batch explain a loss that is not finite. */
static struct status blame_data(const struct model_source *source, const struct feeder *feeder,
                                float loss)
{
    struct status status = status_ok();
    struct buffer fault = { 0 };

    if (feed_fault_find(feeder, source->split, &fault))
        status = status_error(STATUS_OUT_OF_RANGE, "the loss is %g: %.*s", (double)loss,
                              (int)fault.size, fault.data);
    buffer_finish(&fault);
    return status;
}

static struct status source_step(struct gradient_source *base, const void *const *values,
                                 const struct variable_gradient **gradients, float *loss)
{
    struct model_source *source = (struct model_source *)base;
    const struct model *model = source->model;
    const struct training_pass *pass = &model->graph->step;
    int fetch = 1;
    bool found = true;

    release_fetches(source);
    if (source->ready == 0)
        TRY(take_batch(source, &found));
    *gradients = NULL;
    if (!found)
        return status_ok();
    struct feeder *feeder = oldest(source);
    source->ready--;
    feeder_fill_values(feeder, values);
    TRY(plan_run(model->step, source->run, feeder->tensors, source->fetches));
    *loss = tensor_floats(&source->fetches[0])[0];
    if (isnan(*loss))
        *loss = NAN; /* without a sign, which depends on the kernel and would be printed */
    if (!isfinite(*loss) && pass->loss_scale.node == NULL)
        TRY(blame_data(source, feeder, *loss));
    if (pass->loss_is_sum)
        *loss /= (float)pass->batch; /* the loss shown is per row */
    for (int v = 0; v < model->variables_count; v++)
        if (placed_variable_is_pushed(&model->variables[v]))
            source->gradients[v] = (struct variable_gradient){
                .values = tensor_floats(&source->fetches[fetch++]),
                .rows = feeder->rows[v],
                .of_values = true,
            };
    if (source->totals != NULL)
        add_totals(source);
    *gradients = source->gradients;
    return status_ok();
}

void model_source_take_scale(struct gradient_source *base, const float *scale)
{
    struct model_source *source = (struct model_source *)base;

    for (int i = 0; i < source->feeders_count; i++)
        source->feeders[i]->loss_scale = scale;
}

void model_source_keep_totals(struct gradient_source *base, double *totals)
{
    struct model_source *source = (struct model_source *)base;

    assert(source->model->graph->step.metrics != NULL || source->model->graph->metrics_count == 0);
    source->totals = totals;
}

/* ---- finding rows ahead ---- */

static struct status find_next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct finding_source *finding = (struct finding_source *)base;
    struct model_source *source = finding->of;

    finding->inner->keep = base->keep;
    TRY(finding->inner->next(finding->inner, rows_max, out));
    if (out->rows == 0)
        return status_ok();
    struct feeder *feeder = source->feeders[finding->filled];
    finding->filled = (finding->filled + 1) % feeders_used(source);
    TRY(fill_feeder(source, out, feeder, false));
    base->more_bytes = feeder_bytes(feeder);
    return status_ok();
}

static struct status find_seek(struct batch_source *base, uint64_t rows)
{
    struct finding_source *finding = (struct finding_source *)base;

    finding->filled = finding->of->next;
    return finding->inner->seek(finding->inner, rows);
}

static void find_destroy(struct batch_source *base)
{
    struct finding_source *finding = (struct finding_source *)base;

    finding->inner->destroy(finding->inner);
    free(finding);
}

/* With feeders for all batches that are prefetched or held. */
static struct batch_source *finding_source(struct model_source *source, struct batch_source *inner)
{
    struct finding_source *finding = zalloc(sizeof *finding);
    int most = source->order.ahead + PREFETCH_HELD;

    source->finding = finding;
    source->feeders_count = inner->keep_max < most ? inner->keep_max : most;
    finding->source = (struct batch_source){ .next = find_next,
                                             .seek = find_seek,
                                             .destroy = find_destroy,
                                             .keep_max = source->feeders_count };
    finding->inner = inner;
    finding->of = source;
    return &finding->source;
}

/* ---- opening ---- */

/* Opens rows that `turns` assigns in turns. Prefetching is outside of it, so that the next share
 * is requested before this one ends. */
static struct status open_shared(struct model_source *source, const struct turn_source *turns,
                                 uint32_t batches)
{
    const struct data_split *split = source->split;
    int64_t batch = source->model->graph->step.batch;
    struct batch_order all = source->order;
    const struct prefetch_options ahead = { .rows = batch, .batches_max = all.ahead };

    all.worker = 0;
    all.workers = 1;
    all.ahead = 0;
    struct batch_source *rows;
    TRY(split->open(split, &all, &rows));
    rows = share_source(rows, turns, (uint64_t)batch, batches);
    if (source->model->step_ids != NULL && batches == 1 && rows->keep_max >= PREFETCH_HELD)
        rows = finding_source(source, rows);
    source->rows = prefetch_source(rows, split->columns_count, &ahead);
    return status_ok();
}

/* Moves to the worker's unit after `batches` of its batches since `place`. */
static struct status go_to_unit(struct model_source *source, const struct row_place *place,
                                uint64_t batches)
{
    uint64_t workers = source->order.workers;
    uint64_t readers = place->readers > 0 ? place->readers : workers;

    if (readers > ROW_READERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the rows are shared by %" PRIu64 " readers, must be 1 to %d", readers,
                            ROW_READERS_MAX);
    return unit_source_go_to(source->rows, (uint32_t)readers, place->rows,
                             place->units + batches * workers + source->order.worker);
}

static struct status open_rows(struct model_source *source)
{
    struct batch_order order = source->order;

    order.ahead_rows = source->model->graph->step.batch;
    if (source->sync) {
        source->rows = unit_source(source->split, &source->order, order.ahead_rows);
        return go_to_unit(source, &(struct row_place){ 0 }, 0);
    }
    return source->split->open(source->split, &order, &source->rows);
}

/* Keeps batches valid: the rows of the next batch are requested while those of this one are in
 * use. */
static void keep_batches(struct model_source *source)
{
    if (source->model->step_ids != NULL && source->rows->keep_max >= source->feeders_count)
        source->rows->keep = source->feeders_count;
}

static struct status source_seek(struct gradient_source *base, uint64_t begin, uint64_t step,
                                 const struct row_place *place)
{
    struct model_source *source = (struct model_source *)base;
    uint64_t batch = (uint64_t)source->model->graph->step.batch;
    uint64_t batches = source->sync ? step : begin / source->order.workers;

    source->ready = 0;
    if (!source->sync) /* first: it ends the thread that counts batches */
        TRY(source->rows->seek(source->rows, batches * batch));
    source->batches = batches;
    if (!source->sync)
        return status_ok();
    TRY(go_to_unit(source, place, place->readers > 0 ? step - begin : step));
    keep_batches(source);
    return status_ok();
}

static void source_destroy(struct gradient_source *base)
{
    struct model_source *source = (struct model_source *)base;

    if (source->rows != NULL)
        source->rows->destroy(source->rows);
    release_fetches(source);
    run_destroy(source->run);
    run_destroy(source->ids_run);
    row_scratch_free(&source->scratch);
    for (int i = 0; i < source->feeders_count && source->feeders != NULL; i++)
        feeder_destroy(source->feeders[i]);
    free(source->feeders);
    free(source->fetches);
    free(source->gradients);
    free(source);
}

static int count_fetches(const struct model *model)
{
    int count = 1;

    for (int v = 0; v < model->variables_count; v++)
        count += placed_variable_is_pushed(&model->variables[v]);
    return model->graph->step.metrics != NULL ? count + model->graph->metrics_count : count;
}

struct status model_source(const struct model *model, const struct data_split *split,
                           const struct batch_order *order, bool sync, uint32_t batches,
                           const struct turn_source *turns, struct gradient_source **out)
{
    struct status status;
    struct model_source *source = zalloc(sizeof *source);

    source->source = (struct gradient_source){ .step = source_step,
                                               .destroy = source_destroy,
                                               .seek = source_seek };
    source->model = model;
    source->split = split;
    source->order = *order;
    source->sync = sync;
    source->run = run_create(0);
    source->ids_run = run_create(0);
    run_lend_feeds(source->ids_run); /* copying the ids of a sparse batch took 2 % of a step */
    source->fetches_count = count_fetches(model);
    source->fetches = zalloc((size_t)source->fetches_count * sizeof *source->fetches);
    source->gradients = zalloc((size_t)(model->variables_count + 1) * sizeof *source->gradients);
    source->feeders_count = model->step_ids != NULL ? (int)batches + 1 : 1;
    if (model->step_ids != NULL)
        source->source.need_rows = source_need_rows;
    TRY_OR(fail, turns != NULL ? open_shared(source, turns, batches) : open_rows(source));
    source->feeders = zalloc((size_t)source->feeders_count * sizeof(struct feeder *));
    for (int i = 0; i < source->feeders_count; i++)
        TRY_OR(fail, feeder_create(model->graph, &model->graph->step, split, &source->feeders[i]));
    keep_batches(source);
    *out = &source->source;
    return status_ok();

fail:
    source_destroy(&source->source);
    return status;
}
