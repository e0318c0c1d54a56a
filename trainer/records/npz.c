#include "trainer/records/npz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "storage/zip.h"
#include "tensor/npy.h"

#define ROW_BYTES_MAX ((uint64_t)64 << 20)
#define STEP_BYTES    ((size_t)64 << 10) /* converted at a time */
#define SUFFIX        ".npy"             /* suffix of an array's member name */

/* One array that is read. */
struct npz_array {
    struct zip_stream *stream;
    enum dtype dtype;
    int64_t rows, width;
    struct shape shape; /* of a row */
};

struct npz_reader {
    struct record_reader reader;
    struct zip_archive *archive;
    struct npz_array *arrays; /* [columns] */
    int count;
    int64_t rows, at;
    char *step; /* [STEP_BYTES] */
};

static struct npz_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct npz_reader, reader);
}

/* ---- the arrays ---- */

static bool is_float(enum dtype dtype)
{
    return dtype == DT_FLOAT || dtype == DT_DOUBLE || dtype == DT_HALF;
}

static bool is_integer(enum dtype dtype)
{
    return dtype == DT_BOOL || dtype == DT_INT8 || dtype == DT_INT16 || dtype == DT_INT32 ||
           dtype == DT_INT64 || dtype == DT_UINT8 || dtype == DT_UINT16 || dtype == DT_UINT32;
}

/* A member without a valid header is damaged: its name says that it is an array. */
static struct status as_damage(struct status status)
{
    if (status.code == STATUS_INVALID_ARGUMENT)
        status.code = STATUS_DATA_LOSS;
    return status;
}

/* Reads the header of an array. */
static struct status read_npy_start(struct zip_stream *stream, struct npy_header *out)
{
    char start[NPY_START_BYTES + NPY_HEADER_BYTES_MAX];
    size_t size;

    TRY(zip_stream_read(stream, start, NPY_START_BYTES));
    TRY(as_damage(npy_header_size((struct bytes){ start, NPY_START_BYTES }, &size)));
    TRY(zip_stream_read(stream, start + NPY_START_BYTES, size - NPY_START_BYTES));
    return as_damage(npy_header_read((struct bytes){ start, size }, out));
}

/* The number of values in a row. */
static struct status find_width(const struct shape *shape, size_t value_bytes, int64_t *out)
{
    int64_t width = 1;

    for (int i = 1; i < shape->rank; i++)
        width *= shape->dims[i]; /* shape_check has multiplied them */
    if (width == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "rows without values");
    if ((uint64_t)width > ROW_BYTES_MAX / value_bytes)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "a row has more than %llu MiB",
                            (unsigned long long)ROW_BYTES_MAX >> 20);
    *out = width;
    return status_ok();
}

static struct status open_array(const struct npz_reader *reader, const struct zip_member *member,
                                struct npz_array *out)
{
    struct npy_header header;

    TRY(zip_stream_open(reader->archive, member, &out->stream));
    TRY(read_npy_start(out->stream, &header));
    if (header.shape.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "a single number, not rows");
    out->dtype = header.dtype;
    out->rows = header.shape.dims[0];
    out->shape.rank = header.shape.rank - 1;
    memcpy(out->shape.dims, header.shape.dims + 1, (size_t)out->shape.rank * sizeof(int64_t));
    TRY(find_width(&header.shape, dtype_size(header.dtype), &out->width));
    if (!is_float(out->dtype) && !is_integer(out->dtype))
        return status_error(STATUS_UNIMPLEMENTED, "%s is not read", dtype_name(out->dtype));
    uint64_t size = member->bytes - header.size, value = dtype_size(out->dtype);
    if (size % value != 0 || size / value != (uint64_t)(out->rows * out->width))
        return status_error(STATUS_DATA_LOSS, "%llu bytes of data do not fit %s of %s",
                            (unsigned long long)size, dtype_name(out->dtype),
                            shape_text(&header.shape));
    return status_ok();
}

/* Finds the array of a name, which the archive calls `name.npy`; NULL: none. */
static const struct zip_member *find_member(const struct zip_archive *archive, const char *name)
{
    size_t size = strlen(name);

    for (int i = 0; i < zip_members_count(archive); i++) {
        const char *member = zip_member(archive, i)->name;
        if (strncmp(member, name, size) == 0 && strcmp(member + size, SUFFIX) == 0)
            return zip_member(archive, i);
    }
    return NULL;
}

