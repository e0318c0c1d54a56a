/*
 * histogram: HistogramFixedWidth, the counts of values in bins of one width.
 */
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* The distance of x from `low`, rounded to a float where TensorFlow subtracts floats. */
static double distance(enum dtype dtype, double low, double x)
{
    return dtype == DT_FLOAT ? (double)(float)(x - low) : x - low;
}

static struct status check_histogram(struct kernel_context *k)
{
    const struct tensor *range = kernel_input(k, 1), *bins = kernel_input(k, 2);

    if (range->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "value_range should be a vector.");
    if (range->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "value_range should be a vector of 2 elements.");
    if (bins->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "nbins should be a scalar.");
    if (!(real_element(range, 0) < real_element(range, 1)))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "value_range should satisfy value_range[0] < value_range[1], but got "
                            "'[%g, %g]'",
                            real_element(range, 0), real_element(range, 1));
    if (tensor_index(bins, 0) <= 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "nbins should be a positive number, but got '%lld'",
                            (long long)tensor_index(bins, 0));
    return status_ok();
}

static struct status histogram_compute(struct kernel_context *k)
{
    const struct tensor *values = kernel_input(k, 0), *range = kernel_input(k, 1);
    struct tensor *out;

    TRY(check_histogram(k));
    int64_t bins = tensor_index(kernel_input(k, 2), 0);
    struct shape shape = shape_of(bins);
    TRY(kernel_output(k, 0, &shape, &out));
    memset(out->data, 0, tensor_bytes(out));
    double low = real_element(range, 0),
           width = distance(range->dtype, low, real_element(range, 1));
    width /= (double)bins;
    for (int64_t i = 0; i < values->size; i++) {
        double x = real_element(values, i);
        double place = distance(values->dtype, low, x < low ? low : x) / width;
        if (isnan(place)) /* TensorFlow would write outside of its bins */
            return status_error(STATUS_INVALID_ARGUMENT,
                                "values[%lld] is in no bin: it is NaN, or the range is infinite",
                                (long long)i);
        int64_t bin = place < (double)(bins - 1) ? (int64_t)place : bins - 1;
        tensor_set_index(out, bin, tensor_index(out, bin) + 1);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "HistogramFixedWidth",
      DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64), "T",
      .compute = histogram_compute },
};
const struct kernel_table kernels_histogram = { rows, COUNT(rows) };
