/* serving: builds the exported graph and its signatures. */
#include <stdlib.h>

#include "graph/order.h"
#include "layers/build_model.h"
#include "layers/build_state.h"
#include "layers/losses/loss.h"
#include "layers/losses/retrieval.h"
#include "layers/serving/inputs.h"

/* Each class has a name in the graph. With more classes, there is no classify signature. */
#define CLASSES_MAX 1000000

/* For a model without towers. */
#define SIGNATURES_MAX 3

/* ---- classes: the scores in falling order, and their names by way of a table ---- */

struct classes {
    struct endpoint names, scores;
};

static struct endpoint names_const(struct builder *b, const char *name, int count,
                                   const struct bytes *names)
{
    const struct shape shape = shape_of(count);
    const struct tensor tensor = tensor_borrow(DT_STRING, &shape, names);

    return build_const(b, name, &tensor);
}

/* A table from index to name. */
static struct endpoint class_table(struct layer_context *context, int count,
                                   const struct bytes *names)
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
                                        names_const(b, "index_to_string/values", count, names) };
    layers_add_table(context, build_node(b, "InitializeTableV2", "index_to_string/table_init", 3,
                                         filling, 0, NULL, NULL));
    return table;
}

/* The class names of the options; otherwise "0", "1", … */
static const struct bytes *class_names(const struct layers_serving_options *options,
                                       struct arena *arena, int count)
{
    if (options != NULL && options->classes != NULL)
        return options->classes;
    struct bytes *names = ARENA_ARRAY(arena, struct bytes, count);
    for (int i = 0; i < count; i++)
        names[i] = bytes_of(arena_printf(arena, "%d", i));
    return names;
}

