/*
 * fast_word_pieces: TensorFlow Text's FastWordpieceTokenizeWithOffsets, which divides texts or
 * words into the pieces of a model, and FastWordpieceDetokenize, which joins pieces to texts.
 */
#include "base/utf8.h"
#include "runtime/kernels/plain/text_class.h"
#include "runtime/kernels/ragged/ragged_splits.h"
#include "runtime/kernels/text/text_block.h"
#include "runtime/kernels/text/token_list.h"
#include "runtime/kernels/text/word_piece_model.h"

/* A text that is being divided. */
struct word_walk {
    struct word_piece_model model;
    struct token_list list;
    struct text_block block;
    struct bytes text;
    size_t word;     /* where the word begins in the text */
    size_t done;     /* bytes of the word that have their pieces */
    int64_t before;  /* the tokens that an unknown word leaves */
    uint32_t node;   /* of the trie, for the bytes after `done` */
    int32_t last[2]; /* the characters that were read last, the latest one first */
};

static struct status add_token(struct word_walk *w, struct bytes text, size_t size, int64_t number)
{
    size_t begin = w->word + w->done;
    struct text_token token = { text, (int64_t)begin, (int64_t)(begin + size), number };
    w->done += size;
    return token_list_add_numbered(&w->list, token);
}

static struct status add_piece(struct word_walk *w, uint32_t piece)
{
    size_t begin = w->word + w->done, size = word_piece_size(piece);
    int64_t number = word_piece_number(piece);
    if (w->done == 0 && word_piece_is_inner(piece))
        size += w->model.indicator.size; /* the word begins with the indicator itself */
    if (size > w->text.size - begin)
        return kernel_error(w->list.k, STATUS_DATA_LOSS,
                            "the model is damaged: a piece is longer than the text that has it");
    struct bytes text = { w->text.data + begin, size };
    if (number == w->model.unknown_number)
        text = w->model.unknown;
    if (w->done > 0) {
        TRY(text_block_add(&w->block, w->model.indicator.data, w->model.indicator.size));
        TRY(text_block_add(&w->block, text.data, text.size));
        text = text_block_end(&w->block);
    }
    return add_token(w, text, size, number);
}

/* The word up to `end` is unknown, whatever pieces it begins with. */
static struct status add_unknown(struct word_walk *w, size_t end)
{
    w->list.count = w->before;
    w->done = 0;
    TRY(add_token(w, w->model.unknown, end - w->word, w->model.unknown_number));
    w->before = w->list.count;
    return status_ok();
}

/* Ends pieces where no child of the node matches, and continues after them. *found: false: there
 * are none. Each piece has bytes of the text, which makes this end with any model. */
static struct status end_pieces(struct word_walk *w, bool *found)
{
    struct word_piece_failure failure;
    uint32_t piece;
    bool is_piece = double_array_value(&w->model.units, w->node, &piece);
    TRY(word_piece_failure(&w->model, w->node, &failure));
    *found = is_piece || failure.next != NO_NODE;
    if (!*found)
        return status_ok();
    w->node = failure.next;
    if (is_piece)
        return add_piece(w, piece);
    if (failure.begin + failure.count > w->model.pools.count)
        return kernel_error(w->list.k, STATUS_DATA_LOSS,
                            "the model is damaged: it has no pieces at %zu", failure.begin);
    for (size_t i = 0; i < failure.count; i++)
        TRY(add_piece(w, flat_u32(&w->model.pools, failure.begin + i)));
    return status_ok();
}

/* Follows bytes in the trie. *fits: false: no pieces continue with them. */
static struct status go_along(struct word_walk *w, const char *bytes, size_t size, bool *fits)
{
    *fits = true;
    while (*fits && !double_array_walk(&w->model.units, &w->node, bytes, size))
        TRY(end_pieces(w, fits));
    return status_ok();
}

/* The word is the indicator itself, whose node is where words end. */
static struct status add_indicator(struct word_walk *w, size_t end)
{
    const struct flat_vector *pieces = &w->model.indicated;
    if (pieces->count == 1 && word_piece_number(flat_u32(pieces, 0)) == w->model.unknown_number)
        return add_unknown(w, end);
    for (size_t i = 0; i < pieces->count; i++)
        TRY(add_piece(w, flat_u32(pieces, i)));
    w->before = w->list.count;
    return status_ok();
}

/* The word ends, and so do the pieces of the node. If the indicator is empty, words end at the
 * root, and an unknown word includes the words before it, as in TensorFlow Text. */
static struct status end_word(struct word_walk *w, size_t end)
{
    bool found = true;
    if (w->node == 0)
        return status_ok();
    if (w->node == w->model.inner_root && w->list.count == w->before)
        return add_indicator(w, end);
    while (w->node != w->model.inner_root && w->node != w->model.divider) {
        TRY(end_pieces(w, &found));
        if (!found)
            return add_unknown(w, end);
    }
    w->before = w->list.count;
    return status_ok();
}

static void begin_word(struct word_walk *w, size_t at)
{
    w->word = at;
    w->done = 0;
    w->node = 0;
}

static struct status divide_word(struct word_walk *w)
{
    int32_t bytes_max = w->model.bytes_max;
    bool fits;
    if (w->text.size == 0)
        return status_ok();
    w->before = w->list.count;
    begin_word(w, 0);
    if (bytes_max >= 0 && w->text.size > (size_t)bytes_max)
        return add_unknown(w, w->text.size);
    for (size_t i = 0; i < w->text.size; i++) {
        TRY(go_along(w, w->text.data + i, 1, &fits));
        if (!fits)
            return add_unknown(w, w->text.size);
    }
    return end_word(w, w->text.size);
}

