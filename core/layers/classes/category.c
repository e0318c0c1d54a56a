/* category: the layers CategoryEncoding, Hashing and HashedCrossing. */
#include "layers/classes/classes.h"
#include "layers/classes/preprocessing.h"

/* ---- CategoryEncoding ---- */

static const struct layer_arg category_encoding_args[] = {
    { "num_tokens", ARG_INT, REQUIRED },
    { "output_mode", ARG_CHOICE, "multi_hot one_hot count binary" },
    { "sparse", ARG_NONE, "false" },
};

static struct endpoint category_encoding_build(struct layer_context *context,
                                               const struct layer *layer, struct endpoint x)
{
    return encode_categories(context, layer, x, layer_arg(layer, "output_mode")->text,
                             layer_arg(layer, "num_tokens")->integer);
}
const struct layer_class layer_category_encoding = {
    .name = "CategoryEncoding",
    .args = category_encoding_args,
    .args_count = (int)COUNT(category_encoding_args),
    .build = category_encoding_build,
    .inputs = LAYER_TAKES_NUMBERS,
};

/* ---- Hashing ---- */

static const struct layer_arg hashing_args[] = {
    { "num_bins", ARG_INT, REQUIRED }, { "mask_value", ARG_VALUE, "null" },
    { "salt", ARG_VALUE, "null" },     { "output_mode", ARG_CHOICE, "int one_hot multi_hot count" },
    { "sparse", ARG_NONE, "false" },
};

/* Is each element of x the value that means "no value"? */
static struct endpoint is_masked(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x, const struct json_value *value)
{
    struct builder *b = &context->builder;
    const struct shape scalar = shape_scalar();
    enum dtype dtype = endpoint_dtype(x);

    if ((dtype == DT_STRING) != (value->kind == JSON_VALUE_TEXT) ||
        (dtype != DT_STRING && value->kind != JSON_VALUE_INT)) {
        layer_fail(context, layer, "argument 'mask_value' is %s, but the input is %s",
                   json_value_show(value, context->arena), dtype_name(dtype));
        return x;
    }
    struct bytes text = dtype == DT_STRING ? bytes_of(value->text) : (struct bytes){ 0 };
    struct tensor constant =
        tensor_borrow(dtype == DT_STRING ? DT_STRING : DT_INT64, &scalar,
                      dtype == DT_STRING ? (const void *)&text : (const void *)&value->integer);
    return build_binary(b, "Equal", NULL, x,
                        cast_to(context, build_const(b, NULL, &constant), dtype));
}

static struct endpoint texts_of(struct layer_context *context, struct endpoint x)
{
    if (!status_is_ok(context->builder.status) || endpoint_dtype(x) == DT_STRING)
        return x;
    if (dtype_is_floating(endpoint_dtype(x)))
        x = cast_to(context, x, DT_INT64);
    return build_unary(&context->builder, "AsString", NULL, x);
}

static struct endpoint hashing_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct json_value *mask = layer_arg(layer, "mask_value")->value;
    const char *mode = layer_arg(layer, "output_mode")->text;
    int64_t bins = layer_arg(layer, "num_bins")->integer, key[2];
    bool salted = layer_salt(context, layer, key), masked = !json_value_is_null(mask) && bins > 1;

    struct endpoint ids =
        hash_texts(context, texts_of(context, x), bins - masked, salted ? key : NULL);
    if (masked && status_is_ok(b->status)) {
        struct endpoint one = cast_to(context, build_const_int(b, 1), DT_INT64);
        struct endpoint zeros = build_unary(b, "ZerosLike", NULL, ids);
        struct endpoint is_mask = is_masked(context, layer, x, mask);
        ids = build_select(b, is_mask, zeros, build_binary(b, "AddV2", NULL, ids, one));
    }
    if (strcmp(mode, "int") == 0)
        return cast_to(context, ids, layer->dtype == DT_INT32 ? DT_INT32 : DT_INT64);
    return encode_categories(context, layer, ids, mode, bins);
}
const struct layer_class layer_hashing = {
    .name = "Hashing",
    .args = hashing_args,
    .args_count = (int)COUNT(hashing_args),
    .build = hashing_build,
    .inputs = LAYER_TAKES_ANYTHING,
    .any_dtype = true,
};

