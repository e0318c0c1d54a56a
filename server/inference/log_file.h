/*
 * log_file: rotating TFRecord files with one prefix, "/logs/m-20260102-030405-000001.tfrecord". A
 * file that is large or old enough is followed by a new one, and the oldest ones are deleted.
 *
 * If a write fails, the file is truncated after its last whole record, so that it stays readable.
 *
 * Threads: one at a time; it may block for as long as the disk does.
 */
#ifndef SERVER_INFERENCE_LOG_FILE_H
#define SERVER_INFERENCE_LOG_FILE_H

#include "base/bytes.h"
#include "base/clock.h"

struct log_file_limits {
    int64_t file_bytes_max; /* a record that would exceed it goes to the next file */
    int64_t file_ns_max;    /* maximum age of a file; 0: no limit */
    int files_max;          /* number of files to keep, of this prefix; 0: all */
};

/* Zero-initialise it and set `prefix`. */
struct log_file {
    const char *prefix;
    int fd; /* valid if `path` is not NULL */
    char *path;
    unsigned number; /* of the last file */
    int64_t size, opened_ns;
    int64_t retry_ns; /* no attempt before this time, because opening or writing has failed */
};

/* Writes framed records (tfrecord_frame). After a failure, calls fail for a second without
 * accessing the disk. Errors: those of the file system. */
struct status log_file_write(struct log_file *file, const struct log_file_limits *limits,
                             struct bytes records, int64_t now_ns);
/* Closes a file that is old enough, even if nothing is written. */
void log_file_age(struct log_file *file, const struct log_file_limits *limits, int64_t now_ns);
void log_file_close(struct log_file *file);

#endif
