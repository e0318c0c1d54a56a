/*
 * fast_sentencepiece: TensorFlow Text's FastSentencepieceTokenize and FastSentencepieceDetokenize.
 * A tensor holds the model, a FlatBuffer that the tokenizer's Python class makes of a SentencePiece
 * model. It divides texts differently: byte by byte, with scores of 32 bits, and unknown bytes
 * that follow each other are one token.
 */
#include "base/float_bits.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/ragged/ragged_splits.h"
#include "runtime/kernels/text/double_array.h"
#include "runtime/kernels/text/sentencepiece_text.h"

/* The fields of the tables, by their numbers. Field 0 is the version. */
enum {
    BEGIN_NUMBER = 1,
    END_NUMBER,
    UNKNOWN_NUMBER,
    UNKNOWN_PENALTY,
    OFFSET,
    PIECES,
    SCORES,
    REMOVES_SPACES,
    ADDS_PREFIX,
    ESCAPES_SPACES,
    RULES,
    REPLACEMENTS,
};
enum { JOINED_OFFSET = 1, JOINED_PIECES, REMOVES_PREFIX = 5 };
enum { TRIE_UNITS };

struct fast_pieces {
    struct flat_vector units, scores; /* of the pieces: a double_array whose values are places */
    struct flat_vector rules;         /* a double_array; its values are places in `replacements` */
    struct bytes replacements;        /* each ends with a NUL */
    int32_t begin, end, unknown;
    int32_t offset; /* of a piece's number, but for the unknown one */
    float penalty;  /* of an unknown byte */
    bool removes_spaces, adds_prefix, escapes_spaces;
};

/* The best segmentation of a text up to a place (Viterbi). */
struct fast_segmentation {
    float score;
    int32_t piece;
    int32_t before; /* where its last piece begins; -1: no piece ends here */
};

struct fast_dividing {
    struct kernel_context *k;
    struct fast_pieces model;
    bool adds_begin, adds_end, reverses;
    struct tensor prefixed, text; /* scratch: char */
    struct tensor best, tokens;   /* scratch: struct fast_segmentation, int32_t */
    int64_t size, count;          /* of the text and the tokens */
    int64_t steps;
};

#define STEPS_PER_CHECK 65536 /* of the deadline */

static float flat_float(const struct flat_vector *vector, size_t i)
{
    return float_of_bits(flat_u32(vector, i));
}

static struct status read_trie(const struct flat_table *table, int field, struct flat_vector *units)
{
    struct flat_table trie;
    TRY(flat_table_child(table, field, &trie));
    return flat_table_vector(&trie, TRIE_UNITS, sizeof(uint32_t), units);
}

static struct status read_pieces(const struct tensor *x, struct fast_pieces *m)
{
    struct flat_table table;
    uint32_t numbers[] = { 0, 0, (uint32_t)-1, 0, 0 };
    TRY(flat_table_open((struct bytes){ x->data, (size_t)x->size }, &table));
    for (int i = 0; i < (int)COUNT(numbers); i++)
        TRY(flat_table_u32(&table, BEGIN_NUMBER + i, &numbers[i]));
    m->begin = (int32_t)numbers[0];
    m->end = (int32_t)numbers[1];
    m->unknown = (int32_t)numbers[2];
    memcpy(&m->penalty, &numbers[3], sizeof m->penalty);
    m->offset = (int32_t)numbers[4];
    TRY(read_trie(&table, PIECES, &m->units));
    TRY(flat_table_vector(&table, SCORES, sizeof(float), &m->scores));
    TRY(flat_table_bool(&table, REMOVES_SPACES, &m->removes_spaces));
    TRY(flat_table_bool(&table, ADDS_PREFIX, &m->adds_prefix));
    TRY(flat_table_bool(&table, ESCAPES_SPACES, &m->escapes_spaces));
    TRY(read_trie(&table, RULES, &m->rules));
    return flat_table_text(&table, REPLACEMENTS, &m->replacements);
}

