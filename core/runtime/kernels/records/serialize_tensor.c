/* serialize_tensor: SerializeTensor and ParseTensor, a tensor as a TensorProto in a string. */
#include "runtime/kernels/kernel_tools.h"
#include "tensor/tensor_wire.h"

static struct status serialize_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct buffer text = { 0 };
    struct tensor *out;
    void *kept;

    if (!tensor_wire_can_put(x->dtype))
        return kernel_error(k, STATUS_UNIMPLEMENTED, "a tensor of %s as a TensorProto",
                            dtype_name(x->dtype));
    TRY(kernel_output(k, 0, &scalar, &out));
    enum tensor_wire_form form =
        x->dtype == DT_STRING ? TENSOR_WIRE_VALUES : TENSOR_WIRE_CONTENT; /* as TensorFlow */
    size_t size = tensor_wire_size(x, form);
    TRY(arena_reserve(kernel_arena(k), size + 1, &kept));
    if (!buffer_try_reserve(&text, size))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "no memory for a string of %zu bytes",
                            size);
    tensor_wire_put(x, form, &text);
    memcpy(kept, text.data, size);
    buffer_finish(&text);
    tensor_strings_mut(out)[0] = (struct bytes){ kept, size };
    return status_ok();
}

static struct status parse_prepare(struct prepare_context *p)
{
    enum dtype *dtype = prepare_state(p, sizeof *dtype, NULL);

    return node_attr_type(prepare_node(p), "out_type", dtype);
}

/* The elements may lie in the message, which need not live as long as the output. */
static struct status copy_parsed(struct kernel_context *k, const struct tensor *parsed)
{
    struct tensor *out;

    TRY(kernel_output(k, 0, &parsed->shape, &out));
    for (int64_t i = 0; i < parsed->size && parsed->dtype == DT_STRING; i++) {
        struct bytes text = tensor_strings(parsed)[i];
        void *kept;
        TRY(arena_reserve(kernel_arena(k), text.size + 1, &kept));
        if (text.size > 0)
            memcpy(kept, text.data, text.size);
        tensor_strings_mut(out)[i] = (struct bytes){ kept, text.size };
    }
    if (parsed->size > 0 && parsed->dtype != DT_STRING)
        memcpy(out->data, parsed->data, tensor_bytes(parsed));
    return status_ok();
}

static struct status parse_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    struct tensor_wire wire;
    struct tensor parsed;

    if (x->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected `serialized` to be a scalar, got shape: %s",
                            shape_text(&x->shape));
    TRY(tensor_wire_scan(tensor_strings(x)[0], &wire));
    /* A plan looks for packed shapes only if a feed has one. */
    TRY(shape_check_rank(shape_unpack(&wire.shape, dims)));
    if (wire.dtype != *dtype)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Type mismatch between parsed tensor (%s) and dtype (%s)",
                            dtype_name(wire.dtype), dtype_name(*dtype));
    TRY(tensor_wire_read(&wire, kernel_arena(k), &parsed));
    struct status status = copy_parsed(k, &parsed);
    tensor_release(&parsed);
    return status;
}

static const struct kernel rows[] = {
    { "SerializeTensor", DTYPES_MOVED, "T", .compute = serialize_compute },
    { "ParseTensor", DTYPES_MOVED, "out_type", .prepare = parse_prepare, .compute = parse_compute },
};
const struct kernel_table kernels_serialize_tensor = { rows, COUNT(rows) };
