/* moments: mean and variance, for Normalization. */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/adapt/exact_sum.h"
#include "trainer/adapt/summary.h"

struct moment_summary {
    struct summary summary;  /* first */
    int64_t means;           /* number of means: the product of the kept axes */
    int64_t count;           /* values of each */
    int64_t since;           /* additions since the sums were normalized */
    int64_t *sums, *squares; /* [means][EXACT_DIGITS] */
};

static struct moment_summary *self(struct summary *summary)
{
    return (struct moment_summary *)summary;
}

static struct summary *moments_create(const struct layers_adapting *how)
{
    const struct shape *shape = endpoint_shape(how->values);
    struct moment_summary *moments = zalloc(sizeof *moments);

    moments->means = 1;
    for (int i = 0; i < shape->rank; i++)
        if (how->kept[i])
            moments->means *= shape->dims[i];
    size_t digits = (size_t)moments->means * EXACT_DIGITS;
    moments->sums = zalloc(digits * sizeof *moments->sums);
    moments->squares = zalloc(digits * sizeof *moments->squares);
    return &moments->summary;
}

static void moments_destroy(struct summary *summary)
{
    free(self(summary)->sums);
    free(self(summary)->squares);
    free(summary);
}

static void normalize(struct moment_summary *moments)
{
    for (int64_t m = 0; m < moments->means; m++) {
        exact_sum_normalize(moments->sums + m * EXACT_DIGITS);
        exact_sum_normalize(moments->squares + m * EXACT_DIGITS);
    }
    moments->since = 0;
}

/* The index of the mean that element `i` belongs to. */
static int64_t mean_of(const struct moment_summary *moments, const struct shape *shape, int64_t i)
{
    int64_t mean = 0, stride = 1;

    for (int d = shape->rank - 1; d >= 0; d--) {
        if (moments->summary.how.kept[d]) {
            mean += i % shape->dims[d] * stride;
            stride *= shape->dims[d];
        }
        i /= shape->dims[d];
    }
    return mean;
}

static struct status moments_add(struct summary *summary, const struct tensor *values)
{
    struct moment_summary *moments = self(summary);

    if (moments->since + values->size > EXACT_ADDITIONS_MAX)
        normalize(moments);
    for (int64_t i = 0; i < values->size; i++) {
        float x = tensor_floats(values)[i];
        if (!isfinite(x))
            return status_error(STATUS_INVALID_ARGUMENT, "the data have the value %g", (double)x);
        int64_t mean = mean_of(moments, &values->shape, i);
        exact_sum_add(moments->sums + mean * EXACT_DIGITS, x);
        exact_sum_add_square(moments->squares + mean * EXACT_DIGITS, x);
    }
    moments->since += values->size;
    moments->count += values->size / moments->means;
    return status_ok();
}

static void moments_get(struct summary *summary, struct tensor fields[FIELDS_MAX])
{
    struct moment_summary *moments = self(summary);
    const struct shape one = shape_of(1), digits = shape_of(moments->means * EXACT_DIGITS);

    normalize(moments);
    fields[0] = tensor_borrow(DT_INT64, &one, &moments->count);
    fields[1] = tensor_borrow(DT_INT64, &digits, moments->sums);
    fields[2] = tensor_borrow(DT_INT64, &digits, moments->squares);
}

static bool are_digits(const struct tensor *digits)
{
    for (int64_t i = 0; i < digits->size; i++)
        if (llabs(tensor_int64s(digits)[i]) > UINT32_MAX)
            return false;
    return true;
}

static struct status moments_merge(struct summary *summary, const struct tensor fields[FIELDS_MAX])
{
    struct moment_summary *moments = self(summary);
    int64_t digits = moments->means * EXACT_DIGITS;

    if (fields[0].size != 1 || fields[1].size != digits || fields[2].size != digits ||
        !are_digits(&fields[1]) || !are_digits(&fields[2]) || tensor_int64s(&fields[0])[0] < 0 ||
        __builtin_add_overflow(moments->count, tensor_int64s(&fields[0])[0], &moments->count))
        return status_error(STATUS_DATA_LOSS, "sums of another task are damaged");
    normalize(moments);
    for (int64_t i = 0; i < digits; i++) {
        moments->sums[i] += tensor_int64s(&fields[1])[i];
        moments->squares[i] += tensor_int64s(&fields[2])[i];
    }
    normalize(moments);
    return status_ok();
}

/* Like numpy's mean and var: the variance of the population, not of a sample. */
static struct status moments_finish(struct summary *summary, struct arena *arena,
                                    struct layers_state *out)
{
    struct moment_summary *moments = self(summary);
    const struct shape *values = endpoint_shape(summary->how.values);
    struct shape shape = shape_scalar();
    float *mean = ARENA_ARRAY(arena, float, moments->means),
          *variance = ARENA_ARRAY(arena, float, moments->means);

    if (moments->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "there are no values");
    normalize(moments);
    for (int64_t m = 0; m < moments->means; m++) {
        long double n = (long double)moments->count;
        long double sum = exact_sum_value(moments->sums + m * EXACT_DIGITS);
        long double squares = exact_sum_value(moments->squares + m * EXACT_DIGITS);
        long double spread = (squares - sum / n * sum) / n;
        mean[m] = (float)(sum / n);
        variance[m] = spread > 0 ? (float)spread : 0;
    }
    for (int i = 0; i < values->rank; i++)
        if (summary->how.kept[i])
            shape_append(&shape, values->dims[i]);
    out->tensors[0] = tensor_borrow(DT_FLOAT, &shape, mean);
    out->tensors[1] = tensor_borrow(DT_FLOAT, &shape, variance);
    return status_ok();
}

const struct summary_kind summary_moments = {
    .fields = { { "count", DT_INT64 }, { "sums", DT_INT64 }, { "squares", DT_INT64 } },
    .fields_count = 3,
    .state = { "mean", "variance" },
    .create = moments_create,
    .destroy = moments_destroy,
    .add = moments_add,
    .get = moments_get,
    .merge = moments_merge,
    .finish = moments_finish,
};
