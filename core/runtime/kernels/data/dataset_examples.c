/*
 * ParseExampleDataset: batches of serialized Examples as tensors, one component for each feature,
 * in the order of the keys. A sparse component is a vector of three variants (indices, values and
 * shape), a ragged one a variant.
 */
#include <stdlib.h>

#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "runtime/kernels/records/example_features.h"

#define CALLS_AT    1
#define DEFAULTS_AT 2

struct example_plan {
    struct example_features features;
    int *order; /* [count] the features in the order of their keys */
};

struct example_parser {
    struct example_spec *spec;
};

static int compare_keys(const void *a, const void *b, void *features)
{
    const struct example_feature *each = features;
    return bytes_compare(each[*(const int *)a].key, each[*(const int *)b].key);
}

static struct status parse_prepare(struct prepare_context *p, struct dataset_shape *shape)
{
    struct example_plan *plan = ARENA_NEW(prepare_arena(p), struct example_plan);
    TRY(example_features_read(p, &plan->features));
    TRY(example_features_name(shape->node, &plan->features));
    int count = example_features_count(&plan->features);
    if (shape->count != count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): %d output_types for %d features", shape->node->name,
                            shape->node->op_name, shape->count, count);
    plan->order = ARENA_ARRAY(prepare_arena(p), int, count + 1);
    for (int i = 0; i < count; i++)
        plan->order[i] = i;
    qsort_r(plan->order, (size_t)count, sizeof *plan->order, compare_keys, plan->features.each);
    shape->extra = plan;
    return status_ok();
}

static struct status parse_check(struct kernel_context *k, struct run_dataset *dataset)
{
    const struct example_plan *plan = dataset->shape->extra;
    struct example_parser *parser = dataset->state;
    TRY(dataset_check_number(k, dataset, CALLS_AT, "num_parallel_calls", INT64_MIN));
    int64_t calls = dataset_number(dataset, CALLS_AT);
    if (calls <= 0 && calls != -1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "num_parallel_calls must be greater than zero.");
    if (dataset->inputs_count != DEFAULTS_AT + plan->features.dense)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected len(dense_defaults) == len(dense_keys) but got: %d vs. %d",
                            dataset->inputs_count - DEFAULTS_AT, plan->features.dense);
    return example_spec_create(plan->features.each, example_features_count(&plan->features),
                               &parser->spec);
}

static void parse_close(struct run_dataset *dataset)
{
    example_spec_destroy(((struct example_parser *)dataset->state)->spec);
}

/* ---- an element ---- */

static struct status put_ragged(struct kernel_context *k, struct tensor *splits,
                                struct tensor *values, struct tensor *out)
{
    struct shape scalar = shape_scalar();
    TRY(kernel_scratch(k, DT_VARIANT, &scalar, out));
    struct tensor parts[] = { *splits, *values };
    *splits = *values = (struct tensor){ 0 };
    return tensor_box_create(k, BOX_RAGGED, 2, parts, &tensor_variants_mut(out)[0]);
}

/* Moves what was parsed for a feature to a component. */
static struct status put_feature(struct kernel_context *k, const struct example_features *features,
                                 int feature, struct tensor *parsed, struct tensor *out)
{
    int sparse = features->sparse, dense = features->dense, ragged = features->ragged;
    if (feature < sparse)
        return tensors_box_sparse(k, &parsed[feature], &parsed[sparse + feature],
                                  &parsed[2 * sparse + feature], out);
    struct tensor *rest = parsed + 3 * sparse;
    feature -= sparse;
    if (feature >= dense)
        return put_ragged(k, &rest[feature + ragged], &rest[feature], out);
    *out = rest[feature];
    rest[feature] = (struct tensor){ 0 };
    return status_ok();
}

static struct status parse_batch(struct kernel_context *k, const struct run_dataset *dataset,
                                 const struct tensor *batch, struct tensor *element)
{
    const struct example_plan *plan = dataset->shape->extra;
    const struct example_parser *parser = dataset->state;
    const struct tensor **defaults =
        ARENA_ARRAY(kernel_arena(k), const struct tensor *, plan->features.dense + 1);
    int count = example_spec_outputs_count(parser->spec);
    struct tensor *parsed = ARENA_ARRAY(kernel_arena(k), struct tensor, count + 1);
    struct tensor vector = *batch; /* borrowed */
    struct status status = status_ok();
    vector.shape = shape_of(batch->size);
    for (int i = 0; i < plan->features.dense; i++)
        defaults[i] = &dataset->inputs[DEFAULTS_AT + i];
    TRY(example_parse(parser->spec, &vector, NULL, defaults, kernel_pool(k), parsed));
    memset(element, 0, (size_t)dataset->count * sizeof *element);
    for (int i = 0; i < dataset->count && status_is_ok(status); i++)
        status = put_feature(k, &plan->features, plan->order[i], parsed, &element[i]);
    tensors_release(count, parsed);
    if (!status_is_ok(status))
        tensors_release(dataset->count, element);
    return status;
}

static struct status parse_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    TRY(iterator_pull(k, iterator, end));
    if (*end)
        return status_ok();
    int width = dataset_input(dataset, 0)->count;
    struct status status =
        width == 1 && iterator->element[0].dtype == DT_STRING
            ? parse_batch(k, dataset, &iterator->element[0], element)
            : kernel_error(k, STATUS_INVALID_ARGUMENT,
                           "Input dataset should be a dataset of vectors of strings");
    tensors_release(width, iterator->element);
    return status;
}

static int64_t parse_cardinality(const struct run_dataset *dataset)
{
    return dataset_input(dataset, 0)->cardinality;
}

#define PARSE(name)                                                                        \
    DATASET(name, parse_check, parse_next, .prepare = parse_prepare, .close = parse_close, \
            .dataset_bytes = sizeof(struct example_parser), .cardinality = parse_cardinality)
static const struct kernel rows[] = {
    PARSE("ParseExampleDataset"),
    PARSE("ParseExampleDatasetV2"),
};
const struct kernel_table kernels_dataset_examples = { rows, COUNT(rows) };
