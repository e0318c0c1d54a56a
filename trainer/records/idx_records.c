#include "trainer/records/idx_records.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "base/file.h"
#include "storage/gzip_file.h"
#include "trainer/records/idx.h"

#define ROW_BYTES_MAX ((uint64_t)64 << 20)

enum idx_field { IDX_IMAGE, IDX_LABEL, IDX_FIELDS };

/* Without their shapes, which the files have. */
static const struct record_field fields[IDX_FIELDS] = {
    [IDX_IMAGE] = { .name = "image", .kind = COLUMN_FLOAT },
    [IDX_LABEL] = { .name = "label", .kind = COLUMN_INT64 },
};

/* One of the two files. */
struct idx_stream {
    char *path; /* NULL: not open */
    struct file_reader file;
    struct gzip_file *gzip; /* NULL: the file is not compressed */
    struct idx header;
    size_t header_bytes;
    size_t width; /* bytes of a row */
    uint8_t *row; /* [width] */
};

struct idx_reader {
    struct record_reader reader;
    struct idx_stream streams[IDX_FIELDS];
    int targets[IDX_FIELDS]; /* the column of each, or -1 */
    uint64_t at;             /* the next row */
};

static struct idx_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct idx_reader, reader);
}

static uint64_t rows_of(const struct idx_reader *reader)
{
    return reader->streams[IDX_IMAGE].header.dims[0];
}

/* ---- a file ---- */

static void close_stream(struct idx_stream *stream)
{
    file_reader_close(&stream->file);
    gzip_file_close(stream->gzip);
    free(stream->path);
    free(stream->row);
    *stream = (struct idx_stream){ 0 };
}

/* Reads up to `size` bytes: at `offset`, or of a compressed file the next ones. */
static struct status get_bytes(const struct idx_stream *stream, uint64_t offset, void *data,
                               size_t size, size_t *got)
{
    if (stream->gzip != NULL)
        return gzip_file_get(stream->gzip, data, size, got);
    *got = offset >= stream->file.size         ? 0
           : size < stream->file.size - offset ? size
                                               : (size_t)(stream->file.size - offset);
    return file_reader_get(&stream->file, offset, data, *got);
}

static struct status read_header(struct idx_stream *stream)
{
    char start[IDX_HEADER_BYTES_MAX];
    struct idx *header = &stream->header;
    uint64_t data_bytes;
    size_t got, more = 0;

    TRY(get_bytes(stream, 0, start, 4, &got));
    size_t rank = got == 4 && (uint8_t)start[3] <= IDX_RANK_MAX ? (uint8_t)start[3] : 0;
    if (rank > 0)
        TRY(get_bytes(stream, 4, start + 4, 4 * rank, &more));
    TRY(idx_read_header((struct bytes){ start, got + more }, header, &stream->header_bytes,
                        &data_bytes));
    stream->width = 1;
    for (int i = 1; i < header->rank; i++)
        if (__builtin_mul_overflow(stream->width, header->dims[i], &stream->width) ||
            stream->width > ROW_BYTES_MAX)
            return status_error(STATUS_RESOURCE_EXHAUSTED, "a row has more than %llu MiB",
                                (unsigned long long)ROW_BYTES_MAX >> 20);
    if (stream->width == 0)
        return status_error(STATUS_DATA_LOSS, "rows without values");
    if (stream->gzip == NULL && stream->file.size - stream->header_bytes != data_bytes)
        return status_error(STATUS_DATA_LOSS, "IDX data has %llu bytes, its dimensions say %llu",
                            (unsigned long long)(stream->file.size - stream->header_bytes),
                            (unsigned long long)data_bytes);
    stream->row = zalloc(stream->width);
    return status_ok();
}

static struct status open_stream(const char *path, struct idx_stream *stream)
{
    char start[2] = "";

    stream->path = xstrdup(path);
    TRY(file_reader_open(path, &stream->file));
    if (stream->file.size >= sizeof start)
        TRY(file_reader_get(&stream->file, 0, start, sizeof start));
    if (gzip_begins(start, sizeof start))
        TRY(gzip_file_open(path, &stream->gzip));
    return read_header(stream);
}

/* Nothing follows the last row. Of a compressed file, its size does not tell that, and its checksum
 * may not have been read yet. */
static struct status check_end(const struct idx_stream *stream)
{
    char more;
    size_t got = 0;

