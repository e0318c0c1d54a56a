/*
 * sentence_fragments: TensorFlow Text's SentenceFragments, which finds where sentences may end in
 * texts that are given as tokens.
 *
 * A fragment ends after signs that end sentences, such as "?!", and brackets that are closed there.
 */
#include "base/utf8.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/text/fragment_list.h"
#include "runtime/kernels/text/unicode.h"

#define TOKENS_PER_CHECK 65536 /* of the deadline */

enum { TOKEN_EMOTICON = 0x80, TOKEN_ACRONYM = 0x100 }; /* bits of the input */

enum { ROW_LENGTHS, TOKEN_STARTS, TOKEN_ENDS, WORDS, PROPERTIES };

/* The tokens of one text, and the fragments of all. */
struct fragmenting {
    struct kernel_context *k;
    const struct bytes *words;
    const int64_t *properties;
    int64_t count;
    bool in_brackets; /* the bracket that was opened last was the first token of its fragment */
    struct fragment_list list;
};

/* Is the word one character of that kind? */
static bool is_sign(const struct fragmenting *f, int64_t i, enum sign_kind kind)
{
    struct bytes word = f->words[i];
    int32_t character;
    return utf8_read(word.data, word.size, &character) == word.size &&
           sentence_sign(character, kind);
}

static bool is_ellipsis(const struct fragmenting *f, int64_t i)
{
    return bytes_equal(f->words[i], bytes_of("...")) ||
           bytes_equal(f->words[i], bytes_of("\xe2\x80\xa6"));
}

static bool is_emoticon(const struct fragmenting *f, int64_t i)
{
    return (f->properties[i] & TOKEN_EMOTICON) != 0;
}

/* May the sentence end here, for sure or as the word is used? */
static bool is_terminal(const struct fragmenting *f, int64_t i)
{
    return is_sign(f, i, SIGN_TERMINAL) || is_ellipsis(f, i) || is_emoticon(f, i);
}

static bool is_dotted_acronym(const struct fragmenting *f, int64_t i)
{
    return (f->properties[i] & TOKEN_ACRONYM) != 0 && f->words[i].data[f->words[i].size - 1] == '.';
}

/* Finds the sign that ends the fragment, the first token after the signs, and the first one after
 * the brackets. If there is none, all of them are the end of the text. */
static struct status find_end(const struct fragmenting *f, int64_t begin, int64_t *terminal,
                              int64_t *closes, int64_t *end)
{
    int64_t i = begin;
    while (i < f->count && !is_terminal(f, i) && !is_dotted_acronym(f, i))
        if (++i % TOKENS_PER_CHECK == 0)
            TRY(kernel_check(f->k));
    *terminal = i;
    for (i += i < f->count; i < f->count && is_terminal(f, i);)
        i++;
    *closes = i;
    while (i < f->count && (is_sign(f, i, SIGN_CLOSES) || is_ellipsis(f, i) || is_emoticon(f, i)))
        i++;
    *end = i;
    return status_ok();
}

/* An ellipsis or an emoticon is a part of the sentence if a sign follows it. */
static int64_t adjust_terminal(const struct fragmenting *f, int64_t terminal, int64_t closes)
{
    for (int64_t i = closes; i > terminal; i--)
        if (is_ellipsis(f, i - 1) || is_emoticon(f, i - 1))
            return i == closes ? terminal : i;
    return terminal;
}

static int64_t properties_of(const struct fragmenting *f, int64_t terminal, int64_t closes,
                             int64_t end)
{
    int64_t bits = FRAGMENT_TERMINAL;
    for (int64_t i = terminal + 1; i < closes; i++)
        if (!is_ellipsis(f, i) && !is_emoticon(f, i))
            bits |= FRAGMENT_SEVERAL_TERMINAL;
    for (int64_t i = closes; i < end; i++)
        if (is_sign(f, i, SIGN_CLOSES))
            bits |= FRAGMENT_CLOSES | (f->in_brackets ? FRAGMENT_IN_BRACKETS : 0);
    return bits;
}

