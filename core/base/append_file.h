/*
 * append_file: a file that only grows and that others read meanwhile: a log of values, an event
 * file. Pieces are collected in memory and written in one call each time, so that a process that is
 * killed leaves no half piece behind.
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

/* Opens the file at its end; makes it if there is none. FAILED_PRECONDITION: not a regular file,
 * which may block. */
struct status append_file_open(const char *path, struct append_file *out);
/* Makes a new file. ALREADY_EXISTS: there is one. */
struct status append_file_create(const char *path, struct append_file *out);

/* Adds a piece. Writes the pieces so far if they are many. */
struct status append_file_add(struct append_file *file, struct bytes piece);

/* Writes the pieces so far. If that fails, they are lost. */
struct status append_file_flush(struct append_file *file);

/* Writes, fsyncs and closes. The file stays, also if that fails. Accepts a zeroed one. */
struct status append_file_close(struct append_file *file);

#endif
