#include "trainer/adapt/exact_sum.h"

#include <math.h>

#include "base/float_bits.h"

#define DIGIT_BITS 32
#define DIGIT_MASK 0xffffffffu
#define UNIT       (-298) /* the exponent of the lowest bit */

/* Adds mantissa · 2^exponent. */
static void add(int64_t *digits, uint64_t mantissa, int exponent, bool negative)
{
    int bit = exponent - UNIT, at = bit / DIGIT_BITS;
    unsigned __int128 shifted = (unsigned __int128)mantissa << bit % DIGIT_BITS;

    for (; shifted != 0; at++, shifted >>= DIGIT_BITS) {
        int64_t digit = (int64_t)(shifted & DIGIT_MASK);
        digits[at] += negative ? -digit : digit;
    }
}

/* x = ± mantissa · 2^exponent, the mantissa below 2^24. */
static uint64_t split(float x, int *exponent)
{
    uint32_t bits = bits_of_float(x), fraction = bits & 0x7fffff, biased = bits >> 23 & 0xff;

    *exponent = biased == 0 ? -149 : (int)biased - 150;
    return biased == 0 ? fraction : fraction | 0x800000;
}

void exact_sum_add(int64_t digits[EXACT_DIGITS], float x)
{
    int exponent;
    uint64_t mantissa = split(x, &exponent);

    add(digits, mantissa, exponent, signbit(x));
}

void exact_sum_add_square(int64_t digits[EXACT_DIGITS], float x)
{
    int exponent;
    uint64_t mantissa = split(x, &exponent);

    add(digits, mantissa * mantissa, 2 * exponent, false);
}

void exact_sum_normalize(int64_t digits[EXACT_DIGITS])
{
    for (int i = 0; i + 1 < EXACT_DIGITS; i++) {
        int64_t low = digits[i] & DIGIT_MASK;
        digits[i + 1] += (digits[i] - low) / ((int64_t)1 << DIGIT_BITS);
        digits[i] = low;
    }
}

long double exact_sum_value(const int64_t digits[EXACT_DIGITS])
{
    int64_t positive[EXACT_DIGITS];
    bool negative = digits[EXACT_DIGITS - 1] < 0;
    long double value = 0;

    for (int i = 0; i < EXACT_DIGITS; i++)
        positive[i] = negative ? -digits[i] : digits[i];
    exact_sum_normalize(positive);
    for (int i = EXACT_DIGITS - 1; i >= 0; i--)
        value += ldexpl((long double)positive[i], DIGIT_BITS * i + UNIT);
    return negative ? -value : value;
}
