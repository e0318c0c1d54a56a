/*
 * digits: handwritten-looking digits that the program draws itself, so that it can train with no
 * data at hand.
 *
 * Each image is drawn from (seed, index) alone, in these steps: a digit and one of its forms (a few
 * strokes, each a curve through control points); every control point moved a little; a random
 * affine map (turn, slant, size, place); each stroke drawn with a round pen of random width, by
 * distance to the curve, with a soft edge; noise on every pixel, and now and then a stray stroke.
 * All arithmetic is exactly rounded, so the set is the same on every machine.
 */
#ifndef TRAINER_DIGITS_H
#define TRAINER_DIGITS_H

#include <stdint.h>

#define DIGITS_SIDE   28
#define DIGITS_PIXELS (DIGITS_SIDE * DIGITS_SIDE)
#define DIGITS_SEED   20150917 /* the one that programs use */

/* Draws image `index` of the set `seed`; returns its label, 0 … 9. */
uint8_t digit_draw(uint64_t seed, uint32_t index, uint8_t pixels[DIGITS_PIXELS]);

/* Draws images first … first + count - 1, on as many threads as the machine has processors (at most
 * 8). */
void digits_draw(uint64_t seed, uint32_t first, uint32_t count, uint8_t *pixels, uint8_t *labels);

#endif
