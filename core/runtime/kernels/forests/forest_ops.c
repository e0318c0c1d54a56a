/*
 * forest_ops: the ops of TensorFlow Decision Forests that load a model and run it. A model is a
 * resource, found by its handle or by its identifier. It is loaded once, and never changes
 * afterwards: running it takes no lock.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "runtime/kernels/forests/forest_file.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/state/variable.h"
#include "runtime/resources.h"

struct forest_resource {
    struct object object;
    pthread_mutex_t lock;          /* for loading */
    struct forest *_Atomic forest; /* NULL: not loaded */
};

static void resource_destroy(struct object *object)
{
    struct forest_resource *resource = (struct forest_resource *)object;
    forest_destroy(resource->forest);
    pthread_mutex_destroy(&resource->lock);
    free(resource);
}

static const struct object_type forest_type = { "decision forest", resource_destroy };

static struct status make_resource(void *argument, struct object **out)
{
    struct forest_resource *resource = zalloc(sizeof *resource);
    (void)argument;
    resource->object.type = &forest_type;
    atomic_init(&resource->object.references, 1);
    pthread_mutex_init(&resource->lock, NULL);
    *out = &resource->object;
    return status_ok();
}

/* ---- the resource of a node ---- */

enum {
    FEATURE_NUMBERS,
    FEATURE_TRUTHS,
    FEATURE_CATEGORIES,
    FEATURE_VALUES,
    FEATURE_SPLITS,
    FEATURE_OUTER_SPLITS,
    FEATURES_HANDLE
};

struct forest_op {
    struct forest_resource *named; /* NULL: an input is the handle */
    struct bytes prefix;
    bool gives_leaves;
    int64_t outputs;
};

static struct status find_named(struct prepare_context *p, struct bytes container,
                                struct bytes name, struct forest_resource **out)
{
    struct object *object;
    TRY(resources_find_or_create(prepare_resources(p), &forest_type, container, name, make_resource,
                                 NULL, &object));
    *out = (struct forest_resource *)object;
    object_release(object); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

static struct status handle_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct forest_op *op = prepare_state(p, sizeof *op, NULL);
    struct bytes name = resource_name_attr(node, "shared_name");
    if (name.size == 0)
        name = bytes_of(arena_printf(prepare_arena(p), "%s", node->name));
    return find_named(p, resource_name_attr(node, "container"), name, &op->named);
}

static struct status handle_compute(struct kernel_context *k)
{
    const struct forest_op *op = kernel_state(k);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output_typed(k, 0, DT_RESOURCE, &scalar, &out));
    tensor_resources_mut(out)[0] = object_acquire(&op->named->object);
    return status_ok();
}

static struct status read_output_types(const struct node *node, struct forest_op *op)
{
    const struct attr_value *types;
    TRY(node_attr_list(node, "output_types", &types));
    for (int i = 0; i < types->count; i++) {
        struct bytes type = types->elements[i].s;
        if (!bytes_equal(type, bytes_of("LEAVES")))
            return status_error(STATUS_INVALID_ARGUMENT, "Unknown output types: %.*s",
                                (int)type.size, type.data);
        op->gives_leaves = true;
    }
    return status_ok();
}

static struct status op_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct forest_op *op = prepare_state(p, sizeof *op, NULL);
    struct bytes name;
    if (op_attr_find(node->op, "dense_output_dim") != NULL)
        TRY(node_attr_int(node, "dense_output_dim", &op->outputs));
    if (op_attr_find(node->op, "file_prefix") != NULL)
        TRY(node_attr_string(node, "file_prefix", &op->prefix));
    if (op_attr_find(node->op, "output_types") != NULL)
        TRY(read_output_types(node, op));
    if (op_attr_find(node->op, "model_identifier") == NULL)
        return status_ok();
    TRY(node_attr_string(node, "model_identifier", &name));
    return find_named(p, bytes_of("simple_ml_model_serving"), name, &op->named);
}

