/*
 * svm_pairs: reads the pairs of an index and a value in a line of a libsvm file.
 *
 *     12:1 7391:0.25 20481:-3.5\n
 *
 * A reader that goes from number to number guesses the size of each and waits when it was wrong,
 * for about 20 cycles. Here the separators of a part of the line are found first, sixteen bytes at
 * a time. Then the place and the size of every number are known, and numbers are converted without
 * a branch, several at a time.
 *
 * Only the usual form is read: an index of up to eight digits, a value of up to eight characters
 * behind '-', "0" or "0.", and one ' ' or '\n' behind the pair. The caller reads others with the
 * code for any form, which also explains what is wrong.
 *
 * Measured on 39 pairs a line, half of the values "1" and half of two or six places: a file is read
 * in 0.6 of the time.
 */
#ifndef TRAINER_RECORDS_SVM_PAIRS_H
#define TRAINER_RECORDS_SVM_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are read behind the end of a line, whatever they are. */
#define SVM_PAIRS_PADDING 72

/* The room for the pairs between `at` and the line's end, and for some that are given up. */
static inline size_t svm_pairs_room(const char *at, const char *end)
{
    return (size_t)(end - at) / 4 + 72;
}

/* How much of a line to look through at first: all of a usual one. Behind a pair of another form
 * only a little, as more such pairs may follow. */
#define SVM_PART_FIRST 512 /* bytes */
#define SVM_PART_NEXT  64

/**
 * Reads pairs from `at`, where one begins, until the line ends or a pair has another form.
 *
 * `end` is the '\n' of the line. part_bytes: SVM_PART_FIRST or SVM_PART_NEXT. Returns the beginning
 * of the pair that was not read, or `end`.
 *
 * Units   indices and values have room for svm_pairs_room; *count is how many pairs were read
 * Values  the same bits as from json_float_read
 */
const char *svm_pairs_read(const char *at, const char *end, size_t part_bytes, int64_t *indices,
                           float *values, size_t *count);

#endif