    if (stream->gzip != NULL)
        TRY(gzip_file_get(stream->gzip, &more, 1, &got));
    return got == 0 ? status_ok()
                    : status_error(STATUS_DATA_LOSS,
                                   "'%s': more IDX data than the %u rows of its header",
                                   stream->path, stream->header.dims[0]);
}

static struct status read_row(struct idx_stream *stream, uint64_t row)
{
    size_t got;

    TRY(get_bytes(stream, stream->header_bytes + row * stream->width, stream->row, stream->width,
                  &got));
    if (got < stream->width)
        return status_error(STATUS_DATA_LOSS, "'%s': cut short in row %llu of %u", stream->path,
                            (unsigned long long)row, stream->header.dims[0]);
    return row + 1 == stream->header.dims[0] ? check_end(stream) : status_ok();
}

/* ---- the file of the labels ---- */

/* `text` with the last `old` in its file name replaced; NULL: it has none. */
static char *replace_in_name(struct arena *arena, const char *text, const char *old,
                             const char *fresh)
{
    const char *slash = strrchr(text, '/'), *found = NULL;

    for (const char *at = slash != NULL ? slash : text; (at = strstr(at, old)) != NULL; at++)
        found = at;
    return found == NULL ? NULL
                         : arena_printf(arena, "%.*s%s%s", (int)(found - text), text, fresh,
                                        found + strlen(old));
}

/* The path of the labels of the images at `path`; NULL: no such file. */
static const char *find_labels(const char *path, struct arena *arena)
{
    const char *labels = replace_in_name(arena, path, "images", "labels");
    if (labels == NULL)
        return NULL;
    const char *flat = replace_in_name(arena, labels, "idx3", "idx1");
    labels = flat != NULL ? flat : labels;
    if (file_exists(labels))
        return labels;
    size_t size = strlen(labels);
    bool zipped = size > 3 && strcmp(labels + size - 3, ".gz") == 0;
    const char *other = zipped ? arena_printf(arena, "%.*s", (int)size - 3, labels)
                               : arena_printf(arena, "%s.gz", labels);
    return file_exists(other) ? other : NULL;
}

/* Opens the labels, if there are any. */
static struct status open_labels(const char *path, struct idx_reader *reader)
{
    struct idx_stream *labels = &reader->streams[IDX_LABEL];
    struct arena *arena = arena_create(0);
    const char *found = find_labels(path, arena);
    struct status status = status_ok();

    if (found != NULL)
        status = status_in(open_stream(found, labels), "'%s'", found);
    arena_destroy(arena);
    TRY(status);
    if (labels->path == NULL)
        return status_ok();
    if (labels->header.rank != 1)
        return status_error(STATUS_DATA_LOSS, "'%s' has IDX rank %d, and labels have rank 1",
                            labels->path, labels->header.rank);
    if (labels->header.dims[0] != rows_of(reader))
        return status_error(STATUS_DATA_LOSS, "%llu images, but %u labels in '%s'",
                            (unsigned long long)rows_of(reader), labels->header.dims[0],
                            labels->path);
    return status_ok();
}

/* ---- the reader ---- */

static void close_images(struct record_reader *base)
{
    struct idx_reader *reader = reader_of(base);

    for (int i = 0; i < IDX_FIELDS; i++)
        close_stream(&reader->streams[i]);
    free(reader);
}

/* Opens both files, for any columns. */
static struct status open_files(const char *path, struct idx_reader **out)
{
    struct idx_reader *reader = zalloc(sizeof *reader);
    struct idx_stream *images = &reader->streams[IDX_IMAGE];
    struct status status;

    TRY_OR(fail, open_stream(path, images));
    if (images->header.rank == 1)
        TRY_OR(fail, status_error(STATUS_INVALID_ARGUMENT,
                                  "a file of one number per row, as of labels: name only files of "
                                  "images, such as '*images*'; the labels beside them are read as "
                                  "well"));
    TRY_OR(fail, open_labels(path, reader));
    *out = reader;
    return status_ok();

fail:
    close_images(&reader->reader);
    return status;
}

static struct status find_target(struct idx_reader *reader, const struct columns *columns,
                                 int place)
{
    const struct column *column = &columns->list[place];
    const struct record_field *field = record_field_find(fields, IDX_FIELDS, column->name);

    if (field == NULL || reader->streams[field - fields].path == NULL ||
        column->kind == COLUMN_BYTES)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no column '%s' of this type: IDX files have 'image' and, if the file "
                            "of the labels is beside it, 'label', of numbers",
                            column->name);
    reader->targets[field - fields] = place;
    return status_ok();
}

