/* Built with -ffp-contract=off, like formulas.c. */
#include "trainer/optimizers/adafactor.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

/* Updates v, which approximates the mean squares, with the squares of one matrix's gradients
 * [rows, cols]. */
static void move_matrix(float *v, const float *g, size_t rows, size_t cols, double beta,
                        double epsilon)
{
    double *by_row = zalloc((rows + cols) * sizeof *by_row), *by_col = by_row + rows, mean = 0;

    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++) {
            double x = (double)g[i * cols + k];
            double square = beta * (double)v[i * cols + k] + (1 - beta) * (x * x + epsilon);
            by_row[i] += square / (double)cols;
            by_col[k] += square / (double)rows;
        }
    for (size_t i = 0; i < rows; i++)
        mean += by_row[i] / (double)rows;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            v[i * cols + k] = (float)(by_row[i] / mean * by_col[k]);
    free(by_row);
}

static void move_vector(float *v, const float *g, size_t count, double beta, double epsilon)
{
    for (size_t i = 0; i < count; i++) {
        double x = (double)g[i];
        v[i] = (float)(beta * (double)v[i] + (1 - beta) * (x * x + epsilon));
    }
}

/* The last two dimensions are a matrix. */
static void move_squares(const struct optimizer_step *step, const struct shape *shape, double beta)
{
    double epsilon = (double)step->settings[1];

    if (shape->rank < 2) {
        move_vector(step->slots[0], step->g, step->count, beta, epsilon);
        return;
    }
    size_t rows = (size_t)shape->dims[shape->rank - 2], cols = (size_t)shape->dims[shape->rank - 1];
    for (size_t at = 0; at < step->count; at += rows * cols)
        move_matrix(step->slots[0] + at, step->g + at, rows, cols, beta, epsilon);
}

static double root_mean_square(const float *x, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)count);
}

/* An element's update. If its row and its column never had a gradient, the product of their
 * means underflows, and Keras divides 0 by 0. */
static inline double update_of(float g, float v)
{
    return v > 0 ? (double)g / sqrt((double)v) : 0;
}

static double length_of_update(const float *g, const float *v, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += update_of(g[i], v[i]) * update_of(g[i], v[i]);
    return sqrt(sum / (double)count);
}

void adafactor_update(const struct optimizer_step *step, const struct shape *shape)
{
    const float *settings = step->settings, *v = step->slots[0];
    double t = (double)step->scalars[0] + 1;
    float keep = 1 - step->rate * settings[5];

    if (step->count == 0)
        return;
    for (size_t i = 0; i < step->count; i++)
        step->out[i] = step->w[i] * keep;
    double rho = fmin((double)step->rate, 1 / sqrt(t));
    double alpha = fmax((double)settings[2], root_mean_square(step->out, step->count)) * rho;
    move_squares(step, shape, 1 - pow(t, (double)settings[0]));
    double length = length_of_update(step->g, v, step->count) / (double)settings[3];
    double by = alpha / fmax(1, length);
    for (size_t i = 0; i < step->count; i++)
        step->out[i] -= (float)(by * update_of(step->g[i], v[i]));
}