static struct status add_array(struct npz_reader *reader, const struct column *column)
{
    const struct zip_member *member = find_member(reader->archive, column->name);
    struct npz_array *array = &reader->arrays[reader->count];

    if (member == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "no array '%s'", column->name);
    reader->count++;
    TRY(status_in(open_array(reader, member, array), "array '%s'", column->name));
    if (column->kind == COLUMN_BYTES || (column->kind == COLUMN_INT64 && is_float(array->dtype)))
        return status_error(STATUS_INVALID_ARGUMENT, "array '%s' holds %s, not %s", column->name,
                            dtype_name(array->dtype),
                            column->kind == COLUMN_BYTES ? "text" : "integers");
    if (reader->count == 1)
        reader->rows = array->rows;
    if (array->rows != reader->rows)
        return status_error(STATUS_INVALID_ARGUMENT, "array '%s' has %lld rows, others have %lld",
                            column->name, (long long)array->rows, (long long)reader->rows);
    return status_ok();
}

static void npz_close(struct record_reader *base)
{
    struct npz_reader *reader = reader_of(base);

    for (int i = 0; i < reader->count; i++)
        zip_stream_close(reader->arrays[i].stream);
    zip_close(reader->archive);
    free(reader->arrays);
    free(reader->step);
    free(reader);
}

static struct status npz_open(const char *path, const struct record_options *options,
                              const struct columns *columns, struct record_reader **out)
{
    struct npz_reader *reader = zalloc(sizeof *reader);
    struct status status;

    (void)options;
    reader->arrays = zalloc(((size_t)columns->count + 1) * sizeof *reader->arrays);
    reader->step = zalloc(STEP_BYTES);
    TRY_OR(fail, zip_open(path, &reader->archive));
    for (int i = 0; i < columns->count; i++)
        TRY_OR(fail, add_array(reader, &columns->list[i]));
    *out = &reader->reader;
    return status_ok();

fail:
    npz_close(&reader->reader);
    return status;
}

/* ---- the rows ---- */

#define CONVERT(dtype, type)                                     \
    case dtype:                                                  \
        for (size_t i = 0; i < count; i++) {                     \
            type value;                                          \
            memcpy(&value, in + i * sizeof value, sizeof value); \
            out[i] = (__typeof__(*out))value;                    \
        }                                                        \
        break;

static void convert_to_floats(enum dtype dtype, const char *in, size_t count, float *out)
{
    switch ((int)dtype) {
    case DT_HALF:
        for (size_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, in + i * sizeof half, sizeof half);
            out[i] = half_to_float(half);
        }
        break;
        CONVERT(DT_DOUBLE, double)
        CONVERT(DT_BOOL, uint8_t)
        CONVERT(DT_INT8, int8_t)
        CONVERT(DT_INT16, int16_t)
        CONVERT(DT_INT32, int32_t)
        CONVERT(DT_INT64, int64_t)
        CONVERT(DT_UINT8, uint8_t)
        CONVERT(DT_UINT16, uint16_t)
        CONVERT(DT_UINT32, uint32_t)
    }
}

static void convert_to_ints(enum dtype dtype, const char *in, size_t count, int64_t *out)
{
    switch ((int)dtype) {
        CONVERT(DT_BOOL, uint8_t)
        CONVERT(DT_INT8, int8_t)
        CONVERT(DT_INT16, int16_t)
        CONVERT(DT_INT32, int32_t)
        CONVERT(DT_UINT8, uint8_t)
        CONVERT(DT_UINT16, uint16_t)
        CONVERT(DT_UINT32, uint32_t)
    }
}

/* Does the file have the column's representation, so that bytes can be copied? */
static bool has_same_bits(const struct npz_array *array, const struct column *column)
{
    return column->kind == COLUMN_FLOAT ? array->dtype == DT_FLOAT : array->dtype == DT_INT64;
}

static struct status read_values(struct npz_reader *reader, const struct npz_array *array,
                                 size_t count, struct column *column)
{
    size_t size = dtype_size(array->dtype);

    column_reserve(column, count);
    if (has_same_bits(array, column)) {
        char *out = column->kind == COLUMN_FLOAT ? (char *)(column->floats + column->count)
                                                 : (char *)(column->ints + column->count);
        TRY(zip_stream_read(array->stream, out, count * size));
        column->count += count;
        return status_ok();
    }
    for (size_t left = count, step; left > 0; left -= step) {
        step = left < STEP_BYTES / size ? left : STEP_BYTES / size;
        TRY(zip_stream_read(array->stream, reader->step, step * size));
        if (column->kind == COLUMN_FLOAT)
            convert_to_floats(array->dtype, reader->step, step, column->floats + column->count);
        else
            convert_to_ints(array->dtype, reader->step, step, column->ints + column->count);
        column->count += step;
    }
    return status_ok();
}

