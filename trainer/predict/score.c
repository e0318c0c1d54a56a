#include "trainer/predict/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/text_print.h"
#include "layers/layers.h"
#include "savedmodel/format.h"
#include "trainer/model/evaluation_sums.h"
#include "trainer/model/model.h"
#include "trainer/options/compile_config.h"

struct scorer {
    struct layers_body body; /* first: build casts */
    const struct signature *signature;
    const char *config_directory; /* the export whose file tells all settings; NULL: flags do */
    struct arena *arena;
    struct layers_model *description;
    struct training_graph graph;
    struct model *model;
    struct run *run;
    struct tensor *fed; /* for one run, in the order of the graph's feeds */
    struct evaluation_sums sums;
};

/* ---- the model ---- */

static struct status build_body(const struct layers_body *body, int64_t batch, struct arena *arena,
                                struct layers_graph *out)
{
    out->graph = graph_create(arena);
    struct builder b = builder_init(out->graph);

    for (int i = 0; i < body->inputs_count; i++) {
        struct shape shape = body->inputs[i].shape;
        shape.dims[0] = batch > 0 ? batch : -1;
        out->inputs[i] = build_placeholder(&b, NULL, body->inputs[i].dtype, shape);
        out->heads[i].output = build_unary(&b, "Identity", NULL, out->inputs[i]);
    }
    return builder_status(&b);
}

static struct status check_output(const struct signature_tensor *output)
{
    if (!dtype_is_floating(output->dtype))
        return status_error(STATUS_UNIMPLEMENTED, "it is %s, and losses are of floats",
                            dtype_name(output->dtype));
    if (!output->has_shape || output->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "its shape is %s, without rows",
                            output->has_shape ? shape_text(&output->shape) : "not given");
    return status_ok();
}

/* The outputs become the inputs of the model, under names that no column has. */
static struct status describe_body(struct scorer *scorer)
{
    const struct signature *signature = scorer->signature;
    int count = signature->outputs_count;
    struct layers_port *inputs = ARENA_ARRAY(scorer->arena, struct layers_port, count + 1);
    const char **names = ARENA_ARRAY(scorer->arena, const char *, count + 1);

    if (strcmp(signature->method, SIGNATURE_CLASSIFY) == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "signature '%s' classifies, which sorts its scores: choose one that "
                            "predicts",
                            signature->name);
    for (int i = 0; i < count; i++) {
        const struct signature_tensor *output = &signature->outputs[i];
        TRY(status_in(check_output(output), "output '%s'", output->key));
        names[i] = output->key;
        inputs[i] =
            (struct layers_port){ .name = arena_printf(scorer->arena, "outputs/%s", output->key),
                                  .dtype = output->dtype,
                                  .shape = output->shape };
    }
    scorer->body = (struct layers_body){ .name = signature->name,
                                         .inputs = inputs,
                                         .inputs_count = count,
                                         .outputs = names,
                                         .outputs_count = count,
                                         .build = build_body };
    return status_ok();
}

static struct status make_model(struct scorer *scorer, const struct flag_values *flags,
                                struct bytes compile_config)
{
    const bool weighted = *flags->weight_column != '\0';
    const struct layers_training_options options = { .reduction = LAYERS_SUM,
                                                     .weighted = weighted,
                                                     .evaluation_weighted = weighted };

    TRY(layers_wrap(&scorer->body, compile_config, scorer->arena, &scorer->description));
    TRY(layers_training_graph(scorer->description, &options, scorer->arena, &scorer->graph));
    return model_create(&scorer->graph, NULL, &scorer->model);
}

static bool has_classes(const struct shape *output)
{
    return output->rank >= 2 && output->dims[output->rank - 1] > 1;
}

/* The export does not say with which loss it was trained: names those that fit the outputs. */
static struct status no_loss(const struct signature *signature)
{
    const struct signature_tensor *outputs = signature->outputs;
    struct buffer losses = { 0 };

    if (signature->outputs_count == 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--evaluate needs --loss: %s if output '%s' %s has probabilities, or "
                            "mse if it has other numbers",
                            has_classes(&outputs->shape) ? "sparse_categorical_crossentropy"
                                                         : "binary_crossentropy",
                            outputs->key, shape_text(&outputs->shape));
    for (int i = 0; i < signature->outputs_count; i++) {
        buffer_append_text(&losses, i == 0 ? "{" : ", ");
        json_print_string(&losses, bytes_of(outputs[i].key));
        buffer_printf(&losses, ": \"%s\"",
                      has_classes(&outputs[i].shape) ? "sparse_categorical_crossentropy" : "mse");
    }
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "--evaluate needs --loss, such as '%.*s}' if the outputs of several numbers "
                     "are probabilities of classes",
                     (int)losses.size, losses.data);
    buffer_finish(&losses);
    return status;
}

