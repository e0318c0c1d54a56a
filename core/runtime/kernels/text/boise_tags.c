/*
 * boise_tags: TensorFlow Text's OffsetsToBoiseTags and BoiseTagsToOffsets. Tags tell where each
 * token stands in spans, such as names: B- begins one, I- is inside, E- ends one, S- is one, each
 * with the span's type; O is outside.
 */
#include "runtime/kernels/ragged/ragged_splits.h"
#include "runtime/kernels/text/text_block.h"
#include "runtime/kernels/text/token_list.h"

/* Are inputs first .. first + count vectors of one size, and the row splits of each, `count` inputs
 * from `splits` on, the same? */
static struct status check_columns(struct kernel_context *k, int first, int count, int splits)
{
    const struct tensor *values = kernel_input(k, first), *rows = kernel_input(k, splits);
    for (int i = 0; i < count; i++) {
        const struct tensor *others = kernel_input(k, first + i),
                            *other_rows = kernel_input(k, splits + i);
        TRY(kernel_vector(k, first + i, kernel_node(k)->op->inputs[first + i].name));
        if (others->size != values->size)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s has %lld elements, %s %lld",
                                kernel_node(k)->op->inputs[first + i].name, (long long)others->size,
                                kernel_node(k)->op->inputs[first].name, (long long)values->size);
        TRY(ragged_splits_check(other_rows, values->size));
        if (!tensor_equal(other_rows, rows))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s and %s differ",
                                kernel_node(k)->op->inputs[splits].name,
                                kernel_node(k)->op->inputs[splits + i].name);
    }
    return status_ok();
}

/* ---- tags of tokens ---- */

struct tagging {
    struct kernel_context *k;
    struct text_block block;
    bool strict; /* a span begins and ends where tokens do */
    const int32_t *begins, *ends, *span_begins, *span_ends;
    const struct bytes *types;
};

enum { TOKEN_BEGINS, TOKEN_ENDS, SPAN_BEGINS, SPAN_ENDS, SPAN_TYPES, TOKEN_ROWS, STRICT = 10 };
enum { SPAN_ROWS = TOKEN_ROWS + 2 };

static struct status make_tag(struct tagging *t, char letter, int64_t span, struct bytes *out)
{
    const char prefix[] = { letter, '-' };
    TRY(text_block_add(&t->block, prefix, sizeof prefix));
    TRY(text_block_add(&t->block, t->types[span].data, t->types[span].size));
    *out = text_block_end(&t->block);
    return status_ok();
}

/* The tag of a token, from the spans *span .. end. Those that end before the token are left behind.
 * A token that a span ends in, or that contains one, gets its tag from the last such span. */
static struct status tag_token(struct tagging *t, int64_t token, int64_t *span, int64_t end,
                               struct bytes *out)
{
    int32_t begins = t->begins[token], ends = t->ends[token];
    char letter = 'O';
    int64_t of = 0;
    for (; *span < end; ++*span) {
        int32_t first = t->span_begins[*span], last = t->span_ends[*span];
        if (ends <= first)
            break;
        if (begins >= last)
            continue;
        bool at_begin = begins <= first && ends <= last, at_end = begins >= first && ends >= last;
        if (at_begin && at_end) {
            TRY(make_tag(t, 'S', *span, out));
            ++*span;
            return status_ok();
        }
        if (at_begin) {
            if (t->strict && begins != first)
                break;
            return make_tag(t, 'B', *span, out);
        }
        if (at_end) {
            if (t->strict && ends != last) {
                ++*span;
                break;
            }
            letter = 'E';
        } else if (begins >= first) {
            return make_tag(t, 'I', *span, out);
        } else {
            letter = 'B';
        }
        of = *span;
    }
    *out = bytes_of("O");
    return letter == 'O' ? status_ok() : make_tag(t, letter, of, out);
}

