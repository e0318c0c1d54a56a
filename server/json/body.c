#include "server/json/body.h"

#include "base/utf8.h"
#include "server/json/check.h"
#include "server/json/dump.h"
#include "server/json/string.h"
#include "server/json/walk.h"

struct status json_body_object(struct bytes body, struct arena *arena, const char **out)
{
    struct json_error error;
    const char *at = body.data + utf8_mark_size(body);
    if (json_check(at, &error) == NULL)
        return json_error_status(body.data, &error);
    *out = json_space(at);
    if (**out != '{')
        return status_error(STATUS_INVALID_ARGUMENT, "JSON Value: %s Is not object",
                            json_dump(*out, arena));
    return status_ok();
}

struct status json_body_member(const char *object, const char *name, struct arena *arena,
                               const char **out)
{
    *out = NULL;
    for (const char *at = json_first(object); at != NULL && *out == NULL;
         at = json_next_member(at)) {
        struct bytes this;
        TRY(json_string_read(at, arena, &this));
        if (bytes_equal(this, bytes_of(name)))
            *out = json_member_value(at);
    }
    return status_ok();
}

struct status json_body_signature_name(const char *object, struct arena *arena, struct bytes *out)
{
    const char *value;
    TRY(json_body_member(object, "signature_name", arena, &value));
    *out = (struct bytes){ "", 0 };
    if (value == NULL)
        return status_ok();
    if (*value != '"')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "JSON Value: %s not formatted correctly. 'signature_name' key must be "
                            "a string value.",
                            json_dump(object, arena));
    return json_string_read(value, arena, out);
}
