/* lookup: StringLookup and IntegerLookup: a table from a vocabulary to indices, or back. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/map.h"
#include "layers/classes/classes.h"
#include "layers/classes/preprocessing.h"

#define MODES "int one_hot multi_hot count tf_idf binary tf-idf"

/* Shared arguments come first in integer_lookup_args, in the same order. */
#define LOOKUP_ARGS                                                                              \
    { "max_tokens", ARG_NULL_OR_INT, "null" }, { "num_oov_indices", ARG_NULL_OR_INT, "1" },      \
        { "mask_token", ARG_VALUE, "null" }, { "vocabulary", ARG_VALUE, "null" },                \
        { "idf_weights", ARG_VALUE, "null" }, { "invert", ARG_BOOL, "false" },                   \
        { "output_mode", ARG_CHOICE, MODES }, { "pad_to_max_tokens", ARG_BOOL, "false" },        \
        { "sparse", ARG_NONE, "false" }, { "salt", ARG_VALUE, "null" },                          \
        { "vocabulary_size", ARG_VALUE, "null" }, { "has_input_vocabulary", ARG_VALUE, "null" }, \
    {                                                                                            \
        "oov_method", ARG_CHOICE, "floormod farmhash"                                            \
    }

static const struct layer_arg string_lookup_args[] = {
    LOOKUP_ARGS,
    { "oov_token", ARG_VALUE, "\"[UNK]\"" },
    { "vocabulary_dtype", ARG_CHOICE, "string" },
    { "encoding", ARG_CHOICE, "utf-8" },
};

static const struct layer_arg integer_lookup_args[] = {
    LOOKUP_ARGS,
    { "oov_token", ARG_VALUE, "-1" },
    { "vocabulary_dtype", ARG_CHOICE, "int64" },
};

/* Limit of a vocabulary's bytes: its constants are in a graph that must stay below 2 GB. */
#define VOCABULARY_BYTES_MAX ((size_t)1 << 30)

/* The parsed arguments. */
struct lookup {
    const struct layer *layer;
    enum dtype dtype; /* of the tokens */
    const char *mode;
    bool invert, pad;
    int64_t max_tokens; /* 0: any number */
    int64_t oov_indices;
    const struct json_value *mask, *oov;
    bool has_mask;
    int64_t oov_start, token_start; /* indices */
    bool is_adapted;                /* or will be */
    /* string or int64 [n], without the special tokens; no data until adapted */
    struct tensor tokens;
    int64_t special; /* tokens that precede them: 0 or token_start */
};

/* ---- the arguments ---- */

static bool is_token(const struct lookup *lookup, const struct json_value *value)
{
    return value->kind == (lookup->dtype == DT_STRING ? JSON_VALUE_TEXT : JSON_VALUE_INT);
}

static bool check_lookup(struct layer_context *context, const struct lookup *lookup)
{
    const struct layer *layer = lookup->layer;

    if (lookup->oov_indices < 0 || lookup->oov_indices > INT32_MAX)
        layer_fail(context, layer, "argument 'num_oov_indices' is %" PRId64 ", expected 0 or more",
                   lookup->oov_indices);
    else if (lookup->max_tokens < 0 || lookup->max_tokens == 1)
        layer_fail(context, layer, "argument 'max_tokens' is %" PRId64 ", expected 2 or more",
                   lookup->max_tokens);
    else if (lookup->pad && lookup->max_tokens == 0)
        layer_fail(context, layer, "'pad_to_max_tokens' needs 'max_tokens'");
    else if (lookup->invert && strcmp(lookup->mode, "int") != 0)
        layer_fail(context, layer, "'invert' needs the output_mode 'int'");
    else if (lookup->has_mask && !is_token(lookup, lookup->mask))
        layer_fail(context, layer, "argument 'mask_token' is not %s", dtype_name(lookup->dtype));
    else if (!is_token(lookup, lookup->oov))
        layer_fail(context, layer, "argument 'oov_token' is not %s", dtype_name(lookup->dtype));
    return status_is_ok(context->builder.status);
}

