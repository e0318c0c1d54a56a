#include "trainer/flags/hyperparameters.h"

#include <string.h>

#include "base/file.h"
#include "base/json_value.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define FLAG           "--hyperparameters"

/* The last occurrence counts, as for other flags. NULL: not given. */
static const char *find_file(int argc, char **argv)
{
    const size_t size = strlen(FLAG);
    const char *found = NULL;

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], FLAG, size) != 0)
            continue;
        if (argv[i][size] == '=')
            found = argv[i] + size + 1;
        else if (argv[i][size] == '\0' && i + 1 < argc)
            found = argv[++i];
    }
    return found != NULL ? file_path_of_uri(found) : NULL;
}

static struct status check_key(const struct flag_set *set, const char *key)
{
    static const char *const excluded[] = { "hyperparameters", "help", "version" };
    bool fits = flags_find(set, key) != NULL && BYTES_FIND(bytes_of(key), excluded) < 0;

    return fits
               ? status_ok()
               : status_error(STATUS_INVALID_ARGUMENT,
                              "'%.100s' is no flag that can be given there; --help lists the flags",
                              key);
}

/* The value as written on a command line. */
static struct status value_text(const char *key, const struct json_value *value,
                                struct arena *arena, const char **out)
{
    struct buffer number = { 0 };

    switch (value->kind) {
    case JSON_VALUE_TEXT:
        *out = value->text;
        return strlen(value->text) == value->text_size
                   ? status_ok()
                   : status_error(STATUS_INVALID_ARGUMENT, "'%s' holds a NUL", key);
    case JSON_VALUE_BOOL:
        *out = value->boolean ? "true" : "false";
        return status_ok();
    case JSON_VALUE_INT:
    case JSON_VALUE_REAL:
        json_value_print(value, &number);
        *out = arena_memdup(arena, number.data, number.size);
        buffer_finish(&number);
        return status_ok();
    default:
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s' is %s, expected a text, a number, true or false", key,
                            json_value_show(value, arena));
    }
}

static struct status take_value(const struct flag_set *set, const char *key,
                                const struct json_value *value, struct arena *arena, char **out)
{
    const char *text;

    TRY(check_key(set, key));
    TRY(value_text(key, value, arena, &text));
    *out = arena_printf(arena, "--%s=%s", key, text);
    return status_ok();
}

/* Takes all that are right. *count: how many. Returns the first failure. */
static struct status take_values(const struct flag_set *set, const struct json_value *json,
                                 struct arena *arena, char **out, int *count, const char **shown)
{
    struct status first = status_ok();

    for (int i = 0; i < json->count; i++) {
        struct status status =
            take_value(set, json->keys[i], &json->members[i], arena, &out[*count]);
        if (status_is_ok(status)) {
            const char *space = **shown != '\0' ? " " : "";
            *shown = arena_printf(arena, "%s%s%s", *shown, space, out[(*count)++] + 2);
        } else if (status_is_ok(first)) {
            first = status_keep(arena, status);
        }
    }
    return first;
}

static struct status insert(const struct flag_set *set, struct bytes text, int *argc, char ***argv,
                            struct arena *arena, const char **shown)
{
    const struct json_value *json;

    TRY(json_value_read_strict(text, arena, &json));
    if (json->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "it is %s, expected an object",
                            json_value_show(json, arena));
    int count = 0;
    char **out = ARENA_ARRAY(arena, char *, *argc + json->count + 1);
    out[0] = (*argv)[0];
    struct status status = take_values(set, json, arena, out + 1, &count, shown);
    for (int i = 1; i < *argc; i++)
        out[count + i] = (*argv)[i];
    *argv = out;
    *argc += count;
    return status;
}

struct status hyperparameters_insert(const struct flag_set *set, int *argc, char ***argv,
                                     struct arena *arena, const char **shown)
{
    const char *path = find_file(*argc, *argv);
    struct buffer file = { 0 };

    *shown = "";
    if (path == NULL || *path == '\0')
        return status_ok();
    struct status status = file_read(path, FILE_BYTES_MAX, &file);
    if (status_is_ok(status))
        status = insert(set, (struct bytes){ file.data, file.size }, argc, argv, arena, shown);
    buffer_finish(&file);
    return status_in(status, FLAG "=%s", path);
}
