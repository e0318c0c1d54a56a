/* embedding: Embedding, a table lookup by ids, and ReversibleEmbedding. Source:
 * keras/src/layers/core/embedding.py, reversible_embedding.py */
#include "layers/classes/embedding.h"

#include "layers/classes/classes.h"
#include "layers/classes/lora.h"

/* `input_length`, from Keras 2, repeats the input's shape; `sparse` is for TPUs. */
#define EMBEDDING_ARGS                                                                           \
    { "input_dim", ARG_INT, REQUIRED }, { "output_dim", ARG_INT, REQUIRED },                     \
        { "embeddings_initializer", ARG_INITIALIZER, "\"RandomUniform\"" },                      \
        { "embeddings_regularizer", ARG_REGULARIZER, "null" },                                   \
        { "activity_regularizer", ARG_REGULARIZER, "null" },                                     \
        { "embeddings_constraint", ARG_CONSTRAINT, "null" }, { "mask_zero", ARG_BOOL, "false" }, \
        { "weights", ARG_NONE, "null" }, { "input_length", ARG_VALUE, "null" },                  \
        { "sparse", ARG_NONE, "false" },                                                         \
    {                                                                                            \
        "quantization_config", ARG_NONE, "null"                                                  \
    }

static const struct layer_arg embedding_args[] = { EMBEDDING_ARGS, LORA_ARGS };

/* Truncates ids of other types to integers. In Keras 3, a negative id counts from the end. */
static struct endpoint whole_ids(struct layer_context *context, struct endpoint x, int64_t rows)
{
    struct builder *b = &context->builder;
    const struct shape scalar = shape_scalar();
    const int64_t zero = 0;
    const struct tensor none = tensor_borrow(DT_INT64, &scalar, &zero),
                        count = tensor_borrow(DT_INT64, &scalar, &rows);

    struct endpoint ids = x;
    if (endpoint_dtype(x) != DT_INT64)
        ids = build_cast(b, "ids", x, DT_INT64);
    if (context->keras2)
        return ids;
    struct endpoint below = build_binary(b, "Less", NULL, ids, build_const(b, NULL, &none));
    struct endpoint from_end = build_binary(b, "AddV2", NULL, ids, build_const(b, NULL, &count));
    return build_select(b, below, from_end, ids);
}

/* Adds the change of the rows by LoRA, of which each step reads both factors whole. */
static struct endpoint change_rows(struct layer_context *context, const struct layer *layer,
                                   const struct shape *table, struct endpoint ids,
                                   struct endpoint rows)
{
    struct builder *b = &context->builder;
    struct endpoint factors[2];

    if (!layer_has_lora(layer) ||
        !lora_factors(context, layer, "embeddings", *table, &factors[0], &factors[1]))
        return rows;
    struct endpoint change = layer_gather(context, (struct layer_table){ factors[0], ids });
    change = build_dense_product(context, change, factors[1], table->dims[1]);
    return build_binary(b, "AddV2", NULL, rows,
                        build_by_number(b, "Mul", change, lora_scale(layer)));
}

static struct endpoint embedding_build(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x)
{
    const struct shape table =
        shape_of(layer_arg(layer, "input_dim")->integer, layer_arg(layer, "output_dim")->integer);
    struct endpoint ids = whole_ids(context, x, table.dims[0]);

    return change_rows(context, layer, &table, ids,
                       layer_rows(context, layer, "embeddings", table, ids));
}

struct endpoint embedding_mask(struct layer_context *context, const struct layer *layer,
                               const struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct endpoint x = io->inputs[0].value;

    if (!layer_arg(layer, "mask_zero")->boolean || !status_is_ok(b->status))
        return (struct endpoint){ 0 };
    const struct endpoint none = build_const_float(b, 0);
    const struct endpoint zero = build_cast(b, NULL, none, endpoint_dtype(x));
    return build_binary(b, "NotEqual", "mask", x, zero);
}

const struct layer_class layer_embedding = {
    .name = "Embedding",
    .args = embedding_args,
    .args_count = (int)COUNT(embedding_args),
    .build = embedding_build,
    .mask = embedding_mask,
    .precision = LAYER_ROUNDS_OUTPUTS,
    .inputs = LAYER_TAKES_NUMBERS,
};

/* ---- ReversibleEmbedding: the table of the ids also gives the scores of all ids ---- */

static const struct layer_arg reversible_args[] = {
    EMBEDDING_ARGS,
    { "lora_rank", ARG_NONE, "null" },
    { "lora_alpha", ARG_NONE, "null" },
    { "tie_weights", ARG_BOOL, "true" },
    { "reverse_dtype", ARG_NONE, "null" },
    { "logit_soft_cap", ARG_NULL_OR_NUMBER, "null" },
};

static const char *const reversible_call_args[] = { "inputs", "reverse", NULL };

/* The scores of vectors x, soft-capped at ±logit_soft_cap. `kernel` is [width, rows]. */
static struct endpoint scores(struct layer_context *context, const struct layer *layer,
                              struct endpoint x, struct endpoint kernel, int64_t rows)
{
    struct builder *b = &context->builder;
    const struct arg_value *cap = layer_arg(layer, "logit_soft_cap");
    struct endpoint y = build_dense_product(context, x, kernel, rows);

    if (cap->is_null)
        return y;
    const struct endpoint limit = build_const_float(b, (float)cap->number);
    y = build_unary(b, "Tanh", NULL, build_binary(b, "RealDiv", NULL, y, limit));
    return build_binary(b, "Mul", NULL, y, limit);
}

/* Each step reads the whole table, because the scores are over all ids. */
static void reversible_call(struct layer_context *context, const struct layer *layer,
                            struct layer_io *io)
{
    static const int32_t swapped[] = { 1, 0 };
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int64_t rows = layer_arg(layer, "input_dim")->integer,
            width = layer_arg(layer, "output_dim")->integer;
    struct endpoint table = layer_variable(context, layer, "embeddings", shape_of(rows, width));
    bool tied = layer_arg(layer, "tie_weights")->boolean;
    const struct initializer *initializer =
        &layer_arg(layer, "embeddings_initializer")->initializer;
    struct endpoint kernel =
        tied ? build_binary(b, "Transpose", NULL, table, build_const_ints(b, NULL, 2, swapped))
             : layer_variable_with(context, layer, "reverse_embeddings", shape_of(width, rows),
                                   initializer, NULL, layer->trainable);

    io->outputs_count = 1;
    if (io_flag(context, io, "reverse")) {
        const struct shape *shape = endpoint_shape(x);
        bool fits = shape->rank >= 2 && shape->dims[shape->rank - 1] == width;
        if (!fits)
            layer_fail(context, layer, "the input has shape %s, and its vectors %lld numbers",
                       shape_text(shape), (long long)width);
        io->outputs[0] =
            (struct layer_value){ .value = fits ? scores(context, layer, x, kernel, rows) : x };
        return;
    }
    io->outputs[0] = (struct layer_value){
        .value = layer_gather(context, (struct layer_table){ table, whole_ids(context, x, rows) }),
        .mask = embedding_mask(context, layer, io)
    };
}

const struct layer_class layer_reversible_embedding = {
    .name = "ReversibleEmbedding",
    .args = reversible_args,
    .args_count = (int)COUNT(reversible_args),
    .call = reversible_call,
    .call_args = reversible_call_args,
    .precision = LAYER_REFUSES_16_BITS,
    .inputs = LAYER_TAKES_NUMBERS,
};