static bool read_lookup(struct layer_context *context, const struct layer *layer, enum dtype dtype,
                        struct lookup *out)
{
    const struct arg_value *max = layer_arg(layer, "max_tokens");
    const struct arg_value *oov_indices = layer_arg(layer, "num_oov_indices");
    const char *mode = layer_arg(layer, "output_mode")->text;

    *out = (struct lookup){
        .layer = layer,
        .dtype = dtype,
        .mode = strcmp(mode, "tf-idf") == 0 ? "tf_idf" : mode,
        .invert = layer_arg(layer, "invert")->boolean,
        .pad = layer_arg(layer, "pad_to_max_tokens")->boolean,
        .max_tokens = max->is_null        ? 0
                      : max->integer == 0 ? -1
                                          : max->integer,
        .oov_indices = oov_indices->is_null ? 1 : oov_indices->integer,
        .mask = layer_arg(layer, "mask_token")->value,
        .oov = layer_arg(layer, "oov_token")->value,
    };
    out->has_mask = !json_value_is_null(out->mask);
    out->oov_start = out->has_mask && strcmp(mode, "int") == 0;
    out->token_start = out->oov_start + out->oov_indices;
    return check_lookup(context, out);
}

/* ---- the vocabulary ---- */

static struct tensor token_tensor(struct arena *arena, const struct lookup *lookup, int64_t count)
{
    const struct shape shape = shape_of(count);

    return tensor_borrow(lookup->dtype, &shape,
                         arena_array(arena, dtype_size(lookup->dtype), (size_t)count + 1));
}

static bool list_tokens(struct layer_context *context, const struct lookup *lookup,
                        const struct json_value *list, struct tensor *out)
{
    *out = token_tensor(context->arena, lookup, list->count);
    for (int i = 0; i < list->count; i++) {
        const struct json_value *token = &list->members[i];
        if (!is_token(lookup, token)) {
            layer_fail(context, lookup->layer, "argument 'vocabulary' has %s; expected %s",
                       json_value_show(token, context->arena), dtype_name(lookup->dtype));
            return false;
        }
        if (lookup->dtype == DT_STRING)
            tensor_strings_mut(out)[i] = bytes_of(token->text);
        else
            tensor_int64s_mut(out)[i] = token->integer;
    }
    return true;
}

static bool line_token(const struct lookup *lookup, struct bytes line, struct tensor *out,
                       int64_t at)
{
    char text[32], *end;

    if (lookup->dtype == DT_STRING) {
        tensor_strings_mut(out)[at] = line;
        return true;
    }
    if (line.size == 0 || line.size >= sizeof text)
        return false;
    memcpy(text, line.data, line.size);
    text[line.size] = '\0';
    errno = 0;
    tensor_int64s_mut(out)[at] = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* A token a line. */
static bool split_lines(struct layer_context *context, const struct lookup *lookup,
                        const char *path, struct bytes text, struct tensor *out)
{
    int64_t count = 0;

    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == '\n' || i + 1 == text.size;
    *out = token_tensor(context->arena, lookup, count);
    for (int64_t at = 0; at < count; at++) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end != NULL ? (size_t)(end - text.data) : text.size;
        if (!line_token(lookup, (struct bytes){ text.data, size }, out, at)) {
            layer_fail(context, lookup->layer, "'%s' line %" PRId64 ": '%.*s' is not an int64",
                       path, at + 1, (int)(size < 100 ? size : 100), text.data);
            return false;
        }
        text = (struct bytes){ text.data + size + 1, text.size - size - (end != NULL) };
    }
    return true;
}

