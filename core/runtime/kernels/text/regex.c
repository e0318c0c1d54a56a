/* regex: ops that replace what a regular expression matches, or test for a match. */
#include "base/utf8.h"
#include "runtime/kernel.h"
#include "runtime/kernels/text/regex_pattern.h"
#include "runtime/kernels/text/text_block.h"

struct regex_state {
    struct regex *regex; /* NULL: the pattern is an input */
    struct bytes rewrite;
    bool global;
};

static void destroy_state(void *state)
{
    regex_destroy(((struct regex_state *)state)->regex);
}

static struct status static_match_prepare(struct prepare_context *p)
{
    struct regex_state *state = prepare_state(p, sizeof *state, destroy_state);
    struct bytes pattern;

    TRY(node_attr_string(prepare_node(p), "pattern", &pattern));
    return regex_compile(pattern, &state->regex);
}

static struct status replace_prepare(struct prepare_context *p)
{
    struct regex_state *state = prepare_state(p, sizeof *state, destroy_state);

    return node_attr_bool(prepare_node(p), "replace_global", &state->global);
}

static struct status static_replace_prepare(struct prepare_context *p)
{
    struct regex_state *state = prepare_state(p, sizeof *state, destroy_state);
    struct bytes pattern;

    TRY(node_attr_bool(prepare_node(p), "replace_global", &state->global));
    TRY(node_attr_string(prepare_node(p), "rewrite", &state->rewrite));
    TRY(node_attr_string(prepare_node(p), "pattern", &pattern));
    return regex_compile(pattern, &state->regex);
}

/* ---- replacing ---- */

struct replacing {
    struct kernel_context *k;
    const struct regex *regex;
    struct bytes rewrite;
    bool global;
    struct text_block block;
    size_t searched;
};

/* The number of spans that a rewrite takes: the match, and the groups up to the last it names.
 * It is wrong if a backslash is not followed by a digit or a backslash. */
static int count_spans(struct bytes rewrite, bool *wrong)
{
    int count = 1;

    *wrong = false;
    for (size_t i = 0; i < rewrite.size; i++) {
        if (rewrite.data[i] != '\\')
            continue;
        char c = ++i < rewrite.size ? rewrite.data[i] : '\0';
        if (c >= '0' && c <= '9')
            count = c - '0' >= count ? c - '0' + 1 : count;
        else if (c != '\\')
            *wrong = true;
    }
    return count;
}

/* Appends the replacement of a match. RE2 ends it at a wrong backslash, and so does this. */
static struct status add_rewrite(struct text_block *block, struct bytes rewrite, struct bytes text,
                                 const struct regex_span *spans)
{
    for (size_t i = 0; i < rewrite.size; i++) {
        char c = rewrite.data[i];
        if (c != '\\') {
            TRY(text_block_add(block, &c, 1));
            continue;
        }
        c = ++i < rewrite.size ? rewrite.data[i] : '\0';
        if (c == '\\') {
            TRY(text_block_add(block, &c, 1));
        } else if (c >= '0' && c <= '9') {
            const struct regex_span *span = &spans[c - '0'];
            if (span->begin < span->end)
                TRY(text_block_add(block, text.data + span->begin, span->end - span->begin));
        } else {
            break;
        }
    }
    return status_ok();
}

/* Copies the character at *at; the search continues after it. */
static struct status pass_character(struct text_block *block, struct bytes text, size_t *at)
{
    int32_t character;
    size_t size = *at < text.size ? utf8_read(text.data + *at, text.size - *at, &character) : 1;

    if (*at < text.size && character < 0)
        size = 1;
    if (*at < text.size)
        TRY(text_block_add(block, text.data + *at, size));
    *at += size;
    return status_ok();
}

/* As RE2::GlobalReplace, or RE2::Replace, which stops after the first match. An empty match
 * right after another match does not count. Each search may read the rest of the text: together,
 * they take time quadratic in it. */
static struct status replace(struct replacing *r, struct bytes text, struct bytes *out)
{
    struct regex_span spans[REGEX_SPANS_MAX] = { { 0 } };
    struct text_block *block = &r->block;
    size_t at = 0, behind = SIZE_MAX;
    bool wrong, matches, matched = false;
    int count = count_spans(r->rewrite, &wrong);

