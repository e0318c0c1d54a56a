/*
 * Datasets of the contents of files: lines, TFRecords, and records of one length. A file is read as
 * a whole when its first element is requested, and stays in the run's memory, where its elements
 * point to: a second walk over the dataset reads nothing.
 */
#include "runtime/kernels/data/dataset_files.h"

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/read_file.h"
#include "storage/tfrecord.h"

/* ---- what they have in common ---- */

const struct tensor *filenames_of(const struct run_dataset *dataset)
{
    return &dataset->inputs[0];
}

struct status files_check(struct kernel_context *k, struct run_dataset *dataset, int compression,
                          bool must_be_known)
{
    struct file_contents *files = dataset->state;
    const struct tensor *names = filenames_of(dataset);
    if (names->shape.rank > 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "`filenames` must be a scalar or a vector.");
    if (compression >= 0) {
        const struct tensor *name = &dataset->inputs[compression];
        if (name->shape.rank != 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "compression_type must be a scalar");
        if (!compression_parse(tensor_strings(name)[0], &files->compression) && must_be_known)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Unsupported compression_type.");
    }
    void *memory;
    TRY(arena_reserve(kernel_arena(k),
                      (size_t)names->size * (sizeof *files->contents + sizeof *files->is_read) + 1,
                      &memory));
    files->contents = memory;
    files->is_read = (bool *)(files->contents + names->size);
    for (int64_t i = 0; i < names->size; i++)
        files->is_read[i] = false;
    return status_ok();
}

/* TensorFlow skips each carriage return, wherever it is. */
static void drop_carriage_returns(struct bytes *content)
{
    char *text = (char *)content->data; /* ours: files_content made it */
    size_t kept = 0;
    for (size_t i = 0; i < content->size; i++)
        if (text[i] != '\r')
            text[kept++] = text[i];
    content->size = kept;
}

struct status files_content(struct kernel_context *k, const struct run_dataset *dataset,
                            int64_t file, bool of_lines, struct bytes *out)
{
    struct file_contents *files = dataset->state;
    if (!files->is_read[file]) {
        struct bytes stored, *content = &files->contents[file];
        TRY(read_model_file(k, tensor_strings(filenames_of(dataset))[file], &stored));
        TRY(decompress(k, files->compression, stored, content));
        if (of_lines)
            drop_carriage_returns(content);
        files->is_read[file] = true;
    }
    *out = files->contents[file];
    return status_ok();
}

static struct status text_element(struct kernel_context *k, struct bytes text,
                                  struct tensor *element)
{
    struct shape scalar = shape_scalar();
    TRY(kernel_scratch(k, DT_STRING, &scalar, element));
    tensor_strings_mut(element)[0] = text;
    return status_ok();
}

/* Takes the next record of a file from *at on. *found is false after the last one. */
typedef struct status take_record(struct kernel_context *k, const struct run_dataset *dataset,
                                  struct bytes content, int64_t file, uint64_t *at,
                                  struct bytes *record, bool *found);

struct file_format {
    bool of_lines;
    /* The offset of the first record of a file; NULL: 0. */
    uint64_t (*start)(const struct run_dataset *dataset, int64_t file);
    take_record *take;
};

static struct status next_record(struct kernel_context *k, struct iterator *iterator,
                                 const struct file_format *format, struct tensor *element,
                                 bool *end)
{
    struct file_place *place = iterator->state;
    const struct run_dataset *dataset = iterator->dataset;
    for (; place->file < filenames_of(dataset)->size; place->file++, place->is_open = false) {
        struct bytes content, record;
        bool found;
        TRY(kernel_check(k));
        TRY(files_content(k, dataset, place->file, format->of_lines, &content));
        if (!place->is_open)
            place->at = format->start != NULL ? format->start(dataset, place->file) : 0;
        place->is_open = true;
        TRY(format->take(k, dataset, content, place->file, &place->at, &record, &found));
        if (!found)
            continue;
        *end = false;
        return text_element(k, record, element);
    }
    *end = true;
    return status_ok();
}

/* ---- TextLineDataset ---- */

static struct status lines_check(struct kernel_context *k, struct run_dataset *dataset)
{
    TRY(files_check(k, dataset, 1, true));
    TRY(dataset_check_number(k, dataset, 2, "buffer_size", INT64_MIN));
    if (dataset_number(dataset, 2) < 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "`buffer_size` must be >= 0 (0 == default)");
    return status_ok();
}

static struct status take_line(struct kernel_context *k, const struct run_dataset *dataset,
                               struct bytes content, int64_t file, uint64_t *at,
                               struct bytes *record, bool *found)
{
    (void)k;
    (void)dataset;
    (void)file;
    *found = *at < content.size;
    if (!*found)
        return status_ok();
    const char *start = content.data + *at;
    size_t left = content.size - (size_t)*at;
    const char *stop = memchr(start, '\n', left);
    *record = (struct bytes){ start, stop != NULL ? (size_t)(stop - start) : left };
    *at += record->size + (stop != NULL);
    return status_ok();
}

static struct status lines_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    static const struct file_format format = { .of_lines = true, .take = take_line };
    return next_record(k, iterator, &format, element, end);
}

/* ---- TFRecordDataset ---- */

