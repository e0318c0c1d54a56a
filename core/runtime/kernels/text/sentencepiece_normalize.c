/* sentencepiece_normalize: the rules of a model that replace prefixes of a text, and its spaces. */
#include "base/utf8.h"
#include "runtime/kernels/text/double_array.h"
#include "runtime/kernels/text/sentencepiece_text.h"

#define TEXT_SIZE_MAX ((int64_t)INT32_MAX)

/* The longest prefix that has a rule; its size, or 0. *value is where the replacement is. */
static size_t find_rule(struct bytes trie, struct bytes text, uint32_t *value)
{
    const struct flat_vector units = { trie.data, trie.size / sizeof(uint32_t) };
    uint32_t node = 0;
    size_t found = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!double_array_walk(&units, &node, text.data + i, 1))
            break;
        if (double_array_value(&units, node, value))
            found = i + 1;
    }
    return found;
}

/* The size of the prefix of the text that is normalized as a unit, and its replacement. */
static size_t normalize_prefix(const struct sentencepiece_model *model,
                               const struct piece_rules *rules, struct bytes text,
                               struct bytes *out)
{
    uint32_t value = 0;
    int32_t character;
    size_t size = rules == &model->normal ? user_defined_size(model, text) : 0;
    *out = bytes_first(text, size);
    if (size > 0)
        return size;
    size = find_rule(rules->trie, text, &value);
    if (size > 0) {
        struct bytes rest = { 0 };
        if (value < rules->texts.size)
            rest = (struct bytes){ rules->texts.data + value, rules->texts.size - value };
        *out = rest.size > 0 ? bytes_first(rest, strnlen(rest.data, rest.size)) : rest;
        return size;
    }
    size = utf8_read(text.data, text.size, &character);
    *out = bytes_first(text, size);
    if (character >= 0)
        return size;
    *out = bytes_of("\xef\xbf\xbd");
    return 1;
}

static struct status add(struct piece_work *work, const char *data, size_t size, size_t origin)
{
    if (size == 0)
        return status_ok();
    TRY(piece_room(work, &work->normal, (int64_t)size, 1));
    TRY(piece_room(work, &work->origins, (int64_t)size, sizeof(uint32_t)));
    memcpy((char *)work->normal.memory.data + work->normal.count, data, size);
    for (size_t i = 0; i < size; i++)
        ((uint32_t *)work->origins.memory.data)[work->origins.count + (int64_t)i] =
            (uint32_t)origin;
    work->normal.count += (int64_t)size;
    work->origins.count += (int64_t)size;
    return status_ok();
}

static struct bytes space_of(const struct piece_rules *rules)
{
    return bytes_of(rules->escape_whitespaces ? PIECE_SPACE : " ");
}

static struct status add_space(struct piece_work *work, const struct piece_rules *rules,
                               size_t origin)
{
    struct bytes space = space_of(rules);
    return add(work, space.data, space.size, origin);
}

static struct status add_escaped(struct piece_work *work, const struct piece_rules *rules,
                                 struct bytes part, size_t origin)
{
    for (size_t i = 0; i < part.size;) {
        size_t plain = i;
        while (plain < part.size && part.data[plain] != ' ')
            plain++;
        TRY(add(work, part.data + i, plain - i, origin));
        if (plain < part.size)
            TRY(add_space(work, rules, origin));
        i = plain + 1;
    }
    return status_ok();
}

/* Bytes of text between two checks of the deadline. */
#define BYTES_PER_CHECK ((size_t)1 << 16)

static struct status add_all(struct piece_work *work, const struct piece_rules *rules,
                             struct bytes text, size_t *consumed)
{
    bool behind_space = rules->remove_extra_whitespaces;
    size_t checked = *consumed;
    while (*consumed < text.size) {
        struct bytes part;
        struct bytes rest = { text.data + *consumed, text.size - *consumed };
        size_t size = normalize_prefix(work->model, rules, rest, &part);
        while (behind_space && part.size > 0 && part.data[0] == ' ')
            part = (struct bytes){ part.data + 1, part.size - 1 };
        if (part.size > 0) {
            TRY(add_escaped(work, rules, part, *consumed));
            behind_space = part.data[part.size - 1] == ' ' && rules->remove_extra_whitespaces;
        }
        *consumed += size;
        if (*consumed - checked >= BYTES_PER_CHECK) {
            checked = *consumed;
            TRY(kernel_check(work->k));
        }
    }
    return status_ok();
}

static void remove_spaces_at_end(struct piece_work *work, const struct piece_rules *rules,
                                 size_t *consumed)
{
    struct bytes space = space_of(rules);
    int64_t size = (int64_t)space.size;
    const char *data = work->normal.memory.data;
    const uint32_t *origins = work->origins.memory.data;
    while (work->normal.count >= size &&
           memcmp(data + work->normal.count - size, space.data, space.size) == 0) {
        work->normal.count -= size;
        work->origins.count -= size;
        *consumed = origins[work->normal.count];
    }
}

struct status sentencepiece_normalize(struct piece_work *work, const struct piece_rules *rules,
                                      struct bytes text)
{
    size_t consumed = 0;
    work->normal.count = work->origins.count = 0;
    if (text.size > (size_t)TEXT_SIZE_MAX)
        return kernel_error(work->k, STATUS_INVALID_ARGUMENT,
                            "a text has %zu bytes, at most %lld are allowed", text.size,
                            (long long)TEXT_SIZE_MAX);
    while (rules->remove_extra_whitespaces && consumed < text.size) {
        struct bytes part;
        struct bytes rest = { text.data + consumed, text.size - consumed };
        size_t size = normalize_prefix(work->model, rules, rest, &part);
        if (!bytes_equal(part, bytes_of(" ")))
            break;
        consumed += size;
    }
    if (consumed < text.size) {
        if (rules->add_dummy_prefix && !rules->space_is_suffix)
            TRY(add_space(work, rules, consumed));
        TRY(add_all(work, rules, text, &consumed));
        if (rules->remove_extra_whitespaces)
            remove_spaces_at_end(work, rules, &consumed);
        if (rules->add_dummy_prefix && rules->space_is_suffix)
            TRY(add_space(work, rules, consumed));
    }
    if (work->normal.count > TEXT_SIZE_MAX)
        return kernel_error(work->k, STATUS_RESOURCE_EXHAUSTED, "a normalized text has %lld bytes",
                            (long long)work->normal.count);
    TRY(piece_room(work, &work->origins, 1, sizeof(uint32_t)));
    ((uint32_t *)work->origins.memory.data)[work->origins.count] = (uint32_t)consumed;
    return status_ok();
}