static struct status count_steps(struct fast_dividing *d, int64_t steps)
{
    d->steps += steps;
    if (d->steps < STEPS_PER_CHECK)
        return status_ok();
    d->steps = 0;
    return kernel_check(d->k);
}

/* ---- normalizing ---- */

static struct status add_text(struct fast_dividing *d, struct bytes text)
{
    if (text.size == 0)
        return status_ok();
    TRY(kernel_scratch_reserve(d->k, &d->text, d->size, (int64_t)text.size, 1));
    memcpy((char *)d->text.data + d->size, text.data, text.size);
    d->size += (int64_t)text.size;
    return count_steps(d, (int64_t)text.size);
}

/* The replacement of the longest prefix that has a rule, and the prefix's size, or 0. */
static struct status find_rule(struct fast_dividing *d, struct bytes text, struct bytes *out,
                               size_t *size)
{
    const struct fast_pieces *m = &d->model;
    uint32_t node = 0, value;
    size_t i = 0;
    *size = 0;
    *out = (struct bytes){ 0 };
    for (; i < text.size && double_array_walk(&m->rules, &node, text.data + i, 1); i++)
        if (double_array_value(&m->rules, node, &value)) {
            *size = i + 1;
            *out = (struct bytes){ 0 };
            if (value < m->replacements.size) {
                const char *data = m->replacements.data + value;
                *out = (struct bytes){ data, strnlen(data, m->replacements.size - value) };
            }
        }
    return count_steps(d, (int64_t)i + 1);
}

static struct status replace(struct fast_dividing *d, struct bytes text)
{
    for (size_t at = 0, size; at < text.size;) {
        struct bytes part = { text.data + at, 1 }, out;
        TRY(find_rule(d, (struct bytes){ text.data + at, text.size - at }, &out, &size));
        TRY(add_text(d, size > 0 ? out : part));
        at += size > 0 ? size : 1;
    }
    return status_ok();
}

