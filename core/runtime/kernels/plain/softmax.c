#include "runtime/kernels/plain/softmax.h"

#include <math.h>

#include "runtime/kernels/plain/fast_math.h"
#include "runtime/kernels/plain/types.h"

#define INFINITY_BITS 0x7f800000

/* Of a row that has a NaN. TensorFlow's results carry its sign and payload. */
static float first_nan(const float *x)
{
    while (!isnan(*x))
        x++;
    return *x;
}

/* The compiler makes vector code of a maximum of integers only: here, of the bits, with the sign
 * turned into order. */
SIMD float softmax_greatest(const float *x, int64_t n)
{
    int32_t most = INT32_MIN, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits = (int32_t)bits_of_float(x[i]), size = bits & INT32_MAX;
        int32_t key = bits < 0 ? ~size : size;
        most = key > most ? key : most;
        largest = size > largest ? size : largest;
    }
    if (largest > INFINITY_BITS)
        return first_nan(x);
    return most < 0 ? -float_of_bits((uint32_t)~most) : float_of_bits((uint32_t)most);
}

SIMD float softmax_exp(const float *x, float most, float *out, int64_t n)
{
    IVDEP for (int64_t i = 0; i < n; i++) out[i] = fast_exp(x[i] - most);
    float lane[8] = { 0 }, sum = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] += out[i + l];
    for (; i < n; i++)
        sum += out[i];
    for (int l = 0; l < 8; l++)
        sum += lane[l];
    return sum;
}

SIMD static void scale_row(float *x, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

void softmax_f32(const float *x, float *out, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, out += n)
        scale_row(out, 1 / softmax_exp(x, softmax_greatest(x, n), out, n), n);
}

/* The greatest logit; out = exp(x - greatest), with its sum. */
static double exp_row_f64(const double *x, double *out, int64_t n, double *sum)
{
    double most = x[0];
    for (int64_t i = 1; i < n; i++)
        most = x[i] > most || x[i] != x[i] ? x[i] : most;
    *sum = 0;
    for (int64_t i = 0; i < n; i++)
        *sum += out[i] = exp(x[i] - most);
    return most;
}

void softmax_f64(const double *x, double *out, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, out += n) {
        double sum;
        exp_row_f64(x, out, n, &sum);
        for (int64_t i = 0; i < n; i++)
            out[i] /= sum;
    }
}

/* log(sum(exp(x - most))), without storing the exponentials. */
static float log_sum(const float *x, float most, int64_t n)
{
    float block[256], sum = 0;
    for (int64_t start = 0; start < n; start += 256)
        sum += softmax_exp(x + start, most, block, n - start < 256 ? n - start : 256);
    return logf(sum);
}

void log_softmax_f32(const float *x, float *out, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, out += n) {
        float most = softmax_greatest(x, n), log_of_sum = log_sum(x, most, n);
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] - most - log_of_sum;
    }
}

void log_softmax_f64(const double *x, double *out, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, out += n) {
        double most = x[0], sum = 0;
        for (int64_t i = 1; i < n; i++)
            most = x[i] > most || x[i] != x[i] ? x[i] : most;
        for (int64_t i = 0; i < n; i++)
            sum += exp(x[i] - most);
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] - most - log(sum);
    }
}

SIMD static float cross_entropy_row(const float *x, const float *labels, float most,
                                    float log_of_sum, float *backprop, int64_t n)
{
    float loss = 0;
    for (int64_t i = 0; i < n; i++)
        loss += labels[i] * (log_of_sum - (x[i] - most));
    for (int64_t i = 0; i < n; i++)
        backprop[i] -= labels[i];
    return loss;
}

void cross_entropy_f32(const float *x, const float *labels, float *loss, float *backprop,
                       int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, labels += n, backprop += n) {
        if (n == 0) {
            loss[r] = 0;
            continue;
        }
        float most = softmax_greatest(x, n), sum = softmax_exp(x, most, backprop, n);
        scale_row(backprop, 1 / sum, n);
        loss[r] = cross_entropy_row(x, labels, most, logf(sum), backprop, n);
    }
}

void sparse_cross_entropy_f32(const float *x, int64_t label, float *loss, float *backprop,
                              int64_t n)
{
    float most = softmax_greatest(x, n), sum = softmax_exp(x, most, backprop, n);
    scale_row(backprop, 1 / sum, n);
    *loss = logf(sum) - (x[label] - most);
    backprop[label] -= 1;
}

void cross_entropy_f64(const double *x, const double *labels, double *loss, double *backprop,
                       int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, labels += n, backprop += n) {
        double sum = 1, most = n > 0 ? exp_row_f64(x, backprop, n, &sum) : 0;
        loss[r] = 0;
        for (int64_t i = 0; i < n; i++) {
            loss[r] += labels[i] * (log(sum) - (x[i] - most));
            backprop[i] = backprop[i] / sum - labels[i];
        }
    }
}

void sparse_cross_entropy_f64(const double *x, int64_t label, double *loss, double *backprop,
                              int64_t n)
{
    double sum, most = exp_row_f64(x, backprop, n, &sum);
    for (int64_t i = 0; i < n; i++)
        backprop[i] /= sum;
    *loss = log(sum) - (x[label] - most);
    backprop[label] -= 1;
}
