#include "runtime/kernels/plain/cubic.h"

#include <float.h>
#include <math.h>

#define CUBIC_STEPS 1024 /* between two positions: TensorFlow takes its weights from a table */

/* The weight of a position that is step / CUBIC_STEPS away, and of the next one. */
static float cubic_near(double a, int64_t step)
{
    float x = (float)((double)step / CUBIC_STEPS);
    return (float)(((a + 2) * x - (a + 3)) * x * x + 1);
}

static float cubic_far(double a, int64_t step)
{
    float x = (float)((double)step / CUBIC_STEPS);
    x += 1.0f;
    return (float)(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}

static int64_t bounded(int64_t at, int64_t limit)
{
    return at < 0 ? 0 : at < limit - 1 ? at : limit - 1;
}

void cubic_at(int64_t in, float scale, bool half_pixel_centers, int64_t i, struct cubic *out)
{
    bool keys = half_pixel_centers;
    double a = keys ? -0.5 : -0.75;
    float place = keys ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
    int64_t below = (int64_t)floorf(place);
    int64_t step = lrintf((place - (float)below) * CUBIC_STEPS);
    const float weights[] = { cubic_far(a, step), cubic_near(a, step),
                              cubic_near(a, CUBIC_STEPS - step), cubic_far(a, CUBIC_STEPS - step) };
    float sum = 0;
    for (int j = 0; j < 4; j++) {
        int64_t at = below - 1 + j;
        out->at[j] = bounded(at, in);
        out->weight[j] = keys && out->at[j] != at ? 0 : weights[j];
        sum += out->weight[j];
    }
    for (int j = 0; j < 4 && keys && fabsf(sum) >= 1000 * FLT_MIN; j++)
        out->weight[j] *= 1 / sum;
}
