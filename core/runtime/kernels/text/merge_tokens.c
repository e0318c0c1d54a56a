/* merge_tokens: TensorFlow Text's SplitMergeTokenizeWithOffsets and TokenizerFromLogits, which make
 * tokens of the characters of a text. A label, or a pair of scores, says for each character whether
 * it begins a token or continues the last one. White space is left out. */
#include "base/utf8.h"
#include "runtime/kernels/plain/text_class.h"
#include "runtime/kernels/text/text_block.h"
#include "runtime/kernels/text/token_list.h"

struct merging_tokens {
    struct token_list list;
    struct text_block block; /* the text of the token that grows */
    bool space_divides;      /* a character after white space begins a token */
    int64_t begin, end;      /* of the token that grows; end 0: there is none */
};

/* Does character i begin a token? */
typedef bool begins_token(const void *of_text, int64_t i);

static struct status end_token(struct merging_tokens *m)
{
    int64_t end = m->end;
    m->end = 0;
    return end == 0 ? status_ok()
                    : token_list_add(&m->list, text_block_end(&m->block), m->begin, end);
}

static struct status divide(struct merging_tokens *m, struct bytes text, begins_token *begins,
                            const void *of_text)
{
    bool behind_space = false;
    size_t at = 0;
    for (int64_t i = 0; at < text.size; i++) {
        size_t size = utf8_stated_size(text.data + at, text.size - at);
        int32_t character;
        utf8_read(text.data + at, size, &character);
        bool is_space = text_is_space(character);
        if (!is_space) {
            if (m->end == 0 || (behind_space && m->space_divides) || begins(of_text, i)) {
                TRY(end_token(m));
                m->begin = (int64_t)at;
            }
            m->end = (int64_t)(at + size);
            TRY(text_block_add(&m->block, text.data + at, size));
        }
        behind_space = is_space;
        at += size;
    }
    return end_token(m);
}

static int64_t count_characters(struct bytes text)
{
    int64_t count = 0;
    for (size_t at = 0; at < text.size; count++)
        at += utf8_stated_size(text.data + at, text.size - at);
    return count;
}

/* The number of bytes of a text that an error shows. */
static int shown_size(struct bytes text)
{
    return (int)bytes_first(text, 1000).size;
}

static struct status make_splits(struct kernel_context *k, struct tensor **splits)
{
    struct shape shape = shape_of(kernel_input(k, 0)->size + 1);
    TRY(kernel_output(k, 1, &shape, splits));
    tensor_int64s_mut(*splits)[0] = 0;
    return status_ok();
}

/* ---- SplitMergeTokenizeWithOffsets ---- */

static bool label_begins(const void *labels, int64_t i)
{
    return ((const int32_t *)labels)[i] == 0;
}

static struct status check_labels(struct kernel_context *k)
{
    const struct tensor *texts = kernel_input(k, 0), *labels = kernel_input(k, 1),
                        *splits = kernel_input(k, 2);
    TRY(kernel_vector(k, 0, "input_values"));
    TRY(kernel_vector(k, 1, "labels"));
    if (splits->shape.rank != 1 || splits->size != texts->size + 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expecting row_splits have %lld elements, got %lld",
                            (long long)texts->size + 1, (long long)splits->size);
    for (int64_t i = 0; i < splits->size; i++) {
        int64_t at = tensor_index(splits, i), before = i > 0 ? tensor_index(splits, i - 1) : 0;
        if (at < before || at > labels->size)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "row_splits[%lld] is %lld, after %lld, with %lld labels",
                                (long long)i, (long long)at, (long long)before,
                                (long long)labels->size);
    }
    return status_ok();
}

static struct status divide_by_labels(struct merging_tokens *m)
{
    struct kernel_context *k = m->list.k;
    const struct tensor *texts = kernel_input(k, 0), *row_splits = kernel_input(k, 2);
    struct tensor *splits;
    TRY(check_labels(k));
    TRY(node_attr_bool(kernel_node(k), "force_split_at_break_character", &m->space_divides));
    TRY(make_splits(k, &splits));
    for (int64_t i = 0; i < texts->size; i++) {
        struct bytes text = tensor_strings(texts)[i];
        int64_t begin = tensor_index(row_splits, i), end = tensor_index(row_splits, i + 1);
        TRY(kernel_check(k));
        if (count_characters(text) > end - begin)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Number of labels %lld is insufficient for text %.*s",
                                (long long)(end - begin), shown_size(text), text.data);
        TRY(divide(m, text, label_begins, tensor_int32s(kernel_input(k, 1)) + begin));
        tensor_int64s_mut(splits)[i + 1] = m->list.count;
    }
    return token_list_output(&m->list, 0, 2, 3);
}

static struct status labels_compute(struct kernel_context *k)
{
    struct merging_tokens m = { .list = { .k = k }, .block = { .arena = kernel_arena(k) } };
    struct status status = divide_by_labels(&m);
    token_list_finish(&m.list);
    return status;
}

/* ---- TokenizerFromLogits ---- */

enum { SPLIT, MERGE, ACTIONS };

static bool scores_begin(const void *logits, int64_t i)
{
    const float *scores = (const float *)logits + ACTIONS * i;
    return scores[SPLIT] > scores[MERGE];
}

static struct status check_logits(struct kernel_context *k)
{
    const struct tensor *texts = kernel_input(k, 0), *logits = kernel_input(k, 1);
    TRY(kernel_vector(k, 0, "strings"));
    if (logits->shape.rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "logits must have rank 3, got shape %s",
                            shape_text(&logits->shape));
    if (logits->shape.dims[0] != texts->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expecting logits to have %lld rows, got %lld", (long long)texts->size,
                            (long long)logits->shape.dims[0]);
    if (logits->shape.dims[2] != ACTIONS)
        return kernel_error(k, STATUS_INTERNAL, "Bad logits dimension #2: %lld != 2",
                            (long long)logits->shape.dims[2]);
    return status_ok();
}

static struct status divide_by_scores(struct merging_tokens *m)
{
    struct kernel_context *k = m->list.k;
    const struct tensor *texts = kernel_input(k, 0), *logits = kernel_input(k, 1), *divides;
    struct tensor *splits;
    TRY(check_logits(k));
    TRY(kernel_scalar(k, 2, "force_split_at_break_character", &divides));
    m->space_divides = tensor_bools(divides)[0];
    TRY(make_splits(k, &splits));
    int64_t most = logits->shape.dims[1];
    for (int64_t i = 0; i < texts->size; i++) {
        struct bytes text = tensor_strings(texts)[i];
        TRY(kernel_check(k));
        if (count_characters(text) > most)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Number of logits, %lld, is insufficient for text \"%.*s\"",
                                (long long)most, shown_size(text), text.data);
        TRY(divide(m, text, scores_begin, tensor_floats(logits) + ACTIONS * most * i));
        tensor_int64s_mut(splits)[i + 1] = m->list.count;
    }
    return token_list_output(&m->list, 0, 2, 3);
}

static struct status scores_compute(struct kernel_context *k)
{
    struct merging_tokens m = { .list = { .k = k }, .block = { .arena = kernel_arena(k) } };
    struct status status = divide_by_scores(&m);
    token_list_finish(&m.list);
    return status;
}

static const struct kernel rows[] = {
    { "SplitMergeTokenizeWithOffsets", DTYPES_ALL, .compute = labels_compute },
    { "TokenizerFromLogits", DTYPES_ALL, .compute = scores_compute },
};
const struct kernel_table kernels_merge_tokens = { rows, COUNT(rows) };
