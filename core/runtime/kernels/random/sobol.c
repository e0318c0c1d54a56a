/*
 * sobol: SobolSample, the points of Sobol's sequence, which fill a cube more evenly than random
 * ones.
 *
 * Coordinates are integers of 31 bits, and each dimension has 31 direction numbers. Point n is the
 * exclusive or of the direction numbers at the bits of n's Gray code, so it differs from point
 * n - 1 by the one at n's lowest set bit (Antonov and Saleev, 1979).
 */
#include "runtime/kernels/kernel_tools.h"

#define DIRECTIONS         31
#define DEGREE_MAX         13
#define TENSORFLOW_DIM_MAX 21200

static const struct sobol_dimension {
    uint16_t polynomial;
    uint16_t first[DEGREE_MAX]; /* as many as the polynomial's degree; the others follow */
} dimensions[] = {
#define SOBOL(polynomial, ...) { polynomial, { __VA_ARGS__ } },
#include "runtime/kernels/random/sobol_directions.def"
#undef SOBOL
};

/* The numbers at indices `dim`, `dim + stride`, … of `out`. */
static void fill_directions(const struct sobol_dimension *dimension, int32_t *out, int64_t stride)
{
    int32_t numbers[DIRECTIONS];
    int degree = 31 - __builtin_clz(dimension->polynomial);
    for (int i = 0; i < DIRECTIONS; i++) {
        if (degree == 0) { /* the first dimension has no recurrence */
            numbers[i] = 1;
        } else if (i < degree) {
            numbers[i] = dimension->first[i];
        } else {
            numbers[i] = numbers[i - degree];
            for (int back = 1; back <= degree; back++)
                if (dimension->polynomial >> (degree - back) & 1)
                    numbers[i] ^= numbers[i - back] << back;
        }
        out[i * stride] = numbers[i] << (DIRECTIONS - 1 - i);
    }
}

/* A direction number for each dimension, to the coordinates of a point. */
static void add_direction(int32_t *restrict point, const int32_t *restrict directions, int bit,
                          int64_t dim)
{
    for (int64_t d = 0; d < dim; d++)
        point[d] ^= directions[bit * dim + d];
}

static struct status sobol_sizes(struct kernel_context *k, int64_t *dim, int64_t *count,
                                 int64_t *skip)
{
    static const char *const names[] = { "dim", "num_results", "skip" };
    int64_t *const sizes[] = { dim, count, skip };
    const int64_t known = (int64_t)COUNT(dimensions);
    for (int i = 0; i < 3; i++) {
        const struct tensor *size;
        TRY(kernel_scalar(k, i, names[i], &size));
        *sizes[i] = tensor_index(size, 0);
    }
    if (*dim < 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "dim must be at least one");
    if (*dim > TENSORFLOW_DIM_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "dim must be at most %d",
                            TENSORFLOW_DIM_MAX);
    if (*count < 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "num_results must be at least one");
    if (*skip < 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "skip must be non-negative");
    if (*count + *skip >= INT32_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "num_results+skip must be less than %d",
                            INT32_MAX);
    if (*dim > known)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "SobolSample of %lld dimensions; at most %lld",
                            (long long)*dim, (long long)known);
    return status_ok();
}

static struct status write_points(const struct kernel_context *k, int32_t *point,
                                  const int32_t *directions, int64_t skip, struct tensor *out)
{
    int64_t count = out->shape.dims[0], dim = out->shape.dims[1], work = 0;
    /* In samples whose indices need 31 bits, TensorFlow 2.21 divides by 1 << 31 of 32 bits, which
     * is negative. */
    double scale = skip + count + 1 < (int64_t)1 << 30 ? 0x1p-31 : -0x1p-31;
    for (int bit = 0; bit < DIRECTIONS; bit++)
        if ((skip ^ skip >> 1) >> bit & 1)
            add_direction(point, directions, bit, dim);
    for (int64_t i = 0; i < count; i++) {
        add_direction(point, directions, __builtin_ctzll((uint64_t)(skip + i + 1)), dim);
        if (out->dtype == DT_FLOAT)
            for (int64_t d = 0; d < dim; d++)
                tensor_floats_mut(out)[i * dim + d] = (float)point[d] * (float)scale;
        else
            for (int64_t d = 0; d < dim; d++)
                tensor_doubles_mut(out)[i * dim + d] = point[d] * scale;
        TRY(kernel_work(k, &work, dim));
    }
    return status_ok();
}

static struct status sobol_compute(struct kernel_context *k)
{
    int64_t dim, count, skip;
    struct tensor *out, memory;
    TRY(sobol_sizes(k, &dim, &count, &skip));
    struct shape shape = shape_of(count, dim), scratch = shape_of(DIRECTIONS + 1, dim);
    TRY(kernel_output(k, 0, &shape, &out));
    TRY(kernel_scratch(k, DT_INT32, &scratch, &memory));
    int32_t *point = memory.data, *directions = point + dim;
    memset(point, 0, (size_t)dim * sizeof *point);
    for (int64_t d = 0; d < dim; d++)
        fill_directions(&dimensions[d], directions + d, dim);
    struct status status = write_points(k, point, directions, skip, out);
    tensor_release(&memory);
    return status;
}

static const struct kernel rows[] = {
    { "SobolSample", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), "dtype", .compute = sobol_compute },
};
const struct kernel_table kernels_sobol = { rows, COUNT(rows) };
