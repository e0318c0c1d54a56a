/*
 * The loops of optimize.c for one type: included with T, the type, NAME(loop), the name of its
 * loop, and IS_REAL. Formulas are those of TensorFlow's training ops. In them, w is the variable, g
 * the gradient; a, m, v, … are slots.
 */
#define LOOP(loop)          static void NAME(loop)(const struct optimize_step *step)
#define EACH                for (int64_t i = 0; i < step->count; i++)
#define SLOT(name, index)   T *name = step->variables[index]
#define SCALAR(name, index) const T name = (T)step->scalars[index]
#define GRADIENT            const T *g = step->gradient

LOOP(gradient_descent)
{
    SLOT(w, 0);
    SCALAR(rate, 0);
    GRADIENT;
    EACH w[i] -= rate * g[i];
}

LOOP(momentum)
{
    SLOT(w, 0);
    SLOT(a, 1);
    SCALAR(rate, 0);
    SCALAR(mu, 1);
    GRADIENT;
    EACH
    {
        a[i] = a[i] * mu + g[i];
        w[i] -= step->flag ? g[i] * rate + a[i] * mu * rate : a[i] * rate;
    }
}

LOOP(keras_momentum)
{
    SLOT(w, 0);
    SLOT(a, 1);
    SCALAR(rate, 0);
    SCALAR(mu, 1);
    GRADIENT;
    EACH
    {
        a[i] = a[i] * mu - g[i] * rate;
        w[i] += step->flag ? a[i] * mu - g[i] * rate : a[i];
    }
}

