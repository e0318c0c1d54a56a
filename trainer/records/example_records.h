/*
 * example_records: reads TFRecord files of tf.Examples or tf.SequenceExamples, plain, gzip or zlib.
 *
 * A feature is the column of its name. A feature that is missing, has no kind, or has an empty list
 * gives a row without values. If a feature occurs twice, the last one counts, as in TensorFlow. The
 * column of a feature list has the values of all its steps, concatenated.
 *
 * A record is bad if its checksum is wrong, if it is not an Example, or if a feature is of another
 * kind than its column. A damaged record size, damaged compression, or a truncated record ends the
 * file with an error.
 */
#ifndef TRAINER_RECORDS_EXAMPLE_RECORDS_H
#define TRAINER_RECORDS_EXAMPLE_RECORDS_H

#include "trainer/records/record_reader.h"

extern const struct record_format tfrecord_format;

#endif
