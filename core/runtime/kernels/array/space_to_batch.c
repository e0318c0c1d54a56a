/* SpaceToBatchND and BatchToSpaceND, and SpaceToBatch and BatchToSpace, which cut rows and columns
 * by one size. */
#include "runtime/kernels/kernel_tools.h"

/* Maps the elements of the large image to those of the large batch, for both ops. */
struct spaces {
    int blocks; /* spatial dimensions that are cut */
    int64_t block[SHAPE_RANK_MAX], before[SHAPE_RANK_MAX];
    struct shape image, batch; /* the image without padding */
};

/* The sizes of blocks, which are an input or an attribute (kernel_state). */
static struct status read_sizes(struct kernel_context *k, struct spaces *s)
{
    const struct tensor *x = kernel_input(k, 0), *block = kernel_input(k, 1);
    const int64_t *same = kernel_state(k);
    int64_t count = same != NULL ? 2 : block->size;
    if ((same == NULL && block->shape.rank != 1) || count + 1 > x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT, "input rank should be >= %lld instead of %d",
                            (long long)(count + 1), x->shape.rank);
    if (same != NULL && x->shape.rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input rank should be 4 instead of %d",
                            x->shape.rank);
    *s = (struct spaces){ .blocks = (int)count };
    for (int d = 0; d < s->blocks; d++)
        s->block[d] = same != NULL ? *same : tensor_index(block, d);
    return status_ok();
}

static struct status read_blocks(struct kernel_context *k, bool to_batch, struct spaces *s)
{
    const struct tensor *x = kernel_input(k, 0);
    const struct tensor *pads = kernel_input(k, kernel_inputs_count(k) - 1);
    int64_t product = 1;
    TRY(read_sizes(k, s));
    if (pads->shape.rank != 2 || pads->shape.dims[0] != s->blocks || pads->shape.dims[1] != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "%s should have shape [%d, 2] instead of %s",
                            to_batch ? "paddings" : "crops", s->blocks, shape_text(&pads->shape));
    s->image = s->batch = x->shape;
    for (int d = 0; d < s->blocks; d++) {
        int64_t b = s->block[d], before = tensor_index(pads, 2 * d);
        int64_t after = tensor_index(pads, 2 * d + 1), dim = x->shape.dims[d + 1], padded;
        if (b < 1 || b > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "All values in block_shape must be positive");
        if (before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT, "%s must be non-negative",
                                to_batch ? "Paddings" : "Crops");
        if (__builtin_mul_overflow(product, b, &product) ||
            __builtin_mul_overflow(dim, to_batch ? 1 : b, &padded) ||
            __builtin_add_overflow(padded, to_batch ? before + after : -before - after, &padded))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "blocks are too large");
        if (to_batch && padded % b != 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "padded_shape[%d]=%lld is not divisible by block_shape[%d]=%lld", d,
                                (long long)padded, d, (long long)b);
        if (padded < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "cropped_shape[%d]=%lld must be non-negative", d,
                                (long long)padded);
        s->before[d] = before;
        if (to_batch)
            s->batch.dims[d + 1] = padded / b;
        else
            s->image.dims[d + 1] = padded;
    }
    if (to_batch) {
        if (__builtin_mul_overflow(s->batch.dims[0], product, &s->batch.dims[0]))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "blocks are too large");
        return shape_check(s->batch.rank, s->batch.dims, &s->batch);
    }
    if (s->image.dims[0] % product != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input batch dimension (%lld) is not divisible by product of block "
                            "sizes (%lld)",
                            (long long)s->image.dims[0], (long long)product);
    s->image.dims[0] /= product;
    return shape_check(s->image.rank, s->image.dims, &s->image);
}

/* Visits all runs of the inner dimensions of the batch side; `image_at` is -1 in the padding. */
static void walk_spaces(const struct spaces *s, size_t bytes, bool to_batch, const char *x,
                        char *out)
{
    int64_t inner = shape_inner(&s->batch, s->blocks), runs = shape_outer(&s->batch, s->blocks + 1);
    size_t run = (size_t)inner * bytes;
    for (int64_t r = 0; r < runs; r++) {
        int64_t rest = r, at[SHAPE_RANK_MAX];
        for (int d = s->blocks; d > 0; d--) {
            at[d] = rest % s->batch.dims[d];
            rest /= s->batch.dims[d];
        }
        int64_t image_at = rest % s->image.dims[0];
        int64_t cut = rest / s->image.dims[0]; /* index of the block, last dimension fastest */
        int64_t offset[SHAPE_RANK_MAX];
        for (int d = s->blocks - 1; d >= 0; d--) {
            offset[d] = cut % s->block[d];
            cut /= s->block[d];
        }
        for (int d = 0; d < s->blocks && image_at >= 0; d++) {
            int64_t place = at[d + 1] * s->block[d] + offset[d] - s->before[d];
            bool inside = place >= 0 && place < s->image.dims[d + 1];
            image_at = inside ? image_at * s->image.dims[d + 1] + place : -1;
        }
        if (to_batch && image_at < 0)
            memset(out + (size_t)r * run, 0, run);
        else if (to_batch)
            memcpy(out + (size_t)r * run, x + (size_t)image_at * run, run);
        else if (image_at >= 0)
            memcpy(out + (size_t)image_at * run, x + (size_t)r * run, run);
    }
}

static struct status batch_space(struct kernel_context *k, bool to_batch)
{
    const struct tensor *x = kernel_input(k, 0);
    struct spaces s;
    struct tensor *out;
    TRY(read_blocks(k, to_batch, &s));
    TRY(kernel_output(k, 0, to_batch ? &s.batch : &s.image, &out));
    if (out->size == 0)
        return status_ok();
    if (x->size == 0)
        memset(out->data, 0, tensor_bytes(out));
    else
        walk_spaces(&s, dtype_size(x->dtype), to_batch, x->data, out->data);
    return status_ok();
}

static struct status to_batch_compute(struct kernel_context *k)
{
    return batch_space(k, true);
}

static struct status to_space_compute(struct kernel_context *k)
{
    return batch_space(k, false);
}

static struct status size_prepare(struct prepare_context *p)
{
    int64_t *size = prepare_state(p, sizeof *size, NULL);
    return node_attr_int(prepare_node(p), "block_size", size);
}

static const struct kernel rows[] = {
    { "SpaceToBatch", DTYPES_MOVED, "T", .prepare = size_prepare, .compute = to_batch_compute },
    { "BatchToSpace", DTYPES_MOVED, "T", .prepare = size_prepare, .compute = to_space_compute },
    { "SpaceToBatchND", DTYPES_MOVED, "T", .compute = to_batch_compute },
    { "BatchToSpaceND", DTYPES_MOVED, "T", .compute = to_space_compute },
};
const struct kernel_table kernels_space_to_batch = { rows, COUNT(rows) };
