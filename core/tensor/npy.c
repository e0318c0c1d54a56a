/*
 * file   := magic(6) major(1) minor(1) header_size(2 or 4, little-endian) header data
 * magic  := 93 'N' 'U' 'M' 'P' 'Y'
 * header := a Python dictionary as text:
 *           {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#include "tensor/npy.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/file.h"
#include "tensor/tensor_values.h"

static const struct descr {
    const char *text;
    enum dtype dtype;
} descrs[] = {
    { "<f4", DT_FLOAT },     { "<f8", DT_DOUBLE },      { "<f2", DT_HALF },   { "|i1", DT_INT8 },
    { "<i2", DT_INT16 },     { "<i4", DT_INT32 },       { "<i8", DT_INT64 },  { "|u1", DT_UINT8 },
    { "<u2", DT_UINT16 },    { "<u4", DT_UINT32 },      { "<u8", DT_UINT64 }, { "|b1", DT_BOOL },
    { "<c8", DT_COMPLEX64 }, { "<c16", DT_COMPLEX128 },
};

/* The text after 'key': in the header, up to one of `stops`. */
static const char *header_value(const char *header, const char *key, const char *stops,
                                struct arena *arena)
{
    const char *at = strstr(header, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    at += strspn(at, "': (");
    return arena_memdup(arena, at, strcspn(at, stops));
}

static struct status parse_shape(const char *text, struct shape *out)
{
    int64_t dims[SHAPE_RANK_MAX];
    int rank = 0;
    while (*text != '\0') {
        char *end;
        long long dim = strtoll(text, &end, 10);
        if (end == text || rank == SHAPE_RANK_MAX)
            return status_error(STATUS_INVALID_ARGUMENT, ".npy: shape '(%s)' is not readable",
                                text);
        dims[rank++] = dim;
        text = end + strspn(end, ", ");
    }
    return shape_check(rank, dims, out);
}

/* |S: bytes padded with NULs. <U: UTF-32, which becomes UTF-8. */
static struct bytes read_element(const char *data, size_t width, bool unicode, struct arena *arena)
{
    if (!unicode) {
        size_t size = width;
        while (size > 0 && data[size - 1] == '\0')
            size--;
        return (struct bytes){ arena_memdup(arena, data, size), size };
    }
    char *text = arena_alloc(arena, width + 1), *to = text;
    for (size_t i = 0; i + 4 <= width; i += 4) {
        uint32_t c = get_u32le(data + i);
        if (c == 0)
            break;
        if (c < 0x80) {
            *to++ = (char)c;
        } else if (c < 0x800) {
            *to++ = (char)(0xc0 | c >> 6), *to++ = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12), *to++ = (char)(0x80 | (c >> 6 & 0x3f));
            *to++ = (char)(0x80 | (c & 0x3f));
        } else {
            *to++ = (char)(0xf0 | (c >> 18 & 7)), *to++ = (char)(0x80 | (c >> 12 & 0x3f));
            *to++ = (char)(0x80 | (c >> 6 & 0x3f)), *to++ = (char)(0x80 | (c & 0x3f));
        }
    }
    return (struct bytes){ text, (size_t)(to - text) };
}

static struct status read_strings(struct bytes data, const char *descr, const struct shape *shape,
                                  struct arena *arena, struct tensor *out)
{
    bool unicode = descr[1] == 'U';
    size_t width, letters = (size_t)strtoull(descr + 2, NULL, 10);
    int64_t size = shape_size(shape);
    if (letters == 0 && size > 0) /* the size of the file would not limit their number */
        return status_error(STATUS_INVALID_ARGUMENT, ".npy: dtype '%s' has no characters", descr);
    if (__builtin_mul_overflow(letters, (size_t)(unicode ? 4 : 1), &width) ||
        (width > 0 && (size_t)size > data.size / width))
        return status_error(STATUS_INVALID_ARGUMENT, ".npy: the file is cut short");
    TRY(tensor_create(DT_STRING, shape, out));
    for (int64_t i = 0; i < size; i++)
        tensor_strings_mut(out)[i] =
            read_element(data.data + (size_t)i * width, width, unicode, arena);
    return status_ok();
}

