#include "runtime/kernels/records/example_features.h"

#include "runtime/kernels/kernel_tools.h"

struct status example_features_read(struct prepare_context *p, struct example_features *out)
{
    const struct node *node = prepare_node(p);
    const struct attr_value *sparse, *dense, *shapes, *ragged = NULL, *splits = NULL;
    TRY(node_attr_list_of(node, "sparse_types", ATTR_TYPE, &sparse));
    TRY(node_attr_list_of(node, "Tdense", ATTR_TYPE, &dense));
    TRY(node_attr_list_of(node, "dense_shapes", ATTR_SHAPE, &shapes));
    if (node_attr(node, "ragged_value_types") != NULL) {
        TRY(node_attr_list_of(node, "ragged_value_types", ATTR_TYPE, &ragged));
        TRY(node_attr_list_of(node, "ragged_split_types", ATTR_TYPE, &splits));
    }
    out->sparse = sparse->count;
    out->dense = dense->count;
    out->ragged = ragged != NULL ? ragged->count : 0;
    if (shapes->count != dense->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "len(dense_keys) != len(dense_shapes): %d vs. %d", dense->count,
                            shapes->count);
    if (splits != NULL && splits->count != ragged->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "len(ragged_value_types) != len(ragged_split_types): %d vs. %d",
                            ragged->count, splits->count);
    struct example_feature *feature = out->each =
        ARENA_ARRAY(prepare_arena(p), struct example_feature, example_features_count(out) + 1);
    for (int i = 0; i < out->sparse; i++)
        *feature++ = (struct example_feature){ .form = EXAMPLE_SPARSE,
                                               .dtype = dtype_base(sparse->elements[i].type) };
    for (int i = 0; i < out->dense; i++)
        *feature++ = (struct example_feature){ .form = EXAMPLE_DENSE,
                                               .dtype = dtype_base(dense->elements[i].type),
                                               .shape = *shapes->elements[i].shape };
    for (int i = 0; i < out->ragged; i++)
        *feature++ =
            (struct example_feature){ .form = EXAMPLE_RAGGED,
                                      .dtype = dtype_base(ragged->elements[i].type),
                                      .splits_type = dtype_base(splits->elements[i].type) };
    return status_ok();
}

struct status example_features_name(const struct node *node,
                                    const struct example_features *features)
{
    static const char *const attrs[] = { "sparse_keys", "dense_keys", "ragged_keys" };
    const int counts[] = { features->sparse, features->dense, features->ragged };
    struct example_feature *feature = features->each;
    for (int i = 0; i < 3; i++) {
        const struct attr_value *keys;
        if (i == 2 && node_attr(node, attrs[i]) == NULL)
            continue;
        TRY(node_attr_list_of(node, attrs[i], ATTR_STRING, &keys));
        if (keys->count != counts[i])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "node '%s' (%s): as many keys as types are wanted", node->name,
                                node->op_name);
        for (int j = 0; j < keys->count; j++)
            (feature++)->key = keys->elements[j].s;
    }
    return status_ok();
}
