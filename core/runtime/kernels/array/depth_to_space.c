/* DepthToSpace and SpaceToDepth. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

struct block_state {
    int64_t size;
    bool channels_first;
};

static struct status block_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct block_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes format;
    TRY(node_attr_int32(node, "block_size", &state->size));
    TRY(node_attr_string(node, "data_format", &format));
    state->channels_first = bytes_equal(format, bytes_of("NCHW"));
    if (state->size < 2 || state->size > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "Block size should be > 1, but was: %lld",
                            (long long)state->size);
    if (!state->channels_first && !bytes_equal(format, bytes_of("NHWC")))
        return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s): data_format %.*s", node->name,
                            node->op_name, (int)format.size, format.data);
    return status_ok();
}

/* Elements in the order n, h, block_h, w, block_w, c of the wide side: its dimension h·block is cut
 * in two. `order` lists, for the output, dimensions of the input cut likewise. */
static struct status cut_and_read(struct kernel_context *k, int64_t n, int64_t b, int64_t h,
                                  int64_t w, int64_t c, bool to_space, bool channels_first)
{
    const struct tensor *x = kernel_input(k, 0);
    struct strided strided = { 0 };
    struct tensor *out;
    int64_t high, broad, deepest;
    if (__builtin_mul_overflow(h, b, &high) || __builtin_mul_overflow(w, b, &broad) ||
        __builtin_mul_overflow(c, b * b, &deepest))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "blocks of %lld are too large",
                            (long long)b);
    struct shape shape =
        to_space ? (channels_first ? shape_of(n, c, high, broad) : shape_of(n, high, broad, c))
                 : (channels_first ? shape_of(n, deepest, h, w) : shape_of(n, h, w, deepest));
    /* The input as 6 dimensions. Deep: n h w b b c, or n b b c h w. Wide: n h b w b c, or n c h b w
     * b. The output is the other one. */
    static const int orders[2][2][6] = {
        { { 0, 1, 3, 2, 4, 5 }, { 0, 3, 5, 1, 2, 4 } }, /* to depth: NHWC, NCHW */
        { { 0, 1, 3, 2, 4, 5 }, { 0, 3, 4, 1, 5, 2 } }, /* to space */
    };
    int64_t deep[] = { n, h, w, b, b, c }, deep_first[] = { n, b, b, c, h, w };
    int64_t wide[] = { n, h, b, w, b, c }, wide_first[] = { n, c, h, b, w, b };
    struct shape in = shape_make(6, to_space ? (channels_first ? deep_first : deep)
                                             : (channels_first ? wide_first : wide));
    const int *order = orders[to_space][channels_first];
    int64_t strides[SHAPE_RANK_MAX];
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    dense_strides(&in, strides);
    for (int d = 0; d < 6; d++)
        strided_append(&strided, in.dims[order[d]], strides[order[d]]);
    strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    return status_ok();
}

static struct status depth_space(struct kernel_context *k, bool to_space)
{
    const struct block_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    if (x->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "Input rank should be: 4 instead of: %d",
                            x->shape.rank);
    const int64_t *dims = x->shape.dims;
    int64_t b = state->size, h = dims[state->channels_first ? 2 : 1],
            w = dims[state->channels_first ? 3 : 2], c = dims[state->channels_first ? 1 : 3];
    if (to_space && c % (b * b) != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input depth dimension %lld should be divisible by: %lld", (long long)c,
                            (long long)(b * b));
    if (!to_space && (h % b != 0 || w % b != 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Image width %lld and height %lld should be divisible by block_size: "
                            "%lld",
                            (long long)w, (long long)h, (long long)b);
    if (to_space)
        return cut_and_read(k, dims[0], b, h, w, c / (b * b), true, state->channels_first);
    return cut_and_read(k, dims[0], b, h / b, w / b, c, false, state->channels_first);
}

static struct status depth_to_space_compute(struct kernel_context *k)
{
    return depth_space(k, true);
}

static struct status space_to_depth_compute(struct kernel_context *k)
{
    return depth_space(k, false);
}

static const struct kernel rows[] = {
    { "DepthToSpace", DTYPES_MOVED, .prepare = block_prepare, .compute = depth_to_space_compute },
    { "SpaceToDepth", DTYPES_MOVED, .prepare = block_prepare, .compute = space_to_depth_compute },
};
const struct kernel_table kernels_depth_to_space = { rows, COUNT(rows) };
