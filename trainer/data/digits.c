/* Built with -ffp-contract=off, so that every machine draws the same. */
#include "trainer/data/digits.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "base/status.h"

#define POINTS_MAX  10
#define STROKES_MAX 3
#define CURVE_STEPS 4 /* straight segments between two control points */
#define THREADS_MAX 8

struct point {
    float x, y;
};

struct stroke {
    int count;
    struct point points[POINTS_MAX]; /* in the unit square, y downwards */
};

struct form {
    int digit;
    int stroke_count;
    struct stroke strokes[STROKES_MAX];
};

/* The common ways to write each digit. */
static const struct form forms[] = {
    { 0,
      1,
      { { 9,
          { { .5f, 0 },
            { .2f, .12f },
            { .08f, .5f },
            { .2f, .88f },
            { .5f, 1 },
            { .8f, .88f },
            { .92f, .5f },
            { .8f, .12f },
            { .48f, .01f } } } } },
    { 0,
      1,
      { { 9,
          { { .62f, .02f },
            { .32f, .15f },
            { .2f, .55f },
            { .3f, .92f },
            { .52f, 1 },
            { .72f, .8f },
            { .8f, .42f },
            { .7f, .1f },
            { .55f, .03f } } } } },
    { 1, 1, { { 3, { { .5f, 0 }, { .5f, .5f }, { .5f, 1 } } } } },
    { 1, 1, { { 4, { { .3f, .22f }, { .55f, 0 }, { .55f, .5f }, { .55f, 1 } } } } },
    { 2,
      1,
      { { 8,
          { { .14f, .24f },
            { .3f, .04f },
            { .6f, .01f },
            { .82f, .22f },
            { .68f, .52f },
            { .38f, .78f },
            { .12f, 1 },
            { .9f, .97f } } } } },
    { 2,
      1,
      { { 10,
          { { .18f, .2f },
            { .42f, .01f },
            { .74f, .1f },
            { .78f, .38f },
            { .5f, .72f },
            { .2f, .95f },
            { .16f, .8f },
            { .36f, .78f },
            { .64f, .96f },
            { .92f, .88f } } } } },
    { 3,
      1,
      { { 9,
          { { .16f, .12f },
            { .45f, 0 },
            { .78f, .14f },
            { .72f, .38f },
            { .42f, .48f },
            { .78f, .6f },
            { .82f, .86f },
            { .46f, 1 },
            { .12f, .88f } } } } },
    { 4,
      2,
      { { 4, { { .38f, 0 }, { .24f, .34f }, { .12f, .58f }, { .92f, .56f } } },
        { 3, { { .66f, .26f }, { .64f, .6f }, { .62f, 1 } } } } },
    { 4, 1, { { 5, { { .66f, 1 }, { .68f, .5f }, { .68f, 0 }, { .1f, .64f }, { .95f, .62f } } } } },
    { 5,
      2,
      { { 8,
          { { .26f, .02f },
            { .22f, .42f },
            { .5f, .36f },
            { .82f, .52f },
            { .84f, .8f },
            { .56f, 1 },
            { .28f, .98f },
            { .1f, .86f } } },
        { 2, { { .26f, .02f }, { .86f, .01f } } } } },
    { 6,
      1,
      { { 10,
          { { .7f, 0 },
            { .4f, .2f },
            { .18f, .55f },
            { .2f, .88f },
            { .5f, 1 },
            { .8f, .88f },
            { .82f, .66f },
            { .56f, .52f },
            { .3f, .64f },
            { .2f, .82f } } } } },
    { 7, 1, { { 5, { { .08f, .06f }, { .5f, .03f }, { .9f, .02f }, { .6f, .5f }, { .4f, 1 } } } } },
    { 7,
      2,
      { { 5, { { .1f, .05f }, { .5f, .03f }, { .88f, .02f }, { .56f, .52f }, { .42f, 1 } } },
        { 2, { { .28f, .52f }, { .82f, .48f } } } } },
    { 8,
      1,
      { { 10,
          { { .62f, .06f },
            { .3f, .04f },
            { .22f, .28f },
            { .5f, .48f },
            { .8f, .74f },
            { .52f, 1 },
            { .2f, .78f },
            { .48f, .5f },
            { .8f, .24f },
            { .62f, .04f } } } } },
    { 9,
      1,
      { { 10,
          { { .8f, .24f },
            { .56f, .02f },
            { .24f, .14f },
            { .2f, .4f },
            { .48f, .52f },
            { .74f, .4f },
            { .8f, .2f },
            { .8f, .5f },
            { .74f, .76f },
            { .62f, 1 } } } } },
    { 9,
      1,
      { { 10,
          { { .78f, .2f },
            { .5f, .02f },
            { .2f, .22f },
            { .34f, .48f },
            { .64f, .44f },
            { .8f, .2f },
            { .82f, .5f },
            { .74f, .86f },
            { .44f, 1 },
            { .18f, .88f } } } } },
};

