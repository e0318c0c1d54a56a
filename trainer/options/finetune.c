#include "trainer/options/finetune.h"

#include <stdlib.h>

#include "savedmodel/format.h"
#include "trainer/inputs/file_data.h"
#include "trainer/options/compile_config.h"
#include "trainer/options/sparse_width.h"

struct finetune {
    struct layers_body body; /* first: build casts */
    struct trainable *trainable;
    /* [body.inputs_count]: the signature's inputs that form each input of the body. */
    struct fed_input {
        int values;
        int row_splits;     /* -1: it is not ragged */
        int indices, shape; /* -1: it is not sparse */
        int64_t width;      /* of a sparse input of floats */
    } * fed;
    int64_t sparse_width;        /* 0: as the graph tells */
    struct bundle_stream stream; /* of the variable that finetune_begin named */
};

/* ---- the body ---- */

static void list_variables(const struct trainable *trainable, const struct trainable_graph *built,
                           struct arena *arena, struct layers_graph *out)
{
    out->variables_count = trainable_variables_count(trainable);
    out->variables = ARENA_ARRAY(arena, struct layers_variable, out->variables_count);
    for (int v = 0; v < out->variables_count; v++) {
        const struct trainable_variable *variable = trainable_variable_at(trainable, v);
        out->variables[v] = (struct layers_variable){ .name = variable->name,
                                                      .dtype = variable->dtype,
                                                      .shape = variable->shape,
                                                      .trainable = variable->is_trained,
                                                      .by_rows = built->by_rows[v],
                                                      .value = built->values[v] };
    }
}

static struct status build_body(const struct layers_body *body, int64_t batch, struct arena *arena,
                                struct layers_graph *out)
{
    const struct finetune *finetune = (const struct finetune *)body;
    struct trainable_graph built;

    TRY(trainable_build(finetune->trainable, batch, arena, &built));
    out->graph = built.graph;
    for (int i = 0; i < body->inputs_count; i++) {
        const struct fed_input *fed = &finetune->fed[i];
        out->inputs[i] = built.inputs[fed->values];
        if (fed->row_splits >= 0)
            out->lists[i].row_splits = built.inputs[fed->row_splits];
        if (fed->indices >= 0) {
            out->lists[i].indices = built.inputs[fed->indices];
            out->lists[i].sparse_shape = built.inputs[fed->shape];
        }
    }
    for (int i = 0; i < body->outputs_count; i++)
        out->heads[i].output = built.outputs[i];
    out->lookups = built.lookups;
    out->lookups_count = built.lookups_count;
    list_variables(finetune->trainable, &built, arena, out);
    return status_ok();
}

/* Finds the row splits of a ragged input, or -1. Two inputs with one number per row look the
 * same: then the files have a column of the second one's name. */
static struct status find_row_splits(const struct signature *signature, int input,
                                     const struct file_data_request *files, int *out)
{
    bool column = false;

    *out = signature_row_splits(signature, input);
    if (*out >= 0 && *files->flags->train_files != '\0')
        TRY(file_data_has_column(files, signature->inputs[*out].key, &column));
    if (column)
        *out = -1;
    return status_ok();
}

/* Finds the inputs that are parts of sparse ones, and adds these. */
static void find_sparse(struct finetune *finetune, bool *is_part)
{
    const struct signature *signature = trainable_signature(finetune->trainable);
    struct signature_sparse parts;

    for (int i = 0; i < signature->inputs_count; i++) {
        if (!signature_is_sparse(signature, i, &parts))
            continue;
        is_part[i] = is_part[parts.values] = is_part[parts.shape] = true;
        trainable_set_sparse(finetune->trainable, i, &parts);
        finetune->fed[finetune->body.inputs_count++] =
            (struct fed_input){ parts.values, -1, i, parts.shape, 0 };
    }
}

static struct status find_inputs(struct finetune *finetune, const struct flag_values *flags,
                                 struct arena *arena)
{
    const struct signature *signature = trainable_signature(finetune->trainable);
    const struct file_data_request files = { .flags = flags, .files_flag = "train_files" };
    bool *is_part = ARENA_ARRAY(arena, bool, signature->inputs_count);
    int *splits = ARENA_ARRAY(arena, int, signature->inputs_count);