    *out = text;
    if (count > 1 + regex_groups(r->regex) || (wrong && !r->global)) /* RE2 replaces nothing */
        return status_ok();
    while (at <= text.size && (r->global || !matched)) {
        TRY(regex_count(r->k, text.size - at, &r->searched));
        TRY(regex_matched(regex_find(r->regex, text.data, text.size, at, spans, count), &matches));
        if (!matches)
            break;
        if (spans[0].begin > at)
            TRY(text_block_add(block, text.data + at, spans[0].begin - at));
        at = spans[0].begin;
        if (at == behind && spans[0].end == at) {
            TRY(pass_character(block, text, &at));
            continue;
        }
        TRY(add_rewrite(block, r->rewrite, text, spans));
        at = behind = spans[0].end;
        matched = true;
    }
    if (!matched) {
        text_block_end(block);
        return status_ok();
    }
    if (at < text.size)
        TRY(text_block_add(block, text.data + at, text.size - at));
    *out = text_block_end(block);
    return status_ok();
}

static struct status replace_all(struct kernel_context *k, const struct regex *regex,
                                 struct bytes rewrite, bool global)
{
    struct replacing r = { .k = k,
                           .regex = regex,
                           .rewrite = rewrite,
                           .global = global,
                           .block = { .arena = kernel_arena(k) } };
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;

    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++)
        TRY(replace(&r, tensor_strings(x)[i], &tensor_strings_mut(out)[i]));
    return status_ok();
}

static struct status static_replace_compute(struct kernel_context *k)
{
    const struct regex_state *state = kernel_state(k);

    return replace_all(k, state->regex, state->rewrite, state->global);
}

static struct status check_scalar(struct kernel_context *k, int index, const char *name)
{
    const struct shape *shape = &kernel_input(k, index)->shape;

    return shape->rank == 0
               ? status_ok()
               : status_error(STATUS_INVALID_ARGUMENT, "%s must be scalar, but received %s", name,
                              shape_text(shape));
}

static struct status replace_compute(struct kernel_context *k)
{
    const struct regex_state *state = kernel_state(k);
    struct regex *regex;

    TRY(check_scalar(k, 1, "Pattern"));
    TRY(check_scalar(k, 2, "Rewrite"));
    TRY(regex_compile(tensor_strings(kernel_input(k, 1))[0], &regex));
    struct status status =
        replace_all(k, regex, tensor_strings(kernel_input(k, 2))[0], state->global);
    regex_destroy(regex);
    return status;
}

/* ---- matching ---- */

static struct status match_all(struct kernel_context *k, const struct regex *regex)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    size_t searched = 0;

    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        struct bytes text = tensor_strings(x)[i];
        TRY(regex_count(k, text.size, &searched));
        TRY(regex_matched(regex_match_all(regex, text.data, text.size), &tensor_bools_mut(out)[i]));
    }
    return status_ok();
}

static struct status static_match_compute(struct kernel_context *k)
{
    const struct regex_state *state = kernel_state(k);

    return match_all(k, state->regex);
}

static struct status match_compute(struct kernel_context *k)
{
    struct regex *regex;

    TRY(check_scalar(k, 1, "Pattern"));
    TRY(regex_compile(tensor_strings(kernel_input(k, 1))[0], &regex));
    struct status status = match_all(k, regex);
    regex_destroy(regex);
    return status;
}

static const struct kernel rows[] = {
    { "StaticRegexReplace", DTYPES_ALL, .prepare = static_replace_prepare,
      .compute = static_replace_compute },
    { "RegexReplace", DTYPES_ALL, .prepare = replace_prepare, .compute = replace_compute },
    { "StaticRegexFullMatch", DTYPES_ALL, .prepare = static_match_prepare,
      .compute = static_match_compute },
    { "RegexFullMatch", DTYPES_ALL, .compute = match_compute },
};
const struct kernel_table kernels_regex = { rows, COUNT(rows) };