static struct status tags_compute(struct kernel_context *k)
{
    struct tagging t = { .k = k, .block = { .arena = kernel_arena(k) } };
    const struct tensor *rows = kernel_input(k, TOKEN_ROWS), *spans = kernel_input(k, SPAN_ROWS);
    const struct tensor *strict;
    struct tensor *out;
    TRY(check_columns(k, TOKEN_BEGINS, 2, TOKEN_ROWS));
    TRY(check_columns(k, SPAN_BEGINS, 3, SPAN_ROWS));
    TRY(kernel_scalar(k, STRICT, "input_use_strict_boundary_mode", &strict));
    if (rows->size != spans->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "tokens have %lld rows, spans %lld",
                            (long long)rows->size - 1, (long long)spans->size - 1);
    TRY(kernel_output(k, 0, &kernel_input(k, TOKEN_BEGINS)->shape, &out));
    t.strict = tensor_bools(strict)[0];
    t.begins = tensor_int32s(kernel_input(k, TOKEN_BEGINS));
    t.ends = tensor_int32s(kernel_input(k, TOKEN_ENDS));
    t.span_begins = tensor_int32s(kernel_input(k, SPAN_BEGINS));
    t.span_ends = tensor_int32s(kernel_input(k, SPAN_ENDS));
    t.types = tensor_strings(kernel_input(k, SPAN_TYPES));
    for (int64_t row = 0; row + 1 < rows->size; row++) {
        int64_t span = tensor_index(spans, row);
        TRY(kernel_check(k));
        for (int64_t i = tensor_index(rows, row); i < tensor_index(rows, row + 1); i++)
            TRY(tag_token(&t, i, &span, tensor_index(spans, row + 1), &tensor_strings_mut(out)[i]));
    }
    return status_ok();
}

/* ---- spans of tags ---- */

enum { TAGS = 2, TAG_ROWS };

/* The letter of a tag; 0: it is none. */
static char letter_of(struct bytes tag)
{
    if (tag.size > 0 && tag.data[0] == 'O')
        return 'O';
    return tag.size >= 2 && tag.data[1] == '-' && memchr("BIES", tag.data[0], 4) != NULL
               ? tag.data[0]
               : 0;
}

/* The text after the letter, up to a NUL, as in TensorFlow Text. */
static struct bytes type_of(struct bytes tag)
{
    struct bytes type = { tag.data + 2, tag.size - 2 };
    return bytes_first(type, strnlen(type.data, type.size));
}

static struct status find_spans(struct token_list *list, int64_t first, int64_t end)
{
    const int32_t *begins = tensor_int32s(kernel_input(list->k, TOKEN_BEGINS));
    const int32_t *ends = tensor_int32s(kernel_input(list->k, TOKEN_ENDS));
    const struct bytes *tags = tensor_strings(kernel_input(list->k, TAGS));
    struct bytes type = { 0 };
    int64_t open = -1; /* the token that the span begins with */
    for (int64_t i = first; i < end; i++) {
        char letter = letter_of(tags[i]);
        if (letter == 'B' || letter == 'I') {
            type = type_of(tags[i]);
            open = open < 0 ? i : open;
        } else if (letter == 'E' || letter == 'S') {
            TRY(token_list_add(list, type_of(tags[i]), begins[open < 0 ? i : open], ends[i]));
            open = -1;
        } else if (letter == 'O' && open >= 0) {
            TRY(token_list_add(list, type, begins[open], ends[i - 1]));
            open = -1;
        }
    }
    return open < 0 ? status_ok() : token_list_add(list, type, begins[open], ends[end - 1]);
}

static struct status find_all_spans(struct token_list *list)
{
    struct kernel_context *k = list->k;
    const struct tensor *rows = kernel_input(k, TAG_ROWS);
    struct tensor *splits;
    TRY(check_columns(k, TOKEN_BEGINS, 3, TAG_ROWS));
    TRY(kernel_output(k, 3, &rows->shape, &splits));
    tensor_int64s_mut(splits)[0] = 0;
    for (int64_t row = 0; row + 1 < rows->size; row++) {
        TRY(kernel_check(k));
        TRY(find_spans(list, tensor_index(rows, row), tensor_index(rows, row + 1)));
        tensor_int64s_mut(splits)[row + 1] = list->count;
    }
    return token_list_output(list, 2, 0, 1);
}

static struct status spans_compute(struct kernel_context *k)
{
    struct token_list list = { .k = k };
    struct status status = find_all_spans(&list);
    token_list_finish(&list);
    return status;
}

static const struct kernel rows[] = {
    { "TFText>OffsetsToBoiseTags", DTYPES_ALL, .compute = tags_compute },
    { "TFText>BoiseTagsToOffsets", DTYPES_ALL, .compute = spans_compute },
};
const struct kernel_table kernels_boise_tags = { rows, COUNT(rows) };
