#include "storage/gzip_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/file.h"

#define CHUNK       ((size_t)64 << 10)
#define WINDOW_GZIP (15 + 16) /* zlib's code for gzip alone */

struct gzip_file {
    struct file_reader file;
    uint64_t file_at; /* bytes read from the file */
    char *chunk;
    z_stream zlib;
    bool member_ended;
};

bool gzip_begins(const void *data, size_t size)
{
    return size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0;
}

struct status gzip_file_open(const char *path, struct gzip_file **out)
{
    struct gzip_file *file = zalloc(sizeof *file);
    struct status status = file_reader_open(path, &file->file);

    if (status_is_ok(status) && inflateInit2(&file->zlib, WINDOW_GZIP) != Z_OK) {
        file_reader_close(&file->file);
        status = status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to inflate '%s'", path);
    }
    if (!status_is_ok(status)) {
        free(file);
        return status;
    }
    file->chunk = zalloc(CHUNK);
    *out = file;
    return status_ok();
}

void gzip_file_close(struct gzip_file *file)
{
    if (file == NULL)
        return;
    inflateEnd(&file->zlib);
    file_reader_close(&file->file);
    free(file->chunk);
    free(file);
}

/* *more is false at the end of the file. */
static struct status refill(struct gzip_file *file, bool *more)
{
    uint64_t left = file->file.size - file->file_at;
    size_t size = left < CHUNK ? (size_t)left : CHUNK;

    *more = true;
    if (file->zlib.avail_in > 0)
        return status_ok();
    TRY(file_reader_get(&file->file, file->file_at, file->chunk, size));
    file->file_at += size;
    file->zlib.next_in = (Bytef *)file->chunk;
    file->zlib.avail_in = (uInt)size;
    *more = size > 0;
    return status_ok();
}

/* Passes zeros after a member, with which tapes and some programs fill their blocks. What follows
 * must be another member. */
static struct status skip_padding(struct gzip_file *file)
{
    z_stream *zlib = &file->zlib;

    for (; zlib->avail_in > 0 && *zlib->next_in == 0; zlib->avail_in--)
        zlib->next_in++;
    if (zlib->avail_in == 0 || *zlib->next_in == 0x1f)
        return status_ok();
    return status_error(STATUS_DATA_LOSS,
                        "'%s': what follows the compressed data is not gzip: is the file damaged, "
                        "or was text appended to it?",
                        file->file.path);
}

/* Inflates what fits, from the bytes that are there. */
static struct status inflate_some(struct gzip_file *file)
{
    if (file->member_ended)
        TRY(skip_padding(file));
    if (file->zlib.avail_in == 0)
        return status_ok();
    if (file->member_ended && inflateReset(&file->zlib) != Z_OK)
        return status_error(STATUS_INTERNAL, "inflateReset failed");
    int result = inflate(&file->zlib, Z_NO_FLUSH);
    file->member_ended = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        return status_ok();
    return status_error(STATUS_DATA_LOSS, "'%s': inflate() failed: %s", file->file.path,
                        file->zlib.msg != NULL ? file->zlib.msg : "damaged data");
}

struct status gzip_file_get(struct gzip_file *file, char *data, size_t size, size_t *got)
{
    bool more = true;

    file->zlib.next_out = (Bytef *)data;
    file->zlib.avail_out = (uInt)size;
    while (file->zlib.avail_out > 0 && more) {
        TRY(refill(file, &more));
        if (more)
            TRY(inflate_some(file));
    }
    *got = size - file->zlib.avail_out;
    if (more || file->member_ended)
        return status_ok();
    return status_error(STATUS_DATA_LOSS, "'%s': the gzip file is cut short", file->file.path);
}
