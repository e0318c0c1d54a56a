/* serving: builds the exported graph and its signatures. */
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

/* From serialized tf.Examples to the feature x, in the shape of the model's input. */
static struct endpoint parse_examples(struct layer_context *context,
                                      const struct layers_model *model, struct endpoint examples)
{
    struct builder *b = &context->builder;
    const char *const key = "x";
    const struct shape none = shape_of(0);
    struct shape row = model->input_shape;

    row.rank--;
    memmove(row.dims, row.dims + 1, (size_t)row.rank * sizeof row.dims[0]);
    struct tensor no_default = tensor_borrow(DT_FLOAT, &none, NULL);
    b->scope = "ParseExample/";
    const struct endpoint inputs[] = {
        examples,
        string_const(context, "names", 0, NULL),
        string_const(context, "sparse_keys", 0, NULL),
        string_const(context, "dense_keys", 1, &key),
        string_const(context, "ragged_keys", 0, NULL),
        build_const(b, "x", &no_default),
    };
    const struct attr attrs[] = {
        attr_int("num_sparse", 0),
        attr_types(b, "Tdense", 1, (const enum dtype[]){ DT_FLOAT }),
        attr_types(b, "sparse_types", 0, NULL),
        attr_types(b, "ragged_value_types", 0, NULL),
        attr_types(b, "ragged_split_types", 0, NULL),
        attr_shapes(b, "dense_shapes", 1, &row),
        ATTR_END,
    };
    struct endpoint x = build(b, "ParseExampleV2", "ParseExampleV2", COUNT(inputs), inputs, attrs);
    b->scope = "";
    return x;
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

/* One input, one or two outputs (by key in order). */
static void add_signature(struct layers_serving *out, struct arena *arena, const char *name,
                          const char *method, struct signature_tensor input, int outputs_count,
                          const struct signature_tensor *outputs)
{
    struct signature *signature = &out->signatures[out->signatures_count++];

    *signature = (struct signature){ .name = name, .method = method };
    signature->inputs = ARENA_NEW(arena, struct signature_tensor);
    signature->inputs[0] = input;
    signature->inputs_count = 1;
    signature->outputs = ARENA_ARRAY(arena, struct signature_tensor, outputs_count);
    memcpy(signature->outputs, outputs, (size_t)outputs_count * sizeof *outputs);
    signature->outputs_count = outputs_count;
}

static void sign_classifier(struct layer_context *context, const struct layers_model *model,
                            const struct layers_serving_options *options, struct endpoint examples,
                            struct layers_serving *out)
{
    struct arena *arena = context->arena;
    const struct layers_graph *built = context->out;
    int count = (int)model->output_shape.dims[1];
    struct classes classes =
        build_classes(context, count, options != NULL ? options->classes : NULL, built->output);

    if (!status_is_ok(context->builder.status))
        return;
    out->init_op = classes.init_op;
    struct signature_tensor names = bound(arena, "classes", classes.names);
    names.shape = shape_of(-1, count);
    const struct signature_tensor classify[] = { names, bound(arena, "scores", classes.scores) };
    const struct signature_tensor predict = bound(arena, "scores", built->output);
    add_signature(out, arena, SIGNATURE_DEFAULT, SIGNATURE_CLASSIFY,
                  bound(arena, "inputs", examples), 2, classify);
    add_signature(out, arena, "predict_images", SIGNATURE_PREDICT,
                  bound(arena, "images", built->input), 1, &predict);
}

static void sign_regression(struct layer_context *context, const struct layers_model *model,
                            struct endpoint examples, struct layers_serving *out)
{
    struct arena *arena = context->arena;
    const struct layers_graph *built = context->out;
    const struct shape *shape = &model->output_shape;
    bool regression = shape->rank == 1 || (shape->rank == 2 && shape->dims[1] == 1);

    if (!status_is_ok(context->builder.status))
        return;
    const struct signature_tensor outputs = bound(arena, "outputs", built->output);
    const struct signature_tensor y = bound(arena, "y", built->output);
    if (regression)
        add_signature(out, arena, SIGNATURE_DEFAULT, SIGNATURE_REGRESS,
                      bound(arena, "inputs", examples), 1, &outputs);
    add_signature(out, arena, regression ? "predict" : SIGNATURE_DEFAULT, SIGNATURE_PREDICT,
                  bound(arena, "x", built->input), 1, &y);
}

static struct status check_classes(const struct layers_model *model,
                                   const struct layers_serving_options *options)
{
    if (model->loss == LAYERS_CROSS_ENTROPY && model->output_shape.dims[1] > CLASSES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "model '%s' has %lld classes; at most %d",
                            model->name, (long long)model->output_shape.dims[1], CLASSES_MAX);
    if (options == NULL || options->classes == NULL || model->loss != LAYERS_CROSS_ENTROPY ||
        options->classes_count == model->output_shape.dims[1])
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "%d names for the %lld classes of model '%s'",
                        options->classes_count, (long long)model->output_shape.dims[1],
                        model->name);
}

struct status layers_build_serving(const struct layers_model *model,
                                   const struct layers_serving_options *options,
                                   struct arena *arena, struct layers_serving *out)
{
    TRY(check_classes(model, options));
    struct layers_graph built;
    struct layer_context context = layer_context_init(model, LAYERS_SERVE, arena, &built);
    struct builder *b = &context.builder;

    struct endpoint examples = build_placeholder(b, "tf_example", DT_STRING, shape_of(-1));
    built.input = build_unary(b, "Identity", "x", parse_examples(&context, model, examples));
    built.output = build_unary(b, "Identity", "y", build_layers(&context, model, built.input));
    *out = (struct layers_serving){ .graph = built.graph,
                                    .signatures = ARENA_ARRAY(arena, struct signature, 2) };
    if (model->loss == LAYERS_CROSS_ENTROPY)
        sign_classifier(&context, model, options, examples, out);
    else
        sign_regression(&context, model, examples, out);
    out->variables = built.variables;
    out->variables_count = built.variables_count;
    if (!status_is_ok(b->status)) {
        graph_finish(built.graph);
        *out = (struct layers_serving){ 0 };
    }
    return b->status;
}
