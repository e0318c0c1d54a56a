/* unicode: UnicodeDecode, UnicodeDecodeWithOffsets and UnicodeEncode: texts as the numbers of their
 * characters, and back. UnicodeTranscode: texts in another encoding. */
#include "runtime/kernels/text/unicode.h"

#include <ctype.h>

#include "base/utf8.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/text/text_block.h"

enum on_error { ERROR_STRICT, ERROR_REPLACE, ERROR_IGNORE };

/* Bytes of a unit of the output. */
enum encoding { UTF_8 = 1, UTF_16_BE = 2, UTF_32_BE = 4 };

/* Reads the character at text[0], as utf8_read. */
typedef size_t read_character(const char *text, size_t size, int32_t *character);

struct unicode {
    read_character *read; /* NULL: a code page */
    const uint16_t *page; /* the characters of the bytes from 0x80 on */
    int mark_bytes;       /* 2 or 4: a byte order mark may tell how to read; else `read` does */
    enum on_error on_error;
    int32_t replacement;
    bool replace_controls;
    enum encoding output;
};

static bool text_is(struct bytes text, const char *wanted)
{
    return bytes_equal(text, bytes_of(wanted));
}

/* ---- characters of other encodings ---- */

static bool is_character(int32_t c)
{
    return c >= 0 && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
}

static uint32_t unit_at(const char *text, int bytes, bool little)
{
    uint32_t unit = 0;
    for (int i = 0; i < bytes; i++)
        unit = unit << 8 | (unsigned char)text[little ? bytes - 1 - i : i];
    return unit;
}

/* A character that the end of the text cuts is one malformed character. */
static size_t utf16_read(const char *text, size_t size, bool little, int32_t *character)
{
    *character = -1;
    if (size < 2)
        return size;
    uint32_t unit = unit_at(text, 2, little);
    if (unit < 0xd800 || unit > 0xdfff)
        *character = (int32_t)unit;
    if (unit < 0xd800 || unit > 0xdbff)
        return 2;
    if (size < 4)
        return size;
    uint32_t low = unit_at(text + 2, 2, little) - 0xdc00;
    if (low >= 0x400)
        return 2;
    *character = (int32_t)(0x10000 + ((unit - 0xd800) << 10) + low);
    return 4;
}

static size_t utf32_read(const char *text, size_t size, bool little, int32_t *character)
{
    int32_t unit = size < 4 ? -1 : (int32_t)unit_at(text, 4, little);
    *character = is_character(unit) ? unit : -1;
    return size < 4 ? size : 4;
}

static size_t utf16_be_read(const char *text, size_t size, int32_t *character)
{
    return utf16_read(text, size, false, character);
}

static size_t utf16_le_read(const char *text, size_t size, int32_t *character)
{
    return utf16_read(text, size, true, character);
}

static size_t utf32_be_read(const char *text, size_t size, int32_t *character)
{
    return utf32_read(text, size, false, character);
}

static size_t utf32_le_read(const char *text, size_t size, int32_t *character)
{
    return utf32_read(text, size, true, character);
}

static size_t ascii_read(const char *text, size_t size, int32_t *character)
{
    (void)size;
    *character = (unsigned char)text[0] < 0x80 ? text[0] : -1;
    return 1;
}

/* 0xffff: the byte is no character. */
#define NO_CHARACTER 0xffff
static const struct code_page {
    const char *names; /* each between spaces */
    uint16_t characters[128];
} pages[] = {
#define CODE_PAGE(names, ...) { names, { __VA_ARGS__ } },
#include "runtime/kernels/text/code_pages.def"
#undef CODE_PAGE
};

static int32_t page_character(const uint16_t *page, unsigned char byte)
{
    int32_t character = byte < 0x80 ? byte : page[byte - 0x80];
    return character == NO_CHARACTER ? -1 : character;
}

#define NAME_BYTES_MAX 32

/* The name of an encoding between spaces: case and other characters than letters and digits do not
 * count. A name that is too long is none. */
