/*
 * random_choice: classes drawn by their logits (Multinomial), and rows in a random order
 * (RandomShuffle), with TensorFlow's choices for a seed.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_seeded.h"

static bool is_stateless(const struct kernel_context *k)
{
    return strncmp(kernel_node(k)->op_name, "Stateless", 9) == 0;
}

static struct philox take(struct kernel_context *k, uint64_t blocks)
{
    return random_seeded_take(k, kernel_state(k), blocks);
}

/* ---- Multinomial ---- */

/* Running sums of e^(logit - greatest); a logit that is not finite has the probability 0. */
static void sum_up(const struct tensor *logits, int64_t at, double *sums, int64_t classes)
{
    double greatest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < classes; i++) {
        sums[i] = floating_element(logits, at + i);
        if (isfinite(sums[i]))
            greatest = fmax(greatest, sums[i]);
    }
    for (int64_t i = 0; i < classes; i++) {
        if (isfinite(sums[i]))
            sum += exp(sums[i] - greatest);
        sums[i] = sum;
    }
}

/* The first class whose cumulative sum is greater; the number of classes if there is none. */
static int64_t upper_bound(const double *sums, int64_t classes, double value)
{
    int64_t first = 0;
    while (classes > 0) {
        int64_t half = classes / 2;
        if (sums[first + half] <= value) {
            first += half + 1;
            classes -= half + 1;
        } else {
            classes = half;
        }
    }
    return first;
}

#define CHECK_EVERY 65536 /* draws between two checks of the deadline */

static struct status draw_classes(struct kernel_context *k, struct philox philox,
                                  const struct tensor *logits, double *sums, struct tensor *out)
{
    struct philox_reader reader = { .philox = philox };
    int64_t classes = logits->shape.dims[1], samples = out->shape.dims[1];
    for (int64_t row = 0; row < logits->shape.dims[0]; row++) {
        sum_up(logits, row * classes, sums, classes);
        for (int64_t i = 0; i < samples; i++) {
            if (i % CHECK_EVERY == 0)
                TRY(kernel_check(k));
            uint32_t high = philox_next(&reader), low = philox_next(&reader);
            double value = philox_double(high, low) * sums[classes - 1];
            tensor_set_index(out, row * samples + i, upper_bound(sums, classes, value));
        }
    }
    return status_ok();
}

static struct status check_multinomial(const struct kernel_context *k, const struct tensor *logits,
                                       const struct tensor *samples)
{
    if (logits->shape.rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "logits should be a matrix, got shape %s",
                            shape_text(&logits->shape));
    if (samples->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "num_samples should be a scalar, got shape %s",
                            shape_text(&samples->shape));
    if (tensor_index(samples, 0) < 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "num_samples should be non-negative, got %lld",
                            (long long)tensor_index(samples, 0));
    for (int i = 0; i < 2; i++)
        if (logits->shape.dims[i] > INT_MAX)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s cannot exceed max int",
                                i == 0 ? "batch_size" : "num_classes");
    if (logits->shape.dims[1] == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "num_classes should be positive, got 0");
    return status_ok();
}

static struct status multinomial_compute(struct kernel_context *k)
{
    const struct tensor *logits = kernel_input(k, 0), *samples = kernel_input(k, 1);
    struct tensor *out, sums;
    struct philox philox = { 0 };
    if (is_stateless(k))
        TRY(random_seeds(k, 2, &philox));
    TRY(check_multinomial(k, logits, samples));
    int64_t count = tensor_index(samples, 0);
    struct shape shape = shape_of(logits->shape.dims[0], count);
    struct shape classes = shape_of(logits->shape.dims[1]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    if (!is_stateless(k)) {
        /* two words for each double, in groups of four samples */
        uint64_t words = (uint64_t)shape.dims[0] * (uint64_t)((count + 3) / 4) * 8;
        philox = take(k, words * RANDOM_BLOCKS_PER_NUMBER);
    }
    TRY(kernel_scratch(k, DT_DOUBLE, &classes, &sums));
    struct status status = draw_classes(k, philox, logits, tensor_doubles_mut(&sums), out);
    tensor_release(&sums);
    return status;
}

/* ---- RandomShuffle ---- */

/* Exchanges each element with itself or a later one. */
static void permute(struct philox philox, int64_t *order, int64_t count)
{
    struct philox_reader reader = { .philox = philox };
    for (int64_t i = 0; i < count; i++)
        order[i] = i;
    for (int64_t i = 0; i + 1 < count; i++) {
        int64_t other = i + philox_next(&reader) % (uint32_t)(count - i), value = order[i];
        order[i] = order[other];
        order[other] = value;
    }
}

static struct status shuffle(struct kernel_context *k, struct philox philox)
{
    const struct tensor *x = kernel_input(k, 0);
    int64_t rows = x->shape.dims[0], row = x->size / rows;
    struct shape shape = shape_of(rows);
    struct tensor *out, order;
    size_t size = dtype_size(x->dtype);
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(kernel_scratch(k, DT_INT64, &shape, &order));
    permute(philox, tensor_int64s_mut(&order), rows);
    for (int64_t i = 0; i < rows; i++)
        copy_elements(x->dtype, at_bytes(out->data, i * row, size),
                      at_bytes_const(x->data, tensor_int64s(&order)[i] * row, size), row);
    tensor_release(&order);
    return status_ok();
}

static struct status shuffle_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct philox philox = { 0 };
    if (is_stateless(k))
        TRY(random_key(k, &philox));
    if (x->shape.rank == 0 || x->size <= 1 || x->shape.dims[0] <= 1) {
        kernel_output_set(k, 0, tensor_acquire(x));
        return status_ok();
    }
    if (x->shape.dims[0] > INT_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%lld rows are too many to shuffle",
                            (long long)x->shape.dims[0]);
    if (!is_stateless(k))
        philox = take(k, (uint64_t)(x->shape.dims[0] - 1 + 3) / 4);
    return shuffle(k, philox);
}

static const struct kernel rows[] = {
    { "Multinomial", DTYPES_FLOATING, .prepare = random_seeded_prepare,
      .compute = multinomial_compute },
    { "StatelessMultinomial", DTYPES_FLOATING, .compute = multinomial_compute },
    { "RandomShuffle", DTYPES_ALL, .prepare = random_seeded_prepare, .compute = shuffle_compute },
    { "StatelessShuffle", DTYPES_ALL, .compute = shuffle_compute },
};
const struct kernel_table kernels_random_choice = { rows, COUNT(rows) };
