#include "trainer/data/file_split.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "trainer/data/file_source.h"

#define IDENTITY_BYTES ((size_t)64 << 10) /* of each end of a file */

/* Hashes a file's size, and its first and last bytes. */
static struct status hash_file(const char *path, uint32_t *crc)
{
    struct file_reader file;
    struct status status = status_ok();

    TRY(file_reader_open(path, &file));
    size_t size = file.size < IDENTITY_BYTES ? (size_t)file.size : IDENTITY_BYTES;
    char *bytes = zalloc(IDENTITY_BYTES);
    *crc = crc32c(*crc, &file.size, sizeof file.size);
    TRY_OR(done, file_reader_get(&file, 0, bytes, size));
    *crc = crc32c(*crc, bytes, size);
    TRY_OR(done, file_reader_get(&file, file.size - size, bytes, size));
    *crc = crc32c(*crc, bytes, size);
done:
    free(bytes);
    file_reader_close(&file);
    return status;
}

/* Hashes a file, and the one beside it that holds a part of its rows. */
static struct status hash_rows(const struct record_format *format, const char *path, uint32_t *crc)
{
    struct status status = hash_file(path, crc);

    if (!status_is_ok(status) || format->beside == NULL)
        return status;
    struct arena *arena = arena_create(0);
    const char *other = format->beside(path, arena);
    if (other != NULL)
        status = hash_file(other, crc);
    struct status held = status_hold(status);
    arena_destroy(arena);
    return status_resume(held);
}

/* Hashes the columns and their conversions. */
static uint32_t hash_layout(const struct row_layout *layout, uint32_t crc)
{
    for (int t = 0; t < layout->count; t++)
        for (int p = 0; p < layout->tensors[t].parts_count; p++) {
            const struct schema_column *from = layout->tensors[t].parts[p].from;
            const double numbers[] = { from->has_default,
                                       from->default_value,
                                       from->mean,
                                       from->stddev,
                                       from->log,
                                       (double)from->first_index,
                                       (double)from->hash_buckets,
                                       layout->tensors[t].column.spec.layout };
            crc = crc32c(crc, from->name, strlen(from->name) + 1);
            crc = crc32c(crc, numbers, sizeof numbers);
            crc = crc32c(crc, from->boundaries,
                         (size_t)from->boundaries_count * sizeof *from->boundaries);
            crc = crc32c(crc, from->default_text.data, from->default_text.size);
            for (int i = 0; i < from->classes_count; i++)
                crc = crc32c(crc, from->classes[i].data, from->classes[i].size + 1);
        }
    return crc;
}

static struct status file_split_identify(const struct data_split *base, struct buffer *out)
{
    const struct file_split *split = (const struct file_split *)base;
    const struct file_split_options *options = &split->options;
    const struct record_options *records = &options->records;
    uint32_t crc = crc32c(0, records->na_value.data, records->na_value.size);

    if (records->skip_lines > 0)
        crc = crc32c(crc, &records->skip_lines, sizeof records->skip_lines);
    crc = hash_layout(&options->layout, crc);

    for (int i = 0; i < options->paths_count; i++)
        TRY(hash_rows(split->formats[i], options->paths[i], &crc));
    buffer_printf(out, "files=%d,shuffle_buffer=%u,crc32c=%08x", options->paths_count,
                  options->shuffle_buffer, crc);
    return status_ok();
}

/* csv takes a file without a byte, whose format cannot be told, as one without rows. */
static struct status find_format(const struct file_split_options *options, const char *path,
                                 const struct record_format **out)
{
    *out = options->format;
    if (*out != NULL)
        return status_ok();
    struct status status = record_format_detect(path, &options->records, out);
    if (status_is_ok(status) || !record_format_is_empty(path))
        return status;
    *out = record_format_find("csv");
    return status_ok();
}

static struct status find_formats(struct file_split *split)
{
    for (int i = 0; i < split->options.paths_count; i++)
        TRY(find_format(&split->options, split->options.paths[i], &split->formats[i]));
    return status_ok();
}

/* Opens each file once, because a missing column is better reported now than in an hour. */
static struct status try_files(struct file_split *split)
{
    const struct row_layout *layout = &split->options.layout;
    struct status status = status_ok();
    struct columns columns;

    columns_init(&columns, layout->specs, layout->specs_count);
    for (int i = 0; i < split->options.paths_count && status_is_ok(status); i++) {
        struct record_reader *reader = NULL;
        status = record_reader_open(split->options.paths[i], split->formats[i],
                                    &split->options.records, &columns, &reader);
        record_reader_close(status_is_ok(status) ? reader : NULL);
    }
    columns_finish(&columns);
    return status;
}

#define SHARE_BLOCKS 4 /* so that little is wasted when only a part of one is used */

struct status file_split_create(const struct file_split_options *options, struct data_split **out)
{
    struct file_split *split = zalloc(sizeof *split);
    struct status status;

    assert(options->paths_count > 0);
    split->options = *options;
    kept_blocks_init(&split->kept, (size_t)file_source_block_rows(options),
                     options->kept_bytes_max);
    split->formats = zalloc((size_t)options->paths_count * sizeof *split->formats);
    split->marks = zalloc((size_t)options->paths_count * sizeof *split->marks);
    split->sizes = zalloc((size_t)options->paths_count * sizeof *split->sizes);
    split->records_seen = zalloc((size_t)options->paths_count * sizeof *split->records_seen);
    split->columns = zalloc((size_t)options->layout.count * sizeof *split->columns);
    for (int t = 0; t < options->layout.count; t++)
        split->columns[t] = options->layout.tensors[t].column;
    split->split =
        (struct data_split){ .columns = split->columns,
                             .columns_count = options->layout.count,
                             .rows = ROWS_UNKNOWN,
                             .share_rows = SHARE_BLOCKS * file_source_block_rows(options),
                             .open = file_source_open,
                             .identify = file_split_identify,
                             .locate = file_source_locate };
    TRY_OR(fail, find_formats(split));
    TRY_OR(fail, try_files(split));
    *out = &split->split;
    return status_ok();

fail:
    file_split_destroy(&split->split);
    return status;
}

void file_split_destroy(struct data_split *base)
{
    struct file_split *split = (struct file_split *)base;

    if (split == NULL)
        return;
    for (int i = 0; i < split->options.paths_count; i++)
        record_marks_finish(&split->marks[i]);
    kept_blocks_finish(&split->kept);
    free(split->marks);
    free(split->formats);
    free(split->sizes);
    free(split->records_seen);
    free(split->columns);
    free(split);
}

int64_t file_split_bad_records(const struct data_split *base)
{
    return atomic_load(&((const struct file_split *)base)->bad);
}

struct status file_split_count(struct data_split *split)
{
    int64_t rows;

    split->rows = ROWS_UNKNOWN;
    TRY(file_source_count_rows(split, &rows));
    split->rows = rows;
    return status_ok();
}

struct status file_split_check_records(const struct data_split *split)
{
    return file_source_check_records(split);
}