    finetune->fed = ARENA_ARRAY(arena, struct fed_input, signature->inputs_count);
    find_sparse(finetune, is_part);
    for (int i = 0; i < signature->inputs_count; i++) {
        if (is_part[i])
            continue;
        TRY(find_row_splits(signature, i, &files, &splits[i]));
        if (splits[i] < 0)
            continue;
        is_part[splits[i]] = true;
        trainable_set_ragged(finetune->trainable, i, splits[i]);
    }
    for (int i = 0; i < signature->inputs_count; i++)
        if (!is_part[i])
            finetune->fed[finetune->body.inputs_count++] =
                (struct fed_input){ i, splits[i], -1, -1, 0 };
    return status_ok();
}

/* Floats belong to a sparse column, at their ids. Other values belong to lists. */
static bool is_of_columns(const struct finetune *finetune, const struct fed_input *fed)
{
    const struct signature *signature = trainable_signature(finetune->trainable);

    return fed->indices >= 0 && signature->inputs[fed->values].dtype == DT_FLOAT;
}

static int64_t find_width(const struct finetune *finetune, const struct fed_input *fed)
{
    const struct trainable *trainable = finetune->trainable;

    return finetune->sparse_width > 0
               ? finetune->sparse_width
               : sparse_width_find(trainable_whole_graph(trainable),
                                   trainable_signature(trainable)->inputs[fed->values].tensor_name);
}

static struct status find_widths(struct finetune *finetune)
{
    const struct signature *signature = trainable_signature(finetune->trainable);
    bool widths = false;

    for (int i = 0; i < finetune->body.inputs_count; i++) {
        struct fed_input *fed = &finetune->fed[i];
        if (!is_of_columns(finetune, fed))
            continue;
        widths = true;
        fed->width = find_width(finetune, fed);
        if (fed->width == 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "input '%s' of signature '%s' is sparse: give --sparse_width, the "
                                "number of its columns",
                                signature->inputs[fed->indices].key, signature->name);
    }
    if (finetune->sparse_width > 0 && !widths)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--sparse_width: signature '%s' has no sparse input of floats",
                            signature->name);
    return status_ok();
}

static struct layers_port port_of(const struct finetune *finetune, const struct fed_input *fed)
{
    const struct trainable *trainable = finetune->trainable;
    const struct signature_tensor *inputs = trainable_signature(trainable)->inputs;
    const struct signature_tensor *values = &inputs[fed->values];
    struct layers_port port = {
        .name = inputs[fed->indices >= 0 ? fed->indices : fed->values].key,
        .dtype = values->dtype,
        .layout = TENSOR_DENSE,
        .shape = values->shape,
        .is_example = trainable_input_is_example(trainable, fed->values),
    };

    if (fed->indices < 0)
        port.raw = layers_input_raw(trainable_whole_graph(trainable), values->tensor_name);
    if (is_of_columns(finetune, fed)) {
        port.layout = TENSOR_SPARSE;
        port.shape = shape_of(-1, fed->width);
    } else if (fed->row_splits >= 0 || fed->indices >= 0) {
        port.layout = TENSOR_RAGGED;
        port.shape = shape_of(-1, -1);
    }
    return port;
}

static struct status describe_body(struct finetune *finetune, const struct flag_values *flags,
                                   struct arena *arena)
{
    TRY(find_inputs(finetune, flags, arena));
    TRY(find_widths(finetune));
    int inputs_count = finetune->body.inputs_count;
    struct layers_port *inputs = ARENA_ARRAY(arena, struct layers_port, inputs_count);
    int outputs_count = trainable_outputs_count(finetune->trainable);
    const char **outputs = ARENA_ARRAY(arena, const char *, outputs_count);

