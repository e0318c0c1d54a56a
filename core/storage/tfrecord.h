/*
 * tfrecord: reads and writes TFRecord files, TensorFlow's format for data sets, warm-up requests
 * and events. Compression, if any, covers the whole file. Memory is bounded by the largest record,
 * not by the file.
 *
 *     record := size u64le  masked crc32c of those 8 bytes(4)  data[size]  masked crc32c of data(4)
 *
 *     struct tfrecord_reader *reader;
 *     TRY(tfrecord_reader_open(path, TFRECORD_DETECT, &reader));
 *     struct bytes record;
 *     bool found;
 *     for (TRY_OR(done, tfrecord_reader_next(reader, &record, &found)); found; …)
 *
 * Threads  one at a time for each reader and writer
 */
#ifndef STORAGE_TFRECORD_H
#define STORAGE_TFRECORD_H

#include "base/bytes.h"

enum tfrecord_compression {
    TFRECORD_DETECT, /* for reading: detected from the first bytes */
    TFRECORD_PLAIN,
    TFRECORD_ZLIB,
    TFRECORD_GZIP,
};

struct tfrecord_reader;

struct status tfrecord_reader_open(const char *path, enum tfrecord_compression compression,
                                   struct tfrecord_reader **out);

/**
 * Reads the next record. *record is valid until the next call; *found is false at the end. After a
 * failure nothing more can be read, unless tfrecord_reader_can_continue.
 *
 * Errors  DATA_LOSS a damaged record, with TensorFlow's texts (`corrupted record at 12`; offsets
 *         count decompressed bytes), or damaged compression. As in TensorFlow, a file that is cut
 *         within the 12 bytes before a record just ends there.
 */
struct status tfrecord_reader_next(struct tfrecord_reader *reader, struct bytes *record,
                                   bool *found);
/* At the end: DATA_LOSS if the file is cut short all the same: within those 12 bytes, or within
 * compressed data. */
struct status tfrecord_reader_check_end(const struct tfrecord_reader *reader);
/* Did the last call fail only because of a wrong data checksum? The next call then reads the
 * following record. */
bool tfrecord_reader_can_continue(const struct tfrecord_reader *reader);
/* The position of the next record, in decompressed bytes. */
uint64_t tfrecord_reader_offset(const struct tfrecord_reader *reader);
/* The size of the file when it was opened. */
uint64_t tfrecord_reader_file_bytes(const struct tfrecord_reader *reader);
void tfrecord_reader_close(struct tfrecord_reader *reader); /* accepts NULL */

/**
 * The record at *at of a decompressed file in memory; moves *at past it. `path` is for error texts.
 *
 * Errors  as tfrecord_reader_next
 */
struct status tfrecord_take(struct bytes content, const char *path, uint64_t *at,
                            struct bytes *record, bool *found);

/* Appends a record as in a plain file, for a file that others read while it grows. */
void tfrecord_frame(struct bytes record, struct buffer *out);

struct tfrecord_writer;

/* Errors: ALREADY_EXISTS. */
struct status tfrecord_writer_open(const char *path, enum tfrecord_compression compression,
                                   struct tfrecord_writer **out);
struct status tfrecord_writer_append(struct tfrecord_writer *writer, struct bytes record);
/* Syncs the file and frees the writer. If that fails, removes the file. */
struct status tfrecord_writer_finish(struct tfrecord_writer *writer);
void tfrecord_writer_abandon(struct tfrecord_writer *writer); /* removes the file; accepts NULL */

#endif
