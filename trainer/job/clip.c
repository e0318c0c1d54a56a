/*
 * Built with -ffp-contract=off: a synchronous job gives the same bits on machines with and without
 * fused multiply-add.
 */
#include "trainer/job/clip.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clones.h"

/* Independent partial sums, because the compiler must not reorder a sum of floats. */
#define LANES 8

struct clipping_source {
    struct gradient_source source; /* first */
    struct gradient_source *inner;
    struct clip clip;
    const struct placement *placement;
    struct clip_buffer {
        float *data; /* a clipped gradient; NULL until needed */
        size_t count;
    } * buffers;                       /* [variables_count] */
    struct variable_gradient *clipped; /* [variables_count] */
};

/* ---- arithmetic ---- */

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

/* The factor that scales a norm to the limit; 1 if it is not above it. For an infinite norm or a
 * NaN, the result turns the infinite gradients into NaN, and the job names their variables. */
static float factor_of(double squares, float limit)
{
    double norm = sqrt(squares);

    return norm <= (double)limit ? 1 : (float)((double)limit / norm);
}

/* ---- the source ---- */

static bool is_trained(const struct clipping_source *clipping, int v)
{
    return clipping->placement->variables[v].trainable;
}

/* The number of floats of a gradient. */
static size_t count_of(const struct clipping_source *clipping, int v,
                       const struct variable_gradient *gradient)
{
    const struct placed_variable *variable = &clipping->placement->variables[v];

    if (placed_variable_is_sparse(variable))
        return gradient->rows.count * (placement_row_bytes(variable) / sizeof(float));
    return (size_t)shape_size(&variable->shape);
}

static float *make_room(struct clipping_source *clipping, int v, size_t count)
{
    struct clip_buffer *buffer = &clipping->buffers[v];

    if (buffer->data == NULL || buffer->count < count) {
        buffer->data = xrealloc(buffer->data, (count + 1) * sizeof(float));
        buffer->count = count;
    }
    clipping->clipped[v].values = buffer->data;
    return buffer->data;
}

static float global_factor(const struct clipping_source *clipping,
                           const struct variable_gradient *gradients)
{
    double squares = 0;

    for (int v = 0; v < clipping->placement->variables_count; v++)
        if (is_trained(clipping, v))
            squares += sum_squares(gradients[v].values, count_of(clipping, v, &gradients[v]));
    return factor_of(squares, clipping->clip.limit);
}

static void scale_variable(struct clipping_source *clipping, int v, const float *g, size_t count,
                           float by)
{
    if (by != 1)
        scale_to(g, by, make_room(clipping, v, count), count);
}

static void clip_variable(struct clipping_source *clipping, int v,
                          const struct variable_gradient *gradient, float global)
{
    const float *g = gradient->values;
    float limit = clipping->clip.limit;
    size_t count = count_of(clipping, v, gradient);

    switch (clipping->clip.kind) {
    case CLIP_NOTHING:
        break;
    case CLIP_VALUE:
        clamp_to(g, limit, make_room(clipping, v, count), count);
        break;
    case CLIP_NORM:
        scale_variable(clipping, v, g, count, factor_of(sum_squares(g, count), limit));
        break;
    case CLIP_GLOBAL_NORM:
        scale_variable(clipping, v, g, count, global);
        break;
    }
}

static struct status step(struct gradient_source *source, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    struct clipping_source *clipping = (struct clipping_source *)source;
    const struct variable_gradient *given;
    float global = 1;

    TRY(clipping->inner->step(clipping->inner, values, &given, loss));
    *gradients = NULL;
    if (given == NULL)
        return status_ok();
    if (clipping->clip.kind == CLIP_GLOBAL_NORM)
        global = global_factor(clipping, given);
    for (int v = 0; v < clipping->placement->variables_count; v++) {
        clipping->clipped[v] = given[v];
        if (is_trained(clipping, v))
            clip_variable(clipping, v, &given[v], global);
    }
    *gradients = clipping->clipped;
    return status_ok();
}

static struct status need_rows(struct gradient_source *source, const struct row_ids **rows)
{
    struct gradient_source *inner = ((struct clipping_source *)source)->inner;

    return inner->need_rows(inner, rows);
}

static struct status seek(struct gradient_source *source, uint64_t begin, uint64_t global_step,
                          const struct row_place *place)
{
    struct gradient_source *inner = ((struct clipping_source *)source)->inner;

    return inner->seek != NULL ? inner->seek(inner, begin, global_step, place) : status_ok();
}

static void destroy(struct gradient_source *source)
{
    struct clipping_source *clipping = (struct clipping_source *)source;

    for (int v = 0; v < clipping->placement->variables_count; v++)
        free(clipping->buffers[v].data);
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
    clipping->source =
        (struct gradient_source){ .step = step,
                                  .destroy = destroy,
                                  .seek = seek,
                                  .need_rows = inner->need_rows != NULL ? need_rows : NULL };
    clipping->inner = inner;
    clipping->clip = *clip;
    clipping->placement = placement;
    clipping->buffers = zalloc((count + 1) * sizeof *clipping->buffers);
    clipping->clipped = zalloc((count + 1) * sizeof *clipping->clipped);
    return &clipping->source;
}
