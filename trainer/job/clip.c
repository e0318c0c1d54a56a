/*
 * Built with -ffp-contract=off: a synchronous job has the same bits on machines with and without
 * fused multiply-add.
 */
#include "trainer/job/clip.h"

#include <math.h>
#include <stdlib.h>

#include "base/clones.h"

#define LANES 8 /* the compiler may not reorder a sum of floats; these are independent */

struct clipping_source {
    struct gradient_source source; /* first */
    struct gradient_source *inner;
    struct clip clip;
    const struct placement *placement;
    float **buffers;       /* [variables_count]: of clipped gradients; NULL until needed */
    const float **clipped; /* [variables_count] */
};

/* ---- Arithmetic. ---- */

CLONES static double sum_squares(const float *g, size_t count)
{
    double lanes[LANES] = { 0 }, sum = 0;
    size_t whole = count / LANES * LANES;

    for (size_t i = 0; i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)g[i + lane] * (double)g[i + lane];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    for (size_t i = whole; i < count; i++)
        sum += (double)g[i] * (double)g[i];
    return sum;
}

CLONES static void scale_to(const float *restrict g, float by, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = g[i] * by;
}

/* A NaN stays a NaN. */
CLONES static void clamp_to(const float *restrict g, float limit, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = g[i] > limit ? limit : g[i] < -limit ? -limit : g[i];
}

/* What brings a norm down to the limit; 1: it is not above it. Of an infinite norm and a NaN, the
 * result makes the infinite gradients NaN, and the job names their variables. */
static float factor_of(double squares, float limit)
{
    double norm = sqrt(squares);

    return norm <= (double)limit ? 1 : (float)((double)limit / norm);
}

/* ---- The source. ---- */

static size_t count_of(const struct clipping_source *clipping, int v)
{
    return (size_t)shape_size(&clipping->placement->variables[v].shape);
}

static bool is_trained(const struct clipping_source *clipping, int v)
{
    return clipping->placement->variables[v].trainable;
}

static float *buffer_of(struct clipping_source *clipping, int v)
{
    if (clipping->buffers[v] == NULL)
        clipping->buffers[v] = zalloc((count_of(clipping, v) + 1) * sizeof(float));
    clipping->clipped[v] = clipping->buffers[v];
    return clipping->buffers[v];
}

static void scale_variable(struct clipping_source *clipping, int v, const float *g, float by)
{
    if (by != 1)
        scale_to(g, by, buffer_of(clipping, v), count_of(clipping, v));
}

static float global_factor(const struct clipping_source *clipping, const float *const *gradients)
{
    double squares = 0;

    for (int v = 0; v < clipping->placement->variables_count; v++)
        if (is_trained(clipping, v))
            squares += sum_squares(gradients[v], count_of(clipping, v));
    return factor_of(squares, clipping->clip.limit);
}

static void clip_variable(struct clipping_source *clipping, int v, const float *g, float global)
{
    float limit = clipping->clip.limit;
    size_t count = count_of(clipping, v);

    clipping->clipped[v] = g;
    switch (clipping->clip.kind) {
    case CLIP_NOTHING:
        break;
    case CLIP_VALUE:
        clamp_to(g, limit, buffer_of(clipping, v), count);
        break;
    case CLIP_NORM:
        scale_variable(clipping, v, g, factor_of(sum_squares(g, count), limit));
        break;
    case CLIP_GLOBAL_NORM:
        scale_variable(clipping, v, g, global);
        break;
    }
}

static struct status step(struct gradient_source *source, const void *const *values,
                          const float *const **gradients, float *loss)
{
    struct clipping_source *clipping = (struct clipping_source *)source;
    const float *const *g;
    float global = 1;

    TRY(clipping->inner->step(clipping->inner, values, &g, loss));
    if (clipping->clip.kind == CLIP_GLOBAL_NORM)
        global = global_factor(clipping, g);
    for (int v = 0; v < clipping->placement->variables_count; v++)
        if (is_trained(clipping, v))
            clip_variable(clipping, v, g[v], global);
    *gradients = clipping->clipped;
    return status_ok();
}

static struct status seek(struct gradient_source *source, uint64_t begin, uint64_t global_step)
{
    struct gradient_source *inner = ((struct clipping_source *)source)->inner;

    return inner->seek != NULL ? inner->seek(inner, begin, global_step) : status_ok();
}

static void destroy(struct gradient_source *source)
{
    struct clipping_source *clipping = (struct clipping_source *)source;

    for (int v = 0; v < clipping->placement->variables_count; v++)
        free(clipping->buffers[v]);
    free(clipping->buffers);
    free(clipping->clipped);
    clipping->inner->destroy(clipping->inner);
    free(clipping);
}

struct gradient_source *clip_source(struct gradient_source *inner, const struct clip *clip,
                                    const struct placement *placement)
{
    size_t count = (size_t)placement->variables_count;

    if (clip->kind == CLIP_NOTHING)
        return inner;
    struct clipping_source *clipping = zalloc(sizeof *clipping);
    clipping->source = (struct gradient_source){ .step = step, .destroy = destroy, .seek = seek };
    clipping->inner = inner;
    clipping->clip = *clip;
    clipping->placement = placement;
    clipping->buffers = zalloc((count + 1) * sizeof *clipping->buffers);
    clipping->clipped = zalloc((count + 1) * sizeof *clipping->clipped);
    return &clipping->source;
}
