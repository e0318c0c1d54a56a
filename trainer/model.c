#include "trainer/model.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/random.h"
#include "graph/graph_proto.h"
#include "runtime/resources.h"
#include "trainer/data/row_order.h"

#define EVALUATION_BATCH 500u

/* The order of a plan's feeds. */
enum { FEED_INPUT, FEED_LABELS, FEED_FIRST_VARIABLE };

static int feeds_of(const struct layers_graph *graph, struct arena *arena, struct endpoint **out)
{
    struct endpoint *feeds = ARENA_ARRAY(arena, struct endpoint, graph->variables_count + 3);
    int count = FEED_FIRST_VARIABLE;

    feeds[FEED_INPUT] = graph->inputs[0];
    feeds[FEED_LABELS] = graph->heads[0].labels;
    for (int v = 0; v < graph->variables_count; v++)
        feeds[count++] = graph->variables[v].value;
    if (graph->random_seed.node != NULL)
        feeds[count++] = graph->random_seed;
    *out = feeds;
    return count;
}

static struct status make_training_plan(struct model *model)
{
    const struct layers_graph *graph = &model->training;
    struct endpoint *feeds,
        *fetches = ARENA_ARRAY(model->arena, struct endpoint, graph->variables_count + 1);
    struct flatten_request request = { .feeds_count = feeds_of(graph, model->arena, &feeds),
                                       .fetches = fetches };
    struct plan_options options = { 0 };

    request.feeds = feeds;
    fetches[request.fetches_count++] = graph->loss;
    for (int v = 0; v < graph->variables_count; v++)
        if (graph->variables[v].gradient.node != NULL)
            fetches[request.fetches_count++] = graph->variables[v].gradient;
    return plan_create(graph->graph, &request, model->resources, NULL, &options,
                       &model->training_plan);
}

static struct status make_evaluation_plan(struct model *model)
{
    const struct layers_graph *graph = &model->evaluation;
    struct endpoint *feeds, fetches[2] = { graph->loss, graph->heads[0].correct };
    struct flatten_request request = { .feeds_count = feeds_of(graph, model->arena, &feeds),
                                       .fetches = fetches };
    struct plan_options options = { 0 };

    request.feeds = feeds;
    request.fetches_count = graph->heads[0].correct.node != NULL ? 2 : 1;
    return plan_create(graph->graph, &request, model->resources, NULL, &options,
                       &model->evaluation_plan);
}

static void list_variables(struct model *model)
{
    const struct layers_graph *graph = &model->training;

    model->variables_count = graph->variables_count;
    model->variables = ARENA_ARRAY(model->arena, struct placed_variable, graph->variables_count);
    for (int v = 0; v < graph->variables_count; v++) {
        const struct layers_variable *variable = &graph->variables[v];
        model->variables[v] =
            (struct placed_variable){ .name = variable->name,
                                      .dtype = variable->dtype,
                                      .shape = variable->shape,
                                      .trainable = variable->gradient.node != NULL };
    }
}

static struct status take_hash(struct model *model)
{
    struct layers_options options = { .mode = LAYERS_TRAIN, .reduction = LAYERS_MEAN };
    struct arena *arena = arena_create(0);
    struct layers_graph graph = { 0 };

    struct status status = layers_build(model->description, &options, arena, &graph);
    if (status_is_ok(status))
        model->hash = graph_hash(graph.graph);
    graph_finish(graph.graph);
    arena_destroy(arena);
    return status;
}

struct status model_create(const struct layers_model *description,
                           const struct model_options *options, struct model **out)
{
    struct status status;
    struct model *model = zalloc(sizeof *model);
    struct layers_options training = { .mode = LAYERS_TRAIN,
                                       .reduction = options->reduction,
                                       .batch = options->batch_size };
    struct layers_options evaluation = { .mode = LAYERS_EVAL, .reduction = LAYERS_SUM };

    model->arena = arena_create(0);
    model->description = description;
    model->options = *options;
    model->resources = resources_create();
    TRY_OR(fail, layers_build(description, &training, model->arena, &model->training));
    TRY_OR(fail, layers_build(description, &evaluation, model->arena, &model->evaluation));
    TRY_OR(fail, take_hash(model));
    list_variables(model);
    TRY_OR(fail, make_training_plan(model));
    TRY_OR(fail, make_evaluation_plan(model));
    *out = model;
    return status_ok();

fail:
    model_destroy(model);
    return status;
}

