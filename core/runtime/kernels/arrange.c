/*
 * arrange: the same elements in another order or more often: Transpose, Tile, BroadcastTo, Pad,
 * PadV2, MirrorPad, DepthToSpace, SpaceToDepth.
 */
#include <stdio.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

static struct status permutation_error(const struct tensor *perm, int missing)
{
    char text[SHAPE_RANK_MAX * 24] = "";
    size_t used = 0;
    for (int64_t d = 0; d < perm->size; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, d > 0 ? ",%lld" : "%lld",
                                 (long long)tensor_index(perm, d));
    return status_error(STATUS_INVALID_ARGUMENT, "%d is missing from {%s}.", missing, text);
}

static struct status transpose_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *perm = kernel_input(k, 1);
    int rank = x->shape.rank;
    int64_t strides[SHAPE_RANK_MAX];
    bool seen[SHAPE_RANK_MAX] = { false };
    struct strided strided = { 0 };
    struct shape shape = { 0 };
    struct tensor *out;
    bool same = true;
    if (perm->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "perm must be rank 1, got shape %s",
                            shape_text(&perm->shape));
    if (perm->size != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "transpose expects a vector of size %d. But input(1) is a vector of "
                            "size %lld",
                            rank, (long long)perm->size);
    dense_strides(&x->shape, strides);
    for (int d = 0; d < rank; d++) {
        int64_t given = tensor_index(perm, d), from = given < 0 ? given + rank : given;
        if (from < 0 || from >= rank)
            return status_error(STATUS_INVALID_ARGUMENT, "%lld is out of range [0 .. %d)",
                                (long long)given, rank);
        seen[from] = true;
        same &= from == d;
        shape_append(&shape, x->shape.dims[from]);
        strided_append(&strided, x->shape.dims[from], strides[from]);
    }
    for (int d = 0; d < rank; d++)
        if (!seen[d])
            return permutation_error(perm, d);
    if (same) {
        kernel_output_set(k, 0, kernel_take_input(k, 0));
        return status_ok();
    }
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    return status_ok();
}

static struct status tile_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *multiples = kernel_input(k, 1);
    int64_t strides[SHAPE_RANK_MAX];
    struct strided strided = { 0 };
    struct shape shape = { 0 };
    struct tensor *out;
    if (multiples->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected multiples to be 1-D, but got shape %s",
                            shape_text(&multiples->shape));
    if (multiples->size != x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected multiples argument to be a vector of length %d but got "
                            "length %lld",
                            x->shape.rank, (long long)multiples->size);
    dense_strides(&x->shape, strides);
    for (int d = 0; d < x->shape.rank; d++) {
        int64_t times = tensor_index(multiples, d), dim;
        if (times < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected multiples[%d] >= 0, but got %lld", d, (long long)times);
        if (__builtin_mul_overflow(times, x->shape.dims[d], &dim))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension %d would not fit int64", d);
        shape_append(&shape, dim);
        strided_append(&strided, times, 0);
        strided_append(&strided, x->shape.dims[d], strides[d]);
    }
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    return status_ok();
}

static struct status broadcast_to_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *wanted = kernel_input(k, 1);
    int64_t strides[SHAPE_RANK_MAX];
    struct strided strided = { 0 };
    struct shape shape = { 0 }, joint;
    struct tensor *out;
    if (wanted->shape.rank > 1 || wanted->size > SHAPE_RANK_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "shape must be a vector of at most %d, "
                            "but has shape %s",
                            SHAPE_RANK_MAX, shape_text(&wanted->shape));
    for (int64_t d = 0; d < wanted->size; d++)
        shape_append(&shape, tensor_index(wanted, d));
    TRY(shape_check(shape.rank, shape.dims, &shape));
    if (x->shape.rank > shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Rank of input (%d) must be no greater than rank of output shape (%d).",
                            x->shape.rank, shape.rank);
    if (!status_is_ok(shape_broadcast(&x->shape, &shape, &joint)) || !shape_equal(&joint, &shape))
        return status_error(STATUS_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                            shape_text(&x->shape), shape_text(&shape));
    dense_strides(&x->shape, strides);
    for (int d = 0; d < shape.rank; d++) {
        int from = d - (shape.rank - x->shape.rank);
        bool repeated = from < 0 || x->shape.dims[from] == 1;
        strided_append(&strided, shape.dims[d], repeated ? 0 : strides[from]);
    }
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    return status_ok();
}

/* ---- padding ---- */

struct pads {
    int64_t before[SHAPE_RANK_MAX];
    struct shape out;
};

