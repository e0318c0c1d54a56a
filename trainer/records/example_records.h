/*
 * example_records: reads TFRecord files of tf.Examples or tf.SequenceExamples, plain, gzip or zlib.
 *
 * A feature is the column of its name. A feature that is missing, has no kind, or has an empty list
 * gives a row without values. Of a feature that stands twice, the last one counts, as in
 * TensorFlow. The column of a feature list has the values of all its steps behind each other.
 *
 * A bad record is one whose checksum is wrong, that is no Example, or with a feature of another
 * kind than its column. Damage to a record's size, to the compression, or a cut in the middle of a
 * record ends the file with an error.
 */
#ifndef TRAINER_RECORDS_EXAMPLE_RECORDS_H
#define TRAINER_RECORDS_EXAMPLE_RECORDS_H

#include "trainer/records/record_reader.h"

extern const struct record_format tfrecord_format;

#endif
