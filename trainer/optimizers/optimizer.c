/*
 * Built with -ffp-contract=off: the loops run for slices of any length on machines with and without
 * fused multiply-add, and training with a seed gives the same bits for all of them.
 */
#include "trainer/optimizers/optimizer.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>

#include "base/clones.h"
#include "trainer/optimizers/adafactor.h"
#include "trainer/optimizers/muon.h"

#define STARTS_AT_0 (-1)

/*
 * The step's parts under the formulas' names. `out` may be `w` itself but never overlaps it
 * otherwise. An element is therefore read before it is written, which `ivdep` tells the compiler at
 * each loop.
 */
#define PARTS                                                  \
    const float rate = step->rate, *w = step->w, *g = step->g; \
    float *out = step->out;                                    \
    const size_t count = step->count
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define EACH INDEPENDENT for (size_t i = 0; i < count; i++)

static inline float shrink(float value, float by) /* towards 0 */
{
    float size = fabsf(value) - by;
    return size > 0 ? copysignf(size, value) : 0;
}

CLONES static void apply_sgd(const struct optimizer_step *step)
{
    PARTS;
    EACH out[i] = w[i] - rate * g[i];
}

/* The values that `whole` has made. */
static void apply_made(const struct optimizer_step *step)
{
    memmove(step->out, step->g, step->count * sizeof *step->out);
}

CLONES static void apply_average(const struct optimizer_step *step)
{
    PARTS;
    const float old = step->settings[0], new = step->settings[1];

    (void)rate;
    EACH out[i] = w[i] * old + g[i] * new;
}

const struct optimizer optimizer_average = {
    .name = "average",
    .settings_count = 2,
    .settings = { { "momentum", 0.99f }, { "rest", 0.01f } },
    .apply = apply_average,
};

/* The momentum has the rates of its gradients, which counts if the rate changes. */
CLONES static void apply_keras_momentum(const struct optimizer_step *step)
{
    PARTS;
    const float mu = step->settings[0];
    float *a = step->slots[0];

    if (step->settings[1] != 0)
        EACH
        {
            a[i] = mu * a[i] + rate * g[i];
            out[i] = w[i] - (mu * a[i] + rate * g[i]);
        }
    else
        EACH
        {
            a[i] = mu * a[i] + rate * g[i];
            out[i] = w[i] - a[i];
        }
}

/* settings: momentum μ, nesterov, rate_in_momentum */
CLONES static void apply_momentum(const struct optimizer_step *step)
{
    PARTS;
    const float mu = step->settings[0];
    float *a = step->slots[0];

    if (step->settings[2] != 0)
        apply_keras_momentum(step);
    else if (step->settings[1] != 0)
        EACH
        {
            a[i] = mu * a[i] + g[i];
            out[i] = w[i] - (rate * g[i] + rate * mu * a[i]);
        }
    else
        EACH
        {
            a[i] = mu * a[i] + g[i];
            out[i] = w[i] - rate * a[i];
        }
}

/* settings: initial accumulator, epsilon (inside the root; Keras', 0 with TensorFlow's) */
CLONES static void apply_adagrad(const struct optimizer_step *step)
{
    PARTS;
    const float epsilon = step->settings[1];
    float *a = step->slots[0];

    EACH
    {
        a[i] += g[i] * g[i];
        out[i] = w[i] - rate * g[i] / sqrtf(a[i] + epsilon);
    }
}

/* settings: l1, l2; scalar: T, the number of this update less one */
CLONES static void apply_adagrad_da(const struct optimizer_step *step)
{
    PARTS;
    (void)w; /* the old w does not matter: the sums determine the new one */
    const float t = step->scalars[0] + 1, l1 = step->settings[1] * t,
                l2 = step->settings[2] * t * rate;
    float *sum = step->slots[0], *squares = step->slots[1];

    EACH
    {
        sum[i] += g[i];
        squares[i] += g[i] * g[i];
        out[i] = -rate * shrink(sum[i], l1) / (l2 + sqrtf(squares[i]));
    }
}

