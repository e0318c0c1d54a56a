#include "layers/classes/preprocessing.h"

#include <math.h>

#include "layers/build_state.h"

void layer_adapts(struct layer_context *context, const struct layer *layer,
                  const struct layers_adapting *how, struct endpoint x)
{
    struct layers_graph *out = context->build->out;

    if (layer->state != NULL || !status_is_ok(context->builder.status))
        return;
    struct layers_adapting *adapting = &out->adapting[out->adapting_count++];
    *adapting = *how;
    adapting->layer = layer->name;
    enum dtype before;
    adapting->values = layer_widen(context, x, &before);
    builder_set_float(&context->builder, before);
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

bool layer_numbers(struct layer_context *context, const struct layer *layer, const char *name,
                   struct tensor *out)
{
    bool good = numbers_read(layer_arg(layer, name)->value, context->arena, out);

    for (int64_t i = 0; good && i < out->size; i++)
        good = isfinite(tensor_floats(out)[i]);
    if (!good)
        layer_fail(context, layer, "argument '%s' wants finite numbers, or lists of numbers", name);
    return good;
}

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
                                       build_const_int(b, (int32_t)depth), build_const_float(b, 1),
                                       build_const_float(b, 0) };

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