static struct status find_resource(struct kernel_context *k, int input,
                                   struct forest_resource **out)
{
    const struct forest_op *op = kernel_state(k);
    struct object *object = NULL;
    if (op->named != NULL) {
        *out = op->named;
        return status_ok();
    }
    const struct tensor *handle = kernel_input(k, input);
    if (handle->dtype == DT_RESOURCE && handle->size == 1)
        object = ((struct object *const *)handle->data)[0];
    if (object == NULL || object->type != &forest_type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input %d is not the handle of a decision forest", input);
    *out = (struct forest_resource *)object;
    return status_ok();
}

/* ---- loading ---- */

static struct status load(struct kernel_context *k, struct forest_resource *resource,
                          struct bytes directory)
{
    const struct forest_op *op = kernel_state(k);
    struct forest *forest;
    if (resource->forest != NULL)
        return status_ok();
    TRY(forest_file_read(k, directory, op->prefix, op->gives_leaves, &forest));
    resource->forest = forest;
    return status_ok();
}

static struct status load_compute(struct kernel_context *k)
{
    const struct tensor *path = kernel_input(k, kernel_inputs_count(k) - 1);
    struct forest_resource *resource;
    TRY(find_resource(k, 0, &resource));
    if (path->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The \"path\" attribute is expected to contains exactly one entry.");
    pthread_mutex_lock(&resource->lock);
    struct status status = load(k, resource, tensor_strings(path)[0]);
    pthread_mutex_unlock(&resource->lock);
    return status;
}

/* ---- running ---- */

/* The rows of a batch; an input of a kind that no feature has may be empty. */
static struct status count_rows(struct kernel_context *k, int64_t *rows)
{
    *rows = 0;
    for (int i = FEATURE_NUMBERS; i <= FEATURE_OUTER_SPLITS; i++) {
        const struct shape *shape = &kernel_input(k, i)->shape;
        bool is_matrix = i <= FEATURE_CATEGORIES;
        if (shape->rank != (is_matrix ? 2 : 1))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Shape must be rank %d but is rank %d",
                                is_matrix ? 2 : 1, shape->rank);
        if (!is_matrix && i != FEATURE_OUTER_SPLITS)
            continue;
        int64_t count = shape->dims[0] - (is_matrix ? 0 : 1);
        if (count > 0 && *rows > 0 && count != *rows)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "The batch size of the input features are inconsistent: %lld vs "
                                "%lld.",
                                (long long)*rows, (long long)count);
        if (count > 0)
            *rows = count;
    }
    return status_ok();
}

static struct status check_matrices(struct kernel_context *k, const struct forest *forest,
                                    int64_t rows)
{
    static const char *const names[] = { "numerical_features", "boolean_features",
                                         "categorical_int_features" };
    for (int i = FEATURE_NUMBERS; i <= FEATURE_CATEGORIES; i++) {
        const struct shape *shape = &kernel_input(k, i)->shape;
        if (shape->dims[1] != forest->columns[i] ||
            (forest->columns[i] > 0 && shape->dims[0] != rows))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Unexpected dimension of %s bank.",
                                names[i]);
    }
    return status_ok();
}

/* The splits of the sets of all rows and columns must rise, and end within the values. */
static struct status check_sets(struct kernel_context *k, const struct forest *forest, int64_t rows)
{
    const struct tensor *splits = kernel_input(k, FEATURE_SPLITS),
                        *outer = kernel_input(k, FEATURE_OUTER_SPLITS);
    int64_t columns = forest->columns[FOREST_SETS], before = 0;
    if (columns == 0)
        return status_ok();
    if (outer->size != rows + 1)
        return kernel_error(k, STATUS_INTERNAL, "Unexpected features_row_splits_dim_2 size.");
    for (int64_t row = 0; row < rows; row++)
        if (tensor_int64s(outer)[row] != row * columns)
            return kernel_error(k, STATUS_INTERNAL, "Unexpected features_row_splits_dim_2 size.");
    if (splits->size <= rows * columns)
        return kernel_error(k, STATUS_INTERNAL, "Unexpected features_row_splits_dim_1 size.");
    for (int64_t i = 0; i <= rows * columns; i++) {
        int64_t split = tensor_int64s(splits)[i];
        if (split < before || split > kernel_input(k, FEATURE_VALUES)->size)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "categorical_set_int_features_row_splits_dim_1 does not rise to "
                                "the number of values");
        before = split;
    }
    return status_ok();
}

static struct status find_forest(struct kernel_context *k, const struct forest **forest,
                                 struct forest_features *features, int64_t *rows)
{
    struct forest_resource *resource;
    TRY(find_resource(k, FEATURES_HANDLE, &resource));
    *forest = resource->forest;
    if (*forest == NULL)
        return kernel_error(k, STATUS_NOT_FOUND,
                            "the decision forest is not loaded: no op has loaded its files");
    TRY(count_rows(k, rows));
    TRY(check_matrices(k, *forest, *rows));
    TRY(check_sets(k, *forest, *rows));
    *features = (struct forest_features){
        .numbers = tensor_floats(kernel_input(k, FEATURE_NUMBERS)),
        .truths = tensor_floats(kernel_input(k, FEATURE_TRUTHS)),
        .categories = tensor_int32s(kernel_input(k, FEATURE_CATEGORIES)),
        .set_values = tensor_int32s(kernel_input(k, FEATURE_VALUES)),
        .set_splits = tensor_int64s(kernel_input(k, FEATURE_SPLITS)),
    };
    return status_ok();
}

