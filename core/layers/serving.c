/* serving: builds the exported graph and its signatures. */
#include <stdlib.h>

#include "layers/build_model.h"

/* A string tensor of rank 1; with count 1 and `scalar`, a scalar. */
static struct endpoint string_const(struct layer_context *context, const char *name, int count,
                                    const char *const *texts)
{
    struct bytes *elements = ARENA_ARRAY(context->arena, struct bytes, count > 0 ? count : 1);
    const struct shape shape = shape_of(count);

    for (int i = 0; i < count; i++)
        elements[i] = bytes_of(texts[i]);
    struct tensor value = tensor_borrow(DT_STRING, &shape, elements);
    return build_const(&context->builder, name, &value);
}

/* A row of the input, without the batch. */
static struct shape row_shape(const struct layers_port *port)
{
    struct shape row = port->shape;

    row.rank--;
    memmove(row.dims, row.dims + 1, (size_t)row.rank * sizeof row.dims[0]);
    return row;
}

/* The names by which signatures and examples call the inputs: `only` if there is one. */
static const char *const *input_keys(struct arena *arena, const struct layers_model *model,
                                     const char *only)
{
    const char **keys = ARENA_ARRAY(arena, const char *, model->inputs_count);

    for (int i = 0; i < model->inputs_count; i++)
        keys[i] = model->inputs_count == 1 ? only : model->inputs[i].name;
    return keys;
}

/* ParseExampleV2 gives features in the order of its dense_keys, so ours need no sorting. */
static struct node *parse_features(struct layer_context *context, const struct layers_model *model,
                                   struct endpoint examples)
{
    struct builder *b = &context->builder;
    const char *const *keys = input_keys(context->arena, model, "x");
    int count = model->inputs_count;
    const struct shape none = shape_of(0);
    struct tensor no_default = tensor_borrow(DT_FLOAT, &none, NULL);
    struct endpoint *inputs = ARENA_ARRAY(context->arena, struct endpoint, 5 + count);
    struct shape *rows = ARENA_ARRAY(context->arena, struct shape, count);
    enum dtype *types = ARENA_ARRAY(context->arena, enum dtype, count);

    inputs[0] = examples;
    inputs[1] = string_const(context, "names", 0, NULL);
    inputs[2] = string_const(context, "sparse_keys", 0, NULL);
    inputs[3] = string_const(context, "dense_keys", count, keys);
    inputs[4] = string_const(context, "ragged_keys", 0, NULL);
    for (int i = 0; i < count; i++) {
        inputs[5 + i] = build_const(b, keys[i], &no_default);
        rows[i] = row_shape(&model->inputs[i]);
        types[i] = DT_FLOAT;
    }
    const struct attr attrs[] = {
        attr_int("num_sparse", 0),
        attr_types(b, "Tdense", count, types),
        attr_types(b, "sparse_types", 0, NULL),
        attr_types(b, "ragged_value_types", 0, NULL),
        attr_types(b, "ragged_split_types", 0, NULL),
        attr_shapes(b, "dense_shapes", count, rows),
        ATTR_END,
    };
    return build_node(b, "ParseExampleV2", "ParseExampleV2", 5 + count, inputs, 0, NULL, attrs);
}

/* The model's inputs from serialized tf.Examples. A request may also give them directly. */
static void parse_examples(struct layer_context *context, const struct layers_model *model,
                           struct endpoint examples)
{
    struct builder *b = &context->builder;
    const char *const *names = input_keys(context->arena, model, "x");

    b->scope = "ParseExample/";
    struct node *features = parse_features(context, model, examples);
    b->scope = "";
    for (int i = 0; i < model->inputs_count; i++)
        context->out->inputs[i] =
            build_unary(b, "Identity", names[i], (struct endpoint){ features, i });
}

/* A limit: each class has a name in the graph. */
#define CLASSES_MAX 1000000

/* ---- classes: the scores in falling order, and their names by way of a table ---- */

struct classes {
    struct endpoint names, scores;
    const char *init_op;
};

/* A table from index to name; the node that init_op names fills it. */
static struct endpoint class_table(struct layer_context *context, int count,
                                   const char *const *names, const char **init_op)
{
    struct builder *b = &context->builder;
    int64_t *indices = ARENA_ARRAY(context->arena, int64_t, count);
    const struct shape shape = shape_of(count);
    const struct attr attrs[] = { attr_type("key_dtype", DT_INT64),
                                  attr_type("value_dtype", DT_STRING),
                                  attr_text("shared_name", "index_to_string"), ATTR_END };

    for (int i = 0; i < count; i++)
        indices[i] = i;
    struct tensor keys = tensor_borrow(DT_INT64, &shape, indices);
    struct endpoint table = build(b, "HashTableV2", "index_to_string", 0, NULL, attrs);
    const struct endpoint filling[] = { table, build_const(b, "index_to_string/keys", &keys),
                                        string_const(context, "index_to_string/values", count,
                                                     names) };
    struct node *fill =
        build_node(b, "InitializeTableV2", "index_to_string/table_init", 3, filling, 0, NULL, NULL);
    struct node *init = build_node(b, "NoOp", "init_all_tables", 0, NULL, 1, &fill, NULL);
    *init_op = init != NULL ? init->name : NULL;
    return table;
}