/* *text begins with a space. */
static struct status add_prefix(struct fast_dividing *d, struct bytes *text)
{
    TRY(kernel_scratch_reserve(d->k, &d->prefixed, 0, (int64_t)text->size + 1, 1));
    char *copy = d->prefixed.data;
    copy[0] = ' ';
    memcpy(copy + 1, text->data, text->size);
    *text = (struct bytes){ copy, text->size + 1 };
    return status_ok();
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Two and more blanks become a space; one at the end goes. */
static void remove_spaces(struct fast_dividing *d)
{
    char *text = d->text.data;
    int64_t size = 0;
    for (int64_t at = 0, end; at < d->size; at = end) {
        for (end = at; end < d->size && is_blank(text[end]);)
            end++;
        text[size++] = end - at > 1 ? ' ' : text[at];
        end = end > at ? end : at + 1;
    }
    d->size = size > 0 && is_blank(text[size - 1]) ? size - 1 : size;
}

static struct status escape_spaces(struct fast_dividing *d)
{
    const int64_t more = (int64_t)strlen(PIECE_SPACE) - 1;
    int64_t blanks = 0;
    for (int64_t i = 0; i < d->size; i++)
        blanks += is_blank(((const char *)d->text.data)[i]);
    if (blanks == 0)
        return status_ok();
    TRY(kernel_scratch_reserve(d->k, &d->text, d->size, more * blanks, 1));
    char *text = d->text.data;
    int64_t to = d->size + more * blanks;
    for (int64_t i = d->size - 1, at = to; i >= 0; i--) {
        if (is_blank(text[i])) {
            at -= more + 1;
            memcpy(text + at, PIECE_SPACE, (size_t)more + 1);
        } else {
            text[--at] = text[i];
        }
    }
    d->size = to;
    return status_ok();
}

static struct status normalize(struct fast_dividing *d, struct bytes text)
{
    d->size = 0;
    if (text.size == 0)
        return status_ok();
    if (d->model.adds_prefix)
        TRY(add_prefix(d, &text));
    TRY(replace(d, text));
    if (d->model.removes_spaces)
        remove_spaces(d);
    if (d->model.escapes_spaces)
        TRY(escape_spaces(d));
    return d->size < INT32_MAX
               ? status_ok()
               : kernel_error(d->k, STATUS_RESOURCE_EXHAUSTED, "a normalized text has %lld bytes",
                              (long long)d->size);
}

/* ---- dividing ---- */

static void offer(struct fast_segmentation *to, float score, int32_t piece, int32_t before)
{
    if (to->before < 0 || to->score < score)
        *to = (struct fast_segmentation){ score, piece, before };
}

/* Offers the pieces that begin at a place, and an unknown byte. */
static struct status extend(struct fast_dividing *d, struct fast_segmentation *best, int64_t at)
{
    const struct fast_pieces *m = &d->model;
    const struct fast_segmentation from = best[at];
    uint32_t node = 0, piece;
    int64_t i = at;
    if (m->unknown >= 0)
        offer(&best[at + 1], from.score + m->penalty, m->unknown,
              from.piece == m->unknown ? from.before : (int32_t)at);
    for (const char *text = d->text.data; i < d->size; i++) {
        if (!double_array_walk(&m->units, &node, text + i, 1))
            break;
        if (!double_array_value(&m->units, node, &piece))
            continue;
        if (piece >= m->scores.count)
            return kernel_error(d->k, STATUS_DATA_LOSS, "the model is damaged: it has no piece %u",
                                piece);
        offer(&best[i + 1], from.score + flat_float(&m->scores, piece), (int32_t)piece,
              (int32_t)at);
    }
    return count_steps(d, i - at + 1);
}

static struct status add_number(struct fast_dividing *d, int32_t number)
{
    TRY(kernel_scratch_reserve(d->k, &d->tokens, d->count, 1, sizeof number));
    ((int32_t *)d->tokens.data)[d->count++] = number;
    return status_ok();
}

/* Appends the tokens of the best segmentation, the last one first. */
static struct status add_best(struct fast_dividing *d)
{
    TRY(kernel_scratch_reserve(d->k, &d->best, 0, d->size + 1, sizeof(struct fast_segmentation)));
    struct fast_segmentation *best = d->best.data;
    for (int64_t i = 0; i <= d->size; i++)
        best[i] = (struct fast_segmentation){ 0, -1, -1 };
    for (int64_t at = 0; at < d->size; at++)
        if (at == 0 || best[at].before >= 0)
            TRY(extend(d, best, at));
    for (int32_t at = (int32_t)d->size; at > 0 && best[at].before >= 0; at = best[at].before) {
        int32_t piece = best[at].piece;
        bool shifts = piece != d->model.unknown;
        TRY(add_number(d, shifts ? (int32_t)((uint32_t)piece + (uint32_t)d->model.offset) : piece));
    }
    return status_ok();
}

static struct status divide(struct fast_dividing *d, struct bytes text)
{
    int64_t first = d->count;
    TRY(normalize(d, text));
    if (d->adds_end)
        TRY(add_number(d, d->model.end));
    TRY(add_best(d));
    if (d->adds_begin)
        TRY(add_number(d, d->model.begin));
    int32_t *tokens = d->tokens.data;
    for (int64_t i = first, j = d->count - 1; i < j && !d->reverses; i++, j--) {
        int32_t token = tokens[i];
        tokens[i] = tokens[j];
        tokens[j] = token;
    }
    return status_ok();
}

enum { MODEL, TEXTS, FLAGS = 4 };

static struct status divide_all(struct fast_dividing *d)
{
    const struct tensor *texts = kernel_input(d->k, TEXTS);
    struct shape shape = shape_of(texts->size + 1);
    bool *flags[] = { &d->adds_begin, &d->adds_end, &d->reverses };
    struct tensor *out, *splits;
    for (int i = 0; i < (int)COUNT(flags); i++) {
        const struct tensor *value;
        TRY(kernel_scalar(d->k, FLAGS + i, kernel_node(d->k)->op->inputs[FLAGS + i].name, &value));
        *flags[i] = tensor_bools(value)[0];
    }
    TRY(read_pieces(kernel_input(d->k, MODEL), &d->model));
    TRY(kernel_output(d->k, 1, &shape, &splits));
    tensor_set_index(splits, 0, 0);
    for (int64_t i = 0; i < texts->size; i++) {
        TRY(divide(d, tensor_strings(texts)[i]));
        if (splits->dtype == DT_INT32 && d->count > INT32_MAX)
            return kernel_error(d->k, STATUS_RESOURCE_EXHAUSTED,
                                "too many tokens for Tsplits int32");
        tensor_set_index(splits, i + 1, d->count);
    }
    shape = shape_of(d->count);
    TRY(kernel_output(d->k, 0, &shape, &out));
    copy_elements(DT_INT32, out->data, d->tokens.data, d->count);
    return status_ok();
}

static struct status divide_compute(struct kernel_context *k)
{
    struct fast_dividing d = { .k = k };
    struct status status = divide_all(&d);
    tensor_release(&d.prefixed);
    tensor_release(&d.text);
    tensor_release(&d.best);
    tensor_release(&d.tokens);
    return status;
}

/* TensorFlow Text has no texts of the tokens, though it registers a kernel for them. */
static struct status divide_prepare(struct prepare_context *p)
{
    enum dtype dtype;
    TRY(node_attr_type(prepare_node(p), "out_type", &dtype));
    return dtype == DT_INT32 ? status_ok()
                             : status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s): out_type string",
                                            prepare_node(p)->name, prepare_node(p)->op_name);
}