/* Reads the characters of a word while pieces match them. *at is the end of those, *next that of
 * the character that ended them. */
static struct status read_word(struct word_walk *w, size_t *at, size_t *next)
{
    bool fits = true;
    while (*at < w->text.size) {
        w->last[1] = w->last[0];
        *next = *at + utf8_read(w->text.data + *at, w->text.size - *at, &w->last[0]);
        if ((int64_t)(*next - w->word) > w->model.bytes_max)
            return status_ok();
        TRY(go_along(w, w->text.data + *at, *next - *at, &fits));
        if (!fits)
            return status_ok();
        *at = *next;
    }
    return status_ok();
}

/* Skips the rest of an unknown word, and a white space after it. *end is the word's end. */
static size_t skip_word(struct bytes text, size_t at, size_t *end)
{
    *end = at;
    while (at < text.size) {
        int32_t character;
        size_t next = at + utf8_read(text.data + at, text.size - at, &character);
        if (text_is_space(character))
            return next;
        if (text_is_punctuation(character))
            return at;
        *end = at = next;
    }
    return at;
}

/* May a word end after the character before the last one? At the start of a word, nothing would
 * be read: a model without that punctuation has no words with it. */
static bool is_divided(const struct word_walk *w, size_t at)
{
    return at > w->word && (text_is_punctuation(w->last[0]) || text_is_punctuation(w->last[1]));
}

static struct status divide_text(struct word_walk *w)
{
    size_t at = 0, next = 0, end;
    w->before = w->list.count;
    w->last[0] = -1;
    while (at < w->text.size) {
        begin_word(w, at);
        TRY(read_word(w, &at, &next));
        bool is_space = at < w->text.size && text_is_space(w->last[0]);
        if (at == w->text.size || is_space || is_divided(w, at)) {
            TRY(end_word(w, at));
            at = is_space ? next : at;
        } else {
            at = skip_word(w->text, next, &end);
            TRY(add_unknown(w, end));
        }
    }
    return status_ok();
}

static struct status output_numbers(const struct token_list *list, int output)
{
    struct shape shape = shape_of(list->count);
    struct tensor *numbers;
    TRY(kernel_output(list->k, output, &shape, &numbers));
    for (int64_t i = 0; i < list->count; i++)
        tensor_int64s_mut(numbers)[i] = list->at[i].number;
    return status_ok();
}

static struct status divide_all(struct word_walk *w)
{
    const struct tensor *x = kernel_input(w->list.k, 0);
    struct shape shape = shape_of(x->size + 1);
    struct tensor *splits;
    TRY(kernel_vector(w->list.k, 0, "input_values"));
    TRY(word_piece_model_read(kernel_input(w->list.k, 1), &w->model));
    TRY(text_block_copy(&w->block, w->model.unknown, &w->model.unknown));
    TRY(kernel_output(w->list.k, 2, &shape, &splits));
    tensor_int64s_mut(splits)[0] = 0;
    for (int64_t i = 0; i < x->size; i++) {
        w->text = tensor_strings(x)[i];
        TRY(kernel_check(w->list.k));
        TRY(w->model.divides ? divide_text(w) : divide_word(w));
        tensor_int64s_mut(splits)[i + 1] = w->list.count;
    }
    TRY(output_numbers(&w->list, 1));
    return token_list_output(&w->list, 0, 3, 4);
}

static struct status divide_compute(struct kernel_context *k)
{
    struct word_walk w = { .list = { .k = k }, .block = { .arena = kernel_arena(k) } };
    struct status status = divide_all(&w);
    token_list_finish(&w.list);
    return status;
}

/* A piece of a text after others: without an indicator, it begins a word. */
static struct status join_piece(const struct kernel_context *k,
                                const struct word_piece_model *model, int64_t number, bool first,
                                struct text_block *block)
{
    struct bytes text;
    if (number < 0 || (size_t)number >= model->texts.count || (size_t)number >= model->inner.count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "the model has no piece %lld",
                            (long long)number);
    bool inner = model->inner.data[number] != 0;
    if (first && inner)
        TRY(text_block_add(block, model->indicator.data, model->indicator.size));
    else if (!first && !inner)
        TRY(text_block_add(block, " ", 1));
    TRY(flat_vector_text(&model->table, &model->texts, (size_t)number, &text));
    return text_block_add(block, text.data, text.size);
}

static struct status join_compute(struct kernel_context *k)
{
    const struct tensor *numbers = kernel_input(k, 0), *splits = kernel_input(k, 1);
    struct text_block block = { .arena = kernel_arena(k) };
    struct word_piece_model model;
    struct tensor *out;
    TRY(kernel_vector(k, 0, "input_values"));
    TRY(ragged_splits_check(splits, numbers->size));
    TRY(word_piece_model_read(kernel_input(k, 2), &model));
    struct shape shape = shape_of(splits->size - 1);
    if (!model.joins && splits->size > 1)
        return kernel_error(k, STATUS_FAILED_PRECONDITION,
                            "the model was made without support_detokenization");
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t row = 0; row < out->size; row++) {
        int64_t begin = tensor_index(splits, row), end = tensor_index(splits, row + 1);
        TRY(kernel_check(k));
        for (int64_t i = begin; i < end; i++)
            TRY(join_piece(k, &model, tensor_index(numbers, i), i == begin, &block));
        tensor_strings_mut(out)[row] = text_block_end(&block);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "FastWordpieceTokenizeWithOffsets", DTYPES_ALL, .compute = divide_compute },
    { "TFText>FastWordpieceDetokenize", DTYPES_ALL, .compute = join_compute },
};
const struct kernel_table kernels_fast_word_pieces = { rows, COUNT(rows) };
