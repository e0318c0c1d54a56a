/*
 * clones: one plain loop, compiled for several instruction sets, the best chosen when the program
 * is loaded.
 *
 *     CLONES static void add(float *out, const float *in, size_t count) { … }
 *
 * Levels of the instruction set, not names of processors: those match one maker's only.
 *
 * Not under ThreadSanitizer, which is not ready yet when the choice is made.
 */
#ifndef BASE_CLONES_H
#define BASE_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && defined(__OPTIMIZE__)
#define CLONES                                                                                \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O" \
                                                                                          "3")))
#else
#define CLONES
#endif

#endif