static struct status tfrecords_check(struct kernel_context *k, struct run_dataset *dataset)
{
    TRY(files_check(k, dataset, 1, false));
    TRY(dataset_check_number(k, dataset, 2, "buffer_size", INT64_MIN));
    if (dataset->inputs_count < 4 || dataset->inputs[3].size == 0)
        return status_ok();
    const struct tensor *offsets = &dataset->inputs[3];
    if (offsets->shape.rank > 1 || offsets->size != filenames_of(dataset)->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "`byte_offsets` must be a vector of one number for each of "
                            "`filenames`, not of shape %s",
                            shape_text(&offsets->shape));
    for (int64_t i = 0; i < offsets->size; i++)
        if (tensor_int64s(offsets)[i] < 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "`byte_offsets` must be >= 0");
    return status_ok();
}

static struct status take_tfrecord(struct kernel_context *k, const struct run_dataset *dataset,
                                   struct bytes content, int64_t file, uint64_t *at,
                                   struct bytes *record, bool *found)
{
    struct bytes name = tensor_strings(filenames_of(dataset))[file];
    const char *path = arena_memdup(kernel_arena(k), name.data, name.size);
    return tfrecord_take(content, path, at, record, found);
}

static uint64_t tfrecords_start(const struct run_dataset *dataset, int64_t file)
{
    bool is_given = dataset->inputs_count > 3 && dataset->inputs[3].size > file;
    return is_given ? (uint64_t)tensor_int64s(&dataset->inputs[3])[file] : 0;
}

static struct status tfrecords_next(struct kernel_context *k, struct iterator *iterator,
                                    struct tensor *element, bool *end)
{
    static const struct file_format format = { .start = tfrecords_start, .take = take_tfrecord };
    return next_record(k, iterator, &format, element, end);
}

/* ---- FixedLengthRecordDataset ---- */

static struct status fixed_check(struct kernel_context *k, struct run_dataset *dataset)
{
    static const char *const names[] = { "header_bytes", "record_bytes", "footer_bytes",
                                         "buffer_size" };
    TRY(files_check(k, dataset, dataset->inputs_count > 5 ? 5 : -1, true));
    for (int i = 0; i < 4; i++) {
        TRY(dataset_check_number(k, dataset, 1 + i, names[i], INT64_MIN));
        bool is_record = i == 1;
        if (dataset_number(dataset, 1 + i) < is_record)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "`%s` must be %s 0", names[i],
                                is_record ? ">" : ">=");
    }
    return status_ok();
}

/* A compressed file gives its whole records before the error. */
static struct status check_body(struct kernel_context *k, const struct run_dataset *dataset,
                                int64_t file, int64_t body, uint64_t at)
{
    const struct file_contents *files = dataset->state;
    int64_t header = dataset_number(dataset, 1), size = dataset_number(dataset, 2),
            footer = dataset_number(dataset, 3);
    bool is_compressed = files->compression != COMPRESSION_NONE;
    if (body % size == 0 || (is_compressed && (int64_t)at + size <= header + body))
        return status_ok();
    struct bytes name = tensor_strings(filenames_of(dataset))[file];
    return kernel_error(k, is_compressed ? STATUS_DATA_LOSS : STATUS_INVALID_ARGUMENT,
                        "Excluding the header (%lld bytes) and footer (%lld bytes), input file "
                        "\"%.*s\" has body length %lld bytes, which is not an exact multiple of "
                        "the record length (%lld bytes).",
                        (long long)header, (long long)footer, (int)name.size, name.data,
                        (long long)body, (long long)size);
}

static struct status take_fixed(struct kernel_context *k, const struct run_dataset *dataset,
                                struct bytes content, int64_t file, uint64_t *at,
                                struct bytes *record, bool *found)
{
    int64_t size = dataset_number(dataset, 2), body;
    *found = false;
    if (__builtin_sub_overflow((int64_t)content.size, dataset_number(dataset, 1), &body) ||
        __builtin_sub_overflow(body, dataset_number(dataset, 3), &body) || body <= 0)
        return status_ok();
    TRY(check_body(k, dataset, file, body, *at));
    uint64_t end = (uint64_t)dataset_number(dataset, 1) + (uint64_t)body;
    *found = *at < end;
    if (!*found)
        return status_ok();
    *record = (struct bytes){ content.data + *at, (size_t)size };
    *at += (uint64_t)size;
    return status_ok();
}

static uint64_t fixed_start(const struct run_dataset *dataset, int64_t file)
{
    (void)file;
    return (uint64_t)dataset_number(dataset, 1);
}

static struct status fixed_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    static const struct file_format format = { .start = fixed_start, .take = take_fixed };
    return next_record(k, iterator, &format, element, end);
}

#define FILES(op, check, next)                                              \
    DATASET(op, check, next, .dataset_bytes = sizeof(struct file_contents), \
            .iterator_bytes = sizeof(struct file_place))
static const struct kernel rows[] = {
    FILES("TextLineDataset", lines_check, lines_next),
    FILES("TFRecordDataset", tfrecords_check, tfrecords_next),
    FILES("TFRecordDatasetV2", tfrecords_check, tfrecords_next),
    FILES("FixedLengthRecordDataset", fixed_check, fixed_next),
    FILES("FixedLengthRecordDatasetV2", fixed_check, fixed_next),
};
const struct kernel_table kernels_dataset_files = { rows, COUNT(rows) };