/* A tensor is created only once the file is known to fill it. */
static struct status read_numbers(struct bytes data, enum dtype dtype, const struct shape *shape,
                                  struct tensor *out)
{
    if ((size_t)shape_size(shape) > data.size / dtype_size(dtype))
        return status_error(STATUS_INVALID_ARGUMENT,
                            ".npy: the file is cut short: %zu bytes of data, %s of %s wants more",
                            data.size, dtype_name(dtype), shape_text(shape));
    data.size = (size_t)shape_size(shape) * dtype_size(dtype);
    if (dtype == DT_BOOL)
        TRY(tensor_check_bools(data, ".npy"));
    TRY(tensor_create(dtype, shape, out));
    if (data.size > 0)
        memcpy(out->data, data.data, data.size);
    return status_ok();
}

static struct status read_data(struct bytes data, const char *descr, const struct shape *shape,
                               struct arena *arena, struct tensor *out)
{
    if (strlen(descr) > 2 && descr[0] != '>' && (descr[1] == 'S' || descr[1] == 'U'))
        return read_strings(data, descr, shape, arena, out);
    for (size_t i = 0; i < COUNT(descrs); i++) {
        if (strcmp(descrs[i].text, descr) == 0)
            return read_numbers(data, descrs[i].dtype, shape, out);
    }
    return status_error(STATUS_UNIMPLEMENTED,
                        ".npy: dtype '%s' is not read (numbers little-endian, <U, |S are)", descr);
}

/* Finds the offset and the size of the header's text. */
static struct status find_header(struct bytes file, size_t *start, size_t *size)
{
    static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };
    if (file.size < NPY_START_BYTES || memcmp(file.data, magic, sizeof magic) != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "not a .npy file");
    bool wide = file.data[6] >= 2;
    *start = wide ? 12 : 10;
    *size = wide ? get_u32le(file.data + 8)
                 : (size_t)((unsigned char)file.data[8] | (unsigned char)file.data[9] << 8);
    return status_ok();
}

/* Reads the header at the front of the file. *data_at: the bytes before the data. */
static struct status read_header(struct bytes file, struct arena *arena, const char **descr,
                                 struct shape *shape, size_t *data_at)
{
    size_t start, size;
    TRY(find_header(file, &start, &size));
    if (size > file.size - start)
        return status_error(STATUS_INVALID_ARGUMENT, ".npy: the header is cut short");
    const char *header = arena_memdup(arena, file.data + start, size);
    *descr = header_value(header, "'descr'", "'", arena);
    const char *fortran = header_value(header, "'fortran_order'", ",", arena);
    const char *dims = header_value(header, "'shape'", ")", arena);
    if (*descr == NULL || fortran == NULL || dims == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            ".npy: the header lacks descr, fortran_order or shape");
    TRY(parse_shape(dims, shape));
    if (strcmp(fortran, "False") != 0 && shape->rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            ".npy: Fortran order; save it with numpy.ascontiguousarray");
    *data_at = start + size;
    return status_ok();
}

struct status npy_read(struct bytes file, struct arena *arena, struct tensor *out)
{
    const char *descr;
    struct shape shape;
    size_t at;
    TRY(read_header(file, arena, &descr, &shape, &at));
    struct bytes data = { file.data + at, file.size - at };
    return read_data(data, descr, &shape, arena, out);
}

struct status npy_header_size(struct bytes start, size_t *out)
{
    size_t at, size;
    TRY(find_header(start, &at, &size));
    if (size > NPY_HEADER_BYTES_MAX || at + size < NPY_START_BYTES)
        return status_error(STATUS_INVALID_ARGUMENT, ".npy: a header of %zu bytes", size);
    *out = at + size;
    return status_ok();
}

