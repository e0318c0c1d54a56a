/*
 * clones: compiles a plain loop for several instruction sets; the loader picks the best one.
 *
 *     CLONES static void add(float *out, const float *in, size_t count) { … }
 *
 * The targets are levels of the instruction set, because the name of a processor matches one vendor
 * only. ThreadSanitizer builds have no clones: it is not ready yet when the loader picks.
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
