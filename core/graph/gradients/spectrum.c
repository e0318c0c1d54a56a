/* Gradients of complex numbers and of Fourier transforms. The gradient of a complex number is
 * conjugate to the derivative, as in TensorFlow. Source: math_grad.py, fft_ops.py. */
#include <math.h>

#include "graph/gradients/emit.h"

static struct endpoint complex_of(struct gradient_context *c, struct endpoint real,
                                  struct endpoint imaginary)
{
    bool wide = endpoint_dtype(real) == DT_DOUBLE;
    const struct endpoint inputs[] = { real, imaginary };
    const struct attr attrs[] = { attr_type("Tout", wide ? DT_COMPLEX128 : DT_COMPLEX64),
                                  ATTR_END };

    return build(c->builder, "Complex", NULL, 2, inputs, attrs);
}

/* Real, Imag, Angle: ops whose result is real. */
static struct endpoint part_of(struct gradient_context *c, const char *op, struct endpoint x)
{
    bool wide = endpoint_dtype(x) == DT_COMPLEX128;
    const struct attr attrs[] = { attr_type("Tout", wide ? DT_DOUBLE : DT_FLOAT), ATTR_END };

    return build(c->builder, op, NULL, 1, &x, attrs);
}

struct status gradient_real(struct gradient_context *c)
{
    return flow(c, 0, complex_of(c, dy(c), number(c, dy(c), 0)));
}

struct status gradient_imag(struct gradient_context *c)
{
    return flow(c, 0, complex_of(c, number(c, dy(c), 0), dy(c)));
}

struct status gradient_complex(struct gradient_context *c)
{
    if (c->wanted[0])
        send(c, 0, reduce_to(c, part_of(c, "Real", dy(c)), 0));
    if (c->wanted[1])
        send(c, 1, reduce_to(c, part_of(c, "Imag", dy(c)), 1));
    return status_ok();
}

struct status gradient_conj(struct gradient_context *c)
{
    return flow(c, 0, unary(c, "Conj", dy(c)));
}

struct status gradient_angle(struct gradient_context *c)
{
    struct endpoint x = input(c, 0);
    struct endpoint swapped = complex_of(c, part_of(c, "Imag", x), part_of(c, "Real", x));
    struct endpoint gradient = complex_of(c, dy(c), number(c, dy(c), 0));

    return flow(c, 0, unary(c, "Neg", mul(c, gradient, unary(c, "Reciprocal", swapped))));
}

/* dy x / |x|, and 0 at 0 */
struct status gradient_complex_abs(struct gradient_context *c)
{
    struct endpoint zero = number(c, dy(c), 0);
    struct endpoint gradient = mul(c, complex_of(c, dy(c), zero), input(c, 0));

    return flow(c, 0, binary(c, "DivNoNan", gradient, complex_of(c, output(c), zero)));
}

/* ---- Fourier transforms of `rank` dimensions ---- */

/* The number of elements in the last `rank` dimensions of x, as a scalar of `like`'s dtype. */
static struct status transform_size(struct gradient_context *c, struct endpoint x, int rank,
                                    struct endpoint like, struct endpoint *out)
{
    const struct shape *shape = endpoint_shape(x);
    double size = 1;

    if (shape->rank < rank)
        return not_constant(c, "the rank of its input");
    for (int i = shape->rank - rank; i < shape->rank; i++)
        size = shape->dims[i] < 0 ? NAN : size * (double)shape->dims[i];
    if (!isnan(size)) {
        *out = number(c, like, size);
        return status_ok();
    }
    const int32_t from = shape->rank - rank, count = rank;
    const struct endpoint all[] = {
        build_slice(c->builder, NULL, unary(c, "Shape", x), 1, &from, &count),
        build_const_int(c->builder, 0),
    };
    *out = as_type(c, build(c->builder, "Prod", NULL, 2, all, NULL), endpoint_dtype(like));
    return status_ok();
}

static struct status transform(struct gradient_context *c, const char *inverse, int rank)
{
    struct endpoint size;

    TRY(transform_size(c, dy(c), rank, dy(c), &size));
    return flow(c, 0, mul(c, unary(c, inverse, dy(c)), size));
}

static struct status inverse_transform(struct gradient_context *c, const char *forward, int rank)
{
    struct endpoint size;

    TRY(transform_size(c, dy(c), rank, dy(c), &size));
    return flow(c, 0, mul(c, unary(c, forward, dy(c)), unary(c, "Reciprocal", size)));
}

struct status gradient_fft(struct gradient_context *c)
{
    return transform(c, "IFFT", 1);
}

struct status gradient_fft2d(struct gradient_context *c)
{
    return transform(c, "IFFT2D", 2);
}

struct status gradient_fft3d(struct gradient_context *c)
{
    return transform(c, "IFFT3D", 3);
}

struct status gradient_ifft(struct gradient_context *c)
{
    return inverse_transform(c, "FFT", 1);
}

struct status gradient_ifft2d(struct gradient_context *c)
{
    return inverse_transform(c, "FFT2D", 2);
}

struct status gradient_ifft3d(struct gradient_context *c)
{
    return inverse_transform(c, "FFT3D", 3);
}

/* ---- transforms of real numbers, whose result leaves out what is conjugate to the rest ---- */

/* The last length of the transform, a constant. */
static struct status last_length(struct gradient_context *c, int rank, int64_t *out)
{
    int64_t lengths[3];
    int count;

    if (!constant_ints(c, 1, 3, lengths, &count) || count != rank)
        return not_constant(c, "fft_length");
    *out = lengths[rank - 1];
    return status_ok();
}

