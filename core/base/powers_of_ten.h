/* powers_of_ten: the powers of ten that binary floating point holds exactly. */
#ifndef BASE_POWERS_OF_TEN_H
#define BASE_POWERS_OF_TEN_H

#define TENS_MAX 22 /* in a double */
static const double tens[TENS_MAX + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                           1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

#define LONG_TENS_MAX 27 /* in a long double of 64 bits of precision, as x86 has it */
static const long double long_tens[LONG_TENS_MAX + 1] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,
                                                          1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L,
                                                          1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L,
                                                          1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L,
                                                          1e24L, 1e25L, 1e26L, 1e27L };

#endif