static void count_update(const float *settings, float *scalars)
{
    (void)settings;
    scalars[0] += 1;
}

/* settings: rho, epsilon */
CLONES static void apply_adadelta(const struct optimizer_step *step)
{
    PARTS;
    const float rho = step->settings[0], epsilon = step->settings[1];
    float *a = step->slots[0], *d = step->slots[1];

    EACH
    {
        a[i] = rho * a[i] + (1 - rho) * g[i] * g[i];
        float u = sqrtf(d[i] + epsilon) / sqrtf(a[i] + epsilon) * g[i];
        out[i] = w[i] - rate * u;
        d[i] = rho * d[i] + (1 - rho) * u * u;
    }
}

/* settings: rho, momentum μ, epsilon (inside the root), what s begins at, centered */
CLONES static void apply_rmsprop(const struct optimizer_step *step)
{
    PARTS;
    const float rho = step->settings[0], mu = step->settings[1], epsilon = step->settings[2];
    float *s = step->slots[0], *m = step->slots[1], *q = step->slots[2];

    if (step->settings[4] != 0)
        EACH
        {
            s[i] += (g[i] * g[i] - s[i]) * (1 - rho);
            q[i] += (g[i] - q[i]) * (1 - rho);
            m[i] = mu * m[i] + rate * g[i] / sqrtf(s[i] - q[i] * q[i] + epsilon);
            out[i] = w[i] - m[i];
        }
    else
        EACH
        {
            s[i] += (g[i] * g[i] - s[i]) * (1 - rho);
            m[i] = mu * m[i] + rate * g[i] / sqrtf(s[i] + epsilon);
            out[i] = w[i] - m[i];
        }
}

/*
 * settings: beta_1, beta_2, epsilon ("epsilon hat": outside the root, not corrected), nesterov,
 * weight_decay (decoupled: taken off w first); scalars: β1ᵗ, β2ᵗ
 *
 * With a gradient of some rows, TensorFlow's Adam changes all rows, since the averages of each move
 * with every update: the time is that of the whole table. "lazy_adam" is TensorFlow's LazyAdam,
 * which changes only these rows, by the powers of all updates; with other gradients it is the same.
 */