static struct status add_fragment(struct fragmenting *f, int64_t begin, int64_t *next)
{
    struct sentence_fragment fragment = { .begin = begin, .terminal = -1 };
    int64_t terminal, closes, end;
    TRY(find_end(f, begin, &terminal, &closes, &end));
    for (int64_t i = end; i > begin; i--)
        if (is_sign(f, i - 1, SIGN_OPENS)) {
            f->in_brackets = i - 1 == begin;
            break;
        }
    fragment.end = *next = end;
    if (terminal < f->count) {
        fragment.properties = properties_of(f, terminal, closes, end);
        fragment.terminal = adjust_terminal(f, terminal, closes);
    }
    return fragment_list_add(&f->list, fragment);
}

static struct status add_text(struct fragmenting *f)
{
    f->in_brackets = false;
    TRY(kernel_check(f->k));
    for (int64_t i = 0; i < f->count; i++)
        if (f->words[i].size == 0)
            return kernel_error(f->k, STATUS_INTERNAL, "Failed to decode string, error status=8");
    for (int64_t at = 0; at < f->count;)
        TRY(add_fragment(f, at, &at));
    return status_ok();
}

static struct status check_tokens(struct kernel_context *k)
{
    const struct tensor *lengths = kernel_input(k, ROW_LENGTHS), *words = kernel_input(k, WORDS);
    int64_t total = 0;
    for (int i = ROW_LENGTHS; i <= PROPERTIES; i++)
        if (kernel_input(k, i)->shape.rank != 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "'%s' must be a vector, got shape: %s",
                                kernel_node(k)->op->inputs[i].name,
                                shape_text(&kernel_input(k, i)->shape));
    for (int64_t i = 0; i < lengths->size; i++) {
        int64_t length = tensor_int64s(lengths)[i];
        if (length < 0 || length > words->size - total)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "row_lengths[%lld] is %lld, with %lld tokens left", (long long)i,
                                (long long)length, (long long)(words->size - total));
        total += length;
    }
    for (int i = TOKEN_STARTS; i <= PROPERTIES; i++)
        if (kernel_input(k, i)->size != total)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "num_elements(%lld) and '%s'(%lld) must be the same size.",
                                (long long)total, kernel_node(k)->op->inputs[i].name,
                                (long long)kernel_input(k, i)->size);
    return status_ok();
}

static struct status find_all(struct fragmenting *f)
{
    struct kernel_context *k = f->k;
    const struct tensor *lengths = kernel_input(k, ROW_LENGTHS);
    struct tensor *out_lengths;
    TRY(check_tokens(k));
    TRY(kernel_output(k, FRAGMENT_COLUMNS, &lengths->shape, &out_lengths));
    f->words = tensor_strings(kernel_input(k, WORDS));
    f->properties = tensor_int64s(kernel_input(k, PROPERTIES));
    for (int64_t i = 0; i < lengths->size; i++) {
        int64_t before = f->list.count;
        f->count = tensor_int64s(lengths)[i];
        TRY(add_text(f));
        tensor_int64s_mut(out_lengths)[i] = f->list.count - before;
        f->words += f->count;
        f->properties += f->count;
    }
    return fragment_list_output(&f->list);
}

static struct status fragments_compute(struct kernel_context *k)
{
    struct fragmenting f = { .k = k, .list = { .k = k } };
    struct status status = find_all(&f);
    tensor_release(&f.list.memory);
    return status;
}

/* Words of other encodings than UTF-8 could not be told from signs. */
static struct status fragments_prepare(struct prepare_context *p)
{
    static const char *const names[] = { "UTF-8", "utf-8", "UTF8", "utf8" };
    const struct node *node = prepare_node(p);
    struct bytes encoding;
    int32_t replacement;
    TRY(node_attr_string(node, "input_encoding", &encoding));
    TRY(node_attr_character(node, "replacement_char", &replacement));
    if (BYTES_FIND(encoding, names) < 0)
        return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s): input_encoding '%.*s'",
                            node->name, node->op_name, (int)encoding.size, encoding.data);
    return status_ok();
}

static const struct kernel rows[] = {
    { "SentenceFragments", DTYPES_ALL, .prepare = fragments_prepare, .compute = fragments_compute },
};
const struct kernel_table kernels_sentence_fragments = { rows, COUNT(rows) };