static struct status read_pads(struct kernel_context *k, struct pads *pads)
{
    const struct tensor *x = kernel_input(k, 0), *list = kernel_input(k, 1);
    int rank = x->shape.rank;
    if (list->shape.rank != 2 || list->shape.dims[1] != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "paddings must be a matrix with 2 columns: %s",
                            shape_text(&list->shape));
    if (list->shape.dims[0] != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The first dimension of paddings must be the rank of inputs%s %s",
                            shape_text(&list->shape), shape_text(&x->shape));
    *pads = (struct pads){ 0 };
    for (int d = 0; d < rank; d++) {
        int64_t before = tensor_index(list, 2 * d), after = tensor_index(list, 2 * d + 1), dim;
        if (before < 0 || after < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Paddings must be non-negative: %lld %lld",
                                (long long)before, (long long)after);
        if (__builtin_add_overflow(before, after, &dim) ||
            __builtin_add_overflow(dim, x->shape.dims[d], &dim))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension %d would not fit int64", d);
        pads->before[d] = before;
        shape_append(&pads->out, dim);
    }
    return shape_check(pads->out.rank, pads->out.dims, &pads->out);
}

static struct status pad_compute(struct kernel_context *k)
{
    static const char zeros[16];
    const struct tensor *x = kernel_input(k, 0);
    const void *value = zeros;
    struct pads pads;
    struct strided strided = { 0 };
    struct tensor *out;
    int64_t strides[SHAPE_RANK_MAX], start = 0;
    if (kernel_inputs_count(k) > 2) { /* PadV2 */
        if (kernel_input(k, 2)->size != 1)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "constant_values must be a scalar. Found: %s",
                                shape_text(&kernel_input(k, 2)->shape));
        value = kernel_input(k, 2)->data;
    }
    TRY(read_pads(k, &pads));
    TRY(kernel_output(k, 0, &pads.out, &out));
    size_t size = dtype_size(x->dtype);
    if (out->size != x->size)
        repeat_element(out->data, size, value, out->size);
    if (x->size == 0)
        return status_ok();
    dense_strides(&pads.out, strides);
    for (int d = 0; d < x->shape.rank; d++) {
        strided_append(&strided, x->shape.dims[d], strides[d]);
        start += pads.before[d] * strides[d];
    }
    strided_write(&strided, size, x->data, at_bytes(out->data, start, size));
    return status_ok();
}

/* ---- MirrorPad ---- */

struct mirror_state {
    int offset; /* 1: REFLECT leaves the edge out; 0: SYMMETRIC repeats it */
};

static struct status mirror_prepare(struct prepare_context *p)
{
    struct mirror_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes mode;
    TRY(node_attr_string(prepare_node(p), "mode", &mode));
    state->offset = bytes_equal(mode, bytes_of("REFLECT"));
    if (!state->offset && !bytes_equal(mode, bytes_of("SYMMETRIC")))
        return status_error(STATUS_INVALID_ARGUMENT, "mode must be either REFLECT or SYMMETRIC.");
    return status_ok();
}

/* Where index i of a padded dimension comes from. */
static int64_t mirrored(int64_t i, int64_t before, int64_t dim, int offset)
{
    i -= before;
    if (i < 0)
        return -i - 1 + offset;
    return i < dim ? i : 2 * dim - 1 - offset - i;
}

static struct status mirror_pad_compute(struct kernel_context *k)
{
    const struct mirror_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int rank = x->shape.rank;
    struct pads pads;
    struct tensor *out;
    int64_t strides[SHAPE_RANK_MAX], at[SHAPE_RANK_MAX] = { 0 };
    TRY(read_pads(k, &pads));
    for (int d = 0; d < rank; d++) {
        int64_t most = x->shape.dims[d] - state->offset;
        int64_t after = pads.out.dims[d] - x->shape.dims[d] - pads.before[d];
        if (pads.before[d] > most || after > most)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "paddings must be %s the dimension size: %lld, %lld %s %lld",
                                state->offset ? "less than" : "no greater than",
                                (long long)pads.before[d], (long long)after,
                                state->offset ? "not less than" : "greater than",
                                (long long)x->shape.dims[d]);
    }
    TRY(kernel_output(k, 0, &pads.out, &out));
    dense_strides(&x->shape, strides);
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < out->size; i++) {
        int64_t from = 0;
        for (int d = 0; d < rank; d++)
            from += strides[d] * mirrored(at[d], pads.before[d], x->shape.dims[d], state->offset);
        memcpy(at_bytes(out->data, i, size), at_bytes_const(x->data, from, size), size);
        for (int d = rank - 1; d >= 0 && ++at[d] == pads.out.dims[d]; d--)
            at[d] = 0;
    }
    return status_ok();
}

/* ---- DepthToSpace, SpaceToDepth ---- */

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
    { "Transpose", DTYPES_MOVED, .compute = transpose_compute },
    { "Tile", DTYPES_MOVED, .compute = tile_compute },
    { "BroadcastTo", DTYPES_MOVED, .compute = broadcast_to_compute },
    { "Pad", DTYPES_MOVED, .compute = pad_compute },
    { "PadV2", DTYPES_MOVED, .compute = pad_compute },
    { "MirrorPad", DTYPES_MOVED, .prepare = mirror_prepare, .compute = mirror_pad_compute },
    { "DepthToSpace", DTYPES_MOVED, .prepare = block_prepare, .compute = depth_to_space_compute },
    { "SpaceToDepth", DTYPES_MOVED, .prepare = block_prepare, .compute = space_to_depth_compute },
};
const struct kernel_table kernels_arrange = { rows, COUNT(rows) };
