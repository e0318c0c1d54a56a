#include "server/json/example_request.h"

#include "base/base64.h"
#include "base/json_number.h"
#include "base/map.h"
#include "base/text_print.h"
#include "server/json/body.h"
#include "server/json/dump.h"
#include "server/json/string.h"
#include "server/json/walk.h"
#include "storage/example.h"

/* The kind of a feature is that of its first element. */
enum feature_kind { KIND_NONE, KIND_BYTES, KIND_FLOAT, KIND_INT64, KIND_TOO_BIG };

static const char *const kind_names[] = { "", "bytes", "float", "int64", "int64" };

static enum feature_kind kind_of(const char *at)
{
    const char *text;
    struct json_number number;
    int64_t value;
    switch (*at) {
    case '"':
        return KIND_BYTES;
    case 't':
    case 'f':
        return KIND_INT64;
    case '{':
        return json_is_base64(at, &text) ? KIND_BYTES : KIND_NONE;
    case 'n':
    case '[':
        return KIND_NONE;
    default:
        if (json_number_read(at, &number) == NULL || !number.integer)
            return KIND_FLOAT;
        if (json_number_int64(&number, &value))
            return KIND_INT64;
        return json_number_uint64(&number, &(uint64_t){ 0 }) ? KIND_TOO_BIG : KIND_FLOAT;
    }
}

static struct status read_text(const char *at, struct arena *arena, struct bytes *out)
{
    const char *text = at;
    bool base64 = json_is_base64(at, &text);
    TRY(json_string_read(base64 ? text : at, arena, out));
    return base64 ? base64_decode(*out, arena, out) : status_ok();
}

static struct status read_element(const char *at, enum feature_kind kind, struct arena *arena,
                                  void *values, size_t i)
{
    struct json_number number;
    if (kind == KIND_BYTES)
        return read_text(at, arena, &((struct bytes *)values)[i]);
    if (*at == 't' || *at == 'f') {
        ((int64_t *)values)[i] = *at == 't';
        return status_ok();
    }
    if (json_number_read(at, &number) == NULL)
        return status_error(STATUS_INTERNAL, "example_request: unchecked text");
    if (kind == KIND_FLOAT)
        ((float *)values)[i] = json_number_float(&number);
    else
        (void)json_number_int64(&number, &((int64_t *)values)[i]); /* kind_of has checked it */
    return status_ok();
}

static struct status check_element(struct bytes name, const char *at, enum feature_kind expected)
{
    enum feature_kind kind = kind_of(at);
    if (kind == KIND_NONE)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Feature: %s has element with unexpected JSON type: %s",
                            text_print_name(name), json_type_name(at));
    if (kind == KIND_TOO_BIG)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Feature: %s has uint64_t element. Only int64_t is supported.",
                            text_print_name(name));
    if (kind != expected)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Unexpected element type in feature: %s expecting type: %s",
                            text_print_name(name), kind_names[expected]);
    return status_ok();
}

static bool is_empty_list(const char *at)
{
    return *at == '[' && json_first(at) == NULL;
}

/* Adds one value, or a list of them. An empty list is left out: it is a feature without a kind,
 * which parsers treat as absent. */
static struct status add_feature(struct example_builder *builder, struct bytes name, const char *at,
                                 struct arena *arena)
{
    bool list = *at == '[';
    const char *first = list ? json_first(at) : at;
    size_t count = list ? json_list_size(at) : 1, i = 0;
    if (first == NULL)
        return status_ok();
    enum feature_kind kind = kind_of(first);
    static const size_t sizes[] = { 1, sizeof(struct bytes), sizeof(float), sizeof(int64_t), 8 };
    void *values;
    TRY(arena_reserve(arena, count * sizes[kind], &values));
    for (const char *element = first; element != NULL;
         element = list ? json_next(element) : NULL, i++) {
        TRY(check_element(name, element, kind));
        TRY(read_element(element, kind, arena, values, i));
    }
    if (kind == KIND_BYTES)
        example_builder_add_strings(builder, name, values, count);
    else if (kind == KIND_FLOAT)
        example_builder_add_floats(builder, name, values, count);
    else
        example_builder_add_int64s(builder, name, values, count);
    return status_ok();
}

