/*
 * document_fragments: TensorFlow Text's SentenceFragmentsV2, which finds where sentences may end in
 * whole texts.
 *
 * A fragment begins after white space. It ends after marks without white space between them: one
 * that ends a sentence, more of these, and then brackets that are closed. Texts are read byte by
 * byte, as TensorFlow Text does: a byte inside a character is no sign.
 */
#include "base/utf8.h"
#include "runtime/kernels/plain/text_class.h"
#include "runtime/kernels/text/fragment_list.h"

#define MARKS_PER_CHECK 65536 /* of the deadline */

static const struct bytes faces[] = {
#define FACE(text) { text, sizeof(text) - 1 },
#include "runtime/kernels/text/faces.def"
#undef FACE
};

/* The mark, if any, at one position of a text. */
struct sentence_mark {
    bool is_terminal, is_ellipsis, is_face, closes;
    size_t size; /* to the next place */
};

/* The ends of a fragment: of its marks, of the brackets after them, and of all. Without a mark, all
 * three are the end of the text. */
struct fragment_end {
    size_t terminal, closes, end;
};

/* One text while it is divided, and the fragments of all. */
struct divided_document {
    struct fragment_list list;
    struct bytes text;
    int64_t marks; /* that were read */
};

static bool starts_with(struct bytes text, struct bytes start)
{
    return bytes_equal(bytes_first(text, start.size), start);
}

/* The size of the longest face at the start of the text, such as ":-)"; 0: there is none. */
static size_t face_size(struct bytes text)
{
    static const char first[] = "#(*-038:;<=>BDOTX^oux|}~";
    size_t size = 0;
    if (text.size < 2 || memchr(first, text.data[0], sizeof first - 1) == NULL)
        return 0;
    for (size_t i = 0; i < COUNT(faces); i++)
        if (faces[i].size > size && starts_with(text, faces[i]))
            size = faces[i].size;
    return size;
}

/* The size of capital letters, at least two, with a full stop after each; 0: there are none. */
static size_t acronym_size(struct bytes text)
{
    size_t size = 0;
    while (size + 1 < text.size && text.data[size] >= 'A' && text.data[size] <= 'Z' &&
           text.data[size + 1] == '.')
        size += 2;
    return size > 2 ? size : 0;
}

static struct status read_mark(struct divided_document *d, size_t at, struct sentence_mark *mark)
{
    struct bytes rest = { d->text.data + at, d->text.size - at };
    int32_t character;
    *mark = (struct sentence_mark){ .size = 1 };
    if (rest.size == 0)
        return status_ok();
    size_t size = utf8_read(rest.data, rest.size, &character), face = face_size(rest);
    bool has_dots = starts_with(rest, bytes_of("..."));
    mark->is_ellipsis = has_dots || character == 0x2026;
    mark->is_terminal = has_dots || sentence_sign(character, SIGN_TERMINAL);
    mark->is_face = face > 0;
    mark->closes = sentence_sign(character, SIGN_CLOSES);
    if (mark->is_terminal || mark->closes)
        mark->size = has_dots ? 3 : size;
    if (mark->is_face)
        mark->size = face;
    return ++d->marks % MARKS_PER_CHECK == 0 ? kernel_check(d->list.k) : status_ok();
}

/* Finds the first mark; *next is the place after it. */
static struct status find_terminal(struct divided_document *d, size_t begin, size_t *out,
                                   size_t *next)
{
    struct sentence_mark mark;
    for (*out = *next = begin; *out < d->text.size; *out = ++*next) {
        struct bytes rest = { d->text.data + *out, d->text.size - *out };
        size_t acronym = acronym_size(rest);
        TRY(read_mark(d, *out, &mark));
        if (!mark.is_terminal && !mark.is_face && acronym == 0)
            continue;
        *next += acronym > 0 && !mark.is_face ? acronym : mark.size;
        break;
    }
    return status_ok();
}

