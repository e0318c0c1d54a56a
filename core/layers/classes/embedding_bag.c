/* embedding_bag: EmbeddingBag, which combines the rows of a table that are looked up by a row's
 * ids. Keras has no such layer; this one computes tf.nn.embedding_lookup_sparse. */
#include "layers/classes/classes.h"
#include "layers/classes/embedding.h"

static const struct layer_arg bag_args[] = {
    { "input_dim", ARG_INT, REQUIRED },
    { "output_dim", ARG_INT, REQUIRED },
    { "combiner", ARG_CHOICE, "mean sum sqrtn" },
    { "embeddings_initializer", ARG_INITIALIZER, "\"RandomUniform\"" },
    { "embeddings_regularizer", ARG_REGULARIZER, "null" },
    { "embeddings_constraint", ARG_CONSTRAINT, "null" },
    { "activity_regularizer", ARG_REGULARIZER, "null" },
};

const char *const bag_call_args[] = { "inputs", "weights", NULL };

/* The divisor of a row's sum: Σw or √Σw². */
static struct endpoint divisor(struct layer_context *context, const struct layer_lists *lists,
                               struct endpoint weights, bool is_mean)
{
    struct builder *b = &context->builder;

    if (is_mean)
        return lists_sum(b, lists, weights);
    struct endpoint squares = lists_sum(b, lists, build_unary(b, "Square", NULL, weights));
    return build_unary(b, "Sqrt", NULL, squares);
}

/* 1 for each value. */
static struct endpoint equal_weights(struct layer_context *context, struct endpoint values)
{
    struct builder *b = &context->builder;

    return build_binary(b, "Fill", NULL, build_unary(b, "Shape", NULL, values),
                        build_const_float(b, 1));
}

bool bag_read(struct layer_context *context, const struct layer *layer, const struct layer_io *io,
              struct bag *out)
{
    const struct layer_value *input = &io->inputs[0];
    struct layer_value weights = io_tensor(io, "weights");
    bool sparse = input->lists != NULL && input->lists->layout == TENSOR_SPARSE;

    if (input->lists == NULL || (sparse ? endpoint_dtype(input->value) != DT_FLOAT
                                        : endpoint_dtype(input->value) != DT_INT64))
        layer_fail(context, layer, "it takes a sparse input of float32 or a ragged one of int64");
    else if (weights.value.node != NULL &&
             (weights.lists == NULL || weights.lists->layout != TENSOR_RAGGED || sparse ||
              endpoint_dtype(weights.value) != DT_FLOAT))
        layer_fail(context, layer,
                   "argument 'weights' is for a ragged input and is ragged, of float32");
    if (!status_is_ok(context->builder.status))
        return false;
    *out = (struct bag){ .lists = input->lists,
                         .ids = sparse ? input->lists->ids : input->value,
                         .weights = sparse ? input->value : weights.value };
    if (out->weights.node == NULL)
        out->weights = equal_weights(context, input->value);
    return true;
}

struct endpoint bag_combine(struct layer_context *context, const struct bag *bag,
                            struct layer_table table, const char *combiner)
{
    struct builder *b = &context->builder;
    struct endpoint y = lists_product(b, bag->lists, table.places, bag->weights, table.values);

    if (strcmp(combiner, "sum") == 0)
        return y;
    return build_binary(b, "DivNoNan", NULL, y,
                        divisor(context, bag->lists, bag->weights, strcmp(combiner, "mean") == 0));
}

static void bag_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    const struct shape shape =
        shape_of(layer_arg(layer, "input_dim")->integer, layer_arg(layer, "output_dim")->integer);
    struct bag bag;

    io->outputs_count = 1;
    if (!bag_read(context, layer, io, &bag))
        return;
    struct layer_table table = layer_table(context, layer, "embeddings", shape, bag.ids);
    io->outputs[0].value = bag_combine(context, &bag, table, layer_arg(layer, "combiner")->text);
}

const struct layer_class layer_embedding_bag = {
    .name = "EmbeddingBag",
    .args = bag_args,
    .args_count = (int)COUNT(bag_args),
    .call = bag_call,
    .call_args = bag_call_args,
    .takes_lists = true,
    .precision = LAYER_REFUSES_16_BITS,
};
