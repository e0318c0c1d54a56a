/* Serialized Examples: a single one and a batch of two, parsed by a specification that has dense,
 * sparse and ragged features. */
#include <stddef.h>
#include <stdint.h>

#include "storage/example.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct example_spec *spec;
    static float zeros[2];
    static struct bytes padding = { "pad", 3 };
    const struct example_feature features[] = {
        { EXAMPLE_SPARSE, { "a", 1 }, DT_FLOAT, { 0 }, DT_INVALID },
        { EXAMPLE_SPARSE, { "b", 1 }, DT_STRING, { 0 }, DT_INVALID },
        { EXAMPLE_DENSE, { "c", 1 }, DT_FLOAT, shape_of(2), DT_INVALID },
        { EXAMPLE_DENSE, { "d", 1 }, DT_STRING, shape_of(-1, 2), DT_INVALID },
        { EXAMPLE_RAGGED, { "e", 1 }, DT_INT64, { 0 }, DT_INT32 },
        { EXAMPLE_RAGGED, { "f", 1 }, DT_STRING, { 0 }, DT_INT64 },
    };
    if (spec == NULL && !status_is_ok(example_spec_create(features, 6, &spec)))
        __builtin_trap();

    struct shape two = shape_of(2), scalar = shape_scalar();
    struct tensor fixed = tensor_borrow(DT_FLOAT, &two, zeros);
    struct tensor variable = tensor_borrow(DT_STRING, &scalar, &padding);
    const struct tensor *defaults[] = { &fixed, &variable };
    size_t half = size > 0 ? data[0] * size / 256 : 0;
    struct bytes strings[] = { { (const char *)data, half },
                               { (const char *)data + half, size - half } };
    struct bytes all = { (const char *)data, size };
    struct tensor batch = tensor_borrow(DT_STRING, &two, strings);
    struct tensor single = tensor_borrow(DT_STRING, &scalar, &all);
    const struct tensor *inputs[] = { &batch, &single };
    struct tensor outputs[16];
    for (int i = 0; i < 2; i++)
        if (status_is_ok(example_parse(spec, inputs[i], NULL, defaults, NULL, outputs)))
            tensors_release(example_spec_outputs_count(spec), outputs);
    return 0;
}
