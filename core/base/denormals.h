/*
 * denormals: flushes numbers below the smallest normal one to zero, as operands and as results, in
 * the calling thread between the two calls. TensorFlow runs its kernels this way. It also avoids
 * the processor's slow path for such numbers.
 *
 *     unsigned long mode = denormals_flush();
 *     …
 *     denormals_restore(mode);
 *
 * Both do nothing on a processor that has no instruction for it here.
 */
#ifndef BASE_DENORMALS_H
#define BASE_DENORMALS_H

#if defined(__SSE__)
#include <xmmintrin.h>

#define DENORMALS_FLUSHED 0x8040UL /* flush to zero, denormals are zero */

static inline unsigned long denormals_mode(void)
{
    return _mm_getcsr();
}

static inline void denormals_set_mode(unsigned long mode)
{
    _mm_setcsr((unsigned)mode);
}

#elif defined(__aarch64__)
#define DENORMALS_FLUSHED (1UL << 24)

static inline unsigned long denormals_mode(void)
{
    unsigned long mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static inline void denormals_set_mode(unsigned long mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}

#else
#define DENORMALS_FLUSHED 0UL

static inline unsigned long denormals_mode(void)
{
    return 0;
}

static inline void denormals_set_mode(unsigned long mode)
{
    (void)mode;
}
#endif

/* Returns the previous mode, for denormals_restore. */
static inline unsigned long denormals_flush(void)
{
    unsigned long mode = denormals_mode();
    denormals_set_mode(mode | DENORMALS_FLUSHED);
    return mode;
}

static inline void denormals_restore(unsigned long mode)
{
    denormals_set_mode(mode);
}

#endif
