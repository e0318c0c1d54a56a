/* string_split: StringSplit, StringSplitV2 and StringNGrams, which make ragged lists of strings. */
#include <endian.h>
#include <string.h>

#include "base/arena.h"
#include "base/clones.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/string_to_number.h"
#include "runtime/kernels/text/text_block.h"

/* ---- StringSplitV2: as Python's str.split; StringSplit: at any character of a set ---- */

struct split_state {
    int64_t maxsplit; /* of StringSplitV2 */
    bool by_set;      /* StringSplit: the separator is a set; an empty one divides into bytes */
    bool skip_empty;  /* StringSplit leaves out empty parts */
};

/* A text that is being divided. */
struct splitting {
    const struct split_state *state;
    struct bytes rest, separator; /* an empty one of StringSplitV2: runs of white space */
    int64_t left;                 /* divisions; < 0: any number */
    bool ended;
};

#define EACH_BYTE(x) (UINT64_C(0x0101010101010101) * (x))

/* The high bit of each byte that is white space, at least up to the first one. */
static uint64_t spaces_among(uint64_t bytes)
{
    uint64_t low = bytes & EACH_BYTE(0x7f), blank = bytes ^ EACH_BYTE(' ');
    uint64_t below_cr = EACH_BYTE(127 + '\r' + 1) - low,
             above_tab = low + EACH_BYTE(127 - '\t' + 1);
    return ((blank - EACH_BYTE(1)) & ~blank & EACH_BYTE(0x80)) |
           (below_cr & ~bytes & above_tab & EACH_BYTE(0x80));
}

/* The bytes before the first white space. Eight bytes at a time: words end anywhere, so a branch
 * for each byte is mispredicted once a word, which took a fifth of a text classifier's time. */
static size_t word_size(struct bytes text)
{
    size_t size = 0;

    for (; size + 8 <= text.size; size += 8) {
        uint64_t bytes;
        memcpy(&bytes, text.data + size, sizeof bytes);
        uint64_t found = spaces_among(le64toh(bytes));
        if (found != 0)
            return size + (size_t)__builtin_ctzll(found) / 8;
    }
    while (size < text.size && !is_white_space(text.data[size]))
        size++;
    return size;
}

static struct bytes without(struct bytes text, size_t size)
{
    return (struct bytes){ text.data + size, text.size - size };
}

static struct bytes skip_spaces(struct bytes text)
{
    size_t size = 0;

    while (size < text.size && is_white_space(text.data[size]))
        size++;
    return size > 0 ? without(text, size) : text;
}

/* The last part, which is the rest. */
static bool take_rest(struct splitting *s, struct bytes *part)
{
    *part = s->rest;
    s->ended = true;
    return true;
}

static bool next_word(struct splitting *s, struct bytes *part)
{
    s->rest = skip_spaces(s->rest);
    if (s->left == 0)
        return take_rest(s, part);
    size_t size = word_size(s->rest);
    if (size == 0)
        return false;
    *part = (struct bytes){ s->rest.data, size };
    s->rest = without(s->rest, size);
    s->left--;
    return true;
}

/* The number of words, each of which begins at the start or after white space. */
CLONES static int64_t count_words(struct bytes text)
{
    enum { BLOCK = 128 };
    int64_t count = 0;

    for (size_t begin = 0; begin < text.size; begin += BLOCK) {
        size_t end = begin + BLOCK < text.size ? begin + BLOCK : text.size;
        unsigned char words = begin == 0 && !is_white_space(text.data[0]);
        for (size_t c = begin > 0 ? begin : 1; c < end; c++)
            if (is_white_space(text.data[c - 1]) & !is_white_space(text.data[c]))
                words++;
        count += words;
    }
    return count;
}

static size_t size_before_set(struct bytes text, struct bytes set)
{
    size_t size = 0;

    while (size < text.size && memchr(set.data, text.data[size], set.size) == NULL)
        size++;
    return size;
}