static const char *const *numbered(struct arena *arena, int count)
{
    const char **names = ARENA_ARRAY(arena, const char *, count);

    for (int i = 0; i < count; i++)
        names[i] = arena_printf(arena, "%d", i);
    return names;
}

static struct classes build_classes(struct layer_context *context, int count,
                                    const char *const *names, struct endpoint y)
{
    struct builder *b = &context->builder;
    struct classes out = { 0 };
    const struct bytes unknown = bytes_of("UNK");
    const struct shape scalar = shape_scalar();
    struct tensor fallback = tensor_borrow(DT_STRING, &scalar, &unknown);

    const struct endpoint top_inputs[] = { y, build_const_int(b, "TopKV2/k", count) };
    struct endpoint top = build(b, "TopKV2", "TopKV2", 2, top_inputs, NULL);
    struct endpoint indices = { top.node, 1 };
    if (names == NULL)
        names = numbered(context->arena, count);
    const struct endpoint find[] = {
        class_table(context, count, names, &out.init_op),
        build(b, "Cast", "class_index", 1, &indices,
              (const struct attr[]){ attr_type("DstT", DT_INT64), ATTR_END }),
        build_const(b, "index_to_string/default", &fallback),
    };
    out.names = build(b, "LookupTableFindV2", "index_to_string_Lookup", 3, find, NULL);
    out.scores = top;
    return out;
}

/* ---- signatures ---- */

static struct signature_tensor bound(struct arena *arena, const char *key, struct endpoint endpoint)
{
    return (struct signature_tensor){
        .key = key,
        .tensor_name = arena_strdup(arena, endpoint_text(endpoint)),
        .dtype = endpoint_dtype(endpoint),
        .has_shape = true,
        .shape = *endpoint_shape(endpoint),
    };
}

/* Outputs are in the order of their keys. */
static void add_signature(struct layers_serving *out, struct arena *arena, const char *name,
                          const char *method, int inputs_count,
                          const struct signature_tensor *inputs, int outputs_count,
                          const struct signature_tensor *outputs)
{
    struct signature *signature = &out->signatures[out->signatures_count++];

    *signature = (struct signature){ .name = name, .method = method };
    signature->inputs = ARENA_ARRAY(arena, struct signature_tensor, inputs_count);
    memcpy(signature->inputs, inputs, (size_t)inputs_count * sizeof *inputs);
    signature->inputs_count = inputs_count;
    signature->outputs = ARENA_ARRAY(arena, struct signature_tensor, outputs_count);
    memcpy(signature->outputs, outputs, (size_t)outputs_count * sizeof *outputs);
    signature->outputs_count = outputs_count;
}

static int compare_keys(const void *a, const void *b)
{
    const struct signature_tensor *x = a, *y = b;

    return strcmp(x->key, y->key);
}

/* The model's inputs, by `only` if there is one, or else by their names, in order. */
static struct signature_tensor *bound_inputs(struct layer_context *context,
                                             const struct layers_model *model, const char *only)
{
    const char *const *keys = input_keys(context->arena, model, only);
    struct signature_tensor *inputs =
        ARENA_ARRAY(context->arena, struct signature_tensor, model->inputs_count);

    for (int i = 0; i < model->inputs_count; i++)
        inputs[i] = bound(context->arena, keys[i], context->out->inputs[i]);
    qsort(inputs, (size_t)model->inputs_count, sizeof *inputs, compare_keys);
    return inputs;
}

static void sign_classifier(struct layer_context *context, const struct layers_model *model,
                            const struct layers_serving_options *options, struct endpoint examples,
                            struct layers_serving *out)
{
    struct arena *arena = context->arena;
    struct endpoint y = context->out->heads[0].output;
    int count = (int)model->outputs[0].shape.dims[1];
    struct classes classes =
        build_classes(context, count, options != NULL ? options->classes : NULL, y);

