#include "runtime/kernels/state/hash_table_file.h"

#include "base/file.h"
#include "runtime/kernels/string_to_number.h"

/* The reader of one file, and its current line. */
struct reading {
    struct kernel_context *k;
    const struct hash_table_file *file;
    const char *path;
    struct bytes line;
    int64_t number;
};

static struct status check_indices(const struct hash_table_file *file, enum dtype key,
                                   enum dtype value)
{
    const int64_t indices[] = { file->key_index, file->value_index };
    const enum dtype types[] = { key, value };
    static const char *const names[] = { "key", "value" };
    for (int i = 0; i < 2; i++) {
        if (indices[i] == HASH_TABLE_FILE_NUMBER && types[i] != DT_INT64)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "%s index for line number requires table %s dtype of int64, got %s",
                                names[i], names[i], dtype_name(types[i]));
        if (indices[i] == HASH_TABLE_FILE_LINE && types[i] != DT_STRING && types[i] != DT_INT64 &&
            types[i] != DT_INT32)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "%s index for whole line requires string or integer table %s, got "
                                "%s",
                                names[i], names[i], dtype_name(types[i]));
        if (indices[i] < HASH_TABLE_FILE_LINE)
            return status_error(STATUS_INVALID_ARGUMENT, "Invalid index %lld for the table %s",
                                (long long)indices[i], names[i]);
    }
    return status_ok();
}

/* The text of column `index`, or the whole line. */
static struct status find_column(const struct reading *at, int64_t index, struct bytes *out)
{
    const char *start = at->line.data, *end = start + at->line.size;
    int64_t columns = 1;
    *out = at->line;
    if (index == HASH_TABLE_FILE_LINE)
        return status_ok();
    for (;;) {
        const char *stop = memchr(start, at->file->delimiter, (size_t)(end - start));
        if (columns - 1 == index) {
            *out = (struct bytes){ start, (size_t)((stop ? stop : end) - start) };
            return status_ok();
        }
        if (stop == NULL)
            break;
        start = stop + 1;
        columns++;
    }
    int64_t wanted =
        at->file->key_index > at->file->value_index ? at->file->key_index : at->file->value_index;
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Invalid number of columns in %s line %lld (%.*s) : expected at least %lld "
                        "got %lld",
                        at->path, (long long)at->number, (int)at->line.size, at->line.data,
                        (long long)(wanted + 1), (long long)columns);
}

static struct status store_number(const struct reading *at, struct bytes text, struct tensor *out,
                                  int64_t i)
{
    bool valid;
    if (out->dtype != DT_INT32 && out->dtype != DT_INT64 && out->dtype != DT_FLOAT &&
        out->dtype != DT_DOUBLE)
        return status_error(STATUS_INVALID_ARGUMENT, "Data type %s not supported.",
                            dtype_name(out->dtype));
    TRY(string_to_number(at->k, text, out, i, &valid));
    if (valid)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "Field %.*s in line %lld is not a valid %s.",
                        (int)text.size, text.data, (long long)at->number, dtype_name(out->dtype));
}

static struct status store(const struct reading *at, int64_t index, struct tensor *out)
{
    struct bytes text;
    if (index == HASH_TABLE_FILE_NUMBER) {
        tensor_int64s_mut(out)[at->number] = at->number + at->file->offset;
        return status_ok();
    }
    TRY(find_column(at, index, &text));
    if (out->dtype != DT_STRING)
        return store_number(at, text, out, at->number);
    tensor_strings_mut(out)[at->number] = text;
    return status_ok();
}

/* The next line, without its end; false: at the end. */
static bool next_line(const char **at, const char *end, struct bytes *line)
{
    if (*at == end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    const char *last = stop != NULL ? stop : end;
    *line = (struct bytes){ *at, (size_t)(last - *at) };
    if (line->size > 0 && last[-1] == '\r')
        line->size--;
    *at = stop != NULL ? stop + 1 : end;
    return true;
}

static int64_t count_lines(struct bytes text)
{
    int64_t count = 0;
    struct bytes line;
    for (const char *at = text.data; next_line(&at, text.data + text.size, &line);)
        count++;
    return count;
}

static struct status check_count(const struct hash_table_file *file, const char *path,
                                 int64_t lines, int64_t *used)
{
    *used = lines;
    if (lines == 0 || file->vocab_size == 0)
        return status_error(STATUS_OUT_OF_RANGE, "%s is empty, or no line of it is wanted", path);
    if (file->vocab_size > 0) {
        if (lines < file->vocab_size)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Invalid vocab_size in %s: expected %lld but got %lld", path,
                                (long long)file->vocab_size, (long long)lines);
        *used = file->vocab_size;
    }
    return status_ok();
}

static struct status read_lines(struct reading *at, struct bytes text, struct tensor *keys,
                                struct tensor *values)
{
    const char *from = text.data;
    for (at->number = 0; at->number < keys->size; at->number++) {
        next_line(&from, text.data + text.size, &at->line);
        if (at->line.size == 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Invalid content in %s: empty line found at position %lld.",
                                at->path, (long long)at->number);
        TRY(store(at, at->file->key_index, keys));
        TRY(store(at, at->file->value_index, values));
    }
    return status_ok();
}

/* The size is what the file system reports. */
static struct status read_text(struct kernel_context *k, const char *path, struct tensor *out)
{
    struct file_reader reader;
    TRY(file_reader_open(path, &reader));
    struct shape shape = shape_of((int64_t)reader.size);
    struct status status = status_in(kernel_scratch(k, DT_UINT8, &shape, out), "'%s'", path);
    if (status_is_ok(status))
        status = file_reader_get(&reader, 0, out->data, reader.size);
    file_reader_close(&reader);
    return status;
}

struct status hash_table_file_read(struct kernel_context *k, const struct hash_table_file *file,
                                   const char *path, enum dtype key, enum dtype value,
                                   struct hash_table_lines *out)
{
    struct reading at = { .k = k, .file = file, .path = path };
    int64_t count;
    *out = (struct hash_table_lines){ 0 };
    TRY(check_indices(file, key, value));
    TRY(read_text(k, path, &out->text));
    struct bytes text = { out->text.data, (size_t)out->text.size };
    TRY(check_count(file, path, count_lines(text), &count));
    struct shape shape = shape_of(count);
    TRY(kernel_scratch(k, key, &shape, &out->keys));
    TRY(kernel_scratch(k, value, &shape, &out->values));
    return read_lines(&at, text, &out->keys, &out->values);
}

void hash_table_lines_finish(struct hash_table_lines *lines)
{
    tensor_release(&lines->keys);
    tensor_release(&lines->values);
    tensor_release(&lines->text);
}