void model_destroy(struct model *model)
{
    if (model == NULL)
        return;
    plan_destroy(model->training_plan);
    plan_destroy(model->evaluation_plan);
    graph_finish(model->training.graph);
    graph_finish(model->evaluation.graph);
    resources_destroy(model->resources);
    arena_destroy(model->arena);
    free(model);
}

/* The number of elements in an example: the shape without its first, unknown dimension. */
static int64_t example_size(const struct shape *shape)
{
    int64_t size = 1;

    for (int i = 1; i < shape->rank; i++)
        size *= shape->dims[i];
    return size;
}

/* "2 inputs ('a', 'b')" */
static const char *ports_text(const char *what, int count, const struct layers_port *ports,
                              struct arena *arena)
{
    const char *text = arena_printf(arena, "%d %s ('%s'", count, what, ports[0].name);

    for (int i = 1; i < count; i++)
        text = arena_printf(arena, "%s, '%s'", text, ports[i].name);
    return arena_printf(arena, "%s)", text);
}

/* The data have one array of features and one of labels. */
static struct status check_ports(const struct layers_model *description)
{
    bool several = description->inputs_count > 1;

    if (!several && description->outputs_count == 1)
        return status_ok();
    struct arena *arena = arena_create(0);
    struct status status = status_error(
        STATUS_UNIMPLEMENTED, "the model has %s; pstrain can feed only one, of images in IDX files",
        several ? ports_text("inputs", description->inputs_count, description->inputs, arena)
                : ports_text("outputs", description->outputs_count, description->outputs, arena));
    arena_destroy(arena);
    return status;
}

struct status model_check_data(const struct layers_model *description,
                               const struct dataset *dataset)
{
    TRY(check_ports(description));
    int64_t wanted = example_size(&description->inputs[0].shape),
            outputs = example_size(&description->outputs[0].shape);

    if (wanted != dataset->width)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model takes %" PRId64 " numbers per example, but the data has %u",
                            wanted, dataset->width);
    if (description->loss == LAYERS_CROSS_ENTROPY && dataset->classes == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model needs classes, and the data has none");
    if (description->loss == LAYERS_CROSS_ENTROPY && dataset->class_count > outputs)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model has %" PRId64 " classes, but the data has the label %u",
                            outputs, dataset->class_count - 1);
    if (description->loss != LAYERS_CROSS_ENTROPY &&
        (dataset->targets == NULL || outputs != dataset->target_width))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model outputs %" PRId64
                            " numbers per example, but the data has %s",
                            outputs, dataset->targets == NULL ? "classes" : "another number");
    return status_ok();
}

const void *const *model_first_values(const struct model *model, uint64_t seed, struct arena *arena)
{
    const void **values = ARENA_ARRAY(arena, const void *, model->variables_count);
    struct random seeds;

    random_init(&seeds, seed, 1);
    for (int v = 0; v < model->variables_count; v++) {
        const struct layers_variable *variable = &model->training.variables[v];
        float *out = arena_array(arena, sizeof *out, (size_t)shape_size(&variable->shape));
        initializer_fill(&variable->initializer, &variable->shape, random_u64(&seeds), out);
        values[v] = out;
    }
    return values;
}

/* ---- The feeds of a batch. ---- */

struct feeder {
    const struct layers_graph *graph;
    struct run *run;
    struct tensor *feeds;
    uint32_t batch;
    float *features;
    int32_t *classes;
    float *targets;
    int64_t random_seed[2];
};

/* The shape of the first `rows` examples. */
static struct shape batch_shape(const struct shape *shape, uint32_t rows)
{
    struct shape batch = *shape;

