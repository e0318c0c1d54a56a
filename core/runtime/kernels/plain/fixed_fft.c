#include "runtime/kernels/plain/fixed_fft.h"

#include <math.h>

#define ONE       32767 /* 1 in fixed point */
#define ONE_BITS  15
#define HALF_UNIT (1 << (ONE_BITS - 1))

static inline int16_t rounded(int32_t product)
{
    return (int16_t)((product + HALF_UNIT) >> ONE_BITS);
}

static inline struct fixed_complex product(struct fixed_complex a, struct fixed_complex b)
{
    return (struct fixed_complex){ rounded(a.re * b.re - a.im * b.im),
                                   rounded(a.re * b.im + a.im * b.re) };
}

static inline struct fixed_complex divided(struct fixed_complex x, int by)
{
    return (struct fixed_complex){ rounded(x.re * (ONE / by)), rounded(x.im * (ONE / by)) };
}

static inline struct fixed_complex sum(struct fixed_complex a, struct fixed_complex b)
{
    return (struct fixed_complex){ (int16_t)(a.re + b.re), (int16_t)(a.im + b.im) };
}

static inline struct fixed_complex difference(struct fixed_complex a, struct fixed_complex b)
{
    return (struct fixed_complex){ (int16_t)(a.re - b.re), (int16_t)(a.im - b.im) };
}

/* -i · x */
static inline struct fixed_complex turned(struct fixed_complex x)
{
    return (struct fixed_complex){ x.im, (int16_t)-x.re };
}

static struct fixed_complex unit(double angle)
{
    return (struct fixed_complex){ (int16_t)floor(0.5 + ONE * cos(angle)),
                                   (int16_t)floor(0.5 + ONE * sin(angle)) };
}

static void combine_2(const struct fixed_fft *fft, int step, int m, struct fixed_complex *out)
{
    for (int k = 0; k < m; k++) {
        struct fixed_complex a = divided(out[k], 2);
        struct fixed_complex b = product(divided(out[k + m], 2), fft->roots[k * step]);
        out[k] = sum(a, b);
        out[k + m] = difference(a, b);
    }
}

static void combine_4(const struct fixed_fft *fft, int step, int m, struct fixed_complex *out)
{
    const struct fixed_complex *roots = fft->roots;
    for (int k = 0; k < m; k++) {
        struct fixed_complex a = divided(out[k], 4);
        struct fixed_complex b = product(divided(out[k + m], 4), roots[k * step]);
        struct fixed_complex c = product(divided(out[k + 2 * m], 4), roots[2 * k * step]);
        struct fixed_complex d = product(divided(out[k + 3 * m], 4), roots[3 * k * step]);
        struct fixed_complex even = sum(a, c), odd = difference(a, c);
        struct fixed_complex both = sum(b, d), rest = turned(difference(b, d));
        out[k] = sum(even, both);
        out[k + m] = sum(odd, rest);
        out[k + 2 * m] = difference(even, both);
        out[k + 3 * m] = difference(odd, rest);
    }
}

/* Decimation in time: transforms n complex numbers, `step` apart, each of two samples. */
static void pass(const struct fixed_fft *fft, int n, const int16_t *in, int step,
                 struct fixed_complex *out)
{
    if (n == 1) {
        *out = (struct fixed_complex){ in[0], in[1] };
        return;
    }
    int parts = n % 4 == 0 ? 4 : 2, m = n / parts;
    for (int q = 0; q < parts; q++)
        pass(fft, m, in + 2 * q * step, step * parts, out + q * m);
    if (parts == 4)
        combine_4(fft, step, m, out);
    else
        combine_2(fft, step, m, out);
}

/* Number k and its mirror, of the spectrum of the real samples that z has in pairs. */
static void separate(const struct fixed_fft *fft, int k, const struct fixed_complex *z,
                     struct fixed_complex *out)
{
    int half = fft->length / 2;
    struct fixed_complex mirror = { z[half - k].re, (int16_t)-z[half - k].im };
    struct fixed_complex a = divided(z[k], 2), b = divided(mirror, 2);
    struct fixed_complex even = sum(a, b), odd = product(difference(a, b), fft->turns[k - 1]);
    out[k] = (struct fixed_complex){ (int16_t)((even.re + odd.re) >> 1),
                                     (int16_t)((even.im + odd.im) >> 1) };
    out[half - k] = (struct fixed_complex){ (int16_t)((even.re - odd.re) >> 1),
                                            (int16_t)((odd.im - even.im) >> 1) };
}

void fixed_fft_init(struct fixed_fft *fft, int length, struct fixed_complex *memory)
{
    int half = length / 2;
    *fft = (struct fixed_fft){ length, memory, memory + half };
    for (int k = 0; k < half; k++)
        fft->roots[k] = unit(-2 * M_PI * k / half);
    for (int k = 0; k < half / 2; k++)
        fft->turns[k] = unit(-M_PI * ((double)(k + 1) / half + 0.5));
}

void fixed_fft_run(const struct fixed_fft *fft, const int16_t *in, struct fixed_complex *work,
                   struct fixed_complex *out)
{
    int half = fft->length / 2;
    pass(fft, half, in, 1, work);
    struct fixed_complex first = divided(work[0], 2);
    out[0] = (struct fixed_complex){ (int16_t)(first.re + first.im), 0 };
    out[half] = (struct fixed_complex){ (int16_t)(first.re - first.im), 0 };
    for (int k = 1; k <= half / 2; k++)
        separate(fft, k, work, out);
}