static bool next_part_of_set(struct splitting *s, struct bytes *part)
{
    if (s->separator.size == 0 && s->rest.size > 0) {
        *part = (struct bytes){ s->rest.data, 1 };
        s->rest = without(s->rest, 1);
        return true;
    }
    while (!s->ended && s->separator.size > 0) {
        size_t size = size_before_set(s->rest, s->separator);
        struct bytes found = { s->rest.data, size };
        s->ended = size == s->rest.size;
        if (!s->ended)
            s->rest = without(s->rest, size + 1);
        if (size > 0 || !s->state->skip_empty) {
            *part = found; /* not for a skipped one: the caller has no room after the last part */
            return true;
        }
    }
    return false;
}

/* Takes the next part; false: at the end. */
static bool next_part(struct splitting *s, struct bytes *part)
{
    if (s->state->by_set)
        return next_part_of_set(s, part);
    if (s->ended)
        return false;
    if (s->separator.size == 0)
        return next_word(s, part);
    const char *found =
        s->left != 0 && s->rest.size > 0
            ? memmem(s->rest.data, s->rest.size, s->separator.data, s->separator.size)
            : NULL;
    if (found == NULL)
        return take_rest(s, part);
    *part = (struct bytes){ s->rest.data, (size_t)(found - s->rest.data) };
    s->rest = without(s->rest, part->size + s->separator.size);
    s->left--;
    return true;
}

/* maxsplit 0 leaves the text unchanged; below 0, any number of divisions. StringSplit gives no
 * parts of an empty text. */
static struct splitting begin_split(struct kernel_context *k, int64_t row)
{
    const struct split_state *state = kernel_state(k);
    struct splitting s = { .state = state,
                           .rest = tensor_strings(kernel_input(k, 0))[row],
                           .separator = tensor_strings(kernel_input(k, 1))[0],
                           .left = state->maxsplit < 0 ? -1 : state->maxsplit };

    if (state->by_set)
        s.ended = s.rest.size == 0;
    else if (state->maxsplit == 0)
        s.separator = (struct bytes){ "\0", 1 };
    return s;
}

static int64_t count_parts(struct splitting s)
{
    int64_t count = 0;
    struct bytes part;

    if (!s.state->by_set && s.separator.size == 0 && s.left < 0)
        return count_words(s.rest);
    while (next_part(&s, &part))
        count++;
    return count;
}

static struct status split_prepare(struct prepare_context *p)
{
    struct split_state *state = prepare_state(p, sizeof *state, NULL);

    return node_attr_int(prepare_node(p), "maxsplit", &state->maxsplit);
}

static struct status split_by_set_prepare(struct prepare_context *p)
{
    struct split_state *state = prepare_state(p, sizeof *state, NULL);

    state->by_set = true;
    return node_attr_bool(prepare_node(p), "skip_empty", &state->skip_empty);
}

static struct status check_split(struct kernel_context *k)
{
    const struct shape *input = &kernel_input(k, 0)->shape, *separator = &kernel_input(k, 1)->shape;

    if (input->rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be a vector, got shape: %s",
                            shape_text(input));
    if (separator->rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "sep must be a scalar, got shape: %s",
                            shape_text(separator));
    return status_ok();
}

static void fill_split(struct kernel_context *k, int64_t rows, int64_t *indices,
                       struct bytes *values)
{
    for (int64_t row = 0, at = 0; row < rows; row++) {
        struct splitting s = begin_split(k, row);
        for (int64_t i = 0; next_part(&s, &values[at]); i++, at++) {
            indices[2 * at] = row;
            indices[2 * at + 1] = i;
        }
    }
}

static struct status split_compute(struct kernel_context *k)
{
    TRY(check_split(k));
    int64_t rows = kernel_input(k, 0)->size, count = 0, most = 0;
    struct tensor *indices, *values, *shape;