    batch.dims[0] = rows;
    return batch;
}

static void *feeder_array(size_t bytes)
{
    void *data;

    if (posix_memalign(&data, TENSOR_ALIGNMENT, bytes > 0 ? bytes : 1) != 0)
        abort();
    return data;
}

static void feeder_init(struct feeder *feeder, const struct layers_graph *graph,
                        const struct dataset *dataset, uint32_t batch)
{
    *feeder = (struct feeder){ .graph = graph, .run = run_create(0), .batch = batch };
    feeder->feeds = zalloc((size_t)(graph->variables_count + 3) * sizeof *feeder->feeds);
    feeder->features = feeder_array((size_t)batch * dataset->width * sizeof(float));
    feeder->classes = feeder_array(batch * sizeof(int32_t));
    feeder->targets = feeder_array((size_t)batch * dataset->target_width * sizeof(float));
}

static void feeder_finish(struct feeder *feeder)
{
    run_destroy(feeder->run);
    free(feeder->feeds);
    free(feeder->features);
    free(feeder->classes);
    free(feeder->targets);
}

/* Fills the feeds with these rows and values. The values are borrowed, not copied. */
static void feeder_fill(struct feeder *feeder, const struct dataset *dataset,
                        const struct layers_model *description, const uint32_t *rows,
                        uint32_t count, const void *const *values)
{
    const struct layers_graph *graph = feeder->graph;
    struct shape input = batch_shape(&description->inputs[0].shape, count);
    struct shape targets = batch_shape(&description->outputs[0].shape, count),
                 classes = shape_of(count);

    dataset_gather(dataset, rows, count, feeder->features, feeder->classes, feeder->targets);
    feeder->feeds[FEED_INPUT] = tensor_borrow(DT_FLOAT, &input, feeder->features);
    feeder->feeds[FEED_LABELS] = description->loss == LAYERS_CROSS_ENTROPY
                                     ? tensor_borrow(DT_INT32, &classes, feeder->classes)
                                     : tensor_borrow(DT_FLOAT, &targets, feeder->targets);
    for (int v = 0; v < graph->variables_count; v++)
        feeder->feeds[FEED_FIRST_VARIABLE + v] =
            tensor_borrow(graph->variables[v].dtype, &graph->variables[v].shape, values[v]);
    if (graph->random_seed.node != NULL) {
        struct shape two = shape_of(2);
        feeder->feeds[FEED_FIRST_VARIABLE + graph->variables_count] =
            tensor_borrow(DT_INT64, &two, feeder->random_seed);
    }
}

/* ---- Training. ---- */

struct model_source {
    struct gradient_source source; /* first */
    const struct model *model;
    const struct dataset *dataset;
    struct feeder feeder;
    struct row_order order;
    uint32_t *rows;
    uint64_t seed, batches; /* taken by this worker so far */
    uint32_t worker, workers;
    int fetches_count;
    struct tensor *fetches; /* loss, then gradients */
    const float **gradients;
};

static void release_fetches(struct model_source *source)
{
    for (int i = 0; i < source->fetches_count; i++)
        tensor_release(&source->fetches[i]);
    run_reset(source->feeder.run);
}

static struct status source_step(struct gradient_source *base, const void *const *values,
                                 const float *const **gradients, float *loss)
{
    struct model_source *source = (struct model_source *)base;
    const struct model *model = source->model;
    uint32_t batch = model->options.batch_size;
    int fetch = 1;

    release_fetches(source);
    row_order_next(&source->order, source->rows, batch);
    source->feeder.random_seed[0] = (int64_t)source->seed;
    source->feeder.random_seed[1] = (int64_t)(source->batches++ * source->workers + source->worker);
    feeder_fill(&source->feeder, source->dataset, model->description, source->rows, batch, values);
    TRY(plan_run(model->training_plan, source->feeder.run, source->feeder.feeds, source->fetches));
    *loss = tensor_floats(&source->fetches[0])[0];
    if (model->options.reduction == LAYERS_SUM)
        *loss /= (float)batch; /* the loss shown is per example */
    for (int v = 0; v < model->variables_count; v++)
        source->gradients[v] =
            model->variables[v].trainable ? tensor_floats(&source->fetches[fetch++]) : NULL;
    *gradients = source->gradients;
    return status_ok();
}

