/*
 * Built with -ffp-contract=off: the loops run over slices of any length, on machines with and
 * without fused multiply-add, and training with a seed must give the same bits in all cases.
 */
#include "trainer/optimizers/formulas.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"

/*
 * The step's fields under the formulas' names. `out` may be `w` itself but never overlaps it
 * otherwise, so each element is read before it is written: `ivdep` tells the compiler so at each
 * loop.
 */
#define PARTS                                                  \
    const float rate = step->rate, *w = step->w, *g = step->g; \
    float *out = step->out;                                    \
    const size_t count = step->count
/* The factor by which a decoupled weight decay multiplies w before the update; 1 without it. */
#define KEEP(decay) const float keep = 1 - rate * step->settings[decay]
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

/* setting: weight_decay */
CLONES void apply_sgd(const struct optimizer_step *step)
{
    PARTS;
    KEEP(0);
    EACH out[i] = w[i] * keep - rate * g[i];
}

void apply_made(const struct optimizer_step *step)
{
    memmove(step->out, step->g, step->count * sizeof *step->out);
}

CLONES void apply_average(const struct optimizer_step *step)
{
    PARTS;
    const float old = step->settings[0], new = step->settings[1];

    (void)rate;
    EACH out[i] = w[i] * old + g[i] * new;
}

/* The momentum contains the rates of its gradients, which matters if the rate changes. */
CLONES static void apply_keras_momentum(const struct optimizer_step *step)
{
    PARTS;
    KEEP(3);
    const float mu = step->settings[0];
    float *a = step->slots[0];

    if (step->settings[1] != 0)
        EACH
        {
            a[i] = mu * a[i] + rate * g[i];
            out[i] = w[i] * keep - (mu * a[i] + rate * g[i]);
        }
    else
        EACH
        {
            a[i] = mu * a[i] + rate * g[i];
            out[i] = w[i] * keep - a[i];
        }
}

/* settings: momentum μ, nesterov, rate_in_momentum, weight_decay */
CLONES void apply_momentum(const struct optimizer_step *step)
{
    PARTS;
    KEEP(3);
    const float mu = step->settings[0];
    float *a = step->slots[0];

    if (step->settings[2] != 0)
        apply_keras_momentum(step);
    else if (step->settings[1] != 0)
        EACH
        {
            a[i] = mu * a[i] + g[i];
            out[i] = w[i] * keep - (rate * g[i] + rate * mu * a[i]);
        }
    else
        EACH
        {
            a[i] = mu * a[i] + g[i];
            out[i] = w[i] * keep - rate * a[i];
        }
}

/* settings: initial accumulator, epsilon (inside the root; Keras', 0 with TensorFlow's),
 * weight_decay */
CLONES void apply_adagrad(const struct optimizer_step *step)
{
    PARTS;
    KEEP(2);
    const float epsilon = step->settings[1];
    float *a = step->slots[0];

    EACH
    {
        a[i] += g[i] * g[i];
        out[i] = w[i] * keep - rate * g[i] / sqrtf(a[i] + epsilon);
    }
}

