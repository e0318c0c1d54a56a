/* decode_compressed: DecodeCompressed, the contents of zlib and gzip streams. */
#include "runtime/kernels/decompress.h"
#include "runtime/kernels/kernel_tools.h"

static struct status compressed_prepare(struct prepare_context *p)
{
    enum compression *compression = prepare_state(p, sizeof *compression, NULL);
    struct bytes type;
    TRY(node_attr_string(prepare_node(p), "compression_type", &type));
    if (bytes_equal(type, bytes_of("ZSTD")))
        return status_error(STATUS_UNIMPLEMENTED, "DecodeCompressed of ZSTD");
    if (!compression_parse(type, compression))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Only ZLIB, ZSTD, GZIP or NONE are supported compressions");
    return status_ok();
}

static struct status compressed_compute(struct kernel_context *k)
{
    const enum compression *compression = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        TRY(decompress(k, *compression, tensor_strings(x)[i], &tensor_strings_mut(out)[i]));
    return status_ok();
}

static const struct kernel rows[] = {
    { "DecodeCompressed", DTYPES_ALL, .prepare = compressed_prepare, .compute = compressed_compute,
      .costly = true },
};
const struct kernel_table kernels_decode_compressed = { rows, COUNT(rows) };
