/*
 * float_flags: has the processor met an invalid operation in this thread, such as Inf - Inf, or the
 * maximum of NaN and a number? It records such operations at no cost.
 *
 *     float_flags_clear();
 *     …
 *     if (float_flags_invalid()) …
 */
#ifndef BASE_FLOAT_FLAGS_H
#define BASE_FLOAT_FLAGS_H

#include <stdbool.h>

#if defined(__SSE__)
#include <xmmintrin.h>

#define FLOAT_FLAGS true /* this processor has them */

static inline void float_flags_clear(void)
{
    _mm_setcsr(_mm_getcsr() & ~(unsigned)_MM_EXCEPT_MASK);
}

static inline bool float_flags_invalid(void)
{
    return (_mm_getcsr() & _MM_EXCEPT_INVALID) != 0;
}

#else
#define FLOAT_FLAGS false

static inline void float_flags_clear(void)
{
}

static inline bool float_flags_invalid(void)
{
    return true;
}
#endif

#endif
