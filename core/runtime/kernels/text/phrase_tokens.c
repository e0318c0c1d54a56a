/*
 * phrase_tokens: TensorFlow Text's PhraseTokenize, which divides texts into the phrases of a model,
 * of one or more words, and PhraseDetokenize, which joins phrases to texts. A tensor holds the
 * model, a FlatBuffer.
 */
#include "base/random.h"
#include "runtime/kernels/ragged/ragged_splits.h"
#include "runtime/kernels/text/double_array.h"
#include "runtime/kernels/text/text_block.h"
#include "runtime/kernels/text/white_space.h"

/* The fields of the model's table, by their numbers. */
enum { PERCENT, UNKNOWN, UNKNOWN_NUMBER, JOINS, TEXTS, TRIE, SPACES, DIVIDES_ENDS };
enum { TRIE_UNITS };

struct phrase_model {
    struct flat_table table;
    struct flat_vector units; /* a double_array: the numbers of the phrases */
    struct flat_vector texts; /* by number, if `joins` */
    struct bytes unknown;     /* replaces words that no phrase begins with */
    struct bytes spaces;      /* see white_space.h */
    int32_t unknown_number;
    uint32_t percent;  /* the chance that a phrase is taken before longer ones are tried */
    bool divides_ends; /* a punctuation at the end of a word is a word of its own */
    bool joins;        /* can be asked for texts */
};

struct phrase_walk {
    struct phrase_model model;
    struct token_list words, phrases;
    struct text_block block;
    struct random random;
    bool is_seeded;
    int64_t steps; /* since the last check of the deadline */
};

#define STEPS_PER_CHECK 65536 /* of the deadline */

static struct status read_model(const struct tensor *x, struct phrase_model *m)
{
    struct flat_table trie;
    uint32_t unknown = 0;
    *m = (struct phrase_model){ 0 };
    TRY(flat_table_open((struct bytes){ x->data, (size_t)x->size }, &m->table));
    TRY(flat_table_u32(&m->table, PERCENT, &m->percent));
    TRY(flat_table_text(&m->table, UNKNOWN, &m->unknown));
    TRY(flat_table_u32(&m->table, UNKNOWN_NUMBER, &unknown));
    m->unknown_number = (int32_t)unknown;
    TRY(flat_table_bool(&m->table, JOINS, &m->joins));
    TRY(flat_table_child(&m->table, TRIE, &trie));
    TRY(flat_table_vector(&trie, TRIE_UNITS, sizeof(uint32_t), &m->units));
    TRY(flat_table_vector(&m->table, TEXTS, sizeof(uint32_t), &m->texts));
    TRY(flat_table_text(&m->table, SPACES, &m->spaces));
    return flat_table_bool(&m->table, DIVIDES_ENDS, &m->divides_ends);
}

/* The words of a text with one space between them. */
static struct status join_words(struct phrase_walk *w, struct bytes text, struct bytes *out)
{
    w->words.count = 0;
    TRY(white_space_words(&w->words, text, w->model.spaces));
    for (int64_t i = 0; i < w->words.count; i++) {
        struct bytes word = w->words.at[i].text;
        char end = word.data[word.size - 1];
        size_t whole = word.size - (w->model.divides_ends && memchr("!,.?", end, 4) != NULL);
        if (i > 0)
            TRY(text_block_add(&w->block, " ", 1));
        TRY(text_block_add(&w->block, word.data, whole));
        if (whole < word.size) {
            TRY(text_block_add(&w->block, " ", 1));
            TRY(text_block_add(&w->block, &end, 1));
        }
    }
    *out = text_block_end(&w->block);
    return status_ok();
}

static bool is_taken(struct phrase_walk *w)
{
    if (w->model.percent == 0)
        return false;
    if (!w->is_seeded)
        random_init(&w->random, kernel_random_seed(w->phrases.k), 0);
    w->is_seeded = true;
    return random_double(&w->random) * 100 < (double)w->model.percent;
}

static struct status count_steps(struct phrase_walk *w, size_t steps)
{
    w->steps += (int64_t)steps;
    if (w->steps < STEPS_PER_CHECK)
        return status_ok();
    w->steps = 0;
    return kernel_check(w->phrases.k);
}

/* The longest phrase that the text begins with and that ends with a word; its size, or 0. */
static struct status find_phrase(struct phrase_walk *w, struct bytes text, size_t *size,
                                 uint32_t *number)
{
    uint32_t node = 0, value;
    size_t i = 0;
    *size = 0;
    for (; i < text.size; i++) {
        if (!double_array_walk(&w->model.units, &node, text.data + i, 1))
            break;
        bool is_end = i + 1 == text.size || text.data[i + 1] == ' ';
        if (!is_end || !double_array_value(&w->model.units, node, &value))
            continue;
        *size = i + 1;
        *number = value;
        if (is_taken(w))
            break;
    }
    return count_steps(w, i + 1);
}

