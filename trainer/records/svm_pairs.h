/*
 * svm_pairs: reads the pairs of an index and a value in a line of a libsvm file.
 *
 *     12:1 7391:0.25 20481:-3.5\n
 *
 * A reader that goes from number to number mispredicts the length of many of them, at about 20
 * cycles each. This one has no branches that depend on lengths. With AVX2, it finds the ends of
 * both numbers in 32 bytes of a pair, and converts both together (svm_pairs_avx2.c). On other
 * processors it first finds the separators of a part of the line, sixteen bytes at a time, and then
 * converts several numbers together (svm_pairs.c).
 *
 * It reads only the usual form: an index of up to eight digits, a value of up to eight characters
 * after '-', "0" or "0.", and one ' ' or '\n' after the pair. The caller reads other forms with
 * general code, which also reports errors.
 *
 * Measured on 39 pairs a line, half of the values "1" and half of two or six places: a pair takes
 * 10.4 ns with AVX2 and 13.4 otherwise.
 */
#ifndef TRAINER_RECORDS_SVM_PAIRS_H
#define TRAINER_RECORDS_SVM_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that may be read after the end of a line; their values do not matter. */
#define SVM_PAIRS_PADDING 72

/* The room for the pairs between `at` and the line's end, and for some that are discarded. */
static inline size_t svm_pairs_room(const char *at, const char *end)
{
    return (size_t)(end - at) / 4 + 72;
}

/* Bytes of a line to scan at first: all of a usual line. After a pair of another form only a
 * few, because more such pairs may follow. */
#define SVM_PART_FIRST 512 /* bytes */
#define SVM_PART_NEXT  64

/**
 * Reads pairs from `at`, where one begins, until the line ends or a pair has another form.
 *
 * `end` is the '\n' of the line. part_bytes: SVM_PART_FIRST or SVM_PART_NEXT. Returns the beginning
 * of the pair that was not read, or `end`.
 *
 * Units   indices and values have room for svm_pairs_room; *count is the number of pairs read
 * Values  the same bits as json_float_read
 */
const char *svm_pairs_read(const char *at, const char *end, size_t part_bytes, int64_t *indices,
                           float *values, size_t *count);

bool svm_pairs_has_avx2(void); /* of this processor */
/* The two implementations. The second one runs on any processor. They may stop at different
 * pairs, because their usual forms of a value differ slightly. */
#if defined(__x86_64__) && defined(__GNUC__)
#define SVM_PAIRS_AVX2 1
const char *svm_pairs_read_avx2(const char *at, const char *end, int64_t *indices, float *values,
                                size_t *count);
#else
#define SVM_PAIRS_AVX2 0
#endif
const char *svm_pairs_read_any(const char *at, const char *end, size_t part_bytes, int64_t *indices,
                               float *values, size_t *count);

#endif
