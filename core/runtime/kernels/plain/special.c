#include "runtime/kernels/plain/special.h"

#include <math.h>
#include <stdbool.h>

#define EPSILON   2.3e-16 /* less is never reached: it is below a double's precision */
#define EULER     0.57721566490153286061
#define STEPS_MAX 2000 /* of a series or a continued fraction; as TensorFlow's */

double special_lgamma(double x)
{
    int sign; /* lgamma keeps it in a variable that threads share */
    return isinf(x) ? INFINITY : lgamma_r(x, &sign);
}

double special_digamma(double x)
{
    double shift = 0;
    if (x <= 0) {
        if (x == floor(x))
            return NAN;
        return special_digamma(1 - x) - M_PI / tan(M_PI * x);
    }
    for (; x < 10; x++)
        shift += 1 / x;
    double y = 1 / (x * x);
    double series =
        y * (1. / 12 -
             y * (1. / 120 -
                  y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y / 12))))));
    return log(x) - 0.5 / x - series - shift;
}

/* ---- inverses of the error function ---- */

/* The x of erfc(x) = q for 0 < q <= 1: a rational guess, and steps of Halley's method. */
static double inverse_erfc(double q)
{
    double t = sqrt(-2 * log(q / 2));
    double x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
    for (int i = 0; i < 3; i++) {
        double error = erfc(x) - q;
        x += error / (M_2_SQRTPI * exp(-x * x) - x * error);
    }
    return x;
}

double special_erfinv(double x)
{
    double size = fabs(x);
    if (!(size < 1))
        return size == 1 ? copysign(INFINITY, x) : NAN;
    if (size > 0.5)
        return copysign(inverse_erfc(1 - size), x);
    double y = x / M_2_SQRTPI;
    for (int i = 0; i < 4; i++) {
        double error = erf(y) - x;
        y -= error / (M_2_SQRTPI * exp(-y * y) + y * error);
    }
    return y;
}

double special_ndtri(double p)
{
    if (!(p > 0 && p < 1))
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    if (p > 0.25 && p < 0.75)
        return M_SQRT2 * special_erfinv(2 * p - 1);
    return p < 0.5 ? -M_SQRT2 * inverse_erfc(2 * p) : M_SQRT2 * inverse_erfc(2 * (1 - p));
}

/* ---- modified Bessel functions ---- */

#define FAR 30 /* from here on, asymptotic series converge */

/* The asymptotic series of sqrt(2 pi x) e^-x I(x); of I(-x), which is that of K(x) instead. */
static double bessel_far(double order, double x)
{
    double sum = 1, term = 1, square = 4 * order * order;
    for (int k = 1; k < 60 && fabs(term) > EPSILON; k++) {
        term *= -(square - (2. * k - 1) * (2. * k - 1)) / (8 * x * k);
        sum += term;
    }
    return sum;
}

static double bessel_i(int order, double x)
{
    double term = order == 0 ? 1 : x / 2, sum = term;
    if (x > FAR)
        return isinf(x) ? 0 : bessel_far(order, x) / sqrt(2 * M_PI * x);
    for (int k = 1; k < STEPS_MAX && term > EPSILON * sum; k++) {
        term *= x * x / 4 / ((double)k * (k + order));
        sum += term;
    }
    return sum * exp(-x);
}

double special_bessel_i0e(double x)
{
    return isnan(x) ? x : bessel_i(0, fabs(x));
}

double special_bessel_i1e(double x)
{
    return isnan(x) ? x : copysign(bessel_i(1, fabs(x)), x);
}

/* e^x K(x) = ∫ e^(-x (cosh t - 1)) cosh(order · t) dt from 0: the trapezoidal rule is exact to
 * e^-40 as long as the curve is wide. Below 0, infinity as in TensorFlow. */