static const char *plain_name(struct bytes name, char out[NAME_BYTES_MAX + 3])
{
    size_t size = 0;
    out[size++] = ' ';
    for (size_t i = 0; i < name.size && size <= NAME_BYTES_MAX; i++)
        if (isalnum((unsigned char)name.data[i]))
            out[size++] = (char)tolower((unsigned char)name.data[i]);
    out[size++] = ' ';
    out[size] = '\0';
    return out;
}

static struct status read_input_encoding(const struct node *node, struct unicode *out)
{
    static const struct {
        const char *names;
        read_character *read;
        int mark_bytes;
    } encodings[] = {
        { " utf8 ", utf8_read, 0 },        { " usascii ascii ", ascii_read, 0 },
        { " utf16 ", utf16_be_read, 2 },   { " utf16be ", utf16_be_read, 0 },
        { " utf16le ", utf16_le_read, 0 }, { " utf32 ", utf32_be_read, 4 },
        { " utf32be ", utf32_be_read, 0 }, { " utf32le ", utf32_le_read, 0 },
    };
    char name[NAME_BYTES_MAX + 3];
    struct bytes encoding;

    TRY(node_attr_string(node, "input_encoding", &encoding));
    plain_name(encoding, name);
    for (size_t i = 0; i < COUNT(encodings); i++)
        if (strstr(encodings[i].names, name) != NULL) {
            out->read = encodings[i].read;
            out->mark_bytes = encodings[i].mark_bytes;
            return status_ok();
        }
    for (size_t i = 0; i < COUNT(pages); i++)
        if (strstr(pages[i].names, name) != NULL) {
            out->page = pages[i].characters;
            return status_ok();
        }
    return status_error(STATUS_UNIMPLEMENTED,
                        "the encoding '%.*s'; implemented are UTF-8, UTF-16, UTF-32, and those of "
                        "one byte per character such as ISO-8859-1",
                        (int)(encoding.size < 100 ? encoding.size : 100), encoding.data);
}

/* The attribute allows no fourth one. */
static struct status read_output_encoding(const struct node *node, struct unicode *out)
{
    struct bytes encoding;

    TRY(node_attr_string(node, "output_encoding", &encoding));
    out->output = text_is(encoding, "UTF-16-BE")   ? UTF_16_BE
                  : text_is(encoding, "UTF-32-BE") ? UTF_32_BE
                                                   : UTF_8;
    return status_ok();
}

struct status node_attr_character(const struct node *node, const char *name, int32_t *out)
{
    int64_t character;
    TRY(node_attr_int(node, name, &character));
    if (character < 0 || character > 0x10ffff)
        return status_error(STATUS_INVALID_ARGUMENT, "%s out of unicode codepoint range", name);
    *out = (int32_t)character;
    return status_ok();
}

static struct status read_errors(const struct node *node, struct unicode *out)
{
    struct bytes errors;

    TRY(node_attr_string(node, "errors", &errors));
    TRY(node_attr_character(node, "replacement_char", &out->replacement));
    out->on_error = text_is(errors, "strict")   ? ERROR_STRICT
                    : text_is(errors, "ignore") ? ERROR_IGNORE
                                                : ERROR_REPLACE;
    return status_ok();
}

/* ---- decoding ---- */

static struct status decode_options(const struct node *node, struct unicode *out)
{
    TRY(node_attr_bool(node, "replace_control_characters", &out->replace_controls));
    TRY(read_errors(node, out));
    return read_input_encoding(node, out);
}

static struct status decode_prepare(struct prepare_context *p)
{
    return decode_options(prepare_node(p), prepare_state(p, sizeof(struct unicode), NULL));
}

/* A text that is read from `at` on. */
struct text_reading {
    struct bytes text;
    size_t at;
    read_character *read;
    size_t mark_bytes; /* of a byte order mark, which belongs to the first character */
};

#define BYTE_ORDER_MARK 0xfeff

static struct text_reading reading_of(const struct unicode *state, struct bytes text)
{
    struct text_reading reading = { text, 0, state->read, 0 };
    size_t mark_bytes = (size_t)state->mark_bytes;
    if (mark_bytes == 0 || text.size < mark_bytes)
        return reading;
    if (unit_at(text.data, state->mark_bytes, true) == BYTE_ORDER_MARK) {
        reading.read = mark_bytes == 2 ? utf16_le_read : utf32_le_read;
        reading.mark_bytes = mark_bytes;
    } else if (unit_at(text.data, state->mark_bytes, false) == BYTE_ORDER_MARK) {
        reading.mark_bytes = mark_bytes;
    }
    return reading;
}