static bool file_tokens(struct layer_context *context, const struct lookup *lookup,
                        const char *path, struct tensor *out)
{
    struct buffer file = { 0 };

    struct status status = file_read(path, VOCABULARY_BYTES_MAX, &file);
    if (!status_is_ok(status)) {
        layer_fail(context, lookup->layer, "argument 'vocabulary': %s", status.message);
        return false;
    }
    const char *kept = arena_memdup(context->arena, file.data, file.size);
    bool good = split_lines(context, lookup, path, (struct bytes){ kept, file.size }, out);
    buffer_finish(&file);
    return good;
}

static bool equals(const struct lookup *lookup, const struct tensor *tokens, int64_t i,
                   const struct json_value *special)
{
    if (!is_token(lookup, special))
        return false;
    return lookup->dtype == DT_STRING
               ? bytes_equal(tensor_strings(tokens)[i], bytes_of(special->text))
               : tensor_int64s(tokens)[i] == special->integer;
}

/* Does the vocabulary begin with the mask token and the out-of-vocabulary ones? */
static bool begins_with_special(const struct lookup *lookup, const struct tensor *tokens)
{
    if (tokens->size < lookup->token_start)
        return false;
    for (int64_t i = 0; i < lookup->token_start; i++)
        if (!equals(lookup, tokens, i, i < lookup->oov_start ? lookup->mask : lookup->oov))
            return false;
    return true;
}

static void skip_tokens(struct tensor *tokens, int64_t count)
{
    const struct shape shape = shape_of(tokens->size - count);
    size_t bytes = (size_t)count * dtype_size(tokens->dtype);

    *tokens = tensor_borrow(tokens->dtype, &shape, (const char *)tokens->data + bytes);
}

static struct bytes token_key(const struct tensor *tokens, int64_t i)
{
    if (tokens->dtype == DT_STRING)
        return tensor_strings(tokens)[i];
    return (struct bytes){ (const char *)&tensor_int64s(tokens)[i], sizeof(int64_t) };
}

static bool check_tokens(struct layer_context *context, const struct lookup *lookup)
{
    const struct tensor *tokens = &lookup->tokens;
    const struct layer *layer = lookup->layer;
    struct map seen = { 0 };
    int64_t i = 0;

    if (lookup->max_tokens > 0 && lookup->token_start + tokens->size > lookup->max_tokens)
        layer_fail(context, layer, "a vocabulary of %" PRId64 " tokens; 'max_tokens' is %" PRId64,
                   lookup->token_start + tokens->size, lookup->max_tokens);
    for (; i < tokens->size && status_is_ok(context->builder.status); i++) {
        if (map_get(&seen, token_key(tokens, i)) != NULL)
            layer_fail(context, layer, "token %" PRId64 " of the vocabulary stands there twice", i);
        else if (lookup->has_mask && equals(lookup, tokens, i, lookup->mask))
            layer_fail(context, layer, "token %" PRId64 " of the vocabulary is the mask token", i);
        else if (lookup->invert && equals(lookup, tokens, i, lookup->oov))
            layer_fail(context, layer, "token %" PRId64 " of the vocabulary is the oov_token", i);
        map_put(&seen, token_key(tokens, i), &seen);
    }
    map_finish(&seen);
    return status_is_ok(context->builder.status);
}

static bool read_tokens(struct layer_context *context, struct lookup *lookup)
{
    const struct json_value *given = layer_arg(lookup->layer, "vocabulary")->value;
    const struct layers_state *state = lookup->layer->state;

    lookup->is_adapted = json_value_is_null(given);
    if (lookup->is_adapted) {
        lookup->tokens =
            state != NULL ? state->tensors[0] : token_tensor(context->arena, lookup, 0);
        return true;
    }
    if (given->kind == JSON_VALUE_TEXT) {
        if (!file_tokens(context, lookup, given->text, &lookup->tokens))
            return false;
        return check_tokens(context, lookup);
    }
    if (given->kind != JSON_VALUE_LIST || given->count == 0) {
        layer_fail(context, lookup->layer,
                   "argument 'vocabulary' wants a list that is not empty, or the name of a file");
        return false;
    }
    if (!list_tokens(context, lookup, given, &lookup->tokens))
        return false;
    if (begins_with_special(lookup, &lookup->tokens)) {
        lookup->special = lookup->token_start;
        skip_tokens(&lookup->tokens, lookup->token_start);
    }
    return check_tokens(context, lookup);
}