static double bessel_k(int order, double x)
{
    const double step = 0.125;
    double sum = 0.5;
    if (!(x > 0))
        return isnan(x) ? x : INFINITY;
    if (x > FAR)
        return isinf(x) ? 0 : bessel_far(order, -x) * sqrt(M_PI / 2 / x);
    for (int i = 1; i < STEPS_MAX; i++) {
        double t = i * step, half = sinh(t / 2), fall = 2 * x * half * half;
        double term = exp(-fall) * (order == 0 ? 1 : cosh(t));
        sum += term;
        if (fall > 40 && term < EPSILON * sum)
            break;
    }
    return sum * step;
}

double special_bessel_k0e(double x)
{
    return bessel_k(0, x);
}

double special_bessel_k1e(double x)
{
    return bessel_k(1, x);
}

/* ---- integrals ---- */

/* Rybicki's sum, whose error with steps of 0.2 is e^-61. */
double special_dawsn(double x)
{
    const double step = 0.2;
    double size = fabs(x), sum = 0;
    if (isinf(x))
        return copysign(0, x);
    if (size < 0.2) {
        double square = x * x, term = x;
        for (int k = 1; k < 20; k++) {
            sum += term;
            term *= -2 * square / (2 * k + 1);
        }
        return sum;
    }
    double even = 2 * floor(0.5 * size / step + 0.5), rest = size - even * step;
    for (int n = -63; n <= 63; n += 2)
        sum += exp(-(rest - n * step) * (rest - n * step)) / (n + even);
    return copysign(sum / sqrt(M_PI), x);
}

double special_expint(double x)
{
    if (!(x > 0))
        return x == 0 ? -INFINITY : NAN;
    double sum = 0, term = 1;
    if (x < 40) {
        for (int k = 1; k < STEPS_MAX; k++) {
            term *= x / k;
            sum += term / k;
            if (k > x && term / k < EPSILON * sum)
                break;
        }
        return EULER + log(x) + sum;
    }
    for (int k = 1; k < 60 && term > EPSILON; k++) {
        sum += term;
        term *= k / x;
    }
    return exp(x) / x * sum; /* NaN at infinity, as TensorFlow's */
}

/* ∫ cos or sin of π t² / 2 from 0 to x >= 0 */
static double fresnel(double x, bool is_sine)
{
    double z = M_PI * x * x / 2, term, sum = 0;
    if (x < 3) {
        term = is_sine ? x * z : x;
        for (int k = is_sine ? 1 : 0; k < 200; k += 2) {
            sum += term / (2 * k + 1);
            term *= -z * z / ((k + 1.) * (k + 2.));
        }
        return sum;
    }
    if (x > 1e7)
        return 0.5;
    double f = 0, g = 0, t = M_PI * x * x;
    term = 1;
    for (int k = 0; k < 40; k++) { /* f: even terms, g: odd terms, with signs + + - - */
        double sign = k / 2 % 2 == 0 ? 1 : -1;
        if (k % 2 == 0)
            f += sign * term;
        else
            g += sign * term;
        double next = term * (2 * k + 1) / t;
        if (next > term || next < EPSILON)
            break;
        term = next;
    }
    double turn = fmod(x * x, 4) * M_PI / 2, scale = 1 / (M_PI * x);
    return is_sine ? 0.5 - scale * (f * cos(turn) + g * sin(turn))
                   : 0.5 + scale * (f * sin(turn) - g * cos(turn));
}

double special_fresnel_cos(double x)
{
    return isnan(x) ? x : copysign(fresnel(fabs(x), false), x);
}

double special_fresnel_sin(double x)
{
    return isnan(x) ? x : copysign(fresnel(fabs(x), true), x);
}

/* Li2(z) for |z| <= 1/2 */
static double dilogarithm(double z)
{
    double sum = 0, power = z;
    for (int k = 1; k < 100 && fabs(power) > 0; k++) {
        sum += power / ((double)k * k);
        power *= z;
    }
    return sum;
}

