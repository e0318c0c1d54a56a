/* inputs: chooses the signature that pstrain predict runs, and maps columns to its inputs. */
#include <string.h>

#include "layers/layers.h"
#include "trainer/inputs/file_data.h"
#include "trainer/options/sparse_width.h"
#include "trainer/predict/predictor.h"

/* ---- the signature ---- */

static struct status no_signature(const struct savedmodel *model, const char *why)
{
    struct buffer names = { 0 };

    for (int i = 0; i < savedmodel_signatures_count(model); i++)
        if (signature_is_callable(savedmodel_signature_at(model, i)))
            buffer_printf(&names, "%s%s", names.size > 0 ? ", " : "",
                          savedmodel_signature_at(model, i)->name);
    struct status status =
        status_error(STATUS_NOT_FOUND, "--signature: %s; there are: %.*s", why,
                     names.size > 0 ? (int)names.size : 4, names.size > 0 ? names.data : "none");
    buffer_finish(&names);
    return status;
}

static struct status check_named(const struct signature *signature)
{
    for (int i = 0; i < signature->inputs_count; i++)
        TRY(status_in(signature_check_named(&signature->inputs[i]), "signature '%s': input '%s'",
                      signature->name, signature->inputs[i].key));
    for (int i = 0; i < signature->outputs_count; i++)
        TRY(status_in(signature_check_named(&signature->outputs[i]), "signature '%s': output '%s'",
                      signature->name, signature->outputs[i].key));
    return status_ok();
}

struct status predictor_choose_signature(struct predictor *predictor)
{
    const char *name = predictor->request->signature;
    const struct savedmodel *model = predictor->model;

    predictor->signature = *name != '\0' ? savedmodel_signature(model, bytes_of(name))
                                         : savedmodel_default_signature(model);
    if (predictor->signature == NULL)
        return no_signature(
            model, *name != '\0' ? arena_printf(predictor->arena, "the model has no '%s'", name)
                                 : "the model has several, or none; choose one");
    TRY(check_named(predictor->signature));
    return savedmodel_plan_only(predictor->model, predictor->signature, &predictor->plan);
}

/* ---- its inputs ---- */

/* Is the input K a ragged tensor, with K_1 as the values and the row splits? Two inputs with one
 * number per row look the same. Then the files have a column K_1, which row splits never have. */
static struct status is_ragged(const struct predictor *predictor, int input, int *splits, bool *out)
{
    const struct signature_tensor *inputs = predictor->signature->inputs;
    const struct file_data_request files = { .flags = predictor->request->files,
                                             .files_flag = "predict_files" };
    bool column = false;

    *splits = signature_row_splits(predictor->signature, input);
    *out = *splits >= 0 && predictor->sources[*splits].column < 0;
    if (*out)
        TRY(file_data_has_column(&files, inputs[*splits].key, &column));
    *out = *out && !column;
    return status_ok();
}

/* Is the input parsed as serialized tf.Examples? */
static bool is_example(const struct predictor *predictor, const struct signature_tensor *input)
{
    const struct graph *graph = savedmodel_graph(predictor->model);
    struct endpoint fed;

    if (input->dtype != DT_STRING || !status_is_ok(graph_endpoint(graph, input->tensor_name, &fed)))
        return false;
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if (strncmp(node->op_name, "ParseExample", strlen("ParseExample")) == 0 &&
            node->inputs_count > 0 && node->inputs[0].node == fed.node)
            return true;
    }
    return signature_takes_examples(predictor->signature);
}

static struct status add_feed(struct predictor *predictor, const char *name,
                              enum tensor_layout layout, enum dtype dtype,
                              const struct shape *shape)
{
    struct training_feed *feed = &predictor->feeds[predictor->feeds_count++];

    feed->spec = (struct tensor_spec){ name, layout, dtype, *shape };
    feed->role = FEED_INPUT;
    if (shape->rank < 1)
        return status_error(
            STATUS_UNIMPLEMENTED,
            "input '%s' of signature '%s' has shape %s, without a dimension of rows", name,
            predictor->signature->name, shape_text(shape));
    if (shape->dims[0] >= 0 && shape->dims[0] != predictor->request->files->batch_size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input '%s' of signature '%s' has shape %s: give --batch_size=%lld",
                            name, predictor->signature->name, shape_text(shape),
                            (long long)shape->dims[0]);
    feed->spec.shape.dims[0] = -1;
    return status_ok();
}

