#include "runtime/kernels/nd_index.h"

#include <stdio.h>

struct status nd_index_prepare(struct prepare_context *p, bool *out_skips)
{
    struct bytes policy;

    TRY(node_attr_string(prepare_node(p), "bad_indices_policy", &policy));
    *out_skips = bytes_equal(policy, bytes_of("IGNORE"));
    if (policy.size > 0 && !*out_skips && !bytes_equal(policy, bytes_of("ERROR")) &&
        !bytes_equal(policy, bytes_of("DEFAULT")))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "bad_indices_policy is '%.*s', not DEFAULT, ERROR or IGNORE",
                            (int)policy.size, policy.data);
    return status_ok();
}

bool nd_index_find(const struct tensor *indices, int64_t i, int64_t depth,
                   const struct shape *shape, int64_t *at)
{
    *at = 0;
    for (int d = 0; d < depth; d++) {
        int64_t index = tensor_index(indices, i * depth + d);
        if (index < 0 || index >= shape->dims[d])
            return false;
        *at = *at * shape->dims[d] + index;
    }
    return true;
}

const char *nd_index_text(const struct tensor *indices, int64_t i, int64_t depth)
{
    static _Thread_local char text[SHAPE_RANK_MAX * 24];
    size_t used = (size_t)snprintf(text, sizeof text, "[");

    for (int64_t d = 0; d < depth; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, d > 0 ? ", %lld" : "%lld",
                                 (long long)tensor_index(indices, i * depth + d));
    snprintf(text + used, sizeof text - used, "]");
    return text;
}

struct status nd_index_read(const struct tensor *indices, int64_t i, int64_t depth,
                            const struct shape *shape, bool skips, int64_t *at)
{
    if (nd_index_find(indices, i, depth, shape, at))
        return status_ok();
    *at = -1;
    if (skips)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "indices[%lld] = %s does not index into shape %s",
                        (long long)i, nd_index_text(indices, i, depth), shape_text(shape));
}

const char *nd_index_place(const struct shape *shape, int64_t i)
{
    static _Thread_local char text[SHAPE_RANK_MAX * 24];
    int64_t at[SHAPE_RANK_MAX];
    size_t used = 0;
    for (int d = shape->rank - 1; d >= 0; d--) {
        at[d] = i % shape->dims[d];
        i /= shape->dims[d];
    }
    text[0] = '\0';
    for (int d = 0; d < shape->rank; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, d > 0 ? ",%lld" : "%lld",
                                 (long long)at[d]);
    return text;
}

struct status nd_index_check_rows(const struct tensor *indices, int64_t dim)
{
    for (int64_t i = 0; i < indices->size; i++) {
        int64_t index = tensor_index(indices, i);
        if (index >= 0 && index < dim)
            continue;
        if (indices->shape.rank == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "indices = %lld is not in [0, %lld)",
                                (long long)index, (long long)dim);
        return status_error(STATUS_INVALID_ARGUMENT, "indices[%s] = %lld is not in [0, %lld)",
                            nd_index_place(&indices->shape, i), (long long)index, (long long)dim);
    }
    return status_ok();
}
