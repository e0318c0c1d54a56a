#include "trainer/idx.h"

#include <limits.h>
#include <zlib.h>

#include "base/file.h"

#define IDX_UNSIGNED_BYTE 0x08
#define UNPACKED_MAX      ((size_t)4 << 30) /* 60 000 images of MNIST have 47 MB */
#define UNPACK_STEP       ((size_t)1 << 20)

static uint32_t get_u32be(const char *at)
{
    const uint8_t *byte = (const uint8_t *)at;
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

struct status idx_parse(struct bytes contents, struct idx *out)
{
    struct idx idx = { 0 };
    uint64_t size = 1;

    if (contents.size < 4 || contents.data[0] != 0 || contents.data[1] != 0)
        return status_error(STATUS_DATA_LOSS, "not an IDX file: it must begin with two zero bytes");
    if (contents.data[2] != IDX_UNSIGNED_BYTE)
        return status_error(STATUS_UNIMPLEMENTED,
                            "IDX element type 0x%02x, only unsigned bytes (0x08) are read",
                            (uint8_t)contents.data[2]);
    idx.rank = (uint8_t)contents.data[3];
    if (idx.rank < 1 || idx.rank > IDX_RANK_MAX)
        return status_error(STATUS_DATA_LOSS, "IDX rank %d, must be 1 to %d", idx.rank,
                            IDX_RANK_MAX);
    size_t header = 4 + 4 * (size_t)idx.rank;
    if (contents.size < header)
        return status_error(STATUS_DATA_LOSS, "IDX header cut short: %zu bytes of %zu",
                            contents.size, header);
    for (int i = 0; i < idx.rank; i++) {
        idx.dims[i] = get_u32be(contents.data + 4 + 4 * i);
        if (__builtin_mul_overflow(size, idx.dims[i], &size))
            return status_error(STATUS_DATA_LOSS, "IDX dimensions multiply to more than 2^64");
    }
    if (contents.size - header != size)
        return status_error(STATUS_DATA_LOSS, "IDX data has %zu bytes, its dimensions say %llu",
                            contents.size - header, (unsigned long long)size);
    idx.data = (const uint8_t *)contents.data + header;
    *out = idx;
    return status_ok();
}

static struct status inflate_all(z_stream *stream, struct bytes file, size_t limit_bytes,
                                 struct buffer *unpacked)
{
    size_t taken = 0;
    int result = Z_OK;

    while (taken < file.size || stream->avail_in > 0 || result != Z_STREAM_END) {
        if (result == Z_STREAM_END && inflateReset(stream) != Z_OK)
            return status_error(STATUS_INTERNAL, "zlib: cannot start over");
        if (stream->avail_in == 0) {
            size_t piece = file.size - taken < UINT_MAX ? file.size - taken : UINT_MAX;
            stream->next_in = (Bytef *)(uintptr_t)(file.data + taken);
            stream->avail_in = (uInt)piece;
            taken += piece;
        }
        buffer_reserve(unpacked, UNPACK_STEP);
        stream->next_out = (Bytef *)(unpacked->data + unpacked->size);
        stream->avail_out = (uInt)UNPACK_STEP;
        result = inflate(stream, Z_NO_FLUSH);
        unpacked->size += UNPACK_STEP - stream->avail_out;
        if (unpacked->size > limit_bytes)
            return status_error(STATUS_RESOURCE_EXHAUSTED, "unpacks to more than %zu bytes",
                                limit_bytes);
        if (result == Z_BUF_ERROR)
            return status_error(STATUS_DATA_LOSS, "gzip stream cut short after %zu unpacked bytes",
                                unpacked->size);
        if (result != Z_OK && result != Z_STREAM_END)
            return status_error(STATUS_DATA_LOSS,
                                "gzip stream damaged after %zu unpacked bytes: %s", unpacked->size,
                                stream->msg != NULL ? stream->msg : zError(result));
    }
    return status_ok();
}

struct status idx_unpack(struct bytes file, size_t limit_bytes, struct buffer *unpacked,
                         struct bytes *out)
{
    z_stream stream = { 0 };

    if (file.size < 2 || file.data[0] != '\x1f' || file.data[1] != '\x8b') {
        *out = file;
        return status_ok();
    }
    if (inflateInit2(&stream, 15 + 16) != Z_OK) /* 16: gzip, its checksum verified */
        return status_error(STATUS_RESOURCE_EXHAUSTED, "zlib: no memory");
    struct status status = inflate_all(&stream, file, limit_bytes, unpacked);
    inflateEnd(&stream);
    if (status_is_ok(status))
        *out = (struct bytes){ unpacked->data, unpacked->size };
    return status;
}

struct status idx_read(const char *path, int rank, struct buffer *contents, struct idx *out)
{
    struct status status;
    struct buffer file = { 0 };
    struct bytes unpacked;

    TRY(file_read(path, UNPACKED_MAX, &file));
    TRY_OR(done,
           idx_unpack((struct bytes){ file.data, file.size }, UNPACKED_MAX, contents, &unpacked));
    if (unpacked.data == file.data) { /* it was plain: the contents are the file */
        *contents = file;
        file = (struct buffer){ 0 };
    }
    TRY_OR(done, idx_parse(unpacked, out));
    if (out->rank != rank)
        status = status_error(STATUS_DATA_LOSS, "IDX rank %d, wanted %d", out->rank, rank);
done:
    buffer_finish(&file);
    return status_in(status, "'%s'", path);
}
