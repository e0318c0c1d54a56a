#include "storage/zip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/file.h"

#define END_BYTES         22
#define COMMENT_MAX       65535
#define LOCATOR_BYTES     20
#define END64_BYTES       56
#define CENTRAL_BYTES     46
#define LOCAL_BYTES       30
#define CENTRAL_BYTES_MAX ((uint64_t)64 << 20)
#define CHUNK             ((size_t)64 << 10)

#define END_MAGIC     0x06054b50u
#define LOCATOR_MAGIC 0x07064b50u
#define END64_MAGIC   0x06064b50u
#define CENTRAL_MAGIC 0x02014b50u
#define LOCAL_MAGIC   0x04034b50u

#define FLAG_ENCRYPTED 1
#define METHOD_STORED  0
#define METHOD_DEFLATE 8
#define EXTRA_ZIP64    1

struct zip_archive {
    struct file_reader file;
    struct zip_member *members;
    int count;
};

/* The central directory: a list of entries. */
struct zip_directory {
    uint64_t offset, size, entries;
};

static uint16_t get_u16le(const char *at)
{
    return (uint16_t)((unsigned char)at[0] | (unsigned char)at[1] << 8);
}

static struct status damaged(const char *what)
{
    return status_error(STATUS_DATA_LOSS, "a damaged ZIP archive: %s", what);
}

/* Reads a part of the file, which must lie in it. */
static struct status get(const struct file_reader *file, uint64_t offset, void *out, size_t size)
{
    if (offset > file->size || size > file->size - offset)
        return damaged("it is cut short");
    return file_reader_get(file, offset, out, size);
}

/* ---- the directory ---- */

/* In a large archive, a second end record precedes the first one and has 64-bit numbers. */
static struct status read_end64(const struct file_reader *file, uint64_t end,
                                struct zip_directory *out)
{
    char locator[LOCATOR_BYTES], end64[END64_BYTES];

    if (end < LOCATOR_BYTES)
        return status_ok();
    TRY(get(file, end - LOCATOR_BYTES, locator, sizeof locator));
    if (get_u32le(locator) != LOCATOR_MAGIC)
        return status_ok();
    TRY(get(file, get_u64le(locator + 8), end64, sizeof end64));
    if (get_u32le(end64) != END64_MAGIC)
        return damaged("no ZIP64 end where its locator says");
    *out = (struct zip_directory){ .entries = get_u64le(end64 + 32),
                                   .size = get_u64le(end64 + 40),
                                   .offset = get_u64le(end64 + 48) };
    return status_ok();
}

/* The end record precedes a comment of unknown size, so it is searched backwards. */
static struct status find_directory(const struct file_reader *file, struct zip_directory *out)
{
    size_t size =
        file->size < END_BYTES + COMMENT_MAX ? (size_t)file->size : END_BYTES + COMMENT_MAX;
    uint64_t begin = file->size - size;
    struct status status = status_error(STATUS_DATA_LOSS, "not a ZIP archive");
    char *tail = zalloc(size + 1);

    TRY_OR(done, get(file, begin, tail, size));
    status = status_error(STATUS_DATA_LOSS, "not a ZIP archive");
    for (size_t at = size < END_BYTES ? 0 : size - END_BYTES + 1; at-- > 0;) {
        if (get_u32le(tail + at) != END_MAGIC)
            continue;
        *out = (struct zip_directory){ .entries = get_u16le(tail + at + 10),
                                       .size = get_u32le(tail + at + 12),
                                       .offset = get_u32le(tail + at + 16) };
        status = read_end64(file, begin + at, out);
        break;
    }
done:
    free(tail);
    return status;
}

/* Replaces the numbers that do not fit 32 bits by those of the extra field. */
static struct status read_extra(const char *at, const char *end, struct zip_member *member)
{
    uint64_t *const wide[] = { &member->bytes, &member->packed_bytes, &member->offset };

