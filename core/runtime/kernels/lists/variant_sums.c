/* AddN and ZerosLike of variants: of optionals and ragged tensors here, of lists in
 * tensor_list_ops.c, of maps in tensor_map.c. */
#include "runtime/kernels/lists/variant_sums.h"

#include <string.h>

#include "runtime/kernels/combine.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "runtime/kernels/lists/tensor_list.h"
#include "runtime/kernels/lists/tensor_map.h"

/* NULL: input `index` is no scalar of this kind. */
static const struct tensor_box *find_box(const struct kernel_context *k, int index,
                                         enum box_kind kind)
{
    const struct tensor *variant = kernel_input(k, index);
    return variant->shape.rank == 0 ? tensor_box_at(variant, 0, kind) : NULL;
}

/* ---- AddN ---- */

/* Do they have values that can be added? */
static struct status check_parts(struct kernel_context *k, const struct tensor *a,
                                 const struct tensor *b)
{
    if (a->dtype != b->dtype)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to add two tensors with incompatible element types. One is %s "
                            "and the other is %s",
                            dtype_name(a->dtype), dtype_name(b->dtype));
    if (!shape_equal(&a->shape, &b->shape)) {
        const char *text = shape_text(&a->shape);
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to add two tensors with incompatible element shapes. One is %s "
                            "and the other is %s",
                            text, shape_text(&b->shape));
    }
    if ((DTYPES_COMBINED & DTYPES(a->dtype)) != 0)
        return status_ok();
    if (a->dtype == DT_VARIANT)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "the sum of variants in variants");
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "Trying to add unsupported dtype %d", a->dtype);
}

struct status variant_part_add(struct kernel_context *k, struct tensor *a, const struct tensor *b)
{
    struct tensor sum;
    TRY(check_parts(k, a, b));
    TRY(kernel_scratch(k, a->dtype, &a->shape, &sum));
    copy_elements(sum.dtype, sum.data, a->data, a->size);
    combine_elements(COMBINE_ADD, sum.dtype, b->data, sum.data, sum.size);
    tensor_release(a);
    *a = sum;
    return status_ok();
}

static struct status add_optional(struct kernel_context *k, int count, struct tensor *sums,
                                  const struct tensor_box *other)
{
    if ((count == 0) != (other->count == 0))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Cannot add optionals because one has a value and the other doesn't.");
    if (count != other->count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Cannot add optionals because they have different numbers of "
                            "components (%d vs. %d).",
                            count, other->count);
    for (int i = 0; i < count; i++)
        TRY(variant_part_add(k, &sums[i], &other->parts[i]));
    return status_ok();
}

/* The values are added; they must be in the same rows. */
static struct status add_ragged(struct kernel_context *k, int count, struct tensor *sums,
                                const struct tensor_box *other)
{
    int last = count - 1;
    if (sums[last].dtype != other->parts[other->count - 1].dtype)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Can't add RaggedTensorVariants of different dtypes. One is %s and the "
                            "other is %s",
                            dtype_name(sums[last].dtype),
                            dtype_name(other->parts[other->count - 1].dtype));
    if (count != other->count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Can't add RaggedTensorVariants of different ragged rank. One is %d "
                            "and the other is %d",
                            last, other->count - 1);
    for (int i = 0; i < last; i++)
        if (!tensor_equal(&sums[i], &other->parts[i]))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Can't add RaggedTensorVariants with different row_splits.");
    return variant_part_add(k, &sums[last], &other->parts[last]);
}

static struct status add_boxes(struct kernel_context *k, enum box_kind kind,
                               const struct tensor_box *first)
{
    int count = first->count;
    struct tensor *sums = ARENA_ARRAY(kernel_arena(k), struct tensor, count + 1);
    struct status status = status_ok();
    for (int i = 0; i < count; i++)
        sums[i] = tensor_acquire(&first->parts[i]);
    for (int i = 1; i < kernel_inputs_count(k) && status_is_ok(status); i++) {
        const struct tensor_box *other = find_box(k, i, kind);
        if (other == NULL)
            status =
                kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d is no %s, but input 0 is one", i,
                             kind == BOX_RAGGED ? "ragged tensor" : "optional");
        else
            status = (kind == BOX_RAGGED ? add_ragged : add_optional)(k, count, sums, other);
    }
    if (status_is_ok(status))
        return tensor_box_output(k, kind, count, sums);
    tensors_release(count, sums);
    return status;
}

static struct status add_n_compute(struct kernel_context *k)
{
    const struct tensor_box *optional = find_box(k, 0, BOX_OPTIONAL),
                            *ragged = find_box(k, 0, BOX_RAGGED);
    if (optional != NULL)
        return add_boxes(k, BOX_OPTIONAL, optional);
    if (ragged != NULL)
        return add_boxes(k, BOX_RAGGED, ragged);
    return tensor_map_is_input(k) ? tensor_map_add_n(k) : tensor_list_add_n(k);
}

/* ---- ZerosLike ---- */

static struct status zero_part(struct kernel_context *k, const struct tensor *part,
                               struct tensor *out)
{
    if (part->dtype == DT_VARIANT)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "zeros like an optional of variants");
    if (((DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL)) & DTYPES(part->dtype)) == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Trying to compute zeros_like for unsupported dtype %s",
                            dtype_name(part->dtype));
    TRY(kernel_scratch(k, part->dtype, &part->shape, out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

static struct status zeros_like_optional(struct kernel_context *k, const struct tensor_box *like)
{
    struct tensor *zeros = ARENA_ARRAY(kernel_arena(k), struct tensor, like->count + 1);
    for (int i = 0; i < like->count; i++) {
        struct status status = zero_part(k, &like->parts[i], &zeros[i]);
        if (!status_is_ok(status)) {
            tensors_release(i, zeros);
            return status;
        }
    }
    return tensor_box_output(k, BOX_OPTIONAL, like->count, zeros);
}

/* The same rows with zeros for values. */
static struct status zeros_like_ragged(struct kernel_context *k, const struct tensor_box *like)
{
    struct tensor *parts = ARENA_ARRAY(kernel_arena(k), struct tensor, like->count);
    int last = like->count - 1;
    TRY(zero_part(k, &like->parts[last], &parts[last]));
    for (int i = 0; i < last; i++)
        parts[i] = tensor_acquire(&like->parts[i]);
    return tensor_box_output(k, BOX_RAGGED, like->count, parts);
}

static struct status zeros_like_compute(struct kernel_context *k)
{
    const struct tensor_box *optional = find_box(k, 0, BOX_OPTIONAL),
                            *ragged = find_box(k, 0, BOX_RAGGED);
    if (optional != NULL)
        return zeros_like_optional(k, optional);
    if (ragged != NULL)
        return zeros_like_ragged(k, ragged);
    return tensor_map_is_input(k) ? tensor_map_zeros_like(k) : tensor_list_zeros_like(k);
}

static const struct kernel rows[] = {
    { "AddN", DTYPES(DT_VARIANT), .compute = add_n_compute },
    { "ZerosLike", DTYPES(DT_VARIANT), .compute = zeros_like_compute },
};
const struct kernel_table kernels_variant_sums = { rows, COUNT(rows) };