static bool at_end(const struct text_reading *reading)
{
    return reading->at >= reading->text.size;
}

/* As in ICU, nothing after a byte order mark is U+FFFF. */
static int32_t read_next(const struct unicode *state, struct text_reading *reading)
{
    if (reading->at == 0)
        reading->at = reading->mark_bytes;
    if (at_end(reading))
        return NO_CHARACTER;
    const char *at = reading->text.data + reading->at;
    int32_t character;
    if (state->page != NULL) {
        reading->at++;
        return page_character(state->page, (unsigned char)*at);
    }
    reading->at += reading->read(at, reading->text.size - reading->at, &character);
    return character;
}

/* The next character of a text; *kept is false if it is left out. */
static struct status next_character(const struct unicode *state, struct text_reading *reading,
                                    int32_t *character, bool *kept)
{
    *character = read_next(state, reading);
    *kept = true;
    if (*character < 0 && state->on_error == ERROR_STRICT)
        return status_error(STATUS_INVALID_ARGUMENT, "Invalid formatting on input string");
    if (*character >= 0 && !(state->replace_controls && *character <= 0x1f))
        return status_ok();
    *kept = state->on_error != ERROR_IGNORE;
    *character = state->replacement;
    return status_ok();
}

static struct status count_characters(const struct unicode *state, const struct tensor *x,
                                      struct tensor *splits, int64_t *count)
{
    int32_t character;
    bool kept;

    *count = 0;
    tensor_set_index(splits, 0, 0);
    for (int64_t i = 0; i < x->size; i++) {
        struct text_reading reading = reading_of(state, tensor_strings(x)[i]);
        for (; !at_end(&reading); *count += kept)
            TRY(next_character(state, &reading, &character, &kept));
        tensor_set_index(splits, i + 1, *count);
    }
    if (splits->dtype == DT_INT64 || *count <= INT32_MAX)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "more characters than Tsplits can count");
}

static struct status decode_compute(struct kernel_context *k)
{
    const struct unicode *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    bool offsets = kernel_outputs_count(k) == 3;
    struct tensor *splits, *characters, *starts = NULL;
    struct shape rows = shape_of(x->size + 1);
    int64_t count, at_character = 0;

    TRY(kernel_output(k, 0, &rows, &splits));
    TRY(count_characters(state, x, splits, &count));
    struct shape shape = shape_of(count);
    TRY(kernel_output(k, 1, &shape, &characters));
    if (offsets)
        TRY(kernel_output(k, 2, &shape, &starts));
    for (int64_t i = 0; i < x->size; i++) {
        struct text_reading reading = reading_of(state, tensor_strings(x)[i]);
        while (!at_end(&reading)) {
            int64_t start = (int64_t)reading.at;
            int32_t character;
            bool kept;
            TRY(next_character(state, &reading, &character, &kept));
            if (!kept)
                continue;
            if (offsets)
                tensor_int64s_mut(starts)[at_character] = start;
            tensor_int32s_mut(characters)[at_character++] = character;
        }
    }
    return status_ok();
}

/* ---- encoding ---- */

static struct status encode_prepare(struct prepare_context *p)
{
    struct unicode *state = prepare_state(p, sizeof *state, NULL);

    TRY(read_errors(prepare_node(p), state));
    return read_output_encoding(prepare_node(p), state);
}

/* Writes the low bytes of a number, the highest first. */
static void put_unit(uint32_t value, int size, char *out)
{
    for (int i = size - 1; i >= 0; i--, value >>= 8)
        out[i] = (char)(value & 0xff);
}

static struct status write_character(enum encoding encoding, int32_t character,
                                     struct text_block *block)
{
    char bytes[UTF8_SIZE_MAX];
    uint32_t above = (uint32_t)character - 0x10000;

