#include "storage/tfrecord.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/crc32c.h"
#include "base/file.h"

#define HEAD_BYTES  12
#define TAIL_BYTES  4
#define CHUNK       ((size_t)256 * 1024)
#define WINDOW_ZLIB 15
#define WINDOW_GZIP (15 + 16)

struct tfrecord_reader {
    struct file_reader file;
    uint64_t file_at; /* bytes read from the file */
    char *chunk;      /* read from the file; [chunk_at, chunk_size) is unused */
    size_t chunk_at, chunk_size;
    bool compressed, stream_ended;
    z_stream zlib;
    uint64_t offset; /* of the next record, in decompressed bytes */
    struct buffer record;
    bool is_cut;       /* the file ended within a record's head or a compressed stream */
    bool data_damaged; /* the last record's checksum is wrong */
};

static struct status refill(struct tfrecord_reader *reader)
{
    uint64_t left = reader->file.size - reader->file_at;
    reader->chunk_at = 0;
    reader->chunk_size = left < CHUNK ? (size_t)left : CHUNK;
    TRY(file_reader_get(&reader->file, reader->file_at, reader->chunk, reader->chunk_size));
    reader->file_at += reader->chunk_size;
    return status_ok();
}

/* Inflates into `data`, at most CHUNK bytes. A gzip file may have several members in a row. */
static struct status inflate_more(struct tfrecord_reader *reader, char *data, size_t size,
                                  size_t *got)
{
    z_stream *zlib = &reader->zlib;
    if (reader->stream_ended && inflateReset(zlib) != Z_OK)
        return status_error(STATUS_INTERNAL, "inflateReset failed");
    reader->stream_ended = false;
    zlib->next_in = (Bytef *)reader->chunk + reader->chunk_at;
    zlib->avail_in = (uInt)(reader->chunk_size - reader->chunk_at);
    zlib->next_out = (Bytef *)data;
    zlib->avail_out = (uInt)(size < CHUNK ? size : CHUNK);
    uInt wanted = zlib->avail_out;
    int result = inflate(zlib, Z_NO_FLUSH);
    *got = wanted - zlib->avail_out;
    reader->chunk_at = reader->chunk_size - zlib->avail_in;
    reader->stream_ended = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return status_error(STATUS_DATA_LOSS, "'%s': inflate() failed: %s", reader->file.path,
                            zlib->msg ? zlib->msg : "damaged data");
    return status_ok();
}

/* Reads `size` bytes, or fewer at the end of the file. */
static struct status get(struct tfrecord_reader *reader, char *data, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        if (reader->chunk_at == reader->chunk_size) {
            TRY(refill(reader));
            if (reader->chunk_size == 0)
                return status_ok();
        }
        size_t step = reader->chunk_size - reader->chunk_at;
        if (reader->compressed) {
            TRY(inflate_more(reader, data + *got, size - *got, &step));
        } else {
            step = step < size - *got ? step : size - *got;
            memcpy(data + *got, reader->chunk + reader->chunk_at, step);
            reader->chunk_at += step;
        }
        *got += step;
    }
    return status_ok();
}

static enum tfrecord_compression detect(const struct tfrecord_reader *reader)
{
    const unsigned char *start = (const unsigned char *)reader->chunk;
    if (reader->chunk_size >= 2 && start[0] == 0x1f && start[1] == 0x8b)
        return TFRECORD_GZIP;
    if (reader->chunk_size < HEAD_BYTES ||
        crc32c_unmask(get_u32le(start + 8)) == crc32c(0, start, 8))
        return TFRECORD_PLAIN;
    /* Treat a damaged plain file as plain, so that the error names the record, unless the bytes
     * could be the header of a zlib stream. */
    bool zlib = (start[0] & 0x0f) == 8 && (start[0] << 8 | start[1]) % 31 == 0;
    return zlib ? TFRECORD_ZLIB : TFRECORD_PLAIN;
}