/* The variation between images. With these values, the set is about as hard as MNIST: softmax
 * regression reaches an accuracy of 0.90 to 0.92 after 1000 steps with batches of 100. */
static const struct {
    float wobble;           /* deviation of a control point, unit square */
    float turn, slant;      /* deviation of the tangent of an angle */
    float size_x, size_y;   /* mean extent in pixels */
    float size_spread;      /* relative, uniform ± */
    float place;            /* deviation of the centre, pixels */
    float pen_min, pen_max; /* radius in pixels */
    float noise;            /* deviation of a pixel, of 255 */
    float stray;            /* probability of a stray stroke */
} knobs = { .wobble = .05f,
            .turn = .14f,
            .slant = .2f,
            .size_x = 12.5f,
            .size_y = 18.5f,
            .size_spread = .2f,
            .place = 1,
            .pen_min = .6f,
            .pen_max = 1.6f,
            .noise = 14,
            .stray = .15f };

struct canvas {
    float distance2[DIGITS_SIDE][DIGITS_SIDE]; /* to the nearest curve, in pixels, squared */
    float reach;                               /* distance from the curve that ink reaches */
};

struct affine {
    float xx, xy, yx, yy, x, y;
};

static float spread(struct random *random, float around, float by)
{
    return around * (1 + by * (2 * random_float(random) - 1));
}

/* A sum of three uniforms is close enough to normal here, and cheap: deviation `by`, never
 * beyond 3 deviations. */
static float wobble(struct random *random, float by)
{
    float sum = random_float(random) + random_float(random) + random_float(random);
    return by * 2 * (sum - 1.5f);
}

static struct affine affine_draw(struct random *random)
{
    float turn = wobble(random, knobs.turn), slant = wobble(random, knobs.slant);
    float cosine = 1 / sqrtf(1 + turn * turn), sine = turn * cosine;
    float width = spread(random, knobs.size_x, knobs.size_spread);
    float height = spread(random, knobs.size_y, knobs.size_spread);

    return (struct affine){ .xx = cosine * width,
                            .xy = -(cosine * slant + sine) * height,
                            .yx = sine * width,
                            .yy = (cosine - sine * slant) * height,
                            .x = DIGITS_SIDE * .5f + wobble(random, knobs.place),
                            .y = DIGITS_SIDE * .5f + wobble(random, knobs.place) };
}

static struct point affine_apply(const struct affine *map, struct point p)
{
    float x = p.x - .5f, y = p.y - .5f;
    return (struct point){ map->xx * x + map->xy * y + map->x, map->yx * x + map->yy * y + map->y };
}

static int clamp_pixel(float at)
{
    return at < 0 ? 0 : at > DIGITS_SIDE - 1 ? DIGITS_SIDE - 1 : (int)at;
}

static void canvas_line(struct canvas *canvas, struct point a, struct point b)
{
    float dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy + 1e-6f,
          reach = canvas->reach;
    int left = clamp_pixel(fminf(a.x, b.x) - reach), right = clamp_pixel(fmaxf(a.x, b.x) + reach);
    int top = clamp_pixel(fminf(a.y, b.y) - reach), bottom = clamp_pixel(fmaxf(a.y, b.y) + reach);
    float along = 1 / length2;

    for (int row = top; row <= bottom; row++)
        for (int column = left; column <= right; column++) {
            float px = (float)column + .5f - a.x, py = (float)row + .5f - a.y;
            float t = (px * dx + py * dy) * along;
            t = t < 0 ? 0 : t > 1 ? 1 : t;
            float ex = px - t * dx, ey = py - t * dy, d2 = ex * ex + ey * ey;
            float *at = &canvas->distance2[row][column];
            *at = d2 < *at ? d2 : *at;
        }
}

/* A Catmull-Rom curve through the points. */
static void canvas_curve(struct canvas *canvas, const struct point *p, int count)
{
    struct point from = p[0];

    for (int i = 0; i + 1 < count; i++) {
        struct point a = p[i > 0 ? i - 1 : 0], b = p[i], c = p[i + 1],
                     d = p[i + 2 < count ? i + 2 : i + 1];
        for (int step = 1; step <= CURVE_STEPS; step++) {
            float t = (float)step / CURVE_STEPS, t2 = t * t, t3 = t2 * t;
            float ka = .5f * (-t3 + 2 * t2 - t), kb = .5f * (3 * t3 - 5 * t2 + 2);
            float kc = .5f * (-3 * t3 + 4 * t2 + t), kd = .5f * (t3 - t2);
            struct point to = { ka * a.x + kb * b.x + kc * c.x + kd * d.x,
                                ka * a.y + kb * b.y + kc * c.y + kd * d.y };
            canvas_line(canvas, from, to);
            from = to;
        }
    }
}

