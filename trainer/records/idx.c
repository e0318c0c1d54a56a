#include "trainer/records/idx.h"

#include "base/container.h"
#include "base/file.h"
#include "base/inflate.h"

#define IDX_UNSIGNED_BYTE 0x08
#define UNPACKED_MAX      ((size_t)4 << 30) /* the 60 000 images of MNIST have 47 MB */
#define UNPACK_STEP       ((size_t)1 << 20)

static uint32_t get_u32be(const char *at)
{
    const uint8_t *byte = (const uint8_t *)at;
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

struct status idx_read_header(struct bytes start, struct idx *out, size_t *header_bytes,
                              uint64_t *data_bytes)
{
    struct idx idx = { 0 };
    uint64_t size = 1;

    if (start.size < 4 || start.data[0] != 0 || start.data[1] != 0)
        return status_error(STATUS_DATA_LOSS, "not an IDX file: it must begin with two zero bytes");
    if (start.data[2] != IDX_UNSIGNED_BYTE)
        return status_error(STATUS_UNIMPLEMENTED,
                            "IDX element type 0x%02x, only unsigned bytes (0x08) are read",
                            (uint8_t)start.data[2]);
    idx.rank = (uint8_t)start.data[3];
    if (idx.rank < 1 || idx.rank > IDX_RANK_MAX)
        return status_error(STATUS_DATA_LOSS, "IDX rank %d, must be 1 to %d", idx.rank,
                            IDX_RANK_MAX);
    size_t header = 4 + 4 * (size_t)idx.rank;
    if (start.size < header)
        return status_error(STATUS_DATA_LOSS, "IDX header cut short: %zu bytes of %zu", start.size,
                            header);
    for (int i = 0; i < idx.rank; i++) {
        idx.dims[i] = get_u32be(start.data + 4 + 4 * i);
        if (__builtin_mul_overflow(size, idx.dims[i], &size))
            return status_error(STATUS_DATA_LOSS, "IDX dimensions multiply to more than 2^64");
    }
    *out = idx;
    *header_bytes = header;
    *data_bytes = size;
    return status_ok();
}

struct status idx_parse(struct bytes contents, struct idx *out)
{
    struct idx idx;
    size_t header;
    uint64_t size;

    TRY(idx_read_header(contents, &idx, &header, &size));
    if (contents.size - header != size)
        return status_error(STATUS_DATA_LOSS, "IDX data has %zu bytes, its dimensions say %llu",
                            contents.size - header, (unsigned long long)size);
    idx.data = (const uint8_t *)contents.data + header;
    *out = idx;
    return status_ok();
}

struct idx_unpacking {
    struct inflate_output output;
    struct buffer *unpacked;
};

static struct status grow(struct inflate_output *output)
{
    struct buffer *unpacked = CONTAINER_OF(output, struct idx_unpacking, output)->unpacked;
    unpacked->size = output->size;
    buffer_reserve(unpacked, UNPACK_STEP);
    output->data = unpacked->data;
    output->capacity = unpacked->capacity;
    return status_ok();
}

static struct status unpack_member(struct bytes *file, struct inflate_output *output)
{
    enum inflate_result result;
    TRY(inflate_stream(INFLATE_GZIP, file, output, &result));
    switch (result) {
    case INFLATE_END:
        return status_ok();
    case INFLATE_TOO_LARGE:
        return status_error(STATUS_RESOURCE_EXHAUSTED, "unpacks to more than %zu bytes",
                            output->limit);
    case INFLATE_CUT_SHORT:
        return status_error(STATUS_DATA_LOSS, "gzip stream cut short after %zu unpacked bytes",
                            output->size);
    case INFLATE_NO_MEMORY:
        return status_error(STATUS_RESOURCE_EXHAUSTED, "zlib: no memory");
    case INFLATE_DAMAGED:
        break;
    }
    return status_error(STATUS_DATA_LOSS, "gzip stream damaged after %zu unpacked bytes: %s",
                        output->size, output->damage);
}

struct status idx_unpack(struct bytes file, size_t limit_bytes, struct buffer *unpacked,
                         struct bytes *out)
{
    if (file.size < 2 || file.data[0] != '\x1f' || file.data[1] != '\x8b') {
        *out = file;
        return status_ok();
    }
    struct idx_unpacking unpacking = { .output = { .data = unpacked->data,
                                                   .size = unpacked->size,
                                                   .capacity = unpacked->capacity,
                                                   .limit = limit_bytes,
                                                   .grow = grow },
                                       .unpacked = unpacked };
    while (file.size > 0)
        TRY(unpack_member(&file, &unpacking.output));
    unpacked->size = unpacking.output.size;
    *out = (struct bytes){ unpacked->data, unpacked->size };
    return status_ok();
}

struct status idx_read(const char *path, int rank, struct buffer *contents, struct idx *out)
{
    struct status status;
    struct buffer file = { 0 };
    struct bytes unpacked;

    TRY(file_read(path, UNPACKED_MAX, &file));
    TRY_OR(done,
           idx_unpack((struct bytes){ file.data, file.size }, UNPACKED_MAX, contents, &unpacked));
    if (unpacked.data == file.data) { /* not compressed: the contents are the file */
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