double special_spence(double x)
{
    const double limit = M_PI * M_PI / 6;
    if (!(x >= 0) || isinf(x)) /* as TensorFlow's at infinity */
        return NAN;
    if (x == 0)
        return limit;
    if (x < 0.5)
        return limit - log(x) * log1p(-x) - dilogarithm(x);
    if (x <= 1.5)
        return dilogarithm(1 - x);
    double logarithm = log(x); /* Li2(1 - x) = -Li2((x - 1) / x) - ln²(x) / 2 */
    if (x <= 2)
        return -dilogarithm((x - 1) / x) - logarithm * logarithm / 2;
    return -special_spence(1 / x) - logarithm * logarithm / 2;
}

/* ---- zeta ---- */

/* The sum of (q + k)^-x, by Euler and Maclaurin from the twelfth term on. */
double special_zeta(double x, double q)
{
    static const double bernoulli[] = { 1. / 6,       -1. / 30, 1. / 42,      -1. / 30,    5. / 66,
                                        -691. / 2730, 7. / 6,   -3617. / 510, 43867. / 798 };
    double sum = 0, factor = x;
    if (x == 1)
        return INFINITY;
    if (!(x > 1) || isnan(q))
        return NAN;
    if (isinf(q) && q > 0)
        return 0;
    if (q <= 0) {
        if (q == floor(q)) /* a pole, which TensorFlow knows for even numbers only */
            return isinf(x) || fmod(x, 2) == 0 ? INFINITY : NAN;
        if (x != floor(x) || q < -STEPS_MAX)
            return NAN;
    }
    if (isinf(x))
        return pow(q, -x);
    int count = q < 12 ? (int)(12 - q) : 0;
    for (int k = 0; k < count; k++, q++)
        sum += pow(q, -x);
    double power = pow(q, -x);
    sum += power * q / (x - 1) + power / 2;
    power /= q;
    for (int k = 1; k <= 9; k++) { /* B(2k) / (2k)! · x (x + 1) … (x + 2k - 2) · q^(1 - x - 2k) */
        factor /= k == 1 ? 2 : (2. * k - 1) * (2. * k);
        sum += bernoulli[k - 1] * factor * power;
        factor *= (x + 2 * k - 1) * (x + 2 * k);
        power /= q * q;
    }
    return sum;
}

double special_polygamma(double n, double x)
{
    if (n == 0)
        return special_digamma(x);
    if (!(n > 0) || n != floor(n))
        return NAN;
    return pow(-1, n + 1) * exp(special_lgamma(n + 1)) * special_zeta(n + 1, x);
}

/* ---- incomplete gamma and beta functions ---- */

/* e^-x x^a / Γ(a + 1) · (1 + x / (a + 1) + …) */
static double igamma_series(double a, double x)
{
    double sum = 1, term = 1;
    for (int k = 1; k < STEPS_MAX && term > EPSILON * sum; k++) {
        term *= x / (a + k);
        sum += term;
    }
    return sum * exp(a * log(x) - x - special_lgamma(a + 1));
}

/* Lentz's method for a continued fraction: keeps a denominator away from 0. */
static double away_from_0(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

static double igammac_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1e300, d = 1 / away_from_0(b), product = d;
    for (int k = 1; k < STEPS_MAX; k++) {
        double numerator = -k * (k - a);
        b += 2;
        d = 1 / away_from_0(numerator * d + b);
        c = away_from_0(b + numerator / c);
        product *= c * d;
        if (fabs(c * d - 1) < EPSILON)
            break;
    }
    return product * exp(a * log(x) - x - special_lgamma(a));
}

/* igamma at the ends of its range, as in Eigen: NaN if a or x is outside; the limit if one is at an
 * end; otherwise -1. */
static double igamma_limit(double a, double x)
{
    if (isnan(a) || isnan(x) || a <= 0 || x < 0)
        return NAN;
    if (isinf(a))
        return 0;
    return x == 0 ? 0 : isinf(x) ? 1 : -1;
}

double special_igamma(double a, double x)
{
    double limit = igamma_limit(a, x);
    if (x == 0) /* Eigen does not check a then */
        return 0;
    if (limit != -1)
        return limit;
    return x > 1 && x > a ? 1 - igammac_fraction(a, x) : igamma_series(a, x);
}