static struct status read_front(struct bytes front, struct arena *arena, struct npy_header *out)
{
    const char *descr;
    TRY(read_header(front, arena, &descr, &out->shape, &out->size));
    for (size_t i = 0; i < COUNT(descrs); i++) {
        out->dtype = descrs[i].dtype;
        if (strcmp(descrs[i].text, descr) == 0)
            return status_ok();
    }
    return status_error(STATUS_UNIMPLEMENTED, ".npy: dtype '%s' is not read", descr);
}

struct status npy_header_read(struct bytes front, struct npy_header *out)
{
    struct arena *arena = arena_create(0);
    struct status status = read_front(front, arena, out);
    arena_destroy(arena);
    return status;
}

struct status npy_read_file(const char *path, size_t max_bytes, struct arena *arena,
                            struct tensor *out)
{
    struct buffer file = { 0 };
    TRY(file_read(path, max_bytes, &file));
    struct status status = npy_read((struct bytes){ file.data, file.size }, arena, out);
    buffer_finish(&file);
    return status_in(status, "'%s'", path);
}

/* ---- writing ---- */

#define NPY_ALIGNMENT 64 /* of the elements, as numpy writes them */

static void put_dictionary(const char *descr, const struct shape *shape, struct buffer *out)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(shape, dims);
    buffer_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++)
        buffer_printf(out, "%s%lld", i > 0 ? ", " : "", (long long)dims[i]);
    buffer_append_text(out, rank == 1 ? ",), }" : "), }");
}

static void put_front(const char *descr, const struct shape *shape, struct buffer *out)
{
    static const char magic[] = "\x93NUMPY\x01\x00"; /* version 1.0 */
    size_t start = out->size, header = start + 10;
    buffer_append(out, magic, 8);
    buffer_append(out, "\0\0", 2); /* the header's size */
    put_dictionary(descr, shape, out);
    while ((out->size + 1 - start) % NPY_ALIGNMENT != 0)
        buffer_append_char(out, ' ');
    buffer_append_char(out, '\n');
    out->data[header - 2] = (char)((out->size - header) & 0xff);
    out->data[header - 1] = (char)((out->size - header) >> 8);
}

void npy_put_front(enum dtype dtype, const struct shape *shape, struct buffer *out)
{
    for (size_t i = 0; i < COUNT(descrs); i++)
        if (descrs[i].dtype == dtype)
            put_front(descrs[i].text, shape, out);
}

/* All elements of |S have the size of the longest; numpy has none of size 0. */
static struct status find_width(const struct tensor *tensor, size_t *out)
{
    const struct bytes *strings = tensor_strings(tensor);
    size_t width = 1, total;
    for (int64_t i = 0; i < tensor->size; i++) {
        if (strings[i].size > 0 && strings[i].data[strings[i].size - 1] == '\0')
            return status_error(STATUS_INVALID_ARGUMENT,
                                ".npy: string %lld ends with a NUL byte, which numpy drops",
                                (long long)i);
        if (strings[i].size > width)
            width = strings[i].size;
    }
    if (__builtin_mul_overflow(width, (size_t)tensor->size, &total) ||
        total > NPY_STRINGS_BYTES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            ".npy: %lld strings as long as the longest, of %zu bytes, are over %zu "
                            "bytes",
                            (long long)tensor->size, width, NPY_STRINGS_BYTES_MAX);
    *out = width;
    return status_ok();
}

struct status npy_put_strings(const struct tensor *tensor, struct buffer *out)
{
    const struct bytes *strings = tensor_strings(tensor);
    size_t width;
    char descr[32];
    TRY(find_width(tensor, &width));
    snprintf(descr, sizeof descr, "|S%zu", width);
    put_front(descr, &tensor->shape, out);
    for (int64_t i = 0; i < tensor->size; i++) {
        size_t padding = width - strings[i].size;
        buffer_append(out, strings[i].data, strings[i].size);
        buffer_reserve(out, padding);
        memset(out->data + out->size, 0, padding);
        out->size += padding;
    }
    return status_ok();
}

size_t npy_front_size(enum dtype dtype, const struct shape *shape)
{
    struct buffer front = { 0 };
    npy_put_front(dtype, shape, &front);
    size_t size = front.size;
    buffer_finish(&front);
    return size;
}
