/*
 * word_pieces: TensorFlow Text's WordpieceTokenizeWithOffsets, which divides words into the pieces
 * that a vocabulary has, from the left, each as long as possible.
 */
#include "base/utf8.h"
#include "runtime/kernels/state/hash_table.h"
#include "runtime/kernels/text/text_block.h"
#include "runtime/kernels/text/token_list.h"

struct word_pieces {
    struct bytes indicator; /* begins the pieces that do not begin a word, such as "##" */
    struct bytes unknown;   /* replaces words that are not in the vocabulary, if use_unknown */
    int64_t bytes_max;      /* of a word; longer ones are not in the vocabulary */
    int64_t characters_max; /* of a piece; 0: any number */
    bool use_unknown;
    bool split_unknown; /* single characters are unknown, not the whole word */
    bool splits;        /* output 1: row splits, not lengths */
};

static struct status pieces_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct word_pieces *state = prepare_state(p, sizeof *state, NULL);
    struct bytes partition;
    TRY(node_attr_string(node, "suffix_indicator", &state->indicator));
    TRY(node_attr_string(node, "unknown_token", &state->unknown));
    TRY(node_attr_int(node, "max_bytes_per_word", &state->bytes_max));
    TRY(node_attr_int(node, "max_chars_per_token", &state->characters_max));
    TRY(node_attr_bool(node, "use_unknown_token", &state->use_unknown));
    TRY(node_attr_bool(node, "split_unknown_characters", &state->split_unknown));
    TRY(node_attr_string(node, "output_row_partition_type", &partition));
    state->splits = bytes_equal(partition, bytes_of("row_splits"));
    return status_ok();
}

/* A word that is being divided. */
struct word_division {
    const struct word_pieces *state;
    struct hash_table *vocabulary;
    struct token_list *list;
    struct text_block block;
    struct bytes word;
    int64_t *ends; /* [word.size]: of the characters, in bytes */
    int64_t characters;
    char *candidate; /* the indicator, followed by room for the word or the unknown token */
};

static void find_characters(struct word_division *d)
{
    d->characters = 0;
    for (size_t at = 0; at < d->word.size;) {
        int32_t ignored;
        at += utf8_read(d->word.data + at, d->word.size - at, &ignored);
        d->ends[d->characters++] = (int64_t)at;
    }
}

static struct bytes part(const struct word_division *d, int64_t begin, int64_t end)
{
    return (struct bytes){ d->word.data + begin, (size_t)(end - begin) };
}

static struct status is_known(const struct word_division *d, struct bytes piece, bool *out)
{
    int64_t none = -1, value;
    struct tensor key = { .dtype = DT_STRING, .size = 1, .data = &piece };
    struct tensor missing = { .dtype = DT_INT64, .size = 1, .data = &none };
    struct tensor found = { .dtype = DT_INT64, .size = 1, .data = &value };
    TRY(hash_table_find(d->vocabulary, &key, &missing, 0, d->block.arena, &found));
    *out = value != none;
    return status_ok();
}

/* The text of bytes [begin, end) of the word as a piece: unless it begins the word, the indicator
 * ("##") precedes it. */
static struct bytes piece_from(const struct word_division *d, int64_t begin, int64_t end)
{
    struct bytes text = part(d, begin, end);
    size_t before = d->state->indicator.size;
    if (begin == 0)
        return text;
    memcpy(d->candidate + before, text.data, text.size);
    return (struct bytes){ d->candidate, before + text.size };
}

/* A search for a piece checks the deadline before each candidate of more bytes. Of shorter ones,
 * it reads less than a megabyte. */
#define CANDIDATE_BYTES 1024

/* The longest piece from character `first` on that the vocabulary has; its end is character *end.
 * *end == first: there is none. Shorter candidates are prefixes of the longest one. */
static struct status find_longest(const struct word_division *d, int64_t first, int64_t begin,
                                  struct bytes *piece, int64_t *end)
{
    const struct word_pieces *state = d->state;
    bool known = false;
    *end = d->characters;
    if (state->characters_max > 0 && *end - first > state->characters_max)
        *end = first + state->characters_max;
    *piece = piece_from(d, begin, d->ends[*end - 1]);
    for (;;) {
        if (piece->size > CANDIDATE_BYTES)
            TRY(kernel_check(d->list->k));
        TRY(is_known(d, *piece, &known));
        if (known || --*end == first)
            return status_ok();
        piece->size -= (size_t)(d->ends[*end] - d->ends[*end - 1]);
    }
}

/* A character that no piece begins with. */
static struct bytes unknown_piece(const struct word_division *d, int64_t begin, int64_t end)
{
    struct bytes unknown = d->state->unknown;
    if (d->state->use_unknown && begin > 0) {
        memcpy(d->candidate + d->state->indicator.size, unknown.data, unknown.size);
        return (struct bytes){ d->candidate, d->state->indicator.size + unknown.size };
    }
    return d->state->use_unknown ? unknown : piece_from(d, begin, end);
}

