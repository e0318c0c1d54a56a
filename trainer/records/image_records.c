#include "trainer/records/image_records.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "base/file.h"
#include "image/image.h"
#include "trainer/records/image.h"

#define FILE_BYTES_MAX ((size_t)64 << 20)

enum image_field { IMAGE_PIXELS, IMAGE_LABEL, IMAGE_FIELDS };

static const struct record_field fields[IMAGE_FIELDS] = {
    [IMAGE_PIXELS] = { .name = "image", .kind = COLUMN_FLOAT },
    [IMAGE_LABEL] = { .name = FOLDER_LABEL, .kind = COLUMN_BYTES },
};

struct image_reader {
    struct record_reader reader;
    const char *file;
    struct bytes label;
    int64_t height, width;
    int channels;
    int targets[IMAGE_FIELDS]; /* the column of each, or -1 */
    bool ended;
};

static struct image_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct image_reader, reader);
}

static struct status add_pixels(const struct image_reader *reader, struct column *column)
{
    struct buffer file = { 0 };
    struct picture image = { 0 };
    size_t size = (size_t)(reader->height * reader->width) * (size_t)reader->channels;
    struct status status = file_read(reader->file, FILE_BYTES_MAX, &file);

    if (status_is_ok(status))
        status = image_decode((struct bytes){ file.data, file.size }, reader->channels, &image);
    if (status_is_ok(status)) {
        column_reserve(column, size);
        image_resize(&image, reader->height, reader->width, column->floats + column->count);
        column->count += size;
    }
    image_finish(&image);
    buffer_finish(&file);
    return status;
}

static struct status image_read(struct record_reader *base, size_t rows_max,
                                struct columns *columns, struct status *bad)
{
    struct image_reader *reader = reader_of(base);
    const int *targets = reader->targets;

    if (reader->ended || rows_max == 0)
        return status_ok();
    reader->ended = true;
    if (targets[IMAGE_PIXELS] >= 0)
        *bad = add_pixels(reader, &columns->list[targets[IMAGE_PIXELS]]);
    if (!status_is_ok(*bad)) {
        columns_drop_row(columns);
        return status_ok();
    }
    if (targets[IMAGE_LABEL] >= 0)
        column_add_bytes(&columns->list[targets[IMAGE_LABEL]], reader->label);
    columns_end_row(columns);
    return status_ok();
}

static struct status image_skip(struct record_reader *base, bool *found)
{
    struct image_reader *reader = reader_of(base);

    *found = !reader->ended;
    reader->ended = true;
    return status_ok();
}

static void image_close(struct record_reader *base)
{
    free(reader_of(base));
}

static struct status find_target(struct image_reader *reader, const struct columns *columns,
                                 int place)
{
    const struct column *column = &columns->list[place];
    const struct record_field *field = record_field_find(fields, IMAGE_FIELDS, column->name);

    if (field == NULL || field->kind != column->kind)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no column '%s' of this type: a file of an image has 'image', of "
                            "float32, and 'label', of string",
                            column->name);
    reader->targets[field - fields] = place;
    return status_ok();
}

static struct status check_size(const struct record_options *options)
{
    int channels = options->image_channels;

    if (options->image_height <= 0 || options->image_width <= 0 || channels <= 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's input must have the shape [rows, height, width, channels] "
                            "of an image");
    if (channels == 1 || channels == 3 || channels == 4)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the model takes images of %d channels; expected 1, 3 or 4", channels);
}

static struct status image_open(const char *path, const struct record_options *options,
                                const struct columns *columns, struct record_reader **out)
{
    TRY(check_size(options));
    struct image_reader *reader = zalloc(sizeof *reader);
    struct status status = status_ok();

    *reader = (struct image_reader){ .file = path,
                                     .label = folder_label(path, options),
                                     .height = options->image_height,
                                     .width = options->image_width,
                                     .channels = options->image_channels,
                                     .targets = { -1, -1 } };
    for (int i = 0; i < columns->count && status_is_ok(status); i++)
        status = find_target(reader, columns, i);
    if (!status_is_ok(status)) {
        free(reader);
        return status;
    }
    *out = &reader->reader;
    return status_ok();
}

static struct status image_list(const char *path, const struct record_options *options,
                                struct arena *arena, struct record_fields *out)
{
    (void)path, (void)options, (void)arena;
    *out = (struct record_fields){ .list = fields, .count = IMAGE_FIELDS };
    return status_ok();
}

static bool image_recognises(struct bytes start)
{
    enum image_format format = image_format_of(start);
    return format == IMAGE_JPEG || format == IMAGE_PNG;
}

const struct record_format image_format = { .name = "image",
                                            .suffixes = ".jpg .jpeg .png .JPG .JPEG .PNG",
                                            .recognises = image_recognises,
                                            .in_folders = true,
                                            .open = image_open,
                                            .read = image_read,
                                            .skip = image_skip,
                                            .close = image_close,
                                            .place = "image",
                                            .list = image_list };

void image_schema(const char *const *paths, int count, const struct record_options *options,
                  struct arena *arena, struct schema *out)
{
    const struct schema_column pixels = { .name = fields[IMAGE_PIXELS].name,
                                          .dtype = COLUMN_FLOAT,
                                          .width = options->image_height * options->image_width *
                                                   options->image_channels,
                                          .stddev = 1 };

    folder_schema(paths, count, options, &pixels, arena, out);
}