    if (!status_is_ok(context->builder.status))
        return;
    out->init_op = classes.init_op;
    struct signature_tensor names = bound(arena, "classes", classes.names);
    names.shape = shape_of(-1, count);
    const struct signature_tensor classify[] = { names, bound(arena, "scores", classes.scores) };
    const struct signature_tensor predict = bound(arena, "scores", y);
    const struct signature_tensor serialized = bound(arena, "inputs", examples);
    add_signature(out, arena, SIGNATURE_DEFAULT, SIGNATURE_CLASSIFY, 1, &serialized, 2, classify);
    add_signature(out, arena, model->inputs_count == 1 ? "predict_images" : "predict",
                  SIGNATURE_PREDICT, model->inputs_count, bound_inputs(context, model, "images"), 1,
                  &predict);
}

static void sign_regression(struct layer_context *context, const struct layers_model *model,
                            struct endpoint examples, struct layers_serving *out)
{
    struct arena *arena = context->arena;
    const struct shape *shape = &model->outputs[0].shape;
    bool regression = shape->rank == 1 || (shape->rank == 2 && shape->dims[1] == 1);

    if (!status_is_ok(context->builder.status))
        return;
    const struct signature_tensor serialized = bound(arena, "inputs", examples);
    const struct signature_tensor outputs = bound(arena, "outputs", context->out->heads[0].output);
    const struct signature_tensor y = bound(arena, "y", context->out->heads[0].output);
    if (regression)
        add_signature(out, arena, SIGNATURE_DEFAULT, SIGNATURE_REGRESS, 1, &serialized, 1,
                      &outputs);
    add_signature(out, arena, regression ? "predict" : SIGNATURE_DEFAULT, SIGNATURE_PREDICT,
                  model->inputs_count, bound_inputs(context, model, "x"), 1, &y);
}

static void sign_outputs(struct layer_context *context, const struct layers_model *model,
                         struct layers_serving *out)
{
    int count = model->outputs_count;
    struct signature_tensor *outputs = ARENA_ARRAY(context->arena, struct signature_tensor, count);

    if (!status_is_ok(context->builder.status))
        return;
    for (int i = 0; i < count; i++)
        outputs[i] = bound(context->arena, model->outputs[i].name, context->out->heads[i].output);
    qsort(outputs, (size_t)count, sizeof *outputs, compare_keys);
    add_signature(out, context->arena, SIGNATURE_DEFAULT, SIGNATURE_PREDICT, model->inputs_count,
                  bound_inputs(context, model, "x"), count, outputs);
}

static struct status check_classes(const struct layers_model *model,
                                   const struct layers_serving_options *options)
{
    if (model->kind != LAYERS_CLASSIFIER)
        return status_ok();
    long long classes = model->outputs[0].shape.dims[1];
    if (classes > CLASSES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "model '%s' has %lld classes; at most %d",
                            model->name, classes, CLASSES_MAX);
    if (options == NULL || options->classes == NULL || options->classes_count == classes)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "%d names for the %lld classes of model '%s'",
                        options->classes_count, classes, model->name);
}

/* The output is y; of several, each has its name. */
static void name_outputs(struct layer_context *context, const struct layers_model *model)
{
    for (int i = 0; i < model->outputs_count; i++) {
        struct endpoint *output = &context->out->heads[i].output;
        const char *name = model->outputs_count == 1
                               ? "y"
                               : arena_printf(context->arena, "y/%s", model->outputs[i].name);
        *output = build_unary(&context->builder, "Identity", name, *output);
    }
}

/* Several outputs are neither a classification nor a regression: there is nothing to parse. */
static void build_serving_graph(struct layer_context *context, const struct layers_model *model,
                                const struct layers_serving_options *options,
                                struct layers_serving *out)
{
    struct endpoint examples = { 0 };

    if (model->outputs_count == 1) {
        examples = build_placeholder(&context->builder, "tf_example", DT_STRING, shape_of(-1));
        parse_examples(context, model, examples);
    } else {
        build_inputs(context, model, 0);
    }
    build_layers(context, model);
    name_outputs(context, model);
    if (model->outputs_count > 1)
        sign_outputs(context, model, out);
    else if (model->kind == LAYERS_CLASSIFIER)
        sign_classifier(context, model, options, examples, out);
    else
        sign_regression(context, model, examples, out);
}

struct status layers_build_serving(const struct layers_model *model,
                                   const struct layers_serving_options *options,
                                   struct arena *arena, struct layers_serving *out)
{
    TRY(check_classes(model, options));
    struct layers_graph built;
    struct layer_context context = layer_context_init(model, LAYERS_SERVE, arena, &built);

    *out = (struct layers_serving){ .graph = built.graph,
                                    .signatures = ARENA_ARRAY(arena, struct signature, 2) };
    build_serving_graph(&context, model, options, out);
    out->variables = built.variables;
    out->variables_count = built.variables_count;
    if (!status_is_ok(context.builder.status)) {
        graph_finish(built.graph);
        *out = (struct layers_serving){ 0 };
    }
    return context.builder.status;
}