/* A word that no phrase begins with is unknown. */
static struct status divide(struct phrase_walk *w, struct bytes text)
{
    for (size_t at = 0, size; at < text.size; at += size + 1) {
        struct bytes rest = { text.data + at, text.size - at };
        struct text_token token = { .text = w->model.unknown, .number = w->model.unknown_number };
        uint32_t number = 0;
        TRY(find_phrase(w, rest, &size, &number));
        if (size > 0) {
            token = (struct text_token){ .text = bytes_first(rest, size), .number = number };
        } else {
            const char *space = memchr(rest.data, ' ', rest.size);
            size = space == NULL ? rest.size : (size_t)(space - rest.data);
        }
        TRY(token_list_add_numbered(&w->phrases, token));
    }
    return status_ok();
}

static struct status divide_all(struct phrase_walk *w)
{
    struct kernel_context *k = w->phrases.k;
    const struct tensor *x = kernel_input(k, 0);
    struct shape shape = shape_of(x->size + 1);
    struct tensor *splits, *texts, *numbers;
    TRY(kernel_vector(k, 0, "input_values"));
    TRY(read_model(kernel_input(k, 1), &w->model));
    TRY(text_block_copy(&w->block, w->model.unknown, &w->model.unknown));
    TRY(kernel_output(k, 2, &shape, &splits));
    tensor_int64s_mut(splits)[0] = 0;
    for (int64_t i = 0; i < x->size; i++) {
        struct bytes joined;
        TRY(kernel_check(k));
        TRY(join_words(w, tensor_strings(x)[i], &joined));
        TRY(divide(w, joined));
        tensor_int64s_mut(splits)[i + 1] = w->phrases.count;
    }
    shape = shape_of(w->phrases.count);
    TRY(kernel_output(k, 0, &shape, &texts));
    TRY(kernel_output(k, 1, &shape, &numbers));
    for (int64_t i = 0; i < w->phrases.count; i++) {
        tensor_strings_mut(texts)[i] = w->phrases.at[i].text;
        tensor_int64s_mut(numbers)[i] = w->phrases.at[i].number;
    }
    return status_ok();
}

static struct status divide_compute(struct kernel_context *k)
{
    struct phrase_walk w = { .words = { .k = k },
                             .phrases = { .k = k },
                             .block = { .arena = kernel_arena(k) } };
    struct status status = divide_all(&w);
    token_list_finish(&w.words);
    token_list_finish(&w.phrases);
    return status;
}

static struct status join_row(const struct kernel_context *k, const struct phrase_model *m,
                              const int32_t *numbers, int64_t count, struct text_block *block)
{
    for (int64_t i = 0; i < count; i++) {
        struct bytes text;
        if (numbers[i] < 0 || (size_t)numbers[i] >= m->texts.count)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "the model has no phrase %d",
                                numbers[i]);
        TRY(flat_vector_text(&m->table, &m->texts, (size_t)numbers[i], &text));
        if (i > 0)
            TRY(text_block_add(block, " ", 1));
        TRY(text_block_add(block, text.data, text.size));
    }
    return status_ok();
}

static struct status join_compute(struct kernel_context *k)
{
    const struct tensor *numbers = kernel_input(k, 0), *splits = kernel_input(k, 1);
    struct text_block block = { .arena = kernel_arena(k) };
    struct phrase_model model;
    struct tensor *out;
    TRY(kernel_vector(k, 0, "input_values"));
    TRY(ragged_splits_check(splits, numbers->size));
    TRY(read_model(kernel_input(k, 2), &model));
    struct shape shape = shape_of(splits->size - 1);
    if (!model.joins && splits->size > 1)
        return kernel_error(k, STATUS_FAILED_PRECONDITION,
                            "Detokenize function is only enabled when support_detokenization is "
                            "true in the config flatbuffer. Please rebuild the model flatbuffer by "
                            "setting support_detokenization=true.");
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t row = 0; row < out->size; row++) {
        int64_t begin = tensor_index(splits, row), end = tensor_index(splits, row + 1);
        TRY(kernel_check(k));
        TRY(join_row(k, &model, tensor_int32s(numbers) + begin, end - begin, &block));
        tensor_strings_mut(out)[row] = text_block_end(&block);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "PhraseTokenize", DTYPES_ALL, .compute = divide_compute },
    { "TFText>PhraseDetokenize", DTYPES_ALL, .compute = join_compute },
};
const struct kernel_table kernels_phrase_tokens = { rows, COUNT(rows) };