struct status tfrecord_reader_open(const char *path, enum tfrecord_compression compression,
                                   struct tfrecord_reader **out)
{
    struct tfrecord_reader *reader = zalloc(sizeof *reader);
    struct status status;
    TRY_OR(fail, file_reader_open(path, &reader->file));
    reader->chunk = zalloc(CHUNK);
    TRY_OR(fail, refill(reader));
    if (compression == TFRECORD_DETECT)
        compression = detect(reader);
    if (compression != TFRECORD_PLAIN) {
        int window = compression == TFRECORD_GZIP ? WINDOW_GZIP : WINDOW_ZLIB;
        if (inflateInit2(&reader->zlib, window) != Z_OK) {
            status = status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to inflate '%s'", path);
            goto fail;
        }
        reader->compressed = true;
    }
    *out = reader;
    return status_ok();
fail:
    tfrecord_reader_close(reader);
    return status;
}

void tfrecord_reader_close(struct tfrecord_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->compressed)
        inflateEnd(&reader->zlib);
    file_reader_close(&reader->file);
    buffer_finish(&reader->record);
    free(reader->chunk);
    free(reader);
}

/* Allocates as the bytes arrive, because the size in a damaged file may be any number. */
static struct status get_data(struct tfrecord_reader *reader, uint64_t size)
{
    reader->record.size = 0;
    uint64_t left = size;
    while (left > 0) {
        size_t step = left < 4 * CHUNK ? (size_t)left : 4 * CHUNK, got;
        buffer_reserve(&reader->record, step);
        TRY(get(reader, reader->record.data + reader->record.size, step, &got));
        reader->record.size += got;
        left -= got;
        if (got < step)
            return status_error(STATUS_DATA_LOSS,
                                "'%s': truncated record at %" PRIu64
                                "' failed with Read less bytes than requested: of %" PRIu64
                                " bytes, the file has %zu",
                                reader->file.path, reader->offset, size, reader->record.size);
    }
    return status_ok();
}

static struct status check_crc(const char *path, const char *data, size_t size, uint64_t offset,
                               const char *hint)
{
    uint32_t stored = crc32c_unmask(get_u32le(data + size)), computed = crc32c(0, data, size);
    if (computed != stored)
        return status_error(STATUS_DATA_LOSS,
                            "'%s': corrupted record at %" PRIu64 "%s: %zu bytes have the checksum "
                            "%08" PRIx32 ", %08" PRIx32 " is stored",
                            path, offset, hint, size, computed, stored);
    return status_ok();
}

struct status tfrecord_reader_next(struct tfrecord_reader *reader, struct bytes *record,
                                   bool *found)
{
    char head[HEAD_BYTES];
    size_t got;
    reader->data_damaged = false;
    TRY(get(reader, head, sizeof head, &got));
    *found = got == sizeof head;
    reader->is_cut = !*found && (got > 0 || (reader->compressed && !reader->stream_ended));
    if (!*found)
        return status_ok();
    TRY(check_crc(reader->file.path, head, 8, reader->offset, " (Is this even a TFRecord file?)"));
    uint64_t size = get_u64le(head);
    if (size > UINT64_MAX - 4)
        return status_error(STATUS_DATA_LOSS,
                            "'%s': corrupted record at %" PRIu64 ": its size is %" PRIu64,
                            reader->file.path, reader->offset, size);
    TRY(get_data(reader, size + 4));
    uint64_t offset = reader->offset;
    reader->offset += HEAD_BYTES + size + 4;
    reader->data_damaged = true;
    TRY(check_crc(reader->file.path, reader->record.data, (size_t)size, offset + HEAD_BYTES, ""));
    reader->data_damaged = false;
    *record = (struct bytes){ reader->record.data, (size_t)size };
    return status_ok();
}

struct status tfrecord_reader_check_end(const struct tfrecord_reader *reader)
{
    if (!reader->is_cut)
        return status_ok();
    return status_error(STATUS_DATA_LOSS, "'%s': the file is cut short at %" PRIu64,
                        reader->file.path, reader->offset);
}

struct status tfrecord_take(struct bytes content, const char *path, uint64_t *at,
                            struct bytes *record, bool *found)
{
    uint64_t offset = *at;
    const char *head = content.data + offset;
    *found = offset <= content.size && content.size - offset >= HEAD_BYTES;
    if (!*found)
        return status_ok();
    TRY(check_crc(path, head, 8, offset, " (Is this even a TFRecord file?)"));
    uint64_t size = get_u64le(head), left = content.size - offset - HEAD_BYTES;
    if (left < TAIL_BYTES || size > left - TAIL_BYTES)
        return status_error(STATUS_DATA_LOSS,
                            "'%s': truncated record at %" PRIu64
                            "' failed with Read less bytes than requested",
                            path, offset + HEAD_BYTES);
    *record = (struct bytes){ head + HEAD_BYTES, (size_t)size };
    *at = offset + HEAD_BYTES + size + TAIL_BYTES;
    return check_crc(path, record->data, record->size, offset + HEAD_BYTES, "");
}