    while (end - at >= 4) {
        size_t size = get_u16le(at + 2);
        const char *value = at + 4;
        if (size > (size_t)(end - value))
            return damaged("an extra field is cut short");
        at = value + size;
        if (get_u16le(value - 4) != EXTRA_ZIP64)
            continue;
        for (size_t i = 0; i < COUNT(wide); i++) {
            if (*wide[i] != UINT32_MAX)
                continue;
            if (at - value < 8)
                return damaged("a ZIP64 field is cut short");
            *wide[i] = get_u64le(value);
            value += 8;
        }
    }
    return status_ok();
}

/* Reads the entry at *at and moves past it. */
static struct status read_entry(const char **at, const char *end, struct zip_member *out)
{
    const char *entry = *at;

    if (end - entry < CENTRAL_BYTES || get_u32le(entry) != CENTRAL_MAGIC)
        return damaged("the directory is cut short");
    size_t name = get_u16le(entry + 28), extra = get_u16le(entry + 30),
           comment = get_u16le(entry + 32);
    if (name + extra + comment > (size_t)(end - entry) - CENTRAL_BYTES)
        return damaged("the directory is cut short");
    char *copy = zalloc(name + 1);
    memcpy(copy, entry + CENTRAL_BYTES, name);
    *out = (struct zip_member){ .name = copy,
                                .offset = get_u32le(entry + 42),
                                .packed_bytes = get_u32le(entry + 20),
                                .bytes = get_u32le(entry + 24),
                                .crc32 = get_u32le(entry + 16),
                                .deflated = get_u16le(entry + 10) == METHOD_DEFLATE };
    *at = entry + CENTRAL_BYTES + name + extra + comment;
    if ((get_u16le(entry + 8) & FLAG_ENCRYPTED) != 0)
        return status_error(STATUS_UNIMPLEMENTED, "'%s' in the ZIP archive is encrypted", copy);
    if (!out->deflated && get_u16le(entry + 10) != METHOD_STORED)
        return status_error(STATUS_UNIMPLEMENTED,
                            "'%s' in the ZIP archive has compression method %d; 0 (stored) and 8 "
                            "(deflated) are read",
                            copy, get_u16le(entry + 10));
    return read_extra(entry + CENTRAL_BYTES + name, entry + CENTRAL_BYTES + name + extra, out);
}

static struct status read_directory(struct zip_archive *archive)
{
    struct zip_directory directory = { 0 };
    struct status status;

    TRY(find_directory(&archive->file, &directory));
    if (directory.size > CENTRAL_BYTES_MAX || directory.entries > directory.size / CENTRAL_BYTES)
        return damaged("the size of its directory is wrong");
    char *bytes = zalloc((size_t)directory.size + 1);
    archive->members = zalloc(((size_t)directory.entries + 1) * sizeof *archive->members);
    TRY_OR(done, get(&archive->file, directory.offset, bytes, (size_t)directory.size));
    const char *at = bytes;
    for (uint64_t i = 0; i < directory.entries; i++)
        TRY_OR(done, read_entry(&at, bytes + directory.size, &archive->members[archive->count++]));
done:
    free(bytes);
    return status;
}

struct status zip_open(const char *path, struct zip_archive **out)
{
    struct zip_archive *archive = zalloc(sizeof *archive);
    struct status status;

    TRY_OR(fail, file_reader_open(path, &archive->file));
    TRY_OR(fail, read_directory(archive));
    *out = archive;
    return status_ok();

fail:
    zip_close(archive);
    return status;
}

void zip_close(struct zip_archive *archive)
{
    if (archive == NULL)
        return;
    for (int i = 0; i < archive->count; i++)
        free((char *)(uintptr_t)archive->members[i].name);
    free(archive->members);
    file_reader_close(&archive->file);
    free(archive);
}

int zip_members_count(const struct zip_archive *archive)
{
    return archive->count;
}

const struct zip_member *zip_member(const struct zip_archive *archive, int index)
{
    return &archive->members[index];
}

/* ---- one member ---- */