/*
 * If several features have one name, the last counts. Parsers of Examples ensure this, except for
 * empty lists, which are omitted and never reach them. If the object has an empty list, *out maps
 * each name to its last member; otherwise it stays empty.
 */
static struct status find_last_members(const char *object, struct arena *arena, struct map *out)
{
    bool has_empty_list = false;
    for (const char *at = json_first(object); at != NULL; at = json_next_member(at))
        has_empty_list = has_empty_list || is_empty_list(json_member_value(at));
    for (const char *at = json_first(object); at != NULL && has_empty_list;
         at = json_next_member(at)) {
        struct bytes name;
        TRY(json_string_read(at, arena, &name));
        map_put(out, name, (void *)(uintptr_t)at);
    }
    return status_ok();
}

static struct status add_features(struct example_builder *builder, const char *object,
                                  struct arena *arena)
{
    struct map last = { .arena = arena };
    TRY(find_last_members(object, arena, &last));
    for (const char *member = json_first(object); member != NULL;
         member = json_next_member(member)) {
        struct bytes name;
        size_t before = builder->features.size;
        TRY(json_string_read(member, arena, &name));
        TRY(add_feature(builder, name, json_member_value(member), arena));
        if (last.count > 0 && map_get(&last, name) != member)
            example_builder_rewind(builder, before);
    }
    return status_ok();
}

/* Serializes the Example of the JSON object, after a copy of `prefix`. */
static struct status read_example(struct example_builder *builder, const char *at,
                                  struct bytes prefix, struct arena *arena, struct bytes *out)
{
    if (*at != '{')
        return status_error(STATUS_INVALID_ARGUMENT, "Example must be JSON object but got JSON %s",
                            json_type_name(at));
    TRY(add_features(builder, at, arena));
    struct bytes example = example_builder_end(builder);
    char *data;
    TRY(arena_reserve(arena, prefix.size + example.size + 1, (void **)&data));
    memcpy(data, prefix.data, prefix.size);
    memcpy(data + prefix.size, example.data, example.size);
    *out = (struct bytes){ data, prefix.size + example.size };
    return status_ok();
}

/* Finds the list of examples, which must not be empty. */
static struct status find_examples(const char *object, struct arena *arena, const char **out)
{
    TRY(json_body_member(object, "examples", arena, out));
    if (*out == NULL)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "JSON Value: %s When method is classify, key 'examples' is expected and was not found",
            json_dump(object, arena));
    if (**out != '[')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "JSON Value: %s Expecting 'examples' value to be an list/array",
                            json_dump(object, arena));
    if (json_first(*out) == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "JSON Value: %s 'examples' value is an empty array",
                            json_dump(object, arena));
    return status_ok();
}

static struct status read_examples(struct example_builder *builder, const char *object,
                                   struct arena *arena, struct example_request *out)
{
    const char *list, *context;
    struct bytes prefix = { "", 0 };
    TRY(json_body_member(object, "context", arena, &context));
    if (context != NULL)
        TRY(read_example(builder, context, (struct bytes){ "", 0 }, arena, &prefix));
    TRY(find_examples(object, arena, &list));
    size_t count = json_list_size(list), i = 0;
    struct bytes *examples;
    TRY(arena_reserve(arena, count * sizeof *examples, (void **)&examples));
    for (const char *at = json_first(list); at != NULL; at = json_next(at))
        TRY(read_example(builder, at, prefix, arena, &examples[i++]));
    out->examples = tensor_borrow(DT_STRING, &(struct shape){ 1, { (int64_t)count } }, examples);
    return status_ok();
}

struct status example_request_read(struct bytes body, struct arena *arena,
                                   struct example_request *out)
{
    const char *object;
    TRY(json_body_object(body, arena, &object));
    TRY(json_body_signature_name(object, arena, &out->signature_name));
    struct example_builder builder = { 0 };
    struct status status = read_examples(&builder, object, arena, out);
    example_builder_finish(&builder);
    return status;
}