/* settings: l1, l2; scalar: T, the number of earlier updates */
CLONES void apply_adagrad_da(const struct optimizer_step *step)
{
    PARTS;
    (void)w; /* the old w is not used: the sums determine the new one */
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

void advance_count(const float *settings, float *scalars)
{
    (void)settings;
    scalars[0] += 1;
}

/* settings: rho, epsilon, weight_decay */
CLONES void apply_adadelta(const struct optimizer_step *step)
{
    PARTS;
    KEEP(2);
    const float rho = step->settings[0], epsilon = step->settings[1];
    float *a = step->slots[0], *d = step->slots[1];

    EACH
    {
        a[i] = rho * a[i] + (1 - rho) * g[i] * g[i];
        float u = sqrtf(d[i] + epsilon) / sqrtf(a[i] + epsilon) * g[i];
        out[i] = w[i] * keep - rate * u;
        d[i] = rho * d[i] + (1 - rho) * u * u;
    }
}

/* settings: rho, momentum μ, epsilon (inside the root), the initial s, weight_decay, centered */
CLONES void apply_rmsprop(const struct optimizer_step *step)
{
    PARTS;
    KEEP(4);
    const float rho = step->settings[0], mu = step->settings[1], epsilon = step->settings[2];
    float *s = step->slots[0], *m = step->slots[1], *q = step->slots[2];

    if (step->settings[5] != 0)
        EACH
        {
            s[i] += (g[i] * g[i] - s[i]) * (1 - rho);
            q[i] += (g[i] - q[i]) * (1 - rho);
            m[i] = mu * m[i] + rate * g[i] / sqrtf(s[i] - q[i] * q[i] + epsilon);
            out[i] = w[i] * keep - m[i];
        }
    else
        EACH
        {
            s[i] += (g[i] * g[i] - s[i]) * (1 - rho);
            m[i] = mu * m[i] + rate * g[i] / sqrtf(s[i] + epsilon);
            out[i] = w[i] * keep - m[i];
        }
}

/*
 * settings: beta_1, beta_2, epsilon ("epsilon hat": outside the root, not corrected), nesterov,
 * weight_decay (decoupled: applied to w first); scalars: β1ᵗ, β2ᵗ
 *
 * With a gradient of some rows, TensorFlow's Adam changes all rows, because their averages move
 * with every update; this takes as long as the whole table. "lazy_adam" is TensorFlow's LazyAdam,
 * which changes only these rows, using the powers of all updates; with dense gradients it is the
 * same.
 */
CLONES void apply_adam(const struct optimizer_step *step)
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

/* Adam whose divisor never shrinks. settings: beta_1, beta_2, epsilon, weight_decay; scalars: β1ᵗ,
 * β2ᵗ */
CLONES void apply_amsgrad(const struct optimizer_step *step)
{
    PARTS;
    KEEP(3);
    const float beta1 = step->settings[0], beta2 = step->settings[1], epsilon = step->settings[2];
    const float alpha = rate * sqrtf(1 - step->scalars[1]) / (1 - step->scalars[0]);
    float *m = step->slots[0], *v = step->slots[1], *most = step->slots[2];

    EACH
    {
        m[i] += (g[i] - m[i]) * (1 - beta1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
        most[i] = v[i] > most[i] ? v[i] : most[i];
        out[i] = w[i] * keep - alpha * m[i] / (sqrtf(most[i]) + epsilon);
    }
}

/*
 * settings: beta_1, beta_2, epsilon, warmup_steps, weight_decay (as Adam's); scalars: the number of
 * earlier updates, β2ᵗ
 *
 * The steps apply to z, and x is the mean of z over the updates. w = z + β1 (x - z), so x follows
 * from w and z. z starts as w, which only the first update knows.
 */
CLONES void apply_schedule_free(const struct optimizer_step *step)
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

void advance_schedule_free(const float *settings, float *scalars)
{
    scalars[0] += 1;
    scalars[1] *= settings[1];
}

void advance_powers(const float *settings, float *scalars)
{
    scalars[0] *= settings[0];
    scalars[1] *= settings[1];
}

void advance_power(const float *settings, float *scalars)
{
    scalars[0] *= settings[0];
}

/*
 * settings: beta_1, beta_2, epsilon (outside the maximum), weight_decay (as Adam's); scalar: β1ᵗ
 */
CLONES void apply_adamax(const struct optimizer_step *step)
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

/* Nadam's β1 of update t: it grows from half of beta_1. */
static inline float nadam_beta1(float beta1, float t)
{
    return beta1 * (1 - .5f * powf(.96f, t));
}

/*
 * settings: beta_1, beta_2, epsilon (outside the root), the initial product, weight_decay (as
 * Adam's); scalars: the number of updates so far, the product of their β1
 */
CLONES void apply_nadam(const struct optimizer_step *step)
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

void advance_nadam(const float *settings, float *scalars)
{
    scalars[0] += 1;
    scalars[1] *= nadam_beta1(settings[0], scalars[0]);
}

/* Independent partial sums, because the compiler must not reorder a sum of floats. */
#define LANES 8

/* Element i of LAMB's update, before its length is scaled. */
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

/* settings: beta_1, beta_2, epsilon (outside the root), weight_decay (as Adam's: applied to w
 * before its norm); scalars: β1ᵗ, β2ᵗ. The sums do not depend on the number of ps tasks, because
 * the pieces of a variable do not. */
CLONES void measure_lamb(const struct optimizer_step *step, struct optimizer_norms *norms)
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

CLONES void apply_lamb(const struct optimizer_step *step)
{
    LAMB_PARTS;
    const float *w = step->w, by = step->rate * step->ratio;
    float *out = step->out;
    const size_t count = step->count;

    EACH out[i] = w[i] * keep - by * LAMB_UPDATE(i);
}

/* settings: beta_1, beta_2, weight_decay (as Adam's) */
CLONES void apply_lion(const struct optimizer_step *step)
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

/* One loop for each way to compute n^-p: the compiler does not vectorise a loop with both. */
#define FTRL_LOOP(n_to_minus_p)                                          \
    EACH                                                                 \
    {                                                                    \
        float grown = n[i] + g[i] * g[i], root = n_to_minus_p(grown, p); \
        float sigma = (root - n_to_minus_p(n[i], p)) / rate;             \
        float kept = w[i] * keep;                                        \
        float sum = z[i] + (g[i] + 2 * shrinkage * kept - sigma * kept); \
        z[i] = sum;                                                      \
        out[i] = -shrink(sum, l1) / (root / rate + 2 * l2);              \
        n[i] = grown;                                                    \
    }

/*
 * settings: learning_rate_power p, initial accumulator, l1, l2, l2 shrinkage, beta, weight_decay
 *
 * The formula divides by the rate. TensorFlow refuses a rate of 0; a schedule may reach it, and
 * then updates change nothing. The usual p is -½.
 */
CLONES void apply_ftrl(const struct optimizer_step *step)
{
    PARTS;
    if (rate == 0) {
        memmove(out, w, count * sizeof *out);
        return;
    }
    KEEP(6);
    const float p = step->settings[0], l1 = step->settings[2], shrinkage = step->settings[4];
    const float l2 = step->settings[3] + step->settings[5] / (2 * rate);
    float *n = step->slots[0], *z = step->slots[1];

    if (p == -.5f)
        FTRL_LOOP(ftrl_root)
    else
        FTRL_LOOP(ftrl_power)
}

/* settings: l1, l2 */
CLONES void apply_proximal_gradient_descent(const struct optimizer_step *step)
{
    PARTS;
    const float l1 = rate * step->settings[0], below = 1 + rate * step->settings[1];

    EACH out[i] = shrink(w[i] - rate * g[i], l1) / below;
}

/* settings: initial accumulator, l1, l2 */
CLONES void apply_proximal_adagrad(const struct optimizer_step *step)
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