/* Floats belong to a sparse column, at their ids. Other values belong to lists. */
static struct status add_sparse(struct predictor *predictor, int indices,
                                const struct signature_sparse *parts)
{
    const struct signature_tensor *inputs = predictor->signature->inputs;
    const char *name = inputs[indices].key;
    enum dtype dtype = inputs[parts->values].dtype;
    int64_t width = predictor->request->files->sparse_width;
    if (width == 0)
        width = sparse_width_find(savedmodel_graph(predictor->model),
                                  inputs[parts->values].tensor_name);
    const struct shape columns = shape_of(-1, dtype == DT_FLOAT ? width : -1);
    int column = predictor->feeds_count;

    if (dtype == DT_FLOAT && width == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input '%s' of signature '%s' is sparse: give --sparse_width, the "
                            "number of its columns",
                            name, predictor->signature->name);
    predictor->sources[indices] = (struct fed_source){ column, PART_INDICES, { 0 } };
    predictor->sources[parts->values] = (struct fed_source){ column, PART_VALUES, { 0 } };
    predictor->sources[parts->shape] = (struct fed_source){ column, PART_SHAPE, { 0 } };
    return add_feed(predictor, name, dtype == DT_FLOAT ? TENSOR_SPARSE : TENSOR_RAGGED, dtype,
                    &columns);
}

static struct status add_ragged(struct predictor *predictor, int values, int splits)
{
    const struct signature_tensor *input = &predictor->signature->inputs[values];
    const struct shape rows = shape_of(-1, -1);
    int column = predictor->feeds_count;

    predictor->sources[values] = (struct fed_source){ column, PART_VALUES, { 0 } };
    predictor->sources[splits] = (struct fed_source){ column, PART_ROW_SPLITS, { 0 } };
    predictor->feeds[column].raw =
        layers_input_raw(savedmodel_graph(predictor->model), input->tensor_name);
    return add_feed(predictor, input->key, TENSOR_RAGGED, input->dtype, &rows);
}

static struct status add_dense(struct predictor *predictor, int input)
{
    const struct signature_tensor *tensor = &predictor->signature->inputs[input];
    struct training_feed *feed = &predictor->feeds[predictor->feeds_count];

    predictor->sources[input] = (struct fed_source){ predictor->feeds_count, PART_VALUES, { 0 } };
    feed->raw = layers_input_raw(savedmodel_graph(predictor->model), tensor->tensor_name);
    feed->is_example = is_example(predictor, tensor);
    return add_feed(predictor, tensor->key, TENSOR_DENSE, tensor->dtype, &tensor->shape);
}

/* Finds the column of each input. */
static struct status describe_inputs(struct predictor *predictor)
{
    const struct signature *signature = predictor->signature;
    int count = signature->inputs_count, splits;
    bool ragged, widths = false;
    struct signature_sparse parts;

    predictor->sources = ARENA_ARRAY(predictor->arena, struct fed_source, count + 1);
    for (int i = 0; i < count; i++)
        predictor->sources[i].column = -1;
    for (int i = 0; i < count; i++)
        if (signature_is_sparse(signature, i, &parts)) {
            TRY(add_sparse(predictor, i, &parts));
            widths |= signature->inputs[parts.values].dtype == DT_FLOAT;
        }
    if (predictor->request->files->sparse_width > 0 && !widths)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--sparse_width: signature '%s' has no sparse input", signature->name);
    for (int i = 0; i < count; i++) {
        if (predictor->sources[i].column >= 0)
            continue;
        TRY(is_ragged(predictor, i, &splits, &ragged));
        if (ragged)
            TRY(add_ragged(predictor, i, splits));
    }
    for (int i = 0; i < count; i++)
        if (predictor->sources[i].column < 0)
            TRY(add_dense(predictor, i));
    return status_ok();
}

/* ---- labels ---- */

/* A label is found by its name, as an input is. */
static struct status check_label(const struct predictor *predictor,
                                 const struct training_feed *label)
{
    for (int i = 0; i < predictor->inputs_count; i++)
        if (strcmp(predictor->feeds[i].spec.name, label->spec.name) == 0)
            return status_error(STATUS_UNIMPLEMENTED,
                                "--evaluate: the labels '%s' have the name of an input",
                                label->spec.name);
    return status_ok();
}

static struct status describe_labels(struct predictor *predictor,
                                     const struct training_feed *labels, int count)
{
    predictor->inputs_count = predictor->feeds_count;
    predictor->labels = ARENA_ARRAY(predictor->arena, struct tensor, count + 1);
    for (int i = 0; i < count; i++) {
        TRY(check_label(predictor, &labels[i]));
        predictor->feeds[predictor->feeds_count++] = labels[i];
    }
    return status_ok();
}

struct status predictor_describe_feeds(struct predictor *predictor)
{
    const struct training_feed *labels = NULL;
    int count = 0;

    if (predictor->request->evaluate) {
        TRY(scorer_create(predictor->request->files, predictor->request->directory,
                          predictor->signature, predictor->arena, &predictor->scorer));
        count = scorer_feeds(predictor->scorer, &labels);
    }
    predictor->feeds = ARENA_ARRAY(predictor->arena, struct training_feed,
                                   predictor->signature->inputs_count + count + 1);
    TRY(describe_inputs(predictor));
    return describe_labels(predictor, labels, count);
}
