/*
 * composite: a ragged or sparse tensor, or a value of an ExtensionType, packed into one scalar. Its
 * tensors stand in a box, after the number of its class: TypeSpecProto.TypeSpecClass, which
 * `metadata`, a CompositeTensorVariantMetadata, begins with. Only the class must be the same where
 * the value is unpacked.
 */
#include "proto/wire.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"

static const char *class_name(int32_t class)
{
    static const char *const names[] = {
        "UNKNOWN",
        "SPARSE_TENSOR_SPEC",
        "INDEXED_SLICES_SPEC",
        "RAGGED_TENSOR_SPEC",
        "TENSOR_ARRAY_SPEC",
        "DATA_DATASET_SPEC",
        "DATA_ITERATOR_SPEC",
        "OPTIONAL_SPEC",
        "PER_REPLICA_SPEC",
        "VARIABLE_SPEC",
        "ROW_PARTITION_SPEC",
        "",
        "REGISTERED_TYPE_SPEC",
        "EXTENSION_TYPE_SPEC",
    };
    return class >= 0 && class < (int32_t)COUNT(names) ? names[class] : "";
}

static struct status read_class(struct bytes metadata, const char *error, int32_t *class)
{
    struct wire message = wire_of(metadata);
    struct wire_field type, field;
    bool damaged = false;
    *class = 0;
    while (wire_next(&message, &type)) {
        if (!wire_is(&type, 1, WIRE_BYTES))
            continue;
        struct wire spec = wire_of(type.bytes);
        while (wire_next(&spec, &field)) {
            if (wire_is(&field, 1, WIRE_VARINT))
                *class = (int32_t)field.value;
            else if (wire_is(&field, 2, WIRE_BYTES))
                damaged |= !wire_is_whole(field.bytes);
        }
        damaged |= spec.damaged;
    }
    if (damaged || message.damaged)
        return status_error(STATUS_INVALID_ARGUMENT, "%s", error);
    return status_ok();
}

static struct status prepare_class(struct prepare_context *p, const char *error)
{
    struct bytes metadata;
    int32_t *class = prepare_state(p, sizeof *class, NULL);
    TRY(node_attr_string(prepare_node(p), "metadata", &metadata));
    return read_class(metadata, error, class);
}

static struct status from_components_prepare(struct prepare_context *p)
{
    return prepare_class(p, "Error parsing metadata");
}

static struct status to_components_prepare(struct prepare_context *p)
{
    return prepare_class(p, "Error parsing `metadata`");
}

static struct status from_components_compute(struct kernel_context *k)
{
    int count = kernel_inputs_count(k);
    struct tensor *parts = ARENA_ARRAY(kernel_arena(k), struct tensor, count + 1);
    struct shape scalar = shape_scalar();
    TRY(kernel_scratch(k, DT_INT32, &scalar, &parts[0]));
    tensor_set_index(&parts[0], 0, *(const int32_t *)kernel_state(k));
    for (int i = 0; i < count; i++)
        parts[i + 1] = kernel_take_input(k, i);
    return tensor_box_output(k, BOX_COMPOSITE, count + 1, parts);
}

static struct status check_components(const struct kernel_context *k, const struct tensor_box *box)
{
    int32_t wanted = *(const int32_t *)kernel_state(k), given = tensor_int32s(&box->parts[0])[0];
    int count = kernel_outputs_count(k);
    if (given != wanted)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected a %s (based on `type_spec`), but `encoded` contains a %s",
                            class_name(wanted), class_name(given));
    if (box->count - 1 != count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Encoded value has %d tensor components; expected %d components based "
                            "on type_spec",
                            box->count - 1, count);
    for (int i = 0; i < count; i++) {
        enum dtype expected = kernel_node(k)->outputs[i].dtype, had = box->parts[i + 1].dtype;
        if (had != expected)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Tensor component %d had dtype %s; expected dtype %s", i,
                                dtype_enum_name(had), dtype_enum_name(expected));
    }
    return status_ok();
}

static struct status to_components_compute(struct kernel_context *k)
{
    const struct tensor *encoded = kernel_input(k, 0);
    const struct tensor_box *box =
        encoded->size > 0 ? tensor_box_at(encoded, 0, BOX_COMPOSITE) : NULL;
    if (box == NULL)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The input `encoded` is not a valid CompositeTensorVariant tensor");
    TRY(check_components(k, box));
    for (int i = 0; i < kernel_outputs_count(k); i++)
        kernel_output_set(k, i, tensor_acquire(&box->parts[i + 1]));
    return status_ok();
}

static const struct kernel rows[] = {
    { "CompositeTensorVariantFromComponents", DTYPES_ALL, .prepare = from_components_prepare,
      .compute = from_components_compute },
    { "CompositeTensorVariantToComponents", DTYPES_ALL, .prepare = to_components_prepare,
      .compute = to_components_compute },
};
const struct kernel_table kernels_composite = { rows, COUNT(rows) };