/* Ends `count` rows, whose values were added column by column. */
static void end_rows(const struct npz_reader *reader, struct columns *columns, size_t count)
{
    size_t first = columns->rows;

    for (size_t i = 0; i < count; i++)
        columns_end_row(columns);
    for (int c = 0; c < columns->count; c++) {
        struct column *column = &columns->list[c];
        size_t width = (size_t)reader->arrays[c].width, begin = column_begin(column, first);
        for (size_t i = 0; i < count; i++)
            column->ends[first + i] = begin + (i + 1) * width;
    }
}

static struct status npz_read(struct record_reader *base, size_t rows_max, struct columns *columns,
                              struct status *bad)
{
    struct npz_reader *reader = reader_of(base);
    size_t left = (size_t)(reader->rows - reader->at), count = left < rows_max ? left : rows_max;

    (void)bad;
    for (int i = 0; i < columns->count; i++)
        TRY(status_in(read_values(reader, &reader->arrays[i],
                                  count * (size_t)reader->arrays[i].width, &columns->list[i]),
                      "row %lld and following", (long long)reader->at));
    reader->at += (int64_t)count;
    base->place = (uint64_t)(count > 0 ? reader->at - 1 : reader->at);
    end_rows(reader, columns, count);
    return status_ok();
}

/* ---- the table's row ---- */

/* *readable is false for an array that is not rows of numbers; `notes` then names it. A damaged
 * array is an error: without its column, another model would be trained. */
static struct status list_array(const struct npz_reader *reader, const struct zip_member *member,
                                struct arena *arena, struct record_field *out, bool *readable,
                                struct buffer *notes)
{
    const char *name = arena_memdup(arena, member->name, strlen(member->name) - strlen(SUFFIX));
    struct npz_array array = { 0 };
    struct status status = open_array(reader, member, &array);

    zip_stream_close(array.stream);
    *readable = status_is_ok(status);
    *out = (struct record_field){
        .name = name,
        .kind = is_float(array.dtype) ? COLUMN_FLOAT : COLUMN_INT64,
        .shape = array.shape,
    };
    if (*readable)
        return status_ok();
    if (status.code == STATUS_DATA_LOSS)
        return status_in(status, "array '%s'", name);
    buffer_printf(notes, "array '%s' is left out: %s\n", name, status.message);
    return status_ok();
}

static bool is_array(const struct zip_member *member)
{
    size_t size = strlen(member->name), suffix = strlen(SUFFIX);

    return size >= suffix && strcmp(member->name + size - suffix, SUFFIX) == 0;
}

static struct status list_arrays(const struct npz_reader *reader, struct arena *arena,
                                 struct record_fields *out, struct buffer *notes)
{
    int members = zip_members_count(reader->archive), count = 0, arrays = 0;
    struct record_field *fields = ARENA_ARRAY(arena, struct record_field, members + 1);

    for (int i = 0; i < members; i++) {
        const struct zip_member *member = zip_member(reader->archive, i);
        bool readable = false;
        arrays += is_array(member);
        if (is_array(member))
            TRY(list_array(reader, member, arena, &fields[count], &readable, notes));
        count += readable;
    }
    if (arrays == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a ZIP archive without arrays, which are .npy files in it: unpack it");
    *out = (struct record_fields){
        .list = fields,
        .count = count,
        .notes = notes->size > 0 ? arena_memdup(arena, notes->data, notes->size) : NULL,
    };
    return status_ok();
}

static struct status npz_list(const char *path, const struct record_options *options,
                              struct arena *arena, struct record_fields *out)
{
    struct columns none = { 0 };
    struct record_reader *base;
    struct buffer notes = { 0 };

    TRY(npz_open(path, options, &none, &base));
    struct status status = list_arrays(reader_of(base), arena, out, &notes);
    buffer_finish(&notes);
    npz_close(base);
    return status;
}

static bool npz_recognises(struct bytes start)
{
    return start.size > 4 && memcmp(start.data, "PK\3\4", 4) == 0;
}

const struct record_format npz_format = { .name = "npz",
                                          .suffixes = ".npz",
                                          .recognises = npz_recognises,
                                          .open = npz_open,
                                          .read = npz_read,
                                          .close = npz_close,
                                          .place = "row",
                                          .list = npz_list };