/* Only Predict returns the outputs as they were trained: Regress makes probabilities of logits. */
static struct status read_config(struct scorer *scorer, const struct flag_values *flags,
                                 const char *directory, struct buffer *out)
{
    bool given = *flags->loss != '\0' || *flags->compile_config != '\0';
    bool metrics = *flags->metrics != '\0';

    scorer->body.has_flags = compile_config_is_flags(flags) && (given || metrics);
    if (given)
        return compile_config_read(flags, out);
    if (strcmp(scorer->signature->method, SIGNATURE_PREDICT) == 0)
        TRY(compile_config_read_export(flags, directory, out));
    scorer->config_directory = out->size > 0 && !metrics ? directory : NULL;
    return out->size > 0 ? status_ok() : no_loss(scorer->signature);
}

static struct status open_scorer(struct scorer *scorer, const struct flag_values *flags,
                                 const char *directory)
{
    struct buffer config = { 0 };

    TRY(describe_body(scorer));
    struct status status = read_config(scorer, flags, directory, &config);
    if (status_is_ok(status))
        status = make_model(scorer, flags, (struct bytes){ config.data, config.size });
    if (scorer->config_directory != NULL)
        status = status_in(status,
                           "'%s/" SAVEDMODEL_EXTRA_DIRECTORY "/" SAVEDMODEL_COMPILE_CONFIG_FILE "'",
                           scorer->config_directory);
    buffer_finish(&config);
    TRY(status);
    scorer->run = run_create(0);
    scorer->fed = ARENA_ARRAY(scorer->arena, struct tensor, scorer->graph.feeds_count);
    evaluation_sums_begin(&scorer->sums, &scorer->graph);
    return status_ok();
}

struct status scorer_create(const struct flag_values *flags, const char *directory,
                            const struct signature *signature, struct arena *arena,
                            struct scorer **out)
{
    struct scorer *scorer = zalloc(sizeof *scorer);

    scorer->signature = signature;
    scorer->arena = arena;
    struct status status = open_scorer(scorer, flags, directory);
    if (!status_is_ok(status)) {
        status = status_keep(arena, status);
        scorer_destroy(scorer);
        return status;
    }
    *out = scorer;
    return status_ok();
}

void scorer_destroy(struct scorer *scorer)
{
    if (scorer == NULL)
        return;
    evaluation_sums_finish(&scorer->sums, &scorer->graph);
    run_destroy(scorer->run);
    model_destroy(scorer->model);
    training_graph_finish(&scorer->graph);
    free(scorer);
}

int scorer_feeds(const struct scorer *scorer, const struct training_feed **out)
{
    *out = scorer->graph.feeds + scorer->body.inputs_count;
    return scorer->graph.feeds_count - scorer->body.inputs_count;
}

/* ---- batches ---- */

struct status scorer_add(struct scorer *scorer, const struct tensor *outputs,
                         const struct tensor *feeds, int64_t rows)
{
    const struct training_graph *graph = &scorer->graph;
    struct tensor fetches[1 + EVALUATION_METRICS_MAX] = { 0 };
    int inputs = scorer->body.inputs_count, fed = 0;

    for (int i = 0; i < graph->feeds_count; i++)
        if (graph->evaluation.feeds[i].values.node != NULL)
            scorer->fed[fed++] = i < inputs ? outputs[i] : feeds[i - inputs];
    TRY(plan_run(scorer->model->evaluation, scorer->run, scorer->fed, fetches));
    evaluation_sums_add(&scorer->sums, graph, rows, fetches);
    run_reset(scorer->run);
    return status_ok();
}

static void print_number(const char *name, double value, struct buffer *out)
{
    buffer_append_text(out, ", ");
    json_print_string(out, bytes_of(name));
    buffer_printf(out, ": ");
    if (isnan(value))
        buffer_append_text(out, "NaN");
    else if (isinf(value))
        buffer_append_text(out, value < 0 ? "-Infinity" : "Infinity");
    else
        buffer_printf(out, "%.9g", value);
}

void scorer_print(const struct scorer *scorer, struct buffer *out)
{
    const struct training_graph *graph = &scorer->graph;
    const struct evaluation found = evaluation_sums_result(&scorer->sums, graph);

    buffer_printf(out, "{\"rows\": %lld", (long long)found.rows);
    print_number("loss", found.loss, out);
    for (int m = 0; m < graph->metrics_count; m++)
        print_number(graph->metrics[m].name, found.metrics[m], out);
    buffer_append_text(out, "}\n");
}