static struct status find_end(struct divided_document *d, size_t begin, struct fragment_end *out)
{
    struct sentence_mark mark;
    TRY(find_terminal(d, begin, &out->terminal, &out->closes));
    for (;; out->closes += mark.size) {
        TRY(read_mark(d, out->closes, &mark));
        if (!mark.is_terminal && !mark.is_face)
            break;
    }
    for (out->end = out->closes;; out->end += mark.size) {
        TRY(read_mark(d, out->end, &mark));
        bool is_behind = out->end > out->closes && (mark.is_ellipsis || mark.is_face);
        if (!mark.closes && !is_behind)
            return status_ok();
    }
}

/* An ellipsis or a face is a part of the sentence if a sign follows it. */
static struct status adjust_terminal(struct divided_document *d, const struct fragment_end *found,
                                     int64_t *out)
{
    struct sentence_mark mark;
    *out = (int64_t)found->terminal;
    for (size_t at = found->closes; at > found->terminal; at--) {
        TRY(read_mark(d, at, &mark));
        if (!mark.is_ellipsis && !mark.is_face)
            continue;
        *out = (int64_t)(at == found->closes ? found->terminal : at);
        break;
    }
    return status_ok();
}

/* Does a sign that is no ellipsis and no face follow the first mark? */
static struct status has_several(struct divided_document *d, const struct fragment_end *found,
                                 bool *out)
{
    struct sentence_mark mark;
    *out = false;
    for (size_t at = found->terminal; at < found->closes && !*out;
         at += mark.is_ellipsis || mark.is_face ? mark.size : 1) {
        TRY(read_mark(d, at, &mark));
        *out = at > found->terminal && mark.is_terminal && !mark.is_ellipsis && !mark.is_face;
    }
    return status_ok();
}

static struct status has_closed(struct divided_document *d, const struct fragment_end *found,
                                bool *out)
{
    struct sentence_mark mark = { 0 };
    for (size_t at = found->closes; at < found->end && !mark.closes; at++)
        TRY(read_mark(d, at, &mark));
    *out = mark.closes;
    return status_ok();
}

static struct status add_fragment(struct divided_document *d, size_t begin, size_t *end)
{
    struct sentence_fragment fragment = { .begin = (int64_t)begin, .terminal = -1 };
    struct fragment_end found;
    bool several, closed;
    TRY(find_end(d, begin, &found));
    fragment.end = (int64_t)found.end;
    if (found.terminal < d->text.size) {
        TRY(adjust_terminal(d, &found, &fragment.terminal));
        TRY(has_several(d, &found, &several));
        TRY(has_closed(d, &found, &closed));
        fragment.properties = FRAGMENT_TERMINAL | (several ? FRAGMENT_SEVERAL_TERMINAL : 0) |
                              (closed ? FRAGMENT_CLOSES : 0);
    }
    *end = found.end;
    return fragment_list_add(&d->list, fragment);
}

static struct status add_text(struct divided_document *d)
{
    TRY(kernel_check(d->list.k));
    for (size_t at = 0; at < d->text.size;) {
        int32_t character;
        utf8_read(d->text.data + at, d->text.size - at, &character);
        if (text_is_space(character))
            at++;
        else
            TRY(add_fragment(d, at, &at));
    }
    return status_ok();
}

static struct status divide_all(struct divided_document *d)
{
    struct kernel_context *k = d->list.k;
    const struct tensor *texts = kernel_input(k, 0);
    struct tensor *lengths;
    TRY(kernel_vector(k, 0, "doc"));
    TRY(kernel_output(k, FRAGMENT_COLUMNS, &texts->shape, &lengths));
    for (int64_t i = 0; i < texts->size; i++) {
        int64_t before = d->list.count;
        d->text = tensor_strings(texts)[i];
        TRY(add_text(d));
        tensor_int64s_mut(lengths)[i] = d->list.count - before;
    }
    return fragment_list_output(&d->list);
}

static struct status documents_compute(struct kernel_context *k)
{
    struct divided_document d = { .list = { .k = k } };
    struct status status = divide_all(&d);
    tensor_release(&d.list.memory);
    return status;
}

static const struct kernel rows[] = {
    { "SentenceFragmentsV2", DTYPES_ALL, .compute = documents_compute },
};
const struct kernel_table kernels_document_fragments = { rows, COUNT(rows) };