    for (int64_t row = 0; row < rows; row++) {
        int64_t parts = count_parts(begin_split(k, row));
        count += parts;
        most = parts > most ? parts : most;
    }
    struct shape pairs = shape_of(count, 2), vector = shape_of(count), two = shape_of(2);
    TRY(kernel_output(k, 0, &pairs, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    TRY(kernel_output(k, 2, &two, &shape));
    tensor_int64s_mut(shape)[0] = rows;
    tensor_int64s_mut(shape)[1] = most;
    if (count > 0)
        fill_split(k, rows, tensor_int64s_mut(indices), tensor_strings_mut(values));
    return status_ok();
}

/* ---- StringNGrams ---- */

#define NGRAM_WIDTHS_MAX 1024

struct ngrams {
    struct bytes separator, left_pad, right_pad;
    int64_t widths[NGRAM_WIDTHS_MAX];
    int widths_count;
    int64_t pad; /* < 0: one less than the width */
    bool keep_short;
};

static struct status ngrams_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct ngrams *state = prepare_state(p, sizeof *state, NULL);

    TRY(node_attr_string(node, "separator", &state->separator));
    TRY(node_attr_string(node, "left_pad", &state->left_pad));
    TRY(node_attr_string(node, "right_pad", &state->right_pad));
    TRY(node_attr_int(node, "pad_width", &state->pad));
    TRY(node_attr_bool(node, "preserve_short_sequences", &state->keep_short));
    return node_attr_ints(node, "ngram_widths", NGRAM_WIDTHS_MAX, state->widths,
                          &state->widths_count);
}

static int64_t pad_of(const struct ngrams *state, int64_t width)
{
    return state->pad < 0 || state->pad > width - 1 ? width - 1 : state->pad;
}

/* The number of n-grams of a width that a row of `length` strings has. */
static int64_t count_width(const struct ngrams *state, int64_t length, int64_t width)
{
    int64_t count = length + 2 * pad_of(state, width) - width + 1;

    return count > 0 ? count : 0;
}

static int64_t count_row(const struct ngrams *state, int64_t length)
{
    int64_t count = 0;

    for (int i = 0; i < state->widths_count; i++)
        count += count_width(state, length, state->widths[i]);
    return count == 0 && length > 0 && state->keep_short ? 1 : count;
}

static struct status check_widths(const struct ngrams *state)
{
    for (int i = 0; i < state->widths_count; i++)
        if (state->widths[i] <= 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "ngram_widths must contain positive values");
    return status_ok();
}

static struct status check_ngram_splits(const struct tensor *splits, int64_t size)
{
    for (int64_t i = 0; i < splits->size; i++) {
        long long split = (long long)tensor_index(splits, i);
        long long before = i > 0 ? (long long)tensor_index(splits, i - 1) : 0;
        if (i == 0 && split != 0)
            return status_error(STATUS_INVALID_ARGUMENT, "First split value must be 0, got %lld",
                                split);
        if (split < before || split > size)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Invalid split value %lld, must be in [%lld, %lld]", split, before,
                                (long long)size);
    }
    if (splits->size > 0 && tensor_index(splits, splits->size - 1) != size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Last split value must be data size. Expected %lld, got %lld",
                            (long long)size, (long long)tensor_index(splits, splits->size - 1));
    return status_ok();
}

/* The output of n-grams. */
struct ngram_writer {
    struct kernel_context *k;
    const struct ngrams *state;
    struct text_block block;
    int64_t words; /* that were added */
};

#define WORDS_PER_CHECK 65536 /* empty words cost time, but no memory that the run limits */

static struct status add_word(struct ngram_writer *writer, struct bytes word, bool *first)
{
    struct bytes separator = writer->state->separator;

    if (++writer->words % WORDS_PER_CHECK == 0)
        TRY(kernel_check(writer->k));
    if (!*first)
        TRY(text_block_add(&writer->block, separator.data, separator.size));
    *first = false;
    return text_block_add(&writer->block, word.data, word.size);
}