struct zip_stream {
    const struct file_reader *file;
    const struct zip_member *member;
    uint64_t at, end; /* in the file: packed bytes that were not read yet */
    uint64_t got;     /* unpacked bytes handed out */
    uint32_t crc32;   /* of them */
    z_stream zlib;    /* of a deflated member */
    char *chunk;
};

static struct status find_data(struct zip_stream *stream)
{
    const struct zip_member *member = stream->member;
    char header[LOCAL_BYTES];

    TRY(get(stream->file, member->offset, header, sizeof header));
    if (get_u32le(header) != LOCAL_MAGIC)
        return damaged("a member is not where the directory says");
    stream->at = member->offset + LOCAL_BYTES + get_u16le(header + 26) + get_u16le(header + 28);
    if (stream->at > stream->file->size || member->packed_bytes > stream->file->size - stream->at)
        return damaged("a member is cut short");
    stream->end = stream->at + member->packed_bytes;
    if (!member->deflated && member->packed_bytes != member->bytes)
        return damaged("a stored member has two sizes");
    return status_ok();
}

struct status zip_stream_open(const struct zip_archive *archive, const struct zip_member *member,
                              struct zip_stream **out)
{
    struct zip_stream *stream = zalloc(sizeof *stream);
    struct status status;

    stream->file = &archive->file;
    stream->member = member;
    TRY_OR(fail, find_data(stream));
    if (member->deflated) {
        if (inflateInit2(&stream->zlib, -MAX_WBITS) != Z_OK) {
            status = status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to inflate");
            goto fail;
        }
        stream->chunk = zalloc(CHUNK);
    }
    *out = stream;
    return status_ok();

fail:
    zip_stream_close(stream);
    return status_in(status, "'%s'", member->name);
}

void zip_stream_close(struct zip_stream *stream)
{
    if (stream == NULL)
        return;
    if (stream->chunk != NULL)
        inflateEnd(&stream->zlib);
    free(stream->chunk);
    free(stream);
}

static struct status refill(struct zip_stream *stream)
{
    uint64_t left = stream->end - stream->at;
    size_t step = left < CHUNK ? (size_t)left : CHUNK;

    if (step == 0)
        return damaged("a deflated member is cut short");
    TRY(get(stream->file, stream->at, stream->chunk, step));
    stream->at += step;
    stream->zlib.next_in = (Bytef *)stream->chunk;
    stream->zlib.avail_in = (uInt)step;
    return status_ok();
}

static struct status inflate_exactly(struct zip_stream *stream, char *out, size_t size)
{
    z_stream *zlib = &stream->zlib;

    while (size > 0) {
        uInt room = size < (size_t)1 << 30 ? (uInt)size : 1u << 30;
        if (zlib->avail_in == 0)
            TRY(refill(stream));
        zlib->next_out = (Bytef *)out;
        zlib->avail_out = room;
        int code = inflate(zlib, Z_NO_FLUSH);
        size_t got = room - zlib->avail_out;
        out += got;
        size -= got;
        if (code == Z_STREAM_END && size > 0)
            return damaged("a deflated member is shorter than the directory says");
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return damaged(zlib->msg != NULL ? zlib->msg : "a deflated member");
    }
    return status_ok();
}

static struct status read_bytes(struct zip_stream *stream, void *out, size_t size)
{
    if (size > stream->member->bytes - stream->got)
        return status_error(STATUS_DATA_LOSS, "it has %llu bytes, more were expected",
                            (unsigned long long)stream->member->bytes);
    if (stream->member->deflated) {
        TRY(inflate_exactly(stream, out, size));
    } else {
        TRY(get(stream->file, stream->at, out, size));
        stream->at += size;
    }
    stream->crc32 = (uint32_t)crc32_z(stream->crc32, out, size);
    stream->got += size;
    if (stream->got == stream->member->bytes && stream->crc32 != stream->member->crc32)
        return damaged("the checksum of a member is wrong");
    return status_ok();
}

struct status zip_stream_read(struct zip_stream *stream, void *out, size_t size)
{
    if (size == 0)
        return status_ok();
    return status_in(read_bytes(stream, out, size), "'%s'", stream->member->name);
}
