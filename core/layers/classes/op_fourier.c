/* op_fourier: Fourier transforms. Keras has complex numbers as pairs of tensors, the real and the
 * imaginary parts. */
#include "layers/classes/image.h"
#include "layers/classes/op.h"

/* Checks that axes to transform are after the batch and known. */
static bool has_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
                     int axes)
{
    const struct shape *shape = endpoint_shape(x);

    if (shape->rank > axes)
        return layer_check_known(context, layer, x, shape->rank - axes);
    layer_fail(context, layer, "the input has shape %s, expected the batch and %d more dimensions",
               shape_text(shape), axes);
    return false;
}

static int64_t last_size(struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);

    return shape->dims[shape->rank - 1];
}

/* x with zeros after the numbers of its last axis, if these are fewer than `least`. */
static struct endpoint pad_to(struct builder *b, struct endpoint x, int64_t least)
{
    int32_t paddings[2 * SHAPE_RANK_MAX] = { 0 };
    int rank = endpoint_shape(x)->rank;

    if (last_size(x) >= least)
        return x;
    paddings[2 * rank - 1] = (int32_t)(least - last_size(x));
    return pad_zeros(b, x, rank, paddings);
}

/* The pair of inputs as complex numbers, at least `least` along the last axis. Returns false on
 * failure. */
static bool read_pair(struct layer_context *context, const struct layer *layer,
                      const struct layer_io *io, int axes, int64_t least, struct endpoint *out)
{
    struct endpoint pair[2];

    if (io->call->inputs_count != 2) {
        layer_fail(context, layer, "it has %d inputs, expected the real and the imaginary parts",
                   io->call->inputs_count);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        pair[i] = io->inputs[i].value;
        if (pair[i].node == NULL || !op_floats(context, layer, &pair[i]) ||
            !has_axes(context, layer, pair[i], axes))
            return false;
    }
    if (endpoint_shape(pair[0])->rank != endpoint_shape(pair[1])->rank ||
        !layer_check_broadcast(context, layer, pair[0], pair[1])) {
        layer_fail(context, layer, "parts of shapes %s and %s", shape_text(endpoint_shape(pair[0])),
                   shape_text(endpoint_shape(pair[1])));
        return false;
    }
    for (int i = 0; i < 2; i++)
        pair[i] = pad_to(&context->builder, pair[i], least);
    *out = build(&context->builder, "Complex", NULL, 2, pair, NULL);
    return status_is_ok(context->builder.status);
}

static void give_pair(struct layer_context *context, struct layer_io *io, struct endpoint y)
{
    op_give(io, build_unary(&context->builder, "Real", NULL, y));
    io->outputs[1].value = build_unary(&context->builder, "Imag", NULL, y);
    io->outputs_count = 2;
}

static void transform(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                      const char *op, int axes)
{
    struct endpoint x;

    if (read_pair(context, layer, io, axes, 0, &x))
        give_pair(context, io, build_unary(&context->builder, op, NULL, x));
}

static void fft_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    transform(context, layer, io, "FFT", 1);
}
OP_CLASS(fft, "FFT", op_x, fft_call);

static void fft2_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    transform(context, layer, io, "FFT2D", 2);
}
OP_CLASS(fft2, "FFT2", op_x, fft2_call);

static void ifft2_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    transform(context, layer, io, "IFFT2D", 2);
}
OP_CLASS(ifft2, "IFFT2", op_x, ifft2_call);

/* ---- of real numbers ---- */

static const struct layer_arg real_args[] = {
    { "fft_length", ARG_NULL_OR_INT, "null" },
};

/* The argument "fft_length"; 0: it is not given, -1: wrong. */
static int64_t length_of(struct layer_context *context, const struct layer *layer)
{
    const struct arg_value *given = layer_arg(layer, "fft_length");

    if (given->is_null)
        return 0;
    if (given->integer >= 1 && given->integer <= INT32_MAX)
        return given->integer;
    layer_fail(context, layer, "argument 'fft_length': got %lld, expected 1 or more",
               (long long)given->integer);
    return -1;
}

static struct endpoint of_length(struct builder *b, const char *op, struct endpoint x,
                                 int64_t length)
{
    const int32_t lengths[] = { (int32_t)length };

    return build_binary(b, op, NULL, x, build_const_ints(b, NULL, 1, lengths));
}

static void rfft_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int64_t length = length_of(context, layer);

    if (length < 0 || !op_floats(context, layer, &x) || !has_axes(context, layer, x, 1))
        return;
    if (length == 0)
        length = last_size(x);
    give_pair(context, io, of_length(b, "RFFT", pad_to(b, x, length), length));
}
OP_ARGS_CLASS(rfft, "RFFT", real_args, op_x, rfft_call);

static void irfft_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    struct endpoint x;
    int64_t length = length_of(context, layer);

    if (length < 0 || !read_pair(context, layer, io, 1, length / 2 + 1, &x))
        return;
    if (length == 0)
        length = 2 * (last_size(x) - 1);
    if (length == 0)
        layer_fail(context, layer, "the input has one number and no argument 'fft_length'");
    else
        op_give(io, of_length(&context->builder, "IRFFT", x, length));
}
OP_ARGS_CLASS(irfft, "IRFFT", real_args, op_x, irfft_call);