CLONES static void apply_adam(const struct optimizer_step *step)
{
    PARTS;
    const float beta1 = step->settings[0], beta2 = step->settings[1], epsilon = step->settings[2];
    const float keep = 1 - rate * step->settings[4];
    const float alpha = rate * sqrtf(1 - step->scalars[1]) / (1 - step->scalars[0]);
    const float ahead_m = step->settings[3] != 0 ? beta1 : 1,
                ahead_g = step->settings[3] != 0 ? 1 - beta1 : 0;
    float *m = step->slots[0], *v = step->slots[1];

    EACH
    {
        m[i] += (g[i] - m[i]) * (1 - beta1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
        out[i] = w[i] * keep - alpha * (ahead_m * m[i] + ahead_g * g[i]) / (sqrtf(v[i]) + epsilon);
    }
}

/*
 * settings: beta_1, beta_2, epsilon, warmup_steps, weight_decay (as Adam's); scalars: the number of
 * updates before this one, β2ᵗ
 *
 * z takes the steps, and x is its mean over the updates. w lies between them, at β1 on the way from
 * z to x, so that x follows from w and z. z begins as w, which only the first update can tell.
 */
CLONES static void apply_schedule_free(const struct optimizer_step *step)
{
    PARTS;
    const float beta1 = step->settings[0], beta2 = step->settings[1], epsilon = step->settings[2],
                warmup = step->settings[3];
    const float t = step->scalars[0] + 1, weight = 1 / t, correction = 1 - step->scalars[1];
    const float keep = 1 - rate * step->settings[4];
    const float warm_rate = rate * (warmup > 0 && t < warmup ? t / warmup : 1);
    const bool first = step->scalars[0] == 0;
    float *z = step->slots[0], *v = step->slots[1];

    EACH
    {
        float old = first ? w[i] : z[i];
        float x = (w[i] * keep - (1 - beta1) * old) / beta1;
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
        z[i] = old - warm_rate * g[i] / (sqrtf(v[i] / correction) + epsilon);
        x = (1 - weight) * x + weight * z[i];
        out[i] = (1 - beta1) * z[i] + beta1 * x;
    }
}

static void advance_schedule_free(const float *settings, float *scalars)
{
    scalars[0] += 1;
    scalars[1] *= settings[1];
}

static void raise_powers(const float *settings, float *scalars)
{
    scalars[0] *= settings[0];
    scalars[1] *= settings[1];
}

static void raise_power(const float *settings, float *scalars)
{
    scalars[0] *= settings[0];
}

/*
 * settings: beta_1, beta_2, epsilon (outside the maximum), weight_decay (as Adam's); scalar: β1ᵗ
 */
CLONES static void apply_adamax(const struct optimizer_step *step)
{
    PARTS;
    const float beta1 = step->settings[0], beta2 = step->settings[1], epsilon = step->settings[2];
    const float keep = 1 - rate * step->settings[3];
    const float alpha = rate / (1 - step->scalars[0]);
    float *m = step->slots[0], *u = step->slots[1];

    EACH
    {
        float size = fabsf(g[i]), faded = beta2 * u[i];
        m[i] += (g[i] - m[i]) * (1 - beta1);
        u[i] = faded > size ? faded : size;
        out[i] = w[i] * keep - alpha * m[i] / (u[i] + epsilon);
    }
}

/* Nadam's β1 of update t: it grows from a half of beta_1. */
static inline float nadam_beta1(float beta1, float t)
{
    return beta1 * (1 - .5f * powf(.96f, t));
}

/*
 * settings: beta_1, beta_2, epsilon (outside the root), what the product begins at, weight_decay
 * (as Adam's); scalars: the number of updates so far, the product of their β1
 */
CLONES static void apply_nadam(const struct optimizer_step *step)
{
    PARTS;
    const float beta1 = step->settings[0], beta2 = step->settings[1], epsilon = step->settings[2];
    const float keep = 1 - rate * step->settings[4], t = step->scalars[0] + 1;
    const float now = nadam_beta1(beta1, t), then = nadam_beta1(beta1, t + 1);
    const float product = step->scalars[1] * now;
    const float of_m = then / (1 - product * then), of_g = (1 - now) / (1 - product);
    const float correction = 1 / (1 - powf(beta2, t));
    float *m = step->slots[0], *v = step->slots[1];

    EACH
    {
        m[i] += (g[i] - m[i]) * (1 - beta1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
        out[i] =
            w[i] * keep - rate * (of_m * m[i] + of_g * g[i]) / (sqrtf(v[i] * correction) + epsilon);
    }
}

static void advance_nadam(const float *settings, float *scalars)
{
    scalars[0] += 1;
    scalars[1] *= nadam_beta1(settings[0], scalars[0]);
}

#define LANES 8 /* the compiler may not reorder a sum of floats; these are independent */

/* Element i of LAMB's update, before its length is adapted. */
#define LAMB_PARTS                                                                      \
    const float epsilon = step->settings[2], keep = 1 - step->rate * step->settings[3]; \
    const float of_m = 1 / (1 - step->scalars[0]), of_v = 1 / (1 - step->scalars[1]);   \
    const float *m = step->slots[0], *v = step->slots[1]
#define LAMB_UPDATE(i) (m[i] * of_m / (sqrtf(v[i] * of_v) + epsilon))

CLONES static void move_lamb_averages(const struct optimizer_step *step)
{
    const float beta1 = step->settings[0], beta2 = step->settings[1], *g = step->g;
    float *m = step->slots[0], *v = step->slots[1];
    const size_t count = step->count;

    EACH
    {
        m[i] += (g[i] - m[i]) * (1 - beta1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
    }
}

/* settings: beta_1, beta_2, epsilon (outside the root), weight_decay (as Adam's: taken off w before
 * its norm is); scalars: β1ᵗ, β2ᵗ. The sums are the same wherever a job's ps tasks are, because the
 * pieces of a variable are. */
CLONES static void measure_lamb(const struct optimizer_step *step, struct optimizer_norms *norms)
{
    LAMB_PARTS;
    const float *w = step->w;
    double variable[LANES] = { 0 }, update[LANES] = { 0 };

    move_lamb_averages(step);
    for (size_t i = 0; i < step->count; i++) {
        float kept = w[i] * keep, moved = LAMB_UPDATE(i);
        variable[i % LANES] += (double)kept * (double)kept;
        update[i % LANES] += (double)moved * (double)moved;
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        norms->variable += variable[lane];
        norms->update += update[lane];
    }
}

CLONES static void apply_lamb(const struct optimizer_step *step)
{
    LAMB_PARTS;
    const float *w = step->w, by = step->rate * step->ratio;
    float *out = step->out;
    const size_t count = step->count;

    EACH out[i] = w[i] * keep - by * LAMB_UPDATE(i);
}

float optimizer_ratio(const struct optimizer_norms *norms)
{
    return norms->variable > 0 && norms->update > 0 ? (float)sqrt(norms->variable / norms->update)
                                                    : 1;
}

/* settings: beta_1, beta_2, weight_decay (as Adam's) */
CLONES static void apply_lion(const struct optimizer_step *step)
{
    PARTS;
    const float beta1 = step->settings[0], beta2 = step->settings[1];
    const float keep = 1 - rate * step->settings[2];
    float *m = step->slots[0];

    EACH
    {
        float c = m[i] * beta1 + g[i] * (1 - beta1);
        float sign = c > 0 ? 1 : c < 0 ? -1 : c; /* 0, or NaN */
        m[i] = m[i] * beta2 + g[i] * (1 - beta2);
        out[i] = w[i] * keep - rate * sign;
    }
}

/* n^-p */
static inline float ftrl_root(float n, float p)
{
    (void)p;
    return sqrtf(n);
}

static inline float ftrl_power(float n, float p)
{
    return powf(n, -p);
}

/* One loop for each way to take n^-p: with both in one loop, the compiler makes no vectors. */
#define FTRL_LOOP(n_to_minus_p)                                          \
    EACH                                                                 \
    {                                                                    \
        float grown = n[i] + g[i] * g[i], root = n_to_minus_p(grown, p); \
        float sigma = (root - n_to_minus_p(n[i], p)) / rate;             \
        float sum = z[i] + (g[i] + 2 * shrinkage * w[i] - sigma * w[i]); \
        z[i] = sum;                                                      \
        out[i] = -shrink(sum, l1) / (root / rate + 2 * l2);              \
        n[i] = grown;                                                    \
    }

/*
 * settings: learning_rate_power p, initial accumulator, l1, l2, l2 shrinkage, beta
 *
 * The formula divides by the rate. TensorFlow refuses a rate of 0; a schedule may reach it, and
 * then an update changes nothing. The usual p is -½.
 */
CLONES static void apply_ftrl(const struct optimizer_step *step)
{
    PARTS;
    if (rate == 0) {
        memmove(out, w, count * sizeof *out);
        return;
    }
    const float p = step->settings[0], l1 = step->settings[2], shrinkage = step->settings[4];
    const float l2 = step->settings[3] + step->settings[5] / (2 * rate);
    float *n = step->slots[0], *z = step->slots[1];

    if (p == -.5f)
        FTRL_LOOP(ftrl_root)
    else
        FTRL_LOOP(ftrl_power)
}

/* settings: l1, l2 */
CLONES static void apply_proximal_gradient_descent(const struct optimizer_step *step)
{
    PARTS;
    const float l1 = rate * step->settings[0], below = 1 + rate * step->settings[1];

    EACH out[i] = shrink(w[i] - rate * g[i], l1) / below;
}

/* settings: initial accumulator, l1, l2 */
CLONES static void apply_proximal_adagrad(const struct optimizer_step *step)
{
    PARTS;
    const float l1 = step->settings[1], l2 = step->settings[2];
    float *a = step->slots[0];

    EACH
    {
        a[i] += g[i] * g[i];
        float r = rate / sqrtf(a[i]);
        out[i] = shrink(w[i] - r * g[i], r * l1) / (1 + r * l2);
    }
}

#define ACCUMULATOR                      \
    {                                    \
        "initial_accumulator_value", .1f \
    }
#define L1                              \
    {                                   \
        "l1_regularization_strength", 0 \
    }
#define L2                              \
    {                                   \
        "l2_regularization_strength", 0 \
    }
#define ADAM(decay)                                                                         \
    5,                                                                                      \
        { { "beta_1", .9f },                                                                \
          { "beta_2", .999f },                                                              \
          { "epsilon", 1e-8f },                                                             \
          { "nesterov", 0 },                                                                \
          { "weight_decay", decay } },                                                      \
        2, { { "m", "Adam", STARTS_AT_0, NULL }, { "v", "Adam_1", STARTS_AT_0, NULL } }, 2, \
        { { "beta1_power", 0 }, { "beta2_power", 1 } }, apply_adam, .advance = raise_powers

#define ADAMAX                                                                                     \
    4, { { "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-8f }, { "weight_decay", 0 } }, 2, \
        { { "m", "AdaMax", STARTS_AT_0, NULL }, { "v", "AdaMax_1", STARTS_AT_0, NULL } }, 1,       \
        { { "beta1_power", 0 } }, apply_adamax, .advance = raise_power

#define LION                                                                \
    3, { { "beta_1", .9f }, { "beta_2", .99f }, { "weight_decay", 0 } }, 1, \
        { { "momentum", "Lion", STARTS_AT_0, NULL } }, 0, { { 0 } }, apply_lion, .advance = NULL

#define NADAM                                                                                 \
    5,                                                                                        \
        { { "beta_1", .9f },                                                                  \
          { "beta_2", .999f },                                                                \
          { "epsilon", 1e-8f },                                                               \
          { "initial_momentum_cache", 1 },                                                    \
          { "weight_decay", 0 } },                                                            \
        2, { { "m", "Nadam", STARTS_AT_0, NULL }, { "v", "Nadam_1", STARTS_AT_0, NULL } }, 2, \
        { { "iterations", STARTS_AT_0 }, { "momentum_cache", 3 } }, apply_nadam,              \
        .advance = advance_nadam

/* clang-format off: a table, one optimizer after the other */
static const struct optimizer optimizers[] = {
    { "adafactor",
      .001f,
      false,
      6,
      { { "beta_2_decay", -.8f },
        { "epsilon_1", 1e-30f },
        { "epsilon_2", 1e-3f },
        { "clip_threshold", 1 },
        { "relative_step", 1 },
        { "weight_decay", 0 } },
      1,
      { { "velocity", "Adafactor", STARTS_AT_0, NULL } },
      1,
      { { "iterations", STARTS_AT_0 } },
      apply_made,
      .advance = count_update,
      .whole = adafactor_update },
    { "adadelta",
      .001f,
      true,
      2,
      { { "rho", .95f }, { "epsilon", 1e-8f } },
      2,
      { { "accum", "Adadelta", STARTS_AT_0, NULL },
        { "accum_update", "Adadelta_1", STARTS_AT_0, NULL } },
      0,
      { { 0 } },
      apply_adadelta,
      .advance = NULL },
    { "adagrad",
      .01f,
      true,
      2,
      { ACCUMULATOR, { "epsilon", 0 } },
      1,
      { { "accumulator", "Adagrad", 0, NULL } },
      0,
      { { 0 } },
      apply_adagrad,
      .advance = NULL },
    { "adagrad_da",
      .01f,
      true,
      3,
      { { "initial_gradient_squared_accumulator_value", .1f }, L1, L2 },
      2,
      { { "gradient_accumulator", "AdagradDA", STARTS_AT_0, NULL },
        { "gradient_squared_accumulator", "AdagradDA_1", 0, NULL } },
      1,
      { { NULL, STARTS_AT_0 } },
      apply_adagrad_da,
      .advance = count_update },
    { "adam", .001f, false, ADAM(0) },
    { "adamax", .001f, false, ADAMAX },
    { "adamw", .001f, false, ADAM(.004f) },
    { "ftrl",
      .01f,
      true,
      6,
      { { "learning_rate_power", -.5f },
        ACCUMULATOR,
        L1,
        L2,
        { "l2_shrinkage_regularization_strength", 0 },
        { "beta", 0 } },
      2,
      { { "accum", "Ftrl", 1, NULL }, { "linear", "Ftrl_1", STARTS_AT_0, NULL } },
      0,
      { { 0 } },
      apply_ftrl,
      .advance = NULL },
    { "lamb",
      .001f,
      false,
      4,
      { { "beta_1", .9f }, { "beta_2", .999f }, { "epsilon", 1e-6f }, { "weight_decay", 0 } },
      2,
      { { "m", "LAMB", STARTS_AT_0, NULL }, { "v", "LAMB_1", STARTS_AT_0, NULL } },
      2,
      { { "beta1_power", 0 }, { "beta2_power", 1 } },
      apply_lamb,
      .advance = raise_powers,
      .measure = measure_lamb },
    { "lazy_adam", .001f, true, ADAM(0) },
    { "lazy_adamax", .001f, true, ADAMAX },
    { "lazy_adamw", .001f, true, ADAM(.004f) },
    { "lazy_lion", .001f, true, LION },
    { "lazy_nadam", .001f, true, NADAM },
    { "lion", .001f, false, LION },
    { "momentum",
      .01f,
      true,
      3,
      { { "momentum", .9f }, { "nesterov", 0 }, { "rate_in_momentum", 0 } },
      1,
      { { "momentum", "Momentum", STARTS_AT_0, NULL } },
      0,
      { { 0 } },
      apply_momentum,
      .advance = NULL },
    { "muon",
      .001f,
      false,
      14,
      { { "momentum", .95f },
        { "nesterov", 1 },
        { "ns_steps", 5 },
        { "rms_rate", .2f },
        { "muon_a", 3.4445f },
        { "muon_b", -4.775f },
        { "muon_c", 2.0315f },
        { "weight_decay", .004f },
        /* of AdamW, for the variables that are no matrices */
        { "adam_beta_1", .9f },
        { "adam_beta_2", .999f },
        { "epsilon", 1e-7f },
        { "adam_weight_decay", .004f },
        { "adam_lr_ratio", 1 },
        { "exclude_embeddings", 1 } },
      1,
      { { "momentum", "Muon", STARTS_AT_0, NULL } },
      0,
      { { 0 } },
      apply_made,
      .advance = NULL,
      .whole = muon_update },
    { "nadam", .001f, false, NADAM },
    { "proximal_adagrad",
      .01f,
      true,
      3,
      { ACCUMULATOR, L1, L2 },
      1,
      { { "accumulator", "ProximalAdagrad", 0, NULL } },
      0,
      { { 0 } },
      apply_proximal_adagrad,
      .advance = NULL },
    { "proximal_gradient_descent",
      .01f,
      true,
      2,
      { L1, L2 },
      0,
      { { 0 } },
      0,
      { { 0 } },
      apply_proximal_gradient_descent,
      .advance = NULL },
    { "rmsprop",
      .001f,
      true,
      5,
      { { "rho", .9f },
        { "momentum", 0 },
        { "epsilon", 1e-10f },
        { "initial_rms", 1 },
        { "centered", 0 } },
      3,
      { { "rms", "RMSProp", 3, NULL },
        { "momentum", "RMSProp_1", STARTS_AT_0, "RMSProp_2" },
        { "mg", NULL, STARTS_AT_0, "RMSProp_1" } },
      0,
      { { 0 } },
      apply_rmsprop,
      .advance = NULL },
    { "schedulefreeadamw",
      .0025f,
      false,
      5,
      { { "beta_1", .9f },
        { "beta_2", .999f },
        { "epsilon", 1e-8f },
        { "warmup_steps", 0 },
        { "weight_decay", 0 } },
      2,
      { { "momentum", "ScheduleFreeAdamW", STARTS_AT_0, NULL },
        { "velocity", "ScheduleFreeAdamW_1", STARTS_AT_0, NULL } },
      2,
      { { "iterations", STARTS_AT_0 }, { "beta2_power", 1 } },
      apply_schedule_free,
      .advance = advance_schedule_free,
      .has_keras_defaults = true },
    { "sgd", .01f, true, 0, { { 0 } }, 0, { { 0 } }, 0, { { 0 } }, apply_sgd, .advance = NULL },
};
/* clang-format on */

/* ---- Averages of the variables. ---- */

#define AVERAGE_NAME  "+ema"
#define MORE_SETTINGS 2 /* of the average: its momentum, and how often it becomes the value */

static struct optimizer averaging[COUNT(optimizers)];
static char averaging_names[COUNT(optimizers)][40];

/* The additions come last, so that the optimizer finds its own where they were. */
static void make_averaging(void)
{
    for (size_t i = 0; i < COUNT(optimizers); i++) {
        struct optimizer *made = &averaging[i];
        *made = optimizers[i];
        snprintf(averaging_names[i], sizeof averaging_names[i], "%s" AVERAGE_NAME, made->name);
        made->name = averaging_names[i];
        made->averages = true;
        made->settings[made->settings_count++] = (struct optimizer_setting){ "ema_momentum", .99f };
        made->settings[made->settings_count++] =
            (struct optimizer_setting){ "ema_overwrite_frequency", 0 };
        made->slots[made->slots_count++] =
            (struct optimizer_slot){ "average", "ExponentialMovingAverage", STARTS_AT_0, NULL };
        made->scalars[made->scalars_count++] =
            (struct optimizer_scalar){ "ema_updates", STARTS_AT_0 };
        assert(made->settings_count <= OPTIMIZER_SETTINGS_MAX &&
               made->slots_count <= OPTIMIZER_SLOTS_MAX &&
               made->scalars_count <= OPTIMIZER_SCALARS_MAX);
    }
}

const struct optimizer *optimizer_with_average(const struct optimizer *optimizer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (optimizer->averages)
        return optimizer;
    pthread_once(&once, make_averaging);
    return &averaging[optimizer - optimizers];
}

CLONES static void move_average(float momentum, const float *restrict w, float *restrict average,
                                size_t count)
{
    for (size_t i = 0; i < count; i++)
        average[i] = momentum * average[i] + (1 - momentum) * w[i];
}

/* The scalar counts the updates before this one; with a frequency f, below 2f, so that it stays
 * exact. */
bool optimizer_average_is_due(const struct optimizer *optimizer, const float *settings,
                              const float *scalars)
{
    if (!optimizer->averages)
        return false;
    float updates = scalars[optimizer->scalars_count - 1];
    float frequency = settings[optimizer->settings_count - 1];

    return frequency > 0 && fmodf(updates + 1, frequency) == 0;
}

void optimizer_keep_average(const struct optimizer *optimizer, const struct optimizer_step *step)
{
    if (!optimizer->averages)
        return;
    const float *more = step->settings + optimizer->settings_count - MORE_SETTINGS;
    float updates = step->scalars[optimizer->scalars_count - 1];
    float *average = step->slots[optimizer->slots_count - 1];

    move_average(updates > 0 ? more[0] : 0, step->out, average, step->count);
    if (optimizer_average_is_due(optimizer, step->settings, step->scalars))
        memcpy(step->out, average, step->count * sizeof *average);
}

void optimizer_advance(const struct optimizer *optimizer, const float *settings, float *scalars)
{
    if (optimizer->advance != NULL)
        optimizer->advance(settings, scalars);
    if (!optimizer->averages)
        return;
    float frequency = settings[optimizer->settings_count - 1];
    float *updates = &scalars[optimizer->scalars_count - 1];
    *updates += 1;
    if (*updates >= (frequency > 0 ? 2 * frequency : 2))
        *updates -= frequency > 0 ? frequency : 1;
}

/* ---- By name. ---- */

static const struct optimizer *find_plain(const char *name, size_t size)
{
    for (size_t i = 0; i < COUNT(optimizers); i++)
        if (strlen(optimizers[i].name) == size && strncasecmp(optimizers[i].name, name, size) == 0)
            return &optimizers[i];
    return NULL;
}

const struct optimizer *optimizer_find(const char *name)
{
    size_t size = strlen(name), end = strlen(AVERAGE_NAME);

    if (size <= end || strcmp(name + size - end, AVERAGE_NAME) != 0)
        return find_plain(name, size);
    const struct optimizer *plain = find_plain(name, size - end);
    return plain != NULL ? optimizer_with_average(plain) : NULL;
}

struct status optimizer_can_be_another(const struct optimizer *optimizer)
{
    if (optimizer->whole == muon_update)
        return status_error(STATUS_UNIMPLEMENTED,
                            "the optimizer 'muon' for some variables: it brings adamw for others");
    if (!optimizer->averages)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "the optimizer '%s' for some variables: averages are of all variables",
                        optimizer->name);
}

const struct optimizer *optimizer_lazy(const struct optimizer *optimizer)
{
    char name[40];

    if (optimizer->row_local)
        return optimizer;
    snprintf(name, sizeof name, "lazy_%s", optimizer->name);
    return optimizer_find(name);
}

const struct optimizer_setting optimizer_keras_defaults[] = {
    { "epsilon", 1e-7f },
    { "initial_rms", 0 },
    { NULL, 0 },
};

float optimizer_keras_rate(const struct optimizer *optimizer)
{
    if (optimizer->has_keras_defaults)
        return optimizer->rate;
    bool plain = strcmp(optimizer->name, "sgd") == 0 || strcmp(optimizer->name, "momentum") == 0;

    return plain ? .01f : .001f;
}

bool optimizer_keras_moves_all_rows(const struct optimizer *optimizer)
{
    static const char *const still[] = { "sgd", "sgd" AVERAGE_NAME, "adagrad",
                                         "adagrad" AVERAGE_NAME };

    for (size_t i = 0; i < COUNT(still); i++)
        if (strcmp(optimizer->name, still[i]) == 0)
            return false;
    return true;
}

bool optimizer_rests(const struct optimizer *optimizer)
{
    return strcmp(optimizer->name, "ftrl") == 0;
}

static char names[256];

static void join_names(void)
{
    size_t size = 0;

    for (size_t i = 0; i < COUNT(optimizers); i++)
        size += (size_t)snprintf(names + size, sizeof names - size, i > 0 ? " %s" : "%s",
                                 optimizers[i].name);
    assert(size < sizeof names);
}

const char *optimizer_names(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, join_names);
    return names;
}

int optimizer_setting_index(const struct optimizer *optimizer, const char *name)
{
    for (int i = 0; i < optimizer->settings_count; i++)
        if (strcmp(optimizer->settings[i].name, name) == 0)
            return i;
    return -1;
}

const char *optimizer_slot_suffix(const struct optimizer *optimizer, const float *settings,
                                  int slot)
{
    const struct optimizer_slot *row = &optimizer->slots[slot];
    int last = optimizer->settings_count - 1 - (optimizer->averages ? MORE_SETTINGS : 0);

    return row->suffix_then != NULL && settings[last] != 0 ? row->suffix_then : row->suffix;
}

float optimizer_initial(const float *settings, int initial_setting)
{
    return initial_setting == STARTS_AT_0 ? 0 : settings[initial_setting];
}

CLONES static void add(const float *a, const float *b, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

CLONES static void add_to(float *restrict out, const float *restrict b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] += b[i];
}

CLONES static void scale(float *out, float by, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] *= by;
}

void optimizer_mean(const float *const *gradients, int gradients_count, float *out, size_t count)
{
    add(gradients[0], gradients[1], out, count);
    for (int i = 2; i < gradients_count; i++)
        add_to(out, gradients[i], count);
    scale(out, 1 / (float)gradients_count, count);
}