static struct status put_names(struct kernel_context *k, const struct forest *forest)
{
    struct shape shape = shape_of(forest->outputs_count);
    struct tensor *out;
    TRY(kernel_output(k, 1, &shape, &out));
    memcpy(tensor_strings_mut(out), forest->names,
           (size_t)forest->outputs_count * sizeof *forest->names);
    return status_ok();
}

#define ROWS_BETWEEN_CHECKS 4096

/* A part of the rows has whole blocks, so that few rows are walked alone. */
#define BLOCK_ROWS 64
#define TREE_NS    10 /* at least, for a row */

struct predict_run {
    const struct forest *forest;
    const struct forest_features *features;
    int64_t first, end;
    int parts;
    char *scratch; /* for each part */
    float *out;
};

static int64_t part_begin(const struct predict_run *run, int part)
{
    int64_t blocks = (run->end - run->first + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int64_t row = run->first + BLOCK_ROWS * parallel_part_begin(blocks, run->parts, part);
    return row < run->end ? row : run->end;
}

static void predict_parts(void *context, int64_t first, int64_t end)
{
    const struct predict_run *run = context;
    for (int part = (int)first; part < (int)end; part++)
        forest_predict(run->forest, run->features, part_begin(run, part), part_begin(run, part + 1),
                       run->scratch + (size_t)part * forest_scratch_bytes(run->forest), run->out);
}

static int parts_of(const struct forest *forest, int64_t rows)
{
    return parallel_parts((rows + BLOCK_ROWS - 1) / BLOCK_ROWS,
                          (double)rows * forest->trees_count * TREE_NS);
}

static struct status predict_rows(struct kernel_context *k, struct predict_run *run, int64_t rows)
{
    int64_t most = rows < ROWS_BETWEEN_CHECKS ? rows : ROWS_BETWEEN_CHECKS;
    int parts_max = parts_of(run->forest, most);
    void *scratch;
    TRY(arena_reserve(kernel_arena(k), (size_t)parts_max * forest_scratch_bytes(run->forest),
                      &scratch));
    run->scratch = scratch;
    for (; run->first < rows; run->first = run->end) {
        run->end = rows - run->first < most ? rows : run->first + most;
        run->parts = parts_of(run->forest, run->end - run->first);
        assert(run->parts <= parts_max);
        TRY(kernel_check(k));
        parallel_for_parts(run->parts, run->parts, predict_parts, run);
    }
    return status_ok();
}

static struct status predict_compute(struct kernel_context *k)
{
    const struct forest_op *op = kernel_state(k);
    const struct forest *forest;
    struct forest_features features;
    struct tensor *out;
    int64_t rows;
    TRY(find_forest(k, &forest, &features, &rows));
    if (op->outputs != forest->outputs_count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The \"dense_output_dim\"=%lld attribute does not match the model "
                            "output dimension=%d",
                            (long long)op->outputs, forest->outputs_count);
    TRY(put_names(k, forest));
    int64_t dims[] = { rows, op->outputs };
    struct shape shape = shape_make(2, dims);
    TRY(kernel_output(k, 0, &shape, &out));
    struct predict_run run = { .forest = forest,
                               .features = &features,
                               .out = tensor_floats_mut(out) };
    return predict_rows(k, &run, rows);
}

static struct status leaves_compute(struct kernel_context *k)
{
    const struct forest *forest;
    struct forest_features features;
    struct tensor *out;
    int64_t rows;
    TRY(find_forest(k, &forest, &features, &rows));
    int64_t dims[] = { rows, forest->trees_count };
    struct shape shape;
    TRY(shape_check(2, dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t row = 0; row < rows; row++) {
        if (row % ROWS_BETWEEN_CHECKS == 0)
            TRY(kernel_check(k));
        forest_leaves(forest, &features, row, tensor_int32s_mut(out) + row * forest->trees_count);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "SimpleMLCreateModelResource", DTYPES_ALL, .prepare = handle_prepare,
      .compute = handle_compute, .once = true },
    { "SimpleMLLoadModelFromPath", DTYPES_ALL, .prepare = op_prepare, .compute = load_compute },
    { "SimpleMLLoadModelFromPathWithHandle", DTYPES_ALL, .prepare = op_prepare,
      .compute = load_compute },
    { "SimpleMLInferenceOp", DTYPES_ALL, .prepare = op_prepare, .compute = predict_compute,
      .costly = true },
    { "SimpleMLInferenceOpWithHandle", DTYPES_ALL, .prepare = op_prepare,
      .compute = predict_compute, .costly = true },
    { "SimpleMLInferenceLeafIndexOpWithHandle", DTYPES_ALL, .prepare = op_prepare,
      .compute = leaves_compute, .costly = true },
};
const struct kernel_table kernels_forest_ops = { rows, COUNT(rows) };
