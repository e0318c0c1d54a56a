/*
 * fixed_fft: the Fourier transform of real samples in 16-bit fixed point. Each pass divides by its
 * number of parts, so that nothing overflows: the result is the transform divided by the length.
 *
 * Source  kissfft with FIXED_POINT=16, whose rounding this follows bit by bit
 */
#ifndef PLAIN_FIXED_FFT_H
#define PLAIN_FIXED_FFT_H

#include <stdint.h>

struct fixed_complex {
    int16_t re, im;
};

/* Transforms of real lines of `length` samples, a power of two and at least 4. */
struct fixed_fft {
    int length;
    struct fixed_complex *roots; /* [length / 2] of 1, clockwise */
    struct fixed_complex *turns; /* [length / 4] by which the two halves of a spectrum differ */
};

/* `memory` holds 3/4 of `length` numbers and lives as long as `fft`. */
void fixed_fft_init(struct fixed_fft *fft, int length, struct fixed_complex *memory);
/* in [length], work [length / 2], out [length / 2 + 1] */
void fixed_fft_run(const struct fixed_fft *fft, const int16_t *in, struct fixed_complex *work,
                   struct fixed_complex *out);

#endif