/* ---- the table ---- */

static struct endpoint token_const(struct layer_context *context, const struct lookup *lookup,
                                   const struct json_value *value)
{
    const struct shape scalar = shape_scalar();
    struct bytes text =
        value->kind == JSON_VALUE_TEXT ? bytes_of(value->text) : (struct bytes){ 0 };
    struct tensor tensor = tensor_borrow(
        lookup->dtype, &scalar,
        lookup->dtype == DT_STRING ? (const void *)&text : (const void *)&value->integer);

    return build_const(&context->builder, NULL, &tensor);
}

/* Every call of the layer shares the table. */
static struct endpoint build_table(struct layer_context *context, const struct lookup *lookup)
{
    struct builder *b = &context->builder;
    const char *name = arena_printf(context->arena, "%s/table", lookup->layer->name);
    struct node *earlier = graph_find(b->graph, name);
    int64_t count = lookup->tokens.size;
    int64_t *indices = ARENA_ARRAY(context->arena, int64_t, count + 1);
    const struct shape shape = shape_of(count);
    const struct attr attrs[] = { attr_type("key_dtype", lookup->invert ? DT_INT64 : lookup->dtype),
                                  attr_type("value_dtype",
                                            lookup->invert ? lookup->dtype : DT_INT64),
                                  attr_text("shared_name", name), ATTR_END };

    if (earlier != NULL)
        return (struct endpoint){ earlier, 0 };
    for (int64_t i = 0; i < count; i++)
        indices[i] = lookup->token_start + i;
    struct tensor index_tensor = tensor_borrow(DT_INT64, &shape, indices);
    struct endpoint table = build(b, "HashTableV2", "table", 0, NULL, attrs);
    struct endpoint tokens = build_const(b, "vocabulary", &lookup->tokens);
    struct endpoint places = build_const(b, "indices", &index_tensor);
    const struct endpoint filling[] = { table, lookup->invert ? places : tokens,
                                        lookup->invert ? tokens : places };
    layers_add_table(context,
                     build_node(b, "InitializeTableV2", "table_init", 3, filling, 0, NULL, NULL));
    return table;
}

static struct endpoint find(struct layer_context *context, struct endpoint table,
                            struct endpoint keys, struct endpoint missing)
{
    const struct endpoint inputs[] = { table, keys, missing };

    return build(&context->builder, "LookupTableFindV2", NULL, 3, inputs, NULL);
}

/* ---- keys without an index ---- */

/* The index of each unknown key, by its hash or its remainder. */
static struct endpoint oov_indices(struct layer_context *context, const struct lookup *lookup,
                                   struct endpoint keys)
{
    struct builder *b = &context->builder;
    const char *method = layer_arg(lookup->layer, "oov_method")->text;
    int64_t key[2];
    bool salted = layer_salt(context, lookup->layer, key);
    struct endpoint indices;

    if (salted && lookup->dtype != DT_STRING && strcmp(method, "farmhash") != 0)
        layer_fail(context, lookup->layer, "'salt' needs the oov_method 'farmhash'");
    if (lookup->dtype != DT_STRING && strcmp(method, "floormod") == 0) {
        indices = build_binary(b, "FloorMod", NULL, keys,
                               build_const_int64(&context->builder, lookup->oov_indices));
    } else {
        if (lookup->dtype != DT_STRING)
            keys = build_unary(b, "AsString", NULL, keys);
        indices = hash_texts(context, keys, lookup->oov_indices, salted ? key : NULL);
    }
    return build_binary(b, "AddV2", NULL, indices,
                        build_const_int64(&context->builder, lookup->oov_start));
}

