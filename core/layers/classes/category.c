/* category: layers that encode categories, and helpers that they share with other preprocessing. */
#include "layers/classes/classes.h"
#include "layers/classes/preprocessing.h"

/* ---- Helpers. ---- */

struct endpoint cast_to(struct layer_context *context, struct endpoint x, enum dtype dtype)
{
    if (!status_is_ok(context->builder.status) || endpoint_dtype(x) == dtype)
        return x;
    return build_cast(&context->builder, NULL, x, dtype);
}

void layer_adapts(struct layer_context *context, const struct layer *layer,
                  const struct layers_adapting *how, struct endpoint x)
{
    struct layers_graph *out = context->out;

    if (layer->state != NULL || !status_is_ok(context->builder.status))
        return;
    struct layers_adapting *adapting = &out->adapting[out->adapting_count++];
    *adapting = *how;
    adapting->layer = layer->name;
    adapting->values = x;
}

bool layer_salt(struct layer_context *context, const struct layer *layer, int64_t key[2])
{
    const struct json_value *salt = layer_arg(layer, "salt")->value;
    bool pair = salt->kind == JSON_VALUE_LIST && salt->count == 2;

    if (json_value_is_null(salt))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct json_value *part = pair ? &salt->members[i] : salt;
        if (part->kind != JSON_VALUE_INT) {
            layer_fail(context, layer, "argument 'salt' wants an integer or a list of two");
            return false;
        }
        key[i] = part->integer;
    }
    return true;
}

struct endpoint hash_texts(struct layer_context *context, struct endpoint texts, int64_t buckets,
                           const int64_t *key)
{
    struct builder *b = &context->builder;
    struct attr attrs[] = { attr_int("num_buckets", buckets), ATTR_END, ATTR_END };

    if (key != NULL)
        attrs[1] = attr_ints(b, "key", 2, key);
    return build(b, key != NULL ? "StringToHashBucketStrong" : "StringToHashBucketFast", NULL, 1,
                 &texts, attrs);
}

/* Reads nested lists into `out`, depth first. Returns false if they are ragged or hold no
 * numbers. */
static bool read_numbers(const struct json_value *value, int depth, struct shape *shape,
                         struct buffer *out)
{
    double number;

    if (value->kind != JSON_VALUE_LIST) {
        if (depth != shape->rank || !json_value_number(value, &number))
            return false;
        const float single = (float)number;
        buffer_append(out, &single, sizeof single);
        return true;
    }
    if (depth == shape->rank) {
        if (out->size > 0 || shape->rank == SHAPE_RANK_MAX)
            return false;
        shape_append(shape, value->count);
    }
    for (int i = 0; i < value->count; i++)
        if (!read_numbers(&value->members[i], depth + 1, shape, out))
            return false;
    return shape->dims[depth] == value->count;
}

bool numbers_read(const struct json_value *value, struct arena *arena, struct tensor *out)
{
    struct shape shape = shape_scalar();
    struct buffer numbers = { 0 };

    bool good = read_numbers(value, 0, &shape, &numbers);
    if (good)
        *out = tensor_borrow(DT_FLOAT, &shape, arena_memdup(arena, numbers.data, numbers.size));
    buffer_finish(&numbers);
    return good;
}

bool layer_numbers(struct layer_context *context, const struct layer *layer, const char *name,
                   struct tensor *out)
{
    bool good = numbers_read(layer_arg(layer, name)->value, context->arena, out);

    if (!good)
        layer_fail(context, layer, "argument '%s' wants numbers, or lists of numbers", name);
    return good;
}

/* ---- Encoding. ---- */

/* Drops a last dimension of 1. */
static struct endpoint drop_single(struct layer_context *context, struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);
    const int64_t last = -1;
    struct attr attrs[] = { attr_ints(&context->builder, "squeeze_dims", 1, &last), ATTR_END };

    if (shape->rank < 2 || shape->dims[shape->rank - 1] != 1)
        return x;
    return build(&context->builder, "Squeeze", NULL, 1, &x, attrs);
}

static struct endpoint one_hot(struct layer_context *context, struct endpoint ids, int64_t depth)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { drop_single(context, ids),
                                       build_const_int(b, NULL, (int32_t)depth),
                                       build_const_float(b, NULL, 1),
                                       build_const_float(b, NULL, 0) };

    return build(b, "OneHot", NULL, 4, inputs, NULL);
}

static struct endpoint count_ids(struct layer_context *context, struct endpoint ids, int64_t depth,
                                 bool binary)
{
    struct builder *b = &context->builder;
    const struct shape scalar = shape_scalar(), none = shape_of(0);
    struct tensor size = tensor_borrow(DT_INT64, &scalar, &depth);
    struct tensor weights = tensor_borrow(DT_FLOAT, &none, NULL);
    const struct endpoint inputs[] = { ids, build_const(b, NULL, &size),
                                       build_const(b, NULL, &weights) };
    const struct attr attrs[] = { attr_bool("binary_output", binary), ATTR_END };

    return build(b, "DenseBincount", NULL, 3, inputs, attrs);
}

struct endpoint encode_categories(struct layer_context *context, const struct layer *layer,
                                  struct endpoint ids, const char *mode, int64_t depth)
{
    if (strcmp(mode, "int") == 0 || !status_is_ok(context->builder.status))
        return ids;
    ids = cast_to(context, ids, DT_INT64);
    if (depth < 1 || depth > INT32_MAX) {
        layer_fail(context, layer, "%lld categories; expected 1 to 2^31 - 1", (long long)depth);
        return ids;
    }
    if (strcmp(mode, "one_hot") == 0)
        return one_hot(context, ids, depth);
    if (status_is_ok(context->builder.status) && endpoint_shape(ids)->rank != 2)
        layer_fail(context, layer, "the input has shape %s, expected rank 2",
                   shape_text(endpoint_shape(ids)));
    bool binary = strcmp(mode, "multi_hot") == 0 || strcmp(mode, "binary") == 0;
    return count_ids(context, ids, depth, binary);
}

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
        struct endpoint one = cast_to(context, build_const_int(b, NULL, 1), DT_INT64);
        struct endpoint zeros = build_unary(b, "ZerosLike", NULL, ids);
        struct endpoint is_mask = is_masked(context, layer, x, mask);
        ids = build_select(b, NULL, is_mask, zeros, build_binary(b, "AddV2", NULL, ids, one));
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
            columns[i] = build_binary(&context->builder, "ExpandDims", NULL, columns[i],
                                      build_const_int(&context->builder, NULL, 1));
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