static void canvas_form(struct canvas *canvas, const struct form *form, struct random *random)
{
    struct affine map = affine_draw(random);
    struct point points[POINTS_MAX];

    for (int s = 0; s < form->stroke_count; s++) {
        const struct stroke *stroke = &form->strokes[s];
        for (int i = 0; i < stroke->count; i++) {
            struct point p = { stroke->points[i].x + wobble(random, knobs.wobble),
                               stroke->points[i].y + wobble(random, knobs.wobble) };
            points[i] = affine_apply(&map, p);
        }
        canvas_curve(canvas, points, stroke->count);
    }
}

static void canvas_stray(struct canvas *canvas, struct random *random)
{
    struct point points[2];

    points[0] =
        (struct point){ DIGITS_SIDE * random_float(random), DIGITS_SIDE * random_float(random) };
    points[1] = (struct point){ points[0].x + wobble(random, 4), points[0].y + wobble(random, 4) };
    canvas_curve(canvas, points, 2);
}

/* Draws full ink within the pen's radius, and none more than one pixel outside it; then adds
 * noise: the sum of a random word's four bytes. */
static void canvas_ink(const struct canvas *canvas, float radius, float ink, struct random *random,
                       uint8_t *pixels)
{
    const float *distance2 = &canvas->distance2[0][0];
    uint64_t bits = 0;

    for (int i = 0; i < DIGITS_PIXELS; i++) {
        bits = i % 2 == 0 ? random_u64(random) : bits >> 32;
        int sum = (int)((bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24 & 255));
        /* deviation of such a sum: 147.8 */
        float noise = (float)(sum - 510) * (knobs.noise / 147.8f);
        float cover = radius + .5f - sqrtf(distance2[i]);
        cover = cover < 0 ? 0 : cover > 1 ? 1 : cover;
        float value = ink * cover + noise;
        pixels[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

uint8_t digit_draw(uint64_t seed, uint32_t index, uint8_t pixels[DIGITS_PIXELS])
{
    struct random random;
    struct canvas canvas;
    const struct form *form;

    random_init(&random, seed, index);
    int digit = (int)random_below(&random, 10);
    do
        form = &forms[random_below(&random, COUNT(forms))];
    while (form->digit != digit);
    float radius = knobs.pen_min + (knobs.pen_max - knobs.pen_min) * random_float(&random);
    float ink = 170 + 85 * random_float(&random);

    canvas.reach = radius + 1;
    for (int i = 0; i < DIGITS_PIXELS; i++)
        (&canvas.distance2[0][0])[i] = 1e6f;
    canvas_form(&canvas, form, &random);
    if (random_float(&random) < knobs.stray)
        canvas_stray(&canvas, &random);
    canvas_ink(&canvas, radius, ink, &random, pixels);
    return (uint8_t)digit;
}

struct digits_range {
    uint64_t seed;
    uint32_t first, count;
    uint8_t *pixels, *labels;
};

static void *range_draw(void *context)
{
    struct digits_range *range = context;

    for (uint32_t i = 0; i < range->count; i++)
        range->labels[i] =
            digit_draw(range->seed, range->first + i, range->pixels + (size_t)i * DIGITS_PIXELS);
    return NULL;
}

void digits_draw(uint64_t seed, uint32_t first, uint32_t count, uint8_t *pixels, uint8_t *labels)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t threads = processors < 1             ? 1
                       : processors > THREADS_MAX ? THREADS_MAX
                                                  : (uint32_t)processors;
    struct digits_range ranges[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    bool started[THREADS_MAX] = { false };

    for (uint32_t t = 0; t < threads; t++) {
        uint32_t begin = (uint32_t)((uint64_t)count * t / threads);
        uint32_t end = (uint32_t)((uint64_t)count * (t + 1) / threads);
        ranges[t] = (struct digits_range){ seed, first + begin, end - begin,
                                           pixels + (size_t)begin * DIGITS_PIXELS, labels + begin };
        started[t] = t > 0 && pthread_create(&ids[t], NULL, range_draw, &ranges[t]) == 0;
    }
    for (uint32_t t = 0; t < threads; t++)
        if (started[t])
            pthread_join(ids[t], NULL);
        else
            range_draw(&ranges[t]);
}