/* Copies a piece that does not begin the word: it lies in d->candidate, which the next piece
 * overwrites. */
static struct status add_piece(struct word_division *d, struct bytes piece, int64_t begin,
                               int64_t end)
{
    if (begin > 0) {
        TRY(text_block_add(&d->block, piece.data, piece.size));
        piece = text_block_end(&d->block);
    }
    return token_list_add(d->list, piece, begin, end);
}

/* The whole word is one token. */
static struct status add_word(struct word_division *d, size_t end)
{
    return token_list_add(d->list, d->state->use_unknown ? d->state->unknown : d->word, 0,
                          (int64_t)end);
}

/* In TensorFlow Text, a word with too many bytes ends where the unknown token would. */
static struct status add_long_word(struct word_division *d)
{
    return add_word(d, d->state->use_unknown ? d->state->unknown.size : d->word.size);
}

static struct status divide(struct word_division *d)
{
    int64_t before = d->list->count, begin = 0;
    find_characters(d);
    for (int64_t first = 0; first < d->characters;) {
        struct bytes piece;
        int64_t end;
        TRY(kernel_check(d->list->k));
        TRY(find_longest(d, first, begin, &piece, &end));
        if (end == first && !d->state->split_unknown) {
            d->list->count = before;
            return add_word(d, d->word.size);
        }
        if (end == first)
            piece = unknown_piece(d, begin, d->ends[end++]);
        TRY(add_piece(d, piece, begin, d->ends[end - 1]));
        first = end;
        begin = d->ends[end - 1];
    }
    return status_ok();
}

/* One key of a dense table may be a vector; such tables map no words. */
static struct status find_vocabulary(struct kernel_context *k, struct hash_table **out)
{
    TRY(kernel_hash_table(k, 1, out));
    const struct hash_table_kind *kind = hash_table_kind(*out);
    if (kind->key == DT_STRING && kind->value == DT_INT64 && kind->key_shape.rank == 0 &&
        kind->value_shape.rank == 0)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "vocab_lookup_table maps %s%s to %s%s; it must map string to int64",
                        dtype_name(kind->key), shape_text(&kind->key_shape),
                        dtype_name(kind->value), shape_text(&kind->value_shape));
}

/* The size of the longest word that is divided. */
static size_t longest_word(const struct tensor *words, int64_t bytes_max)
{
    size_t longest = 0;
    for (int64_t i = 0; i < words->size; i++) {
        size_t size = tensor_strings(words)[i].size;
        if (size > longest && (int64_t)size <= bytes_max)
            longest = size;
    }
    return longest;
}

static struct status reserve(struct word_division *d, struct tensor *ends, struct tensor *candidate)
{
    const struct word_pieces *state = d->state;
    size_t longest = longest_word(kernel_input(d->list->k, 0), state->bytes_max);
    struct shape characters = shape_of((int64_t)longest);
    struct shape bytes = shape_of((int64_t)(state->indicator.size + longest + state->unknown.size));
    TRY(kernel_scratch(d->list->k, DT_INT64, &characters, ends));
    TRY(kernel_scratch(d->list->k, DT_UINT8, &bytes, candidate));
    d->ends = ends->data;
    d->candidate = candidate->data;
    memcpy(d->candidate, state->indicator.data, state->indicator.size);
    return status_ok();
}

static struct status divide_all(struct word_division *d)
{
    const struct tensor *words = kernel_input(d->list->k, 0);
    struct shape shape = shape_of(words->size + d->state->splits);
    struct tensor *rows;
    TRY(kernel_output(d->list->k, 1, &shape, &rows));
    if (d->state->splits)
        tensor_int64s_mut(rows)[0] = 0;
    for (int64_t i = 0; i < words->size; i++) {
        int64_t before = d->list->count;
        d->word = tensor_strings(words)[i];
        TRY((int64_t)d->word.size > d->state->bytes_max ? add_long_word(d) : divide(d));
        if (d->state->splits)
            tensor_int64s_mut(rows)[i + 1] = d->list->count;
        else
            tensor_int64s_mut(rows)[i] = d->list->count - before;
    }
    return token_list_output(d->list, 0, 2, 3);
}

static struct status pieces_compute(struct kernel_context *k)
{
    struct token_list list = { .k = k };
    struct word_division d = { .state = kernel_state(k),
                               .list = &list,
                               .block = { .arena = kernel_arena(k) } };
    struct tensor ends = { 0 }, candidate = { 0 };
    TRY(find_vocabulary(k, &d.vocabulary));
    struct status status = reserve(&d, &ends, &candidate);
    if (status_is_ok(status))
        status = divide_all(&d);
    tensor_release(&ends);
    tensor_release(&candidate);
    token_list_finish(&list);
    return status;
}

static const struct kernel rows[] = {
    { "WordpieceTokenizeWithOffsets", DTYPES_ALL, .prepare = pieces_prepare,
      .compute = pieces_compute },
};
const struct kernel_table kernels_word_pieces = { rows, COUNT(rows) };
