/*
 * character_tokens: TensorFlow Text's tokenizers of texts that are given as the numbers of their
 * characters: WhitespaceTokenizeWithOffsets, and UnicodeScriptTokenizeWithOffsets, which divides
 * where the script changes as well.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/scripts.h"
#include "runtime/kernels/plain/text_class.h"
#include "runtime/kernels/ragged/ragged_splits.h"
#include "runtime/kernels/text/token_list.h"

struct character_tokens {
    bool by_script;
    bool keep_space; /* runs of white space are tokens */
};

static struct status script_prepare(struct prepare_context *p)
{
    struct character_tokens *state = prepare_state(p, sizeof *state, NULL);
    state->by_script = true;
    return node_attr_bool(prepare_node(p), "keep_whitespace", &state->keep_space);
}

static struct status space_prepare(struct prepare_context *p)
{
    prepare_state(p, sizeof(struct character_tokens), NULL);
    return status_ok();
}

/* Characters that follow each other and are alike are of one token. White space that is left out
 * ends a token of UnicodeScriptTokenizeWithOffsets only by its script, which is that of most signs:
 * "! 1" gives one token, "!1", as in TensorFlow Text. */
static bool are_alike(const struct character_tokens *state, int32_t a, int32_t b)
{
    if (!state->by_script)
        return text_is_space(a) == text_is_space(b);
    return script_of(a) == script_of(b) &&
           (!state->keep_space || text_is_space(a) == text_is_space(b));
}

static bool is_kept(const struct character_tokens *state, int32_t c)
{
    return state->keep_space || !text_is_space(c);
}

/* Adds the token of characters that are alike, without white space at its ends. */
static struct status add_token(struct token_list *list, const int32_t *characters, int64_t begin,
                               int64_t end)
{
    const struct character_tokens *state = kernel_state(list->k);
    while (begin < end && !is_kept(state, characters[begin]))
        begin++;
    while (begin < end && !is_kept(state, characters[end - 1]))
        end--;
    return begin < end ? token_list_add(list, (struct bytes){ 0 }, begin, end) : status_ok();
}

static struct status divide_row(struct token_list *list, const int32_t *characters, int64_t count)
{
    const struct character_tokens *state = kernel_state(list->k);
    for (int64_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count; end++)
            if (!are_alike(state, characters[end - 1], characters[end]))
                break;
        TRY(add_token(list, characters, begin, end));
    }
    return status_ok();
}

/* Appends the characters of a token that are kept. out: NULL: only counts them. */
static int64_t copy_kept(const struct character_tokens *state, const int32_t *characters,
                         const struct text_token *token, int32_t *out)
{
    int64_t count = 0;
    for (int64_t i = token->begin; i < token->end; i++) {
        if (!is_kept(state, characters[i]))
            continue;
        if (out != NULL)
            out[count] = characters[i];
        count++;
    }
    return count;
}

/* Walks over the tokens of all rows; writes where each begins in the values, and the values unless
 * they are NULL. Returns the number of values. */
static int64_t walk(const struct token_list *list, const struct tensor *outer, struct tensor *inner,
                    int32_t *values)
{
    const struct tensor *x = kernel_input(list->k, 0), *splits = kernel_input(list->k, 1);
    int64_t size = 0;
    tensor_set_index(inner, 0, 0);
    for (int64_t row = 0; row + 1 < outer->size; row++) {
        const int32_t *from = tensor_int32s(x) + tensor_index(splits, row);
        for (int64_t i = tensor_index(outer, row); i < tensor_index(outer, row + 1); i++) {
            size += copy_kept(kernel_state(list->k), from, &list->at[i],
                              values != NULL ? values + size : NULL);
            tensor_set_index(inner, i + 1, size);
        }
    }
    return size;
}

static struct status copy_tokens(const struct token_list *list, const struct tensor *outer)
{
    struct shape inner_shape = shape_of(list->count + 1);
    struct tensor *values, *inner;
    TRY(kernel_output(list->k, 1, &inner_shape, &inner));
    struct shape shape = shape_of(walk(list, outer, inner, NULL));
    TRY(kernel_output(list->k, 0, &shape, &values));
    walk(list, outer, inner, tensor_int32s_mut(values));
    return status_ok();
}

static struct status put_places(const struct token_list *list)
{
    struct shape shape = shape_of(list->count);
    struct tensor *begins, *ends;
    TRY(kernel_output(list->k, 2, &shape, &begins));
    TRY(kernel_output(list->k, 3, &shape, &ends));
    for (int64_t i = 0; i < list->count; i++) {
        tensor_set_index(begins, i, list->at[i].begin);
        tensor_set_index(ends, i, list->at[i].end);
    }
    return status_ok();
}

static struct status divide_all(struct token_list *list)
{
    struct kernel_context *k = list->k;
    const struct tensor *x = kernel_input(k, 0), *splits = kernel_input(k, 1);
    struct tensor *outer;
    TRY(kernel_vector(k, 0, "input_values"));
    TRY(ragged_splits_check(splits, x->size));
    TRY(kernel_output(k, 4, &splits->shape, &outer));
    tensor_set_index(outer, 0, 0);
    for (int64_t row = 0; row + 1 < splits->size; row++) {
        int64_t begin = tensor_index(splits, row);
        TRY(divide_row(list, tensor_int32s(x) + begin, tensor_index(splits, row + 1) - begin));
        tensor_set_index(outer, row + 1, list->count);
    }
    TRY(copy_tokens(list, outer));
    return put_places(list);
}

static struct status tokens_compute(struct kernel_context *k)
{
    struct token_list list = { .k = k };
    struct status status = divide_all(&list);
    token_list_finish(&list);
    return status;
}

static const struct kernel rows[] = {
    { "UnicodeScriptTokenizeWithOffsets", DTYPES_ALL, .prepare = script_prepare,
      .compute = tokens_compute },
    { "WhitespaceTokenizeWithOffsets", DTYPES_ALL, .prepare = space_prepare,
      .compute = tokens_compute },
};
const struct kernel_table kernels_character_tokens = { rows, COUNT(rows) };
