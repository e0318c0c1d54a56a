#include "runtime/kernels/lists/tensor_box.h"

static void box_destroy(struct object *object)
{
    struct tensor_box *box = (struct tensor_box *)object;
    struct tensor self = box->self;
    tensors_release(box->count, box->parts);
    tensor_release(&self); /* with it the box */
}

static const struct object_type types[] = {
    [BOX_RAGGED] = { "RaggedTensorVariant", box_destroy },
    [BOX_PLAIN] = { "Tensor", box_destroy },
    [BOX_OPTIONAL] = { "optional", box_destroy },
    [BOX_CSR] = { "CSRSparseMatrix", box_destroy },
    [BOX_TEXT_CHANGES] = { "tensorflow::OffsetMap", box_destroy },
    [BOX_COMPOSITE] = { "CompositeTensorVariant", box_destroy },
};

struct status tensor_box_create(struct kernel_context *k, enum box_kind kind, int count,
                                struct tensor *parts, struct object **out)
{
    struct shape size =
        shape_of((int64_t)(sizeof(struct tensor_box) + (size_t)count * sizeof *parts));
    struct tensor self;
    struct status status = kernel_scratch(k, DT_UINT8, &size, &self);
    if (!status_is_ok(status)) {
        tensors_release(count, parts);
        return status;
    }
    struct tensor_box *box = self.data;
    *box = (struct tensor_box){ .object = { .type = &types[kind], .references = 1 },
                                .self = self,
                                .count = count };
    for (int i = 0; i < count; i++)
        box->parts[i] = parts[i];
    *out = &box->object;
    return status_ok();
}

struct status tensor_box_output(struct kernel_context *k, enum box_kind kind, int count,
                                struct tensor *parts)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    struct object *made;
    TRY(tensor_box_create(k, kind, count, parts, &made));
    struct status status = kernel_output(k, 0, &scalar, &out);
    if (status_is_ok(status))
        tensor_variants_mut(out)[0] = made;
    else
        object_release(made);
    return status;
}

const struct tensor_box *tensor_box_at(const struct tensor *variants, int64_t i, enum box_kind kind)
{
    const struct object *object = tensor_variants(variants)[i];
    return object != NULL && object->type == &types[kind] ? (const struct tensor_box *)object
                                                          : NULL;
}
