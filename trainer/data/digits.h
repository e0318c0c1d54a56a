/*
 * digits: draws digits that look handwritten, so that the program can train without data.
 *
 * An image depends only on (seed, index). It is drawn in these steps: choose a digit and one of its
 * forms (a few strokes, each a curve through control points); move every control point a little;
 * apply a random affine map (rotation, slant, size, position); draw each stroke with a round pen of
 * random width and a soft edge; add noise to every pixel and, in some images, a stray stroke. Every
 * operation is correctly rounded, so the set is the same on every machine.
 */
#ifndef TRAINER_DATA_DIGITS_H
#define TRAINER_DATA_DIGITS_H

#include <stdint.h>

#define DIGITS_SIDE   28
#define DIGITS_PIXELS (DIGITS_SIDE * DIGITS_SIDE)
#define DIGITS_SEED   20150917 /* the seed that programs use */

/* Draws image `index` of the set `seed`; returns its label, 0 … 9. */
uint8_t digit_draw(uint64_t seed, uint32_t index, uint8_t pixels[DIGITS_PIXELS]);

/* Draws images first … first + count - 1, with one thread per processor, at most 8. */
void digits_draw(uint64_t seed, uint32_t first, uint32_t count, uint8_t *pixels, uint8_t *labels);

#endif
