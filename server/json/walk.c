#include "server/json/walk.h"

#include "server/json/string.h"

const char *json_skip_token(const char *at)
{
    while (*at != ',' && *at != ']' && *at != '}' && *at != ':' && *at > ' ')
        at++;
    return at;
}

const char *json_skip(const char *at)
{
    size_t depth = 0;
    do {
        at = json_space(at);
        switch (*at) {
        case '[':
        case '{':
            depth++;
            at++;
            break;
        case ']':
        case '}':
            depth--;
            at++;
            break;
        case ',':
        case ':':
            at++;
            break;
        case '"':
            at = json_string_skip(at);
            break;
        case '\0':
            return at; /* the text is unchecked: stop at its end */
        default:
            at = json_skip_token(at);
        }
    } while (depth > 0);
    return at;
}

const char *json_first(const char *at)
{
    at = json_space(at + 1);
    return *at == ']' || *at == '}' ? NULL : at;
}

const char *json_next(const char *element)
{
    const char *at = json_space(json_skip(element));
    return *at == ',' ? json_space(at + 1) : NULL;
}

const char *json_member_value(const char *name)
{
    return json_space(json_space(json_string_skip(name)) + 1);
}

const char *json_next_member(const char *name)
{
    return json_next(json_member_value(name));
}

size_t json_list_size(const char *list)
{
    size_t size = 0;
    for (const char *at = json_first(list); at != NULL; at = json_next(at))
        size++;
    return size;
}

bool json_is_base64(const char *at, const char **text)
{
    if (*at != '{')
        return false;
    const char *name = json_first(at);
    if (name == NULL || json_string_match(name, "b64") == NULL)
        return false;
    const char *value = json_member_value(name);
    *text = value;
    return *value == '"' && json_next(value) == NULL;
}
