/* layout: DataFormatDimMap maps a dimension of one data format to its place in another.
 * DataFormatVecPermute reorders numbers, one for each dimension, likewise. */
#include "runtime/kernels/kernel_tools.h"

struct layout_state {
    struct bytes from, to;
    int64_t place[8]; /* of each dimension of `from`, in `to` */
};

static struct status layout_prepare(struct prepare_context *p)
{
    struct layout_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    bool is_map = strcmp(node->op_name, "DataFormatDimMap") == 0;
    TRY(node_attr_string(node, "src_format", &state->from));
    TRY(node_attr_string(node, "dst_format", &state->to));
    if (state->from.size != 4 && state->from.size != 5 && !(state->from.size == 3 && !is_map))
        return status_error(STATUS_INVALID_ARGUMENT,
                            is_map ? "Source format must be of length 4 or 5, received "
                                     "src_format = %.*s"
                                   : "Source format must be of length 3, 4, or 5, received "
                                     "src_format = %.*s",
                            (int)state->from.size, state->from.data);
    if (state->to.size != state->from.size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Destination format must have the length of the source format %.*s, "
                            "received dst_format = %.*s",
                            (int)state->from.size, state->from.data, (int)state->to.size,
                            state->to.data);
    for (size_t i = 0; i < state->from.size; i++) {
        const char *found = memchr(state->to.data, state->from.data[i], state->to.size);
        if (found == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "%.*s is not a permutation of %.*s",
                                (int)state->from.size, state->from.data, (int)state->to.size,
                                state->to.data);
        state->place[i] = found - state->to.data;
    }
    return status_ok();
}

static struct status dim_map_compute(struct kernel_context *k)
{
    const struct layout_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t rank = (int64_t)state->from.size;
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        int64_t dim = tensor_index(x, i);
        /* TensorFlow reads outside its table */
        if (dim < -rank || dim >= rank)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension %lld is not in [%lld, %lld)",
                                (long long)dim, (long long)-rank, (long long)rank);
        tensor_set_index(out, i, state->place[dim < 0 ? dim + rank : dim]);
    }
    return status_ok();
}

/* A vector of two numbers has only the spatial dimensions of a format. */
static bool is_spatial(char dimension)
{
    return dimension != 'N' && dimension != 'C';
}

static struct status permute_compute(struct kernel_context *k)
{
    const struct layout_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t full = (int64_t)state->from.size, spatial = 0, columns, at[8], next = 0;
    struct tensor *out;
    for (int64_t i = 0; i < full; i++)
        spatial += is_spatial(state->from.data[i]);
    if (x->shape.rank != 1 && x->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input must be a vector or 2D tensor, but got shape %s",
                            shape_text(&x->shape));
    if (x->shape.dims[0] != full && x->shape.dims[0] != spatial)
        return status_error(
            STATUS_INVALID_ARGUMENT, "%dD input must be of size %lld or %lld, but got shape %s",
            x->shape.rank, (long long)spatial, (long long)full, shape_text(&x->shape));
    if (x->shape.rank == 2 && x->shape.dims[1] != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Second dimension of 2D input must be of size 2, but got shape %s",
                            shape_text(&x->shape));
    columns = x->shape.rank == 2 ? 2 : 1;
    bool all = x->shape.dims[0] == full;
    for (int64_t to = 0; to < full; to++) { /* at: for each output, the input */
        if (!all && !is_spatial(state->to.data[to]))
            continue;
        int64_t from = 0;
        for (int64_t i = 0; state->place[i] != to; i++)
            from += all || is_spatial(state->from.data[i]);
        at[next++] = from;
    }
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        copy_element(x, at[i / columns] * columns + i % columns, out, i);
    return status_ok();
}

#define TYPES_INDEX (DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "DataFormatDimMap", TYPES_INDEX, .prepare = layout_prepare, .compute = dim_map_compute },
    { "DataFormatVecPermute", TYPES_INDEX, .prepare = layout_prepare, .compute = permute_compute },
};
const struct kernel_table kernels_layout = { rows, COUNT(rows) };
