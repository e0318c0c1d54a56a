/* dynamic_embedding: DynamicEmbedding, a hash table whose rows are looked up by arbitrary ids.
 * Keras has no such layer; TensorFlow Recommenders Addons calls it dynamic_embedding. */
#include <inttypes.h>

#include "layers/classes/classes.h"
#include "layers/classes/embedding.h"
#include "layers/classes/preprocessing.h"

static const struct layer_arg dynamic_args[] = {
    { "output_dim", ARG_INT, REQUIRED },
    { "combiner", ARG_NULL_OR_VALUE, "null" },
    { "embeddings_initializer", ARG_INITIALIZER, "\"RandomUniform\"" },
    { "embeddings_regularizer", ARG_NONE, "null" },
    { "embeddings_constraint", ARG_NONE, "null" },
    { "activity_regularizer", ARG_REGULARIZER, "null" },
    { "mask_zero", ARG_BOOL, "false" },
    { "min_count", ARG_INT, "1" },
    { "probability", ARG_NUMBER, "1" },
    { "ttl_steps", ARG_NULL_OR_INT, "null" },
    { "bytes_max", ARG_NULL_OR_INT, "null" },
};

/* Reads an optional limit; 0: null. */
static uint64_t limit_of(struct layer_context *context, const struct layer *layer, const char *name)
{
    const struct arg_value *value = layer_arg(layer, name);

    if (value->is_null)
        return 0;
    if (value->integer < 1)
        layer_fail(context, layer, "argument '%s' is %" PRId64 ", expected null or at least 1",
                   name, value->integer);
    return (uint64_t)value->integer;
}

#define MIN_COUNT_MAX (1 << 30) /* KEY_COUNT_MAX of trainer/protocol/row_keys.h */

static struct row_keys_spec read_rules(struct layer_context *context, const struct layer *layer)
{
    int64_t min_count = layer_arg(layer, "min_count")->integer;
    double probability = layer_arg(layer, "probability")->number;

    if (min_count > MIN_COUNT_MAX)
        layer_fail(context, layer, "argument 'min_count' is %" PRId64 ", expected 1 to %d",
                   min_count, MIN_COUNT_MAX);
    if (!(probability > 0 && probability <= 1))
        layer_fail(context, layer, "argument 'probability' is %g, expected above 0 and at most 1",
                   probability);
    return (struct row_keys_spec){ .min_count = (uint32_t)min_count,
                                   .probability = probability,
                                   .ttl_steps = limit_of(context, layer, "ttl_steps"),
                                   .bytes_max = limit_of(context, layer, "bytes_max") };
}

/* Turns texts into keys: all but one bit of their FarmHash, as TensorFlow can compute it. Among
 * a million texts, the chance that two share a key is 1 in 18 million. */
static struct endpoint keys_of(struct layer_context *context, struct endpoint ids)
{
    if (!status_is_ok(context->builder.status))
        return ids;
    return endpoint_dtype(ids) == DT_STRING ? hash_texts(context, ids, INT64_MAX, NULL)
                                            : cast_to(context, ids, DT_INT64);
}

static struct layer_table find_rows(struct layer_context *context, const struct layer *layer,
                                    struct endpoint ids)
{
    const struct row_keys_spec rules = read_rules(context, layer);

    return layer_key_table(context, layer, "embeddings", layer_arg(layer, "output_dim")->integer,
                           &rules, keys_of(context, ids));
}

/* Returns NULL for no combiner, and on failure. */
static const char *read_combiner(struct layer_context *context, const struct layer *layer)
{
    static const char *const known[] = { "mean", "sum", "sqrtn" };
    const struct arg_value *given = layer_arg(layer, "combiner");

    if (given->is_null)
        return NULL;
    int found = given->value->kind == JSON_VALUE_TEXT
                    ? BYTES_FIND(bytes_of(given->value->text), known)
                    : -1;
    if (found >= 0)
        return known[found];
    layer_fail(context, layer, "argument 'combiner' is %s, expected null, mean, sum or sqrtn",
               json_value_show(given->value, context->arena));
    return NULL;
}

static void combine_lists(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io, const char *combiner)
{
    struct bag bag;

    if (!bag_read(context, layer, io, &bag))
        return;
    if (layer_arg(layer, "mask_zero")->boolean)
        layer_fail(context, layer, "'mask_zero' is for ids without a combiner");
    io->outputs[0].value = bag_combine(context, &bag, find_rows(context, layer, bag.ids), combiner);
}

static void look_up_each(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    const struct layer_value *input = &io->inputs[0];

    if (input->lists != NULL)
        layer_fail(context, layer,
                   "a sparse or ragged input needs a 'combiner': mean, sum or sqrtn");
    else if (io_tensor(io, "weights").value.node != NULL)
        layer_fail(context, layer, "argument 'weights' needs a 'combiner'");
    else if (layer_arg(layer, "mask_zero")->boolean && endpoint_dtype(input->value) == DT_STRING)
        layer_fail(context, layer, "'mask_zero' is for integers, and the input is string");
    if (!status_is_ok(context->builder.status))
        return;
    io->outputs[0] = (struct layer_value){
        .value = layer_gather(context, find_rows(context, layer, input->value)),
        .mask = embedding_mask(context, layer, io),
    };
}

static void dynamic_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    const char *combiner = read_combiner(context, layer);

    io->outputs_count = 1;
    if (!status_is_ok(context->builder.status))
        return;
    if (combiner != NULL)
        combine_lists(context, layer, io, combiner);
    else
        look_up_each(context, layer, io);
}

const struct layer_class layer_dynamic_embedding = {
    .name = "DynamicEmbedding",
    .args = dynamic_args,
    .args_count = (int)COUNT(dynamic_args),
    .call = dynamic_call,
    .call_args = bag_call_args,
    .takes_lists = true,
    .inputs = LAYER_TAKES_ANYTHING,
    .precision = LAYER_REFUSES_16_BITS,
};
