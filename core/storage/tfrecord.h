/*
 * tfrecord: files of records, plain or compressed as a whole. Warm-up files, data sets, event
 * files.
 *
 *     record := size u64le  masked crc32c of those 8 bytes(4)  data[size]  masked crc32c of data(4)
 *
 *     struct tfrecord_reader *reader;
 *     TRY(tfrecord_reader_open(path, TFRECORD_DETECT, &reader));
 *     struct bytes record;
 *     bool found;
 *     for (TRY_OR(done, tfrecord_reader_next(reader, &record, &found)); found; …)
 */
#ifndef STORAGE_TFRECORD_H
#define STORAGE_TFRECORD_H

#include "base/bytes.h"

enum tfrecord_compression {
    TFRECORD_DETECT, /* reading only: by the first bytes */
    TFRECORD_PLAIN,
    TFRECORD_ZLIB,
    TFRECORD_GZIP,
};

struct tfrecord_reader;

struct status tfrecord_reader_open(const char *path, enum tfrecord_compression compression,
                                   struct tfrecord_reader **out);

/**
 * The next record, valid until the next call.
 *
 * Errors  DATA_LOSS with TensorFlow's texts (`corrupted record at 12`, offsets in the stream of
 * records), damaged compression; RESOURCE_EXHAUSTED memory. A cut within the 12 bytes of a head
 * counts as the end, as there
 */
struct status tfrecord_reader_next(struct tfrecord_reader *reader, struct bytes *record,
                                   bool *found);
void tfrecord_reader_close(struct tfrecord_reader *reader); /* accepts NULL */

struct tfrecord_writer;

/* Fails where the file exists. */
struct status tfrecord_writer_open(const char *path, enum tfrecord_compression compression,
                                   struct tfrecord_writer **out);
struct status tfrecord_writer_append(struct tfrecord_writer *writer, struct bytes record);
struct status tfrecord_writer_finish(
    struct tfrecord_writer *writer); /* fsync; frees; a failure removes the file */
void tfrecord_writer_abandon(struct tfrecord_writer *writer); /* removes the file; accepts NULL */

#endif