/* ---- HashedCrossing ---- */

static const struct layer_arg hashed_crossing_args[] = {
    { "num_bins", ARG_INT, REQUIRED },
    { "output_mode", ARG_CHOICE, "int one_hot" },
    { "sparse", ARG_NONE, "false" },
};

/* The key that tf.sparse.cross_hashed uses if none is given. */
#define CROSS_KEY 0xDECAFCAFFE

/* Checks the columns [batch, 1], texts or int64. */
static bool crossing_columns(struct layer_context *context, const struct layer *layer, int count,
                             const struct endpoint *inputs, struct endpoint *columns)
{
    for (int i = 0; i < count; i++) {
        const struct shape *shape = endpoint_shape(inputs[i]);
        enum dtype dtype = endpoint_dtype(inputs[i]);
        if (count < 2 || shape->rank > 2 || shape->rank < 1 ||
            (shape->rank == 2 && shape->dims[1] != 1) ||
            shape->rank != endpoint_shape(inputs[0])->rank) {
            layer_fail(context, layer,
                       "input %d of %d has shape %s; expected at least two inputs, all of shape "
                       "[batch] or [batch, 1]",
                       i, count, shape_text(shape));
            return false;
        }
        if (dtype != DT_STRING && !dtype_is_integer(dtype)) {
            layer_fail(context, layer, "input %d is %s; expected texts or integers", i,
                       dtype_name(dtype));
            return false;
        }
        columns[i] = dtype == DT_STRING ? inputs[i] : cast_to(context, inputs[i], DT_INT64);
        if (shape->rank == 1)
            columns[i] = build_expand_dims(&context->builder, columns[i], 1);
    }
    return true;
}

/* Each row has one combination, so the values of the sparse result are the column. */
static struct endpoint cross(struct layer_context *context, int count,
                             const struct endpoint *columns, int64_t bins, int rank)
{
    struct builder *b = &context->builder;
    enum dtype *types = ARENA_ARRAY(context->arena, enum dtype, count);
    enum dtype internal = DT_STRING;
    const int32_t back[] = { -1, 1 };

    for (int i = 0; i < count && status_is_ok(b->status); i++) {
        types[i] = endpoint_dtype(columns[i]);
        internal = types[i] == DT_INT64 ? DT_INT64 : internal;
    }
    const struct attr attrs[] = { attr_int("N", 0),
                                  attr_bool("hashed_output", true),
                                  attr_int("num_buckets", bins),
                                  attr_int("hash_key", CROSS_KEY),
                                  attr_types(b, "sparse_types", 0, NULL),
                                  attr_types(b, "dense_types", count, types),
                                  attr_type("out_type", DT_INT64),
                                  attr_type("internal_type", internal),
                                  ATTR_END };
    struct node *node = build_node(b, "SparseCross", NULL, count, columns, 0, NULL, attrs);
    if (!status_is_ok(b->status))
        return columns[0];
    return build_binary(b, "Reshape", NULL, (struct endpoint){ node, 1 },
                        build_const_ints(b, NULL, rank, back));
}

static struct endpoint hashed_crossing_merge(struct layer_context *context,
                                             const struct layer *layer, int count,
                                             const struct endpoint *inputs)
{
    const char *mode = layer_arg(layer, "output_mode")->text;
    int64_t bins = layer_arg(layer, "num_bins")->integer;
    struct endpoint *columns = ARENA_ARRAY(context->arena, struct endpoint, count);

    if (!status_is_ok(context->builder.status) ||
        !crossing_columns(context, layer, count, inputs, columns))
        return inputs[0];
    struct endpoint ids = cross(context, count, columns, bins, endpoint_shape(inputs[0])->rank);
    if (strcmp(mode, "int") == 0)
        return cast_to(context, ids, layer->dtype == DT_INT32 ? DT_INT32 : DT_INT64);
    return encode_categories(context, layer, ids, mode, bins);
}
const struct layer_class layer_hashed_crossing = {
    .name = "HashedCrossing",
    .args = hashed_crossing_args,
    .args_count = (int)COUNT(hashed_crossing_args),
    .merge = hashed_crossing_merge,
    .inputs = LAYER_TAKES_ANYTHING,
    .any_dtype = true,
};
