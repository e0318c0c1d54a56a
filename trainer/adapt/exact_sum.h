/*
 * exact_sum: sums of floats and of their squares without rounding. They depend neither on the order
 * of the numbers nor on how they are divided among tasks.
 *
 * A sum is an integer of EXACT_DIGITS digits of 32 bits, the lowest first, in units of 2^-298, the
 * square of the smallest positive float. Digits may exceed 32 bits until exact_sum_normalize
 * carries.
 */
#ifndef TRAINER_ADAPT_EXACT_SUM_H
#define TRAINER_ADAPT_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>

#define EXACT_DIGITS        20
/* Limit of the additions between two calls of exact_sum_normalize. */
#define EXACT_ADDITIONS_MAX ((int64_t)1 << 29)

void exact_sum_add(int64_t digits[EXACT_DIGITS], float x);        /* x is finite */
void exact_sum_add_square(int64_t digits[EXACT_DIGITS], float x); /* x is finite */
/* Carries until all digits but the highest have 32 bits: equal sums then have equal digits. */
void exact_sum_normalize(int64_t digits[EXACT_DIGITS]);
/* The long double nearest to a normalized sum, or one next to that. */
long double exact_sum_value(const int64_t digits[EXACT_DIGITS]);

#endif
