/*
 * complex_packets: products, quotients and roots of complex numbers as TensorFlow computes them in
 * vectors of 32 bytes, without the corrections of C's Annex G: (0 + i) · (∞ + ∞i) is NaN in both
 * parts there, and -∞ + ∞i in C. TensorFlow computes what is left after whole vectors as C does.
 *
 * Source  Eigen's pmul, pdiv_complex, psqrt_complex and complex_sqrt
 */
#ifndef KERNELS_PLAIN_COMPLEX_PACKETS_H
#define KERNELS_PLAIN_COMPLEX_PACKETS_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>

#define COMPLEX_PACKET_BYTES 32

#define PACKET_FUNCTIONS(C, R, s, make, abs, root, length, sign)                                 \
    static inline C packet_times_##s(C x, C y)                                                   \
    {                                                                                            \
        R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;                        \
        return make(a * c - b * d, a * d + b * c);                                               \
    }                                                                                            \
    /* Each part of y is scaled by the greater one, or by itself if it is NaN. */                \
    static inline C packet_over_##s(C x, C y)                                                    \
    {                                                                                            \
        R a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;                        \
        R most[] = { abs(c) < abs(d) ? abs(d) : abs(c), abs(d) < abs(c) ? abs(c) : abs(d) };     \
        c /= most[0];                                                                            \
        d /= most[1];                                                                            \
        R square = c * c + d * d;                                                                \
        return make((a * c + b * d) / square / most[0], (b * c - a * d) / square / most[1]);     \
    }                                                                                            \
    /* What is left after whole vectors. */                                                      \
    static inline C complex_root_##s(C x)                                                        \
    {                                                                                            \
        R a = __real__ x, b = __imag__ x, w = root((abs(a) + length(a, b)) / 2);                 \
        if (isinf(b))                                                                            \
            return make((R)INFINITY, b);                                                         \
        if (a == 0)                                                                              \
            return make(w, b < 0 ? -w : w);                                                      \
        return a > 0 ? make(w, b / (2 * w)) : make(abs(b) / (2 * w), b < 0 ? -w : w);            \
    }                                                                                            \
    static inline C packet_root_##s(C x)                                                         \
    {                                                                                            \
        R a = __real__ x, b = __imag__ x, p = abs(a), q = abs(b);                                \
        if (q == (R)INFINITY)                                                                    \
            return make((R)INFINITY, b);                                                         \
        if (p == (R)INFINITY)                                                                    \
            return a < 0 ? make(q * 0, p) : make(p, q * 0);                                      \
        if (p == 0 && q == 0)                                                                    \
            return make(0, 0);                                                                   \
        R most = p < q ? q : p, least = p < q ? p : q, ratio = least / most;                     \
        R norm = least == 0 ? most : most * root(1 + ratio * ratio);                             \
        R rho = root((p + norm) / 2), eta = b / rho / 2;                                         \
        C result = a < 0 ? make(abs(eta), sign(rho, b)) : make(rho, eta);                        \
        return isnan(__real__ result) || isnan(__imag__ result) ? make((R)NAN, (R)NAN) : result; \
    }                                                                                            \
    static inline C complex_inverse_root_##s(C x)                                                \
    {                                                                                            \
        R a = __real__ x, b = __imag__ x, norm = length(a, b);                                   \
        R w = root((abs(a) + norm) / 2), part = w / norm;                                        \
        if (norm == 0)                                                                           \
            return make((R)INFINITY, (R)NAN);                                                    \
        if (isinf(a) || isinf(b))                                                                \
            return make(0, 0);                                                                   \
        if (a == 0)                                                                              \
            return make(part, b < 0 ? part : -part);                                             \
        return a > 0 ? make(part, -b / (2 * w * norm))                                           \
                     : make(abs(b) / (2 * w * norm), b < 0 ? part : -part);                      \
    }
PACKET_FUNCTIONS(float complex, float, c64, CMPLXF, fabsf, sqrtf, hypotf, copysignf)
PACKET_FUNCTIONS(double complex, double, c128, CMPLX, fabs, sqrt, hypot, copysign)

#define COMPLEX_FUNCTION(name, x) \
    _Generic((x), float complex : name##_c64, double complex : name##_c128)
#define packet_times(x, y)      COMPLEX_FUNCTION(packet_times, x)(x, y)
#define packet_over(x, y)       COMPLEX_FUNCTION(packet_over, x)(x, y)
#define packet_root(x)          COMPLEX_FUNCTION(packet_root, x)(x)
#define complex_root(x)         COMPLEX_FUNCTION(complex_root, x)(x)
#define complex_inverse_root(x) COMPLEX_FUNCTION(complex_inverse_root, x)(x)

#endif
