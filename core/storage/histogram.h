/*
 * histogram: the distribution of a tensor's values, in TensorFlow's buckets: their limits grow by a
 * tenth from 1e-12 to 1e20, on both sides of 0.
 *
 *     struct histogram *histogram = histogram_create();
 *     histogram_add(histogram, values, count);
 *     …histogram->counts[i] values are from histogram_limit(i - 1) up to histogram_limit(i)…
 *     histogram_clear(histogram);                                  for the next tensor
 */
#ifndef STORAGE_HISTOGRAM_H
#define STORAGE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_SIDE    775 /* limits above 0 */
#define HISTOGRAM_BUCKETS (2 * HISTOGRAM_SIDE + 1)

struct histogram {
    double min, max, sum, sum_squares; /* of no values: 0 */
    uint64_t count;
    uint64_t counts[HISTOGRAM_BUCKETS];
};

struct histogram *histogram_create(void); /* Owner: free */
void histogram_clear(struct histogram *histogram);

/* NaN and infinite values are left out. */
void histogram_add(struct histogram *histogram, const float *values, size_t count);

/* The exclusive upper limit of a bucket. That of the last one is the largest double. */
double histogram_limit(int bucket);

#endif