/* N-gram `index` of `count` of a width: pads, words, pads. */
static struct status make_ngram(struct ngram_writer *writer, const struct bytes *words,
                                int64_t index, int64_t count, int64_t width, struct bytes *out)
{
    const struct ngrams *state = writer->state;
    int64_t pad = pad_of(state, width), left = pad - index, right = pad - (count - index - 1);
    bool first = true;

    left = left > 0 ? left : 0;
    right = right > 0 ? right : 0;
    for (int64_t i = 0; i < left; i++)
        TRY(add_word(writer, state->left_pad, &first));
    words += left > 0 ? 0 : index - pad;
    for (int64_t i = 0; i < width - left - right; i++)
        TRY(add_word(writer, words[i], &first));
    for (int64_t i = 0; i < right; i++)
        TRY(add_word(writer, state->right_pad, &first));
    *out = text_block_end(&writer->block);
    return status_ok();
}

/* All n-grams of a row, the widths one after the other. */
static struct status fill_row(struct ngram_writer *writer, const struct bytes *words,
                              int64_t length, struct bytes *out)
{
    const struct ngrams *state = writer->state;
    int64_t at = 0;

    for (int w = 0; w < state->widths_count; w++) {
        int64_t count = count_width(state, length, state->widths[w]);
        for (int64_t i = 0; i < count; i++)
            TRY(make_ngram(writer, words, i, count, state->widths[w], &out[at++]));
    }
    if (at > 0 || length == 0 || !state->keep_short)
        return status_ok();
    if (state->pad < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Pad width should be >= 0 when preserve_short_sequences is True and "
                            "ngram_widths are not provided, got %lld",
                            (long long)state->pad);
    return make_ngram(writer, words, 0, 1, length + 2 * state->pad, &out[0]);
}

/* A limit, as TensorFlow's int32. */
static struct status check_count(int64_t count, int64_t length, const struct ngrams *state)
{
    if (count <= INT32_MAX && state->pad <= INT32_MAX / 2 - length)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Pad width could lead to integer overflow, got pad_width = %lld",
                        (long long)state->pad);
}

static struct status count_ngrams(const struct ngrams *state, const struct tensor *splits,
                                  int64_t data_size, struct tensor *out)
{
    int64_t count = 0;

    for (int64_t i = 0; i < splits->size; i++) {
        int64_t length = i > 0 ? tensor_index(splits, i) - tensor_index(splits, i - 1) : 0;
        if (i > 0 && data_size > 0) {
            count += count_row(state, length);
            TRY(check_count(count, length, state));
        }
        if (out->dtype == DT_INT64)
            tensor_int64s_mut(out)[i] = count;
        else
            tensor_int32s_mut(out)[i] = (int32_t)count;
    }
    return status_ok();
}

static struct status ngrams_compute(struct kernel_context *k)
{
    const struct ngrams *state = kernel_state(k);
    const struct tensor *data = kernel_input(k, 0), *splits = kernel_input(k, 1);
    struct ngram_writer writer = { .k = k, .state = state, .block = { .arena = kernel_arena(k) } };
    struct tensor *out, *out_splits;

    TRY(check_widths(state));
    TRY(check_ngram_splits(splits, data->size));
    TRY(kernel_output(k, 1, &splits->shape, &out_splits));
    TRY(count_ngrams(state, splits, data->size, out_splits));
    int64_t count = splits->size > 0 ? tensor_index(out_splits, splits->size - 1) : 0;
    struct shape shape = shape_of(count);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i + 1 < splits->size && count > 0; i++) {
        int64_t begin = tensor_index(splits, i);
        TRY(fill_row(&writer, tensor_strings(data) + begin, tensor_index(splits, i + 1) - begin,
                     tensor_strings_mut(out) + tensor_index(out_splits, i)));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "StringSplit", DTYPES_ALL, .prepare = split_by_set_prepare, .compute = split_compute },
    { "StringSplitV2", DTYPES_ALL, .prepare = split_prepare, .compute = split_compute },
    { "StringNGrams", DTYPES_ALL, .prepare = ngrams_prepare, .compute = ngrams_compute },
};
const struct kernel_table kernels_string_split = { rows, COUNT(rows) };