/* ---- joining ---- */

struct fast_joining {
    struct flat_table table;
    struct flat_vector pieces;
    int32_t offset;
    bool removes_prefix;
};

static struct status join(const struct kernel_context *k, const struct fast_joining *j,
                          const int32_t *numbers, int64_t count, struct text_block *block)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t piece = (int64_t)numbers[i] - j->offset;
        struct bytes text;
        if (piece < 0 || piece >= (int64_t)j->pieces.count)
            return kernel_error(k, STATUS_INTERNAL, "Sentencepiece conversion failed");
        TRY(flat_vector_text(&j->table, &j->pieces, (size_t)piece, &text));
        text.size = text.size > 0 ? strnlen(text.data, text.size) : 0;
        if (i == 0 && j->removes_prefix && text.size > 0 && text.data[0] == ' ')
            text = (struct bytes){ text.data + 1, text.size - 1 };
        TRY(text_block_add(block, text.data, text.size));
    }
    return status_ok();
}

static struct status join_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *numbers = kernel_input(k, 1),
                        *splits = kernel_input(k, 2);
    struct text_block block = { .arena = kernel_arena(k) };
    struct fast_joining j = { 0 };
    struct tensor *out;
    uint32_t offset = 0;
    TRY(kernel_vector(k, 1, "input_values"));
    TRY(ragged_splits_check(splits, numbers->size));
    TRY(flat_table_open((struct bytes){ x->data, (size_t)x->size }, &j.table));
    TRY(flat_table_u32(&j.table, JOINED_OFFSET, &offset));
    TRY(flat_table_vector(&j.table, JOINED_PIECES, sizeof(uint32_t), &j.pieces));
    TRY(flat_table_bool(&j.table, REMOVES_PREFIX, &j.removes_prefix));
    j.offset = (int32_t)offset;
    struct shape shape = shape_of(splits->size - 1);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t row = 0; row < out->size; row++) {
        int64_t begin = tensor_index(splits, row), end = tensor_index(splits, row + 1);
        TRY(kernel_check(k));
        TRY(join(k, &j, tensor_int32s(numbers) + begin, end - begin, &block));
        tensor_strings_mut(out)[row] = text_block_end(&block);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "TFText>FastSentencepieceTokenize", DTYPES_ALL, .prepare = divide_prepare,
      .compute = divide_compute },
    { "TFText>FastSentencepieceDetokenize", DTYPES_ALL, .compute = join_compute },
};
const struct kernel_table kernels_fast_sentencepiece = { rows, COUNT(rows) };