double special_igammac(double a, double x)
{
    double limit = igamma_limit(a, x);
    if (isinf(x) && x > 0 && a > 0) /* also if a is infinite */
        return 0;
    if (limit != -1)
        return 1 - limit;
    return x > 1 && x > a ? igammac_fraction(a, x) : 1 - igamma_series(a, x);
}

/* igamma_series and its derivative by a, over the density x^(a - 1) e^-x / Γ(a). */
static double igamma_series_slope(double a, double x)
{
    double sum = 1, term = 1, sum_slope = 0, term_slope = 0;
    for (int k = 1; k < STEPS_MAX; k++) {
        term_slope = (term_slope - term / (a + k)) * x / (a + k);
        term *= x / (a + k);
        sum += term;
        sum_slope += term_slope;
        if (term <= EPSILON * sum && fabs(term_slope) <= EPSILON * fabs(sum_slope))
            break;
    }
    return (sum_slope + sum * (log(x) - special_digamma(a + 1))) * x / a;
}

/* The same of 1 - igammac_fraction. Each step of Lentz's method is differentiated. */
static double igammac_fraction_slope(double a, double x)
{
    double b = x + 1 - a, c = 1e300, d = 1 / away_from_0(b), product = d;
    double c_slope = 0, d_slope = d * d, product_slope = d_slope;
    for (int k = 1; k < STEPS_MAX; k++) {
        double numerator = -k * (k - a);
        b += 2;
        double below = away_from_0(numerator * d + b), before = c;
        d_slope = -(k * d + numerator * d_slope - 1) / below / below;
        d = 1 / below;
        c_slope = k / before - numerator * c_slope / before / before - 1;
        c = away_from_0(b + numerator / before);
        double change = c_slope * d + c * d_slope;
        product_slope = product_slope * c * d + product * change;
        product *= c * d;
        if (fabs(c * d - 1) < EPSILON && fabs(change) < EPSILON)
            break;
    }
    return -(product_slope + product * (log(x) - special_digamma(a))) * x;
}

static double igamma_slope_per_density(double a, double x)
{
    return x > 1 && x > a ? igammac_fraction_slope(a, x) : igamma_series_slope(a, x);
}

/* The slope where it needs no sum, as of both functions below; -1: it needs one. */
static double igamma_slope_limit(double a, double x)
{
    if (x == 0) /* TensorFlow does not check a then */
        return 0;
    if (isnan(igamma_limit(a, x)))
        return NAN;
    return isinf(a) ? 0 : isinf(x) ? -0.0 : -1;
}

double special_igamma_slope(double a, double x)
{
    double limit = igamma_slope_limit(a, x);
    if (limit != -1)
        return limit;
    return igamma_slope_per_density(a, x) * exp((a - 1) * log(x) - x - special_lgamma(a));
}

double special_gamma_sample_slope(double alpha, double sample, double log_max)
{
    double limit = igamma_slope_limit(alpha, sample);
    if (limit != -1)
        return limit;
    bool by_fraction = sample > 1 && sample > alpha;
    double log_density =
        alpha * log(sample) - sample - special_lgamma(by_fraction ? alpha : alpha + 1);
    if (log_density < -log_max)
        return by_fraction ? -0.0 : 0;
    return -igamma_slope_per_density(alpha, sample);
}

static double betainc_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), product = d;
    for (int m = 1; m < STEPS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_0(1 + even * d);
        c = away_from_0(1 + even / c);
        product *= c * d;
        d = 1 / away_from_0(1 + odd * d);
        c = away_from_0(1 + odd / c);
        product *= c * d;
        if (fabs(c * d - 1) < EPSILON)
            break;
    }
    return product;
}

double special_betainc(double a, double b, double x)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1))
        return NAN;
    if (x == 0) /* or subnormal, which counts as 0 */
        return 0;
    if (x == 1)
        return x;
    double front = exp(special_lgamma(a + b) - special_lgamma(a) - special_lgamma(b) + a * log(x) +
                       b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * betainc_fraction(a, b, x) / a;
    return 1 - front * betainc_fraction(b, a, 1 - x) / b;
}
