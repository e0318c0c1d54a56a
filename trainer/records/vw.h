/*
 * vw: Vowpal Wabbit's text files as records.
 *
 *     [label [importance [base]]] ['tag]|namespace[:factor] feature[:value] …|namespace …
 *
 *     label    the first number; a line without numbers has none
 *     weight   the importance, or 1
 *     index    of each feature: the hash of its name, below VW_BUCKETS
 *     value    of each feature, or 1, times the factor of its namespace
 *
 * A feature is named "namespace^feature", or "feature" if the namespace has no name. Its index is
 * fingerprint64 of that text modulo VW_BUCKETS, as tf.strings.to_hash_bucket_fast computes it;
 * Vowpal Wabbit takes MurmurHash3. The base and the tag are skipped.
 */
#ifndef TRAINER_RECORDS_VW_H
#define TRAINER_RECORDS_VW_H

#include "trainer/records/record_reader.h"

#define VW_BUCKETS ((uint64_t)1 << 18) /* Vowpal Wabbit's default, -b 18 */

extern const struct record_format vw_format;

#endif