    for (int i = 0; i < inputs_count; i++)
        inputs[i] = port_of(finetune, &finetune->fed[i]);
    for (int i = 0; i < outputs_count; i++)
        outputs[i] = trainable_output_at(finetune->trainable, i)->key;
    finetune->body =
        (struct layers_body){ .name = arena_strdup(arena, trainable_directory(finetune->trainable)),
                              .inputs = inputs,
                              .inputs_count = inputs_count,
                              .outputs = outputs,
                              .outputs_count = outputs_count,
                              .build = build_body };
    return status_ok();
}

/* ---- opening ---- */

static const char *or_null(const char *text)
{
    return *text != '\0' ? text : NULL;
}

static struct status open_model(const struct flag_values *flags, struct finetune *finetune,
                                struct arena *arena, struct layers_model **model)
{
    const struct trainable_options options = { .signature = or_null(flags->signature),
                                               .outputs = or_null(flags->output),
                                               .all_outputs = *flags->loss != '\0' ||
                                                              *flags->compile_config != '\0',
                                               .freeze = or_null(flags->freeze) };
    struct buffer config = { 0 };

    TRY(status_in(savedmodel_hint_version(
                      trainable_open(flags->from_savedmodel, &options, &finetune->trainable),
                      flags->from_savedmodel),
                  "--from_savedmodel=%s", flags->from_savedmodel));
    finetune->sparse_width = flags->sparse_width;
    TRY(describe_body(finetune, flags, arena));
    finetune->body.has_flags = compile_config_is_flags(flags);
    struct status status = compile_config_read(flags, &config);
    if (status_is_ok(status))
        status =
            layers_wrap(&finetune->body, (struct bytes){ config.data, config.size }, arena, model);
    buffer_finish(&config);
    return status;
}

struct status finetune_open(const struct flag_values *flags, struct arena *arena,
                            struct finetune **out, struct layers_model **model)
{
    struct finetune *finetune = zalloc(sizeof *finetune);
    struct status status = open_model(flags, finetune, arena, model);

    if (!status_is_ok(status)) {
        status = status_keep(arena, status);
        finetune_close(finetune);
        return status;
    }
    *out = finetune;
    return status_ok();
}

void finetune_close(struct finetune *finetune)
{
    if (finetune == NULL)
        return;
    bundle_stream_finish(&finetune->stream);
    trainable_close(finetune->trainable);
    free(finetune);
}

const struct trainable *finetune_trainable(const struct finetune *finetune)
{
    return finetune->trainable;
}

/* ---- values ---- */

static int find_variable(const struct trainable *trainable, const char *name)
{
    int v = 0;

    while (strcmp(trainable_variable_at(trainable, v)->name, name) != 0)
        v++; /* the graph was made from these variables */
    return v;
}

static struct status fill(const struct training_variable *variable, uint64_t seed, void *out)
{
    const struct trainable *trainable = variable->fill_context;

    (void)seed;
    return trainable_read(trainable, find_variable(trainable, variable->name), out);
}

void finetune_take_values(const struct finetune *finetune, struct training_graph *graph)
{
    for (int v = 0; v < graph->variables_count; v++) {
        graph->variables[v].fill = fill;
        graph->variables[v].fill_rows = NULL; /* finetune_begin */
        graph->variables[v].fill_context = finetune->trainable;
        graph->variables[v].starts_at_zero = false;
    }
}

struct status finetune_begin(struct finetune *finetune, const char *name)
{
    const struct trainable *trainable = finetune->trainable;

    return trainable_begin(trainable, find_variable(trainable, name), &finetune->stream);
}

struct status finetune_next(struct finetune *finetune, struct bytes *chunk)
{
    return bundle_stream_next(&finetune->stream, chunk);
}

const char *finetune_describe(const struct finetune *finetune, struct arena *arena)
{
    int count = trainable_variables_count(finetune->trainable), trained = 0;

    for (int v = 0; v < count; v++)
        trained += trainable_variable_at(finetune->trainable, v)->is_trained;
    return arena_printf(arena, "%d of %d variables are trained, from the values of %s", trained,
                        count, trainable_directory(finetune->trainable));
}