LOOP(adam)
{
    SLOT(w, 0);
    SLOT(m, 1);
    SLOT(v, 2);
    SCALAR(beta1_power, 0);
    SCALAR(beta2_power, 1);
    SCALAR(rate, 2);
    SCALAR(beta1, 3);
    SCALAR(beta2, 4);
    SCALAR(epsilon, 5);
    GRADIENT;
    const T alpha = rate * sqrt(1 - beta2_power) / (1 - beta1_power);
    EACH
    {
        m[i] += (g[i] - m[i]) * (1 - beta1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
        const T ahead = step->flag ? g[i] * (1 - beta1) + beta1 * m[i] : m[i];
        w[i] -= ahead * alpha / (sqrt(v[i]) + epsilon);
    }
}

LOOP(adadelta)
{
    SLOT(w, 0);
    SLOT(a, 1);
    SLOT(d, 2);
    SCALAR(rate, 0);
    SCALAR(rho, 1);
    SCALAR(epsilon, 2);
    GRADIENT;
    EACH
    {
        a[i] = a[i] * rho + g[i] * g[i] * (1 - rho);
        const T change = sqrt(d[i] + epsilon) / sqrt(a[i] + epsilon) * g[i];
        w[i] -= change * rate;
        d[i] = d[i] * rho + change * change * (1 - rho);
    }
}

LOOP(adagrad)
{
    SLOT(w, 0);
    SLOT(a, 1);
    SCALAR(rate, 0);
    GRADIENT;
    EACH
    {
        if (step->flag)
            a[i] += g[i] * g[i];
        w[i] -= g[i] * rate / sqrt(a[i]);
    }
}

LOOP(adagrad_v2)
{
    SLOT(w, 0);
    SLOT(a, 1);
    SCALAR(rate, 0);
    SCALAR(epsilon, 1);
    GRADIENT;
    EACH
    {
        if (step->flag)
            a[i] += g[i] * g[i];
        w[i] -= g[i] * rate / (sqrt(a[i]) + epsilon);
    }
}

LOOP(rmsprop)
{
    SLOT(w, 0);
    SLOT(ms, 1);
    SLOT(mom, 2);
    SCALAR(rate, 0);
    SCALAR(rho, 1);
    SCALAR(mu, 2);
    SCALAR(epsilon, 3);
    GRADIENT;
    EACH
    {
        ms[i] += (g[i] * g[i] - ms[i]) * (1 - rho);
        mom[i] = mom[i] * mu + g[i] * rate / sqrt(ms[i] + epsilon);
        w[i] -= mom[i];
    }
}

LOOP(centered_rmsprop)
{
    SLOT(w, 0);
    SLOT(mg, 1);
    SLOT(ms, 2);
    SLOT(mom, 3);
    SCALAR(rate, 0);
    SCALAR(rho, 1);
    SCALAR(mu, 2);
    SCALAR(epsilon, 3);
    GRADIENT;
    EACH
    {
        ms[i] += (g[i] * g[i] - ms[i]) * (1 - rho);
        mg[i] += (g[i] - mg[i]) * (1 - rho);
        mom[i] = mom[i] * mu + g[i] * rate / sqrt(ms[i] - mg[i] * mg[i] + epsilon);
        w[i] -= mom[i];
    }
}

#if IS_REAL

static inline T NAME(sign)(T x) /* 0 of 0, and NaN of NaN */
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static inline T NAME(shrink)(T x, T by) /* towards 0 */
{
    const T size = fabs(x) - by;
    return NAME(sign)(x) * (size > 0 ? size : 0);
}

LOOP(adam_with_amsgrad)
{
    SLOT(w, 0);
    SLOT(m, 1);
    SLOT(v, 2);
    SLOT(vhat, 3);
    SCALAR(beta1_power, 0);
    SCALAR(beta2_power, 1);
    SCALAR(rate, 2);
    SCALAR(beta1, 3);
    SCALAR(beta2, 4);
    SCALAR(epsilon, 5);
    GRADIENT;
    const T alpha = rate * sqrt(1 - beta2_power) / (1 - beta1_power);
    EACH
    {
        m[i] += (g[i] - m[i]) * (1 - beta1);
        v[i] += (g[i] * g[i] - v[i]) * (1 - beta2);
        vhat[i] = vhat[i] < v[i] ? v[i] : vhat[i];
        w[i] -= m[i] * alpha / (sqrt(vhat[i]) + epsilon);
    }
}

LOOP(adamax)
{
    SLOT(w, 0);
    SLOT(m, 1);
    SLOT(v, 2);
    SCALAR(beta1_power, 0);
    SCALAR(rate, 1);
    SCALAR(beta1, 2);
    SCALAR(beta2, 3);
    SCALAR(epsilon, 4);
    GRADIENT;
    EACH
    {
        const T faded = beta2 * v[i], size = fabs(g[i]);
        m[i] += (g[i] - m[i]) * (1 - beta1);
        v[i] = faded < size ? size : faded;
        w[i] -= rate / (1 - beta1_power) * (m[i] / (v[i] + epsilon));
    }
}

LOOP(adagrad_da)
{
    SLOT(w, 0);
    SLOT(sum, 1);
    SLOT(squares, 2);
    SCALAR(rate, 0);
    SCALAR(l1, 1);
    SCALAR(l2, 2);
    SCALAR(count, 3);
    GRADIENT;
    EACH
    {
        sum[i] += g[i];
        squares[i] += g[i] * g[i];
        const T left = l1 > 0 ? NAME(shrink)(sum[i], l1 * count) : sum[i];
        w[i] = -rate * left / (l2 * count * rate + sqrt(squares[i]));
    }
}

/* n^-p */
static inline T NAME(ftrl_power)(T n, T p)
{
    return p == -0.5F ? sqrt(n) : pow(n, -p);
}

/* flag: the linear slot is a multiple of the rate */
static void NAME(ftrl_shrinking)(const struct optimize_step *step, T shrinkage, T p)
{
    SLOT(w, 0);
    SLOT(n, 1);
    SLOT(z, 2);
    SCALAR(rate, 0);
    SCALAR(l1, 1);
    SCALAR(l2, 2);
    GRADIENT;
    const T by = step->flag ? rate : 1, below = step->flag ? 1 : rate;
    EACH
    {
        const T grown = n[i] + g[i] * g[i], root = NAME(ftrl_power)(grown, p);
        const T drift = (root - NAME(ftrl_power)(n[i], p)) / below;
        z[i] += (g[i] + 2 * shrinkage * w[i]) * by - drift * w[i];
        const bool rests = !step->by_rows && !(fabs(z[i]) > l1 * by); /* NaN counts as small */
        w[i] = rests ? 0 : -NAME(shrink)(z[i], l1 * by) / (root / below + 2 * l2 * by);
        n[i] = grown;
    }
}

LOOP(ftrl)
{
    SCALAR(p, 3);
    NAME(ftrl_shrinking)(step, 0, p);
}

LOOP(ftrl_v2)
{
    SCALAR(shrinkage, 3);
    SCALAR(p, 4);
    NAME(ftrl_shrinking)(step, shrinkage, p);
}

LOOP(proximal_gradient_descent)
{
    SLOT(w, 0);
    SCALAR(rate, 0);
    SCALAR(l1, 1);
    SCALAR(l2, 2);
    GRADIENT;
    EACH
    {
        const T moved = w[i] - g[i] * rate;
        w[i] = (l1 > 0 ? NAME(shrink)(moved, rate * l1) : moved) / (1 + l2 * rate);
    }
}

LOOP(proximal_adagrad)
{
    SLOT(w, 0);
    SLOT(a, 1);
    SCALAR(rate, 0);
    SCALAR(l1, 1);
    SCALAR(l2, 2);
    GRADIENT;
    EACH
    {
        a[i] += g[i] * g[i];
        const T own_rate = rate / sqrt(a[i]), moved = w[i] - g[i] * own_rate;
        w[i] = (l1 > 0 ? NAME(shrink)(moved, own_rate * l1) : moved) / (1 + l2 * own_rate);
    }
}

LOOP(add_sign)
{
    SLOT(w, 0);
    SLOT(m, 1);
    SCALAR(rate, 0);
    SCALAR(alpha, 1);
    SCALAR(sign_decay, 2);
    SCALAR(beta, 3);
    GRADIENT;
    EACH
    {
        m[i] = m[i] * beta + g[i] * (1 - beta);
        const T agree = NAME(sign)(g[i]) * NAME(sign)(m[i]);
        w[i] -= rate * (alpha + sign_decay * agree) * g[i];
    }
}

LOOP(power_sign)
{
    SLOT(w, 0);
    SLOT(m, 1);
    SCALAR(rate, 0);
    SCALAR(logbase, 1);
    SCALAR(sign_decay, 2);
    SCALAR(beta, 3);
    GRADIENT;
    EACH
    {
        m[i] = m[i] * beta + g[i] * (1 - beta);
        const T agree = NAME(sign)(g[i]) * NAME(sign)(m[i]);
        w[i] -= rate * exp(logbase * sign_decay * agree) * g[i];
    }
}

#endif

#undef LOOP
#undef EACH
#undef SLOT
#undef SCALAR
#undef GRADIENT
#undef T
#undef NAME
#undef IS_REAL