/* In a synchronous job every worker takes a batch per step; otherwise the workers share the steps.
 */
static void source_seek(struct gradient_source *base, uint64_t begin, uint64_t step)
{
    struct model_source *source = (struct model_source *)base;

    source->batches = source->model->options.sync ? step : begin / source->workers;
    row_order_seek(&source->order, source->batches * source->model->options.batch_size);
}

static void source_destroy(struct gradient_source *base)
{
    struct model_source *source = (struct model_source *)base;

    release_fetches(source);
    feeder_finish(&source->feeder);
    row_order_finish(&source->order);
    free(source->rows);
    free(source->fetches);
    free(source->gradients);
    free(source);
}

struct status model_source(const struct model *model, const struct dataset *dataset, uint64_t seed,
                           uint32_t worker, uint32_t workers, struct gradient_source **out)
{
    struct model_source *source = zalloc(sizeof *source);

    source->source = (struct gradient_source){ source_step, source_destroy, source_seek };
    source->model = model;
    source->dataset = dataset;
    source->seed = seed;
    source->worker = worker;
    source->workers = workers;
    feeder_init(&source->feeder, &model->training, dataset, model->options.batch_size);
    row_order_init(&source->order, seed, dataset->rows, worker, workers);
    source->rows = zalloc(model->options.batch_size * sizeof *source->rows);
    source->fetches_count = 1;
    for (int v = 0; v < model->variables_count; v++)
        source->fetches_count += model->variables[v].trainable;
    source->fetches = zalloc((size_t)source->fetches_count * sizeof *source->fetches);
    source->gradients = zalloc((size_t)(model->variables_count + 1) * sizeof *source->gradients);
    *out = &source->source;
    return status_ok();
}

/* ---- Evaluation. ---- */

static struct status evaluate_batch(const struct model *model, struct feeder *feeder,
                                    const struct dataset *dataset, const uint32_t *rows,
                                    uint32_t count, const void *const *values,
                                    struct evaluation *sums)
{
    struct tensor fetches[2] = { 0 };

    feeder_fill(feeder, dataset, model->description, rows, count, values);
    TRY(plan_run(model->evaluation_plan, feeder->run, feeder->feeds, fetches));
    sums->loss += tensor_floats(&fetches[0])[0];
    if (model->evaluation.heads[0].correct.node != NULL)
        sums->accuracy += tensor_int32s(&fetches[1])[0];
    tensor_release(&fetches[0]);
    tensor_release(&fetches[1]);
    run_reset(feeder->run);
    return status_ok();
}

struct status model_evaluate(const struct model *model, const void *const *values,
                             const struct dataset *dataset, const _Atomic bool *stop,
                             struct evaluation *out)
{
    struct feeder feeder;
    struct evaluation sums = { 0 };
    uint32_t rows[EVALUATION_BATCH];
    struct status status = status_ok();

    feeder_init(&feeder, &model->evaluation, dataset, EVALUATION_BATCH);
    for (uint32_t at = 0; at < dataset->rows && status_is_ok(status); at += EVALUATION_BATCH) {
        uint32_t left = dataset->rows - at,
                 count = left < EVALUATION_BATCH ? left : EVALUATION_BATCH;
        for (uint32_t i = 0; i < count; i++)
            rows[i] = at + i;
        if (atomic_load_explicit(stop, memory_order_relaxed))
            status = status_error(STATUS_CANCELLED, "stopped");
        else
            status = evaluate_batch(model, &feeder, dataset, rows, count, values, &sums);
    }
    feeder_finish(&feeder);
    out->loss = dataset->rows > 0 ? sums.loss / dataset->rows : 0;
    out->accuracy = dataset->rows > 0 ? sums.accuracy / dataset->rows : 0;
    return status;
}