static struct status open_images(const char *path, const struct record_options *options,
                                 const struct columns *columns, struct record_reader **out)
{
    struct idx_reader *reader;
    struct status status = status_ok();

    (void)options;
    TRY(open_files(path, &reader));
    for (int i = 0; i < IDX_FIELDS; i++)
        reader->targets[i] = -1;
    for (int i = 0; i < columns->count && status_is_ok(status); i++)
        status = find_target(reader, columns, i);
    if (!status_is_ok(status)) {
        close_images(&reader->reader);
        return status;
    }
    *out = &reader->reader;
    return status_ok();
}

static void add_values(const uint8_t *values, size_t count, struct column *column)
{
    column_reserve(column, count);
    for (size_t i = 0; i < count; i++)
        if (column->kind == COLUMN_FLOAT)
            column->floats[column->count + i] = values[i];
        else
            column->ints[column->count + i] = values[i];
    column->count += count;
}

/* Reads the row of the fields that have a column. */
static struct status read_images(struct record_reader *base, size_t rows_max,
                                 struct columns *columns, struct status *bad)
{
    struct idx_reader *reader = reader_of(base);

    (void)bad;
    for (size_t i = 0; i < rows_max && reader->at < rows_of(reader); i++) {
        for (int field = 0; field < IDX_FIELDS; field++) {
            struct idx_stream *stream = &reader->streams[field];
            if (reader->targets[field] < 0)
                continue;
            TRY(read_row(stream, reader->at));
            add_values(stream->row, stream->width, &columns->list[reader->targets[field]]);
        }
        base->place = reader->at++;
        columns_end_row(columns);
    }
    return status_ok();
}

static struct status skip_image(struct record_reader *base, bool *found)
{
    struct idx_reader *reader = reader_of(base);

    *found = reader->at < rows_of(reader);
    for (int field = 0; field < IDX_FIELDS && *found; field++)
        if (reader->targets[field] >= 0 && reader->streams[field].gzip != NULL)
            TRY(read_row(&reader->streams[field], reader->at));
    reader->at += *found;
    base->skipped_bytes = reader->streams[IDX_IMAGE].width;
    return status_ok();
}

static bool tell_image(const struct record_reader *base, struct record_mark *out)
{
    const struct idx_reader *reader = CONTAINER_OF(base, const struct idx_reader, reader);

    out->place = out->offset = reader->at;
    return reader->streams[IDX_IMAGE].gzip == NULL && reader->streams[IDX_LABEL].gzip == NULL;
}

static struct status go_to_image(struct record_reader *base, const struct record_mark *mark)
{
    struct idx_reader *reader = reader_of(base);

    if (mark->offset > rows_of(reader))
        return status_error(STATUS_DATA_LOSS, "the file has changed: it had more than %llu rows",
                            (unsigned long long)rows_of(reader));
    reader->at = mark->offset;
    return status_ok();
}

/* ---- the table's row ---- */

static struct status list_fields(const char *path, const struct record_options *options,
                                 struct arena *arena, struct record_fields *out)
{
    struct record_field *list = ARENA_ARRAY(arena, struct record_field, IDX_FIELDS);
    struct idx_reader *reader;

    (void)options;
    TRY(open_files(path, &reader));
    *out = (struct record_fields){ .list = list };
    for (int i = 0; i < IDX_FIELDS; i++) {
        const struct idx *header = &reader->streams[i].header;
        if (reader->streams[i].path == NULL)
            continue;
        struct record_field *field = &list[out->count++];
        *field = fields[i];
        field->shape.rank = header->rank - 1;
        for (int d = 1; d < header->rank; d++)
            field->shape.dims[d - 1] = header->dims[d];
    }
    close_images(&reader->reader);
    return status_ok();
}

static bool idx_recognises(struct bytes start)
{
    return start.size > 4 && memcmp(start.data, "\0\0\x08", 3) == 0 && start.data[3] >= 1 &&
           start.data[3] <= IDX_RANK_MAX;
}

const struct record_format idx_format = { .name = "idx",
                                          .suffixes = "idx3-ubyte idx1-ubyte",
                                          .recognises = idx_recognises,
                                          .open = open_images,
                                          .read = read_images,
                                          .skip = skip_image,
                                          .tell = tell_image,
                                          .go_to = go_to_image,
                                          .close = close_images,
                                          .beside = find_labels,
                                          .place = "row",
                                          .list = list_fields };
