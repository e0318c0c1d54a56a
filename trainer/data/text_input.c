#include "trainer/data/text_input.h"

#include <stdlib.h>

#include "base/json_number.h"

static void set_guard(struct text_input *input)
{
    memset(input->data + input->size, 0, JSON_PADDING);
    input->data[input->size] = '\n';
}

struct status text_input_open(const char *path, size_t window_bytes, struct text_input *out)
{
    struct text_input input = { .line = 1 };
    struct status status;
    bool grown;

    TRY(file_reader_open(path, &input.file));
    input.capacity = window_bytes > 0 ? window_bytes : TEXT_WINDOW_BYTES;
    input.data = zalloc(input.capacity + JSON_PADDING);
    TRY_OR(fail, text_input_more(&input, &grown));
    if (input.size >= 3 && memcmp(input.data, "\xef\xbb\xbf", 3) == 0)
        input.at = 3;
    if (input.size >= 2 && memcmp(input.data, "\x1f\x8b", 2) == 0) {
        status = status_error(STATUS_UNIMPLEMENTED,
                              "a gzip file: only TFRecord files are read compressed");
        goto fail;
    }
    *out = input;
    return status_ok();

fail:
    text_input_close(&input);
    return status;
}

void text_input_close(struct text_input *input)
{
    file_reader_close(&input->file);
    free(input->data);
    *input = (struct text_input){ 0 };
}

static struct status make_room(struct text_input *input)
{
    if (input->at > 0)
        memmove(input->data, input->data + input->at, input->size - input->at);
    input->size -= input->at;
    input->at = 0;
    if (input->size < input->capacity / 2)
        return status_ok();
    if (input->capacity >= 2 * TEXT_RECORD_BYTES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "'%s' line %llu: a record of more than %zu MiB", input->file.path,
                            (unsigned long long)input->line, TEXT_RECORD_BYTES_MAX >> 20);
    input->capacity *= 2;
    input->data = xrealloc(input->data, input->capacity + JSON_PADDING);
    return status_ok();
}

struct status text_input_more(struct text_input *input, bool *grown)
{
    uint64_t left = input->file.size - input->file_at;

    *grown = left > 0;
    if (left > 0) {
        TRY(make_room(input));
        size_t room = input->capacity - input->size - 1, step = left < room ? (size_t)left : room;
        TRY(file_reader_get(&input->file, input->file_at, input->data + input->size, step));
        input->file_at += step;
        input->size += step;
        if (input->file_at == input->file.size && input->data[input->size - 1] != '\n')
            input->data[input->size++] = '\n';
    }
    set_guard(input);
    return status_ok();
}
