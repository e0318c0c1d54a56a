#include "storage/histogram.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "base/arena.h"

static double limits[HISTOGRAM_SIDE]; /* above 0, rising */
static pthread_once_t limits_made = PTHREAD_ONCE_INIT;

static void make_limits(void)
{
    double limit = 1e-12;

    for (int i = 0; i < HISTOGRAM_SIDE - 1; i++, limit *= 1.1)
        limits[i] = limit;
    limits[HISTOGRAM_SIDE - 1] = DBL_MAX;
}

struct histogram *histogram_create(void)
{
    pthread_once(&limits_made, make_limits);
    return zalloc(sizeof(struct histogram));
}

void histogram_clear(struct histogram *histogram)
{
    *histogram = (struct histogram){ 0 };
}

double histogram_limit(int bucket)
{
    int side = bucket - HISTOGRAM_SIDE;

    pthread_once(&limits_made, make_limits);
    return side == 0 ? 0 : side > 0 ? limits[side - 1] : -limits[-side - 1];
}

/* The number of the limits above 0 that are less than x, or equal to it if `equal`. */
static int limits_up_to(double x, bool equal)
{
    int low = 0, high = HISTOGRAM_SIDE;

    while (low < high) {
        int middle = (low + high) / 2;
        if (limits[middle] < x || (equal && limits[middle] == x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first bucket whose limit is above x. */
static int bucket_of(double x)
{
    if (x >= 0)
        return HISTOGRAM_SIDE + 1 + limits_up_to(x, true);
    return HISTOGRAM_SIDE - limits_up_to(-x, false);
}

void histogram_add(struct histogram *histogram, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double x = (double)values[i];
        if (!isfinite(x))
            continue;
        histogram->min = histogram->count == 0 || x < histogram->min ? x : histogram->min;
        histogram->max = histogram->count == 0 || x > histogram->max ? x : histogram->max;
        histogram->sum += x;
        histogram->sum_squares += x * x;
        histogram->count++;
        histogram->counts[bucket_of(x)]++;
    }
}
