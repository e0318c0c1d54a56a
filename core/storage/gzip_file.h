/*
 * gzip_file: reads a gzip file as a stream, for readers of files larger than memory. The file may
 * have several members in a row, as `cat a.gz b.gz` makes them.
 *
 *     struct gzip_file *gzip;
 *     TRY(gzip_file_open(path, &gzip));
 *     do
 *         TRY_OR(done, gzip_file_get(gzip, data, sizeof data, &got));
 *     while (got == sizeof data);
 */
#ifndef STORAGE_GZIP_FILE_H
#define STORAGE_GZIP_FILE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"

struct gzip_file;

/* Are these the first bytes of a gzip file? */
bool gzip_begins(const void *data, size_t size);

struct status gzip_file_open(const char *path, struct gzip_file **out);
void gzip_file_close(struct gzip_file *file); /* accepts NULL */

/**
 * Reads the next `size` bytes of the content, or fewer at its end.
 *
 * Errors  DATA_LOSS damaged, or cut short
 */
struct status gzip_file_get(struct gzip_file *file, char *data, size_t size, size_t *got);

#endif
