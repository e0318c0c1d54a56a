/* regex_split: TensorFlow Text's RegexSplitWithOffsets, which cuts texts at a pattern. */
#include "runtime/kernels/text/regex_pattern.h"
#include "runtime/kernels/text/token_list.h"

struct split_patterns {
    struct regex *delimiter; /* its first group is what divides */
    struct regex *kept;      /* delimiters that match it are tokens. NULL: none are */
};

static struct bytes part(struct bytes text, size_t begin, size_t end)
{
    return (struct bytes){ text.data + begin, end - begin };
}

/* As RE2::FindAndConsume with one group: a pattern without groups is found nowhere. TensorFlow
 * crashes where the group takes no part in the match, and does not end where a match is empty. */
static struct status find_delimiter(const struct split_patterns *patterns, struct bytes rest,
                                    struct regex_span spans[2], bool *found)
{
    *found = false;
    if (regex_groups(patterns->delimiter) == 0)
        return status_ok();
    TRY(regex_matched(regex_find(patterns->delimiter, rest.data, rest.size, 0, spans, 2), found));
    if (*found && spans[0].begin == spans[0].end)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "delim_regex_pattern matches an empty text: nothing would be divided");
    if (*found && spans[1].begin > spans[1].end)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "delim_regex_pattern matches without its first group, which is to be "
                            "the delimiter");
    return status_ok();
}

static struct status is_kept(const struct split_patterns *patterns, struct bytes delimiter,
                             bool *out)
{
    *out = false;
    return patterns->kept == NULL
               ? status_ok()
               : regex_matched(regex_match_all(patterns->kept, delimiter.data, delimiter.size),
                               out);
}

/* A text ends at a NUL, as in TensorFlow Text. The search for the next delimiter does not see
 * the text before it: `^` matches after each one. */
static struct status split(struct token_list *list, const struct split_patterns *patterns,
                           struct bytes text, size_t *searched)
{
    size_t at = 0;
    text.size = text.size > 0 ? strnlen(text.data, text.size) : 0;
    for (;;) {
        struct bytes rest = part(text, at, text.size);
        struct regex_span spans[2];
        bool found, kept;
        TRY(regex_count(list->k, rest.size, searched));
        TRY(find_delimiter(patterns, rest, spans, &found));
        if (!found)
            break;
        size_t begin = at + spans[1].begin, end = at + spans[1].end;
        if (begin > at)
            TRY(token_list_add(list, part(text, at, begin), (int64_t)at, (int64_t)begin));
        TRY(is_kept(patterns, part(text, begin, end), &kept));
        if (kept)
            TRY(token_list_add(list, part(text, begin, end), (int64_t)begin, (int64_t)end));
        at += spans[0].end;
    }
    return at < text.size
               ? token_list_add(list, part(text, at, text.size), (int64_t)at, (int64_t)text.size)
               : status_ok();
}

static struct status split_all(struct token_list *list, const struct split_patterns *patterns)
{
    const struct tensor *x = kernel_input(list->k, 0);
    struct shape shape = shape_of(x->size + 1);
    struct tensor *splits;
    size_t searched = 0;
    TRY(kernel_output(list->k, 3, &shape, &splits));
    tensor_int64s_mut(splits)[0] = 0;
    for (int64_t i = 0; i < x->size; i++) {
        TRY(split(list, patterns, tensor_strings(x)[i], &searched));
        tensor_int64s_mut(splits)[i + 1] = list->count;
    }
    return token_list_output(list, 0, 1, 2);
}

static struct status compile_both(struct kernel_context *k, struct split_patterns *out)
{
    const struct tensor *delimiter, *kept;
    TRY(kernel_scalar(k, 1, "delim_regex_pattern", &delimiter));
    TRY(kernel_scalar(k, 2, "keep_delim_regex_pattern", &kept));
    TRY(regex_compile(tensor_strings(delimiter)[0], &out->delimiter));
    return tensor_strings(kept)[0].size > 0 ? regex_compile(tensor_strings(kept)[0], &out->kept)
                                            : status_ok();
}

static struct status split_compute(struct kernel_context *k)
{
    struct split_patterns patterns = { 0 };
    struct token_list list = { .k = k };
    struct status status = compile_both(k, &patterns);
    if (status_is_ok(status))
        status = split_all(&list, &patterns);
    token_list_finish(&list);
    regex_destroy(patterns.delimiter);
    regex_destroy(patterns.kept);
    return status;
}

static const struct kernel rows[] = {
    { "RegexSplitWithOffsets", DTYPES_ALL, .compute = split_compute },
};
const struct kernel_table kernels_regex_split = { rows, COUNT(rows) };