/* Makes the graph fail when a key is not in the vocabulary. */
static struct endpoint assert_known(struct layer_context *context, struct endpoint keys,
                                    struct endpoint ids)
{
    struct builder *b = &context->builder;
    const struct bytes text =
        bytes_of("When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values, "
                 "consider setting `num_oov_indices=1`. The inputs:");
    const struct shape scalar = shape_scalar();
    struct tensor words = tensor_borrow(DT_STRING, &scalar, &text);
    struct endpoint known =
        build_binary(b, "NotEqual", NULL, ids, build_const_int64(&context->builder, -1));
    int32_t axes[SHAPE_RANK_MAX];

    if (!status_is_ok(b->status))
        return ids;
    int rank = endpoint_shape(ids)->rank;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    const struct endpoint inputs[] = { build_binary(b, "All", NULL, known,
                                                    build_const_ints(b, NULL, rank, axes)),
                                       build_const(b, NULL, &words), keys };
    struct node *check = build_node(b, "Assert", NULL, 3, inputs, 0, NULL, NULL);
    struct node *after = build_node(b, "Identity", NULL, 1, &ids, 1, &check, NULL);
    return (struct endpoint){ after, 0 };
}

static struct endpoint ids_of(struct layer_context *context, const struct lookup *lookup,
                              struct endpoint keys)
{
    struct builder *b = &context->builder;
    int64_t missing = lookup->oov_indices == 1 ? lookup->oov_start : -1;
    int64_t masked = strcmp(lookup->mode, "int") == 0 ? 0 : INT64_MAX; /* no category */

    struct endpoint ids = find(context, build_table(context, lookup), keys,
                               build_const_int64(&context->builder, missing));
    if (lookup->has_mask)
        ids = build_select(
            &context->builder,
            build_binary(b, "Equal", NULL, keys, token_const(context, lookup, lookup->mask)),
            build_const_int64(&context->builder, masked), ids);
    if (lookup->oov_indices == 0 && lookup->tokens.size > 0)
        return assert_known(context, keys, ids);
    if (lookup->oov_indices > 1)
        ids = build_select(
            &context->builder,
            build_binary(b, "Equal", NULL, ids, build_const_int64(&context->builder, missing)),
            oov_indices(context, lookup, keys), ids);
    return ids;
}

/* ---- TF-IDF ---- */

/* The weight of each index. Special tokens have the mean of the others, unless they have weights
 * of their own. */
static bool idf_tensor(struct layer_context *context, const struct lookup *lookup, int64_t depth,
                       struct tensor *out)
{
    const struct shape shape = shape_of(depth);
    float *values = ARENA_ARRAY(context->arena, float, depth);
    struct tensor given =
        lookup->layer->state != NULL ? lookup->layer->state->tensors[1] : (struct tensor){ 0 };
    double sum = 0;

    if (!lookup->is_adapted && !layer_numbers(context, lookup->layer, "idf_weights", &given))
        return false;
    *out = tensor_borrow(DT_FLOAT, &shape, values);
    if (given.dtype != DT_FLOAT) /* not adapted yet */
        return true;
    if (given.size != lookup->special + lookup->tokens.size) {
        layer_fail(context, lookup->layer,
                   "argument 'idf_weights' has %" PRId64 " numbers for a vocabulary of %" PRId64,
                   given.size, lookup->special + lookup->tokens.size);
        return false;
    }
    for (int64_t i = 0; i < given.size; i++)
        sum += (double)tensor_floats(&given)[i];
    int64_t front = lookup->token_start - lookup->special;
    for (int64_t i = 0; i < depth; i++)
        values[i] = i < front                ? (float)(sum / (double)given.size)
                    : i < front + given.size ? tensor_floats(&given)[i - front]
                                             : 0;
    return true;
}

