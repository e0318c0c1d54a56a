#include <assert.h>

#include "layers/arguments.h"

/* In the order of enum known_dtypes. */
static const struct {
    const char *name;
    enum dtype dtype;
} dtypes[] = {
    { "float32", DT_FLOAT }, { "int32", DT_INT32 }, { "int64", DT_INT64 },
    { "string", DT_STRING }, { "bool", DT_BOOL },   { "int8", DT_INT8 },
    { "int16", DT_INT16 },   { "uint8", DT_UINT8 }, { "uint16", DT_UINT16 },
};
static_assert(COUNT(dtypes) == DTYPES_OF_INPUT, "an input may have every type");

/* The name of a type, or of the policy that the value is; NULL: it is neither. */
static const char *dtype_text(const struct json_value *dtype)
{
    const char *name = json_value_get_text(json_value_get(dtype, "config"), "name");

    return name == NULL && dtype != NULL && dtype->kind == JSON_VALUE_TEXT ? dtype->text : name;
}

static const char *dtype_shown(const struct json_value *dtype, struct arena *arena)
{
    const char *name = dtype_text(dtype);

    return name != NULL ? arena_printf(arena, "'%.100s'", name) : json_value_show(dtype, arena);
}

struct status dtype_read(const struct json_value *dtype, enum known_dtypes known,
                         struct arena *arena, enum dtype *out)
{
    const char *name = dtype_text(dtype);

    *out = DT_FLOAT;
    if (json_value_is_null(dtype))
        return status_ok();
    for (size_t i = 0; name != NULL && i < (size_t)known; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = dtypes[i].dtype;
            return status_ok();
        }
    return status_error(
        STATUS_UNIMPLEMENTED, "dtype %s; only %s implemented", dtype_shown(dtype, arena),
        known > DTYPES_OF_FLOAT ? "'float32', 'string', 'bool' and integers are" : "'float32' is");
}

bool mixed_policy_read(const struct json_value *dtype, enum dtype *out)
{
    const char *name = dtype_text(dtype);

    if (name == NULL || strncmp(name, "mixed_", 6) != 0)
        return false;
    *out = strcmp(name + 6, "float16") == 0    ? DT_HALF
           : strcmp(name + 6, "bfloat16") == 0 ? DT_BFLOAT16
                                               : DT_INVALID;
    return *out != DT_INVALID;
}

struct status policy_read(const struct json_value *dtype, struct arena *arena, enum dtype *out)
{
    enum dtype read;

    if (mixed_policy_read(dtype, out))
        return status_ok();
    *out = DT_FLOAT;
    if (status_is_ok(dtype_read(dtype, DTYPES_OF_FLOAT, arena, &read)))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "dtype %s; only 'float32', 'mixed_float16' and 'mixed_bfloat16' are "
                        "implemented",
                        dtype_shown(dtype, arena));
}

bool is_other_float(const struct json_value *dtype)
{
    const char *name = dtype_text(dtype);

    return name != NULL && strstr(name, "float") != NULL && strcmp(name, "float32") != 0;
}
