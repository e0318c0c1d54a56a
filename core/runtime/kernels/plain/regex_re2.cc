// The edge to RE2: its types and exceptions stay in this file.
#include "runtime/kernels/plain/regex.h"

#include <cstdio>
#include <new>

#include <re2/re2.h>

#include "runtime/kernels/plain/ascii_class.h"

struct regex {
    RE2 compiled;
    bool is_class; // `set` finds the same matches in a tenth of the time
    struct ascii_class set;
};

struct regex *regex_create(const char *pattern, size_t size, char *error, size_t error_size)
{
    try {
        RE2::Options options;
        options.set_log_errors(false);
        regex *made = new regex{ { re2::StringPiece(pattern, size), options }, false, {} };
        made->is_class = ascii_class_read(pattern, size, &made->set);
        if (made->compiled.ok())
            return made;
        std::snprintf(error, error_size, "%s", made->compiled.error().c_str());
        delete made;
    } catch (const std::bad_alloc &) {
        std::snprintf(error, error_size, "out of memory");
    }
    return nullptr;
}

void regex_destroy(struct regex *regex)
{
    delete regex;
}

int regex_groups(const struct regex *regex)
{
    return regex->compiled.NumberOfCapturingGroups();
}

// The class has no groups.
static enum regex_result find_in_class(const struct ascii_class *set, const char *text, size_t size,
                                       size_t at, struct regex_span *spans, int count)
{
    size_t found = ascii_class_find(set, text, size, at);

    if (found >= size)
        return REGEX_NO_MATCH;
    for (int i = 0; i < count; i++)
        spans[i] = { i == 0 ? found : 1, i == 0 ? found + 1 : 0 };
    return REGEX_MATCH;
}

enum regex_result regex_find(const struct regex *regex, const char *text, size_t size, size_t at,
                             struct regex_span *spans, int count)
{
    re2::StringPiece parts[REGEX_SPANS_MAX];

    if (regex->is_class)
        return find_in_class(&regex->set, text, size, at, spans, count);
    if (text == nullptr)
        text = "";
    try {
        if (!regex->compiled.Match(re2::StringPiece(text, size), at, size, RE2::UNANCHORED, parts,
                                   count))
            return REGEX_NO_MATCH;
    } catch (const std::bad_alloc &) {
        return REGEX_NO_MEMORY;
    }
    for (int i = 0; i < count; i++) {
        size_t begin = parts[i].data() == nullptr ? 1 : parts[i].data() - text;
        spans[i] = { begin, parts[i].data() == nullptr ? 0 : begin + parts[i].size() };
    }
    return REGEX_MATCH;
}

enum regex_result regex_match_all(const struct regex *regex, const char *text, size_t size)
{
    re2::StringPiece whole(text == nullptr ? "" : text, size);

    try {
        return RE2::FullMatch(whole, regex->compiled) ? REGEX_MATCH : REGEX_NO_MATCH;
    } catch (const std::bad_alloc &) {
        return REGEX_NO_MEMORY;
    }
}