/* ---- the layers ---- */

static struct endpoint encode(struct layer_context *context, const struct lookup *lookup,
                              struct endpoint ids)
{
    struct builder *b = &context->builder;
    bool weighs = strcmp(lookup->mode, "tf_idf") == 0;
    int64_t depth = lookup->pad ? lookup->max_tokens : lookup->token_start + lookup->tokens.size;
    struct tensor weights;

    depth = depth < 1 ? 1 : depth; /* until adapted */
    struct endpoint y =
        encode_categories(context, lookup->layer, ids, weighs ? "count" : lookup->mode, depth);
    if (!weighs || !status_is_ok(b->status) || !idf_tensor(context, lookup, depth, &weights))
        return y;
    return build_binary(b, "Mul", NULL, y, build_const(b, "idf_weights", &weights));
}

static struct endpoint lookup_build(struct layer_context *context, const struct layer *layer,
                                    enum dtype dtype, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct lookup lookup;

    if (!status_is_ok(b->status) || !read_lookup(context, layer, dtype, &lookup) ||
        !read_tokens(context, &lookup))
        return x;
    bool texts = !lookup.invert && dtype == DT_STRING;
    if (texts != (endpoint_dtype(x) == DT_STRING)) {
        layer_fail(context, layer, "the input is %s; expected %s", dtype_name(endpoint_dtype(x)),
                   texts ? "string" : "an integer");
        return x;
    }
    if (!texts)
        x = cast_to(context, x, DT_INT64);
    if (lookup.is_adapted && lookup.invert) {
        layer_fail(context, layer, "'invert' needs a 'vocabulary'");
        return x;
    }
    if (lookup.is_adapted && lookup.max_tokens > 0 && lookup.max_tokens <= lookup.token_start) {
        layer_fail(context, layer, "'max_tokens' is %" PRId64 ", which leaves no room for tokens",
                   lookup.max_tokens);
        return x;
    }
    if (lookup.is_adapted) {
        const struct layers_adapting adapting = {
            .kind = ADAPT_TOKENS,
            .tokens_max = lookup.max_tokens > 0 ? lookup.max_tokens - lookup.token_start : 0,
            .idf = strcmp(lookup.mode, "tf_idf") == 0,
            .is_text = dtype == DT_STRING,
            .mask = lookup.has_mask ? lookup.mask : NULL,
            .oov = lookup.oov,
        };
        layer_adapts(context, layer, &adapting, x);
    }
    if (!lookup.invert)
        return encode(context, &lookup, ids_of(context, &lookup, x));
    struct endpoint tokens =
        find(context, build_table(context, &lookup), x, token_const(context, &lookup, lookup.oov));
    if (!lookup.has_mask)
        return tokens;
    return build_select(&context->builder,
                        build_binary(b, "Equal", NULL, x, build_const_int64(&context->builder, 0)),
                        token_const(context, &lookup, lookup.mask), tokens);
}

struct endpoint string_lookup_build(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x)
{
    return lookup_build(context, layer, DT_STRING, x);
}

static struct endpoint integer_lookup_build(struct layer_context *context,
                                            const struct layer *layer, struct endpoint x)
{
    return lookup_build(context, layer, DT_INT64, x);
}

const struct layer_class layer_string_lookup = {
    .name = "StringLookup",
    .args = string_lookup_args,
    .args_count = (int)COUNT(string_lookup_args),
    .build = string_lookup_build,
    .inputs = LAYER_TAKES_ANYTHING,
    .precision = LAYER_ROUNDS_NOTHING,
};
const struct layer_class layer_integer_lookup = {
    .name = "IntegerLookup",
    .args = integer_lookup_args,
    .args_count = (int)COUNT(integer_lookup_args),
    .build = integer_lookup_build,
    .inputs = LAYER_TAKES_NUMBERS,
    .precision = LAYER_ROUNDS_NOTHING,
};
