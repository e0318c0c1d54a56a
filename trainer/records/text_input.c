#include "trainer/records/text_input.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "storage/gzip_file.h"
#include "trainer/records/other_content.h"

static void set_guard(struct text_input *input)
{
    memset(input->data + input->size, 0, TEXT_PADDING);
    input->data[input->size] = '\n';
}

/* Opens the file a second time if its first bytes say that it is compressed. */
static struct status open_compressed(const char *path, struct text_input *input)
{
    char magic[2];

    if (input->file.size < sizeof magic)
        return status_ok();
    TRY(file_reader_get(&input->file, 0, magic, sizeof magic));
    return gzip_begins(magic, sizeof magic) ? gzip_file_open(path, &input->gzip) : status_ok();
}

/* Reads the next bytes of the text; fewer than `size` at the end. */
static struct status read_bytes(struct text_input *input, char *data, size_t size, size_t *got)
{
    uint64_t left = input->file.size - input->file_at;

    if (input->gzip != NULL)
        return gzip_file_get(input->gzip, data, size, got);
    *got = left < size ? (size_t)left : size;
    TRY(file_reader_get(&input->file, input->file_at, data, *got));
    input->file_at += *got;
    return status_ok();
}

/* Refuses what would be read as a strange header. */
static struct status check_content(const struct text_input *input)
{
    const struct other_content *other =
        other_content_find((struct bytes){ input->data, input->size });

    if (other == NULL || other->is_text)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "the file is %s: %s", other->name, other->advice);
}

struct status text_input_open(const char *path, size_t window_bytes, struct text_input *out)
{
    struct text_input input = { .line = 1 };
    struct status status;
    bool grown;

    TRY(file_reader_open(path, &input.file));
    input.capacity = window_bytes > 0 ? window_bytes : TEXT_WINDOW_BYTES;
    input.data = zalloc(input.capacity + TEXT_PADDING);
    TRY_OR(fail, open_compressed(path, &input));
    TRY_OR(fail, text_input_more(&input, &grown));
    TRY_OR(fail, check_content(&input));
    input.at = utf8_mark_size((struct bytes){ input.data, input.size });
    *out = input;
    return status_ok();

fail:
    text_input_close(&input);
    return status;
}

void text_input_close(struct text_input *input)
{
    file_reader_close(&input->file);
    gzip_file_close(input->gzip);
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
    input->data = xrealloc(input->data, input->capacity + TEXT_PADDING);
    return status_ok();
}

struct status text_input_more(struct text_input *input, bool *grown)
{
    size_t got = 0;

    *grown = false;
    if (!input->ended) {
        TRY(make_room(input));
        size_t room = input->capacity - input->size - 1;
        TRY(read_bytes(input, input->data + input->size, room, &got));
        input->size += got;
        input->ended = got < room || (input->gzip == NULL && input->file_at == input->file.size);
        input->closed = input->ended && input->size > 0 && input->data[input->size - 1] != '\n';
        if (input->closed)
            input->data[input->size++] = '\n';
        /* The end of a compressed file may come after the bytes of its last line. */
        *grown = got > 0 || input->closed;
    }
    set_guard(input);
    return status_ok();
}

struct status text_input_line(struct text_input *input, const char **end)
{
    bool grown = true;

    do {
        *end = memchr(input->data + input->at, '\n', input->size - input->at);
        if (*end != NULL)
            return status_ok();
        TRY(text_input_more(input, &grown));
    } while (grown);
    return status_ok();
}

bool text_input_tell(const struct text_input *input, uint64_t *offset)
{
    bool at_open_end = input->closed && input->at == input->size; /* no line ends in front of it */

    *offset = input->file_at + input->closed - (input->size - input->at);
    return input->gzip == NULL && !at_open_end;
}

struct status text_input_go_to(struct text_input *input, uint64_t offset, uint64_t line)
{
    bool grown = false;

    assert(input->gzip == NULL && offset > 0);
    input->at = input->size = 0;
    input->closed = false;
    input->ended = offset > input->file.size;
    input->file_at = offset - 1; /* the end of the previous line */
    TRY(text_input_more(input, &grown));
    if (!grown || input->data[0] != '\n')
        return status_error(STATUS_DATA_LOSS,
                            "has changed since its records were counted: no line ends before byte "
                            "%" PRIu64,
                            offset);
    input->at = 1;
    input->line = line;
    return status_ok();
}
