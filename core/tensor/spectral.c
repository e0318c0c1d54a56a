/* Built with -ffp-contract=off: the same bits on machines with and without fused multiply-add. */
#include "tensor/spectral.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

#define EPSILON 1e-7 /* Keras' */

/* Divides a vector by its norm, or multiplies one that is almost 0 by 1 / EPSILON. */
static void normalize(double *x, int64_t count)
{
    double squares = 0;

    for (int64_t i = 0; i < count; i++)
        squares += x[i] * x[i];
    double factor = fmin(1 / sqrt(squares), 1 / EPSILON);
    for (int64_t i = 0; i < count; i++)
        x[i] *= factor;
}

/* v = u Wᵀ */
static void times_columns(const float *w, const double *u, int64_t rows, int64_t columns, double *v)
{
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t c = 0; c < columns; c++)
            sum += u[c] * (double)w[r * columns + c];
        v[r] = sum;
    }
}

/* u = v W */
static void times_rows(const float *w, const double *v, int64_t rows, int64_t columns, double *u)
{
    for (int64_t c = 0; c < columns; c++)
        u[c] = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            u[c] += v[r] * (double)w[r * columns + c];
}

static double largest_singular_value(const float *w, const float *vector, int64_t rows,
                                     int64_t columns, uint32_t iterations)
{
    double *u = zalloc((size_t)(columns + 1) * sizeof *u), *v = zalloc((size_t)rows * sizeof *v);
    double sigma = 0;

    for (int64_t c = 0; c < columns; c++)
        u[c] = (double)vector[c];
    for (uint32_t i = 0; i < iterations; i++) {
        times_columns(w, u, rows, columns, v);
        normalize(v, rows);
        times_rows(w, v, rows, columns, u);
        if (i + 1 < iterations)
            normalize(u, columns);
    }
    /* v W uᵀ with u = v W / ‖v W‖ */
    for (int64_t c = 0; c < columns; c++)
        sigma += u[c] * u[c];
    sigma *= fmin(1 / sqrt(sigma), 1 / EPSILON);
    free(u);
    free(v);
    return sigma;
}

static bool is_zero(const float *values, int64_t count)
{
    int64_t i = 0;

    while (i < count && values[i] == 0)
        i++;
    return i == count;
}

void spectral_divide(const float *values, const struct shape *shape, const float *vector,
                     uint32_t iterations, float *out)
{
    int64_t count = shape_size(shape), columns = shape->dims[shape->rank - 1];
    float sigma = 1;

    if (!is_zero(values, count))
        sigma = (float)largest_singular_value(values, vector, count / columns, columns, iterations);
    for (int64_t i = 0; i < count; i++)
        out[i] = values[i] / sigma;
}