static struct classes build_classes(struct layer_context *context, int count,
                                    const struct bytes *names, struct endpoint y)
{
    struct builder *b = &context->builder;
    struct classes out = { 0 };
    const struct bytes unknown = bytes_of("UNK");
    const struct shape scalar = shape_scalar();
    struct tensor fallback = tensor_borrow(DT_STRING, &scalar, &unknown);

    const struct endpoint top_inputs[] = { y, build_named_int(b, "TopKV2/k", count) };
    struct endpoint top = build(b, "TopKV2", "TopKV2", 2, top_inputs, NULL);
    struct endpoint indices = { top.node, 1 };
    const struct endpoint find[] = {
        class_table(context, count, names),
        build_cast(b, "class_index", indices, DT_INT64),
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

/* The parts of the model's inputs, in the order of their keys. */
static struct signature_tensor *bound_inputs(struct layer_context *context,
                                             const struct serving_inputs *from, const char *only)
{
    struct signature_tensor *inputs =
        ARENA_ARRAY(context->arena, struct signature_tensor, from->count);

    for (int i = 0; i < from->count; i++)
        inputs[i] = bound(context->arena, input_part_key(&from->list[i], only, context->arena),
                          from->list[i].value);
    qsort(inputs, (size_t)from->count, sizeof *inputs, compare_keys);
    return inputs;
}

bool layers_takes_only_input(const struct layers_model *model,
                             const struct layers_serving_options *options)
{
    return model->inputs_count == 1 && (options == NULL || options->columns == NULL);
}

static void sign_classify(struct layer_context *context, int count, const struct bytes *class_names,
                          const struct serving_inputs *from, struct layers_serving *out)
{
    struct arena *arena = context->arena;
    struct classes classes =
        build_classes(context, count, class_names, context->build->out->heads[0].output);

    if (!status_is_ok(context->builder.status))
        return;
    struct signature_tensor names = bound(arena, "classes", classes.names);
    names.shape = shape_of(-1, count);
    const struct signature_tensor classify[] = { names, bound(arena, "scores", classes.scores) };
    const struct signature_tensor serialized = bound(arena, "inputs", from->examples);
    add_signature(out, arena, SIGNATURE_DEFAULT, SIGNATURE_CLASSIFY, 1, &serialized, 2, classify);
}

static void sign_classifier(struct layer_context *context, const struct layers_model *model,
                            const struct layers_serving_options *options,
                            const struct serving_inputs *from, struct layers_serving *out)
{
    struct arena *arena = context->arena;
    int count = (int)model->outputs[0].shape.dims[1];
    bool classifies = count <= CLASSES_MAX && from->examples.node != NULL;

    if (classifies)
        sign_classify(context, count, class_names(options, arena, count), from, out);
    if (!status_is_ok(context->builder.status))
        return;
    const struct signature_tensor scores =
        bound(arena, "scores", context->build->out->heads[0].output);
    const struct signature_tensor *inputs = bound_inputs(context, from, "images");
    if (!classifies)
        add_signature(out, arena, SIGNATURE_DEFAULT, SIGNATURE_PREDICT, from->count, inputs, 1,
                      &scores);
    add_signature(out, arena,
                  layers_takes_only_input(model, options) ? "predict_images" : "predict",
                  SIGNATURE_PREDICT, from->count, inputs, 1, &scores);
}

/* The probabilities of classes 0 and 1, from an output that is the probability of class 1 or its
 * logit. */
static struct endpoint binary_scores(struct builder *b, const struct layers_target *target,
                                     struct endpoint y)
{
    struct endpoint p = loss_from_logits(target->loss) ? build_unary(b, "Sigmoid", NULL, y) : y;
    const struct endpoint parts[] = { build_binary(b, "Sub", NULL, build_const_float(b, 1), p), p,
                                      build_const_int(b, 1) };

    return build(b, "ConcatV2", "scores", 3, parts, NULL);
}

/* The names of the two classes, for each row of the scores. */
static struct endpoint binary_names(struct layer_context *context,
                                    const struct layers_serving_options *options,
                                    struct endpoint scores)
{
    struct builder *b = &context->builder;
    const int32_t one_row[] = { 1, 2 };
    struct endpoint names =
        names_const(b, "class_names", 2, class_names(options, context->arena, 2));
    struct endpoint row =
        build_binary(b, "Reshape", NULL, names, build_const_ints(b, NULL, 2, one_row));

    return build_binary(b, "BroadcastTo", "classes", row, build_unary(b, "Shape", NULL, scores));
}

/* Adds the second signature of TensorFlow's canned binary classifiers, besides the regression:
 * the classes, "0" and "1" unless they have names, with their scores. */
static void sign_binary(struct layer_context *context, const struct layers_model *model,
                        const struct layers_serving_options *options,
                        const struct serving_inputs *from, struct layers_serving *out)
{
    struct endpoint scores =
        binary_scores(&context->builder, &model->targets[0], context->build->out->heads[0].output);
    struct endpoint names = binary_names(context, options, scores);

    if (!status_is_ok(context->builder.status))
        return;
    struct signature_tensor classes = bound(context->arena, "classes", names);
    classes.shape = shape_of(-1, 2);
    const struct signature_tensor classify[] = { classes, bound(context->arena, "scores", scores) };
    const struct signature_tensor serialized = bound(context->arena, "inputs", from->examples);
    add_signature(out, context->arena, "classification", SIGNATURE_CLASSIFY, 1, &serialized, 2,
                  classify);
}

static void sign_regression(struct layer_context *context, const struct layers_model *model,
                            const struct layers_serving_options *options,
                            const struct serving_inputs *from, struct layers_serving *out)
{
    struct arena *arena = context->arena;
    const struct shape *shape = &model->outputs[0].shape;
    bool regression = from->examples.node != NULL &&
                      (shape->rank == 1 || (shape->rank == 2 && shape->dims[1] == 1));

    if (!status_is_ok(context->builder.status))
        return;
    const struct signature_tensor serialized = bound(arena, "inputs", from->examples);
    const struct signature_tensor outputs =
        bound(arena, "outputs", context->build->out->heads[0].output);
    const struct signature_tensor y = bound(arena, "y", context->build->out->heads[0].output);
    if (regression)
        add_signature(out, arena, SIGNATURE_DEFAULT, SIGNATURE_REGRESS, 1, &serialized, 1,
                      &outputs);
    add_signature(out, arena, regression ? "predict" : SIGNATURE_DEFAULT, SIGNATURE_PREDICT,
                  from->count, bound_inputs(context, from, "x"), 1, &y);
    if (regression && model->targets[0].kind == LAYERS_BINARY)
        sign_binary(context, model, options, from, out);
}

static void sign_outputs(struct layer_context *context, const struct layers_model *model,
                         const struct serving_inputs *from, struct layers_serving *out)
{
    int count = model->outputs_count;
    struct signature_tensor *outputs = ARENA_ARRAY(context->arena, struct signature_tensor, count);

    if (!status_is_ok(context->builder.status))
        return;
    for (int i = 0; i < count; i++)
        outputs[i] =
            bound(context->arena, model->outputs[i].name, context->build->out->heads[i].output);
    qsort(outputs, (size_t)count, sizeof *outputs, compare_keys);
    add_signature(out, context->arena, SIGNATURE_DEFAULT, SIGNATURE_PREDICT, from->count,
                  bound_inputs(context, from, "x"), count, outputs);
}

/* Is the output one of the two towers of a retrieval loss? */
static bool is_tower(const struct layers_model *model, int output)
{
    for (int i = 0; i < model->outputs_count; i++)
        if (model->targets[i].loss != NULL && model->targets[i].labels == LAYERS_NO_LABELS &&
            (i == output || retrieval_candidates(model, i) == output))
            return true;
    return false;
}

/* The inputs that a value depends on, in the order of their keys. Returns their number. */
static int bound_needed(struct layer_context *context, const struct serving_inputs *from,
                        struct endpoint value, struct signature_tensor **out)
{
    struct arena *arena = context->arena;
    const struct order_request request = { .seeds = &value.node, .seeds_count = 1 };
    struct signature_tensor *inputs = ARENA_ARRAY(arena, struct signature_tensor, from->count);
    struct node **nodes;
    int nodes_count = 0, count = 0;

    struct status status =
        graph_order_some(context->builder.graph, &request, arena, &nodes, &nodes_count);
    if (!status_is_ok(status))
        context->builder.status = status_keep(arena, status);
    for (int i = 0; i < from->count; i++)
        for (int k = 0; k < nodes_count; k++)
            if (nodes[k] == from->list[i].value.node)
                inputs[count++] =
                    bound(arena, input_part_key(&from->list[i], "x", arena), from->list[i].value);
    qsort(inputs, (size_t)count, sizeof *inputs, compare_keys);
    *out = inputs;
    return count;
}

/* Adds a signature for each tower alone: clients compute the vectors of all candidates in
 * advance, and a query's vector when it arrives. */
static void sign_towers(struct layer_context *context, const struct layers_model *model,
                        const struct serving_inputs *from, struct layers_serving *out)
{
    for (int i = 0; i < model->outputs_count && status_is_ok(context->builder.status); i++) {
        const char *name = model->outputs[i].name;
        struct signature_tensor *inputs;
        if (!is_tower(model, i) || strcmp(name, SIGNATURE_DEFAULT) == 0)
            continue;
        const struct endpoint value = context->build->out->heads[i].output;
        const struct signature_tensor output = bound(context->arena, name, value);
        int count = bound_needed(context, from, value, &inputs);
        add_signature(out, context->arena, name, SIGNATURE_PREDICT, count, inputs, 1, &output);
    }
}

static struct status check_classes(const struct layers_model *model,
                                   const struct layers_serving_options *options)
{
    if (model->outputs_count > 1 || model->targets[0].kind == LAYERS_REGRESSION ||
        model->targets[0].kind == LAYERS_TAGGER)
        return status_ok();
    bool binary = model->targets[0].kind == LAYERS_BINARY;
    long long classes = binary ? 2 : model->outputs[0].shape.dims[1];
    if (options == NULL || options->classes == NULL)
        return status_ok();
    if (classes > CLASSES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "model '%s' has %lld classes; at most %d can have names", model->name,
                            classes, CLASSES_MAX);
    if (options->classes_count == classes)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "%d names for the %lld classes of model '%s'",
                        options->classes_count, classes, model->name);
}

/* A single output is called y; several have their own names. Outputs of 16 bits become floats,
 * which are what JSON, classify and regress can answer. */
static void name_outputs(struct layer_context *context, const struct layers_model *model)
{
    for (int i = 0; i < model->outputs_count; i++) {
        struct endpoint *output = &context->build->out->heads[i].output;
        const char *name = model->outputs_count == 1
                               ? "y"
                               : arena_printf(context->arena, "y/%s", model->outputs[i].name);
        bool is_half =
            status_is_ok(context->builder.status) && dtype_is_half(endpoint_dtype(*output));
        *output = is_half ? build_cast(&context->builder, name, *output, DT_FLOAT)
                          : build_unary(&context->builder, "Identity", name, *output);
    }
}

static void build_serving_graph(struct layer_context *context, const struct layers_model *model,
                                const struct layers_serving_options *options,
                                struct layers_serving *out)
{
    struct serving_inputs from;

    /* Several outputs are neither a classification nor a regression, so there are no Examples to
     * parse. */
    build_serving_inputs(context, model, options, model->outputs_count == 1, &from);
    build_layers(context, model);
    name_outputs(context, model);
    if (model->outputs_count > 1) {
        sign_outputs(context, model, &from, out);
        sign_towers(context, model, &from, out);
    } else if (model->targets[0].kind == LAYERS_CLASSIFIER) {
        sign_classifier(context, model, options, &from, out);
    } else {
        sign_regression(context, model, options, &from, out);
    }
    struct node *init = layers_build_init(context);
    out->init_op = init != NULL ? init->name : NULL;
}

struct status layers_build_serving(const struct layers_model *model,
                                   const struct layers_serving_options *options,
                                   struct arena *arena, struct layers_serving *out)
{
    TRY(check_classes(model, options));
    TRY(layers_check_requests(model, options, arena));
    struct layers_graph built;
    struct layer_context context = layer_context_init(model, LAYERS_SERVE, arena, &built);

    *out =
        (struct layers_serving){ .graph = built.graph,
                                 .signatures = ARENA_ARRAY(arena, struct signature,
                                                           SIGNATURES_MAX + model->outputs_count) };
    build_serving_graph(&context, model, options, out);
    out->variables = built.variables;
    out->variables_count = built.variables_count;
    if (!status_is_ok(context.builder.status)) {
        graph_finish(built.graph);
        *out = (struct layers_serving){ 0 };
    }
    return context.builder.status;
}
