/*
 * append_file: an append-only file that others read meanwhile: a log of values, an event file.
 * Pieces are buffered and written in one call, so a killed process leaves no partial piece.
 *
 *     struct append_file file;
 *     TRY(append_file_open(path, &file));
 *     TRY(append_file_add(&file, bytes_of("one line\n")));
 *     TRY(append_file_flush(&file));
 *     TRY(append_file_close(&file));
 */
#ifndef BASE_APPEND_FILE_H
#define BASE_APPEND_FILE_H

#include "base/bytes.h"

struct append_file {
    int fd;
    char *path; /* NULL: not open */
    struct buffer pending;
};

/* Opens the file at its end, and creates it if it is missing. FAILED_PRECONDITION: not a regular
 * file, which may block. */
struct status append_file_open(const char *path, struct append_file *out);
/* Creates a new file. ALREADY_EXISTS: it exists. */
struct status append_file_create(const char *path, struct append_file *out);

/* Adds a piece, and writes the buffered pieces if they are many. */
struct status append_file_add(struct append_file *file, struct bytes piece);

/* Writes the buffered pieces. If that fails, they are lost. */
struct status append_file_flush(struct append_file *file);

/* Writes, fsyncs and closes. The file stays, even if that fails. Accepts a zeroed struct. */
struct status append_file_close(struct append_file *file);

#endif