    if (encoding == UTF_8)
        return text_block_add(block, bytes, utf8_write(character, bytes));
    if (encoding == UTF_32_BE || character < 0x10000) {
        put_unit((uint32_t)character, (int)encoding, bytes);
        return text_block_add(block, bytes, encoding);
    }
    put_unit(0xd800 + (above >> 10), 2, bytes); /* two surrogates */
    put_unit(0xdc00 + (above & 0x3ff), 2, bytes + 2);
    return text_block_add(block, bytes, 4);
}

static struct status add_character(const struct unicode *state, int32_t character,
                                   struct text_block *block)
{
    if (!is_character(character)) {
        if (state->on_error == ERROR_STRICT)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Code point is out of range for Unicode, or is a surrogate.");
        if (state->on_error == ERROR_IGNORE)
            return status_ok();
        character = state->replacement;
    }
    return write_character(state->output, character, block);
}

static struct status check_encode(const struct tensor *values, const struct tensor *splits)
{
    if (values->shape.rank != 1 || splits->shape.rank != 1 || splits->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input_values and input_splits must be vectors, and the latter not "
                            "empty; got shapes %s and %s",
                            shape_text(&values->shape), shape_text(&splits->shape));
    if (tensor_index(splits, 0) != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "First value in input_splits must be zero.");
    for (int64_t i = 1; i < splits->size; i++)
        if (tensor_index(splits, i) < tensor_index(splits, i - 1) ||
            tensor_index(splits, i) > values->size)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Values in input_splits must be equal or in ascending order.");
    if (tensor_index(splits, splits->size - 1) != values->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Last value in input_splits must be equal to length of input_tensor.");
    return status_ok();
}

static struct status encode_compute(struct kernel_context *k)
{
    const struct unicode *state = kernel_state(k);
    const struct tensor *values = kernel_input(k, 0), *splits = kernel_input(k, 1);
    struct text_block block = { .arena = kernel_arena(k) };
    struct tensor *out;

    TRY(check_encode(values, splits));
    struct shape shape = shape_of(splits->size - 1);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t row = 0; row + 1 < splits->size; row++) {
        for (int64_t i = tensor_index(splits, row); i < tensor_index(splits, row + 1); i++)
            TRY(add_character(state, tensor_int32s(values)[i], &block));
        tensor_strings_mut(out)[row] = text_block_end(&block);
    }
    return status_ok();
}

/* ---- transcoding ---- */

static struct status transcode_prepare(struct prepare_context *p)
{
    struct unicode *state = prepare_state(p, sizeof *state, NULL);

    TRY(decode_options(prepare_node(p), state));
    return read_output_encoding(prepare_node(p), state);
}

static struct status transcode(const struct unicode *state, struct bytes text,
                               struct text_block *block)
{
    int32_t character;
    bool kept;

    for (struct text_reading reading = reading_of(state, text); !at_end(&reading);) {
        struct text_reading ahead = reading;
        int32_t given = -1;
        if (state->replace_controls && state->on_error == ERROR_STRICT)
            given = read_next(state, &ahead);
        if (given >= 0 && given <= 0x1f)
            return status_error(STATUS_INVALID_ARGUMENT, "Invalid formatting on input string");
        TRY(next_character(state, &reading, &character, &kept));
        if (kept)
            TRY(write_character(state->output, character, block));
    }
    return status_ok();
}

static struct status transcode_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct text_block block = { .arena = kernel_arena(k) };
    struct tensor *out;

    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        TRY(transcode(kernel_state(k), tensor_strings(x)[i], &block));
        tensor_strings_mut(out)[i] = text_block_end(&block);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "UnicodeDecode", DTYPES_ALL, .prepare = decode_prepare, .compute = decode_compute },
    { "UnicodeDecodeWithOffsets", DTYPES_ALL, .prepare = decode_prepare,
      .compute = decode_compute },
    { "UnicodeEncode", DTYPES_ALL, .prepare = encode_prepare, .compute = encode_compute },
    { "UnicodeTranscode", DTYPES_ALL, .prepare = transcode_prepare, .compute = transcode_compute },
};
const struct kernel_table kernels_unicode = { rows, COUNT(rows) };