static struct endpoint real_transform(struct gradient_context *c, const char *op, struct endpoint x,
                                      const char *type, enum dtype dtype)
{
    const struct endpoint inputs[] = { x, input(c, 1) };

    return build(c->builder, op, NULL, 2, inputs,
                 (const struct attr[]){ attr_type(type, dtype), ATTR_END });
}

/* A vector of floats, in the dtype of `like`. */
static struct endpoint vector_like(struct gradient_context *c, int64_t count, const float *values,
                                   struct endpoint like)
{
    const struct shape shape = shape_of(count);
    struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, values);

    return as_type(c, build_const(c->builder, NULL, &tensor), endpoint_dtype(like));
}

/* [count] of 1 and, in turn, `second`. */
static struct endpoint alternating(struct gradient_context *c, int64_t count, float second,
                                   struct endpoint like)
{
    float *values = arena_array(c->builder->graph->arena, sizeof *values, (size_t)count + 1);

    for (int64_t i = 0; i < count; i++)
        values[i] = i % 2 == 0 ? 1 : second;
    return vector_like(c, count, values, like);
}

#define LENGTH_MAX 1000000 /* of a mask that becomes a constant of the graph */

/* IRFFT and IRFFT2D: twice what has a conjugate that was left out. */
static struct status inverse_real(struct gradient_context *c, const char *forward, int rank)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    enum dtype dtype = endpoint_dtype(input(c, 0));
    struct endpoint size;
    int64_t length = 0;

    TRY(last_length(c, rank, &length));
    if (shape->rank < rank || shape->dims[shape->rank - 1] < 1 ||
        shape->dims[shape->rank - 1] > LENGTH_MAX)
        return not_constant(c, "the last dimension of its input");
    int64_t count = shape->dims[shape->rank - 1];
    float *values = arena_array(c->builder->graph->arena, sizeof *values, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        values[i] = i == 0 || (i == count - 1 && length % 2 == 0) ? 1 : 2;
    TRY(transform_size(c, dy(c), rank, dy(c), &size));
    struct endpoint mask = vector_like(c, count, values, dy(c));
    struct endpoint scale = as_type(c, binary(c, "RealDiv", mask, size), dtype);
    struct endpoint gradient = real_transform(c, forward, dy(c), "Tcomplex", dtype);
    return flow(c, 0, mul(c, gradient, scale));
}

struct status gradient_irfft(struct gradient_context *c)
{
    return inverse_real(c, "RFFT", 1);
}

struct status gradient_irfft2d(struct gradient_context *c)
{
    return inverse_real(c, "RFFT2D", 2);
}

/* dy[..., at : at + 1] */
static struct endpoint column(struct gradient_context *c, int rank, int64_t at)
{
    int32_t begin[SHAPE_RANK_MAX] = { 0 }, size[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++)
        size[i] = -1;
    begin[rank - 1] = (int32_t)at;
    size[rank - 1] = 1;
    return build_slice(c->builder, NULL, dy(c), rank, begin, size);
}

/* [n, n] of e^(-2πi a b / n), times the conjugate of x [.., n, 1] */
static struct endpoint twiddled(struct gradient_context *c, int64_t n, struct endpoint x)
{
    bool wide = endpoint_dtype(x) == DT_COMPLEX128;
    struct endpoint line = build_range(c->builder, build_const_int(c->builder, (int32_t)n));
    line = as_type(c, line, wide ? DT_DOUBLE : DT_FLOAT);
    struct endpoint table =
        mul(c, build_expand_dims(c->builder, line, 0), build_expand_dims(c->builder, line, 1));
    struct endpoint phase = mul(c, table, number(c, line, -2 * acos(-1) / (double)n));
    struct endpoint mask = complex_of(c, unary(c, "Cos", phase), unary(c, "Sin", phase));

    return binary(c, "BatchMatMulV2", mask, unary(c, "Conj", x));
}

/* RFFT and RFFT2D: half of the sum of the inverse transform and the terms of the columns that have
 * no conjugate in the result: the first and, for an even length, the last. */
static struct status real_to_complex(struct gradient_context *c, const char *inverse, int rank)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    struct endpoint size;
    int64_t length = 0;

    TRY(last_length(c, rank, &length));
    for (int i = 0; i < rank; i++)
        if (shape->rank < rank || shape->dims[shape->rank - 1 - i] < 1 ||
            shape->dims[shape->rank - 1 - i] > LENGTH_MAX)
            return not_constant(c, "the dimensions of its input");
    int64_t last = shape->dims[shape->rank - 1];
    struct endpoint first = column(c, shape->rank, 0);
    struct endpoint middle = column(c, shape->rank, length / 2);
    if (rank == 2) {
        first = twiddled(c, shape->dims[shape->rank - 2], first);
        middle = twiddled(c, shape->dims[shape->rank - 2], middle);
    }
    struct endpoint extra = mul(c, first, alternating(c, last, 1, first));
    if (length % 2 == 0)
        extra = binary(c, "AddV2", extra, mul(c, middle, alternating(c, last, -1, middle)));
    struct endpoint back = real_transform(c, inverse, dy(c), "Treal", endpoint_dtype(input(c, 0)));
    TRY(transform_size(c, input(c, 0), rank, back, &size));
    struct endpoint sum = binary(c, "AddV2", mul(c, back, size), part_of(c, "Real", extra));
    return flow(c, 0, mul(c, sum, number(c, sum, 0.5)));
}

struct status gradient_rfft(struct gradient_context *c)
{
    return real_to_complex(c, "IRFFT", 1);
}

struct status gradient_rfft2d(struct gradient_context *c)
{
    return real_to_complex(c, "IRFFT2D", 2);
}
