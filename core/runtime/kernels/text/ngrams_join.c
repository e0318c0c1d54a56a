/*
 * ngrams_join: TensorFlow Text's NgramsStringJoin, which joins each group of strings that follow
 * each other along the last axis: of a dense tensor, or of rows by the innermost of the row splits.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/ragged/ragged_splits.h"
#include "runtime/kernels/text/text_block.h"

#define WORDS_PER_CHECK 65536 /* of the deadline: empty words take no memory */

struct ngrams_join {
    int64_t width, axis;
    struct bytes separator;
};

/* The output of a join. */
struct ngram_joining {
    struct kernel_context *k;
    const struct ngrams_join *state;
    struct text_block block;
    int64_t words; /* that were added */
};

static struct status join_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct ngrams_join *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_int(node, "width", &state->width));
    TRY(node_attr_int(node, "axis", &state->axis));
    TRY(node_attr_string(node, "string_separator", &state->separator));
    if (state->width < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "width is %lld, expected at least 1",
                            (long long)state->width);
    if (state->axis != -1)
        return status_error(STATUS_UNIMPLEMENTED, "axis is %lld; only -1, the last, is implemented",
                            (long long)state->axis);
    return status_ok();
}

static int64_t groups_of(const struct ngrams_join *state, int64_t length)
{
    return length < state->width ? 0 : length - state->width + 1;
}

static struct status join_group(struct ngram_joining *j, const struct bytes *words,
                                struct bytes *out)
{
    for (int64_t i = 0; i < j->state->width; i++) {
        if (++j->words % WORDS_PER_CHECK == 0)
            TRY(kernel_check(j->k));
        if (i > 0)
            TRY(text_block_add(&j->block, j->state->separator.data, j->state->separator.size));
        TRY(text_block_add(&j->block, words[i].data, words[i].size));
    }
    *out = text_block_end(&j->block);
    return status_ok();
}

static struct status join_row(struct ngram_joining *j, const struct bytes *words, int64_t length,
                              struct bytes *out)
{
    for (int64_t i = 0; i < groups_of(j->state, length); i++)
        TRY(join_group(j, words + i, &out[i]));
    return status_ok();
}

static struct status join_dense(struct ngram_joining *j)
{
    const struct tensor *x = kernel_input(j->k, 0);
    struct shape shape = x->shape;
    struct tensor *out;
    if (shape.rank == 0)
        return kernel_error(j->k, STATUS_INVALID_ARGUMENT,
                            "input_values is a scalar, and has no last axis");
    int64_t *last = &shape.dims[shape.rank - 1], length = *last;
    *last = groups_of(j->state, length);
    TRY(kernel_output(j->k, 0, &shape, &out));
    int64_t rows = *last > 0 ? out->size / *last : 0; /* many rows may have no groups */
    for (int64_t row = 0; row < rows; row++)
        TRY(join_row(j, tensor_strings(x) + row * length, length,
                     tensor_strings_mut(out) + row * *last));
    return status_ok();
}

/* The outer splits stay unchanged: they count rows. */
static struct status join_rows(struct ngram_joining *j)
{
    int inner = kernel_inputs_count(j->k) - 1;
    const struct tensor *x = kernel_input(j->k, 0), *splits = kernel_input(j->k, inner);
    struct tensor *out, *out_splits;
    TRY(kernel_vector(j->k, 0, "input_values"));
    TRY(ragged_splits_check(splits, x->size));
    for (int i = 1; i < inner; i++)
        TRY(kernel_output_copy(j->k, i, i, &out_splits));
    TRY(kernel_output(j->k, inner, &splits->shape, &out_splits));
    tensor_int64s_mut(out_splits)[0] = 0;
    for (int64_t row = 0; row + 1 < splits->size; row++)
        tensor_int64s_mut(out_splits)[row + 1] =
            tensor_int64s(out_splits)[row] +
            groups_of(j->state, tensor_index(splits, row + 1) - tensor_index(splits, row));
    struct shape shape = shape_of(tensor_int64s(out_splits)[splits->size - 1]);
    TRY(kernel_output(j->k, 0, &shape, &out));
    for (int64_t row = 0; row + 1 < splits->size; row++) {
        int64_t begin = tensor_index(splits, row);
        TRY(join_row(j, tensor_strings(x) + begin, tensor_index(splits, row + 1) - begin,
                     tensor_strings_mut(out) + tensor_int64s(out_splits)[row]));
    }
    return status_ok();
}

static struct status join_compute(struct kernel_context *k)
{
    struct ngram_joining j = { .k = k,
                               .state = kernel_state(k),
                               .block = { .arena = kernel_arena(k) } };
    return kernel_inputs_count(k) == 1 ? join_dense(&j) : join_rows(&j);
}

static const struct kernel rows[] = {
    { "TFText>NgramsStringJoin", DTYPES_ALL, .prepare = join_prepare, .compute = join_compute },
};
const struct kernel_table kernels_ngrams_join = { rows, COUNT(rows) };