static void frame(struct bytes record, char head[HEAD_BYTES], char tail[TAIL_BYTES])
{
    put_u64le(head, record.size);
    put_u32le(head + 8, crc32c_mask(crc32c(0, head, 8)));
    put_u32le(tail, crc32c_mask(crc32c(0, record.data, record.size)));
}

void tfrecord_frame(struct bytes record, struct buffer *out)
{
    char head[HEAD_BYTES], tail[TAIL_BYTES];
    frame(record, head, tail);
    buffer_append(out, head, sizeof head);
    buffer_append(out, record.data, record.size);
    buffer_append(out, tail, sizeof tail);
}

bool tfrecord_reader_can_continue(const struct tfrecord_reader *reader)
{
    return reader->data_damaged;
}

uint64_t tfrecord_reader_offset(const struct tfrecord_reader *reader)
{
    return reader->offset;
}

uint64_t tfrecord_reader_file_bytes(const struct tfrecord_reader *reader)
{
    return reader->file.size;
}

struct tfrecord_writer {
    struct file_writer file;
    bool compressed;
    z_stream zlib;
};

struct status tfrecord_writer_open(const char *path, enum tfrecord_compression compression,
                                   struct tfrecord_writer **out)
{
    assert(compression != TFRECORD_DETECT);
    struct file_writer file;
    TRY(file_writer_open(path, &file));
    struct tfrecord_writer *writer = zalloc(sizeof *writer);
    writer->file = file;
    if (compression != TFRECORD_PLAIN) {
        int window = compression == TFRECORD_GZIP ? WINDOW_GZIP : WINDOW_ZLIB;
        if (deflateInit2(&writer->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            tfrecord_writer_abandon(writer);
            return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to deflate '%s'", path);
        }
        writer->compressed = true;
    }
    *out = writer;
    return status_ok();
}

static struct status deflate_out(struct tfrecord_writer *writer, const void *data, size_t size,
                                 int flush)
{
    unsigned char out[4096];
    writer->zlib.next_in = (Bytef *)data;
    writer->zlib.avail_in = (uInt)size;
    do {
        writer->zlib.next_out = out;
        writer->zlib.avail_out = sizeof out;
        deflate(&writer->zlib, flush); /* cannot fail: the stream is valid and has room */
        TRY(file_writer_append(&writer->file, out, sizeof out - writer->zlib.avail_out));
    } while (writer->zlib.avail_out == 0);
    return status_ok();
}

static struct status put(struct tfrecord_writer *writer, const char *data, size_t size)
{
    if (!writer->compressed)
        return file_writer_append(&writer->file, data, size);
    while (size > 0) {
        size_t step = size < (size_t)1 << 30 ? size : (size_t)1 << 30;
        TRY(deflate_out(writer, data, step, Z_NO_FLUSH));
        data += step;
        size -= step;
    }
    return status_ok();
}

struct status tfrecord_writer_append(struct tfrecord_writer *writer, struct bytes record)
{
    char head[HEAD_BYTES], tail[TAIL_BYTES];
    frame(record, head, tail);
    TRY(put(writer, head, sizeof head));
    TRY(put(writer, record.data, record.size));
    return put(writer, tail, sizeof tail);
}

struct status tfrecord_writer_finish(struct tfrecord_writer *writer)
{
    struct status status = status_ok();
    if (writer->compressed)
        status = deflate_out(writer, NULL, 0, Z_FINISH);
    if (status_is_ok(status))
        status = file_writer_finish(&writer->file);
    tfrecord_writer_abandon(writer);
    return status;
}

void tfrecord_writer_abandon(struct tfrecord_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->compressed)
        deflateEnd(&writer->zlib);
    file_writer_abandon(&writer->file);
    free(writer);
}
